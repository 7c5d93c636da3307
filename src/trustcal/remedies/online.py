"""Remedies for streams: a batch method refitted as outcomes arrive, and recalibrators mixed by their past loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil, exp, log
from typing import Any, Self, final

import numpy as np

from trustcal.checking import checked_count, checked_number, checked_outcome, checked_prediction
from trustcal.forecasters import Calibeating, OnlinePlatt, Recalibrator
from trustcal.guarantees import Bound
from trustcal.predictor import Predictor
from trustcal.remedies.methods import named
from trustcal.remedies.remedy import Remedy, remedy_of_json
from trustcal.states import damage_refused, loaded, saved

_STATE_VERSION = 1
_FIRST = 32
"""The first fit, with intervals that double, is after so many rounds."""
_FORGOTTEN = 2.0**-40
"""With decay, rows of smaller weight than this are dropped."""


@final
class Refitted(Recalibrator):
    """A batch method, fitted again after 32, 64, 128, … rounds, or after every `every` rounds.

    Until both outcomes have been seen at the time of a fit, scores stay as they are.  With intervals that double, T
    rounds cost at most twice the last fit, so O(log T) per round on average; the rows of the window are kept.

    Parameters
    ----------
    method : str, default "Platt"
        A method of `remedies.fit`.
    every : int, optional
        The number of rounds between fits.  Default: intervals that double.
    window : int, optional
        Fit to the last so many rounds.  Default: to all.
    decay : float, optional
        Fit to all rounds, with weights decay^age; those that weigh less than 2^-40 are forgotten.

    Examples
    --------
    >>> refitted = Refitted("Platt", every=50)
    >>> for i in range(100):
    ...     refitted.learn_one(0.9, i % 2)
    >>> round(refitted.transform_one(0.9), 2)
    0.5
    """

    def __init__(
        self,
        method: str = "Platt",
        *,
        every: int | None = None,
        window: int | None = None,
        decay: float | None = None,
    ) -> None:
        if window is not None and decay is not None:
            raise ValueError("give window= or decay=, not both.")
        self.method = named(method)
        self.every = None if every is None else checked_count("every", every)
        self.window = None if window is None else checked_count("window", window, least=2)
        self.decay = decay
        if decay is not None:
            self.decay = checked_number("decay", decay, 0, 1, "()", rule="lie between 0 and 1, such as 0.999")
            self.window = max(2, ceil(log(_FORGOTTEN) / log(self.decay)))
        self.remedy: Remedy | None = None
        self.scores: list[float] = []
        self.outcomes: list[int] = []

    def __repr__(self) -> str:
        kept = f"window={self.window}" if self.decay is None else f"decay={self.decay}"
        return f"Refitted({self.method.name!r}, every={self.every}, {kept}, rounds={self.rounds})"

    def transform_one(self, q: float) -> float:
        """The score after the remedy fitted last."""
        score = checked_prediction(q)
        return score if self.remedy is None else float(self.remedy.apply([score])[0])

    def learn_one(self, q: float, y: float) -> None:
        """Keep the row, and fit again if it is time."""
        self.scores.append(checked_prediction(q))
        self.outcomes.append(checked_outcome(y))
        self.rounds += 1
        if self.window is not None and len(self.scores) > 2 * self.window:  # cut seldom, so that it costs O(1)
            del self.scores[: -self.window], self.outcomes[: -self.window]
        if self._due():
            last = slice(None if self.window is None else -self.window, None)
            scores, outcomes = self.scores[last], self.outcomes[last]
            weight = None if self.decay is None else self.decay ** np.arange(len(scores) - 1.0, -1.0, -1.0)
            if 0 < sum(outcomes) < len(outcomes):
                self.remedy = self.method.fit(Predictor.from_samples(outcomes, scores, weight))

    def _due(self) -> bool:
        if self.every is not None:
            return self.rounds % self.every == 0
        return self.rounds >= _FIRST and self.rounds & (self.rounds - 1) == 0

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """Nothing is proved for outcomes that may be chosen by an adversary."""
        checked_count("horizon", horizon)
        return ()

    def to_json(self) -> str:
        """The state; the recalibrator that `from_json` makes of it continues bit for bit."""
        state = {
            "method": self.method.name,
            "every": self.every,
            "window": self.window if self.decay is None else None,
            "decay": self.decay,
            "remedy": None if self.remedy is None else self.remedy.to_json(),
            "scores": self.scores,
            "outcomes": self.outcomes,
            "rounds": self.rounds,
        }
        return saved("Refitted", _STATE_VERSION, state)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The recalibrator that `to_json` saved."""
        names = ("method", "every", "window", "decay", "remedy", "scores", "outcomes", "rounds")
        state = loaded(text, "Refitted", _STATE_VERSION, names)
        made = cls(state["method"], every=state["every"], window=state["window"], decay=state["decay"])
        made.remedy = None if state["remedy"] is None else remedy_of_json(state["remedy"])
        made.scores = [checked_prediction(score) for score in state["scores"]]
        made.outcomes = [checked_outcome(outcome) for outcome in state["outcomes"]]
        made.rounds = checked_count("rounds", state["rounds"], least=len(made.scores))
        if len(made.scores) != len(made.outcomes):
            raise ValueError("the state's rows are inconsistent. It must be what Refitted.to_json returned.")
        return made


