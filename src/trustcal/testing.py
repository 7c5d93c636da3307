"""Calibration as a test: `assert_trustworthy` for pytest and other test runners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from numpy.typing import ArrayLike

from trustcal.auditing import DRAWS, Failure, Gate, audit
from trustcal.auditing.class_gates import CLASS_TESTS

_OPPOSITE: Final = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}


def assert_trustworthy(
    y_true: Any,
    y_prob: ArrayLike | None = None,
    *conditions: str,
    **options: Any,
) -> None:
    """Assert conditions on an audit of predictions, such as "loss.lower<=0.02".

    Parameters
    ----------
    y_true : array_like
        Outcomes; or a file, a frame or a `Predictor`, as for `audit`, and then `y_prob` is None.
    y_prob : array_like, optional
        Predictions.
    *conditions : str
        What must hold, in the syntax of gates (`trustcal.auditing.Gate`): a name, a sign and a number.
    **options
        Passed to `audit`: `classes`, `payoff`, `by`, `draws`, `rng` and so on.  By default there are enough draws for
        the conditions.

    Raises
    ------
    AssertionError
        With the conditions that do not hold, their values, the verdict and who is hurt.
    ValueError
        If there is no condition, or the rows or a condition are not valid.

    Examples
    --------
    >>> y, p = [0, 1] * 100, [0.5] * 200
    >>> assert_trustworthy(y, p, "cdl.lower<=0.02", "loss.upper<=0.3")
    >>> assert_trustworthy([1, 1] * 100, p, "cdl.lower<=0.02")
    Traceback (most recent call last):
    AssertionError: cdl.lower<=0.02 does not hold: it is 0.8.
    ...

    The cost is that of `audit`.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    if not conditions:
        raise ValueError('there must be a condition, such as "loss.lower<=0.02", but none is given.')
    asked = [Gate.parse(condition) for condition in conditions]
    against = [replace(gate, sign=_OPPOSITE[gate.sign]) for gate in asked]
    tests = 1 if options.get("classes") is None else CLASS_TESTS
    options.setdefault("draws", max([DRAWS, *(tests * (gate.draws + 1) for gate in against)]))
    found = audit(y_true, y_prob, **options)
    failed = [
        f"{gate} does not hold: it is {failure.value:.6g}{_where(failure)}."
        for gate, opposite in zip(asked, against, strict=True)
        for failure in found.check(opposite)
    ]
    if failed:
        hurt = [f"Worst hit: {found.verdict.hurt[0].text}"] if found.verdict.hurt else []
        raise AssertionError("\n".join([*failed, str(found.verdict), *hurt]))


def _where(failure: Failure) -> str:
    return "" if failure.group is None else f" in group {failure.group}"
