"""Pairs of classes: where the model takes one for the other with the wrong probability."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

from numpy.typing import ArrayLike

from trustcal.checking import checked_count
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.measures.monotone import monotone_cdl
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True, eq=False)
class PairLoss:
    """Two classes, and what those lose who decide between them."""

    a: Any
    """A class."""
    b: Any
    """The other class."""
    share: float
    """The share of rows in which one of the two occurred."""
    loss: float
    """The most that moving thresholds on Pr[a | a or b] would save there, as a share of the payoff range."""
    view: Predictor
    """The predictor of a among the rows where a or b occurred."""

    @property
    def total(self) -> float:
        """The loss spread over all rows: share times loss."""
        return self.share * self.loss


def pair_losses(
    y_true: ClassPredictor | ArrayLike,
    proba: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    most: int = 30,
) -> tuple[PairLoss, ...]:
    """What those lose who decide between two classes, for all pairs of the most frequent classes.

    The predictor of a pair says p_a/(p_a + p_b) where a or b occurred (`ClassPredictor.pair`); it is calibrated if the
    vectors are.  Its loss is the monotone decision loss.

    Parameters
    ----------
    y_true, proba, sample_weight
        A `ClassPredictor`, or labels, vectors of probabilities and weights.
    most : int
        How many classes are paired, the most frequent ones; at least 2.

    Returns
    -------
    tuple of PairLoss
        The largest `total` first; empty if fewer than two classes occurred.

    Examples
    --------
    >>> worst, *_ = pair_losses([0, 1, 1, 1, 2, 2], [[0.5, 0.25, 0.25]] * 4 + [[0.0, 0.0, 1.0]] * 2)
    >>> worst.a, worst.b, round(worst.share, 2)
    (1, 2, 0.83)

    O(most²·n log n).
    """
    q, most = as_class_predictor(y_true, proba, sample_weight), checked_count("most", most, least=2)
    often = sorted(range(len(q.classes)), key=lambda k: -q.frequencies[k])[:most]
    kept = sorted(k for k in often if q.frequencies[k] > 0)
    found = []
    for i, j in combinations(kept, 2):
        view = q.pair(q.classes[i], q.classes[j])
        share = float(q.frequencies[i] + q.frequencies[j])
        found.append(PairLoss(q.classes[i], q.classes[j], share, monotone_cdl(view), view))
    return tuple(sorted(found, key=lambda pair: -pair.total))