@final
class Mixed(Recalibrator):
    """Several recalibrators, averaged with weights exp(−(past squared loss)/2): nearly as good as the best of them.

        p = Σ w_k·p_k,   w_k ∝ exp(−½·Σ (p_k − y)²)

    The squared loss on [0, 1] is exp-concave at rate 1/2, so the Brier score exceeds that of the best of N models by at
    most 2·ln N/T, for any outcomes.  The cost of a round is that of all N.

    Parameters
    ----------
    models : sequence of Recalibrator
        Two or more; default: `Refitted()`, `OnlinePlatt()`, `Calibeating()` and the score itself.

    References
    ----------
    Cesa-Bianchi and Lugosi, *Prediction, Learning, and Games* (2006), Section 3.3.

    Examples
    --------
    >>> mixed = Mixed()
    >>> for i in range(200):
    ...     mixed.learn_one(0.9, i % 2)
    >>> abs(mixed.transform_one(0.9) - 0.5) < 0.05
    True
    """

    def __init__(self, models: Sequence[Recalibrator] | None = None) -> None:
        self.models = (
            list(models) if models is not None else [Refitted(), OnlinePlatt(), Calibeating(), Refitted("none")]
        )
        if len(self.models) < 2 or not all(isinstance(model, Recalibrator) for model in self.models):
            raise ValueError("models must be two or more recalibrators, such as [Refitted(), OnlinePlatt()].")
        self.losses = [0.0] * len(self.models)

    def __repr__(self) -> str:
        return f"Mixed({self.models!r}, rounds={self.rounds})"

    @property
    def weights(self) -> list[float]:
        """The weight of each recalibrator now."""
        least = min(self.losses)
        weights = [exp((least - loss) / 2) for loss in self.losses]
        return [weight / sum(weights) for weight in weights]

    def transform_one(self, q: float) -> float:
        """The weighted mean of what the recalibrators say."""
        said = [model.transform_one(q) for model in self.models]
        return float(np.clip(sum(w * p for w, p in zip(self.weights, said, strict=True)), min(said), max(said)))

    def learn_one(self, q: float, y: float) -> None:
        """Charge each recalibrator its loss, then let it learn."""
        outcome = checked_outcome(y)
        for place, model in enumerate(self.models):
            self.losses[place] += (model.transform_one(q) - outcome) ** 2
            model.learn_one(q, outcome)
        self.rounds += 1

    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """The excess of the Brier score over the best recalibrator."""
        excess = 2 * log(len(self.models)) / checked_count("horizon", horizon)
        return (Bound("Brier regret", excess, "Cesa-Bianchi and Lugosi 2006, Section 3.3", True),)

    def to_json(self) -> str:
        """The state; the recalibrator that `from_json` makes of it continues bit for bit."""
        state = {"models": [model.to_json() for model in self.models], "losses": self.losses, "rounds": self.rounds}
        return saved("Mixed", _STATE_VERSION, state)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The recalibrator that `to_json` saved."""
        state = loaded(text, "Mixed", _STATE_VERSION, ("models", "losses", "rounds"))
        made = cls([_revived(model) for model in state["models"]])
        losses = np.array(state["losses"], dtype=np.float64)
        if losses.shape != (len(made.models),) or not (losses >= 0).all() or not np.isfinite(losses).all():
            raise ValueError("the state's losses are inconsistent. It must be what Mixed.to_json returned.")
        made.losses, made.rounds = losses.tolist(), checked_count("rounds", state["rounds"], least=0)
        return made


def _revived(text: object) -> Recalibrator:
    """The recalibrator whose state this is."""
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (OnlinePlatt, Calibeating, Refitted, Mixed)}
    name = str(json.loads(str(text)).get("trustcal"))
    if name not in kinds:
        raise ValueError(f"the state is of a recalibrator that this version of trustcal does not have: {name}.")
    made: Recalibrator = kinds[name].from_json(text)
    return made
