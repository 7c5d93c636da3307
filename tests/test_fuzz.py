"""20,000 degenerate predictors, 500 of them in `make test`; `make fuzz` runs ten times as many."""

import pytest

from tests.fuzz import fuzz
from trustcal.kernels import kernel


@pytest.mark.parametrize(
    ("count", "seed"), [(500, 0), *(pytest.param(5000, seed, marks=pytest.mark.slow) for seed in range(4))]
)
def test_certificates_are_tight_on_degenerate_predictors(
    count: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "on", lambda self, _: self.compiled)
    seen = fuzz(count, seed)
    assert seen.predictors == count
    assert seen.verified_exactly >= 0.08 * count


@pytest.mark.slow
def test_certificates_are_tight_in_plain_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which, unlike compiled code, would notice an index out of bounds."""
    monkeypatch.setattr(kernel, "on", lambda self, _: self.function)
    assert fuzz(1000, seed=9, largest=1000).predictors == 1000
