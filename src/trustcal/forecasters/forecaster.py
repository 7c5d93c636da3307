"""Forecasters: announce a probability, learn the outcome, and can be saved between any two calls."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import signature
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

import trustcal.forecasters
from trustcal.checking import Role, checked_count, checked_outcome, checked_outcomes, checked_prediction
from trustcal.guarantees import Bound
from trustcal.smoothing.draws import uniforms
from trustcal.smoothing.online import OnlineSmoother
from trustcal.states import damage_refused, loaded, saved

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_STATE_VERSION = 2


@final
class Forecast(NamedTuple):
    """The distribution of the next announcement: what an adversary may see before choosing the outcome.

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

    It can be saved between any two calls, and `play` answers many known outcomes at once, bit for bit the same.
    """

    randomised: ClassVar[bool] = True
    """Whether announcements may be drawn at random; `guarantee` then bounds means over the draws."""
    rounds: int = 0
    """Number of outcomes learnt."""
    _announced: float | None = None
    _STATE: ClassVar[tuple[str, ...]]
    """The attributes that change between rounds; their types and lengths are as __init__ sets them."""

    @abstractmethod
    def forecast(self) -> Forecast:
        """The distribution of the next announcement; 32 values stand for it if there are too many."""

    @abstractmethod
    def guarantee(self, horizon: int) -> tuple[Bound, ...]:
        """What is proved of the first `horizon` rounds; in expectation if the forecaster is randomised.

        A forecaster made from others returns nothing if its proof is about their first rounds, and they have had more.
        """

    @final
    def predict_one(self) -> float:
        """The probability announced for the next outcome."""
        if self._announced is None:
            self._announced = self._announce()
        return self._announced

    @final
    def learn_one(self, y: float) -> None:
        """Learn the outcome of the round that predict_one announced."""
        if self._announced is None:
            raise ValueError("learn_one must follow predict_one: announce first, then learn the outcome.")
        self._update(checked_outcome(y))
        self._announced = None
        self.rounds += 1

    @final
    def play(self, outcomes: ArrayLike) -> FloatArray:
        """The announcements for these outcomes: the same as predict_one and learn_one in turn, but compiled."""
        if any(isinstance(part, Forecaster) and part._announced is not None for part in parts_of(self)):
            raise ValueError(
                "play starts a new round, but one was announced: end it with predict_one and learn_one first."
            )
        y = checked_outcomes(outcomes)
        announced = np.empty(len(y))
        for first in range(0, len(y), 1 << 16):
            block = y[first : first + (1 << 16)]
            announced[first : first + len(block)] = self._play(block)
            self.rounds += len(block)
        return announced

    @final
    def to_json(self) -> str:
        """The state; the forecaster that `from_json` makes of it continues bit for bit."""
        names = signature(type(self)).parameters
        arguments = {name: getattr(self, "seed" if name == "rng" else name) for name in names}
        inner = {name: _plain(value) for name, value in arguments.items()}
        state = {name: getattr(self, name) for name in self._STATE}
        fields = {**inner, **state, "rounds": self.rounds, "announced": self._announced}
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
            forecaster._announced = checked_prediction(_like(0.5, state["announced"], "announced"))
        if not forecaster._is_sound():
            raise ValueError(f"the state is impossible. It must be the text that {cls.__name__}.to_json returned.")
        return forecaster

    @abstractmethod
    def _announce(self) -> float: ...

    @abstractmethod
    def _update(self, y: int) -> None: ...

    @abstractmethod
    def _play(self, y: IntArray) -> FloatArray: ...

    @abstractmethod
    def _is_sound(self) -> bool:
        """Whether the state is possible: a damaged one must not be used."""

    @classmethod
    def _with(cls, parameters: Mapping[str, Any]) -> Self:
        """A new forecaster with these parameters, as `to_json` saved them: the attributes of the same names."""
        return cls(**parameters)


@final
class Coins:
    """The uniform random numbers of a role with a seed, one per round, in any order of access: nothing to save.

    >>> coins = Coins(7, Role.FORECASTER)
    >>> coins.at(3) == coins.between(0, 10).tolist()[3]
    True
    """

    def __init__(self, seed: int, role: Role) -> None:
        self.seed, self.role = seed, role
        self._first = -1
        self._block: list[float] = []

    def at(self, index: int) -> float:
        """The number with this index; drawn in blocks."""
        offset = index & 1023
        if index - offset != self._first:
            self._first = index - offset
            self._block = self.between(self._first, self._first + 1024).tolist()
        return self._block[offset]

    def between(self, first: int, last: int) -> FloatArray:
        """The numbers with indices first, …, last − 1."""
        return uniforms(self.seed, self.role, np.arange(first, last, dtype=np.uint64))


_PLAIN = (float, int, str, bool, type(None))
"""What holds nothing: tables of numbers may be long."""


def parts_of(thing: object) -> list[object]:
    """The forecaster, smoother or recalibrator itself, and its parts at any depth, each once.

    A part is held by an attribute of the object, directly or in lists, tuples, sets and dicts.  What a class, slots, a
    closure or another container holds is not seen.
    """
    parts, seen = [thing], {id(thing)}
    for holder in parts:  # grows on the way
        new = [part for part in _held(holder) if id(part) not in seen]
        seen.update(map(id, new))
        parts += new
    return parts


def _held(holder: object) -> list[object]:
    """The parts that one holds, but not through another part: each once."""
    held, seen = {}, set()
    found = [*getattr(holder, "__dict__", {}).values()]
    if isinstance(holder, list | tuple | set | frozenset | dict):
        found.append(holder)
    while found:
        one = found.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one is not holder and _is_part(one):
            held[id(one)] = one
        elif isinstance(one, list | tuple | set | frozenset | dict):
            inside = [*one, *one.values()] if isinstance(one, dict) else one
            found += [each for each in inside if type(each) not in _PLAIN]
    return list(held.values())


def _is_part(thing: object) -> bool:
    """Whether it draws, or learns: a forecaster, a recalibrator or a model of the user's; a class is none."""
    return isinstance(thing, Coins | OnlineSmoother) or callable(getattr(type(thing), "learn_one", None))


