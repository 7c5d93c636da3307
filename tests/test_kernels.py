"""The kernel decorator: one source, three ways to run it, the same bits."""

import io
import logging
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustcal.cli.compiling import compiling_announced
from trustcal.kernels import WORTH_COMPILING, kernel


class Sums(NamedTuple):
    """Running sums, and the last of them."""

    values: np.ndarray
    total: float


@kernel
def square(x: float) -> float:
    return x * x


@kernel
def weighted(values: np.ndarray, by: float = 1.0) -> float:
    total = 0.0
    for i in range(len(values)):
        total += square(values[i]) / by
    return total


@kernel
def squares(values: np.ndarray) -> Sums:
    sums, total = np.empty(len(values)), 0.0
    for i in range(len(values)):
        total += square(values[i])
        sums[i] = total
    return Sums(sums, total)


@kernel
def last(sums: Sums, table: np.ndarray) -> float:
    return float(sums.values[len(sums.values) - 1] - sums.total + table[0, 1])


@kernel
def shares(values: np.ndarray, sums: Sums) -> None:
    for i in range(len(values)):
        values[i] += 1.0
        sums.values[i] /= sums.total


@kernel
def halve(values: np.ndarray, small: np.ndarray) -> None:
    for i in range(len(values)):
        values[i] *= 0.5
        small[i] = values[i] < 1.0


def test_a_kernel_gives_the_same_bits_compiled() -> None:
    x = np.random.default_rng(0).random(1000)
    fresh = kernel(weighted.source)  # other tests may have compiled `weighted` before
    assert fresh.on(WORTH_COMPILING - 1) is fresh.function
    assert fresh.on(WORTH_COMPILING) is fresh.compiled
    assert fresh.on(1) is fresh.compiled  # it is there, so it is used
    assert weighted(x) == weighted.function(x) == weighted.compiled(x)
    assert weighted(x, 3.0) == weighted.function(x, 3.0) == weighted.function(x, by=3.0) == weighted.compiled(x, 3.0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_arrays_come_back_as_arrays_also_in_named_tuples(given: list[float]) -> None:
    values = np.array(given)
    values.flags.writeable = False
    plain, source, compiled = squares.function(values), squares(values), squares.compiled(values)
    assert isinstance(plain, Sums)
    assert isinstance(plain.values, np.ndarray)
    assert type(plain.total) is float
    assert plain.values.tobytes() == source.values.tobytes() == compiled.values.tobytes()
    assert last.function(plain, np.eye(2)) == last(source, np.eye(2)) == 0.0


def test_what_is_written_into_an_argument_is_written_for_the_caller() -> None:
    for run in (halve.function, halve.source, halve.compiled):
        values, small = np.arange(6.0), np.zeros(3, dtype=np.bool_)
        run(values[::-2], small)
        assert values.tolist() == [0, 0.5, 2, 1.5, 4, 2.5]
        assert small.tolist() == [False, False, True]


def test_what_was_written_before_a_division_by_zero_is_not_written_twice() -> None:
    for run in (shares.function, shares.source, shares.compiled):
        values, sums = np.zeros(2), Sums(np.array([1.0, 0.0]), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            run(values, sums)
        assert values.tolist() == [1.0, 1.0]
        assert sums.values[0] == np.inf
        assert np.isnan(sums.values[1])


def test_a_division_by_zero_is_infinite_in_all_versions() -> None:
    x = np.array([1.0, 0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        for run in (weighted.function, weighted.source, weighted.compiled):
            assert run(x[:1], 0.0 * x[0]) == np.inf
            assert np.isnan(run(x[1:], 0.0 * x[0]))


def test_a_constant_argument_is_not_compiled_by_itself() -> None:
    """numba compiles a called kernel again for each literal, unless it is told not to."""
    from numba import types

    compiled: Any = _scaled._part
    for by, up in ((2, True), (3, False)):  # as a kernel that calls it would
        constants = types.IntegerLiteral(by), types.BooleanLiteral(up)
        compiled.get_call_template((types.float64, *constants), {})
    assert compiled.signatures == [(types.float64, types.int64, types.boolean)]


@kernel
def _scaled(x: float, by: int, up: bool) -> float:
    return x * by if up else x / by


def test_a_terminal_is_told_once_that_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    log, terminal = logging.getLogger("trustcal.kernels.cache"), io.StringIO()
    for seen in (False, True):
        monkeypatch.setattr(terminal, "isatty", lambda seen=seen: seen, raising=False)
        monkeypatch.setattr(sys, "stderr", terminal)
        with compiling_announced():
            log.info("Compiling.")
            log.info("Compiling.")
    assert terminal.getvalue() == "Compiling.\n"
    assert not logging.getLogger("trustcal.kernels").handlers
