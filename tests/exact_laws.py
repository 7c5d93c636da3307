"""Laws with rational masses, and the measures without bins by their definitions, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Self

import numpy as np
from hypothesis import strategies as st

from trustcal import Predictor

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
TWENTY_FOURTHS = [Fraction(i, 24) for i in range(25)]


@dataclass(frozen=True)
class Law:
    """Predictions p in increasing order, their masses, and the masses where y = 1."""

    p: tuple[Fraction, ...]
    mass: tuple[Fraction, ...]
    positive: tuple[Fraction, ...]

    @classmethod
    def of(cls, *rows: tuple[Fraction | int, Fraction | int, Fraction | int]) -> Self:
        """Rows (prediction, mass, Pr[y = 1 | prediction]); masses are divided by their sum."""
        total = sum((Fraction(w) for _, w, _ in rows), ZERO)
        kept = sorted((Fraction(p), w / total, w / total * Fraction(chance)) for p, w, chance in rows if w)
        p, mass, positive = zip(*kept, strict=True)
        return cls(p, mass, positive)

    @classmethod
    def exactly(cls, q: Predictor) -> Self:
        """A law in floats, without rounding."""
        p, mass, positive = (tuple(map(Fraction, array.tolist())) for array in (q.p, q.mass, q.positive))
        return cls(p, mass, positive)

    @classmethod
    def with_biases(cls, *rows: tuple[Fraction, Fraction]) -> Self:
        """Rows (prediction, bias) of equal mass."""
        return cls.of(*((p, 1, p - len(rows) * c) for p, c in rows))

    @cached_property
    def predictor(self) -> Predictor:
        """The same law in floats."""
        return Predictor(*(np.array([float(x) for x in xs]) for xs in (self.p, self.mass, self.positive)))

    @cached_property
    def posterior(self) -> list[Fraction]:
        return [v / w for v, w in zip(self.positive, self.mass, strict=True)]

    @cached_property
    def bias(self) -> list[Fraction]:
        return [p * w - v for p, w, v in zip(self.p, self.mass, self.positive, strict=True)]

    @cached_property
    def sums(self) -> list[Fraction]:
        return list(accumulate(self.bias, initial=ZERO))

    @cached_property
    def total(self) -> Fraction:
        """|B|, the total bias."""
        return abs(self.sums[-1])

    @cached_property
    def places(self) -> list[Fraction]:
        return sorted({ZERO, HALF, ONE, *self.p})

    @cached_property
    def fitted(self) -> list[Fraction]:
        """The isotonic regression: the largest mean from a lower end, of the least mean up to an upper end."""
        n = len(self.p)

        def average(i: int, j: int) -> Fraction:
            return sum(self.positive[i:j], ZERO) / sum(self.mass[i:j], ZERO)

        return [max(min(average(i, j) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)]

    def mean(self, f: Callable[[Fraction, Fraction, Fraction], Fraction]) -> Fraction:
        """E f(p, posterior, fitted)."""
        values = zip(self.p, self.posterior, self.fitted, strict=True)
        return sum((w * f(*x) for w, x in zip(self.mass, values, strict=True)), ZERO)

    def gain(self, mu: Fraction, first: int, last: int | None = None) -> Fraction:
        """E[(y − mu)] over the values number `first` to before `last`."""
        return sum(self.positive[first:last], ZERO) - mu * sum(self.mass[first:last], ZERO)

    def own(self, mu: Fraction) -> set[int]:
        """The first value acted on at the threshold mu, for both conventions."""
        return {sum(p < mu for p in self.p), sum(p <= mu for p in self.p)}

    def against(self, best: Callable[[Fraction], Fraction], mu: Fraction) -> Fraction:
        """What rules that earn best(mu) gain over acting above mu, for the worse convention."""
        return best(mu) - min(self.gain(mu, k) for k in self.own(mu))

    def monotone(self, mu: Fraction) -> Fraction:
        """D(mu): the best upper set."""
        return self.against(lambda x: max(self.gain(x, k) for k in range(len(self.p) + 1)), mu)

    def swap(self, mu: Fraction) -> Fraction:
        """R(mu): the best set of values."""
        return self.against(lambda x: sum((max(ZERO, self.gain(x, i, i + 1)) for i in range(len(self.p))), ZERO), mu)

    def constant(self, mu: Fraction) -> Fraction:
        """U(mu): always or never acting."""
        return self.against(lambda x: max(ZERO, self.gain(x, 0)), mu)

    def action(self, mu: Fraction) -> Fraction:
        """r(mu): each of the two recommendations reversed as a whole, if that gains."""
        return max(max(ZERO, -self.gain(mu, k)) + max(ZERO, self.gain(mu, 0, k)) for k in self.own(mu))

    def worst(self, profile: Callable[[Fraction], Fraction]) -> Fraction:
        """Twice the concave envelope of a profile at 1/2, over all chords between predictions, 0, 1/2 and 1."""
        loss = {mu: profile(mu) for mu in self.places}
        chords = [(loss[a] * (b - HALF) + loss[b] * (HALF - a)) / (b - a) for a in loss for b in loss if a < HALF < b]
        return 2 * max(loss[HALF], *chords)

    @cached_property
    def monotone_cdl(self) -> Fraction:
        return self.worst(self.monotone)

    @cached_property
    def two_action_regret(self) -> Fraction:
        return max(self.action(mu) / max(mu, 1 - mu) for mu in self.places)

    @cached_property
    def cutoff(self) -> Fraction:
        return max(self.sums) - min(self.sums)

    @cached_property
    def stepcal(self) -> Fraction:
        return max(map(abs, self.sums))

    @cached_property
    def ece(self) -> Fraction:
        return sum(map(abs, self.bias), ZERO)

    @cached_property
    def mcb(self) -> Fraction:
        """What the isotonic regression saves in the Brier score."""
        return self.mean(lambda p, chance, b: p * p - 2 * p * chance - b * b + 2 * b * chance)

    def over_cuts(self, f: Callable[[Fraction], Fraction]) -> Fraction:
        """The mean over a random cut of f(bias below) + f(bias above)."""
        gaps = [b - a for a, b in pairwise([ZERO, *self.p, ONE])]
        return sum((d * (f(s) + f(self.sums[-1] - s)) for d, s in zip(gaps, self.sums, strict=True)), ZERO)

    @cached_property
    def atb(self) -> Fraction:
        return self.over_cuts(lambda s: s * s)

    @cached_property
    def atb_l1(self) -> Fraction:
        return self.over_cuts(abs)


@cache
def places_of(most: int) -> st.SearchStrategy[list[int]]:
    """One to this many multiples of 1/24."""
    return st.lists(st.integers(0, 24), min_size=1, max_size=most, unique=True)


@cache
def weights_and_chances(n: int) -> st.SearchStrategy[list[tuple[int, Fraction]]]:
    chance = st.one_of(st.sampled_from([ZERO, ONE]), st.sampled_from(TWENTY_FOURTHS))
    return st.lists(st.tuples(st.sampled_from([1, 1, 2, 5, 100]), chance), min_size=n, max_size=n)


@st.composite
def laws(draw: st.DrawFn, max_values: int = 6) -> Law:
    """Laws on multiples of 1/24, 0 and 1 among them; some values pure, some calibrated, some light."""
    p = draw(places_of(max_values))
    return Law.of(*((TWENTY_FOURTHS[i], *row) for i, row in zip(p, draw(weights_and_chances(len(p))), strict=True)))


def rain(h: Fraction) -> Law:
    """Half of the days 1/2 − h and rain, half 1/2 + h and none."""
    return Law.of((HALF - h, 1, 1), (HALF + h, 1, 0))


def comb(delta: Fraction, teeth: int) -> Law:
    """Predictions that are spread over [delta, 1], all too high by delta."""
    step = (1 - delta) / teeth
    return Law.of(*((delta + i * step, 1, i * step) for i in range(teeth + 1)))


def spikes(low: Fraction, high: Fraction, count: int) -> Law:
    """Predictions spread over [0, 1], whose running sums of the bias are low and high in turn and end at low + high.

    They are scaled, so that the biases are small enough for outcomes.
    """
    sums = [ZERO, *(high if i % 2 else low for i in range(1, 2 * count)), low + high]
    p = [HALF + (Fraction(2 * i - 2 * count + 1, 2 * count) * Fraction(99, 200)) for i in range(2 * count)]
    scale = Fraction(1, 1000 * count)
    return Law.with_biases(*((x, scale * (b - a)) for x, (a, b) in zip(p, pairwise(sums), strict=True)))
