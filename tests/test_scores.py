"""Brier score, log loss and AUC: exact values, identities, and scikit-learn as the oracle."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import assume, given
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss

from tests.strategies import predictors, samples
from trustcal.decisions import threshold
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.noise import UniformNoise
from trustcal.predictor import Predictor
from trustcal.smoothing import smooth


@pytest.mark.parametrize(
    ("p", "mass", "positive", "scores"),
    [
        ([0.5], [1.0], [0.5], (0.25, log(2), 0.5)),
        ([0.0, 1.0], [0.5, 0.5], [0.0, 0.5], (0.0, 0.0, 1.0)),
        ([0.0, 1.0], [0.5, 0.5], [0.5, 0.0], (1.0, inf, 0.0)),
        ([0.0, 1.0], [0.5, 0.5], [0.0, 0.25], (0.25, inf, 5 / 6)),
        ([0.25, 0.75], [0.5, 0.5], [0.125, 0.375], (0.1875, 2 * log(2) - 0.75 * log(3), 0.75)),
    ],
)
def test_exact_values(
    p: list[float], mass: list[float], positive: list[float], scores: tuple[float, float, float]
) -> None:
    q = Predictor(p, mass, positive)
    assert (brier(q), log_loss(q), auc(q)) == pytest.approx(scores, rel=1e-15)


@given(samples())
def test_as_in_scikit_learn(rows: tuple[list[int], list[float], list[float]]) -> None:
    y, p, w = rows
    q = Predictor.from_samples(y, p, w)
    assert brier(q) == pytest.approx(brier_score_loss(y, p, sample_weight=w, pos_label=1), rel=1e-12, abs=1e-15)
    assert brier(y, p, w) == brier(q)
    seen = np.array(y)[np.array(w) > 0]
    assume(0 < seen.mean() < 1)
    assert auc(q) == pytest.approx(roc_auc_score(y, p, sample_weight=w), abs=1e-12)
    inside = np.clip(p, 1e-9, 1 - 1e-9)  # scikit-learn clips, we do not
    assert log_loss(y, inside, w) == pytest.approx(sklearn_log_loss(y, inside, sample_weight=w), rel=1e-9)


@given(predictors())
def test_brier_is_calibration_and_what_is_left_open(q: Predictor) -> None:
    calibration = float((q.p - q.p_hat) ** 2 @ q.mass)
    assert brier(q) == pytest.approx(calibration + float(q.p_hat * (1 - q.p_hat) @ q.mass), rel=1e-9, abs=1e-12)
    assert brier(q) >= brier(q.calibrated()) - 1e-12


def test_brier_is_the_loss_of_a_random_threshold() -> None:
    q = Predictor([0.2, 0.65, 0.9], [0.25, 0.5, 0.25], [0.125, 0.25, 0.125])
    cells = 4000
    mu = (np.arange(cells) + 0.5) / cells
    perfect = Predictor([0.0, 1.0], [0.5, 0.5], [0.0, 0.5])
    lost = [(threshold(m).value(perfect) - threshold(m).value(q)) * 2 * max(m, 1 - m) for m in mu]
    assert brier(q) == pytest.approx(float(np.mean(lost)), abs=1e-4)


@given(predictors())
def test_auc_sees_order_only(q: Predictor) -> None:
    assume(0 < q.positive.sum() < q.mass.sum() and (q.mass - q.positive).sum() > 0)
    pairs = np.sign(np.subtract.outer(q.p, q.p)) / 2 + 0.5
    negative = q.mass - q.positive
    slow = q.positive @ pairs @ negative / (q.positive.sum() * negative.sum())
    assert auc(q) == pytest.approx(slow, abs=1e-12)
    order = q.map(lambda p: (np.arange(len(p)) + 1) / (len(p) + 1))
    assert auc(order) == pytest.approx(auc(q), abs=1e-12)


@pytest.mark.parametrize(("positive", "outcome"), [(0.0, 0), (1.0, 1)])
def test_auc_needs_both_outcomes(positive: float, outcome: int) -> None:
    with pytest.raises(ValueError, match=f"all outcomes are {outcome}"):
        auc(Predictor([0.5], [1.0], [positive]))


def test_scores_need_finitely_many_values() -> None:
    law = smooth(Predictor([0.5], [1.0], [0.5]), UniformNoise(0.1))
    with pytest.raises(ValueError, match="cells=100"):
        brier(law)  # type: ignore[arg-type]
