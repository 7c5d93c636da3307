"""Games: every contestant against every adversary, at every horizon, with several seeds, on all cores.

A game is played once.  Its errors are a file in the folder, written whole or not at all.  A run that was killed
continues where it stopped, and ends with the numbers of an undisturbed one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from trustcal.checking import checked_count, checked_number
from trustcal.checking.files import text_of
from trustcal.forecasters.adversaries import Adversary, duel
from trustcal.forecasters.errors import errors_of, symbols
from trustcal.forecasters.forecaster import FloatArray, Forecaster
from trustcal.forecasters.known_rates import KnownRate
from trustcal.guarantees import Bound
from trustcal.paper import Sequence
from trustcal.states import damage_refused, loaded, saved
from trustcal.writing import atomically

Progress = Callable[[int, int], None]
"""Called with the number of finished games and the total."""

LONGEST = 10**8
"""Rounds of the longest game: all of them are kept in memory."""
_GAME_VERSION = 4


class PostProcessor(Protocol):
    """Maps predictions to predictions without outcomes, as `OnlineSmoother` does."""

    def transform_many(self, q: FloatArray) -> FloatArray:
        """The predictions after post-processing."""


Contestant = Callable[[int, int], Forecaster | PostProcessor]
"""Makes a forecaster or a post-processor from a horizon and a seed."""
Opponent = Callable[[int, int], Adversary | Sequence]
"""Makes an adversary, or predictions with outcomes, from a horizon and a seed."""


@final
@dataclass(frozen=True)
class Game:
    """Contestant, adversary, number of rounds and seed."""

    contestant: str
    adversary: str
    horizon: int
    seed: int

    @property
    def file(self) -> str:
        """The name of its file."""
        name = f"{self.contestant}-vs-{self.adversary}-{self.horizon}-{self.seed}"
        return re.sub(r"[^A-Za-z0-9.=-]+", "_", name) + ".json"


@final
@dataclass(frozen=True)
class GameScore:
    """The errors after some rounds of a game, exact and on the distinct predictions."""

    rounds: int
    errors: dict[str, float]
    """By their keys, those of `forecasters.errors`."""


@final
@dataclass(frozen=True)
class Played:
    """A game and its errors after a quarter, half and all of its rounds."""

    game: Game
    scores: tuple[GameScore, ...]


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """Contestants and adversaries by name, each a picklable function of horizon and seed."""

    contestants: Mapping[str, Contestant]
    adversaries: Mapping[str, Opponent]
    horizons: tuple[int, ...]
    seeds: int
    proved: Callable[[Forecaster | PostProcessor, int], tuple[Bound, ...]]
    """The proved bounds of a contestant at a horizon."""
    known: tuple[KnownRate, ...]
    """The known rates of the game."""

    def __post_init__(self) -> None:
        checked_count("seeds", self.seeds, most=10_000)
        for horizon in self.horizons:
            checked_count("a horizon", horizon, least=10, most=LONGEST)
        games = list(self.games())
        if not games or len({game.file for game in games}) < len(games):
            raise ValueError(
                f"the games of a plan need distinct file names, but {len(games)} games have "
                f"{len({game.file for game in games})}. Use names and horizons that differ in letters or digits."
            )

    def games(self) -> Iterator[Game]:
        """All games, the longest first, so that the cores finish together."""
        for horizon in sorted(self.horizons, reverse=True):
            for seed in range(self.seeds):
                for contestant in self.contestants:
                    for adversary in self.adversaries:
                        yield Game(contestant, adversary, horizon, seed)

    def guarantees(self, contestant: str, horizon: int) -> tuple[Bound, ...]:
        """The proved bounds of a contestant at a horizon."""
        return self.proved(self.contestants[contestant](horizon, 0), horizon)


def play(
    plan: Plan, folder: str | Path, progress: Progress | None = None, *, workers: int | None = None
) -> tuple[Played, ...]:
    """Play the games that are not yet in the folder, and return all games, in the order of `plan.games()`.

    The folder has one file per game, so that a plan may grow.  Games are found by name: a changed contestant needs a
    new folder.  By default there is one process per core; one worker plays in this process.  A script that starts more
    needs Python's usual `if __name__ == "__main__":`.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: name a folder for the games.")
    many = checked_count("workers", os.cpu_count() or 1 if workers is None else workers)
    place.mkdir(parents=True, exist_ok=True)
    games = list(plan.games())
    waiting = [game for game in games if not (place / game.file).exists()]
    tell = progress or (lambda *_: None)
    done = len(games) - len(waiting)
    tell(done, len(games))
    many = min(many, len(waiting))
    if many <= 1:
        for game in waiting:
            _finish(plan.contestants[game.contestant], plan.adversaries[game.adversary], game, place)
            done += 1
            tell(done, len(games))
    else:
        _in_parallel(plan, waiting, place, many, lambda finished: tell(done + finished, len(games)))
    return tuple(_read(place, game) for game in games)


