"""Law: the protocol of joint distributions that are not on finitely many values."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from trustcal.kernels import FloatArray


@runtime_checkable
class Law(Protocol):
    """A joint distribution of prediction and outcome on infinitely many values, such as a predictor after noise.

    It computes its own exact `ece`, `cdl` and loss profile; the other measures need finitely many values.
    """

    def ece(self) -> float:
        """Expected calibration error."""

    def cdl(self) -> float:
        """Calibration decision loss."""

    def profile(self, mu: ArrayLike) -> FloatArray:
        """The swap regret R(μ) at thresholds."""
