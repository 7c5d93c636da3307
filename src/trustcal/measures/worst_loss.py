"""The decision maker who loses most by believing one predictor instead of another.

Every proper score with values in [0, 1] is, up to terms that no prediction can change, a mixture of V-shaped rules: a
measure m ≥ 0 on thresholds with ∫ μ dm ≤ 1 and ∫ (1 − μ) dm ≤ 1.  Against a reference B, believing P loses ∫ D dm,

    D(μ) = E[(y − μ) (1{b > μ} − 1{p > μ})],  or the same with ≥ in both places, whichever is worse,

and the worst decision maker loses 2·cav D⁺(1/2), where cav is the upper concave envelope on [0, 1]: it is attained by
at most two thresholds, that is, by a decision maker with at most three actions.  CDL is the decision loss against the
predictor's own calibrated version, for which D is the swap regret at each threshold; U-calibration is the decision
loss against the best constant.  So one profile and one chord over 1/2 serve all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import unit_numbers
from trustcal.decisions import DecisionProblem
from trustcal.decisions.envelope import bridge, over_half
from trustcal.kernels.blocks import blocks
from trustcal.kernels.profile import Upper, own_profile
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_MANY = 1_000_000
"""Predictions from which the profile is compiled; numpy takes three times as long, but 40 ms at most below that."""


@final
@dataclass(frozen=True, eq=False)
class DecisionWitness:
    """The decision maker who loses most by believing `predictor` instead of `reference`."""

    value: float
    """The loss: the sum of weights · profile(thresholds), the regret of `problem`."""
    thresholds: FloatArray
    """Where the worst decision maker changes action."""
    weights: FloatArray
    """The stakes at each threshold: passing it changes the payoff by weight · (y − threshold)."""
    problem: DecisionProblem
    """The worst decision maker: payoffs in [0, 1] and at most three actions, unless problems were given."""
    predictor: Predictor
    """What is believed."""
    reference: Predictor
    """What it is compared with."""

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The loss D at thresholds; for CDL the swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat].

        It is the loss of `threshold(mu)` times max(mu, 1 − mu).

        Parameters
        ----------
        mu : array-like
            Thresholds in [0, 1].

        Returns
        -------
        ndarray
            Of the same shape.  O((n + k) log n) for k thresholds.
        """
        thresholds = unit_numbers(mu, "thresholds")
        return loss_profile(self.predictor, self.reference, thresholds.ravel()).reshape(thresholds.shape)[()]


def worst_loss(q: Predictor, reference: Predictor, kinks: FloatArray) -> DecisionWitness:
    """Who loses most, and how much."""
    value, thresholds, weights = _worst(q, reference, kinks)
    problem = DecisionProblem.from_thresholds(thresholds, weights)
    return DecisionWitness(value, thresholds, weights, problem, q, reference)


def worst_loss_value(q: Predictor, reference: Predictor, kinks: FloatArray) -> float:
    """How much whoever loses most loses: many draws need no more, and payoffs take longer than the loss."""
    return _worst(q, reference, kinks)[0]


