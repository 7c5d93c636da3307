"""Where predictions live: frames, files and engines to predictors; payoff tables to decision problems."""

from trustcal.sources.payoffs import read_payoff
from trustcal.sources.reading import read

__all__ = ["read", "read_payoff"]
