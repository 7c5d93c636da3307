"""Decision problems with K outcomes: best responses, action regret, and where beliefs and outcomes part.

Action a pays payoff[a, k] when the outcome is class k.  Who believes the vector p takes the action of the largest
expected payoff Σ_k p_k·payoff[a, k].  Let J[a, k] = Pr[a is recommended, y = k] and P[a, k] = E[p_k; a is recommended]:

    action regret = Σ_a max_a' Σ_k J[a, k]·(payoff[a', k] − payoff[a, k]),
    decision gap  = max_a ½·Σ_k |J[a, k] − P[a, k]|.

Both need no bins: there are as many groups of rows as there are actions.

    >>> OutcomeProblem([[1, 0, 0], [0, 1, -1]]).best_response([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    array([0, 1])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking.payoffs import checked_actions, checked_outcome_payoff
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.decisions.problem import DecisionProblem
from trustcal.decisions.recommendations import Recommendation
from trustcal.decisions.responses import ActionTables, best_responses, projected_scores, recommended_by
from trustcal.predictor import Predictor
from trustcal.rows.classes import checked_class_names, checked_class_order, checked_vectors, name_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class OutcomeProblem:
    """A decision problem with finitely many actions and K outcomes.

    Parameters
    ----------
    payoff : array-like of shape (actions, K)
        What each action pays for each outcome, in any units; values and regrets have the same units.
    actions : iterable of str, optional
        Names of the actions; "action 0", "action 1", … by default.
    outcomes : iterable, optional
        Names of the outcomes.  Where both have names, a class predictor is matched by name, in any order; otherwise by
        the order of the columns.

    Examples
    --------
    >>> OutcomeProblem([[1, 0, 0], [0, 1, -1]], actions=["keep", "sell"])
    OutcomeProblem(2 actions, 3 outcomes)

    References
    ----------
    Zhao, Kim, Sahoo, Ma and Ermon (2021), Calibrating predictions to decisions: a novel approach to multi-class
    calibration.
    """

    payoff: FloatArray
    actions: tuple[str, ...]
    outcomes: tuple[Any, ...]
    named: bool
    """Whether the outcomes were given names."""

    def __init__(
        self, payoff: ArrayLike, actions: Iterable[str] | None = None, outcomes: Iterable[object] | None = None
    ) -> None:
        table = checked_outcome_payoff(payoff)
        names = checked_actions([f"action {a}" for a in range(len(table))] if actions is None else actions, len(table))
        classes = checked_class_names(outcomes, table.shape[1], "outcomes", "payoff")
        table.flags.writeable = False
        for field, value in zip(fields(self), (table, names, classes, outcomes is not None), strict=True):
            object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        return f"OutcomeProblem({len(self.actions)} actions, {len(self.outcomes)} outcomes)"

    @property
    def stakes(self) -> float:
        """The payoff range: the largest difference between two actions, over all outcomes."""
        return float(np.ptp(self.payoff, axis=0).max())

    @cached_property
    def positive(self) -> int:
        """With two outcomes, the one whose probability is compared with thresholds: the last by name, in any order."""
        return name_order(self.outcomes)[-1]

    @cached_property
    def binary(self) -> DecisionProblem | None:
        """The same problem by thresholds, where there are two outcomes."""
        if len(self.outcomes) != 2:
            return None
        return DecisionProblem(self.payoff[:, [1 - self.positive, self.positive]], self.actions)

    def best_response(self, proba: ArrayLike) -> IntArray:
        """The row of `payoff` with the largest expected payoff.

        Of actions whose expected payoffs differ by no more than rounding, the first is taken: by less than 8·K·2^-52 of
        Σ_k p_k·|payoff[a, k] − payoff[b, k]|.  With two outcomes it is `DecisionProblem.best_response`, which compares
        the probability of one outcome with thresholds and on a threshold takes the action that gains least by that
        outcome.  It is the outcome whose name comes last, 1 of 0 and 1 or "yes" of "no" and "yes", so that the order of
        the columns does not matter.

        Parameters
        ----------
        proba : array-like of shape (rows, K), or one vector
            Beliefs, in the order of `outcomes`.

        Returns
        -------
        ndarray of int

        O(K·actions) for each row.
        """
        table = np.asarray(proba)
        return self._responses(checked_vectors(np.atleast_2d(proba)))[() if table.ndim != 1 else 0]

    def _responses(self, p: FloatArray) -> IntArray:
        if p.shape[1] != len(self.outcomes):
            raise ValueError(f"beliefs must have {len(self.outcomes)} columns, one per outcome, not {p.shape[1]}.")
        if self.binary is not None:
            return self.binary.best_response(p[:, self.positive])
        return best_responses(p, self.payoff)

    def tables(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ActionTables:
        """The joint tables of recommended action and outcome, seen and said.

        Parameters
        ----------
        y_true, proba, sample_weight
            A `ClassPredictor`, or labels, vectors of probabilities in the order of `outcomes`, and weights.

        Returns
        -------
        ActionTables

        O(n·K·actions).
        """
        q = self.matched(y_true, proba, sample_weight)
        taken = self._responses(q.p)
        count, width = self.payoff.shape
        seen = np.bincount(taken[q.value] * width + q.outcome, q.weight, count * width) / q.total
        said = np.zeros(self.payoff.shape)
        np.add.at(said, taken, q.mass[:, None] * q.p)
        return ActionTables(taken, seen.reshape(count, width), said)

    def value(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """What acting on the predictions earns per row: Σ J·payoff.  O(n·K·actions)."""
        q = self.matched(y_true, proba, sample_weight)
        if self.binary is not None:
            return self.binary.value(q.scored(q.p[:, self.positive], q.outcome == self.positive))
        return float((self.tables(q).seen * self.payoff).sum())

    def action_regret(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """What replacing recommended actions by others, each as a whole, would earn more: exact, without bins.

            Σ_a max_a' E[U(a', y) − U(a, y); a is recommended]

        Parameters
        ----------
        y_true, proba, sample_weight
            As in `tables`.

        Returns
        -------
        float
            In the units of the payoffs.

        Examples
        --------
        >>> d = OutcomeProblem([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> d.action_regret([0, 1, 1, 2], [[0.5, 0.25, 0.25]] * 3 + [[0.25, 0.25, 0.5]])
        0.25

        O(n·K·actions).
        """
        return float(sum(one.gain for one in self.recommendations(y_true, proba, sample_weight)))

    def recommendations(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Recommendation, ...]:
        """Action by action: how often it is recommended, what it promises and earns, and the swap that gains most.

        Parameters
        ----------
        y_true, proba, sample_weight
            As in `tables`.

        Returns
        -------
        tuple of Recommendation
            One for each action, in the order of `actions`; the gains sum to the action regret.

        Examples
        --------
        >>> d = OutcomeProblem([[1, 0, 0], [0, 1, 0], [0, 0, 1]], actions=["cat", "dog", "fox"])
        >>> cat, dog, fox = d.recommendations([0, 1, 1, 2], [[0.5, 0.25, 0.25]] * 3 + [[0.25, 0.25, 0.5]])
        >>> cat.mass, cat.earned, cat.better, cat.gain
        (0.75, 0.25, 'dog', 0.25)

        O(n·K·actions + actions²·K).
        """
        q = self.matched(y_true, proba, sample_weight)
        if self.binary is not None:
            return self.binary.recommendations(q.scored(q.p[:, self.positive], q.outcome == self.positive), "lower")
        return recommended_by(self.payoff, self.actions, self.tables(q))

    def decision_gaps(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """For each action ½·Σ_k |J[a, k] − P[a, k]|: how far outcomes are from beliefs where it is recommended."""
        found = self.tables(y_true, proba, sample_weight)
        return np.asarray(np.abs(found.seen - found.said).sum(axis=1) / 2)

    def decision_gap(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The largest gap of an action; the action regret is at most twice the payoff range times all gaps together.

        Parameters
        ----------
        y_true, proba, sample_weight
            As in `tables`.

        Returns
        -------
        float

        Examples
        --------
        >>> d = OutcomeProblem([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> d.decision_gap([0, 1, 1, 2], [[0.5, 0.25, 0.25]] * 3 + [[0.25, 0.25, 0.5]])
        0.3125

        O(n·K·actions).
        """
        return float(self.decision_gaps(y_true, proba, sample_weight).max())

    def view(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Predictor:
        """The view of a problem with two actions: the score on which the decision is a threshold.

        With d the difference of the two payoffs, the prediction is (Σ_k p_k·d_k − min d)/(max d − min d), and outcome k
        counts as a 1 to the extent (d_k − min d)/(max d − min d).  The problem `projected` on it decides as this one
        does and has the same regret, so all measures for two outcomes apply to the view.

        Parameters
        ----------
        y_true, proba, sample_weight
            As in `tables`.

        Returns
        -------
        Predictor
            With three or more outcomes its outcomes are shares, so that confidence bounds on it are conservative.

        Examples
        --------
        >>> d = OutcomeProblem([[0, 0, 0], [-1, 0, 3]], actions=["wait", "treat"])
        >>> y, proba = [0, 1, 2, 2], [[0.5, 0.25, 0.25], [0.25, 0.75, 0.0], [0.75, 0.0, 0.25], [0.0, 0.5, 0.5]]
        >>> d.view(y, proba).p
        array([0.1875, 0.25  , 0.3125, 0.625 ])
        >>> d.projected.action_regret(d.view(y, proba), "lower") == d.action_regret(y, proba)
        True

        O(n·K + n log n).
        """
        q, step = self.matched(y_true, proba, sample_weight), self._difference()
        low, width = float(step.min()), float(np.ptp(step))
        score = projected_scores(q.p, step, self._responses(q.p))
        return q.scored(score, (step[q.outcome] - low) / width)

    @property
    def projected(self) -> DecisionProblem:
        """The decision problem on the view of a problem with two actions: a threshold, and the same gains."""
        step = self._difference()
        return DecisionProblem([[0.0, 0.0], [float(step.min()), float(step.max())]], self.actions)

    def _difference(self) -> FloatArray:
        if len(self.actions) != 2:
            raise ValueError(f"only a problem with two actions has a view, but this one has {len(self.actions)}.")
        step = np.asarray(self.payoff[1] - self.payoff[0])
        if np.ptp(step) == 0:
            raise ValueError("the two actions differ by the same amount for every outcome: no prediction matters.")
        return step

    def matched(
        self,
        y_true: ClassPredictor | ArrayLike,
        proba: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ClassPredictor:
        """The class predictor with its classes in the order of the outcomes.  O(n·K), O(1) if they are already."""
        q = as_class_predictor(y_true, proba, sample_weight, self.outcomes)
        if not self.named and len(q.classes) == len(self.outcomes):
            return q
        return q.ordered(checked_class_order(q.classes, self.outcomes))
