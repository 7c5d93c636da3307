"""Online recalibrators of a given score: transform_one(q), then learn_one(q, y)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import exp, log, log1p
from typing import Self, final

import numpy as np

from trustcal.cells import cell_of
from trustcal.checking import checked_cells, checked_count, checked_outcome, checked_prediction
from trustcal.forecasters.forecaster import revived
from trustcal.guarantees import Bound
from trustcal.states import damage_refused, loaded, saved

_STATE_VERSION = 1


class Recalibrator(ABC):
    """Maps a score to a better probability, and learns from outcomes, which may arrive late."""

    rounds: int = 0
    """Number of outcomes learnt."""

    @abstractmethod
    def transform_one(self, q: float) -> float:
        """The recalibrated score; the state does not change."""

    @abstractmethod
    def learn_one(self, q: float, y: float) -> None:
        """Learn the outcome of a score."""

    @abstractmethod
    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """What is proved of the first `horizon` rounds, if each outcome is learnt before the next score."""

    @abstractmethod
    def to_json(self) -> str:
        """The state; the recalibrator that `from_json` makes of it continues bit for bit."""

    @classmethod
    @abstractmethod
    def from_json(cls, text: str) -> Self:
        """The recalibrator that `to_json` saved."""


@final
class OnlinePlatt(Recalibrator):
    """Online Platt scaling: p = σ(a·logit(q) + b), with (a, b) by online Newton steps on the log loss.

        g = (p − y)·(x, 1);   H += g·gᵀ;   (a, b) −= 10·H⁻¹·g;   initially H = 100·I and (a, b) = (1, 0)

    Scores are clipped to [0.01, 0.99], and (a, b) to the ball of radius 100.  The constants are those of the authors'
    code; their regret bound needs others, so none is claimed here.  O(1) per round; five floats.

    References
    ----------
    Gupta and Ramdas, *Online Platt scaling with calibeating* (2023).

    Examples
    --------
    >>> platt = OnlinePlatt()
    >>> round(platt.transform_one(0.7), 12)
    0.7
    >>> for _ in range(100):
    ...     platt.learn_one(0.7, 0)
    >>> platt.transform_one(0.7) < 0.1
    True
    """

    def __init__(self) -> None:
        self.slope, self.offset = 1.0, 0.0
        self.inverse = [0.01, 0.0, 0.01]
        """H⁻¹: its entries (0, 0), (0, 1) and (1, 1)."""

    def __repr__(self) -> str:
        return f"OnlinePlatt(slope={self.slope:.4g}, offset={self.offset:.4g}, rounds={self.rounds})"

    def transform_one(self, q: float) -> float:
        """The score, rescaled on the logit scale."""
        return _sigmoid(self.slope * _logit(q) + self.offset)

    def learn_one(self, q: float, y: float) -> None:
        """One Newton step; H⁻¹ is updated by the Sherman–Morrison formula."""
        outcome, x = checked_outcome(y), _logit(q)
        error = _sigmoid(self.slope * x + self.offset) - outcome
        g0, g1 = error * x, error
        a, b, c = self.inverse
        h0, h1 = a * g0 + b * g1, b * g0 + c * g1
        scale = 1 + g0 * h0 + g1 * h1
        self.inverse = [a - h0 * h0 / scale, b - h0 * h1 / scale, c - h1 * h1 / scale]
        self.slope -= 10 * h0 / scale  # the new H⁻¹·g is the old one over the scale
        self.offset -= 10 * h1 / scale
        size = max(1.0, (self.slope**2 + self.offset**2) ** 0.5 / 100)
        self.slope, self.offset = self.slope / size, self.offset / size
        self.rounds += 1

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """Nothing is proved with these constants."""
        checked_count("horizon", horizon)
        return ()

    def to_json(self) -> str:
        """The state; the recalibrator that `from_json` makes of it continues bit for bit."""
        fields = {"slope": self.slope, "offset": self.offset, "inverse": self.inverse, "rounds": self.rounds}
        return saved("OnlinePlatt", _STATE_VERSION, fields)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The recalibrator that `to_json` saved."""
        state = loaded(text, "OnlinePlatt", _STATE_VERSION, ("slope", "offset", "inverse", "rounds"))
        platt = cls()
        numbers = np.array([state["slope"], state["offset"], *state["inverse"]], dtype=np.float64)
        if numbers.shape != (5,) or not (np.abs(numbers) <= _LARGEST).all():
            raise ValueError("the state's numbers are impossible. It must be what OnlinePlatt.to_json returned.")
        platt.slope, platt.offset, *platt.inverse = numbers.tolist()
        platt.rounds = checked_count("rounds", state["rounds"], least=0)
        return platt


