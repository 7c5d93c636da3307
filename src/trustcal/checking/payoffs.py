"""Checks of payoffs, thresholds and scores."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import FloatArray, as_numbers, refuse


def checked_payoff(payoff: ArrayLike) -> FloatArray:
    """A table of payoffs, a row per action and a column per outcome, as a new array."""
    table = np.array(as_numbers(payoff, "payoff"))
    if table.ndim != 2 or table.shape[1] != 2 or len(table) == 0:
        raise ValueError(
            "payoff must have a row per action and two columns, the payoff if y = 0 and if y = 1, "
            f"but its shape is {table.shape}."
        )
    return _finite(table)


def checked_outcome_payoff(payoff: ArrayLike) -> FloatArray:
    """A table of payoffs, a row per action and a column per outcome, two or more, as a new array."""
    table = np.array(as_numbers(payoff, "payoff"))
    if table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
        raise ValueError(
            f"payoff must have a row per action and a column per outcome, two or more, but its shape is {table.shape}."
        )
    return _finite(table)


def _finite(table: FloatArray) -> FloatArray:
    """The table, unless an entry is not finite or so large that differences are not."""
    worst = table[np.arange(len(table)), np.argmin(np.isfinite(table), axis=1)]
    refuse(~np.isfinite(worst), worst, "payoffs must be finite numbers", "leave out impossible actions")
    if np.abs(table).max() > np.finfo(float).max / 4:
        raise ValueError("payoffs must be small enough for their differences to be finite. Use larger units.")
    return table


def checked_actions(actions: Iterable[str], count: int) -> tuple[str, ...]:
    """As many names as there are actions."""
    names = () if isinstance(actions, str) or not isinstance(actions, Iterable) else tuple(map(str, actions))
    if len(names) != count:
        raise ValueError(f"actions must be {count} names, one for each row of payoff, but is {actions!r}.")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"every action must have a name of its own, but {names.count(repeated)} are {repeated!r}.")
    return names


def checked_thresholds(thresholds: FloatArray, payoff: FloatArray) -> FloatArray:
    """Thresholds in [0, 1], not decreasing, at which the actions of a payoff table, in their order, pay the same."""
    if len(thresholds) != len(payoff) - 1:
        raise ValueError(
            f"{len(payoff)} actions in order have {len(payoff) - 1} thresholds between them, not {len(thresholds)}."
        )
    refuse(~((thresholds >= 0) & (thresholds <= 1)), thresholds, "thresholds must lie in [0, 1]")
    refuse(np.diff(thresholds, prepend=0) < 0, thresholds, "thresholds must not decrease")
    step = np.diff(payoff, axis=0)
    refuse(
        ~(np.abs(_expected(step, thresholds)) <= 1e-9 * np.abs(payoff).max(initial=1)) | (step[:, 1] < step[:, 0]),
        thresholds,
        "at a threshold the actions on its two sides must pay the same, and above it the later one more",
    )
    return thresholds


def refuse_improper(p: FloatArray, score: FloatArray) -> None:
    """Raise an error unless score[i, y], the score of reporting p[i], is finite and proper on an increasing grid."""
    refuse(~((p >= 0) & (p <= 1)), p, "p must lie in [0, 1]")
    refuse(np.append(False, np.diff(p) <= 0), p, "p must be strictly increasing")
    finite = np.isfinite(score[:, 0]) & np.isfinite(score[:, 1])
    refuse(~finite, p, "scores must be finite", "bound the score, or leave this p out")
    # Truth beats both neighbours everywhere ⇒ the expected score is convex along the grid with the scores as
    # subgradients ⇒ truth beats every report.
    expected = _expected(score, p)
    slack = 8 * np.finfo(float).eps * np.abs(score).max()
    for report, truth in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        refuse(
            _expected(score[report], p[truth]) > expected[truth] + slack,
            p[truth],
            "a proper score must reward the truth: no other report may have a higher expected score",
        )


def _expected(payoff: FloatArray, p: FloatArray) -> FloatArray:
    """The expected payoff of each action if y = 1 has probability p."""
    return np.asarray((1 - p) * payoff[:, 0] + p * payoff[:, 1])
