"""The arena: games are played once, also if the run is killed; rates are slopes; the paper's ordering holds."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trustcal as tc
from trustcal.cli import arena, main
from trustcal.forecasters import CalibratedForecaster, post_processing
from trustcal.forecasters.adversaries import duel, walk
from trustcal.forecasters.errors import brier_regret
from trustcal.forecasters.games import Game, GameScore, Plan, Played, measured, play
from trustcal.forecasters.presets import PRESETS, preset, proved
from trustcal.forecasters.rates import contestants, proved_and_played, rate, result_of
from trustcal.guarantees import Bound
from trustcal.measures import table
from trustcal.paper import Sequence
from trustcal.reading import reading, rows_in_order
from trustcal.report.arena import arena_html, arena_page, plot_rates, save_picture
from trustcal.report.terminal.console import plain_text


def part(plan: Plan, contestants: tuple[str, ...], adversaries: tuple[str, ...]) -> Plan:
    return replace(
        plan,
        contestants={name: plan.contestants[name] for name in contestants},
        adversaries={name: plan.adversaries[name] for name in adversaries},
    )


FEW = part(preset("paper", (40, 80), 2), ("calibrated (Foster)", "elementary", "leader"), ("walk", "opposing"))


def test_a_game_is_what_it_says(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    played = play(FEW, tmp_path, lambda done, total: told.append((done, total)), workers=1)
    assert told == [(done, 24) for done in range(25)]
    assert [one.game for one in played] == list(FEW.games())
    one = next(one for one in played if one.game == Game("calibrated (Foster)", "walk", 80, 1))
    said, y = duel(CalibratedForecaster(80, rng=1), walk(80, 1), 80)
    assert one.scores == tuple(measured(said[:many], y[:many]) for many in (20, 40, 80))
    q = tc.Predictor.from_samples(y, said)
    regret = {"brier_regret": max(0.0, np.mean((said - y) ** 2) - np.mean(y) * (1 - np.mean(y)))}
    assert one.scores[-1] == GameScore(80, {key: getattr(tc, key)(q) for key in table.played()} | regret)


def test_a_finished_game_is_not_played_again(tmp_path: Path) -> None:
    first = play(FEW, tmp_path, workers=1)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(before) == 24
    told: list[tuple[int, int]] = []
    assert play(FEW, tmp_path, lambda done, total: told.append((done, total))) == first
    assert told == [(24, 24)]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    more = play(replace(FEW, seeds=3), tmp_path, workers=1)
    assert [one for one in more if one.game.seed < 2] == list(first)


SCRIPT = """
import sys
from dataclasses import replace
from trustcal.forecasters.games import play
from trustcal.forecasters.presets import preset

def longer():
    plan = preset("paper", (100, 200), 2)
    some = {name: plan.contestants[name] for name in ("elementary + rounding", "decision", "hedging")}
    against = {name: plan.adversaries[name] for name in ("fair coin", "greedy", "signs")}
    return replace(plan, contestants=some, adversaries=against)

if __name__ == "__main__":
    play(longer(), sys.argv[1], workers=2)
