"""20,000 degenerate predictors; `make fuzz` runs ten times as many."""

import pytest

from tests.fuzz import fuzz
from trustcal.kernels import kernel


@pytest.mark.parametrize("seed", range(4))
def test_certificates_are_tight_on_5000_degenerate_predictors(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "on", lambda self, _: self.compiled)
    seen = fuzz(5000, seed)
    assert seen.predictors == 5000
    assert seen.verified_exactly >= 400


def test_certificates_are_tight_in_plain_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which, unlike compiled code, would notice an index out of bounds."""
    monkeypatch.setattr(kernel, "on", lambda self, _: self.function)
    assert fuzz(1000, seed=9, largest=1000).predictors == 1000
