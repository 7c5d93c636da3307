"""The example with river's own pipeline."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc
from trustcal.forecasters import Calibeating


def test_the_pipeline_is_recalibrated_as_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("river", reason="the example is for users of river, which is not installed")
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "river_pipeline.py"))
    rows = example["progressive"]()
    assert list(rows) == ["river", "online Platt", "calibeating", "TOPS"]
    q = {name: tc.Predictor.from_samples(y, p) for name, (y, p) in rows.items()}
    brier = {name: np.mean((np.array(p) - y) ** 2) for name, (y, p) in rows.items()}
    for name in ("online Platt", "calibeating", "TOPS"):
        assert q[name].rows == 1250
        assert tc.ece(q[name], cells=10) < tc.ece(q["river"], cells=10)
        assert brier[name] < brier["river"] + Calibeating().guarantee(1250)[0].value
    example["main"]()
    assert capsys.readouterr().out.count("Brier score") == 4
