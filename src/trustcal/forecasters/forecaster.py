"""What a forecaster is: it announces a probability, is told the outcome, and can be saved between any two calls."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import as_array, as_number, checked_count, refuse
from trustcal.guarantees import Bound
from trustcal.smoothing.draws import uniforms
from trustcal.states import damage_refused, loaded, saved

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_STATE_VERSION = 1


@final
class Forecast(NamedTuple):
    """The law of the coming announcement: what an adversary may see before choosing the outcome.

    >>> Forecast((0.25, 0.75), (0.5, 0.5)).mean
    0.5
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean announcement."""
        return sum(value * weight for value, weight in zip(self.values, self.weights, strict=True))


class Forecaster(ABC):
    """Announces the probability of the next outcome, round after round, then learns the outcome.

    forecast()      the law of the coming announcement; randomness comes after it
    predict_one()   the announcement; asked again in the same round, the same
    learn_one(y)    the outcome, 0 or 1, which ends the round
    play(outcomes)  all of it for many known outcomes, compiled, to the same bits
    guarantee(T)    what is proved of the first T rounds, whatever the outcomes (docs/online.md)
    to_json()       the state, from which from_json continues to the same bits
    """

    rounds: int = 0
    """How many outcomes have been learnt."""
    _announced: float | None = None
    _STATE: ClassVar[tuple[str, ...]]
    """The attributes that change from round to round; what __init__ makes of them gives their types and lengths."""

    @abstractmethod
    def forecast(self) -> Forecast:
        """The law of the coming announcement."""

    @abstractmethod
    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """What is proved of the first `horizon` rounds; in expectation where the forecaster draws."""

    @final
    def predict_one(self) -> float:
        """The probability announced for the next outcome."""
        if self._announced is None:
            self._announced = self._announce()
        return self._announced

    @final
    def learn_one(self, y: float) -> None:
        """The outcome of the round that predict_one announced."""
        if self._announced is None:
            raise ValueError("learn_one must follow predict_one: the outcome of a round comes after its announcement.")
        self._update(checked_outcome(y))
        self._announced = None
        self.rounds += 1

    @final
    def play(self, outcomes: ArrayLike) -> FloatArray:
        """What is announced when these outcomes come next: as predict_one and learn_one in turn, but compiled."""
        if self._announced is not None:
            raise ValueError("play starts with a new round: give learn_one the outcome of the announced one first.")
        y = checked_outcomes(outcomes)
        announced = np.empty(len(y))
        for first in range(0, len(y), 1 << 16):
            block = y[first : first + (1 << 16)]
            announced[first : first + len(block)] = self._play(block)
            self.rounds += len(block)
        return announced

    @final
    def to_json(self) -> str:
        """The state, from which `from_json` continues to the same bits."""
        state = {name: getattr(self, name) for name in self._STATE}
        fields = {**self._parameters(), **state, "rounds": self.rounds, "announced": self._announced}
        return saved(type(self).__name__, _STATE_VERSION, fields)

    @final
    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> Self:
        """The forecaster that `to_json` saved."""
        state = loaded(text, cls.__name__, _STATE_VERSION, (*cls._STATE, "rounds", "announced"))
        forecaster = cls._with(loaded(text, cls.__name__, _STATE_VERSION, tuple(signature(cls).parameters)))
        for name in cls._STATE:
            setattr(forecaster, name, _like(getattr(forecaster, name), state[name], name))
        forecaster.rounds = checked_count("rounds", state["rounds"], least=0)
        if state["announced"] is not None:
            forecaster._announced = checked_probability(_like(0.5, state["announced"], "announced"))
        if not forecaster._is_sound():
            raise ValueError(f"the state's numbers cannot come about. It must be what {cls.__name__}.to_json gave.")
        return forecaster

    @abstractmethod
    def _announce(self) -> float: ...

    @abstractmethod
    def _update(self, y: int) -> None: ...

    @abstractmethod
    def _play(self, y: IntArray) -> FloatArray: ...

    @abstractmethod
    def _is_sound(self) -> bool:
        """Whether the state can have come about: a damaged one must not run on."""

    @abstractmethod
    def _parameters(self) -> dict[str, object]:
        """The arguments of __init__ that make a forecaster of this state's shape."""

    @classmethod
    @abstractmethod
    def _with(cls, parameters: Mapping[str, Any]) -> Self:
        """A fresh forecaster of these parameters."""


@final
class Coins:
    """The uniform numbers of a seed, one for each round, whoever asks in whichever order: nothing to save.

    >>> coins = Coins(7)
    >>> coins.at(3) == coins.between(0, 10).tolist()[3]
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._first = -1
        self._block: list[float] = []

    def at(self, index: int) -> float:
        """The number of this index; a block is drawn at a time."""
        offset = index & 1023
        if index - offset != self._first:
            self._first = index - offset
            self._block = self.between(self._first, self._first + 1024).tolist()
        return self._block[offset]

    def between(self, first: int, last: int) -> FloatArray:
        """The numbers from index `first` up to `last`, which is left out."""
        return uniforms(self.seed, np.arange(first, last, dtype=np.uint64))


def checked_outcome(y: float) -> int:
    """An outcome as an integer, or a refusal."""
    if y == 0:  # NaN equals neither
        return 0
    if y == 1:
        return 1
    raise ValueError(f"an outcome must be 0 or 1, not {y!r}.")


def checked_outcomes(outcomes: ArrayLike) -> IntArray:
    """Outcomes as integers, or a refusal."""
    y = as_array(outcomes, "outcomes")
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        raise ValueError(f"outcomes must be a sequence of 0 and 1, not an array of shape {y.shape} and type {y.dtype}.")
    refuse((y != 0) & (y != 1), y, "outcomes must be 0 or 1")
    return y.astype(np.int64)


def checked_probability(q: float) -> float:
    """A prediction as a float in [0, 1], or a refusal."""
    if not 0 <= as_number(q) <= 1:
        raise ValueError(f"a prediction must be a probability in [0, 1], not {q!r}.")
    return float(q)


def kind_of(text: object) -> str:
    """Whose state a text is, by its own word; empty if it has none."""
    try:
        state = json.loads(str(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"the state within is not JSON ({error}). It must be what to_json gave.") from None
    return str(state.get("trustcal", "")) if isinstance(state, dict) else ""


def _like(fresh: Any, value: Any, name: str) -> Any:
    """A loaded value that has the type and the length of the one it replaces, or a refusal."""
    entries, kinds = (value, fresh) if isinstance(fresh, list) and isinstance(value, list) else ([value], [fresh])
    allowed = int if isinstance(kinds[0], int) else (int, float)
    sound = len(entries) == len(kinds) and all(isinstance(x, allowed) and not isinstance(x, bool) for x in entries)
    if not sound or not np.isfinite(entries).all():
        raise ValueError(f"the state's {name} does not fit its parameters. It must be what to_json gave.")
    return value
