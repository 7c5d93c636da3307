"""The known rates of the two games: upper bounds that some method attains, and lower bounds for every method."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Literal, final


@final
@dataclass(frozen=True)
class KnownRate:
    """Errors of order T^exponent are attained (≤), or cannot be beaten (≥); the constant is 1 if none is known.

    >>> print(KnownRate("dtc", -1 / 2, "≤", "Theorem O.1"))
    T^-0.5 ≤ (Theorem O.1)
    """

    measure: str
    """Its key among the errors of a game."""
    exponent: float
    side: Literal["≤", "≥"]
    source: str
    constant: float = 1.0

    def __str__(self) -> str:
        return f"T^{self.exponent:.3g} {self.side} ({self.source})"


FORECASTING = (
    KnownRate("dtc", -1 / 2, "≤", "elementary predictor, Theorem O.1"),
    KnownRate("dtc", -2 / 3, "≥", "Qiao and Zheng 2024"),
    KnownRate("ece", -1 / 4, "≤", "elementary predictor and noise, Theorem 4.1"),
    KnownRate("ece", -1 / 3, "≤", "Foster 1999, Theorem O.2"),
    KnownRate("ece", -1 / 3, "≤", "T^(−1/3 − c) for some c > 0: Dagan et al. 2025"),
    KnownRate("ece", -0.456, "≥", "Dagan et al. 2025"),
    KnownRate("ece", -0.472, "≥", "Qiao and Valiant 2021"),
    KnownRate("cdl", -1 / 4, "≤", "elementary predictor and noise, Theorem 19"),
    KnownRate("cdl", -1 / 2, "≤", "up to log T: Hu and Wu 2024, Theorem O.3"),
    KnownRate("cdl", -1 / 2, "≥", "a fair coin, Theorem O.7", 1 / sqrt(2 * pi)),
    KnownRate("smcal", -1 / 2, "≤", "elementary predictor, Theorem O.1"),
    KnownRate("ucal", -1 / 2, "≤", "at most CDL, up to log T: Hu and Wu 2024, Theorem O.3"),
    KnownRate("stepcal", -1 / 2, "≤", "up to √log T: Qiao and Zhao 2025, Theorem O.9"),
    KnownRate("ucal", -1 / 2, "≥", "a fair coin, Theorem O.7", 1 / sqrt(2 * pi)),
    KnownRate("brier_regret", -1, "≤", "up to log T: Theorems O.8 and O.11"),
    KnownRate("brier_regret", -1, "≥", "a fair coin, Theorem O.11", 1 / 4),
)
"""Forecasters that see past outcomes."""

POST_PROCESSING = (
    KnownRate("ece", -1 / 4, "≤", "random rounding, Theorem 19", 2.0),
    KnownRate("ece", -1 / 4, "≥", "Theorem 21, sharpening Theorem 4.4", sqrt(2) / 4),
    KnownRate("cdl", -1 / 4, "≤", "random rounding, Theorem 19", 2.0),
    KnownRate("cdl", -1 / 4, "≥", "Theorem 21, correcting Theorem 4.4", sqrt(2) / 4),
)
"""Post-processors that see no outcomes, for predictions within T^(−1/2) of calibration; to first order."""
