"""The sampling floor: what a measure shows of a perfectly calibrated predictor, just because rows are finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count
from trustcal.inference.rows import Design
from trustcal.inference.simulation import checked_statistics, drawn_values
from trustcal.measures.table import MEASURES
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Floor:
    """What a statistic would show if the predictions were right: a value below the quantile is no news."""

    statistic: str
    mean: float
    quantile_95: float
    """A calibrated predictor shows more with probability at most 1/20; with fewer than 19 draws, 1/(draws + 1)."""
    draws: int
    cells: int | None
    """ECE and CDL: taken on so many cells of equal mass; None: on values as they are."""
    note: str
    """What was pooled or approximated; empty where nothing was."""


def sampling_floor(
    q: Predictor,
    statistic: str,
    *,
    draws: int = 200,
    cells: int | None = None,
    rng: np.random.Generator | int,
) -> Floor:
    """What a measure would show of a perfectly calibrated predictor with q's predictions and as many rows.

    Outcomes are drawn anew, y ~ Bernoulli(p) for every row, and measured.  The mean of ECE on single values needs no
    draws (`ece_floor`).  Cells are as in `calibration_tests`.  The same seed gives the same bits.

    >>> q = Predictor.from_samples([0, 1, 1, 1] * 10, [0.5, 0.5, 0.75, 0.75] * 10)
    >>> floor = sampling_floor(q, "ece", rng=0)
    >>> round(floor.mean, 6), floor.quantile_95
    (0.081986, 0.175)

    O(draws · n log n).
    """
    (statistic,) = checked_statistics([statistic])
    design = Design.of(q, cells)
    shown = drawn_values(design, design.calibrated_draw, (statistic,), checked_count("draws", draws), rng)[:, 0]
    return floor_of(design, statistic, shown)


def floor_of(design: Design, statistic: str, shown: FloatArray) -> Floor:
    """The floor, from what calibrated draws showed."""
    conditional = MEASURES[statistic].conditional
    exact = statistic == "ece" and design.cells is None and design.fine is None
    return Floor(
        statistic,
        ece_floor(design) if exact else float(shown.mean()),
        _quantile_95(shown),
        len(shown),
        design.occupied if conditional else None,
        design.note,
    )


def _quantile_95(shown: FloatArray) -> float:
    """The ⌈0.95·(D + 1)⌉-th smallest of D draws, or the largest.

    One more draw is equally likely to have any rank among the D + 1, so it is larger with probability at most 1/20.
    """
    rank = min(-(-19 * (len(shown) + 1) // 20), len(shown))
    return float(np.partition(shown, rank - 1)[rank - 1])


def ece_floor(design: Design) -> float:
    """The mean ECE of a calibrated predictor, in closed form.

    A value of mass w with k rows adds w·E|K/k − p|, K binomial, and by De Moivre, with m = ⌊kp⌋ + 1,

        E|K − kp| = 2m·(1 − p)·Pr[K = m] = 2·kp·(1 − p)·Pr[K' = m − 1],   K' binomial with k − 1 rows.

    O(n).
    """
    from scipy.stats import binom

    p, k = design.observed.p, design.counts
    deviation = 2 * p * (1 - p) * binom.pmf(np.floor(k * p), k - 1, p)
    return float((design.observed.mass * deviation).sum())