@final
class Calibeating(Recalibrator):
    """Calibeating: the frequency of ones so far among rounds with a score in the same bin (Theorem O.6).

    As sharp as the score, and nearly calibrated: the Brier score exceeds the score's refinement, the best that any
    relabelling of the bins could have achieved in hindsight, by at most N·(1 + ln(T/N))/T, N the number of
    bins, or T if that is less.  O(1) per round; 2N integers.

    Parameters
    ----------
    model : Recalibrator, optional
        Transforms the score before it is binned: Calibeating(OnlinePlatt()) is Gupta and Ramdas's TOPS.
    cells : int, default 10
        N, the number of bins of equal width.

    References
    ----------
    Foster and Hart, *"Calibeating": beating forecasters at their own game* (2023).

    Examples
    --------
    >>> beat = Calibeating(cells=10)
    >>> for y in (1, 0, 1, 1):
    ...     beat.learn_one(0.31, y)
    >>> beat.transform_one(0.39), beat.transform_one(0.41)
    (0.75, 0.45)
    """

    def __init__(self, model: Recalibrator | None = None, *, cells: int = 10) -> None:
        if model is not None and not isinstance(model, Recalibrator):
            raise ValueError(f"model must be a recalibrator, such as OnlinePlatt(), or None, not {model!r}.")
        self.model = model
        self.n = [0] * checked_cells(cells)
        self.s = [0] * len(self.n)

    @property
    def cells(self) -> int:
        """N, the number of bins."""
        return len(self.n)

    def __repr__(self) -> str:
        return f"Calibeating({self.model!r}, cells={self.cells}, rounds={self.rounds})"

    def transform_one(self, q: float) -> float:
        """The frequency in the bin of the score; its midpoint if no score has fallen there."""
        i = self._cell(q)
        return self.s[i] / self.n[i] if self.n[i] else (i + 0.5) / self.cells

    def learn_one(self, q: float, y: float) -> None:
        """Count the outcome in the bin of the score, then let the model learn it."""
        outcome, i = checked_outcome(y), self._cell(q)
        self.n[i] += 1
        self.s[i] += outcome
        if self.model is not None:
            self.model.learn_one(q, outcome)
        self.rounds += 1

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """A bound on the excess of the Brier score over the refinement of the bins, and so on the Brier regret."""
        after = checked_count("horizon", horizon)
        used = min(self.cells, after)
        return (Bound("Brier regret", used * (1 + log(after / used)) / after, "Theorem O.6", True),)

    def to_json(self) -> str:
        """The state; the recalibrator that `from_json` makes of it continues bit for bit."""
        model = None if self.model is None else self.model.to_json()
        return saved("Calibeating", _STATE_VERSION, {"model": model, "n": self.n, "s": self.s, "rounds": self.rounds})

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The recalibrator that `to_json` saved."""
        state = loaded(text, "Calibeating", _STATE_VERSION, ("model", "n", "s", "rounds"))
        n = [checked_count("n", count, least=0) for count in state["n"]]
        s = [checked_count("s", count, least=0) for count in state["s"]]
        if len(n) != len(s) or any(ones > all_ for ones, all_ in zip(s, n, strict=False)):
            raise ValueError("the state's counts are inconsistent. It must be what Calibeating.to_json returned.")
        beat = cls(None if state["model"] is None else revived(state["model"], Recalibrator), cells=len(n))
        beat.n, beat.s, beat.rounds = n, s, checked_count("rounds", state["rounds"], least=0)
        return beat

    def _cell(self, q: float) -> int:
        return cell_of(checked_prediction(q) if self.model is None else self.model.transform_one(q), self.cells)


_LARGEST = 1e6
"""No number of a state is larger: parameters stay within a ball of radius 100, and the inverse shrinks."""


def _logit(q: float) -> float:
    clipped = min(max(checked_prediction(q), 0.01), 0.99)
    return log(clipped) - log1p(-clipped)


def _sigmoid(z: float) -> float:
    return 1 / (1 + exp(-z)) if z >= 0 else exp(z) / (1 + exp(z))
