"""Does the frequency of the outcome rise with the prediction?  If not, measures that keep the ranking miss a part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count, generator
from trustcal.clusters import added, shared_outcomes
from trustcal.inference.sampler import sample_size, whole_rows
from trustcal.kernels.minorant import largest_excursion
from trustcal.measures.counts import constant_weights, row_counts
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class MonotonicityTest:
    """Whether the frequency of y = 1 may rise with the prediction everywhere.

    Attributes
    ----------
    value : float
        The largest fall, in standard deviations.
    p_value : float
        About this share of data sets with a rising frequency would show such a fall; never 0.
    low, split, high : float
        Where it is: from `low` to `split` the frequency is higher than from there to `high`; NaN if it never falls.
    before, after : float
        The frequency of y = 1 in these two ranges.
    draws : int
        The number of simulated data sets.
    note : str
        What was approximated beyond the test itself; empty if nothing was.
    """

    value: float
    p_value: float
    low: float
    split: float
    high: float
    before: float
    after: float
    draws: int
    note: str


def monotonicity_test(q: Predictor, *, draws: int = 199, rng: np.random.Generator | int) -> MonotonicityTest:
    """Test the hypothesis that Pr[y = 1 | p] does not decrease with p.

    A small p-value says that the isotonic curve, and with it `monotone_cdl` and `corp`, hide something: a rule that
    acts on some range of predictions and not above it would gain more than moving thresholds does.  A large one does
    not say that nothing is hidden; with few rows falls cannot be seen.  The hypothesis is not calibration: a
    miscalibrated predictor that ranks well passes.

    The statistic looks at each block of the isotonic regression, with its level m: the largest sum of y − m over the
    rows from the start of the block, divided by its standard deviation if Pr[y = 1 | p] = m there.

    The p-value is (1 + number of draws that show at least as much) / (1 + draws), where a draw has outcomes that follow
    the isotonic regression.  The level is approximate: simulated, between 4 and 6 % for a nominal 5 %.

    Parameters
    ----------
    q : Predictor
        Counted from rows.
    draws : int
        The number of simulated data sets.
    rng : Generator or int
        A numpy Generator or a seed.

    Returns
    -------
    MonotonicityTest

    References
    ----------
    Durot, "A Kolmogorov-type test for monotonicity of regression", Statistics & Probability Letters, 2003.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> rising, wiggle = (rng.random(3000) < x for x in (p**2, p + 0.15 * np.sin(6 * np.pi * p)))
    >>> monotonicity_test(Predictor.from_samples(rising, p), rng=0).p_value > 0.05
    True
    >>> found = monotonicity_test(Predictor.from_samples(wiggle, p), rng=0)
    >>> found.p_value < 0.05 and found.before > found.after
    True

    O(draws · n).
    """
    q, draws, random = as_predictor(q), checked_count("draws", draws), generator(rng)
    sample_size(q)
    counts = row_counts(q)  # whole numbers, where rows count alike, so that rounding decides no tie between blocks
    mass, positive, squares = (
        (q.mass, q.positive, q.mass**2 / q.rows_at)
        if counts is None
        else (x.astype(np.float64) for x in (counts[0] + counts[1], counts[1], counts[0] + counts[1]))
    )
    spaces = np.empty(len(q), dtype=np.int64), np.empty(len(q)), np.empty(len(q))
    measure = largest_excursion.on(draws * len(q) // 8)  # below that, plain Python takes less time than loading numba
    value, first, split, last = measure(mass, positive, squares, *spaces)
    draw = _outcomes(q, mass)
    shown = [measure(mass, draw(random), squares, *spaces)[0] for _ in range(draws)]
    as_much = int((np.array(shown) >= value * (1 - 1e-12)).sum())
    low, middle, high, before, after = (nan,) * 5
    if first >= 0:
        low, middle, high = (float(q.p[at]) for at in (first, split, last))
        before, after = (
            float(positive[part].sum() / mass[part].sum())
            for part in (slice(first, split + 1), slice(split + 1, last + 1))
        )
    note = "" if constant_weights(q) else "weights differ, or rows belong together: outcomes are drawn approximately"
    return MonotonicityTest(value, (1 + as_much) / (1 + draws), low, middle, high, before, after, draws, note)


def _outcomes(q: Predictor, mass: FloatArray) -> Callable[[np.random.Generator], FloatArray]:
    """A function that draws outcomes from the isotonic regression: the mass of y = 1 at each value."""
    clusters, chance = q.clusters, q.fitted
    if clusters is not None:
        correlation = clusters.correlation(chance)

        def by_cluster(rng: np.random.Generator) -> FloatArray:
            one = shared_outcomes(clusters, chance, correlation, rng)
            return np.minimum(added(clusters.value, clusters.weight * one, len(q)), mass)

        return by_cluster
    rows, more = whole_rows(q)

    def by_row(rng: np.random.Generator) -> FloatArray:
        k = rows + (rng.random(len(rows)) < more) if more.any() else rows
        ones = rng.random(len(k)) < chance if k.max() == 1 else rng.binomial(k, chance)
        return np.asarray(ones * (mass / k))

    return by_row
