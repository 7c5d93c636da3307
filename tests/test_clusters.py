"""Rows that belong together: clusters follow their rows through every change of predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustcal.clusters import shared_outcomes
from trustcal.decisions import umbrella
from trustcal.inference import (
    action_regret_bounds,
    atb_bounds,
    bootstrap_interval,
    cutoff_lower_bound,
    cutoff_upper_bound,
    held_out,
    monotone_cdl_lower_bound,
    monotone_cdl_upper_bound,
    smcal_lower_bound,
    smcal_upper_bound,
)
from trustcal.predictor import Predictor

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(1, 9), st.integers(0, 5)), min_size=1)


@given(ROWS)
def test_clusters_and_squares_follow_their_rows(rows: list[tuple[bool, int, int, int]]) -> None:
    y, place, w, cluster = (np.array(column) for column in zip(*rows, strict=True))
    p, share = place / 8, w / w.sum()
    q = Predictor.from_samples(y, p, w, cluster=cluster)
    for made in (q, q.coarsen(2), q.on_grid(2), q.map(lambda x: x**2), q.isotonic(), q.calibrated()):
        assert made.clusters is not None
        assert made.squares is not None
        values = made.clusters.value
        assert np.bincount(values, made.clusters.weight, len(made)) == pytest.approx(made.mass)
        ones = np.bincount(values, made.clusters.weight * made.clusters.outcome, len(made))
        assert ones == pytest.approx(made.positive, abs=1e-12)
        assert made.squares.sum() == pytest.approx((share**2).sum())
        assert made.effective_rows == q.effective_rows
    totals = [w[cluster == name].sum() for name in np.unique(cluster)]
    assert q.effective_rows == pytest.approx(np.sum(totals) ** 2 / np.sum(np.square(totals)))


def test_correlation_within_clusters() -> None:
    shared = Predictor.from_samples([1, 1, 0, 0], [0.4, 0.6, 0.4, 0.6], cluster=[0, 0, 1, 1])
    assert shared.clusters is not None
    assert shared.clusters.correlation(shared.p) == 1
    rng = np.random.default_rng(0)
    p, u = rng.random(20_000), np.repeat(rng.random(5000), 4)
    for common in (False, True):
        y = (u if common else rng.random(20_000)) < p
        q = Predictor.from_samples(y, p, cluster=np.repeat(np.arange(5000), 4))
        assert q.clusters is not None
        assert q.clusters.correlation(q.p) == pytest.approx(1.0 if common else 0.0, abs=0.05)


@pytest.mark.parametrize("correlation", [0.1, 0.5])
def test_outcomes_are_drawn_with_the_correlation_that_is_found(correlation: float) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    q = Predictor.from_samples(p < 0.5, p, cluster=np.repeat(np.arange(5000), 4))
    assert q.clusters is not None
    drawn = replace(q.clusters, outcome=shared_outcomes(q.clusters, q.p, correlation, rng))
    assert drawn.correlation(q.p) == pytest.approx(correlation, abs=0.05)


def test_clusters_widen_every_bound_and_interval() -> None:
    rng = np.random.default_rng(1)
    p, cluster = np.repeat(rng.random(300), 10), np.repeat(np.arange(300), 10)
    y = np.repeat(rng.random(300), 10) < p**2
    alone, together = Predictor.from_samples(y, p), Predictor.from_samples(y, p, cluster=cluster)
    assert together.effective_rows == pytest.approx(300)
    for bound in (cutoff_upper_bound, monotone_cdl_upper_bound, smcal_upper_bound, atb_bounds):
        assert bound(together).upper > bound(alone).upper
        assert not bound(together).rigorous
        assert "clusters" in bound(together).method
    for below in (cutoff_lower_bound, monotone_cdl_lower_bound, smcal_lower_bound):
        assert below(together, rng=0).lower <= below(alone, rng=0).lower
        assert "clusters" in below(together, rng=0).method
    regret = [action_regret_bounds(umbrella(), q) for q in (alone, together)]
    assert regret[1].lower <= regret[0].lower <= regret[0].upper <= regret[1].upper
    wide = [bootstrap_interval(q, "cutoff", draws=60, rng=0) for q in (alone, together)]
    assert wide[1].upper - wide[1].lower > 2 * (wide[0].upper - wide[0].lower)
    assert "300 clusters" in wide[1].note
    assert -0.2 < held_out(together, rng=0) < 0.3


@given(ROWS, st.integers(0, 100))
def test_clusters_are_numbered_by_content(rows: list[tuple[bool, int, int, int]], seed: int) -> None:
    """With other names, and rows in another order, clusters with the same rows have the same numbers."""
    rng = np.random.default_rng(seed)
    y, place, w, cluster = (np.array(column) for column in zip(*rows, strict=True))
    name, order = rng.permutation(6).astype(str)[cluster], rng.permutation(len(y))
    one = Predictor.from_samples(y, place / 8, w, cluster=cluster).clusters
    other = Predictor.from_samples(y[order], place[order] / 8, w[order], cluster=name[order]).clusters
    assert one is not None
    assert other is not None
    contents = [
        [
            sorted(zip(c.value[c.cluster == k], c.outcome[c.cluster == k], c.weight[c.cluster == k], strict=True))
            for k in range(c.count)
        ]
        for c in (one, other)
    ]
    assert contents[0] == contents[1]


def test_labels_as_numbers_and_as_text_are_the_same() -> None:
    """A file holds labels as text, an array as numbers: the same clusters, in the same order."""
    rng = np.random.default_rng(2)
    y, p, label = rng.random(300) < 0.4, rng.random(300).round(2), rng.integers(0, 120, 300)
    one, other = (Predictor.from_samples(y, p, cluster=labels).clusters for labels in (label, label.astype(str)))
    assert one is not None
    assert other is not None
    assert (one.cluster == other.cluster).all()


def test_what_clusters_refuse() -> None:
    with pytest.raises(ValueError, match="one label per row, but there are 2 for 3 rows"):
        Predictor.from_samples([0, 1, 1], [0.2, 0.3, 0.4], cluster=["a", "b"])
    with pytest.raises(ValueError, match="every row must have a cluster"):
        Predictor.from_samples([0, 1], [0.2, 0.3], cluster=np.array(["a", None]))
    with pytest.raises(ValueError, match="every row must have a cluster"):
        Predictor.from_samples([0, 1], [0.2, 0.3], cluster=[1.0, np.nan])
    with pytest.raises(ValueError, match="one column of labels"):
        Predictor.from_samples([0, 1], [0.2, 0.3], cluster=[["a"], ["b"]])
    q = Predictor.from_samples([0, 1, 1], [0.2, 0.3, 0.4], [1.0, 0.0, 1.0], cluster=["a", "b", "c"])
    assert q.clusters is not None
    assert q.clusters.count == 2
