"""Which values are too rare to have a frequency, and the bins that only those are pooled into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.strategies import predictors
from trustcal.inference.sampler import FINEST, RowSampler
from trustcal.measures.pooling import Bins, bins_for, on_bins, pooled, rare_share, repeated, sparse, suggested_bins
from trustcal.predictor import Predictor


def test_a_value_repeats_with_five_rows() -> None:
    p = np.repeat([0.1, 0.2, 0.3], 5)
    assert not sparse(Predictor.from_samples(np.zeros(15), p))
    assert sparse(Predictor.from_samples(np.zeros(12), np.repeat([0.1, 0.2, 0.3], 4)))
    assert sparse(Predictor.from_samples(np.zeros(15), p, np.r_[np.ones(14), 100]))  # hardly more than one row
    many, few = np.repeat(np.arange(1, 10) / 10, 1000), np.linspace(0.91, 0.99, 10)
    assert not sparse(Predictor.from_samples(np.zeros(9010), np.r_[many, few]))  # a few single rows do not matter
    assert sparse(Predictor.from_samples(np.zeros(21), np.r_[np.full(10, 0.5), np.linspace(0, 0.4, 11)]))


def test_many_rows_on_one_value_do_not_hide_rare_ones() -> None:
    rng = np.random.default_rng(0)
    p = np.r_[np.ones(919), rng.random(800)]
    q = Predictor.from_samples(rng.random(len(p)) < p, p)
    assert sparse(q)
    assert rare_share(q) == pytest.approx(800 / 1719)
    binned, count = pooled(q)
    assert suggested_bins(q) == round(800 ** (1 / 3)) == 9
    assert count == len(binned) == 10
    assert binned.mass[-1] == q.mass[-1]  # the repeated value stays as it is
    assert binned.p[-1] == 1.0
    assert binned.mass[:-1] == pytest.approx(800 / 1719 / 9, rel=0.02)
    assert binned.moved > 0


def test_a_known_distribution_has_frequencies() -> None:
    q = Predictor([0.1, 0.3], [0.5, 0.5], [0.5, 0.0])
    assert not sparse(q)
    assert pooled(q) == (q, None)
    assert pooled(q, 1)[0] == q.coarsen(1)  # bins that were asked for


def test_all_values_are_pooled_where_all_are_rare_or_all_repeat() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(1000)
    q = Predictor.from_samples(rng.random(1000) < p, p)
    assert pooled(q)[0] == q.coarsen(10)
    tied = Predictor.from_samples(rng.random(1000) < p, p.round(1))
    assert pooled(tied) == (tied, None)
    assert pooled(tied, 3)[0] == tied.coarsen(3)


@given(q=predictors())
def test_pooling_keeps_repeated_values_and_calibration(q: Predictor) -> None:
    kept = q.p[::2]
    binned = Bins(3, kept).of(q)
    assert np.isin(kept, binned.p).all()
    assert len(binned) <= len(kept) + 3
    assert binned.base_rate == pytest.approx(q.base_rate, abs=1e-12)
    honest = Predictor(q.p, q.mass, q.p * q.mass)
    assert np.abs(Bins(3, kept).of(honest).bias).sum() < 1e-12


def test_draws_are_pooled_like_the_rows() -> None:
    rng = np.random.default_rng(2)
    p = np.r_[np.repeat([0.25, 0.5], 40), rng.random(60)]
    q = Predictor.from_samples(rng.random(len(p)) < p, p)
    sampler = RowSampler.of(q)
    for drawn in (sampler.calibrated_draw(rng), sampler.resampled(rng)):
        assert np.isin([0.25, 0.5], sampler.binned(drawn).p).all()


def test_values_pooled_on_the_grid_keep_what_mostly_repeats() -> None:
    rng = np.random.default_rng(3)
    p = np.r_[np.full(5000, 0.123), rng.random(2 * FINEST)]
    q = Predictor.from_samples(rng.random(len(p)) < p, p)
    sampler = RowSampler.of(q)
    assert sampler.pooled
    assert sampler.bins is not None
    assert sampler.bins.repeated == pytest.approx(0.123, abs=1 / FINEST)
    assert sampler.occupied == suggested_bins(q) + 1


def test_nothing_is_pooled_without_need() -> None:
    q = Predictor.from_samples([0, 1] * 10, [0.25, 0.75] * 10)
    assert bins_for(q) is None
    assert on_bins(q, None) is q
    assert repeated(q).all()
