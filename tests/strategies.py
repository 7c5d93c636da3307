"""Hypothesis strategies for the objects of the package, with a taste for the degenerate."""

from __future__ import annotations

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

probabilities = st.one_of(
    st.sampled_from(EDGES),
    st.integers(0, 8).map(lambda i: i / 8),
    st.floats(0, 1, allow_subnormal=False),
)
"""Predictions: at the ends, on coarse grids (so that ties and thresholds meet), and anywhere."""


@st.composite
def predictors(draw: st.DrawFn, max_values: int = 8) -> Predictor:
    """Known laws: one value or several, some heavy, some pure, some exactly on their posterior."""
    p = sorted(set(draw(st.lists(probabilities, min_size=1, max_size=max_values))))
    counts = np.array(draw(st.lists(st.integers(1, 16), min_size=len(p), max_size=len(p))), dtype=float)
    scale = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 1.0, 1e-9, 1e6]), min_size=len(p), max_size=len(p))))
    mass = counts * scale / (counts * scale).sum()
    share = [draw(st.one_of(st.sampled_from([0.0, 1.0, value]), st.integers(0, 8).map(lambda i: i / 8))) for value in p]
    return Predictor(p, mass, mass * share)


@st.composite
def calibrated_predictors(draw: st.DrawFn) -> Predictor:
    q = draw(predictors())
    return Predictor(q.p, q.mass, q.mass * q.p)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[int], list[float], list[float]]:
    """Rows (outcomes, predictions, weights) with many ties."""
    rows = draw(st.lists(st.tuples(st.integers(0, 1), probabilities, st.integers(0, 5)), min_size=1, max_size=30))
    y, p, w = zip(*rows, strict=True)
    weights = [float(weight) for weight in w]
    return list(y), list(p), weights if any(weights) else [1.0] * len(weights)


def bounded_problems(payoffs: st.SearchStrategy[float] = probabilities) -> st.SearchStrategy[DecisionProblem]:
    """Payoffs in [0, 1], with ties, dominated and duplicate actions."""
    return st.lists(st.tuples(payoffs, payoffs), min_size=1, max_size=5).map(DecisionProblem)


eighths = st.integers(0, 8).map(lambda i: i / 8)
