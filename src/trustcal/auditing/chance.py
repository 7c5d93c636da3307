"""What the rows tell about the population: the tests and intervals of an audit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trustcal.auditing.numbers import Inference
from trustcal.inference import dtc_upper_bound, uncertainties
from trustcal.measures.transport import DtcWitness

LEVEL = 0.95


def inference(
    distance: DtcWitness, shown: Mapping[str, float], cells: int | None, draws: int, rng: np.random.Generator
) -> Inference | None:
    """Tests and intervals of the measures shown, conditional ones on the bins asked for; None without rows or draws.

    O(draws · n log n).
    """
    q = distance.predictor
    if draws == 0 or q.rows is None:
        return None
    entries = uncertainties(q, shown, LEVEL, draws=draws, cells=cells, known=shown, rng=rng)
    return Inference(entries, dtc_upper_bound(distance, LEVEL))
