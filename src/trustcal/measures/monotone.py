"""What moving thresholds could save: the monotone calibration decision loss.

CDL lets a decision maker re-read every single prediction value.  From rows with continuous predictions, each seen once,
that cannot be estimated.  Here a decision maker keeps the ranking and only re-reads the scale, which means moving
thresholds.  For a threshold μ the best of those rules acts on an upper set {p > ν}, so

    D(μ) = max over upper sets U of E[(y − μ); p ∈ U]  −  E[(y − μ); p > μ]     (or p ≥ μ, whichever loses more)

is the loss profile against the isotonic regression of the outcomes, one and the same for all decision makers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.decisions import DecisionProblem
from trustcal.measures.worst_loss import loss_profile, worst_loss, worst_loss_value
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
    Hu and Wu (2024), Calibration error for decision making; Gopalan, Stavropoulos, Talwar and Tankala (2025), Efficient
    calibration for decision making; Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams.

    Examples
    --------
    >>> monotone_cdl(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))     # half of what re-reading each value saves
    0.5001

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    return worst_loss_value(q, q.isotonic(), q.p)


def monotone_cdl_witness(
    y_true: Predictor | ArrayLike, y_prob: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> MonotoneWitness:
    """The decision maker of `monotone_cdl`, and which thresholds to use instead.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        A `Predictor`, or outcomes, predictions and weights.

    Returns
    -------
    MonotoneWitness
        At most two thresholds; where several rules gain the same, the one that changes fewest decisions.

    Examples
    --------
    >>> witness = monotone_cdl_witness(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25]))
    >>> witness.value, witness.thresholds, witness.instead, witness.reversed
    (0.25, array([0.5]), array([0.75]), array([0.5]))

    O(n), after one sort for rows.
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    worst = worst_loss(q, q.isotonic(), q.p)
    moves = [best_move(q, float(mu)) for mu in worst.thresholds]
    return MonotoneWitness(
        value=worst.value,
        thresholds=worst.thresholds,
        weights=worst.weights,
        problem=worst.problem,
        predictor=q,
        reference=worst.reference,
        instead=np.array([move.instead for move in moves]),
        gains=worst.weights * np.array([move.gain for move in moves]),
        reversed=np.array([move.reversed for move in moves]),
        acts_on=np.array([move.acts_on for move in moves], dtype=bool),
    )


@final
@dataclass(frozen=True)
class Move:
    """What somebody with one threshold gains by moving it.

    Attributes
    ----------
    threshold : float
        Where they change action, payoff y − threshold for acting.
    acts_on : bool
        Whether a prediction equal to it is acted on: the worse way counts.
    instead : float
        The smallest prediction on which to act instead; infinite: never act.
    gain : float
        What that gains: D at the threshold.
    reversed : float
        The share of rows whose decision changes.
    """

    threshold: float
    acts_on: bool
    instead: float
    gain: float
    reversed: float


def best_move(q: Predictor, threshold: float) -> Move:
    """Where to act from instead of a threshold: of the rules that gain most, the one that changes fewest decisions.

    Parameters
    ----------
    q : Predictor
        The predictor.
    threshold : float
        In [0, 1].

    Returns
    -------
    Move

    Examples
    --------
    >>> best_move(Predictor([0.25, 0.5, 0.75], [0.25, 0.5, 0.25], [0.0, 0.125, 0.25]), 0.5)
    Move(threshold=0.5, acts_on=True, instead=0.75, gain=0.125, reversed=0.5)

    O(n).
    """
    found = []
    for side in _SIDES:
        own = int(np.searchsorted(q.p, threshold, side=side))
        for other in _SIDES:
            first = int(np.searchsorted(q.fitted, threshold, side=other))
            part = slice(min(first, own), max(first, own))
            mass = float(q.mass[part].sum())
            gain = float(q.positive[part].sum()) - threshold * mass
            place = float(q.p[first]) if first < len(q) else inf
            found.append(Move(threshold, side == "left", place, gain if first < own else -gain, mass))
    most = max(move.gain for move in found)
    good = (move for move in found if move.gain >= most - 4 * np.finfo(float).eps)
    best = min(good, key=lambda move: (move.reversed, move.acts_on))
    return replace(best, gain=max(0.0, best.gain))
