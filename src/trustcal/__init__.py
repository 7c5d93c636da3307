"""trustcal: how far are these probabilities from trustworthy, and what does it cost to believe them?"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustcal import estimators, forecasters, guarantees, inference, paper
    from trustcal.auditing import Audit, audit
    from trustcal.decisions import DecisionProblem, threshold, umbrella
    from trustcal.measures.continuous import smcal, smcal_witness, ssce, ssce_estimate
    from trustcal.measures.decision import (
        cdl,
        cdl_witness,
        decision_loss,
        decision_loss_witness,
        distance,
        ece,
        ucal,
    )
    from trustcal.measures.kernel_smoothing import smece, smece_curve
    from trustcal.measures.rounding import rounding_effect
    from trustcal.measures.scores import auc, brier, log_loss
    from trustcal.measures.transport import dtc, dtc_witness
    from trustcal.monitoring import Monitor
    from trustcal.noise import (
        ClampedGaussian,
        ClampedLaplace,
        RandomRounding,
        TruncatedGaussian,
        TruncatedLaplace,
        UniformNoise,
    )
    from trustcal.predictor import Predictor
    from trustcal.reading import read
    from trustcal.remedies import Comparison, compare
    from trustcal.rewriting.perturbing import perturb_frame
    from trustcal.smoothing import OnlineSmoother, SmoothedPredictor, WorstReference, perturb, smooth, worst_reference

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "ClampedGaussian",
    "ClampedLaplace",
    "Comparison",
    "DecisionProblem",
    "Monitor",
    "OnlineSmoother",
    "Predictor",
    "RandomRounding",
    "SmoothedPredictor",
    "TruncatedGaussian",
    "TruncatedLaplace",
    "UniformNoise",
    "WorstReference",
    "auc",
    "audit",
    "brier",
    "cdl",
    "cdl_witness",
    "compare",
    "decision_loss",
    "decision_loss_witness",
    "distance",
    "dtc",
    "dtc_witness",
    "ece",
    "estimators",
    "forecasters",
    "guarantees",
    "inference",
    "log_loss",
    "paper",
    "perturb",
    "perturb_frame",
    "read",
    "rounding_effect",
    "smcal",
    "smcal_witness",
    "smece",
    "smece_curve",
    "smooth",
    "ssce",
    "ssce_estimate",
    "threshold",
    "ucal",
    "umbrella",
    "worst_reference",
]

# Names are found on first use (PEP 562), so that `trustcal --help` does not wait for numpy.
_ROOM = {
    "Audit": "auditing",
    "ClampedGaussian": "noise",
    "ClampedLaplace": "noise",
    "Comparison": "remedies",
    "DecisionProblem": "decisions",
    "Monitor": "monitoring",
    "OnlineSmoother": "smoothing",
    "Predictor": "predictor",
    "RandomRounding": "noise",
    "SmoothedPredictor": "smoothing",
    "TruncatedGaussian": "noise",
    "TruncatedLaplace": "noise",
    "UniformNoise": "noise",
    "WorstReference": "smoothing",
    "auc": "measures.scores",
    "audit": "auditing",
    "brier": "measures.scores",
    "cdl": "measures.decision",
    "cdl_witness": "measures.decision",
    "compare": "remedies",
    "decision_loss": "measures.decision",
    "decision_loss_witness": "measures.decision",
    "distance": "measures.decision",
    "dtc": "measures.transport",
    "dtc_witness": "measures.transport",
    "ece": "measures.decision",
    "estimators": "estimators",
    "forecasters": "forecasters",
    "guarantees": "guarantees",
    "inference": "inference",
    "log_loss": "measures.scores",
    "paper": "paper",
    "perturb": "smoothing",
    "perturb_frame": "rewriting.perturbing",
    "read": "reading",
    "rounding_effect": "measures.rounding",
    "smcal": "measures.continuous",
    "smcal_witness": "measures.continuous",
    "smece": "measures.kernel_smoothing",
    "smece_curve": "measures.kernel_smoothing",
    "smooth": "smoothing",
    "ssce": "measures.continuous",
    "ssce_estimate": "measures.continuous",
    "threshold": "decisions",
    "ucal": "measures.decision",
    "umbrella": "decisions",
    "worst_reference": "smoothing",
}


def __getattr__(name: str) -> object:
    if name not in _ROOM:
        raise AttributeError(f"module 'trustcal' has no attribute {name!r}")
    room = import_module(f"trustcal.{_ROOM[name]}")
    return room if _ROOM[name] == name else getattr(room, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
