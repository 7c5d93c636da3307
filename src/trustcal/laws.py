"""Law: what the decision measures need of a joint law that is not on finitely many values."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


@runtime_checkable
class Law(Protocol):
    """A joint law of prediction and outcome on more than finitely many values, such as a predictor after noise.

    It brings its own exact `ece`, `cdl` and loss profile; the other measures need finitely many values.
    """

    def ece(self) -> float:
        """Expected calibration error."""

    def cdl(self) -> float:
        """Calibration decision loss."""

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R at thresholds mu."""
