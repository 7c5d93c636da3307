"""Commands that are killed, interrupted, or that nobody listens to: no row is lost, and no file is half written."""

from __future__ import annotations

import gzip
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trustcal import read
from trustcal.cli import main
from trustcal.monitoring import Monitor
from trustcal.writing import atomically, only_writer

ROWS = 20_000
COMMAND = [sys.executable, "-m", "trustcal"]
WATCH = ["-p", "p", "-y", "y", "--no-follow"]


def rows(seed: int = 0, count: int = ROWS) -> list[tuple[float, int]]:
    rng = random.Random(seed)
    return [(round(rng.random(), 6), rng.randrange(2)) for _ in range(count)]


def write(file: Path, pairs: list[tuple[float, int]]) -> None:
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"p": [p for p, _ in pairs], "y": [y for _, y in pairs]}), file)
        return
    if ".jsonl" in file.name:
        text = "".join(f'{{"p": {p}, "y": {y}}}\n' for p, y in pairs)
    else:
        text = "p,y\n" + "".join(f"{p},{y}\n" for p, y in pairs)
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())


def started(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | options
    return subprocess.Popen([*COMMAND, *arguments], **pipes)


def hidden(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def few(first: Any, *others: Any) -> list[Any]:
    """The first is quick; the others start a process too, and are left to the slow tests."""
    return [first, *(pytest.param(other, marks=pytest.mark.slow) for other in others)]


# --- fix: the old file or the new one

FORMATS = ("in.csv", "in.jsonl", "in.csv.gz", "in.parquet")


def noise(file: Path, place: str) -> list[str]:
    target = ["--in-place"] if place == "in place" else ["-o", str(file.with_name(f"out{''.join(file.suffixes)}"))]
    return ["fix", str(file), "-p", "p", "--eps", "0.01", "--seed", "1", *target]


IMPORTED = """
import sys
from trustcal.cli import main
import trustcal.rewriting, trustcal.report.terminal.fix, rich.progress, duckdb, pyarrow.parquet
print("imported", flush=True)
sys.exit(main(sys.argv[1:]))
"""
"""Runs a command, and says when its imports are done: it is killed while it works."""
LONGEST = 0.3
"""Seconds that fix needs, about."""


def killed(folder: Path, name: str, place: str, times: int) -> None:
    """Kill fix; what is left must be whole."""
    file = folder / name
    write(file, rows())
    before = file.read_bytes()
    target = file if place == "in place" else file.with_name(f"out{''.join(file.suffixes)}")
    command = [sys.executable, "-c", IMPORTED, *noise(file, place)]
    for kill in range(times):
        number = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)[kill % 3]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"imported\n"
            time.sleep(LONGEST * (kill + 1) / times)
            running.send_signal(number)
            running.communicate(timeout=60)
        assert running.returncode in (0, -number, 128 + number)
        if target.exists() and target.read_bytes() != before:
            assert read(target, prediction="p_noised", outcome="y").rows == ROWS
            target.unlink()
            file.write_bytes(before)
        assert file.read_bytes() == before
        if running.returncode == 128 + number:  # it was told, and had time to clean up
            assert hidden(folder) == []
    assert main(noise(file, place)) == 0
    assert hidden(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["in place", "elsewhere"])
@pytest.mark.parametrize("name", FORMATS)
def test_fix_killed(name: str, place: str, tmp_path: Path) -> None:
    """Five times; in the nightly run thirty times for each format and place."""
    killed(tmp_path, name, place, int(os.environ.get("KILLS", "5")))


def test_what_a_killed_fix_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    script = f"""
import os, signal
from trustcal.writing import atomically
with atomically({str(target)!r}) as fresh:
    fresh.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", script], check=False)
        assert done.returncode == -signal.SIGKILL
        assert len(hidden(tmp_path)) == 1  # that of the one before is gone
    with atomically(target) as fresh:
        others = hidden(tmp_path)
        assert others == [fresh.name]
        with atomically(target) as second:  # a file that somebody writes is left alone
            second.write_text("second")
        assert fresh.exists()
        fresh.write_text("first")
    assert target.read_text() == "first"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("number", few(signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
def test_a_signal_cleans_up(number: signal.Signals, tmp_path: Path) -> None:
    script = f"""
import os, sys, time
from trustcal import cli
from trustcal.writing import atomically
def run(options):
    with atomically({str(tmp_path / "out.csv")!r}) as fresh:
        fresh.write_text("half")
        print("ready", flush=True)
        time.sleep(60)
cli.bound._bound = run
sys.exit(cli.main(["bound", "0.1"]))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        assert len(hidden(tmp_path)) == 1
        running.send_signal(number)
        assert running.wait(30) == 128 + number
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
def test_fix_in_place_keeps_owner_and_mode(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    write(file, rows(count=50))
    os.chown(file, 1234, 4321)
    file.chmod(0o640)
    assert main(noise(file, "in place")) == 0
    found = file.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (1234, 4321, 0o640)
    assert "p_noised" in file.read_text()


def test_an_interrupt_at_the_very_end_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the command has run, while the signal handlers are put back."""

    @contextmanager
    def late(received: list[int]) -> Iterator[None]:
        yield
        received.append(signal.SIGTERM)
        raise KeyboardInterrupt

    monkeypatch.setattr("trustcal.cli.ended_by_signals", late)
    assert main(["bound", "0.1"]) == 128 + signal.SIGTERM


def test_the_program_ends_with_its_status_and_with_what_it_has_to_do_at_exit() -> None:
    script = """
import atexit, sys
from trustcal import cli
def command(options):
    sys.stdout.write("printed")
    sys.stderr.write("said")
    return 1
cli.bound._bound = command
sys.argv[1:] = ["bound", "0.1"]
atexit.register(lambda: sys.stdout.write(", done"))
cli.run()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "printed, done", "said")


# --- watch: no row lost, none counted twice


@pytest.mark.parametrize("kill", few(0, 4))
@pytest.mark.parametrize("number", few(signal.SIGTERM, signal.SIGHUP, signal.SIGKILL))
def test_watch_killed(number: signal.Signals, kill: int, tmp_path: Path) -> None:
    file, state = tmp_path / "in.csv", tmp_path / "state.json"
    write(file, rows(count=2000))
    with started("watch", str(file), "-p", "p", "-y", "y", "--state", str(state), "--every", "100") as running:
        assert running.stdout is not None
        for _ in range(1 + 4 * kill):
            running.stdout.readline()
        running.send_signal(number)
        running.communicate(timeout=60)
        assert running.returncode == (0 if number != signal.SIGKILL else -number)
    if number != signal.SIGKILL:
        assert json.loads(Monitor.from_json(json.loads(state.read_text())["monitor"]).to_json())["rounds"] == 2000
    assert main(["watch", str(file), *WATCH, "--state", str(state)]) in (0, 3)
    undisturbed = tmp_path / "other.json"
    assert main(["watch", str(file), *WATCH, "--state", str(undisturbed)]) in (0, 3)
    assert state.read_text() == undisturbed.read_text()
    assert set(os.listdir(tmp_path)) - {".state.json.lock"} == {"in.csv", "state.json", "other.json"}


def test_watch_without_a_reader_saves_and_says_so(tmp_path: Path) -> None:
    file, state = tmp_path / "in.csv", tmp_path / "state.json"
    write(file, rows(count=3000))
    with started("watch", str(file), *WATCH, "--state", str(state), "--every", "10") as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(60) == 128 + signal.SIGPIPE
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert main(["watch", str(file), *WATCH, "--state", str(state)]) in (0, 3)
    assert Monitor.from_json(json.loads(state.read_text())["monitor"]).rounds == 3000


def test_two_watches_do_not_write_one_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, state = tmp_path / "in.csv", tmp_path / "state.json"
    write(file, rows(count=20))
    with only_writer(state):
        assert main(["watch", str(file), *WATCH, "--state", str(state)]) == 2
        assert "in use by another process" in capsys.readouterr().err
    assert main(["watch", str(file), *WATCH, "--state", str(state)]) in (0, 3)
    assert set(os.listdir(tmp_path)) == {"in.csv", "state.json"}


def test_an_error_between_lines_and_rows_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are counted, but not the rows: the old state is better."""
    file, state = tmp_path / "in.csv", tmp_path / "state.json"
    write(file, rows(count=20))
    assert main(["watch", str(file), *WATCH, "--state", str(state)]) in (0, 3)
    before = state.read_text()
    write(file, rows(count=40))

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Monitor, "learn_many", fail)
        assert main(["watch", str(file), *WATCH, "--state", str(state)]) == 70
    assert state.read_text() == before
    assert main(["watch", str(file), *WATCH, "--state", str(state)]) in (0, 3)
    assert Monitor.from_json(json.loads(state.read_text())["monitor"]).rounds == 40


# --- the last handler


def test_an_unexpected_error_is_one_line_with_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("\x1b[31m\nhuge" + "x" * 5000)

    monkeypatch.setattr("trustcal.guarantees.bounds", fail)
    assert main(["bound", "0.1"]) == 70
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("trustcal: unexpected error, KeyError:")
    assert "TRUSTCAL_DEBUG=1" in said.err
    assert said.err.count("\n") == 1
    assert len(said.err) <= 501
    assert said.err.rstrip("\n").isprintable()
    assert ". This is a bug: please" in said.err
    monkeypatch.setenv("TRUSTCAL_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["bound", "0.1"])


def test_a_full_disk_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fill(options: object) -> int:
        with atomically(tmp_path / "out.csv"):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*out\.csv'"):
        fill(None)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_streams(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    write(file, rows(count=60))
    audit = ["audit", str(file), "--draws", "0"]
    with open("/dev/full", "w") as full:
        with started(*audit, stderr=full) as running:
            out, _ = running.communicate(timeout=60)
            assert running.returncode == 0
            assert b"Rows" in out
        with started(*audit, "--fail-if", "loss>-1", stderr=full) as running:
            running.communicate(timeout=60)
            assert running.returncode == 1
        with started(*audit, stdout=full) as running:
            _, err = running.communicate(timeout=60)
            assert (running.returncode, b"No space left on device" in err, err.count(b"Traceback")) == (2, True, 0)


@pytest.mark.slow
def test_a_gate_fails_also_if_nobody_reads(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    write(file, rows(count=60))
    inlet, outlet = os.pipe()
    os.close(inlet)
    for gate, status in (("loss>-1", 1), ("loss>1", 0)):
        with started("audit", str(file), "--draws", "0", "--fail-if", gate, stdout=outlet) as running:
            running.communicate(timeout=60)
            assert running.returncode == status
    os.close(outlet)


def test_completion_without_argcomplete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert main(["bound", "0.1"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_killed_worker_of_the_arena_is_one_line(tmp_path: Path) -> None:
    command = ["arena", "--horizons", "100000", "--seeds", "2", "--workers", "2", "--out", str(tmp_path)]
    with started(*command) as running:
        worker = None
        while worker is None and running.poll() is None:
            time.sleep(0.1)
            found = subprocess.run(
                ["pgrep", "-P", str(running.pid), "-f", "spawn_main"], capture_output=True, check=False
            )
            worker = next(iter(found.stdout.split()), None)
        assert worker is not None
        time.sleep(1)
        os.kill(int(worker), signal.SIGKILL)
        _, err = running.communicate(timeout=120)
    assert (running.returncode, err.count(b"\n")) == (2, 1)
    assert b"a worker process was killed" in err


# --- the terminal: nothing of the user's that it would obey

ATTACK = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200f\x08\rname"
FORBIDDEN = ("\x1b[2J", "\x1b]0", "\x07", "\x9b", "\u202e", "\u2066", "\u200f", "\x08")


def on_a_terminal(*arguments: str, folder: Path) -> str:
    """What a command writes to a terminal."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    with started(*arguments, stdin=child, stdout=child, stderr=child, cwd=folder, env=environment) as running:
        os.close(child)
        data = b""
        while True:
            try:
                chunk = os.read(parent, 1 << 16)
            except OSError:  # the other side has closed it
                break
            if not chunk:
                break
            data += chunk
        running.wait(60)
    os.close(parent)
    return data.decode(errors="surrogateescape")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    field = '"' + ATTACK.replace("\r", "") + '"'
    pairs = rows(count=200)
    lines = [f"{p},{y},{field if i % 2 else 'b'}\n" for i, (p, y) in enumerate(pairs)]
    (folder / "in.csv").write_text(f"p,y,{field}\n" + "".join(lines), newline="")
    (folder / f"{ATTACK}.csv").write_text("p,y\n" + "".join(f"{p},{y}\n" for p, y in pairs) + f"x{ATTACK[:9]},1\n")
    payoff = f"action,0,1\n{field},0,0\ntreat{field[1:-1]},-1,3\n"
    (folder / "payoff.csv").write_text(payoff, newline="")
    return folder


@pytest.mark.parametrize(
    "arguments",
    few(
        ["audit", "in.csv", "-p", "p", "-y", "y", "--by", ATTACK.replace("\r", ""), "--payoff", "payoff.csv"],
        ["audit", f"{ATTACK}.csv"],
        ["audit", f"{ATTACK}.csv", "--drop-invalid", "--draws", "0"],
        ["audit", "in.csv", "-p", ATTACK],
        ["audit", "in.csv", "--fail-if", ATTACK],
        ["watch", f"{ATTACK}.csv", "-p", "p", "-y", "y", "--no-follow"],
        [ATTACK],
    ),
    ids=range(7),
)
def test_nothing_of_the_users_reaches_the_terminal_as_it_is(arguments: list[str], hostile: Path) -> None:
    said = on_a_terminal(*arguments, folder=hostile)
    assert len(said) > 20
    for text in FORBIDDEN:
        assert text not in said
    assert "Traceback" not in said
