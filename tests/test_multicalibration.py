"""Multicalibration: segments that overlap are calibrated, nothing is done where nothing is wrong, maps are saved."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit

import trustcal as tc
from tests.strategies import examples
from trustcal.remedies import fit, from_json
from trustcal.remedies.grouped_maps import EVERYBODY, SegmentMap
from trustcal.remedies.maps import Unchanged


def rows(n: int, wrong: float, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.bool_]]:
    """Two segments that overlap; logits are off by `wrong` in each of them, so by twice that in both."""
    rng = np.random.default_rng(seed)
    members = rng.random((n, 2)) < 0.3
    p = expit(rng.normal(size=n))
    return rng.random(n) < expit(logit(p) - wrong * members.sum(axis=1)), p, members


def test_shifts_by_hand() -> None:
    """A row in both segments gets both shifts; one outside the stretch gets none; 0 and 1 stay."""
    moves = SegmentMap(Unchanged(), 2, ((0, -1.0, 0.5, 1.0), (EVERYBODY, 0.5, 1.0, -2.0), (1, -1.0, 1.0, 0.5)))
    p = np.array([0.5, 0.5, 0.5, 0.75, 0.75, 0.0, 1.0])
    members = np.array([[1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [1, 1], [1, 1]], dtype=bool)
    total = [1.0, 1.5, 0.0, -2.0, -1.5, 1.5, -1.5]
    np.testing.assert_allclose(moves.by_group(p, members), expit(logit(p) + total), rtol=1e-15)


def test_overlapping_segments_are_calibrated_on_new_rows() -> None:
    remedy = fit("none", *rows(40_000, 0.6, 0)[:2], by=rows(40_000, 0.6, 0)[2])
    y, p, members = rows(40_000, 0.6, 1)
    said = remedy.apply(p, groups=members)
    parts = [members[:, 0], members[:, 1], members.all(axis=1), ~members.any(axis=1)]
    for here in parts:
        noise = np.sqrt((said[here] * (1 - said[here])).sum())
        assert abs((y[here] - said[here]).sum()) < 4 * np.sqrt(2) * noise  # both samples have such an error
    assert ((y - said) ** 2).mean() < ((y - p) ** 2).mean() - 0.003
    assert from_json(remedy.to_json()) == remedy
    assert "2 segments" in str(remedy)


def test_nothing_is_done_where_nothing_is_wrong() -> None:
    """With few exceptions: a stretch is shifted by chance only if it is three standard deviations off."""
    remedies = [fit("none", *rows(2000, 0.0, seed)[:2], by=rows(2000, 0.0, seed)[2]) for seed in range(10)]
    assert sum(bool(remedy.map.shifts) for remedy in remedies if isinstance(remedy.map, SegmentMap)) <= 2


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(2, 60))
@examples(40)
def test_any_rows_give_a_map_that_keeps_predictions_in_range(seed: int, segments: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p, y = rng.choice([0.0, 0.25, 0.5, 1.0], n), rng.random(n) < 0.5
    members = rng.random((n, segments)) < 0.5
    remedy = fit("none", y, p, by=members)
    said = remedy.apply(p, groups=members)
    assert ((said >= 0) & (said <= 1)).all()
    assert from_json(remedy.to_json()) == remedy


def test_found_segments_are_repaired() -> None:
    """From the search to the remedy and to new rows of the same columns."""

    def table(seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        region, device = rng.choice(["north", "south", "west"], 30_000), rng.choice(["new", "old"], 30_000)
        p = rng.uniform(0.2, 0.8, 30_000)
        y = rng.random(30_000) < p - 0.12 * ((region == "north") & (device == "old"))
        return pa.table({"p": p, "y": y, "region": region, "device": device})

    old, new = table(0), table(1)
    found = tc.segments(old)
    remedy = fit("none", old["y"].to_numpy(), old["p"].to_numpy(), by=found.members(old))
    said = remedy.apply(new["p"].to_numpy(), groups=found.members(new))
    again = new.set_column(0, "p", pa.array(said))
    assert tc.segments(new).found
    assert not tc.segments(again).found


def test_refusals() -> None:
    y, p, members = rows(200, 0.5, 0)
    with pytest.raises(ValueError, match="true and false for each row and segment"):
        fit("none", y, p, by=members.astype(float))
    with pytest.raises(ValueError, match="without weights"):
        fit("none", y, p, by=members[:100])
    remedy = fit("none", y, p, by=members)
    with pytest.raises(ValueError, match="give the group of each row"):
        remedy.apply(p)
    with pytest.raises(ValueError, match="for each of 200 rows and 2 segments"):
        remedy.apply(p, groups=members[:, :1])
