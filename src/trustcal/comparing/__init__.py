"""Models side by side on the same rows: who is better for whom."""

from trustcal.comparing.models import compare
from trustcal.comparing.numbers import ModelComparison, ModelPair, ModelScores, PairedDifference

__all__ = ["ModelComparison", "ModelPair", "ModelScores", "PairedDifference", "compare"]
