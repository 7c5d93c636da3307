"""Decision problems: actions with payoffs, the thresholds between them, best responses and regret.

Action a pays payoff[a, y] when the outcome is y.  Its expected payoff is a line in the believed probability p, and the
best response takes the highest line.  So a decision problem is, up to dominated actions, a list of thresholds where the
best action changes.  Best responses are found by comparing p with thresholds, never expected payoffs with each other:
rounding would decide ties.

    >>> d = DecisionProblem([[0, 0], [-1, 3]], actions=["wait", "treat"])
    >>> d.thresholds                                       # -(1 - p) + 3p > 0
    array([0.25])
    >>> d.best_response([0.2, 0.25, 0.3])                  # at a threshold: the lower action
    array([0, 0, 1])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import (
    as_numbers,
    refuse,
    refuse_other,
    refuse_unpaired,
    unit_numbers,
)
from trustcal.checking.payoffs import checked_actions, checked_payoff, checked_thresholds, refuse_improper
from trustcal.decisions.envelope import upper_envelope
from trustcal.decisions.recommendations import Recommendation, Ties, recommended
from trustcal.decisions.regret import Swaps, swapped
from trustcal.laws import Law
from trustcal.predictor import Predictor, as_predictor, predictor_and
from trustcal.rows import real_vector

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class DecisionProblem:
    """A decision problem (A, {0, 1}, U) with finitely many actions (the paper's Section 2.1).

    Thresholds are computed from the payoffs in rational arithmetic and rounded once.

    Parameters
    ----------
    payoff : array-like of shape (actions, 2)
        U(a, y) in any units; values and regrets have the same units.
    actions : iterable of str, optional
        Names of the actions; "action 0", "action 1", … by default.
    thresholds : array-like, optional
        The thresholds, where they are known more exactly than rounded payoffs determine them.

    >>> DecisionProblem([[0, 0], [-1, 3]], actions=["wait", "treat"])
    DecisionProblem(wait | 0.25 | treat)

    O(k log k) for k actions.
    """

    payoff: FloatArray
    actions: tuple[str, ...]
    thresholds: FloatArray
    """Where the best action changes, increasing, in [0, 1]."""
    responses: IntArray
    """The best actions from p = 0 to p = 1: responses[j] between thresholds j - 1 and j."""
    rounded: bool
    """Whether thresholds were given, so that they are exact and the payoffs rounded; otherwise it is the reverse."""

    def __init__(
        self,
        payoff: ArrayLike,
        actions: Iterable[str] | None = None,
        *,
        thresholds: ArrayLike | None = None,
    ) -> None:
        table = checked_payoff(payoff)
        names = checked_actions([f"action {a}" for a in range(len(table))] if actions is None else actions, len(table))
        if thresholds is None:
            changes, responses = upper_envelope(table)
        else:
            changes = checked_thresholds(np.array(real_vector(thresholds, "thresholds")), table)
            responses = np.arange(len(table))
        for array in (table, changes, responses):
            array.flags.writeable = False
        values = (table, names, changes, responses, thresholds is not None)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        steps = [self.actions[self.responses[0]]]
        for mu, response in zip(self.thresholds, self.responses[1:], strict=True):
            steps += [f"{mu:.6g}", self.actions[response]]
        return f"DecisionProblem({' | '.join(steps)})"

    @classmethod
    def from_thresholds(
        cls, thresholds: ArrayLike, weights: ArrayLike, actions: Iterable[str] | None = None
    ) -> DecisionProblem:
        """The decision problem with given thresholds and weights.

        Passing threshold μ with weight m changes the payoff by m·(y − μ).  If Σ m·μ ≤ 1 and Σ m·(1 − μ) ≤ 1, all
        payoffs lie in [0, 1].  Every bounded proper score is a mixture of such steps (theory.md, Section 2).

        Parameters
        ----------
        thresholds : array-like
            Where the action changes, in [0, 1], not decreasing.
        weights : array-like
            The positive weight of each threshold.
        actions : iterable of str, optional
            One name more than there are thresholds.

        >>> DecisionProblem.from_thresholds([0.5], [2]).payoff
        array([[1., 0.],
               [0., 1.]])
        """
        mu, m = real_vector(thresholds, "thresholds"), real_vector(weights, "weights")
        refuse_unpaired(thresholds=mu, weights=m)
        refuse(~(m > 0), m, "weights must be positive")
        lost, won = m * mu, m * (1 - mu)
        at_0 = (1 + lost.sum()) / 2 - np.append(0.0, np.cumsum(lost))
        at_1 = (1 - won.sum()) / 2 + np.append(0.0, np.cumsum(won))
        return cls(np.column_stack([at_0, at_1]), actions, thresholds=mu)

    @classmethod
    def from_score(cls, score_at_0: ArrayLike, score_at_1: ArrayLike, p: ArrayLike) -> DecisionProblem:
        """The decision problem that induces a proper score (Claim 2.4).

        Action i is "report p[i]".  The induced score equals the given one at every grid point; on a threshold, where
        two reports are equally good, it is that of the lower one.  The paper claims a bijection.  The map is only onto:
        problems that differ in dominated actions induce the same score.

        Parameters
        ----------
        score_at_0, score_at_1 : array-like
            S(p, 0) and S(p, 1) on the grid.  The score must be proper: no report may beat the truth.
        p : array-like
            The grid, strictly increasing in [0, 1].

        >>> grid = np.array([0, 0.5, 1])
        >>> brier = DecisionProblem.from_score(1 - grid**2, 1 - (1 - grid)**2, grid)
        >>> brier.thresholds
        array([0.25, 0.75])

        O(k log k).
        """
        given = {"p": p, "score_at_0": score_at_0, "score_at_1": score_at_1}
        grid, at_0, at_1 = (real_vector(values, name) for name, values in given.items())
        refuse_unpaired(1, p=grid, score_at_0=at_0, score_at_1=at_1)
        table = np.column_stack([at_0, at_1])
        refuse_improper(grid, table)
        return cls(table, [f"report {value:.6g}" for value in grid])

    @property
    def stakes(self) -> float:
        """The payoff range: the largest difference between two best responses, for either outcome.

        Any regret divided by it is at most the CDL of the predictor, as for payoffs in [0, 1].
        """
        return float(np.ptp(self.payoff[self.responses], axis=0).max())

    @property
    def weights(self) -> FloatArray:
        """The weight m of each threshold μ: passing it changes the payoff by m·(y − μ)."""
        step = np.diff(self.payoff[self.responses], axis=0)
        return np.asarray(step[:, 1] - step[:, 0])

    def best_response(self, p: ArrayLike) -> IntArray:
        """The row of `payoff` that is best if y = 1 has probability p; on a threshold, the lower one.  O(log k)."""
        return self.responses[np.searchsorted(self.thresholds, unit_numbers(p, "beliefs"), side="left")]

    def score(self, p: ArrayLike, y: ArrayLike) -> FloatArray:
        """The induced proper score S_U(p, y) = U(a*(p), y) (Definition 2.2).

        Predictions and outcomes broadcast.  O(log k) each.

        >>> DecisionProblem([[1, 0], [0, 1]]).score([0.3, 0.8], [1, 1])
        array([0., 1.])
        """
        outcome, action = as_numbers(y, "outcomes"), self.best_response(p)
        refuse(~((outcome == 0) | (outcome == 1)).ravel(), outcome.ravel(), "outcomes must be 0 or 1")
        try:
            return self.payoff[action, outcome.astype(np.intp)]
        except IndexError:
            raise ValueError(
                f"p and y must have shapes that broadcast, but have {action.shape} and {outcome.shape}."
            ) from None

    def value(self, q: Predictor) -> float:
        """The expected payoff of acting on the predictions: E[S_U(p, y)].  O(n log k)."""
        q = as_predictor(q)
        paid = self.payoff[self.best_response(q.p)]
        return float(((q.mass - q.positive) * paid[:, 0] + q.positive * paid[:, 1]).sum())

    def swap_regret(self, q: Predictor | Law) -> float:
        """The loss of acting on the predictions against the best use of them (Definition 2.9, Proposition 2.10).

            Swap_U(q) = max over σ of E[S_U(σ(p), y) − S_U(p, y)],  attained by σ(p) = p_hat

        It is a supremum over best responses: on a threshold the worst of the tied actions counts.

        >>> rain = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
        >>> DecisionProblem([[1, 0], [0, 1]]).swap_regret(rain)
        1.0

        O(n log k).
        """
        if isinstance(q, Law):
            return float(self.weights @ q.profile(self.thresholds))
        return float(self.swaps(q).gain.sum())

    def swaps(self, q: Predictor) -> Swaps:
        """The better action at each prediction value and its gain; the gains sum to the swap regret.  O(n log k)."""
        return swapped(self, as_predictor(q))

    def action_regret(
        self,
        y_true: Predictor | ArrayLike,
        y_prob: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        ties: Ties | None = None,
    ) -> float:
        """What a decision maker loses who sees only the recommended action (swap regret in the space of actions).

            Σ_a max_a' E[U(a', y) − U(a, y); a is recommended]

        At most the swap regret, and estimable from rows without bins.

        Parameters
        ----------
        y_true, y_prob, sample_weight
            Outcomes, predictions and weights; or a `Predictor` alone.
        ties : "worst" or "lower"
            Where a prediction that equals a threshold goes: to the side that regrets more, which is the default, or to
            the lower action.  After a `Predictor` it may be given by position.

        Returns
        -------
        float
            In the units of the payoffs.

        Examples
        --------
        >>> umbrella = DecisionProblem([[1, 0], [0, 1]], ["leave it", "take it"])
        >>> umbrella.action_regret(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.125]))
        0.25

        O(n + k) for k actions.
        """
        return float(sum(one.gain for one in self.recommendations(y_true, y_prob, sample_weight, ties=ties)))

    def recommendations(
        self,
        y_true: Predictor | ArrayLike,
        y_prob: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        ties: Ties | None = None,
    ) -> tuple[Recommendation, ...]:
        """Action by action: how often it is recommended, what it promises and earns, and what would be better.

        Parameters
        ----------
        y_true, y_prob, sample_weight, ties
            As in `action_regret`.

        Returns
        -------
        tuple of Recommendation
            One for each action, in the order of `actions`.

        Examples
        --------
        >>> umbrella = DecisionProblem([[1, 0], [0, 1]], ["leave it", "take it"])
        >>> leave, take = umbrella.recommendations(Predictor([0.25, 0.75], [0.5, 0.5], [0.125, 0.125]))
        >>> take.promised, take.earned, take.better, take.gain
        (0.375, 0.125, 'leave it', 0.25)

        O(n + k) for k actions.
        """
        q, ties = predictor_and(y_true, y_prob, sample_weight, ties)
        return recommended(self, q, "worst" if ties is None else ties)


def as_problem(problem: DecisionProblem) -> DecisionProblem:
    """The argument itself; anything but a decision problem raises an error.

    Parameters
    ----------
    problem : DecisionProblem; anything else raises an error

    Returns
    -------
    DecisionProblem
    """
    refuse_other(
        "problem", problem, DecisionProblem, "a DecisionProblem, such as umbrella() or DecisionProblem(payoff)"
    )
    return problem