def _worst(q: Predictor, reference: Predictor, kinks: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The largest loss, its thresholds and weights: the ends of the highest chord over 1/2, or 1/2 itself."""
    loss = loss_profile(q, reference, kinks)
    places = np.array([0.0, 0.5, 1.0])
    start, middle, end = zip(places.tolist(), loss_profile(q, reference, places).tolist(), strict=True)
    a, b = bridge(kinks, loss, (start, end))
    if middle[1] >= over_half(a, b):
        thresholds, weights = np.array([0.5]), np.array([2.0])
    else:
        thresholds = np.array([a[0], b[0]])
        weights = 2 * np.abs(thresholds[::-1] - 0.5) / (b[0] - a[0])
    # Running sums lose a few digits over many values: the answer is summed afresh at the chosen thresholds.
    exact = np.array([_loss_at(q, reference, float(mu)) for mu in thresholds])
    hurt = exact > 0
    thresholds, weights = thresholds[hurt], weights[hurt]
    for array in (thresholds, weights):
        array.flags.writeable = False
    return min(1.0, float(weights @ exact[hurt])), thresholds, weights


def given_loss(q: Predictor, reference: Predictor, problem: DecisionProblem) -> DecisionWitness:
    """The decision maker of the problem.

    At each threshold, payoffs change by a step, and what is lost is the step times the difference between the masses of
    the outcomes above it, or minus the step times that below it.  The side with less to subtract is taken.
    """
    step = np.diff(problem.payoff[problem.responses], axis=0)
    losses = np.full(len(step), -np.inf)
    for side in _SIDES:
        ours, theirs = (_outcomes_beside(law, problem.thresholds, side) for law in (q, reference))
        lost = (step * (theirs - ours)).sum(axis=-1) * [[-1.0], [1.0]]
        subtracted = (np.abs(step) * (theirs + ours)).sum(axis=-1)
        losses = np.maximum(losses, np.where(subtracted[0] < subtracted[1], *lost))
    return DecisionWitness(float(losses.sum()), problem.thresholds, problem.weights, problem, q, reference)


def _outcomes_beside(q: Predictor, mu: FloatArray, side: Literal["left", "right"]) -> FloatArray:
    """The masses of y = 0 and y = 1 at predictions below and above each threshold; those equal to it are `side` of it.

    Indexed by [below or above, threshold, outcome].
    """
    cuts = [0, *np.searchsorted(q.p, mu, side="right" if side == "left" else "left").tolist(), len(q)]
    between = np.array(
        [[(q.mass[part] - q.positive[part]).sum(), q.positive[part].sum()] for part in map(slice, cuts[:-1], cuts[1:])]
    )
    below, above = np.cumsum(between, axis=0)[:-1], np.cumsum(between[::-1], axis=0)[::-1][1:]
    return np.stack([below, above])


def loss_profile(q: Predictor, reference: Predictor, mu: FloatArray) -> FloatArray:
    """D(mu), the worse of the two shared conventions for predictions that equal a threshold."""
    if mu is q.p and len(mu) >= _MANY:
        laws = (Upper(law.p, law.mass, law.positive, *law.upper_sums) for law in (q, reference))
        return own_profile.compiled(*laws)
    loss = np.empty(len(mu))
    for block in blocks(len(mu)):
        above, on = _upper_payoff(reference, mu, block)
        above_q, on_q = _upper_payoff(q, mu, block)
        loss[block] = above - above_q + np.maximum(on - on_q, 0.0)
    return loss


def _upper_payoff(q: Predictor, mu: FloatArray, block: slice) -> tuple[FloatArray, FloatArray]:
    """E[(y − mu) 1{p > mu}] and E[(y − mu) 1{p = mu}] for a block of thresholds."""
    mass, positive = q.upper_sums
    if mu is q.p:  # no search is needed for the predictions among themselves
        mu, after = mu[block], slice(block.start + 1, block.stop + 1)
        return positive[after] - mu * mass[after], q.positive[block] - mu * q.mass[block]
    mu = mu[block]
    start = _ranks(q.p, mu)
    hit = q.p[np.minimum(start, len(q) - 1)] == mu
    on, here = np.zeros(len(mu)), start[hit]
    on[hit] = q.positive[here] - mu[hit] * q.mass[here]
    start += hit
    return positive[start] - mu * mass[start], on


def _ranks(p: FloatArray, mu: FloatArray) -> IntArray:
    """np.searchsorted(p, mu), faster where mu is sorted and has many more entries than p has in its range."""
    if len(mu) >= 64 and (mu[1:] >= mu[:-1]).all():
        first, last = np.searchsorted(p, (mu[0], mu[-1])).tolist()
        if 8 * (last - first) <= len(mu):
            ends = np.searchsorted(mu, p[first:last], side="right")
            return np.repeat(np.arange(first, last + 1), np.diff(ends, prepend=0, append=len(mu)))
    return np.searchsorted(p, mu)


def _loss_at(q: Predictor, reference: Predictor, mu: float) -> float:
    """D(mu) by plain summation."""

    def upper(law: Predictor, side: Literal["left", "right"]) -> float:
        first = np.searchsorted(law.p, mu, side=side)
        return float(law.positive[first:].sum() - mu * law.mass[first:].sum())

    return max(upper(reference, side) - upper(q, side) for side in _SIDES)
