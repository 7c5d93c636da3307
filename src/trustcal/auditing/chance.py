"""What chance alone would show: intervals, floors and p-values for the numbers of an audit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trustcal.auditing.numbers import Inference
from trustcal.inference import dtc_upper_bound, uncertainties
from trustcal.measures.transport import DtcWitness

LEVEL = 0.95


def inference(
    distance: DtcWitness, shown: Mapping[str, float], cells: int | None, draws: int, rng: np.random.Generator
) -> Inference:
    """Intervals, floors and p-values of the measures that the audit shows, ECE and CDL on the bins asked for.

    O(draws · n log n).
    """
    entries = uncertainties(distance.predictor, shown, LEVEL, draws=draws, cells=cells, known=shown, rng=rng)
    return Inference(LEVEL, draws, entries, dtc_upper_bound(distance, LEVEL).upper, entries[0].test.note)
