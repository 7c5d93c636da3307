"""20,000 degenerate predictors; `make fuzz` runs ten times as many."""

import pytest

import trustcal.kernels
from tests.fuzz import fuzz


@pytest.mark.parametrize("seed", range(4))
def test_certificates_are_tight_on_5000_degenerate_predictors(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trustcal.kernels, "WORTH_COMPILING", 0)
    seen = fuzz(5000, seed)
    assert seen.predictors == 5000
    assert seen.verified_exactly >= 400
