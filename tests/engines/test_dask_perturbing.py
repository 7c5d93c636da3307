"""Noise inside Dask: the bits of numpy on a cluster, in any partitioning and order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trustcal.noise import RandomRounding, TruncatedGaussian, TruncatedLaplace, UniformNoise
from trustcal.rewriting.frames import perturb_frame
from trustcal.smoothing import perturb

dataframe = pytest.importorskip("dask.dataframe", reason="SKIPPED ENGINE: the package dask is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("dask"),  # one cluster for all
    pytest.mark.filterwarnings("default"),  # Dask's own deprecations are not ours
    pytest.mark.usefixtures("dask_client"),
]

N = 2000
RNG = np.random.default_rng(9)
ROWS = pd.DataFrame({"id": RNG.permutation(N), "p": RNG.random(N)})
ROWS["text"] = [f"case {i}" for i in ROWS["id"]]


@pytest.mark.parametrize("partitions", [1, 7])
@pytest.mark.parametrize("row_id", ["id", "text"])
def test_dask_draws_what_numpy_draws(partitions: int, row_id: str) -> None:
    for noise in (TruncatedLaplace(0.05), TruncatedGaussian(0.05), UniformNoise(0.1), RandomRounding(17)):
        frame = dataframe.from_pandas(ROWS, npartitions=partitions)
        out = perturb_frame(frame, prediction="p", noise=noise, seed=7, row_id=row_id)
        assert out.columns.tolist() == ["id", "p", "text", "p_noised"]
        expected = perturb(ROWS["p"], noise, ids=ROWS[row_id], seed=7)
        np.testing.assert_array_equal(out.compute()["p_noised"], expected)
        shuffled = out.shuffle("id").compute().sort_index()
        np.testing.assert_array_equal(shuffled["p_noised"], expected)


def test_bad_rows_are_met_when_they_are_computed() -> None:
    frame = dataframe.from_pandas(pd.DataFrame({"id": [4, 17], "p": [0.5, 2.0]}), npartitions=2)
    lazy = perturb_frame(frame, prediction="p", noise=UniformNoise(0.1), seed=1, row_id="id")
    with pytest.raises(
        ValueError, match=r"column 'p' must hold probabilities.*the row whose 'id' is 17, which is 2\.0"
    ):
        lazy.compute()
