"""Theorem 19 by exact expectation: the distribution of the counts in each cell by convolution, not by sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trustcal as tc
from tests.couplings import FAMILIES, FloatArray, Joint, joints, known_law, noises, theorem
from tests.strategies import probabilities
from trustcal import OnlineSmoother, Predictor, guarantees
from trustcal.cells import End, cells_for
from trustcal.noise import ClampedLaplace, Noise, RandomRounding, TruncatedLaplace, UniformNoise
from trustcal.paper import SequencePair, online_hard, online_hard_paper


@dataclass(frozen=True)
class Rounds:
    """The announcements of each round with their probabilities, and the outcomes."""

    at: FloatArray
    share: FloatArray
    """share[t, v] is the probability of at[v] in round t."""
    y: FloatArray

    def counts(self, v: int, outcome: int) -> FloatArray:
        """The distribution of the number of announcements of at[v] before an outcome: rounds are independent."""
        law = np.ones(1)
        for chance in self.share[self.y == outcome, v]:
            law = np.convolve(law, [1 - chance, chance])
        return law

    def expected_ece(self) -> float:
        total = 0.0
        for v, place in enumerate(self.at):
            zeros, ones = self.counts(v, 0), self.counts(v, 1)
            bias = place * np.arange(len(zeros))[:, None] - (1 - place) * np.arange(len(ones))
            total += float(zeros @ np.abs(bias) @ ones)
        return total / len(self.y)

    def expected_cdl(self) -> float:
        """For two cells, where the counts of one determine those of the other."""
        assert len(self.at) == 2
        zeros, ones = self.counts(0, 0), self.counts(0, 1)
        total, both = 0.0, np.array([len(zeros) - 1, len(ones) - 1])
        for n0, n1 in np.ndindex(len(zeros), len(ones)):
            here = np.array([n0, n1])
            mass = np.concatenate([here, both - here]).astype(float)
            chance = float(zeros[n0] * ones[n1])
            total += chance * tc.cdl(known_law(np.repeat(self.at, 2), np.array([0.0, 1, 0, 1]), mass))
        return total


def play(noise: Noise, q: FloatArray, y: FloatArray, cells: int, end: End) -> Rounds:
    if isinstance(noise, RandomRounding):
        atoms = noise.atoms(q)
        at, where = np.unique(atoms.at, return_inverse=True)
        share = np.zeros((len(q), len(at)))
        np.add.at(share, (np.repeat(np.arange(len(q)), 2), where.ravel()), atoms.mass.ravel())
        return Rounds(at, share, y)
    edges = np.arange(cells + 1) / cells
    before = np.where(edges > 0, np.nextafter(edges, -1), -1.0)
    before[-1] = 1.0
    shift = 0.5 if end == "middle" else 0.0
    return Rounds((np.arange(cells) + shift) / cells, np.diff(noise.cdf(before, q[:, None]), axis=1), y)


rounds = st.lists(st.tuples(probabilities, st.sampled_from([0.0, 1.0])), min_size=1, max_size=60)


@theorem
@given(data=st.data(), sequence=rounds, end=st.sampled_from(["left", "middle"]))
def test_theorem_19_expected_ece(data: st.DataObject, sequence: list[tuple[float, float]], end: Any) -> None:
    q, y = (np.array(column) for column in zip(*sequence, strict=True))
    check_ece(data.draw(noises(0.01, "ece")), q, y, end)


@theorem
@given(data=st.data(), joint=joints(), horizon=st.integers(1, 60), end=st.sampled_from(["left", "middle"]))
def test_theorem_19_expected_ece_near_a_calibrated_predictor(
    data: st.DataObject, joint: Joint, horizon: int, end: Any
) -> None:
    """Rounds in proportion to a coupling: as close to calibration as whole counts allow."""
    row = np.searchsorted(np.cumsum(joint.mass), (np.arange(horizon) + 0.5) / horizon).clip(0, len(joint.mass) - 1)
    q, y = joint.q[row], joint.y[row]
    eps = tc.dtc(known_law(q, y, np.ones(horizon)))
    check_ece(data.draw(noises(max(eps, 1e-6), "ece")), q, y, end)


def check_ece(noise: Noise, q: FloatArray, y: FloatArray, end: End) -> None:
    horizon = len(q)
    eps = max(tc.dtc(known_law(q, y, np.ones(horizon))), 1e-12)
    found = play(noise, q, y, cells_for(horizon), end).expected_ece()
    assert found <= guarantees.online_ece(noise, eps, horizon, end=end).value + 1e-12
    if end == "left" and isinstance(noise, TruncatedLaplace | ClampedLaplace):
        assert found <= guarantees.online_ece_paper(noise, eps, horizon).value + 1e-12  # Theorem 4.1 as stated


@theorem
@given(data=st.data(), sequence=st.lists(st.tuples(probabilities, st.sampled_from([0.0, 1.0])), min_size=2, max_size=6))
def test_theorem_19_expected_cdl(data: st.DataObject, sequence: list[tuple[float, float]]) -> None:
    q, y = (np.array(column) for column in zip(*sequence, strict=True))
    end: End = data.draw(st.sampled_from(["left", "middle"]))
    noise = data.draw(noises(0.01, "cdl", [family for family in FAMILIES if family is not RandomRounding]))
    eps = max(tc.dtc(known_law(q, y, np.ones(len(q)))), 1e-12)
    found = play(noise, q, y, 2, end).expected_cdl()
    assert found <= guarantees.online_cdl(noise, eps, len(q), cells=2, end=end).value + 1e-12


@pytest.mark.parametrize("noise", [UniformNoise(0.2), TruncatedLaplace(0.1), RandomRounding(4)])
def test_exact_expectation_against_draws(noise: Noise) -> None:
    rng = np.random.default_rng(8)
    q, y = rng.random(40), (rng.random(40) < 0.6).astype(float)
    exact = play(noise, q, y, 4, "left").expected_ece()
    smoother = OnlineSmoother(noise, cells=None if isinstance(noise, RandomRounding) else 4, rng=1)
    drawn = [tc.ece(known_law(smoother.transform_many(q), y, np.ones(40))) for _ in range(2000)]
    assert abs(np.mean(drawn) - exact) <= 5 * np.std(drawn) / np.sqrt(len(drawn))


@pytest.mark.parametrize("pair", [online_hard(1 / 12, 40), online_hard(0.02, 60), online_hard_paper(0.04, 100)])
@pytest.mark.parametrize("family", [UniformNoise, ClampedLaplace, TruncatedLaplace, RandomRounding])
def test_theorems_19_and_21_on_the_hard_pairs(pair: SequencePair, family: type[Noise]) -> None:
    """Between the value of the game, which finitely many rounds can only raise, and the guarantee of noise."""
    noise = family.for_distance(pair.eps, "ece")
    horizon = len(pair.one.predictions)
    found = [
        play(noise, s.predictions, s.outcomes.astype(float), cells_for(horizon), "middle").expected_ece()
        for s in (pair.one, pair.other)
    ]
    assert pair.ece <= max(found) <= guarantees.online_ece(noise, pair.eps, horizon, end="middle").value


def test_one_round() -> None:
    """T = 1: one cell, its left end 0 is announced, and the ECE is the outcome."""
    for y in (0.0, 1.0):
        assert play(UniformNoise(0.1), np.array([0.5]), np.array([y]), 1, "left").expected_ece() == y
    assert tc.ece(Predictor([0.0], [1.0], [1.0])) == 1
