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
_SYSTEMATIC = 0.25
"""Log odds are mostly outside [0, 1]; fewer such predictions than this share are slips."""
_CLEARLY_PERCENT = 2
"""Below it, the greatest prediction may as well be a slip or a score."""


def likely_cause(
    faults: Faults, rows: int, p: FloatArray, y: FloatArray, said: Sequence[str | None]
) -> tuple[str, int]:
    """A sentence on the cause and its remedy, empty if none is likely; and how many rows it speaks against leaving out.

    Parameters
    ----------
    faults : what is wrong with how many rows.
    rows : how many there are, valid or not.
    p : the least and the greatest predictions among the rows at fault, where they are numbers, or all predictions.
    y : the least and the greatest outcomes among these, where they are numbers, and the outcomes of the other rows.
    said : the first predictions at fault, as a file has them.

    >>> likely_cause(Faults(above=2), 3, np.array([20.0, 63.7]), np.array([0.0, 1.0]), ["63.7", "20"])
    ('The predictions look like percentages: divide them by 100.', 2)
    """
    unread = _of_texts(said) if faults.text else ""
    if unread:
        return unread, faults.text
    numbers = rows - faults.missing - faults.nan - faults.text
    outside = _of_predictions(faults, numbers, p[np.isfinite(p)])
    if outside:
        return outside, faults.below + faults.above
    labels = set(y[np.isfinite(y)].tolist())
    if not faults.outcome or not labels - {0.0, 1.0}:
        return "", 0
    if len(labels) > 2:  # one may stand for an unknown outcome: such rows may be left out
        return "The outcomes have more than two labels: recode them as 0 and 1.", 0
    two = _of_labels(labels)
    return two, faults.outcome if two else 0


def _of_texts(said: Sequence[str | None]) -> str:
    texts = [text.strip() for text in said if text is not None]
    if texts and all(re.fullmatch(r"[-+]?\d+([.,]\d+)? ?%", text) for text in texts):
        return "The predictions have a percent sign: remove it, and divide by 100."
    if texts and all(re.fullmatch(r"[-+]?\d*,\d+", text) for text in texts):
        return "The predictions have a decimal comma: write 0.5 for 0,5."
    return ""


def _of_predictions(faults: Faults, numbers: int, p: FloatArray) -> str:
    if not (faults.below or faults.above) or not len(p) or not ((p < 0) | (p > 1)).any():
        return ""  # those outside may be infinite
    low, high = float(p.min()), float(p.max())
    if low >= -_NEAR and high <= 1 + _NEAR:
        return "The predictions are outside [0, 1] by rounding errors only: cut them off at 0 and 1."
    if faults.below and (faults.below + faults.above) / numbers >= _SYSTEMATIC:
        return "The predictions look like log odds (logits) or scores: turn log odds x into 1/(1 + exp(−x))."
    if faults.below or 2 * faults.above <= numbers or high < _CLEARLY_PERCENT:
        return ""
    if high > 100:
        return "The predictions look like scores: turn them into probabilities."
    return "The predictions look like percentages: divide them by 100."


def _of_labels(labels: set[float]) -> str:
    if labels - {1.0} == {-1.0}:
        return "The outcomes look like −1 and 1: say positive=1 (--positive 1)."
    if labels - {1.0} == {2.0}:
        return "The outcomes look like 1 and 2: name the positive one, as in positive=2 (--positive 2)."
    return ""
