"""The numbers that clinical readers report, in words for the terminal and the page."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trustcal.inference import ClinicalCalibration, Coefficient

_MISSED: Final = {
    "Calibration slope": "Intercepts and slope, on the log-odds scale, see a shift and a wrong spread, not a bend.",
    "Hosmer–Lemeshow": "Hosmer–Lemeshow depends on its groups, and with many rows rejects what costs nobody anything.",
    "Spiegelhalter": "Spiegelhalter’s test hardly sees errors near 1/2.",
    "ICI": "ICI is above 0 by chance.",
}


def clinical_lines(found: ClinicalCalibration) -> list[tuple[str, str, str]]:
    """Name, number and meaning of each; what could not be estimated is left out."""
    ratio = found.observed_to_expected
    lines = [
        ("Observed/expected", f"{ratio:.3f}" if isfinite(ratio) else "∞", "1 if right on average"),
        ("Calibration in the large", _interval(found.in_the_large), "0 if right on average"),
        ("Calibration intercept", _interval(found.intercept), "with the slope below"),
        ("Calibration slope", _interval(found.slope), "below 1: too extreme"),
        ("ICI", _number(found.ici), "mean distance to curve"),
        ("E50, E90", f"{_number(found.e50)}, {_number(found.e90)}", "median, 90th percentile"),
        ("Hosmer–Lemeshow", _p(found.hosmer_lemeshow), f"in {found.groups} equal groups"),
        ("Spiegelhalter", _p(found.spiegelhalter), "two-sided"),
    ]
    return [line for line in lines if "–" not in line[1].split(", ")]


def what_they_miss(found: ClinicalCalibration) -> str:
    """What the numbers that are shown do not see."""
    shown = {name for name, _, _ in clinical_lines(found)}
    missed = [sentence for name, sentence in _MISSED.items() if name in shown]
    return " ".join(["What they miss:", *missed, "None of them says who loses what: the verdict does."])


def _interval(found: Coefficient | None) -> str:
    return "–" if found is None else f"{found.value:.3f} ({found.lower:.3f} to {found.upper:.3f})".replace("-", "−")


def _number(found: float | None) -> str:
    return "–" if found is None else f"{found:.4f}"


def _p(found: float | None) -> str:
    """A p-value that was not simulated."""
    return "–" if found is None else "p < 0.0001" if found < 0.0001 else f"p = {found:.2g}"
