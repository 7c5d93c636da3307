"""Hypothesis: the same examples every time in CI, new ones at every run elsewhere, 10,000 of them at night.

pytest --hypothesis-profile=nightly tests/test_theorems.py …         # make nightly
NOTHING_SKIPPED=1 pytest                                             # a test that is left out is a failure
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("new examples", deadline=None)
settings.register_profile("same examples", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=10_000)
settings.load_profile("same examples" if os.environ.get("CI") else "new examples")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # scikit-learn's checks leave out what does not apply to an estimator; that is theirs to decide.
    if report.skipped and not hasattr(report, "wasxfail") and "sklearn_check" not in item.keywords:
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        _refuse(report)
    return report


def _refuse(report: Any) -> None:
    if os.environ.get("NOTHING_SKIPPED"):
        report.outcome = "failed"
        report.longrepr = f"left out, though nothing may be: {report.longrepr[2]}"
