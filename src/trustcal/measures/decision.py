"""Measures for decision makers: ECE, CDL, decision loss, U-calibration.

Every proper score with values in [0, 1] is, up to terms that no prediction can change, a mixture of V-shaped rules: a
measure m ≥ 0 on thresholds with ∫ μ dm ≤ 1 and ∫ (1 − μ) dm ≤ 1.  Against a reference B, believing P loses ∫ D dm,

    D(μ) = E[(y − μ) (1{b > μ} − 1{p > μ})],  or the same with ≥ in both places, whichever is worse,

and the worst decision maker loses 2·cav D⁺(1/2), where cav is the upper concave envelope on [0, 1]: it is attained by
at most two thresholds, that is, by a decision maker with at most three actions.  CDL is the decision loss against the
predictor's own calibrated version, for which D is the swap regret at each threshold; U-calibration is the decision
loss against the best constant.  So one profile and one bridge over 1/2 serve all three.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import refuse, refuse_unpaired, several, unit_numbers
from trustcal.decisions import DecisionProblem, as_problem
from trustcal.decisions.envelope import blocks, bridge, over_half
from trustcal.laws import Law
from trustcal.predictor import Predictor, as_predictor
from trustcal.rows import checked_weights, real_vector

FloatArray = NDArray[np.float64]
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@final
@dataclass(frozen=True, eq=False)
class DecisionWitness:
    """Who loses most by believing `predictor` where they could have had `reference`, where, and how much."""

    value: float
    """The loss: the sum of weights · profile(thresholds), the regret of `problem`."""
    thresholds: FloatArray
    """Where the worst decision maker changes action."""
    weights: FloatArray
    """What is at stake at each threshold: passing it changes the payoff by weight · (y − threshold)."""
    problem: DecisionProblem
    """The worst decision maker: payoffs in [0, 1] and at most three actions, unless problems were given."""
    predictor: Predictor
    reference: Predictor

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The loss D at any thresholds; for CDL the swap regret R(μ) = E[|p_hat − μ|; μ between p and p_hat].

        It is the loss of `threshold(mu)` times max(mu, 1 − mu).  O((n + k) log n) for k thresholds.
        """
        thresholds = unit_numbers(mu, "thresholds")
        return _loss(self.predictor, self.reference, thresholds.ravel()).reshape(thresholds.shape)[()]


def ece(
    y_true: Predictor | Law | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
) -> float:
    """Expected calibration error (Definition 2.8): E|p − p_hat|.

    Takes a `Predictor`, or rows in scikit-learn's order.  With `cells` it is measured on `coarsen(cells)`.  Rows whose
    values are too rare to have a frequency draw a warning; a `Predictor`, which may be any law, does not.

    >>> ece(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    0.5001
    >>> ece([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], cells=2)
    0.25

    O(n), after one sort for rows.
    """
    if isinstance(y_true, Law) and cells is None:
        return y_true.ece()
    q = _measured(y_true, y_prob, sample_weight, cells)
    return min(1.0, float(np.abs(q.bias).sum()))


def cdl(
    y_true: Predictor | Law | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
) -> float:
    """Calibration decision loss (Definition 2.12): the most any decision maker with payoffs in [0, 1] loses.

        CDL = max over proper S in [0, 1] of Swap_S = 2·cav R(1/2),   R(μ) = E[|p_hat − μ|; μ between p and p_hat]

    The paper's Lemma 2.13, CDL ≤ ECE, is false, as its own introduction shows; what holds, sharply, is
    ECE² ≤ E(p − p_hat)² ≤ CDL ≤ min(1, 2·ECE).

    >>> cdl(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    1.0

    O(n log n), for sorting p_hat.
    """
    if isinstance(y_true, Law) and cells is None:
        return y_true.cdl()
    return cdl_witness(_measured(y_true, y_prob, sample_weight, cells)).value


def cdl_witness(q: Predictor) -> DecisionWitness:
    """The worst decision maker of `cdl`, and the loss at every threshold.

    >>> witness = cdl_witness(Predictor([0.5], [1.0], [0.75]))
    >>> witness.thresholds, witness.value, witness.problem.swap_regret(witness.predictor)
    (array([0.5]), 0.5, 0.5)

    O(n log n).
    """
    # A calibrated reference has convex kinks only: the envelope has its vertices at the predictions, 0 and 1.
    q = as_predictor(q)
    return _worst(q, q.calibrated(), q.p)