"""
LONGER = part(
    preset("paper", (100, 200), 2), ("elementary + rounding", "decision", "hedging"), ("fair coin", "greedy", "signs")
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups, by which the workers are found, need Unix")
def test_a_run_that_is_killed_repeatedly_ends_with_the_same_numbers(tmp_path: Path) -> None:
    folder, script = tmp_path / "killed", tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder.mkdir()
    places = os.pathsep.join(sys.path)
    for least in (1, 12, 24):
        process = subprocess.Popen(
            [sys.executable, str(script), str(folder)], env=os.environ | {"PYTHONPATH": places}, start_new_session=True
        )
        while len(list(folder.glob("[!.]*.json"))) < least:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = {path.name: path.read_bytes() for path in folder.glob("[!.]*.json")}
        assert all(json.loads(text)["trustcal"] == "ArenaGame" for text in finished.values())
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:  # the workers end by themselves
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.01)
        else:
            pytest.fail("workers outlive the run that was killed")
    assert finished.items() <= {path.name: path.read_bytes() for path in folder.glob("[!.]*.json")}.items()
    assert play(LONGER, folder, workers=1) == play(LONGER, tmp_path / "undisturbed", workers=1)


def test_a_file_of_another_game_is_refused(tmp_path: Path) -> None:
    play(FEW, tmp_path, workers=1)
    one, other, *_ = FEW.games()
    (tmp_path / one.file).write_text((tmp_path / other.file).read_text())
    with pytest.raises(ValueError, match="is of another game"):
        play(FEW, tmp_path)
    (tmp_path / one.file).write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        play(FEW, tmp_path)


def test_plans_need_distinct_games() -> None:
    maker = FEW.contestants["leader"]
    with pytest.raises(ValueError, match=r"16 games have 8\. Use names"):
        replace(FEW, contestants={"a b": maker, "a+b": maker})
    with pytest.raises(ValueError, match="a horizon must be a whole number, 10 or more"):
        replace(FEW, horizons=(5,))
    with pytest.raises(ValueError, match="seeds must be a whole number"):
        replace(FEW, seeds=0)
    with pytest.raises(ValueError, match="0 games"):
        replace(FEW, horizons=())
    with pytest.raises(ValueError, match="there is no preset 'x': choose paper or post-processing"):
        preset("x")


def test_seeds_workers_and_folder_are_validated(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="seeds must be a whole number, 1 or more, not 0"):
        preset("paper", (10,), 0)
    with pytest.raises(ValueError, match="workers must be a whole number, 1 or more, not 0"):
        play(preset("paper", (10,), 1), tmp_path, workers=0)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file: name a folder for the games"):
        play(preset("paper", (10,), 1), tmp_path / "file", workers=1)


def test_forecasters_do_not_play_sequences(tmp_path: Path) -> None:
    mixed = replace(FEW, adversaries=preset("post-processing").adversaries)
    with pytest.raises(ValueError, match="a forecaster plays an adversary"):
        play(mixed, tmp_path, workers=1)


# Rates


def synthetic(exponent: float, seeds: int, noise: float = 0.0) -> list[Played]:
    random = np.random.default_rng(0)
    rows = []
    for horizon in (10, 100, 1000):
        for adversary, factor in (("weak", 0.1), ("strong", 1.0)):
            for seed in range(seeds):
                error = factor * horizon**exponent * float(np.exp(noise * random.normal()))
                errors = {"ece": error, "cdl": error, "smcal": 0.0, "dtc": 0.0, "ucal": 0.0}
                rows.append(Played(Game("x", adversary, horizon, seed), (GameScore(horizon, errors),)))
    return rows


def test_rates_of_power_laws() -> None:
    exact = rate(synthetic(-0.5, 4), "x", "ece")
    assert exact.slope == pytest.approx(-0.5)
    assert (exact.low, exact.high) == pytest.approx((-0.5, -0.5))
    assert exact.against == ("strong",) * 3
    assert exact.worst == pytest.approx([10**-0.5, 0.1, 1000**-0.5])
    noisy = rate(synthetic(-1 / 3, 20, noise=0.1), "x", "cdl")
    assert noisy.low < -1 / 3 < noisy.high
    assert noisy.low < noisy.slope < noisy.high
    assert rate(synthetic(-1 / 3, 20, noise=0.1), "x", "cdl") == noisy  # the same resamples
    single = rate(synthetic(-0.5, 1), "x", "ece")
    assert single.slope == pytest.approx(-0.5)
    assert np.isnan([single.low, single.high]).all()
    assert np.isnan(rate(synthetic(-0.5, 2), "x", "dtc").slope)  # an error of 0 has no logarithm


def test_rates_refuse() -> None:
    played = synthetic(-0.5, 2)
    with pytest.raises(ValueError, match="measure must be one of 'dtc', 'smcal', 'ece', 'cdl', 'ucal'"):
        rate(played, "x", "brier")
    with pytest.raises(ValueError, match=r"no contestant 'y' played\. Choose among x"):
        rate(played, "y", "ece")
    with pytest.raises(ValueError, match="has not played every adversary"):
        rate(played[1:], "x", "ece")


# The games


@pytest.mark.slow
def test_the_papers_ordering(tmp_path: Path) -> None:
    pipeline, foster = "elementary + Laplace (paper)", "calibrated (Foster)"
    plan = part(preset("paper", (1000, 4000), 2), (pipeline, foster, "elementary"), ("fair coin", "walk", "opposing"))
    played = play(plan, tmp_path, workers=1)
    worst = {(name, m): rate(played, name, m).worst for name in plan.contestants for m in table.played()}
    for at in range(2):
        assert worst["elementary", "ece"][at] > worst[pipeline, "ece"][at] > 2 * worst[foster, "ece"][at]
        assert worst["elementary", "cdl"][at] > worst[pipeline, "cdl"][at] > worst[foster, "cdl"][at]
        assert worst["elementary", "dtc"][at] < worst[foster, "dtc"][at]
    for name in plan.contestants:
        for at, horizon in enumerate((1000, 4000)):
            for bound in plan.guarantees(name, horizon):
                key = next(key for key in table.played() if table.MEASURES[key].symbol == bound.quantity)
                assert worst[name, key][at] <= bound.value


def test_post_processing_between_its_bounds(tmp_path: Path) -> None:
    plan = preset("post-processing", (1000, 4000), 2)
    played = play(plan, tmp_path, workers=1)
    for at, horizon in enumerate((1000, 4000)):
        eps = post_processing.budget(horizon)
        for name in plan.contestants:
            one = rate(played, name, "ece").worst[at]
            assert tc.guarantees.lower_online_ece(eps).value <= one
            for bound in plan.guarantees(name, horizon):
                measure = "ece" if bound.quantity == "ECE" else "cdl"
                assert rate(played, name, measure).worst[at] <= bound.value
    assert rate(played, "nothing", "cdl").worst[-1] == 1.0
    assert rate(played, "nothing", "cdl").against[-1] == "rain"


@pytest.mark.parametrize("horizon", [144, 1001, 5000])
@pytest.mark.parametrize("world", list(preset("post-processing").adversaries))
def test_worlds_keep_to_their_budget(world: str, horizon: int) -> None:
    played = preset("post-processing").adversaries[world](horizon, 1)
    assert isinstance(played, Sequence)
    assert len(played.predictions) == len(played.outcomes) == horizon
    dtc = tc.dtc(tc.Predictor.from_samples(played.outcomes, played.predictions))
    assert dtc <= post_processing.budget(horizon) + 2 / horizon  # whole numbers of ones
    assert dtc >= post_processing.budget(horizon) / 2


def test_untouched_has_no_guarantee() -> None:
    assert proved(preset("post-processing").contestants["nothing"](100, 0), 100) == ()


def test_the_brier_regret_is_over_the_best_constant() -> None:
    assert brier_regret(np.array([1.0, 0.5, 0.0]), np.array([1, 0, 0])) == 0.0  # better than any constant
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, y = rng.random(30), rng.integers(0, 2, 30)
        best = min(np.mean((k / 3000 - y) ** 2) for k in range(3001))  # the base rate is a multiple of 1/30
        assert brier_regret(p, y) == pytest.approx(max(0.0, np.mean((p - y) ** 2) - best), abs=1e-12)


def test_multi_calibeating_plays_within_its_bound(tmp_path: Path) -> None:
    whole = preset("paper", (50, 100, 800), 2)
    plan = part(whole, ("multi-calibeating", "noisy mean", "elementary"), tuple(whole.adversaries))
    played = play(plan, tmp_path, workers=1)
    regrets = [one for one in proved_and_played(plan, played) if one[1].quantity == "Brier regret"]
    assert {game.contestant for game, _, _ in regrets} == {"multi-calibeating", "noisy mean"}
    assert len(regrets) == 2 * 8 * 2 * 3
    assert all(error <= bound.value for _, bound, error in regrets)
    combined = rate(played, "multi-calibeating", "brier_regret")
    assert combined.symbol == "Brier regret"
    assert combined.slope < -0.6
    assert combined.worst[-1] < rate(played, "elementary", "brier_regret").worst[-1]


# Table and picture


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_table_and_picture(name: str, tmp_path: Path) -> None:
    whole = preset(name, (20, 40), 2)
    plan = part(whole, tuple(whole.contestants)[:4], tuple(whole.adversaries)[:2])
    played = play(plan, tmp_path, workers=1)
    result = result_of(plan, played, ("ece", "dtc"))
    text = plain_text(lambda frame: arena_page(result, frame), 160)
    for contestant in contestants(played):
        assert contestant in text
    assert "T = 40" in text
    assert "Known rates of ECE: T^-0.25 ≤" in text
    ax = plot_rates(result, "ece")
    assert len(ax.lines) == len(plan.contestants) + sum(line.measure == "ece" for line in plan.known)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert plot_rates(result, "dtc", ax=ax) is ax
    save_picture(result_of(plan, played, ("ece", "cdl")), tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
    single = result_of(plan, played, ("ece",))
    html = arena_html(single)
    same = html == arena_html(single)  # not in the assertion: pytest would show all the difference
    assert same
    assert html.count("<svg") == 1
    assert 'href="http' not in html
    assert "src=" not in html


def test_proved_bounds_are_compared_with_every_game(tmp_path: Path) -> None:
    plan = part(
        preset("paper", (20, 400), 2), ("calibrated (Foster)", "elementary", "running mean"), ("fair coin", "drift")
    )
    played = play(plan, tmp_path, workers=1)
    compared = list(proved_and_played(plan, played))
    assert {game.contestant for game, _, _ in compared} == {"calibrated (Foster)", "elementary"}
    assert all(error <= bound.value for _, bound, error in compared)
    assert all(not bound.vacuous for _, bound, _ in compared)
    text = " ".join(plain_text(lambda frame: arena_page(result_of(plan, played, ("ece",)), frame), 160).split())
    assert f"{len(compared)} proved bounds were compared with single games; none exceeded. The nearest:" in text
    bold = replace(plan, proved=lambda contestant, horizon: (Bound("ECE", 1e-9, "a mistake", proved=False),))
    text = " ".join(plain_text(lambda frame: arena_page(result_of(bold, played, ("ece",)), frame), 160).split())
    assert "24 proved bounds were compared with single games; 24 exceeded." in text
    none = replace(plan, proved=lambda contestant, horizon: ())
    assert "Nothing is proved about these games." in plain_text(
        lambda frame: arena_page(result_of(none, played, ("ece",)), frame), 160
    )


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    arena.add_command(parser.add_subparsers())
    where = ["--out", str(tmp_path / "games"), "--png", str(tmp_path / "a.png"), "--html", str(tmp_path / "a.html")]
    line = ["arena", "--preset", "post-processing", "--horizons", "20", "40", "--seeds", "1", "--workers", "1", *where]
    printed = []
    for _ in range(2):
        options = parser.parse_args(line)
        assert options.run(options) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "random rounding" in printed[0]
    assert len(list((tmp_path / "games").iterdir())) == 50
    assert (tmp_path / "a.png").exists()
    assert "random rounding" in (tmp_path / "a.html").read_text()
    options = parser.parse_args(["arena", "--horizons", "3", *where])
    with pytest.raises(ValueError, match="a horizon must be a whole number, 10 or more, not 3"):
        options.run(options)


def test_outcomes_of_a_file_are_replayed_in_its_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "served.csv"
    outcomes = np.random.default_rng(0).integers(0, 2, 60)
    file.write_text("p,y\n" + "".join(f"0.5,{y}\n" for y in outcomes))
    line = ["arena", "--horizons", "20", "40", "--seeds", "1", "--workers", "1", "--out", str(tmp_path / "games")]
    assert main([*line, "--replay", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "ECE, slope against" in printed
    assert "served " in printed
    y, p = rows_in_order(file, reading(file))
    assert y.tolist() == outcomes.tolist()
    assert set(p) == {0.5}
    assert main([*line[:2], "100", *line[4:], "--replay", str(file)]) == 2
    assert "100 rounds need as many outcomes, but there are 60 to replay" in capsys.readouterr().err
    assert main([*line, "--preset", "post-processing", "--replay", str(file)]) == 2
    assert "choose the preset paper" in capsys.readouterr().err


def test_inputs_and_outputs_are_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("p,y\n0.5,1\n")
    for options, message in (
        (["--replay", "*.csv", "--html", "rows.csv"], "rows.csv is being read"),
        (["--replay", "*.csv", "--png", "rows.csv"], "rows.csv is being read"),
        (["--png", "x.png", "--html", "x.png"], "x.png cannot be both"),
    ):
        assert main(["arena", "--horizons", "10", "--seeds", "1", "--workers", "1", *options]) == 2
        assert message in capsys.readouterr().err
    assert Path("rows.csv").read_text() == "p,y\n0.5,1\n"
    assert os.listdir() == ["rows.csv"]
