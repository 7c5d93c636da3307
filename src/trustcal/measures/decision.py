"""Measures for decision makers: ECE, CDL, decision loss, U-calibration.  How they are computed is in `worst_loss`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import refuse, refuse_unpaired, several
from trustcal.decisions import DecisionProblem, as_problem
from trustcal.laws import Law
from trustcal.measures.pooling import REPEATS, rare_share, sparse
from trustcal.measures.worst_loss import DecisionWitness, given_loss, worst_loss, worst_loss_value
from trustcal.predictor import Predictor, as_predictor
from trustcal.rows import checked_weights, real_vector


def ece(
    y_true: Predictor | Law | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
) -> float:
    """Expected calibration error (Definition 2.8): E|p − p_hat|.

    Rows whose values are too rare to have a frequency raise a warning; a `Predictor`, which may be any law, does not.

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor (or the law after noise) alone, or rows in scikit-learn's order.
    cells : int, optional
        Measure on this many bins of equal mass (`Predictor.coarsen`) instead of the values as they are.

    Returns
    -------
    float

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

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor (or the law after noise) alone, or rows in scikit-learn's order.
    cells : int, optional
        Measure on this many bins of equal mass (`Predictor.coarsen`) instead of the values as they are.

    Returns
    -------
    float

    >>> cdl(Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]))
    1.0

    O(n log n), for sorting p_hat.
    """
    if isinstance(y_true, Law) and cells is None:
        return y_true.cdl()
    q = _measured(y_true, y_prob, sample_weight, cells)
    return worst_loss_value(q, q.calibrated(), q.p)


def cdl_witness(q: Predictor) -> DecisionWitness:
    """The worst decision maker of `cdl`, and the loss at every threshold.

    Parameters
    ----------
    q : Predictor

    Returns
    -------
    DecisionWitness

    >>> witness = cdl_witness(Predictor([0.5], [1.0], [0.75]))
    >>> witness.thresholds, witness.value, witness.problem.swap_regret(witness.predictor)
    (array([0.5]), 0.5, 0.5)

    O(n log n).
    """
    # A calibrated reference has convex kinks only: the envelope has its vertices at the predictions, 0 and 1.
    q = as_predictor(q)
    return worst_loss(q, q.calibrated(), q.p)


def ucal(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    cells: int | None = None,
) -> float:
    """U-calibration error (Kleinberg et al. 2023): the most any decision maker would gain by ignoring the predictor.

        max over proper S in [0, 1] of  max over constants c of E[S(c, y)] − E[S(p, y)];  the base rate is the best c

    Parameters
    ----------
    y_true, y_prob, sample_weight : Predictor, or array-likes
        A predictor alone, or rows in scikit-learn's order.
    cells : int, optional
        Measure on this many bins of equal mass (`Predictor.coarsen`) instead of the values as they are.

    Returns
    -------
    float

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng, "U-calibration: forecasting for an unknown agent", COLT 2023.

    >>> ucal(Predictor([0.25, 0.75], [0.5, 0.5], [0.375, 0.125]))        # the wrong way round
    0.5

    O(n).
    """
    q = as_predictor(y_true, y_prob, sample_weight)
    q = q if cells is None else q.coarsen(cells)
    constant = Predictor([q.base_rate], [1.0], [q.base_rate])
    return worst_loss_value(q, constant, q.p)


def decision_loss(
    q: Predictor,
    references: Predictor | Iterable[Predictor],
    problems: DecisionProblem | Iterable[DecisionProblem] | None = None,
) -> float:
    """Decision loss (Definition 2.5; omniprediction, Definition 2.6): the most lost against a reference.

        DL(P; B) = max over B and proper S in [0, 1] of E[S(b, y) − S(p, y)] = max over B of 2·cav D⁺(1/2)

    Ties are shared: both predictors' values on a threshold get the same action, and the worse of the two actions
    counts.  Only the laws of (b, y) and (p, y) matter.

    Parameters
    ----------
    q : Predictor
        What is believed.
    references : Predictor or iterable of Predictor
        What it is compared with; all must have the base rate of q, as predictions of the same outcomes do.
    problems : DecisionProblem or iterable of DecisionProblem, optional
        The maximum is over these only, in their own units, and may be negative; default: all payoffs in [0, 1].

    Returns
    -------
    float

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
    """Who loses most in `decision_loss`, and against which reference.

    Parameters
    ----------
    q, references, problems
        As in `decision_loss`.

    Returns
    -------
    DecisionWitness

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
            raise ValueError(f"at least one {name} is needed, but none was given.")
    for index, reference in enumerate(against):
        if not abs(reference.base_rate - q.base_rate) <= 1e-9:
            raise ValueError(
                "a reference must predict the same outcomes and so have the same base rate, but reference "
                f"{index} has {reference.base_rate!r} and the predictor {q.base_rate!r}. Use the same rows for both."
            )
    if given is None:
        witnesses = [worst_loss(q, reference, np.union1d(q.p, reference.p)) for reference in against]
    else:
        witnesses = [given_loss(q, reference, problem) for reference in against for problem in given]
    return max(witnesses, key=lambda witness: witness.value)


def distance(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The distance between two predictors on the same rows (Definition 2.15): E|a − b|.

    Parameters
    ----------
    a, b : array-like
        Predictions of the same rows, in [0, 1].
    weight : array-like, optional
        The weights of the rows.

    Returns
    -------
    float

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
    """What ECE and CDL are measured on; rows whose values hardly repeat raise a warning."""
    q = as_predictor(y_true, y_prob, sample_weight)
    if cells is not None:
        return q.coarsen(cells)
    if not isinstance(y_true, Predictor) and sparse(q):
        warnings.warn(
            f"{100 * rare_share(q):.0f} % of the rows have a prediction that fewer than {REPEATS} rows have, too few "
            "for a frequency: the result is mostly sampling noise. Use monotone_cdl or cutoff, which need no bins; or "
            f"pool values with, for example, cells={q.suggested_cells}; or pass a Predictor to measure the values as "
            "they are.",
            stacklevel=3,
        )
    return q