def ucal(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
) -> float:
    """U-calibration error (Kleinberg et al. 2023): the most any decision maker would gain by ignoring the predictor.

        max over proper S in [0, 1] of  max over constants c of E[S(c, y)] − E[S(p, y)];  the base rate is the best c

    >>> ucal(Predictor([0.25, 0.75], [0.5, 0.5], [0.375, 0.125]))        # the wrong way round
    0.5

    O(n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    q = q if cells is None else q.coarsen(cells)
    constant = Predictor([q.base_rate], [1.0], [q.base_rate])
    return _worst(q, constant, q.p).value


def decision_loss(
    q: Predictor,
    references: Predictor | Iterable[Predictor],
    problems: DecisionProblem | Iterable[DecisionProblem] | None = None,
) -> float:
    """Decision loss (Definition 2.5; omniprediction, Definition 2.6): the most lost against a reference.

        DL(P; B) = max over B and proper S in [0, 1] of E[S(b, y) − S(p, y)] = max over B of 2·cav D⁺(1/2)

    Where `problems` are given, the maximum is over those only, in their own units, and may be negative.  Ties are
    shared: a prediction on a threshold is acted on alike, whoever made it, and the worse way counts.  Only the laws
    of (b, y) and (p, y) matter; all must have the same base rate, as predictions of the same outcomes do.

    >>> q = Predictor([0.4, 0.6], [0.5, 0.5], [0.25, 0.25])
    >>> decision_loss(q, q.calibrated()) == cdl(q)
    True

    O(n log n) per reference.
    """
    return decision_loss_witness(q, references, problems).value


def decision_loss_witness(
    q: Predictor,
    references: Predictor | Iterable[Predictor],
    problems: DecisionProblem | Iterable[DecisionProblem] | None = None,
) -> DecisionWitness:
    """Who loses most in `decision_loss`, against which reference.

    >>> q = Predictor([0.4, 0.6], [0.5, 0.5], [0.25, 0.25])
    >>> decision_loss_witness(q, [q, q.calibrated()]).reference == q.calibrated()
    True

    O(n log n) per reference.
    """
    q = as_predictor(q)
    against = [as_predictor(one) for one in several(references)]
    given = None if problems is None else [as_problem(one) for one in several(problems)]
    for name, things in (("reference", against), ("problem", given)):
        if things is not None and not things:
            raise ValueError(f"there must be at least one {name}, but none was given.")
    for index, reference in enumerate(against):
        if not abs(reference.base_rate - q.base_rate) <= 1e-9:
            raise ValueError(
                "a reference must predict the same outcomes and so have the same base rate, but reference "
                f"{index} has {reference.base_rate!r} and the predictor {q.base_rate!r}. Use the same rows for both."
            )
    if given is None:
        witnesses = [_worst(q, reference, np.union1d(q.p, reference.p)) for reference in against]
    else:
        witnesses = [_given(q, reference, problem) for reference in against for problem in given]
    return max(witnesses, key=lambda witness: witness.value)


def distance(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The distance between two predictors on the same rows (Definition 2.15): E|a − b|.

    >>> distance([0.2, 0.7], [0.5, 0.7])
    0.15

    O(n).
    """
    x, y = real_vector(a, "a"), real_vector(b, "b")
    w = np.ones_like(x) if weight is None else real_vector(weight, "weight")
    refuse_unpaired(1, a=x, b=y, weight=w)
    for name, p in (("a", x), ("b", y)):
        refuse(~((p >= 0) & (p <= 1)), p, f"predictions must lie in [0, 1], in {name} too")
    return float(np.average(np.abs(x - y), weights=checked_weights(w)))


def _measured(
    y_true: Predictor | Law | ArrayLike, y_prob: ArrayLike | None, sample_weight: ArrayLike | None, cells: int | None
) -> Predictor:
    """What ECE and CDL are measured on; they condition on single values, so rows that hardly repeat one warn."""
    q = as_predictor(y_true, y_prob, sample_weight)
    if cells is not None:
        return q.coarsen(cells)
    if not isinstance(y_true, Predictor) and q.sparse:
        warnings.warn(
            f"of {len(q)} prediction values, that of the median row is seen {q.rows_per_value:g} times, too rarely to "
            "have a frequency: this mostly measures sampling noise. Pool values with "
            f"cells={q.suggested_cells}, say, or pass a Predictor to measure the rows as they are.",
            stacklevel=3,
        )
    return q


def _loss(q: Predictor, reference: Predictor, mu: FloatArray) -> FloatArray:
    """D(mu), the worse of the two shared conventions for predictions that equal a threshold."""
    loss = np.empty(len(mu))
    for block in blocks(len(mu)):
        above, on = _upper_payoff(reference, mu, block)
        above_q, on_q = _upper_payoff(q, mu, block)
        loss[block] = above - above_q + np.maximum(on - on_q, 0.0)
    return loss


def _upper_payoff(q: Predictor, mu: FloatArray, block: slice) -> tuple[FloatArray, FloatArray]:
    """E[(y − mu) 1{p > mu}] and E[(y − mu) 1{p = mu}] for a block of thresholds."""
    mass, positive = q.upper_sums
    if mu is q.p:  # where the predictions stand among themselves need not be looked up
        mu, after = mu[block], slice(block.start + 1, block.stop + 1)
        return positive[after] - mu * mass[after], q.positive[block] - mu * q.mass[block]
    mu = mu[block]
    start = np.searchsorted(q.p, mu)
    hit = q.p[np.minimum(start, len(q) - 1)] == mu
    on, here = np.zeros(len(mu)), start[hit]
    on[hit] = q.positive[here] - mu[hit] * q.mass[here]
    start += hit
    return positive[start] - mu * mass[start], on


def _worst(q: Predictor, reference: Predictor, kinks: FloatArray) -> DecisionWitness:
    """Who loses most: the ends of the highest chord over 1/2, or 1/2 itself."""
    loss = _loss(q, reference, kinks)
    start, middle, end = zip((0.0, 0.5, 1.0), _loss(q, reference, np.array([0.0, 0.5, 1.0])).tolist(), strict=True)
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
    problem = DecisionProblem.from_thresholds(thresholds, weights)
    return DecisionWitness(min(1.0, float(weights @ exact[hurt])), thresholds, weights, problem, q, reference)


def _loss_at(q: Predictor, reference: Predictor, mu: float) -> float:
    """D(mu) by plain summation."""

    def upper(law: Predictor, side: Literal["left", "right"]) -> float:
        first = np.searchsorted(law.p, mu, side=side)
        return float(law.positive[first:].sum() - mu * law.mass[first:].sum())

    return max(upper(reference, side) - upper(q, side) for side in _SIDES)


def _given(q: Predictor, reference: Predictor, problem: DecisionProblem) -> DecisionWitness:
    loss = problem.weights @ _loss(q, reference, problem.thresholds)
    return DecisionWitness(float(loss), problem.thresholds, problem.weights, problem, q, reference)
