"""What chance alone would show: intervals, floors and p-values for the numbers of an audit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trustcal.auditing.numbers import Inference, Uncertainty
from trustcal.inference import dtc_upper_bound, inferences
from trustcal.predictor import Predictor

LEVEL = 0.95


def inference(
    q: Predictor, shown: Mapping[str, float], cells: int | None, draws: int, rng: np.random.Generator
) -> Inference:
    """Intervals, floors and p-values of what the audit shows of rows, ECE and CDL on the cells that were asked for.

    O(draws · n log n).
    """
    entries, note = [], ""
    for test, interval in inferences(q, shown, LEVEL, draws=draws, cells=cells, rng=rng):
        note = test.note
        entries.append(
            Uncertainty(
                measure=test.statistic,
                value=shown[test.statistic],
                lower=interval.lower,
                upper=interval.upper,
                floor=test.floor.mean,
                floor_upper=test.floor.quantile_95,
                p_value=test.p_value,
            )
        )
    return Inference(LEVEL, draws, tuple(entries), dtc_upper_bound(q, LEVEL).upper, note)
