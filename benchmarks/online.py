"""Rounds per second of each forecaster, and how fast its worst error falls with the horizon.

    python -m benchmarks.online                                 # --most 6 --seeds 2, or only --calibeating

First 10^6 rounds of drifting outcomes, compiled, and 2·10^4 of them one at a time in Python, with the ratio of the two
and the size of the saved state.  Then slopes over three decades of horizons, with the known rates: against outcomes
fixed in advance, and against adversaries that see the distribution of the announcement.  Last, multi-calibeating: its
Brier score and the refinement of the best score, for three scores from outside, and for the members of the arena's
forecaster against each adversary.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import seconds
from trustcal.cells import announced
from trustcal.forecasters import CombinedForecaster, Forecaster, MultiCalibeating
from trustcal.forecasters.adversaries import Adversary, drift, duel
from trustcal.forecasters.games import Plan, play
from trustcal.forecasters.presets import preset
from trustcal.forecasters.rates import result_of
from trustcal.report.arena import arena_page
from trustcal.report.terminal.console import plain_text

IN_ADVANCE = ("fair coin", "drift", "walk", "switch", "hard")
ADAPTIVE = ("opposing", "greedy", "signs")
RATED = (
    "elementary",
    "elementary + Laplace (paper)",
    "elementary + rounding",
    "calibrated (Foster)",
    "decision",
    "decision, square weights",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=6, metavar="K", help="horizons up to 10^K (default 6)")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="games of each kind (default 2)")
    parser.add_argument("--calibeating", action="store_true", help="print the tables of multi-calibeating only")
    options = parser.parse_args()
    console = Console(width=130)
    horizons = tuple(10**k for k in range(2, options.most))
    if options.calibeating:
        console.print(calibeaten(horizons), combined(horizons, options.seeds))
        return
    console.print(speeds(10**options.most))
    with TemporaryDirectory() as folder:
        for adversaries, last in ((IN_ADVANCE, options.most), (ADAPTIVE, options.most - 1)):
            print(slopes(adversaries, tuple(10**k for k in range(last - 3, last + 1)), options.seeds, folder))
    console.print(calibeaten(horizons), combined(horizons, options.seeds))


def speeds(horizon: int) -> Table:
    table = Table(title=f"Rounds per second, set up for T = {horizon:,}")
    for header in ("forecaster", "compiled, M/s", "one at a time, k/s", "ratio", "state, bytes"):
        table.add_column(header, justify="left" if header == "forecaster" else "right")
    y = drift(horizon, 0).outcomes
    for name, make in preset("paper").contestants.items():
        fresh = make(horizon, 0)
        assert isinstance(fresh, Forecaster)
        fresh.play(y)  # also compiles, once
        fast = horizon / seconds(lambda make=make: played(make(horizon, 0), y), repeat=3)  # type: ignore[misc]
        few = y[: min(20_000, horizon)].tolist()
        slow = len(few) / seconds(partial(one_at_a_time, make(horizon, 0), few), repeat=1)
        table.add_row(name, f"{fast / 1e6:.1f}", f"{slow / 1e3:.0f}", f"{fast / slow:.0f}", f"{len(fresh.to_json()):,}")
    return table


def calibeaten(horizons: tuple[int, ...], cells: int = 10) -> Table:
    """How much the Brier score exceeds the best refinement, for three scores of outcomes with probabilities p.

    One score is p², one 1 − p, and one p with noise.  The refinement of a score is the Brier score of its bins, each
    relabelled with its frequency in hindsight.
    """
    table = Table("rounds", "Brier", "best refinement", "excess", "Theorem O.10", title="Multi-calibeating, 10 bins")
    for horizon in horizons:
        rng = np.random.default_rng(horizon)
        p = rng.random(horizon)
        y = (rng.random(horizon) < p).astype(int)
        scores = np.stack([p**2, 1 - p, np.clip(p + rng.normal(0, 0.2, horizon), 0, 1)])
        beat, errors = MultiCalibeating(len(scores), cells=cells), 0.0
        for row, outcome in zip(scores.T.tolist(), y.tolist(), strict=True):
            errors += (beat.transform_one(row) - outcome) ** 2
            beat.learn_one(row, outcome)
        best = min(refinement(score, y, cells) for score in scores)
        brier, bound = errors / horizon, beat.guarantee(horizon)[0].value
        table.add_row(f"{horizon:,}", *(f"{number:.5f}" for number in (brier, best, brier - best, bound)))
    return table


def combined(horizons: tuple[int, ...], seeds: int) -> Table:
    """How much the Brier score exceeds the refinement of the best member, for each adversary, on average over seeds."""
    plan = preset("paper", horizons, seeds)
    names = [f"T = {horizon:,}" for horizon in horizons]
    table = Table("excess against", *names, "slope", title=f"Multi-calibeating of the arena, {seeds} seeds")
    rows = {
        name: [sum(excess(plan, name, horizon, seed) for seed in range(seeds)) / seeds for horizon in horizons]
        for name in plan.adversaries
    }
    rows["worst"] = [max(column) for column in zip(*rows.values(), strict=True)]
    rows["Theorem O.11"] = [plan.guarantees("multi-calibeating", horizon)[0].value for horizon in horizons]
    for name, row in rows.items():
        slope = np.polyfit(np.log(horizons), np.log(row), 1)[0]
        table.add_row(name, *(f"{number:.6f}" for number in row), f"{slope:.2f}")
    return table


def excess(plan: Plan, name: str, horizon: int, seed: int) -> float:
    """Of one game; fresh members replay its outcomes."""
    forecaster, again = (plan.contestants["multi-calibeating"](horizon, seed) for _ in range(2))
    adversary = plan.adversaries[name](horizon, seed)
    assert isinstance(forecaster, CombinedForecaster)
    assert isinstance(again, CombinedForecaster)
    assert isinstance(adversary, Adversary)
    said, y = duel(forecaster, adversary, horizon)
    cells = forecaster.beat.cells
    return float(np.mean((said - y) ** 2)) - min(refinement(one.play(y), y, cells) for one in again.members)


def refinement(score: np.ndarray, y: np.ndarray, cells: int) -> float:
    """The Brier score of the bins of a score, each relabelled with its frequency."""
    bins = np.rint(cells * announced(score, cells, "left")).astype(int)
    many = np.bincount(bins)
    ones = np.bincount(bins, y)
    seen = many > 0
    return float((ones[seen] * (1 - ones[seen] / many[seen])).sum() / len(y))


def played(forecaster: object, y: np.ndarray) -> None:
    assert isinstance(forecaster, Forecaster)
    forecaster.play(y)


def one_at_a_time(forecaster: object, outcomes: list[int]) -> None:
    assert isinstance(forecaster, Forecaster)
    for y in outcomes:
        forecaster.predict_one()
        forecaster.learn_one(y)


def slopes(adversaries: tuple[str, ...], horizons: tuple[int, ...], seeds: int, folder: str) -> str:
    whole = preset("paper", horizons, seeds)
    plan = replace(
        whole,
        contestants={name: whole.contestants[name] for name in RATED},
        adversaries={name: whole.adversaries[name] for name in adversaries},
    )
    result = result_of(plan, play(plan, folder), ("ece", "cdl", "dtc"))
    text = plain_text(lambda frame: arena_page(result, frame), 150)
    return f"\nAgainst {', '.join(adversaries)}; {seeds} seeds\n{text}"


if __name__ == "__main__":
    main()
