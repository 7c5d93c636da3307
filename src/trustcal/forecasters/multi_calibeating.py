"""Multi-calibeating: as good as the best of several scores, each relabelled in hindsight."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Self, final

from trustcal.checking import checked_count, checked_outcome
from trustcal.forecasters.online_recalibration import Calibeating
from trustcal.guarantees import Bound
from trustcal.states import damage_refused, loaded, saved

_STATE_VERSION = 1


@final
class MultiCalibeating:
    """Calibeats several scores at once: each is calibeaten alone, and the results are aggregated (Theorem O.10).

    The Brier score exceeds the refinement of the best of K scores on bins, chosen in hindsight, by at most
    N·(1 + ln(T/N))/T + ln K/(2T), N the number of bins, or T if that is less.  Aggregation is Vovk's for the square
    loss: with weights w_k ∝ exp(−2·past loss),

        g(y) = −½·ln Σ w_k·exp(−2(p_k − y)²),   announce (1 + g(0) − g(1))/2

    O(K) per round; (2N + 1)K numbers.

    Parameters
    ----------
    scores : int
        K, the number of scores, at least 2.
    cells : int, default 10
        N, the number of bins of each score.

    References
    ----------
    Foster and Hart, *"Calibeating": beating forecasters at their own game* (2023); Chen, Huang, Jordan and Luo,
    *Calibeating made simple* (2026), show that this combination is optimal.  Vovk, *Competitive on-line statistics*
    (2001), has the aggregation.

    Examples
    --------
    >>> beat = MultiCalibeating(2, cells=4)
    >>> for i in range(200):
    ...     beat.learn_one((0.9, i % 2 / 2), i % 2)                     # the first score is blind, the second sees all
    >>> round(beat.transform_one((0.9, 0.5)), 3), round(beat.transform_one((0.9, 0.0)), 3)
    (1.0, 0.0)
    """

    rounds: int = 0
    """Number of outcomes learnt."""

    def __init__(self, scores: int, *, cells: int = 10) -> None:
        self.scores = checked_count("scores", scores, least=2)
        self._alone = [Calibeating(cells=cells) for _ in range(self.scores)]
        self.cells = self._alone[0].cells
        self._losses = [0.0] * self.scores  # the sum of squared errors of each calibeaten score

    def __repr__(self) -> str:
        return f"MultiCalibeating({self.scores}, cells={self.cells}, rounds={self.rounds})"

    def transform_one(self, q: Sequence[float]) -> float:
        """The aggregate of the calibeaten scores; the state does not change."""
        said, least = self._said(q), min(self._losses)
        weights = [exp(2 * (least - loss)) for loss in self._losses]
        zero, one = (
            sum(weight * exp(-2 * (p - y) ** 2) for weight, p in zip(weights, said, strict=True)) for y in (0, 1)
        )
        return min(max(0.5 + log(one / zero) / 4, 0.0), 1.0)

    def learn_one(self, q: Sequence[float], y: float) -> None:
        """Learn the outcome of the scores."""
        outcome, said = checked_outcome(y), self._said(q)
        for place, (model, score) in enumerate(zip(self._alone, q, strict=True)):
            self._losses[place] += (said[place] - outcome) ** 2
            model.learn_one(score, outcome)
        self.rounds += 1

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """A bound on the excess of the Brier score over the best refinement of a score, and so on the regret."""
        (alone,) = self._alone[0].guarantee(horizon)
        return (Bound("Brier regret", alone.value + log(self.scores) / (2 * horizon), "Theorem O.10", True),)

    def to_json(self) -> str:
        """The state; what `from_json` makes of it continues bit for bit."""
        fields = {"models": [model.to_json() for model in self._alone], "losses": self._losses, "rounds": self.rounds}
        return saved("MultiCalibeating", _STATE_VERSION, fields)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The forecaster that `to_json` saved."""
        state = loaded(text, "MultiCalibeating", _STATE_VERSION, ("models", "losses", "rounds"))
        models = [Calibeating.from_json(model) for model in state["models"]]
        losses = [float(loss) for loss in state["losses"]]
        rounds = checked_count("rounds", state["rounds"], least=0)
        alike = len({model.cells for model in models}) == 1 and all(model.rounds == rounds for model in models)
        if len(losses) != len(models) or not alike or not all(0 <= loss <= rounds for loss in losses):
            raise ValueError("the state is inconsistent. It must be the text that MultiCalibeating.to_json returned.")
        beat = cls(len(models), cells=models[0].cells)
        beat._alone, beat._losses, beat.rounds = models, losses, rounds
        return beat

    def _said(self, q: Sequence[float]) -> list[float]:
        if len(q) != self.scores:
            raise ValueError(f"{self.scores} scores are needed in every round, not {len(q)}.")
        return [model.transform_one(score) for model, score in zip(self._alone, q, strict=True)]
