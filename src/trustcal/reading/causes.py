"""What is probably wrong with rows at fault, and the remedy that fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.faults import Faults

FloatArray = NDArray[np.float64]

_NEAR = 0.01
"""A prediction this close to [0, 1] is a probability with rounding errors."""
_CLEARLY_PERCENT = 2
"""Below it, the greatest prediction may as well be a slip or a score."""


def likely_cause(faults: Faults, p: FloatArray, y: FloatArray, said: Sequence[str | None]) -> str:
    """A sentence on the cause and its remedy; empty if none is likely.

    Parameters
    ----------
    faults : what is wrong with how many rows.
    p, y : the least and the greatest predictions and outcomes among these rows, where they are numbers.
    said : the first predictions, as the file has them.

    >>> likely_cause(Faults(above=2), np.array([20.0, 63.7]), np.array([0.0, 1.0]), ["63.7", "20"])
    'The predictions look like percentages: divide them by 100.'
    """
    texts = [text.strip() for text in said if text is not None]
    if faults.text and texts:
        if all(re.fullmatch(r"[-+]?\d+([.,]\d+)? ?%", text) for text in texts):
            return "The predictions have a percent sign: remove it, and divide by 100."
        if all(re.fullmatch(r"[-+]?\d*,\d+", text) for text in texts):
            return "The predictions have a decimal comma: write 0.5 for 0,5."
    p, y = p[np.isfinite(p)], y[np.isfinite(y)]
    if (faults.below or faults.above) and len(p):
        low, high = float(p.min()), float(p.max())
        if low >= -_NEAR and high <= 1 + _NEAR:
            return "The predictions are outside [0, 1] by rounding errors only: cut them off at 0 and 1."
        if faults.below:
            return "The predictions look like log odds (logits) or scores: turn log odds x into 1/(1 + exp(−x))."
        if high > 100:
            return "The predictions look like scores: turn them into probabilities."
        if high >= _CLEARLY_PERCENT:
            return "The predictions look like percentages: divide them by 100."
    if faults.outcome and len(y):
        others = set(np.unique(y[(y != 0) & (y != 1)]).tolist())
        if others == {-1.0}:
            return "The outcomes look like −1 and 1: say positive=1 (--positive 1)."
        if others == {2.0}:
            return "The outcomes look like 1 and 2: name the positive one, as in positive=2 (--positive 2)."
    return ""
