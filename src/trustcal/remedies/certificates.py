"""What rows prove about a remedy that was not learned from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from trustcal.decisions import DecisionProblem
from trustcal.inference import action_regret_bounds, monotone_cdl_upper_bound
from trustcal.inference.deviations import hoeffding
from trustcal.inference.sampler import sample_size
from trustcal.predictor import Predictor


@final
@dataclass(frozen=True)
class Certificate:
    """Upper confidence bounds on what acting on the new predictions loses, from rows kept back."""

    rows: int
    """The number of rows that were kept back."""
    confidence: float
    """The confidence level of each bound."""
    decision_loss: float
    """The most anyone can gain by moving their thresholds, as a share of the payoff range (`monotone_cdl`)."""
    action_regret: float | None
    """The most the user can gain by replacing actions, in the units of their payoffs; None without payoffs."""
    proved: bool
    """Whether the bounds hold for any number of rows; with unequal weights or clusters they are approximate."""
    clusters: int | None = None
    """The number of clusters that were kept back; None if rows are independent."""

    @property
    def sentence(self) -> str:
        """What is certified, and what it assumes."""
        about = "" if self.proved else "about "
        sure = f"With {about}{100 * self.confidence:.3g} % confidence"
        most = f"{100 * self.decision_loss:.3g} % of their payoff range"
        told = f"{sure}, nobody gains more than {most} by moving thresholds"
        if self.action_regret is not None:
            told += (
                f", and {sure[0].lower() + sure[1:]} you gain at most {self.action_regret:.4g} per row by replacing an "
                "action by another wherever it is recommended"
            )
        rows = f"{self.rows:,} rows{'' if self.clusters is None else f' in {self.clusters:,} clusters'}"
        return f"{told} ({rows} kept back); this assumes that new rows come from the same population."


def certify(said: Predictor, problem: DecisionProblem | None = None, confidence: float = 0.95) -> Certificate:
    """Certify predictions on rows that had no part in making them.

    Parameters
    ----------
    said : Predictor
        The new predictions of the rows that were kept back.
    problem : DecisionProblem, optional
        Whose action regret is to be bounded too.
    confidence : float
        The level of each bound.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> certify(Predictor.from_samples(rng.random(5000) < p, p)).decision_loss < 0.04
    True

    O(n).
    """
    # The map is fixed here: that it moved predictions is the point, not a loss of information.
    rows = Predictor(said.p, said.mass, said.positive, rows=said.rows, effective_rows=said.effective_rows)
    bound = monotone_cdl_upper_bound(rows, confidence)
    regret = None
    if problem is not None and bound.rigorous:
        regret = action_regret_bounds(problem, rows, confidence).upper
    elif problem is not None:
        far = hoeffding(sample_size(rows), 1 - bound.confidence)
        regret = problem.action_regret(rows, "lower") + problem.stakes * far
    clusters = None if said.clusters is None else said.clusters.count
    return Certificate(said.rows or 0, confidence, bound.upper, regret, bound.rigorous, clusters)
