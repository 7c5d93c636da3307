"""`assert_trustworthy`: silent where the conditions hold, readable where they do not."""

from __future__ import annotations

import numpy as np
import pytest

import trustcal as tc

pytest_plugins = ["pytester"]


def sample(rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(rows)
    return rng.random(rows) < p**2, p


def test_conditions_that_hold_are_silent() -> None:
    y, p = sample()
    tc.assert_trustworthy(y, p, "loss.lower<=0.2", "loss<0.2", "cutoff.p<=0.05")


def test_a_failure_says_which_condition_what_it_is_and_who_is_hurt() -> None:
    y, p = sample()
    with pytest.raises(AssertionError) as caught:
        tc.assert_trustworthy(y, p, "loss<=0.01", "loss<0.2", "smcal.p>0.05")
    first, second, *rest = str(caught.value).splitlines()
    assert first.startswith("loss<=0.01 does not hold: it is 0.0")
    assert second.startswith("smcal.p>0.05 does not hold: it is 0.0")
    assert "These predictions are off, and not by chance" in " ".join(rest)
    assert rest[-1].startswith("Worst hit: whoever acts above")


def test_a_failure_in_a_group_names_it() -> None:
    pd = pytest.importorskip("pandas")
    y, p = sample()
    frame = pd.DataFrame({"p": p, "y": y, "ward": np.where(np.arange(1000) % 2, "a", "b")})
    with pytest.raises(AssertionError, match=r"group\.loss<=0.001 does not hold: it is 0\.\d+ in group [ab]\."):
        tc.assert_trustworthy(frame, None, "group.loss<=0.001", prediction="p", outcome="y", by="ward", draws=0)


def test_the_edge_of_a_condition_is_its_own() -> None:
    q = tc.Predictor([0.5], [1.0], [0.75])
    tc.assert_trustworthy(q, None, "cdl<=0.5", "cdl>=0.5", draws=0)
    for condition in ("cdl<0.5", "cdl>0.5"):
        with pytest.raises(AssertionError, match=r"it is 0\.5"):
            tc.assert_trustworthy(q, None, condition, draws=0)


def test_no_condition_is_refused() -> None:
    with pytest.raises(ValueError, match="there must be a condition"):
        tc.assert_trustworthy([0, 1], [0.5, 0.5])


def test_pytest_shows_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import trustcal as tc

        def test_model():
            tc.assert_trustworthy([1] * 200, [0.5] * 200, "cdl.lower<=0.02")
        """
    )
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(
        ["*AssertionError: cdl.lower<=0.02 does not hold: it is *", "*test_*.py:4: AssertionError"]
    )
