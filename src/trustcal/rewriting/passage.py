"""The rows of a file on their way through a post-processor, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.columns import place_of
from trustcal.rewriting.drawing import REMEDY

FloatArray = NDArray[np.float64]
IdArray = NDArray[Any]
Draw = Callable[[FloatArray, IdArray], FloatArray]
"""The next block of predictions and its row ids to the next block of safe predictions."""
Progress = Callable[[int, int], None]
"""Told how many rows are done, and of how many."""


@final
@dataclass
class Passage:
    """Blocks of rows in their order.  From the first bad prediction on nothing is drawn; bad rows are only counted."""

    file: Path
    prediction: str
    draw: Draw
    into: str
    row_id: str | None
    outcome: str | None
    """A column that must be there too."""
    progress: Progress | None
    rows: int = field(default=0, init=False)
    bad: int = field(default=0, init=False)
    first_bad: str = field(default="", init=False)

    def places(self, names: Sequence[str]) -> tuple[int, int | None]:
        """Where the prediction and the row id stand among the columns, or a refusal."""
        if self.into in names:
            raise ValueError(f"{self.file} already has a column {self.into!r}: choose another name for the new one.")
        p = place_of(self.prediction, names, str(self.file))
        if self.outcome is not None:
            place_of(self.outcome, names, str(self.file))
        return p, None if self.row_id is None else place_of(self.row_id, names, str(self.file))

    def drawn(self, prediction: FloatArray, ids: IdArray | None, shown: Callable[[int], str]) -> FloatArray | None:
        """The safe predictions of the next block, or None from the first bad row on.  `shown` says what is in a row."""
        positions = np.arange(self.rows, self.rows + len(prediction))
        bad = ~((prediction >= 0) & (prediction <= 1))
        if bad.any():
            if not self.bad:
                first = int(np.argmax(bad))
                self.first_bad = f"row {positions[first]} (from 0), where it is {shown(first) or 'missing'}"
            self.bad += int(bad.sum())
        self.rows += len(prediction)
        if self.bad:
            return None
        safe = np.asarray(self.draw(prediction, positions if ids is None else ids), dtype=np.float64)
        if safe.shape != prediction.shape:
            raise ValueError(f"draw must give one value per row, but gave shape {safe.shape} for {prediction.shape}.")
        return safe

    def missing_id(self, index: int) -> ValueError:
        """The error for a row of the next block that has no row id."""
        return ValueError(
            f"{self.file}: column {self.row_id!r} must hold a row id, an integer or a text, in every row, but row "
            f"{self.rows + index} (from 0) has none. Fill them in, or leave the row id out to go by position."
        )

    def report(self, total: int) -> None:
        """Tell how far it is."""
        if self.progress is not None:
            self.progress(self.rows, max(total, self.rows))

    def finish(self) -> None:
        """Refuse bad rows, now that all are counted."""
        if self.bad:
            raise ValueError(
                f"{self.file}: column {self.prediction!r} must hold probabilities in [0, 1]: {self.bad} of {self.rows} "
                f"rows break this, the first is {self.first_bad}. {REMEDY}"
            )
        self.report(self.rows)
