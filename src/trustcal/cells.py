"""The grid of the paper's online algorithm (Section 4, corrected): m cells [i/m, (i+1)/m), the last one closed."""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np

from trustcal.kernels import FloatArray

End = Literal["left", "middle"]
"""What is announced for a cell: its left end i/m, as in the paper, or its middle (i + 1/2)/m."""
ENDS: Final = get_args(End)


def announced(p: FloatArray, cells: int, end: End) -> FloatArray:
    """What is announced for each value.  O(1) per value."""
    index = np.minimum(np.floor(p * cells), cells - 1)
    index += (index + 1 < cells) & (p >= (index + 1) / cells)  # cells · p was rounded: 0.29 · 100 < 29
    index -= p < index / cells
    return _announcement(index, cells, end)


def cell_of(p: float, cells: int) -> int:
    """The cell of one value, without arrays.  O(1).

    >>> cell_of(0.29, 100), cell_of(1.0, 100)
    (29, 99)
    """
    index = min(int(p * cells), cells - 1)
    if index + 1 < cells and p >= (index + 1) / cells:  # cells · p was rounded: 0.29 · 100 < 29
        return index + 1
    return index - (p < index / cells)


def announcements(cells: int, end: End) -> FloatArray:
    """What is announced for each cell, in order."""
    return _announcement(np.arange(cells, dtype=np.float64), cells, end)


def announcing_error(cells: int, end: End) -> float:
    """The most by which announcing moves a value: 1/m, or half of it with middles."""
    return (1.0 if end == "left" else 0.5) / cells


def cells_for(horizon: int) -> int:
    """⌈T^(1/3)⌉, exactly: the number of cells for T rounds, for which Theorem 4.1 holds (⌊·⌋ is not enough).

    >>> cells_for(26), cells_for(27), cells_for(28)
    (3, 3, 4)
    """
    root: int = max(1, round(float(horizon) ** (1 / 3)))
    while root**3 < horizon:
        root += 1
    while (root - 1) ** 3 >= horizon:
        root -= 1
    return root


def _announcement(index: FloatArray, cells: int, end: End) -> FloatArray:
    return np.asarray(index / cells if end == "left" else (index + 0.5) / cells)
