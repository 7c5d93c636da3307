"""The average of recalibrators: its weights, its map, and what is saved of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit

from tests.strategies import probabilities, samples
from tests.tampering import resealed
from trustcal.decisions import DecisionProblem
from trustcal.noise import UniformNoise
from trustcal.predictor import Predictor
from trustcal.reading import evidence
from trustcal.remedies import from_json, noise_remedy, recalibration
from trustcal.remedies.averaging import averaged, mean_of
from trustcal.remedies.folds import split_laws
from trustcal.remedies.mean_maps import MeanMap
from trustcal.remedies.methods import METHODS
from trustcal.remedies.trials import tried

Rows = tuple[list[int], list[float], list[float]]
TREAT = DecisionProblem([[0, 0], [-1, 3]])


def overconfident(n: int, seed: int, slope: float = 2.0) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Logits that are multiplied by this slope."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.02, 0.98, n)
    return rng.random(n) < truth, expit(slope * logit(truth))


def test_exact_values() -> None:
    """Isotonic regression says 0 and 1 here, and Venn–Abers 1/4 and 3/4."""
    q = Predictor.from_samples([0, 0, 1, 1], [0.2, 0.2, 0.9, 0.9])
    fitted = mean_of(["isotonic", "Venn–Abers"], [0.75, 0.25]).fit(q)
    assert fitted.apply([0.2, 0.9]).tolist() == [0.0625, 0.9375]
    assert fitted.method == "average"
    assert fitted.title == "Average of recalibrators (isotonic 75%, Venn–Abers 25%)"
    assert mean_of(["beta"], [1.0]) is METHODS["beta"]


@settings(deadline=None)
@given(samples(), st.lists(probabilities, min_size=2, max_size=20), st.floats(0, 1))
def test_the_mean_lies_between_its_parts_and_keeps_ranks(rows: Rows, new: list[float], weight: float) -> None:
    q, p = Predictor.from_samples(*rows), np.sort(new)
    names = ["isotonic", "Venn–Abers", "temperature"]
    said = mean_of(names, [weight / 2, weight / 2, 1 - weight]).fit(q).apply(p)
    parts = np.array([METHODS[name].fit(q).apply(p) for name in names])
    assert (said >= parts.min(axis=0) - 1e-15).all()  # three products and two sums of numbers up to 1
    assert (said <= parts.max(axis=0) + 1e-15).all()
    assert (np.diff(said) >= -1e-15).all()


@pytest.mark.parametrize("problem", [None, TREAT])
def test_weights_by_the_rows_one_by_one(problem: DecisionProblem | None) -> None:
    y, p = overconfident(300, 3)
    q = Predictor.from_samples(y, p)
    splits = [split_laws({"all": q}, 3, np.random.default_rng(seed)) for seed in (0, 1)]
    trials = tried(splits, problem)
    fitted = averaged(trials).fit(q, problem).map
    assert isinstance(fitted, MeanMap)
    total = {}
    for trial in trials:
        lost, paid = [], []
        for folds, maps in zip(splits, trial.maps, strict=True):
            for fold, made in zip(folds, maps, strict=True):
                held = fold.held_out
                ones = np.rint(held.positive * (held.rows or 0)).astype(int)
                zeros = np.rint(held.mass * (held.rows or 0)).astype(int) - ones
                new = made(held.p)
                for outcome, count in ((0, zeros), (1, ones)):
                    lost += np.repeat((new - outcome) ** 2, count).tolist()
                    paid += np.repeat(TREAT.payoff[TREAT.best_response(new), outcome], count).tolist()
        assert len(lost) == 600
        total[trial.method.name] = sum(lost) / 2, -sum(paid) / 2
    # By Brier score all are clearly better than none here, by payoff none is clearly worse.
    better = {name: loss[0] for name, loss in total.items() if name != "none"}
    assert max(better.values()) < total["none"][0] - 2
    weight = {name: np.exp((min(better.values()) - loss) / 2) for name, loss in better.items()}
    kept = {name: one for name, one in weight.items() if one >= 0.01 * sum(weight.values())}
    assert fitted.weights == pytest.approx([one / sum(kept.values()) for one in kept.values()], abs=1e-9)
    assert fitted.parts == tuple(METHODS[name].learn(q, problem) for name in kept)


def test_nothing_is_learned_where_nothing_beats_none() -> None:
    q = Predictor(np.array([0.25, 0.75]), np.array([0.5, 0.5]), np.array([0.125, 0.375]), rows=80, effective_rows=80.0)
    trials = tried([split_laws({"all": q}, 4, np.random.default_rng(0))], None, ["none", "histogram"])
    assert averaged(trials) is METHODS["none"]


def test_it_recalibrates() -> None:
    y, p = overconfident(4000, 0)
    learn = evidence(y, p)
    remedy = recalibration(learn, TREAT).fit(learn.predictor, TREAT)
    truth = np.linspace(0.1, 0.9, 9)
    assert np.abs(remedy.apply(expit(2 * logit(truth))) - truth).max() < 0.05
    assert "weighted mean" in str(remedy)
    assert recalibration(learn, TREAT, "beta") is METHODS["beta"]


def test_it_is_saved_with_the_same_bits_and_damage_is_refused() -> None:
    y, p = overconfident(2000, 1)
    remedy = mean_of(["Platt", "spline", "Venn–Abers"], [0.5, 0.25, 0.25]).fit(Predictor.from_samples(y, p))
    loaded = from_json(remedy.to_json())
    assert loaded == remedy
    new = np.linspace(0, 1, 1001)
    assert loaded.apply(new).tobytes() == remedy.apply(new).tobytes()
    for weights in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.25, 0.5], 1, []):
        state = json.loads(remedy.to_json())
        state["map"]["weights"] = weights
        with pytest.raises(ValueError, match=r"weight|damaged"):
            from_json(resealed(state))
    state = json.loads(remedy.to_json())
    state["map"]["parts"][0] = json.loads(noise_remedy(UniformNoise(0.1), seed=1).to_json())["map"]
    with pytest.raises(ValueError, match="must not average noise"):
        from_json(resealed(state))