def keep_apart(*things: object) -> None:
    """Raise an error if these share a part, or if two of their coins or smoothers draw the same numbers.

    A shared part would learn each outcome twice.  Shared numbers would let one announcement tell another's coin.
    Within one thing a part may have two holders if one of these holds the other: it may have a second name there, or
    be learnt from twice, which cannot be told.  Parts are those of `parts_of`; a generator of a user's own is not seen.
    """
    parts = [part for thing in things for part in parts_of(thing)]
    different = {id(part): part for part in parts}
    drawn = [(part.role, part.seed) for part in different.values() if isinstance(part, Coins)]
    drawn += [(Role.ONLINE_NOISE, part.seed) for part in different.values() if isinstance(part, OnlineSmoother)]
    shared = len(different) < len(parts) or _any_shared(list(different.values()))
    if shared or len(set(drawn)) < len(drawn):
        raise ValueError(
            "parts must differ, but two are or hold the same object, or share a seed: make each anew, with its own rng."
        )


def _any_shared(parts: list[object]) -> bool:
    """Whether some part has two holders neither of which holds the other, at any depth."""
    holders: dict[int, list[object]] = {}
    for holder in parts:
        for part in _held(holder):
            holders.setdefault(id(part), []).append(holder)
    reached = {id(one): set(map(id, parts_of(one))) for some in holders.values() if len(some) > 1 for one in some}
    return any(
        id(one) not in reached[id(other)] and id(other) not in reached[id(one)]
        for some in holders.values()
        for one, other in combinations(some, 2)
    )


def revived(text: object, kind: type[Any]) -> Any:
    """The forecaster or recalibrator whose state this is."""
    try:
        state = json.loads(str(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"the inner state is not JSON ({error}). It must be the text that to_json returned.") from None
    name = str(state.get("trustcal", "")) if isinstance(state, dict) else ""
    found: Any = getattr(trustcal.forecasters, name, None)
    fits = isinstance(found, type) and issubclass(found, kind)
    if not fits:
        raise ValueError(f"the state is of a {kind.__name__} that this version of trustcal does not have: {name}.")
    return found.from_json(str(text))


def _plain(value: Any) -> Any:
    """A parameter as it is saved: a number or a word, the state of a forecaster, or those of several."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value


def _like(fresh: Any, value: Any, name: str) -> Any:
    """A loaded value; it must have the type and the length of the one it replaces."""
    entries, kinds = (value, fresh) if isinstance(fresh, list) and isinstance(value, list) else ([value], [fresh])
    allowed = int if isinstance(kinds[0], int) else (int, float)
    sound = len(entries) == len(kinds) and all(isinstance(x, allowed) and not isinstance(x, bool) for x in entries)
    if not sound or not np.isfinite(entries).all():
        raise ValueError(f"the state's {name} does not match its parameters. It must be what to_json returned.")
    return value
