"""Rows for clusters to read, in several files, and the predictor that numpy makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import trustcal as tc
from tests.traps import SOUND, G, W, from_rows, same


def many_rows() -> pa.Table:
    """Predictions with and without ties, neighbouring numbers and signed zeros among them; weights over six decades."""
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.random(2000), rng.random(1000).round(2), np.nextafter(rng.random(200).round(2), 1), [-0.0]])
    y = rng.random(len(p)) < p**2
    w = 10 ** rng.uniform(-3, 3, len(p))
    return pa.table({"id": rng.permutation(len(p)), "p": p, "y": y.astype(np.int8), "w": w})


def want(rows: pa.Table, weight: str | None = None) -> tc.Predictor:
    """The predictor of the rows, by numpy."""
    p, y = rows["p"].to_numpy(), rows["y"].to_numpy()
    return tc.Predictor.from_samples(y, p, None if weight is None else rows[weight].to_numpy())


def written_parts(rows: pa.Table, folder: Path, parts: int) -> str:
    """The rows in so many Parquet files of a folder."""
    folder.mkdir(exist_ok=True)
    step = -(-rows.num_rows // parts)
    for part in range(parts):
        pyarrow.parquet.write_table(rows.slice(part * step, step), folder / f"part{part}.parquet")
    return str(folder)


def check_many_rows(rows: pa.Table, frame: Any) -> None:
    """A cluster's frame of the rows is read as numpy reads them: plain, with weights, and on a grid."""
    assert same(tc.read(frame), want(rows))
    heavy, sums = tc.read(frame, weight="w"), want(rows, weight="w")
    np.testing.assert_array_equal(heavy.p, sums.p)
    np.testing.assert_allclose(heavy.mass, sums.mass, rtol=1e-13)
    np.testing.assert_allclose(heavy.positive, sums.positive, rtol=1e-13)
    assert heavy.effective_rows == pytest.approx(sums.effective_rows, rel=1e-13)
    rounded = tc.read(frame, resolution=2**-6)
    np.testing.assert_array_equal(rounded.p, want(rows).map(lambda p: np.floor(p * 64 + 0.5) / 64).p)


def check_groups_weights_and_refusals(traps: Any) -> None:
    """The trap table on a cluster: by group, with weights, and refused."""
    groups = tc.read(traps, prediction="p", outcome="y", by="g", drop_invalid=True)
    assert list(groups) == ["a", "b", None]
    for group, q in groups.items():
        assert same(q, from_rows([index for index in SOUND if G[index] == group]))
    assert tc.read(traps, prediction="p", outcome="y", weight="w", drop_invalid=True) == from_rows(SOUND, W)
    with pytest.raises(ValueError, match=r"7 of 17 rows do not: .*1 with a prediction below 0"):
        tc.read(traps, prediction="p", outcome="y")
