"""To add a noise is to add a file: the one below, entered in the list of noises, appears wherever noises are listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from typing import Self, final

import numpy as np
import pytest

import trustcal as tc
from trustcal import guarantees
from trustcal.cli import main
from trustcal.estimators import NoiseSmoother
from trustcal.noise import NOISES, PerTarget, Target
from trustcal.noise.clamped import ClampedNoise
from trustcal.noise.density import Density, FloatArray, IndexArray, ratio
from trustcal.noise.mechanism import optimal
from trustcal.paper import hard_cases


@final
@dataclass(frozen=True)
class TriangularNoise(ClampedNoise):
    """Triangular noise clamped to [0, 1]: Y has the density (width − |y|)/width² on [−width, width]."""

    width: float

    kind = "triangular"
    title = "triangular noise"
    per_root = PerTarget(ece=2 * sqrt(2 / 3), cdl=2 * sqrt(8 / 27), decision_loss=2 * sqrt(4 / 27))

    @classmethod
    def for_distance(cls, eps: float, target: Target = "decision_loss") -> Self:
        """The width that minimises w/3 + 2eps/w (ECE), 4w/27 + 2eps/w (CDL) or 4w/27 + eps/w (decision loss)."""
        return cls(optimal(eps, target, ece=sqrt(6), cdl=sqrt(27 / 2), decision_loss=sqrt(27 / 4)))

    def tv_slope(self) -> float:
        return 1 / self.width

    def density_after(self, p: FloatArray, weights: FloatArray) -> Density:
        return Ramps(p, weights, self)

    def _tv(self, b: FloatArray, q: FloatArray) -> FloatArray:
        return 1 - 2 * self._tail((q - b) / 2)

    def _tail(self, y: FloatArray) -> FloatArray:
        half = np.maximum(self.width - np.abs(y), 0.0) ** 2 / (2 * self.width**2)
        return np.where(y < 0, 1 - half, half)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._tail(y)))

    def _hazard_at_1(self) -> float:
        return 2 / (self.width - 1) if self.width > 1 else inf

    def _density(self, x: FloatArray, q: FloatArray) -> FloatArray:
        return np.maximum(self.width - np.abs(x - q), 0.0) / self.width**2

    def _line_quantile(self, u: FloatArray) -> FloatArray:
        size = 1 - np.sqrt(2 * np.minimum(u, 1 - u))
        return np.asarray(np.copysign(self.width * size, u - 0.5))

    def _mean_excess(self, a: FloatArray) -> FloatArray:
        left = np.maximum(self.width - a, 0.0)
        return np.asarray((self.width**3 - left**3) / (6 * self.width**2))

    def _tipping_point(self) -> float:
        return self.width / 3


@final
class Ramps(Density):
    """Triangular noise: densities linear between edges."""

    def __init__(self, p: FloatArray, weights: FloatArray, noise: TriangularNoise) -> None:
        super().__init__(p, weights, noise.atoms(p).mass)
        edges = np.concatenate([[0.0, 1.0], p, p - noise.width, p + noise.width])
        self.edges = np.unique(edges[(edges >= 0) & (edges <= 1)])
        self.level = weights @ noise.density(self.edges, p[:, None])
        self.mass = (self.level[:, 1:] + self.level[:, :-1]) / 2 * np.diff(self.edges)
        posterior, there = ratio(self.level), self.level[0] > 0
        left, right = posterior[:-1], posterior[1:]  # where W is 0 at one end of a piece, p_hat is constant on it
        self.ends = np.stack([np.where(there[:-1], left, right), np.where(there[1:], right, left)])
        self.steepest = float(weights[0].sum()) / noise.width**2

    def _at(self, x: FloatArray) -> FloatArray:
        return np.stack([np.interp(x, self.edges, level) for level in self.level])

    def absolute_bias(self) -> float:
        total = 0.0
        for a, b in zip(self.edges[:-1], self.edges[1:], strict=True):
            middle = (a + b) / 2
            (w, w_end), (v, v_end) = self._at(np.array([a, b]))
            slope, v_slope = (w_end - w) / (b - a), (v_end - v) / (b - a)
            roots = np.roots([slope, w - a * slope - v_slope, a * v_slope - v])
            inside = np.sort(roots[np.isreal(roots)].real)
            cuts = np.concatenate([[a], inside[(inside > a) & (inside < b)], [b]])
            middle = (cuts[1:] + cuts[:-1]) / 2
            bias = [x * self._at(x)[0] - self._at(x)[1] for x in (cuts[:-1], middle, cuts[1:])]
            total += float(np.abs(np.diff(cuts) * (bias[0] + 4 * bias[1] + bias[2]) / 6).sum())
        return total

    def above(self, mu: FloatArray) -> FloatArray:
        piece = self.piece_of(mu)
        part = (self._at(mu) + self.level[:, piece + 1]) / 2 * (self.edges[piece + 1] - mu)
        return np.asarray(self.tails[:, piece + 1] + part)

    def partly(self, piece: IndexArray, mu: FloatArray) -> FloatArray:
        left, right = (self.level[1, end] - mu * self.level[0, end] for end in (piece, piece + 1))
        gap, high = self.edges[piece + 1] - self.edges[piece], np.maximum(left, right)
        return np.asarray(gap * high**2 / (2 * np.abs(left - right)))

    def thresholds(self) -> FloatArray:
        return np.union1d(self.edges, [0.5])

    def curvature(self, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.full(np.broadcast(left, right).shape, 2 * float(self.level[0].max()) + self.steepest)


@pytest.fixture(autouse=True)
def _listed() -> Iterator[None]:
    """The toy noise is in the list during a test; afterwards the list is as before, in its order."""
    before = dict(NOISES)
    NOISES["TriangularNoise"] = TriangularNoise
    yield
    NOISES.clear()
    NOISES.update(before)


THREE = tc.Predictor([0.1, 0.45, 0.9], [0.375, 0.375, 0.25], [0.125, 0.25, 0.125])


def test_it_has_guarantees() -> None:
    assert guarantees.noise_kinds()[-2:] == ("triangular", "paper")
    targets: tuple[Target, ...] = ("ece", "cdl", "decision_loss")
    for target in targets:
        choice = guarantees.noise_of_kind("triangular", 1e-4, target)
        assert choice.noise == TriangularNoise.for_distance(1e-4, target)
        assert choice.guarantee.proved
        assert choice.guarantee.value == pytest.approx(guarantees.batch_best(TriangularNoise, 1e-4, target).value)
        assert choice in guarantees.choices(1e-4, target)
        assert guarantees.best_noise(1e-4, target).guarantee.value <= choice.guarantee.value
    online = guarantees.noise_of_kind("triangular", 1e-4, "cdl", horizon=1000)
    assert online in guarantees.choices(1e-4, "cdl", horizon=1000)


def test_the_best_noise_may_be_a_new_one() -> None:
    del NOISES["UniformNoise"], NOISES["ClampedGaussian"], NOISES["ClampedPlateau"]
    assert isinstance(guarantees.best_noise(1e-4).noise, TriangularNoise)


@pytest.mark.parametrize("width", [0.02, 0.3, 2.0])
def test_the_law_after_it_is_exact(width: float) -> None:
    noise = TriangularNoise(width)
    after, fine = tc.smooth(THREE, noise), tc.smooth(THREE, noise, 20_000, "middle")
    assert isinstance(after, tc.SmoothedPredictor)
    assert tc.ece(after) == pytest.approx(tc.ece(fine), abs=5e-5)
    assert tc.cdl(after) == pytest.approx(tc.cdl(fine), abs=2e-4)
    assert fine.mass.sum() == pytest.approx(1)


def test_the_worst_reference_keeps_its_guarantee() -> None:
    noise = TriangularNoise(0.3)
    worst = tc.worst_reference(tc.Predictor([0.25, 0.75], [0.5, 0.5], [0.25, 0.25]), noise, 0.25)
    assert 0 < worst.value <= guarantees.batch_decision_loss(noise, 0.25).value


def test_it_is_drawn_saved_and_loaded() -> None:
    noise = TriangularNoise(0.2)
    draws = tc.perturb(np.full(20_000, 0.5), noise, rng=1)
    assert np.abs(draws - 0.5).mean() == pytest.approx(noise.displacement().value, abs=1e-3)
    smoother = tc.OnlineSmoother(noise, cells=10, rng=3)
    assert tc.OnlineSmoother.from_json(smoother.to_json()).noise == noise
    assert NoiseSmoother(noise="triangular", eps=0.01).fit([[0.5]]).noise_ == TriangularNoise.for_distance(0.01)


def test_it_is_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fix", "--help"])
    assert "triangular" in capsys.readouterr().out
    source, target = tmp_path / "scores.csv", tmp_path / "safe.csv"
    source.write_text("p,y\n" + "0.2,0\n0.7,1\n0.6,0\n" * 20)
    assert main(["fix", str(source), "-o", str(target), "-p", "p", "--eps", "0.01", "--noise", "triangular"]) == 0
    assert "TriangularNoise" in capsys.readouterr().out
    assert main(["bound", "0.01"]) == 0
    assert "TriangularNoise" in capsys.readouterr().out
    assert "triangular noise" in [row.name for row in hard_cases(0.01)[0].rows]
