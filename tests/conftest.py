"""Hypothesis runs the same examples every time, unless it is asked to explore; and in CI nothing may be skipped.

pytest -m "not slow"                                                 # make test: a quarter of the examples
pytest -m "slow or hypothesis" --hypothesis-profile=full             # make test-slow: all of them
pytest --hypothesis-profile=nightly tests/test_theorems.py …         # make nightly: 10,000 new ones
NOTHING_SKIPPED=1 pytest                                             # a skipped test is a failure
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("fast", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("nightly", deadline=None, max_examples=10_000)
settings.load_profile("fast")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # scikit-learn's checks skip themselves where they do not apply to an estimator.
    if report.skipped and not hasattr(report, "wasxfail") and "sklearn_check" not in item.keywords:
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        _fail(report)
    return report


def pytest_configure() -> None:
    """Under nohup and in the background signals are ignored, and programs that tests start and end would inherit that.

    They do not inherit a handler.
    """
    for name in ("SIGHUP", "SIGINT", "SIGQUIT"):
        number = getattr(signal, name, None)  # Windows has SIGINT only
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_unconfigure() -> None:
    """Close what Ibis and DuckDB keep open: DuckDB reports functions that are still registered at exit as leaks."""
    ibis, duckdb = sys.modules.get("ibis"), sys.modules.get("duckdb")
    if ibis is not None and ibis.options.default_backend is not None:
        ibis.options.default_backend.disconnect()
        ibis.options.default_backend = None
    if duckdb is not None:
        duckdb.default_connection().close()
    gc.collect()


def _fail(report: Any) -> None:
    if os.environ.get("NOTHING_SKIPPED"):
        report.outcome = "failed"
        report.longrepr = f"skipped, although NOTHING_SKIPPED is set: {report.longrepr[2]}"
