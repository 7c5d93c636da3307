"""Exact numbers, derived independently of this package: predictors with known answers, and more."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from trustcal import Predictor

REFERENCE: dict[str, Any] = json.loads((Path(__file__).parent / "reference_values.json").read_text())
FINITE_PREDICTORS: list[dict[str, Any]] = REFERENCE["finite_predictors"]


def law(atoms: list[list[str]]) -> Predictor:
    """Exact atoms [p, Pr[p, y=0], Pr[p, y=1]] as a predictor."""
    p, w0, w1 = zip(*sorted([Fraction(number) for number in atom] for atom in atoms), strict=True)
    mass = [float(a + b) for a, b in zip(w0, w1, strict=True)]
    return Predictor([float(v) for v in p], mass, [float(w) for w in w1])
