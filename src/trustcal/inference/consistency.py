"""The consistency band: where the isotonic curve of calibrated predictions lies, by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_confidence, checked_count, generator
from trustcal.inference.sampler import RowSampler
from trustcal.kernels.minorant import pooled_blocks
from trustcal.predictor import Predictor, as_predictor

FloatArray = NDArray[np.float64]

CURVES = 199
"""The curves drawn for a band: with 199 of them the 5th lowest and the 5th highest are the ends for 95 %."""
_STEPS = 0.1
"""Per value and curve: plain Python pools up to 200,000 of them in the time that loading numba takes."""


@final
@dataclass(frozen=True)
class ConsistencyBand:
    """Where the isotonic curve of calibrated predictions lies: at each prediction, in `confidence` of all samples."""

    p: tuple[float, ...]
    """Predictions, increasing."""
    lower: tuple[float, ...]
    """The lower end of the band there; it does not decrease."""
    upper: tuple[float, ...]
    """The upper end; it does not decrease."""
    confidence: float
    """The share of samples inside, at each prediction by itself (pointwise)."""
    draws: int
    """The number of samples drawn."""
    outside: float
    """The share of rows at whose predictions the curve of the rows is outside the band."""
    outside_by_chance: float
    """The share that at most `1 − confidence` of all samples of calibrated predictions exceed."""


def consistency_band(
    y_true: Predictor | ArrayLike,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    draws: int = CURVES,
    rng: np.random.Generator | int = 0,
) -> ConsistencyBand:
    """The consistency band of a reliability diagram (Dimitriadis, Gneiting and Jordan 2021): what chance alone shows.

    Outcomes y ~ Bernoulli(p) are drawn for the same predictions, and an isotonic curve is fitted to each sample.  With
    k = ⌊(1 − confidence)/2·(draws + 1)⌋, the k-th lowest and the k-th highest curve at a prediction are the ends there.
    For equal rows a calibrated curve lies below the band at a given prediction with probability at most
    (1 − confidence)/2, and above it likewise: the draws and the rows are exchangeable.  The band is pointwise.  A
    calibrated curve often leaves it somewhere, and `outside_by_chance` says for how many of the rows.

    Parameters
    ----------
    y_true, y_prob, sample_weight : a `Predictor` of rows; or outcomes, predictions and weights.
    confidence : the share of samples inside the band at each prediction.
    draws : the number of samples, enough that k is at least 1.
    rng : a numpy Generator or a seed.

    Returns
    -------
    ConsistencyBand : at each prediction value; more than 16,384 values are pooled on a grid.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers.

    >>> band = consistency_band([0, 1] * 50, [0.25, 0.75] * 50)
    >>> band.lower[0] < 0.25 < band.upper[0] < 0.5, band.outside, band.outside_by_chance
    (True, 1.0, 0.5)

    O(draws · n).
    """
    q, confidence, random = as_predictor(y_true, y_prob, sample_weight), checked_confidence(confidence), generator(rng)
    draws = checked_count("draws", draws, least=int(np.ceil(2 / (1 - confidence) - 1 - 1e-9)))
    sampler = RowSampler.of(q)
    seen = sampler.observed
    pooled_blocks.on(round(_STEPS * draws * len(seen)))
    curves = np.stack([seen.fitted] + [sampler.calibrated_draw(random).fitted for _ in range(draws)])
    k = int((1 - confidence) / 2 * (draws + 1) + 1e-9)
    ranks = np.partition(curves, (k - 1, k, draws - k, draws - k + 1), axis=0)
    # The k-th lowest of the others, for the curve of the rows; and that curve is outside where it is below it.
    lower = np.where(curves[0] <= ranks[k - 1], ranks[k], ranks[k - 1])
    upper = np.where(curves[0] >= ranks[draws - k + 1], ranks[draws - k], ranks[draws - k + 1])
    # Likewise for every other curve: fewer than k of the others are as low, or as high, as it is.
    outside = (((curves < ranks[k]) | (curves > ranks[draws - k])) * seen.mass).sum(axis=1)
    rank = int(np.ceil(confidence * (draws + 1) - 1e-9)) - 1
    return ConsistencyBand(
        p=tuple(seen.p.tolist()),
        lower=tuple(lower.tolist()),
        upper=tuple(upper.tolist()),
        confidence=confidence,
        draws=draws,
        outside=float(outside[0]),
        outside_by_chance=float(np.sort(outside)[rank]),
    )
