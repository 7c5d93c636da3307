"""Rows for clusters to read, in several files, and the predictor that numpy makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import trustcal as tc


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
