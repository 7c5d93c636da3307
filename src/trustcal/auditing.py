"""The audit: a predictor to the numbers that a report shows.  No pictures and no layout here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trustcal.decisions import DecisionProblem, threshold
from trustcal.measures.continuous import smcal
from trustcal.measures.decision import DecisionWitness, cdl_witness, ece
from trustcal.measures.kernel_smoothing import smece
from trustcal.measures.transport import dtc_witness
from trustcal.predictor import Predictor, as_predictor

COMMON_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@final
@dataclass(frozen=True)
class ThresholdLoss:
    """What the decision maker who acts above a threshold loses by believing the predictions."""

    threshold: float
    loss: float
    """Swap regret, as a share of the payoff range."""
    reversed: float
    """The share of rows on which they would have decided otherwise, had they known p_hat."""


@final
@dataclass(frozen=True)
class WorstCase:
    """The decision maker who loses most: CDL's witness."""

    thresholds: tuple[float, ...]
    weights: tuple[float, ...]
    payoff: tuple[tuple[float, float], ...]
    """payoff[a][y], in [0, 1]: the action taken between thresholds a − 1 and a."""


@final
@dataclass(frozen=True)
class ProblemLoss:
    """What the user's own decision maker loses."""

    actions: tuple[str, ...]
    payoff: tuple[tuple[float, float], ...]
    thresholds: tuple[float, ...]
    responses: tuple[int, ...]
    """The best actions from p = 0 to p = 1, changing at the thresholds."""
    value: float
    """What believing the predictions earns per row, in the user's units."""
    swap_regret: float
    """What it loses against the best use of the same predictions, in the user's units."""
    stakes: float
    """The payoff range: swap_regret / stakes is at most the CDL."""


@final
@dataclass(frozen=True)
class Audit:
    """How far predictions are from trustworthy, in numbers.  `print` shows the table; `to_json` the same as data."""

    rows: int | None
    effective_rows: float | None
    values: int
    base_rate: float
    mean_prediction: float
    cells: int | None
    """ECE, CDL and all losses were taken on this many cells of equal mass; None: on the values as they are."""
    dtc_lower: float
    dtc_upper: float
    """The distance to calibration lies in [dtc_lower, dtc_upper]: certified, see `dtc_witness`."""
    smcal: float
    smece: float
    ece: float
    cdl: float
    worst: WorstCase
    worst_threshold: ThresholdLoss
    """Of all who act above one threshold, the one who loses most."""
    losses: tuple[ThresholdLoss, ...]
    problem: ProblemLoss | None

    def to_json(self) -> str:
        """All numbers, by the names of the fields."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        from trustcal.report.terminal import plain

        return plain(self)


def audit(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
    problem: DecisionProblem | None = None,
) -> Audit:
    """Measure a predictor, or rows in scikit-learn's order, for the people who decide by it.

    Where values are seen too rarely to have a frequency, as continuous predictions are, ECE and CDL are measured on
    about n^(1/3) cells of equal mass (or as many as `cells` says), and the audit says so.  The smooth measures need no
    cells.

    >>> audit(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])).cdl
    1.0

    O(n log n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    pooled = q.suggested_cells if cells is None and q.sparse else cells
    measured = q if pooled is None else q.coarsen(pooled)
    witness = cdl_witness(measured)
    distance = dtc_witness(q)
    return Audit(
        rows=q.rows,
        effective_rows=q.effective_rows,
        values=len(q),
        base_rate=q.base_rate,
        mean_prediction=float(q.p @ q.mass / q.mass.sum()),
        cells=None if pooled is None else len(measured),
        dtc_lower=distance.lower,
        dtc_upper=distance.upper,
        smcal=smcal(q),
        smece=smece(q),
        ece=ece(measured),
        cdl=witness.value,
        worst=WorstCase(tuple(witness.thresholds.tolist()), tuple(witness.weights.tolist()), _table(witness.problem)),
        worst_threshold=_worst_threshold(measured, witness),
        losses=tuple(_threshold_loss(measured, mu) for mu in COMMON_THRESHOLDS),
        problem=None if problem is None else _problem_loss(measured, problem),
    )


def _worst_threshold(q: Predictor, witness: DecisionWitness) -> ThresholdLoss:
    """Between predictions the profile is convex, so its ratio to max(mu, 1 − mu) peaks at a prediction, 0, 1/2 or 1."""
    mu = np.concatenate([[0.0, 0.5, 1.0], q.p])
    return _threshold_loss(q, float(mu[np.argmax(witness.profile(mu) / np.maximum(mu, 1 - mu))]))


def _threshold_loss(q: Predictor, mu: float) -> ThresholdLoss:
    swaps = threshold(mu).swaps(q)
    return ThresholdLoss(mu, float(swaps.gain.sum()), float(q.mass[swaps.gain > 0].sum()))


def _problem_loss(q: Predictor, problem: DecisionProblem) -> ProblemLoss:
    return ProblemLoss(
        actions=problem.actions,
        payoff=_table(problem),
        thresholds=tuple(problem.thresholds.tolist()),
        responses=tuple(problem.responses.tolist()),
        value=problem.value(q),
        swap_regret=problem.swap_regret(q),
        stakes=problem.stakes,
    )


def _table(problem: DecisionProblem) -> tuple[tuple[float, float], ...]:
    return tuple((at_0, at_1) for at_0, at_1 in np.asarray(problem.payoff).tolist())