def looks(horizon: int) -> tuple[int, ...]:
    """The rounds after which errors are measured: a quarter, half and all of them."""
    return horizon // 4, horizon // 2, horizon


def measured(predictions: FloatArray, outcomes: NDArray[np.integer[Any]]) -> GameScore:
    """All errors of these rounds.

    >>> measured(np.array([0.5, 0.5]), np.array([0, 1])).errors["ece"]
    0.0
    """
    return GameScore(len(outcomes), errors_of(predictions, outcomes))


def _scores(
    contestant: Forecaster | PostProcessor, opponent: Adversary | Sequence, horizon: int
) -> tuple[GameScore, ...]:
    y: NDArray[np.integer[Any]]
    if isinstance(contestant, Forecaster) and isinstance(opponent, Adversary):
        said, y = duel(contestant, opponent, horizon)
    elif not isinstance(contestant, Forecaster) and isinstance(opponent, Sequence):
        said, y = contestant.transform_many(opponent.predictions), opponent.outcomes
    else:
        raise ValueError(
            f"a forecaster plays an adversary, a post-processor a sequence; not {contestant!r} with {opponent!r}."
        )
    return tuple(measured(said[:many], y[:many]) for many in looks(horizon))


def _finish(contestant: Contestant, opponent: Opponent, game: Game, folder: Path) -> None:
    scores = _scores(contestant(game.horizon, game.seed), opponent(game.horizon, game.seed), game.horizon)
    fields = {"game": asdict(game), "scores": [{"rounds": score.rounds, **score.errors} for score in scores]}
    with atomically(folder / game.file) as fresh:
        fresh.write_text(saved("ArenaGame", _GAME_VERSION, fields))


def _read(folder: Path, game: Game) -> Played:
    file = folder / game.file
    try:
        with damage_refused():
            state = loaded(text_of(file), "ArenaGame", _GAME_VERSION, ("game", "scores"))
            played = Played(game, tuple(_score(**score) for score in state["scores"]))
            if tuple(score.rounds for score in played.scores) != looks(game.horizon):
                raise ValueError(f"the game must have scores after {looks(game.horizon)} rounds.")
    except ValueError as error:
        raise ValueError(f"{file}: {error} Delete it to play the game again.") from None
    if state["game"] != asdict(game):
        raise ValueError(f"{file} is of another game, {state['game']}. Use another folder.")
    return played


def _score(rounds: int, **errors: float) -> GameScore:
    found = {key: checked_number(key, errors[key], 0, inf, "[)") for key in symbols()}
    return GameScore(checked_count("rounds", rounds), found)


def _in_parallel(plan: Plan, games: list[Game], folder: Path, workers: int, tell: Callable[[int], None]) -> None:
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        waiting = [
            pool.submit(_finish, plan.contestants[game.contestant], plan.adversaries[game.adversary], game, folder)
            for game in games
        ]
        for finished, future in enumerate(as_completed(waiting), start=1):
            future.result()
            tell(finished)
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker process was killed, perhaps because memory ran out. Finished games are kept: run it again, with "
            "fewer workers."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End a worker whose parent was killed; it would wait for work for ever."""
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()
