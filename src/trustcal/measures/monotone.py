"""What moving thresholds could save: the monotone calibration decision loss.

CDL lets a decision maker re-read every single prediction value.  From rows with continuous predictions, each seen once,
that cannot be estimated.  Here a decision maker keeps the ranking and only re-reads the scale, which means moving
thresholds.  For a threshold μ the best of those rules acts on an upper set {p > ν}, so

    D(μ) = max over upper sets U of E[(y − μ); p ∈ U]  −  E[(y − μ); p > μ]     (or p ≥ μ, whichever loses more)

is the loss profile against the isotonic regression of the outcomes, one and the same for all decision makers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.decisions import DecisionProblem
from trustcal.measures.worst_loss import loss_profile, worst_loss
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_SIDES: tuple[Literal["right", "left"], ...] = ("right", "left")


@final
@dataclass(frozen=True, eq=False)
class MonotoneWitness:
    """Who gains most by moving thresholds, where to, and how much.

    Attributes
    ----------
    value : float
        The monotone calibration decision loss: the sum of `gains`.
    thresholds, weights : ndarray
        Where the worst decision maker changes action, at most twice, and what is at stake there.
    problem : DecisionProblem
        That decision maker, with payoffs in [0, 1].
    predictor, reference : Predictor
        The predictor, and its isotonic version.
    instead : ndarray
        For each threshold, the smallest prediction on which to act instead; infinite: never act.
    gains : ndarray
        For each threshold, what moving it gains.
    reversed : ndarray
        For each threshold, the share of rows whose decision changes.
    acts_on : ndarray of bool
        For each threshold, whether a prediction equal to it is acted on: the worse way counts.
    """

    value: float
    thresholds: FloatArray
    weights: FloatArray
    problem: DecisionProblem
    predictor: Predictor
    reference: Predictor
    instead: FloatArray
    gains: FloatArray
    reversed: FloatArray
    acts_on: BoolArray

    def profile(self, mu: ArrayLike) -> FloatArray:
        """D at thresholds: what moving them gains, payoff y − μ for acting.  O((n + k) log n) for k thresholds."""
        thresholds = unit_numbers(mu, "thresholds")
        found = loss_profile(self.predictor, self.reference, thresholds.ravel())
        return np.maximum(found, 0.0).reshape(thresholds.shape)[()]

    def reread(self, mu: ArrayLike) -> FloatArray:
        """ν(μ): the prediction above which to act instead of above μ; −inf: always.  O(k log n) for k thresholds."""
        thresholds = unit_numbers(mu, "thresholds")
        first = np.searchsorted(self.predictor.fitted, thresholds.ravel(), side="right")
        return np.append(-inf, self.predictor.p)[first].reshape(thresholds.shape)[()]


def monotone_cdl(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Monotone calibration decision loss (Theorem 29): the most anyone loses by not moving their thresholds.

        max over proper S in [0, 1] and nondecreasing h of E[S(h(p), y) − S(p, y)] = 2·cav D(1/2)

    It needs no bins and is at most CDL, with equality where p_hat does not decrease with p.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    float
        In [0, 1], as a share of the payoff range.

    References
    ----------
    Hu and Wu (2024), Calibration error for decision making; Dimitriadis, Gneiting and Jordan (2021), Stable reliability
    diagrams for probabilistic classifiers.

    Examples
    --------
    >>> monotone_cdl(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))     # half of what re-reading each value saves
    0.5001

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    return worst_loss(q, q.isotonic(), q.p).value


def monotone_cdl_witness(q: Predictor) -> MonotoneWitness:
    """The decision maker of `monotone_cdl`, and which thresholds to use instead.

    Parameters
    ----------
    q : Predictor
        The predictor.

    Returns
    -------
    MonotoneWitness
        At most two thresholds; where several rules gain the same, the one that changes fewest decisions.

    Examples
    --------
    >>> witness = monotone_cdl_witness(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25]))
    >>> witness.value, witness.thresholds, witness.instead, witness.reversed
    (0.25, array([0.5]), array([0.75]), array([0.5]))

    O(n).
    """
    q = as_predictor(q)
    worst = worst_loss(q, q.isotonic(), q.p)
    moves = [_move(q, float(mu)) for mu in worst.thresholds]
    instead, gains, changed, acts_on = (
        (np.array(column) for column in zip(*moves, strict=True))
        if moves
        else (np.empty(0), np.empty(0), np.empty(0), np.empty(0, dtype=bool))
    )
    return MonotoneWitness(
        value=worst.value,
        thresholds=worst.thresholds,
        weights=worst.weights,
        problem=worst.problem,
        predictor=q,
        reference=worst.reference,
        instead=instead,
        gains=worst.weights * gains,
        reversed=changed,
        acts_on=acts_on,
    )


def _move(q: Predictor, mu: float) -> tuple[float, float, float, bool]:
    """Where to act from instead of mu, the gain D(mu), the share of decisions that change, and whether mu itself acts.

    Of the rules that gain most, up to rounding, the one that changes fewest decisions.
    """
    found = []
    for side in _SIDES:
        own = int(np.searchsorted(q.p, mu, side=side))
        for other in _SIDES:
            first = int(np.searchsorted(q.fitted, mu, side=other))
            part = slice(min(first, own), max(first, own))
            mass = float(q.mass[part].sum())
            gain = float(q.positive[part].sum()) - mu * mass
            place = float(q.p[first]) if first < len(q) else inf
            found.append((gain if first < own else -gain, mass, place, side == "left"))
    most = max(gain for gain, *_ in found)
    gain, mass, place, acts = min(
        (one for one in found if one[0] >= most - 4 * np.finfo(float).eps), key=lambda one: (one[1], one[3])
    )
    return place, max(0.0, gain), mass, acts
