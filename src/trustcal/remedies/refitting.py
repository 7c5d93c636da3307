"""Whether it is time to learn a remedy again: what recalibrating recent predictions would gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.formats import percent
from trustcal.remedies.folds import SingleRows, split_in_order
from trustcal.remedies.trials import results, tried

_BLOCKS = 5


@final
@dataclass(frozen=True)
class RefitAdvice:
    """A method that makes recent predictions better, on rows that came after those it was fitted to."""

    rows: int
    """The number of recent rows."""
    method: str
    """The method that is recommended by held-out rows, judged by the Brier score."""
    brier: float
    """The Brier score of the predictions as they are served."""
    refitted_brier: float
    """The Brier score with the method."""
    decision_loss: float
    """The most anyone loses by not moving their thresholds, as the predictions are served."""
    refitted_decision_loss: float
    """The same with the method."""

    def __str__(self) -> str:
        losses = f"{percent(self.decision_loss)} to {percent(self.refitted_decision_loss)}"
        return (
            f"Learn a remedy from recent rows: on the last {self.rows:,}, {self.method} takes the Brier score from "
            f"{self.brier:.4f} to {self.refitted_brier:.4f} and the decision loss from {losses}, each row judged by a "
            "fit to earlier ones."
        )


def refit_advice(y_true: ArrayLike, y_prob: ArrayLike) -> RefitAdvice | None:
    """What a new remedy would gain on recent rows.

    Each of five blocks of rows is judged by methods that are fitted to the rows before it, as `choose` does with
    `order`.

    Parameters
    ----------
    y_true, y_prob : array-like
        The outcomes and the predictions that were served, oldest first.

    Returns
    -------
    RefitAdvice, or None
        None where no method beats what is served by more than its standard error, or rows are too few to tell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> refit_advice(rng.random(2000) < p, p) is None
    True
    >>> refit_advice(rng.random(2000) < p**2, p).method
    'Platt'

    O(n log n).
    """
    y = np.asarray(y_true)
    try:
        folds = split_in_order(SingleRows.from_columns(y, y_prob, None, np.arange(len(y))), _BLOCKS)
    except ValueError:  # too few rows, or of one outcome only
        return None
    methods, recommended = results(tried([folds], None))
    if recommended.method.name == "none":
        return None
    none, found = methods[0], next(one for one in methods if one.name == recommended.method.name)
    return RefitAdvice(len(y), found.name, none.brier, found.brier, none.decision_loss, found.decision_loss)
