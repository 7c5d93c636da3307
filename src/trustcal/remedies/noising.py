"""What noise of every kind does to the predictions: the exact distribution after it, not a draw."""

from __future__ import annotations

from typing import Final

import numpy as np

from trustcal.decisions import DecisionProblem
from trustcal.guarantees import noise_of_kind
from trustcal.measures.decision import cdl
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.measures.transport import dtc_witness
from trustcal.noise import Noise
from trustcal.predictor import Predictor
from trustcal.remedies.comparison import MethodResult
from trustcal.smoothing import smooth

_KINDS: Final = {
    "uniform": "uniform noise",
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "plateau": "plateau noise",
    "rounding": "random rounding",
    "paper": "paper noise",
}
"""The kinds of noise that are compared, and their names in tables."""
_FINE: Final = 4096
"""Brier score, log loss and AUC after noise are computed on a grid of this many bins, each at its middle."""


def noise_results(q: Predictor, problem: DecisionProblem | None, best: float) -> tuple[MethodResult, ...]:
    """Every kind of noise, at the parameter for the measured distance to calibration.

    Parameters
    ----------
    q : Predictor
        All rows.
    problem : DecisionProblem or None
        The user's payoffs.
    best : float
        The mean loss of the best recalibrator: minus what it earns, as a share of the payoff range, or its Brier score.

    Returns
    -------
    tuple of MethodResult

    O(n) for each, a few hundred times for CDL.
    """
    eps = min(1.0, max(dtc_witness(q).upper, 1e-9))
    return tuple(_result(title, kind, q, eps, problem, best) for kind, title in _KINDS.items())


def _result(
    title: str, kind: str, q: Predictor, eps: float, problem: DecisionProblem | None, best: float
) -> MethodResult:
    choice = noise_of_kind(kind, eps, "cdl")
    law = _on_grid(q, choice.noise)
    value = None if problem is None else value_after(q, choice.noise, problem)
    lost = brier(law) if problem is None or value is None else -value / (problem.stakes or 1.0)
    return MethodResult(
        name=title,
        excess=lost - best,
        standard_error=None,
        decision_loss=cdl(smooth(q, choice.noise)),
        brier=brier(law),
        log_loss=log_loss(law),
        auc=auc(law) if 0 < q.base_rate < 1 else None,
        value=value,
        guarantee=choice.guarantee,
        needs_outcomes=False,
        harmed=(),
        eligible=False,
    )


def value_after(q: Predictor, noise: Noise, problem: DecisionProblem) -> float:
    """What the problem earns per row after noise, over all draws: by the distribution function at its thresholds."""
    payoff = problem.payoff[problem.responses]
    earned = 0.0
    below = np.zeros(len(q))
    for action, mu in zip(payoff, [*problem.thresholds, None], strict=True):
        upto = np.ones(len(q)) if mu is None else np.asarray(noise.cdf(mu, q.p))
        share = upto - below
        earned += float((share * ((q.mass - q.positive) * action[0] + q.positive * action[1])).sum())
        below = upto
    return earned


def _on_grid(q: Predictor, noise: Noise) -> Predictor:
    """The distribution after noise on a fine grid; atoms of clamped noise stay at 0 and 1."""
    exact = smooth(q, noise) if noise.grid_size() is not None else None
    if isinstance(exact, Predictor):
        return exact
    q = q if len(q) <= _FINE else q.on_grid(_FINE, "middle")
    law = smooth(q, noise, _FINE, "middle")
    atoms = noise.atoms(q.p).mass
    if not atoms.shape[-1]:
        return law
    ends = np.stack([((q.mass - q.positive)[:, None] * atoms).sum(axis=0), (q.positive[:, None] * atoms).sum(axis=0)])
    split = np.stack([law.mass - law.positive, law.positive])
    for place in (0, -1):  # the bins at the ends hold the atoms
        ends[:, place] = np.minimum(ends[:, place], split[:, place])
        split[:, place] -= ends[:, place]
    split = np.column_stack([ends[:, 0], split, ends[:, 1]])
    p = np.concatenate([[0.0], law.p, [1.0]])
    return Predictor(p, split.sum(axis=0), split[1], rows=law.rows, effective_rows=law.effective_rows)
