"""Hypothesis strategies for the objects of the package, with a taste for the degenerate."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor


def examples(full: int) -> settings:
    """Settings for `full` examples with the profile "full", a quarter with "fast", and never fewer with "nightly"."""
    profile = settings().max_examples
    return settings(max_examples=max(full, profile) if profile >= 100 else -(-full * profile // 100))


def costly(full: int) -> settings:
    """Settings for exactly `full` examples, or a quarter of them with "fast"."""
    return settings(max_examples=full if settings().max_examples >= 100 else -(-full // 4))


EDGES = [0.0, 5e-324, 1e-15, 0.25, 0.5 - 2**-54, 0.5, 0.5 + 2**-53, 0.75, 1 - 1e-15, 1.0]

eighths = st.integers(0, 8).map(lambda i: i / 8)

probabilities = st.one_of(
    st.sampled_from(EDGES),
    eighths,
    st.floats(0, 1, allow_subnormal=False),
)
"""Predictions: at the ends, on coarse grids (so that ties and thresholds meet), and anywhere."""


@cache
def values_of(most: int) -> st.SearchStrategy[list[float]]:
    """One to this many predictions.  A strategy made anew for each example would cost more than what it draws."""
    return st.lists(probabilities, min_size=1, max_size=most)


@cache
def masses_and_shares(n: int) -> st.SearchStrategy[tuple[list[int], list[float], list[float | None]]]:
    """For each of n values a count, its scale, and the share of ones, None being the value itself."""
    return st.tuples(
        st.lists(st.integers(1, 16), min_size=n, max_size=n),
        st.lists(st.sampled_from([1.0, 1.0, 1.0, 1e-9, 1e6]), min_size=n, max_size=n),
        st.lists(st.one_of(st.sampled_from([0.0, 1.0, None]), eighths), min_size=n, max_size=n),
    )


@st.composite
def predictors(draw: st.DrawFn, max_values: int = 8) -> Predictor:
    """Known laws: one value or several, some heavy, some pure, some exactly on their posterior."""
    p = sorted(set(draw(values_of(max_values))))
    counts, scales, shares = draw(masses_and_shares(len(p)))
    heavy = np.array(counts, dtype=float) * np.array(scales)
    mass = heavy / heavy.sum()
    posterior = [value if share is None else share for value, share in zip(p, shares, strict=True)]
    return Predictor(p, mass, mass * posterior)


@st.composite
def calibrated_predictors(draw: st.DrawFn) -> Predictor:
    q = draw(predictors())
    return Predictor(q.p, q.mass, q.mass * q.p)


ROWS = st.lists(st.tuples(st.integers(0, 1), probabilities, st.integers(0, 5)), min_size=1, max_size=30)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[int], list[float], list[float]]:
    """Rows (outcomes, predictions, weights) with many ties."""
    y, p, w = zip(*draw(ROWS), strict=True)
    weights = [float(weight) for weight in w]
    return list(y), list(p), weights if any(weights) else [1.0] * len(weights)


def bounded_problems(payoffs: st.SearchStrategy[float] = probabilities) -> st.SearchStrategy[DecisionProblem]:
    """Payoffs in [0, 1], with ties, dominated and duplicate actions."""
    return st.lists(st.tuples(payoffs, payoffs), min_size=1, max_size=5).map(DecisionProblem)
