"""Theorems 44 to 47: CDL after additive noise, with the certificates behind four numbers, and on cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import e, exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

import trustcal as tc
from tests.strategies import examples
from trustcal import guarantees
from trustcal.kernels import IntArray
from trustcal.noise import ClampedGaussian, ClampedLaplace, ClampedPlateau, Noise, UniformNoise
from trustcal.noise.mechanism import FloatArray
from trustcal.noise.plateau import CDL_CONSTANT, CDL_ON_CELLS, CDL_SLOPE
from trustcal.paper.instance import coupled


def bell(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(x**2) / 2) / sqrt(2 * pi))


def laplace(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.abs(x)) / 2)


def below_laplace(x: FloatArray) -> FloatArray:
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def plateau(x: FloatArray) -> FloatArray:
    """1/4 on [−1, 1], and exponential beyond."""
    return np.asarray(np.exp(-np.maximum(np.abs(x) - 1, 0)) / 4)


def below_plateau(x: FloatArray) -> FloatArray:
    tail = np.exp(-np.maximum(np.abs(x) - 1, 0)) / 4
    return np.where(x < -1, tail, np.where(x > 1, 1 - tail, 0.5 + x / 4))


@dataclass(frozen=True)
class Law:
    """A noise on the line: its density f, its distribution function, and where f has kinks.

    Between kinks |f''| ≤ bend·e(x) and |f'''| ≤ twist·e(x) for the envelope e, which falls away from 0.
    """

    density: Callable[[FloatArray], FloatArray]
    below: Callable[[FloatArray], FloatArray]
    bend: float
    twist: float
    envelope: Callable[[FloatArray], FloatArray]
    kinks: tuple[float, ...] = ()


# Cramér's inequality for the bell; the others are 0 or ±f.
BELL = Law(bell, ndtr, 0.6131, 1.0619, lambda x: np.exp(-(x**2) / 4))
LAPLACE = Law(laplace, below_laplace, 1.0, 1.0, laplace, (0.0,))
PLATEAU = Law(plateau, below_plateau, 1.0, 1.0, plateau, (-1.0, 1.0))


NARROW = 1e-6


@dataclass(frozen=True)
class Cells:
    """Cells [left, right] that contain no kink and not 0 inside, for c = −tilt·f'(x − z) + b·f(x − b)."""

    left: FloatArray
    right: FloatArray
    z: FloatArray
    b: FloatArray
    tilt: float
    law: Law

    def total(self, x: FloatArray) -> FloatArray:
        """The antiderivative of c that is 0 at −∞ and b at ∞."""
        return np.asarray(-self.tilt * self.law.density(x - self.z) + self.b * self.law.below(x - self.b))

    @cached_property
    def width(self) -> FloatArray:
        return self.right - self.left

    @cached_property
    def side(self) -> FloatArray:
        """h is c⁺ left of 0 and c⁻ right of 0."""
        return np.where(self.left + self.right < 0, 1.0, -1.0)

    @cached_property
    def whole(self) -> FloatArray:
        return (self.total(self.right) - self.total(self.left)) * self.side

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """±c somewhere in the first and in the last millionth of the cell: quotients of the antiderivative."""
        near = 1e-6 * self.width + 1e-300
        start = (self.total(self.left + near) - self.total(self.left)) * self.side / near
        stop = (self.total(self.right) - self.total(self.right - near)) * self.side / near
        return start, stop

    @cached_property
    def curvature(self) -> FloatArray:
        """A bound on |c''|: envelopes are largest at an end of the cell, or within 1 % of that where it contains 0."""
        at_z, at_b = (
            np.maximum(self.law.envelope(self.left - place), self.law.envelope(self.right - place))
            for place in (self.z, self.b)
        )
        return np.asarray(1.01 * (abs(self.tilt) * self.law.twist * at_z + self.b * self.law.bend * at_b))

    @cached_property
    def unsure(self) -> NDArray[np.bool_]:
        """Whether c may change its sign: its chord does, or is not larger than what c can be off it, C·w²/8."""
        start, stop = self.ends
        rounding = 1e-14 / (1e-6 * self.width + 1e-300)  # of the difference quotients
        off = 1.001 * self.curvature * self.width**2 / 8 + rounding
        return (self.width <= NARROW) | (start * stop <= 0) | (np.minimum(np.abs(start), np.abs(stop)) <= off)

    def split(self) -> FloatArray:
        """∫(±c)⁺, with the cell cut at the root of the chord.  Never too large, and too small by at most `missing`."""
        start, stop = self.ends
        slope = start - stop
        share = np.where(start * stop < 0, start / np.where(slope == 0, 1, slope), 0.0)
        before = (self.total(self.left + share * self.width) - self.total(self.left)) * self.side
        return np.maximum(before, 0) + np.maximum(self.whole - before, 0)

    @cached_property
    def missing(self) -> FloatArray:
        """The chord ℓ has one sign on either side of its root, so at most ∫|c − ℓ| ≤ C·w³/12 is missed.

        The second term is for c somewhere near the ends in place of c there.  Narrow cells may miss all of ∫|c|.
        """
        size = abs(self.tilt) + self.b  # more than |c'|, as |f'|, |f''| ≤ 1, and more than |c|
        chord = 1.001 * self.curvature * self.width**3 / 12 + 1e-6 * size * self.width**2
        return np.where(self.unsure, np.where(self.width > NARROW, chord, size * self.width), 0.0)


def gains(z: FloatArray, b: FloatArray, tilt: float, law: Law, ends: float = 9.0) -> tuple[FloatArray, FloatArray]:
    """sup over h of tilt·H'(z) + b·H(b) for the threshold 0: ∫_{x<0} c⁺ + ∫_{x>0} c⁻, c = −tilt·f'(x − z) + b·f(x − b).

    c is integrated by its antiderivative, over cells of 1/4, which have 0 and all kinks as ends, and over two that
    reach to −∞ and ∞.  Cells that may miss more than 1e-6 are cut into 16.  The sum is never too large; the second
    result bounds what it misses.  In outer cells that is at most ∫|c|, and 0 if c is a multiple of one exponential.
    """
    grid = np.arange(-round(4 * ends), round(4 * ends) + 1) / 4
    bends = [place[:, None] + kink for place in (z, b) for kink in law.kinks]
    x = np.sort(np.concatenate([np.broadcast_to(grid, (len(z), len(grid))), *bends], axis=1), axis=1)
    coarse = Cells(x[:, :-1], x[:, 1:], z[:, None], b[:, None], tilt, law)
    rough = coarse.missing > 1e-6
    found = np.where(rough, 0.0, coarse.split()).sum(axis=1)
    lowest, highest = coarse.total(x[:, :1])[:, 0], coarse.total(x[:, -1:])[:, 0]
    found += np.maximum(lowest, 0) + np.maximum(highest - b, 0)
    missing = np.where(rough, 0.0, coarse.missing).sum(axis=1)
    if law is BELL:
        missing += abs(tilt) * (law.density(x[:, 0] - z) + law.density(x[:, -1] - z)) + b * law.below(x[:, 0] - b)
    row, cell = np.nonzero(rough)
    cuts = x[row, cell][:, None] + coarse.width[row, cell][:, None] * np.arange(17) / 16
    fine = Cells(cuts[:, :-1], cuts[:, 1:], z[row, None], b[row, None], tilt, law)
    np.add.at(found, row, fine.split().sum(axis=1))
    np.add.at(missing, row, fine.missing.sum(axis=1))
    return found, missing


@given(
    st.sampled_from([BELL, LAPLACE, PLATEAU]),
    st.floats(-6, 6),
    st.floats(0, 5),
    st.floats(-2, 2),
)
def test_gains_misses_no_more_than_it_says(law: Law, z: float, b: float, tilt: float) -> None:
    """Against sums over cells of 1e-3 from −40 to 40, which miss at most 1e-3·|c| at each of a few changes of sign.

    What may be missing is at most ∫C/(12·64²) < 4e-4, where c is 0 all along, and 1e-6 for each of 120 wider cells.
    """
    x = np.arange(-40_000, 40_001) / 1000
    pieces = np.diff(-tilt * law.density(x - z) + b * law.below(x - b))
    direct = float(np.maximum(np.where(x[1:] < 5e-4, pieces, -pieces), 0).sum())
    value, missing = (float(part[0]) for part in gains(np.array([z]), np.array([b]), tilt, law, 15.0))
    assert missing <= 6e-4
    assert direct - missing - 1e-9 <= value <= direct + 4e-3


def most(derivative: FloatArray, right: FloatArray) -> FloatArray:
    """What h can make of a function or its negative, given its integrals over cells: the larger of the two."""
    signed = np.where(right > 1e-9, -derivative, derivative)
    return np.asarray(np.maximum(np.maximum(signed, 0).sum(axis=1), np.maximum(-signed, 0).sum(axis=1)))


def stretches(law: Law, tilt: float, reach: int) -> tuple[FloatArray, FloatArray]:
    """How much a value can change per unit of z, for z = −reach − 0.25, …, and per unit of b, for b = 0, …, 5.25.

    That is what h can make of tilt·f''(x − z) and of f(x − b) − b·f'(x − b), summed over cells of 0.01 by their
    antiderivatives.  Added is more than what is missing, for a tilt of up to 1: in the cells where these change their
    sign (twice at most, and once) 0.008 and 0.017; beyond the grid 0.001; and up to 0.005 from a place, where in L1 the
    functions change by at most 3·tilt and 4·f(0) + b·∫|f''| < 6.8 per unit, 0.015 and 0.034.  (The plateau's f'' has
    atoms at its kinks: one that is moved changes what h can make of it when it passes 0 only, which is seen by the next
    place.)
    """
    x = np.arange(-1600, 1901) / 100
    right = x[1:]
    b, z = np.arange(0, 526)[:, None] / 100, np.arange(-100 * reach - 25, 100 * reach + 26)[:, None] / 100
    by_b = most(np.diff(law.below(x - b) - b * law.density(x - b), axis=1), right)
    near = 1e-7
    slope = (law.density(x - z + near) - law.density(x - z - near)) / (2 * near)
    by_z = most(tilt * np.diff(slope, axis=1), right)
    return by_z + 0.05, by_b + 0.06


def certified(claim: float | Callable[[FloatArray], FloatArray], tilt: float, law: Law, reach: int = 4) -> bool:
    """Whether no z in [−reach, reach] and b in [0, 5] gains more than the claim: branch and bound, in floating point.

    The claim may depend on b; its slope is then at most 1/2.  A square is done if the value in its middle, what is
    missing there, half its side times what `stretches` says of its places (and 1/2 for the claim), and 1e-9 for
    rounding are together within the claim in its middle.
    """
    by_z, by_b = stretches(law, tilt, reach)
    for sign in (1.0, -1.0):
        half = 0.125
        z, b = (
            axis.ravel()
            for axis in np.meshgrid(np.arange(-reach + half, reach, 2 * half), np.arange(half, 5, 2 * half))
        )
        while len(z):
            blocks = [slice(k, k + 2000) for k in range(0, len(z), 2000)]
            found = [gains(z[k], b[k], sign * tilt, law) for k in blocks]
            value, missing = (np.concatenate(part) for part in zip(*found, strict=True))
            claimed = claim(b) if callable(claim) else np.full(len(b), claim)
            if (value > claimed).any() or half < 1e-4:
                return False
            change = np.full(len(z), 0.5 if callable(claim) else 0.0)
            for table, place in ((by_z, z + reach + 0.25), (by_b, b)):
                first = np.maximum(np.floor(100 * (place - half) + 1e-6), 0).astype(int)
                some = first[:, None] + np.arange(round(200 * half) + 3)
                change += table[np.minimum(some, len(table) - 1)].max(axis=1)
            open_ = ~(value + missing + half * change + 1e-9 <= claimed)
            half /= 2
            corners = [(i, j) for i in (-half, half) for j in (-half, half)]
            z, b = (np.concatenate([axis[open_] + corner[k] for corner in corners]) for k, axis in enumerate((z, b)))
    return True


# --- Theorem 44


@given(st.floats(0, 3), st.floats(-6, 6), st.floats(0, 6), st.sampled_from([-1, 1]))
def test_theorem_44_laplace_lemma(shift: float, z: float, b: float, sign: int) -> None:
    """With A = shift: no h gains more than A + max(k(b), A), where k(b) = b·Pr[Y > b]."""
    tilt = sign * 2 * shift  # A = tilt·f(0)
    value = float(gains(np.array([z]), np.array([b]), tilt, LAPLACE)[0][0])
    assert value <= shift + max(b * exp(-b) / 2, shift) + 1e-4


@given(st.floats(0.2, 5), st.floats(-6, 6), st.floats(0, 6), st.floats(0, 1), st.sampled_from([-1, 1]))
def test_theorem_44_gaussian_by_convexity(scale: float, z: float, b: float, mu: float, sign: int) -> None:
    """What a threshold μ gains is at most μ·Q(0) + (1 − μ)·Q(eps), for eps = 1 and every scale."""
    half = ClampedGaussian(0.01).decision_displacement() / 0.02  # K/2 per unit of scale
    tilt = half * scale + 1e3 * ClampedGaussian(scale / 1e3).cdl_shift(1e-6)
    value = scale * float(gains(np.array([z]), np.array([b]), sign * (1 - mu) / scale**2, BELL, 15.0)[0][0])
    assert value <= mu * half * scale + (1 - mu) * tilt + 1e-4 * scale


@pytest.mark.slow
def test_theorem_44_the_certified_number() -> None:
    """∫|φ''| = 4φ(1).  Beyond z = ±4 or b = 5 the sum of what z and b gain alone is smaller."""
    tilt = 1.55**-2
    assert certified(0.34, tilt, BELL)
    apart = max(0.33995 / 2 + tilt * (1 + exp(-8)) / sqrt(2 * pi), 5 * float(ndtr(-5.0)) + tilt * sqrt(2 / pi))
    assert apart < 0.34
    assert not certified(0.335, tilt, BELL)  # the certificate can fail


@pytest.mark.parametrize("eps", [1e-6, 1e-3, 0.05, 1.0])
def test_theorem_44_constants(eps: float) -> None:
    for family, constant in ((ClampedLaplace, 1.5 / sqrt(e)), (ClampedGaussian, 0.790456), (UniformNoise, 1.0)):
        value = guarantees.batch_cdl(family.for_distance(eps, "cdl"), eps).value
        assert value <= constant * sqrt(eps) * (1 + 1e-9)
        assert eps > 0.05 or value >= 0.9999 * constant * sqrt(eps)
    assert isinstance(guarantees.best_noise(max(eps, 0.05), "cdl").noise, ClampedGaussian)


def far_apart(noise: ClampedLaplace, eps: float) -> tc.Predictor:
    """Most at 0.98 + scale with the threshold 0.98, calibrated; of a few at 0.02 the ones are moved to the left."""
    low, move = 0.02, noise.scale / 50
    few = eps / (low * move)
    high = 1 - low + noise.scale
    p, y = np.array([low - move, low, high, high]), np.array([1, 0, 0, 1])
    b = np.array([low, low, high, high])
    mass = np.array([few * low, few * (1 - low), (1 - few) * (1 - high), (1 - few) * high])
    return coupled(p, y, b, mass).predictor


def test_theorem_44_is_tight_for_laplace_noise() -> None:
    """K/2 + 2·L·eps is approached by two thresholds, near 0 and near 1."""
    eps = 1e-13
    noise = ClampedLaplace.for_distance(eps, "cdl")
    found = tc.cdl(tc.smooth(far_apart(noise, eps), noise))
    assert 0.95 <= found / guarantees.batch_cdl(noise, eps).value <= 1 + 1e-9


# --- Theorem 45


ROOT = 2.0**-20  # √eps
STEP = ROOT / 64  # δ: all predictions and answers are multiples of it, and these are exact in floating point
NEAR, FAR = 20 * 64, 2**20  # η in steps: for one threshold at 1/2, and for two, at 2^−6 and 1 − 2^−6
HALF, ONE = 2**25, 2**26  # 1/2 and 1 in steps


@dataclass(frozen=True)
class Lattice:
    """Additive noise on multiples of the step, with at least half of its mass on [0, ∞) (else it is mirrored)."""

    offset: IntArray
    share: FloatArray

    @classmethod
    def of(cls, density: FloatArray) -> Lattice:
        """Values of a density at −16√eps, …, 16√eps."""
        offset, share = np.arange(len(density)) - len(density) // 2, density / density.sum()
        return cls(offset, share) if share[offset >= 0].sum() >= 0.5 else cls(offset, share[::-1])

    def cdl(self, rows: list[tuple[int, int, float]]) -> float:
        """The exact CDL after this noise of rows (prediction in steps, outcome, mass)."""
        at = np.concatenate([place + self.offset for place, _, _ in rows])
        mass = np.concatenate([mass * self.share for _, _, mass in rows])
        ones = np.concatenate([y * mass * self.share for _, y, mass in rows])
        value, which = np.unique(at[mass > 0], return_inverse=True)
        law = [np.bincount(which, part[mass > 0]) for part in (mass, ones)]
        return tc.cdl(tc.Predictor(value * STEP, *law))

    def beyond(self, steps: int) -> float:
        return float(self.share[self.offset >= steps].sum())

    def steepest(self) -> tuple[int, float]:
        """Where in [0, 4√eps] one step has the largest mass, and L."""
        some = (self.offset >= 0) & (self.offset <= 4 * 64)
        place = int(np.argmax(np.where(some, self.share, -1.0)))
        return int(self.offset[place]), float(self.share[place]) / STEP


@dataclass(frozen=True)
class Adversary:
    """One of the two predictors of Theorem 45: its rows, and the loss that the proof names."""

    rows: list[tuple[int, int, float]]
    proved: float
    distance: float


def adversaries(noise: Lattice) -> list[Adversary]:
    """Most rows calibrated x below a threshold; of the few, calibrated at z, the ones are moved a step to the left."""
    eps, (steep, slope) = ROOT**2, noise.steepest()
    x = max(1, round(1 / max(4 * slope, 1 / (4 * ROOT)) / STEP))  # at most 4√eps
    k = x * STEP * noise.beyond(x)
    found = []
    for threshold, end in ((HALF, HALF - NEAR), (ONE - FAR, FAR)):  # where most act, and where the half-line ends
        z = end - steep
        few = eps / (z * STEP * STEP)
        most = (threshold - x) * STEP
        rows = [(threshold - x, 0, (1 - few) * (1 - most)), (threshold - x, 1, (1 - few) * most)]
        rows += [(z, 0, few * (1 - z * STEP)), (z - 1, 1, few * z * STEP)]
        if threshold == HALF:
            proved = (1 - few) * 2 * k + slope * eps - 2 * few * (0.5 - z * STEP)
        else:
            proved = (1 - few) * k + 2 * slope * eps * (1 - end * STEP) - few * (end - z) * STEP
        found.append(Adversary(rows, proved, few * z * STEP * STEP))
    return found


PLACES = (np.arange(-16 * 64, 16 * 64 + 1)) / 64  # in units of √eps


@st.composite
def shapes(draw: st.DrawFn) -> FloatArray:
    """One to four triangles or boxes, anywhere within 8√eps of 0."""
    total = np.zeros(len(PLACES))
    for _ in range(draw(st.integers(1, 4))):
        middle, width = draw(st.floats(-6, 6)), draw(st.floats(0.1, 8))
        part = np.maximum(1 - np.abs(PLACES - middle) / width, 0.0)
        total += draw(st.floats(0.05, 1)) * (part if draw(st.booleans()) else (part > 0.0) / 2)
    return total * (np.abs(PLACES) <= 8)


@examples(200)
@given(shapes())
def test_theorem_45_no_additive_noise_does_better(density: FloatArray) -> None:
    """The CDL of the proof's predictors, computed, is what the proof says, and the larger one at least 0.75·√eps.

    Explicitly: (3/2)(k + L·eps) ≥ (3/4)√eps less the terms of `proved` with a minus, which are below 4 % here.
    """
    assume(density.sum() > 0)
    noise = Lattice.of(density)
    losses = []
    for adversary in adversaries(noise):
        assert adversary.distance == pytest.approx(ROOT**2, rel=1e-9)
        losses.append(noise.cdl(adversary.rows))
        assert losses[-1] >= adversary.proved - 1e-12
    assert max(losses) >= 0.75 * ROOT * 0.96


def test_theorem_45_its_error_terms() -> None:
    """What (i) and (ii) leave out is at most 7·eps^(9/16), for eps ≤ 2^−16."""
    eps = 2.0 ** -np.arange(16, 200)
    one = 10 * eps ** (5 / 8) + 3 * eps ** (7 / 8) + 4 * eps ** (3 / 4)
    two = 7 / 4 * eps ** (9 / 16) + 5.9 * eps ** (5 / 8) + 16 * eps ** (3 / 4) + 1.5 * eps ** (9 / 8)
    assert ((one + two) / 2 <= 6.2 * eps ** (9 / 16)).all()
    assert ((one + two) / 2 + 3 / 8 * eps ** (5 / 8) <= 7 * eps ** (9 / 16)).all()
    assert 0.75 * sqrt(3e-16) > 7 * 3e-16 ** (9 / 16)
    assert 0.75 * sqrt(3.1e-16) < 7 * 3.1e-16 ** (9 / 16)


def test_theorem_45_the_test_can_fail() -> None:
    """With the plateau the proof's predictors lose less than 0.77·√eps: a larger constant would be noticed."""
    for density in (plateau(PLACES), bell(PLACES / 1.55), laplace(PLACES / sqrt(e)), (np.abs(PLACES) <= 2) / 4):
        noise = Lattice.of(density)
        loss = max(noise.cdl(adversary.rows) for adversary in adversaries(noise))
        assert 0.75 * 0.96 * ROOT <= loss <= 1.01 * ROOT
    noise = Lattice.of(plateau(PLACES))
    assert max(noise.cdl(adversary.rows) for adversary in adversaries(noise)) <= 0.77 * ROOT


@pytest.mark.slow
def test_theorem_45_the_plateau_reaches_it() -> None:
    """eps = 1, 1/4 on [−1, 1]: K/2 = L = 1/4, and at the threshold 1/2 nothing gains more than 0.376: CDL ≤ 0.752."""
    claim = CDL_CONSTANT / 2
    assert claim == 0.376
    assert certified(claim, 0.5, PLATEAU, reach=6)
    assert not certified(0.3749, 0.5, PLATEAU, reach=6)  # the certificate can fail: far apart, z and b gain L/2 + k
    apart = max(0.25 + 0.5 * (0.25 + exp(-5) / 4), 5 * exp(-4) / 4 + 0.25)  # beyond z = ±6, and beyond b = 5
    assert apart < claim
    x = np.linspace(0, 20, 20001)
    assert (x * (1 - below_plateau(x))).max() == pytest.approx(0.25, abs=1e-9)


# --- Theorem 47: the plateau at every eps


def alone(b: FloatArray) -> FloatArray:
    """R(b) = |b|·Pr[Y > |b|] for the plateau of scale 1: what a prediction at the distance b gains without a shift."""
    return np.asarray(np.abs(b) * (1 - below_plateau(np.abs(b))))


def room(b: FloatArray, slope: float = CDL_SLOPE) -> FloatArray:
    """What Theorem 47 leaves for z and b at the tilt 1: the least 0.752 + slope/d − R(±b − d) over distances d > 0.

    On a grid of 1/1000, whose steps have the smaller slope/d at their ends, and an R that is larger by at most 1/2000,
    since |R'| ≤ 1/2.  Beyond d = 40, R is below 1e-14 and the constant is left, which is more than Q(1).
    """
    d = np.arange(1, 40_001) / 1000
    least = [float((slope / d - np.maximum(alone(place - d), alone(place + d))).min()) for place in b]
    return CDL_CONSTANT - 1 / 2000 + np.minimum(least, 0.0)


@pytest.mark.slow
def test_theorem_47_the_certified_numbers() -> None:
    """Beyond z = ±6 and b = 5 the sum of what z and b gain alone is within what is left, by hand."""
    assert certified(room, 1.0, PLATEAU, reach=6)
    assert not certified(lambda b: room(b, 0.17), 1.0, PLATEAU, reach=6)  # the certificate can fail
    assert certified(CDL_ON_CELLS - 0.25, 1.0, PLATEAU, reach=6)
    assert not certified(0.611, 1.0, PLATEAU, reach=6)
    far = 0.25 * (1 + exp(-5))  # |H'| beyond z = ±6
    assert far + 0.25 + 0.25 < CDL_CONSTANT
    assert far + 0.25 < CDL_ON_CELLS - 0.25
    assert 0.5 + 5 * exp(-4) / 4 < CDL_ON_CELLS - 0.25
    # b ≥ 5: R(b) ≤ 0.002 + slope/d up to d = b + 3, where (b + 3)·R(b) falls with b; then R(b − d) is at most R(3)
    assert float(alone(np.array(5.0))) <= CDL_CONSTANT - 0.75 + CDL_SLOPE / 8
    assert 0.5 + float(alone(np.array(5.0)) + alone(np.array(3.0))) < CDL_CONSTANT


def gain(t: float, z: float, b: float) -> float:
    """G(t; z, b), for b of either sign."""
    mirrored = -1.0 if b < 0 else 1.0
    place, at = np.array([mirrored * z]), np.array([mirrored * b])
    return max(float(gains(place, at, sign * t, PLATEAU, 25.0)[0][0]) for sign in (1, -1))


@given(st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0.02, 1), st.floats(-3, 8), st.floats(-3, 8))
@example(0.1833, 0.1167, 0.2, 1.0, 0.5)  # the largest found at this scale: 0.776
def test_theorem_47_two_thresholds(x: float, y: float, scale: float, z: float, b: float) -> None:
    """Thresholds 1/2 − x and 1/2 + y, with weights whose mean is 1/2, gain at most 0.752 + 0.19·scale together."""
    assume(x + y > 1e-6)
    d = (x + y) / scale
    found = (2 * y * gain(0.5 + x, z, b) + 2 * x * gain(0.5 - y, z - d, b - d)) / (x + y)
    assert found <= CDL_CONSTANT + CDL_SLOPE * scale + 1e-9


@pytest.mark.parametrize("scale", [0.2, 0.3])
def test_theorem_47_what_is_lost(scale: float) -> None:
    """The bound on two thresholds is within 2 % of the largest value found, near z = 1/2, b = z − scale/2."""
    z = 0.5 + 0.0833 * scale
    low, high = z - scale, z + scale / 2
    d = (high - low) / scale
    found = (2 * high - 1) * gain(1 - low, 1.0, 0.5) + (1 - 2 * low) * gain(1 - high, 1.0 - d, 0.5 - d)
    bound = CDL_CONSTANT + CDL_SLOPE * scale
    assert 0.98 * bound <= found / (high - low) <= bound


@given(st.floats(1e-6, 1), st.floats(1e-3, 0.5))
def test_theorem_47_as_computed(eps: float, scale: float) -> None:
    """The library's bound: at eps = scale² that of the theorem, growing with eps, and never above Theorem 15's."""
    noise = ClampedPlateau(scale)
    assert noise.cdl_shift(eps) <= min(noise.cdl_shift_on_cells(eps), 2 * noise.tv_slope() * eps) * (1 + 1e-12)
    known = noise.decision_displacement() + noise.cdl_shift(scale**2)
    assert known == pytest.approx(min(CDL_CONSTANT + CDL_SLOPE * scale, CDL_ON_CELLS) * scale, rel=1e-12)
    near, here, far = (noise.cdl_shift(eps * factor) for factor in (0.5, 1.0, 1.5))
    assert near <= here * (1 + 1e-12)
    assert here <= far * (1 + 1e-12)


@pytest.mark.parametrize("eps", [1e-8, 1e-4, 0.01, 0.04])
def test_theorem_47_is_the_best_noise_for_cdl(eps: float) -> None:
    found = guarantees.best_noise(eps, "cdl")
    assert found.noise == ClampedPlateau(sqrt(eps))
    assert found.guarantee.value == pytest.approx(0.752 * sqrt(eps) + 0.19 * eps, rel=1e-12)
    assert "Theorem 47" in found.guarantee.source
    uniform = guarantees.batch_cdl(UniformNoise.for_distance(eps, "cdl"), eps)
    assert found.guarantee.value < 0.8 * uniform.value


# --- Theorem 46


@given(st.floats(0.01, 0.7), st.integers(1, 400), st.floats(0.001, 1), st.sampled_from([1, -1]))
def test_theorem_46_far_cells(a: float, rounds: int, chance: float, sign: int) -> None:
    """E(±N − a·n)⁺ ≤ 0.7183/(e·a) for N a centred binomial number with the sum n of variances' bounds."""
    k = np.arange(rounds + 1)
    excess = np.maximum(sign * (k - rounds * chance) - a * rounds * chance, 0)
    assert float(binom.pmf(k, rounds, chance) @ excess) <= 0.7183 / (e * a)


def test_theorem_46_saves_where_rounds_are_many() -> None:
    eps, horizon, noise = 1e-6, 10**8, UniformNoise(0.02)
    fixed = noise.decision_displacement() + noise.cdl_shift(eps)
    for cells, share in ((464, 0.72), (2000, 0.61)):
        found = guarantees.online_cdl(noise, eps, horizon, cells=cells, end="middle")
        assert "Theorem 46" in found.source
        assert found.value - fixed <= share * (1 / cells + sqrt(2 * cells / horizon))
    assert "Theorem 19" in guarantees.online_cdl(noise, 0.01, 10**5).source


def test_theorem_46_saves_at_the_best_width() -> None:
    """√(2m/T) is replaced by terms of lower order where the noise is as wide as is best for eps, too."""
    for family, eps, horizon, share in (
        (UniformNoise, 1e-4, 10**8, 0.62),
        (UniformNoise, 1e-6, 10**9, 0.47),
        (ClampedGaussian, 1e-6, 10**9, 0.60),
        (ClampedLaplace, 1e-6, 10**9, 0.66),
    ):
        noise = family.for_distance(eps, "cdl")
        found = guarantees.online_cdl(noise, eps, horizon, cells=2000, end="middle")
        cells = found.value - noise.decision_displacement() - noise.cdl_shift(eps)
        assert "Theorem 46" in found.source
        assert cells <= share * (1 / 2000 + sqrt(4000 / horizon))


@pytest.mark.parametrize("power", [0.1, 0.15, 0.2, 0.25, 2 / 7, 0.3, 1 / 3])
def test_theorem_46_the_best_number_of_cells(power: float) -> None:
    """For the width w = T^−power cells cost (w/T)^(1/3) up to the power 1/5, and then 1/√(wT): up to constants."""
    horizon = 10.0 ** np.array([[30], [60], [120]])
    width = horizon**-power
    cells = horizon ** np.linspace(0.2, 0.6, 801)
    r = 2 * (width + 1 / (2 * cells))  # middles, and c = 1/2
    cost = 1 / cells + 2 * np.sqrt((2 * r * cells + 2) / horizon) + 1.06 * cells / (r / 2 * horizon)
    best = cells[range(3), cost.argmin(axis=1)][:, None]
    wide = power <= 0.2
    order, number = ((width / horizon) ** (1 / 3), (horizon / width) ** (1 / 3))
    if not wide:
        order, number = 1 / np.sqrt(width * horizon), np.sqrt(width * horizon)
    for ratio in (cost.min(axis=1, keepdims=True) / order, best / number):
        assert (ratio > 0.1).all()
        assert (ratio < 10).all()


@given(
    st.sampled_from([UniformNoise, ClampedLaplace, ClampedGaussian]),
    st.floats(1e-3, 0.3),
    st.floats(0, 1),
    st.sampled_from([0.0, 1e-4, 1e-2, 0.05]),
)
def test_theorem_46_the_reach_of_noise(family: Callable[[float], Noise], scale: float, q: float, share: float) -> None:
    noise = family(scale)
    reach = noise.reach(share)
    beyond = float(noise.cdf(q - reach - 1e-12, q)) if q > reach + 1e-12 else 0.0
    beyond += 1 - float(noise.cdf(q + reach + 1e-12, q)) if q + reach + 1e-12 < 1 else 0.0
    assert beyond <= share + 1e-12


@pytest.mark.slow
def test_theorem_46_holds_in_games() -> None:
    """Rounds of a calibrated predictor near 1/2: the mean CDL over seeds is below the bound."""
    rounds, noise = 10**6, UniformNoise(0.04)
    rng = np.random.default_rng(1)
    q = 0.5 + 0.02 * rng.integers(-5, 6, rounds)
    y = rng.random(rounds) < q
    found = [
        tc.cdl(tc.Predictor.from_samples(y, tc.OnlineSmoother(noise, cells=100, end="middle", rng=s).transform_many(q)))
        for s in range(8)
    ]
    eps = tc.dtc(tc.Predictor.from_samples(y, q))
    bound = guarantees.online_cdl(noise, eps, rounds, cells=100, end="middle")
    assert "Theorem 46" in bound.source
    assert np.mean(found) <= bound.value
