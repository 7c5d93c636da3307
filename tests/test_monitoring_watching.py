"""Watching a stream: no row is lost or counted twice, however it is stopped; faults are reported and skipped."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.bets import slow_e_value
from tests.tampering import resealed
from trustcal.cli import main
from trustcal.monitoring import Monitor, WatchReport, watch
from trustcal.monitoring.following import HEAD, LONGEST, FileChunks, Lines, PipeChunks
from trustcal.monitoring.line_parser import LineFault, LineFormat, StreamColumns, StreamRow
from trustcal.monitoring.pending import PendingPredictions
from trustcal.report.terminal.watch import TerminalView

WINDOW = 40
DRIVER = """
import sys
from trustcal.monitoring import Monitor
from trustcal.monitoring import watch
from trustcal.report.terminal.watch import TerminalView
source, state = sys.argv[1:]
settings = {"monitor": Monitor(window=40), "state": state or None, "save_seconds": 0.02, "view": TerminalView()}
try:
    watch(source, prediction="p", outcome="y", **settings)
except ValueError as error:
    sys.exit(f"trustcal: {error}")
"""


def rows(n: int, seed: int = 0) -> list[tuple[float, int]]:
    rng = np.random.default_rng(seed)
    q = rng.random(n).round(4)
    return list(zip(q.tolist(), (rng.random(n) < q**1.2).astype(int).tolist(), strict=True))


def csv_of(pairs: list[tuple[float, int]]) -> str:
    return "p,y\n" + "".join(f"{q},{y}\n" for q, y in pairs)


def fed(pairs: list[tuple[float, int]], window: int = WINDOW) -> Monitor:
    monitor = Monitor(window=window)
    if pairs:
        monitor.learn_many([q for q, _ in pairs], [y for _, y in pairs])
    return monitor


def watched(source: Path, state: Path | None = None, row_id: str | None = None, pending: int = 1000) -> WatchReport:
    return watch(
        source,
        prediction="p",
        outcome="y",
        row_id=row_id,
        monitor=Monitor(window=WINDOW),
        state=state,
        follow=False,
        pending=pending,
    )


def monitor_in(state: Path) -> Monitor:
    return Monitor.from_json(json.loads(state.read_text())["monitor"])


def told(report: WatchReport) -> dict[str, list[int]]:
    """The lines of the faults that are shown, by kind."""
    kinds = {fault.kind for fault in report.faults.first}
    return {kind: [fault.line for fault in report.faults.first if fault.kind == kind] for kind in kinds}


@contextmanager
def running(source: str, state: Path | str, stdin: int | None = None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", DRIVER, source, str(state)]
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)


def rounds_in(state: Path) -> int:
    return monitor_in(state).rounds if state.exists() else 0


# --- stopping and resuming -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_repeatedly_while_the_file_grows(tmp_path: Path) -> None:
    """SIGKILL at any point after a save: the result is that of an undisturbed watch."""
    file, state, pairs = tmp_path / "rows.csv", tmp_path / "state.json", rows(1000)
    data = csv_of(pairs).encode()
    file.write_bytes(data[:50])
    written = 50
    for target in (2300, 5003, 8190):  # in the middle of lines
        with running(str(file), state) as process, file.open("ab") as growing:
            before = rounds_in(state)
            while written < target:
                growing.write(data[written : written + 331])
                growing.flush()
                written = min(written + 331, len(data))
            until(lambda before=before: rounds_in(state) > before)  # type: ignore[misc]
            process.kill()
            process.wait()
    with file.open("ab") as growing:
        growing.write(data[written:])
    assert 0 < rounds_in(state) < 1000
    report = watched(file, state)
    undisturbed = watched(file)
    assert report.to_json() == undisturbed.to_json()
    assert monitor_in(state).to_json() == fed(pairs).to_json()


def test_a_file_whose_rows_are_skipped_was_not_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p,y\n" + "0.5,won\n" * 3 + "0.5,1\n" * 2)
    assert main(["watch", str(file), "-p", "p", "-y", "y", "--no-follow"]) == 2
    assert "3 rows were skipped, more than the 2 that were watched. trustcal audit says" in capsys.readouterr().err
    file.write_text("p,y\n" + "0.5,won\n" * 2 + "0.5,1\n" * 2)
    assert main(["watch", str(file), "-p", "p", "-y", "y", "--no-follow"]) == 0


def test_an_interrupt_leaves_the_state_and_the_report(tmp_path: Path) -> None:
    file, state, pairs = tmp_path / "rows.csv", tmp_path / "state.json", rows(100)
    file.write_text(csv_of(pairs) + "0.5")  # the last line has no end yet
    with running(str(file), state) as process:
        until(lambda: rounds_in(state) == 100)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert ".csv up to line 101: 100 rows" in " ".join(out.split())
    assert "Distance to calibration" in out
    assert monitor_in(state).to_json() == fed(pairs).to_json()


def test_an_idle_pipe_can_be_ended(tmp_path: Path) -> None:
    state, pairs = tmp_path / "state.json", rows(60)
    with running("-", state, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(csv_of(pairs))
        process.stdin.flush()
        until(lambda: rounds_in(state) == 60)
        process.send_signal(signal.SIGTERM)
        until(lambda: process.poll() is not None)
        assert process.stdout is not None
        assert "Read the standard input up to line 61: 60 rows" in process.stdout.read()
    assert process.returncode == 0


@pytest.mark.slow
def test_a_truncated_file_ends_the_watch_with_a_message(tmp_path: Path) -> None:
    file, state, pairs = tmp_path / "rows.csv", tmp_path / "state.json", rows(100)
    file.write_text(csv_of(pairs))
    with running(str(file), state) as process:
        until(lambda: rounds_in(state) == 100)
        os.truncate(file, 20)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "was truncated to 20 bytes" in err
    assert "100 rows" in out
    with pytest.raises(ValueError, match=r"does not begin with the .* bytes .* that were counted before"):
        watched(file, state)
    assert monitor_in(state).to_json() == fed(pairs).to_json()


@pytest.mark.parametrize("cut", [4, 5, 30, 31, 99, 250])
def test_resumed_after_any_byte(tmp_path: Path, cut: int) -> None:
    """A watch that stops at any byte and resumes when the file has grown reports the same."""
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    data = (csv_of(rows(30)) + "x,1\n").encode()
    whole = data[: data[:cut].rfind(b"\n") + 1]  # a line counts once its end has come
    file.write_bytes(whole)
    watched(file, state)
    file.write_bytes(data)
    assert watched(file, state).to_json() == watched(file).to_json()


def test_a_last_line_without_a_break_counts_at_the_end_and_may_get_its_break_later(tmp_path: Path) -> None:
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text("p,y\n0.5,1\n0.25,0")
    assert watched(file, state).rounds == 2
    assert watched(file, state).rounds == 2
    file.write_text("p,y\n0.5,1\n0.25,0\r\n0.125,0\n")
    report = watched(file, state)
    assert (report.rounds, report.lines, report.faults.total) == (3, 4, 0)
    file.write_text("p,y\n0.5,1\n0.25,0\r\n0.125,0\n0.3,1")
    watched(file, state)
    file.write_text("p,y\n0.5,1\n0.25,0\r\n0.125,0\n0.3,11\n")
    with pytest.raises(ValueError, match="line 5, the last one counted, was incomplete and has grown since"):
        watched(file, state)
    assert rounds_in(state) == 4


def test_a_state_is_only_for_the_same_watch(tmp_path: Path) -> None:
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(csv_of(rows(5)))
    watched(file, state)
    with pytest.raises(
        ValueError, match=r"saved with other pending: 1000, not 7\. Use the same, or another state file"
    ):
        watched(file, state, pending=7)
    with pytest.raises(ValueError, match="saved with other columns"):
        watched(file, state, row_id="id")
    with pytest.raises(ValueError, match=r"saved with other monitor: .*'window': 40.* not .*'window': 9"):
        watch(file, prediction="p", outcome="y", monitor=Monitor(window=9), state=state)
    file.write_text(csv_of(rows(5, seed=1)))
    with pytest.raises(ValueError, match="it was truncated or rewritten, or is another stream"):
        watched(file, state)
    state.write_text(fed([]).to_json())
    with pytest.raises(ValueError, match="not a saved Watch"):
        watched(file, state)


def test_a_pipe_brings_new_rows_or_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, pairs = tmp_path / "state.json", rows(50)

    def piped(text: str, replay: bool) -> WatchReport:
        inlet, outlet = os.pipe()
        os.write(outlet, text.encode())
        os.close(outlet)
        with os.fdopen(inlet) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return watch(
                "-",
                prediction="p",
                outcome="y",
                monitor=Monitor(window=WINDOW),
                state=state,
                replay=replay,
            )

    piped(csv_of(pairs[:20]), replay=False)
    report = piped(csv_of(pairs[:30]), replay=True)
    assert (report.rounds, report.lines) == (30, 31)
    report = piped(csv_of(pairs[30:]), replay=False)
    assert (report.rounds, report.lines) == (50, 21)
    assert monitor_in(state).to_json() == fed(pairs).to_json()
    with pytest.raises(ValueError, match="the standard input does not begin with"):
        piped(csv_of(pairs), replay=True)


# --- invalid lines ---------------------------------------------------------------------------------------------------


def test_faults_are_counted_with_their_lines_and_skipped(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    lines = ["name,p,y", "a,0.5,1", "b,nan,0", "c,1.2,0", "", "d,high,1", "e,0.5,", "f,0.5,2", "g,0.25", 'h,"0.5,1']
    lines += ['"i, with a comma",0.75,yes', "j,-0.0,FALSE", "k,,1", "l,1_0,1", "m,0.5,maybe", "n, 0.5 , 1.0 "]
    file.write_bytes("\r\n".join(lines).encode() + b"\r\n\xff\xfe,0.5,1\r\n")
    report = watched(file)
    assert report.rounds == 4
    assert (report.lines, report.finished) == (17, True)
    assert told(report) == {
        "bad prediction": [3, 4, 6],
        "bad outcome": [7, 8, 15],
        "unreadable line": [9, 10, 17],
    }
    assert report.faults.counts == {"bad prediction": 5, "bad outcome": 3, "unreadable line": 3}
    assert "line 4: bad prediction: 1.2 is not in [0, 1] (row skipped)" in str(report).splitlines()
    assert "line 8: bad outcome: '2' is not 0 or 1 (row skipped)" in str(report).splitlines()
    assert str(report).startswith(f"Read {file} to its end (line 17): 4 rows.\nNo alarm in 4 rows. ")


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = ['{"p": 0.5, "y": true}', '{"p": NaN, "y": 0}', '{"y": 1, "p": "0.25"}', "[1]", '{"p": 0.5}', '{"p": true}']
    file.write_text("\n".join([*lines, '{"p": 0.5, "y": null}', '{"p": 1e999, "y": 0}', "{", "[" * 100_000]))
    report = watched(file)
    assert report.rounds == 2
    assert told(report) == {"bad prediction": [2, 6, 8], "bad outcome": [5, 7], "unreadable line": [4, 9, 10]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q,y\n0.5,1\n", "the first line has no column 'p'.* Its columns are: q, y"),
        ("P,y\n0.5,1\n", r"rows.csv: the first line has no column 'p'\. Did you mean 'P'\?"),
        ("p,p,y\n0.5,0.5,1\n", "the first line has 2 columns called 'p'"),
        ('{"q": 0.5, "y": 1}\n', "the first line has no column 'p'.* Its columns are: q, y"),
        ('{"p": 0.5, "y"\n', "begins like JSON but is not"),
        ('"p,y\n', "must name the columns"),
        ("x" * (LONGEST + 1), "line 1 is longer than"),
    ],
)
def test_a_stream_without_a_table_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        watched(file, state)
    assert not state.exists()


def test_other_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        watched(tmp_path / "no.csv")
    with pytest.raises(ValueError, match="cannot be followed: it is a folder"):
        watched(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is not a regular file: pipe it into the standard input"):
        watched(tmp_path / "pipe.csv")
    (tmp_path / "rows.csv").write_text(csv_of(rows(3)))
    for state in (tmp_path, tmp_path / "no" / "state.json"):
        with pytest.raises(ValueError, match=r"is a folder: name a file|the folder .* does not exist"):
            watched(tmp_path / "rows.csv", state)
    with pytest.raises(ValueError, match="is a device or a pipe: name a file"):
        watched(tmp_path / "rows.csv", tmp_path / "pipe.csv")
    watched(tmp_path / "rows.csv", tmp_path / "other.json")
    damaged = resealed({**json.loads((tmp_path / "other.json").read_text()), "monitor": 5}).encode()
    for content, message in (
        (b"\xff", "it is not UTF-8 text"),
        (b"p,y\n", r"other\.json: this is not a saved Watch: not JSON"),
        (damaged, "the state is damaged"),
    ):
        (tmp_path / "other.json").write_bytes(content)
        with pytest.raises(ValueError, match=message):
            watched(tmp_path / "rows.csv", tmp_path / "other.json")
        assert (tmp_path / "other.json").read_bytes() == content
    with pytest.raises(ValueError, match="the state must be in a file of its own"):
        watched(tmp_path / "rows.csv", tmp_path / "no" / ".." / "rows.csv")
    (tmp_path / "rows.csv.gz").write_bytes(b"\x1f\x8b\n")
    with pytest.raises(ValueError, match="the first line is not UTF-8 text"):
        watched(tmp_path / "rows.csv.gz")
    with pytest.raises(ValueError, match="columns must be different"):
        watch("-", prediction="p", outcome="p", monitor=Monitor())
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    report = watched(empty)
    assert (report.rounds, report.snapshot) == (0, None)
    assert "0 rows" in str(report)


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_delimiters(delimiter: str) -> None:
    form = LineFormat.of(delimiter.join(["a", "p", "y"]), StreamColumns("p", "y", None))
    assert form.row(delimiter.join(["1", "0.5", "t"]), 9) == StreamRow(9, "", 0.5, True)


@given(
    st.lists(st.sampled_from('0.19_e-+n ,;"x\t'), max_size=8).map("".join),
    st.sampled_from(["1", "0", "yes", " 1", "", "2"]),
)
def test_the_quick_way_agrees_with_the_careful_one(prediction: str, outcome: str) -> None:
    form = LineFormat.of("p,y", StreamColumns("p", "y", None))
    for text in (f"{prediction},{outcome}", f"0{prediction},1", "0.5,1"):
        quick, careful = form.plain_pair(text), form.row(text, 1)
        if quick is not None:
            assert careful == StreamRow(1, "", *quick)
    assert form.plain_pair("0.5,1") == (0.5, True)


# --- late outcomes ---------------------------------------------------------------------------------------------------


def test_outcomes_may_come_later_and_pairs_keep_the_order_of_predictions(tmp_path: Path) -> None:
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    first = ["id,p,y", "a,0.1,", "b,0.2,", "c,0.3,1", "b,,0", "zz,,1", "b,,1", "b,0.9,"]
    then = ["a,,1", "a,,1", "d,0.4,", ",0.5,1", "e,,", "f,0.6,0"]
    file.write_text("\n".join([*first, *then]) + "\n")
    report = watched(file, state, row_id="id")
    assert monitor_in(state).to_json() == fed([(0.1, 1), (0.2, 0), (0.3, 1)]).to_json()
    assert told(report) == {
        "outcome without prediction": [6, 7, 10],
        "repeated prediction": [8],
        "no id": [12],
        "bad prediction": [13],
    }
    assert (report.waiting, report.unanswered) == (2, 1)  # d for its outcome, f for its turn
    file.write_text("\n".join([*first, *then, "d,,1"]) + "\n")
    report = watched(file, state, row_id="id")
    assert monitor_in(state).to_json() == fed([(0.1, 1), (0.2, 0), (0.3, 1), (0.4, 1), (0.6, 0)]).to_json()
    assert (report.faults.total, report.waiting) == (6, 0)


def test_the_end_of_a_stream_does_not_select_by_outcome(tmp_path: Path) -> None:
    """A calibrated stream with frauds known at once, honest payments 1000 rows later: no alarm."""
    rng, file = np.random.default_rng(0), tmp_path / "rows.csv"
    fraud = rng.random(2000) < 0.05
    late = {t + 1000: f"{t},,0\n" for t in range(1000) if not fraud[t]}
    now = {t: f"{t},,1\n" for t in range(2000) if fraud[t]}
    file.write_text("id,p,y\n" + "".join(f"{t},0.05,\n{now.get(t, '')}{late.get(t, '')}" for t in range(2000)))
    report = watched(file, row_id="id", pending=2000)
    assert report.snapshot is not None
    assert report.snapshot.alarm.alarmed_at is None
    assert report.rounds == 1000 + int(np.argmin(fraud[1000:]))
    assert report.rounds + report.waiting == 2000
    assert report.faults.total == 0


def test_at_most_pending_predictions_wait(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,p,y\n" + "".join(f"{i},0.5,\n" for i in range(10)) + "0,,1\n9,,1\n")
    report = watched(file, row_id="id", pending=4)
    assert report.faults.counts == {"outcome given up": 6, "outcome without prediction": 1}
    assert (report.rounds, report.waiting, report.unanswered) == (0, 4, 3)


@given(st.permutations(range(12)), st.integers(0, 24))
def test_any_delay_gives_the_same_pairs_also_from_a_saved_queue(order: list[int], cut: int) -> None:
    """All predictions, then their outcomes in any order."""
    events = [StreamRow(i, str(i), i / 20, None) for i in range(12)] + [
        StreamRow(12, str(i), None, i % 3 == 0) for i in order
    ]
    waiting, left = PendingPredictions(limit=100), []
    for number, event in enumerate(events):
        if number == cut:
            waiting = PendingPredictions(100, json.loads(json.dumps(waiting.entries)))
        left += list(waiting.take(event))
    assert left == [(i / 20, i % 3 == 0) for i in range(12)]
    assert len(waiting) == 0


def test_waiting_predictions_are_in_the_state(tmp_path: Path) -> None:
    """They stay there until their outcomes arrive, whether the watch was interrupted or finished."""
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text("p,y,id\n0.25,,a\n0.75,1,b\n")
    script = DRIVER.replace('outcome="y"', 'outcome="y", row_id="id"')
    command = [sys.executable, "-c", script, str(file), str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        until(lambda: state.exists() and json.loads(state.read_text())["position"]["lines"] == 3)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert "Predictions waiting for their outcome: 1; behind an earlier one: 1." in out
    file.write_text("p,y,id\n0.25,,a\n0.75,1,b\n,0,a\n")
    report = watched(file, state, row_id="id")
    assert report.faults.total == 0
    assert monitor_in(state).to_json() == fed([(0.25, 0), (0.75, 1)]).to_json()


# --- bytes and lines -------------------------------------------------------------------------------------------------


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x00", b"\n")), st.lists(st.integers(0, 60), max_size=5))
def test_lines_do_not_depend_on_chunks(data: bytes, cuts: list[int]) -> None:
    lines, found, ends = Lines(), [], sorted({0, *cuts, len(data)})
    for begin, end in itertools.pairwise(ends):
        found += lines.cut(data[begin:end])
    found += lines.last()
    assert found == (data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n") if data else [])
    assert (lines.position.offset, lines.position.lines) == (len(data), len(found))


@pytest.mark.parametrize("size", [100, 3 * HEAD])
def test_following_a_file_detects_changes(tmp_path: Path, size: int) -> None:
    file = tmp_path / "rows.csv"

    def following() -> FileChunks:
        file.write_bytes(b"x" * size)
        chunks = FileChunks(file, follow=True)
        while chunks.read(0.0):
            pass
        return chunks

    chunks = following()
    assert chunks.read(0.0) is None
    with file.open("ab") as more:
        more.write(b"y")
    assert chunks.read(0.0) == b"y"
    os.truncate(file, size - 1)
    with pytest.raises(ValueError, match="was truncated to"):
        chunks.read(0.0)
    chunks.close()

    chunks = following()
    file.write_bytes(b"z" * (size + 10))  # cut and filled again before anyone looked
    with pytest.raises(ValueError, match="was rewritten"):
        chunks.read(0.0)
    chunks.close()

    chunks = following()
    file.rename(tmp_path / "rows.csv.1")
    with pytest.raises(ValueError, match="was removed or renamed"):
        chunks.read(0.0)
    file.write_bytes(b"x" * size)
    with pytest.raises(ValueError, match="was replaced by another file"):
        chunks.read(0.0)
    chunks.close()


def test_what_was_written_before_a_rotation_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"1")
    chunks = FileChunks(file, follow=True)
    assert chunks.read(0.0) == b"1"
    with file.open("ab") as more:
        more.write(b"2")
    file.rename(tmp_path / "rows.csv.1")
    assert chunks.read(0.0) == b"2"
    with pytest.raises(ValueError, match="removed or renamed"):
        chunks.read(0.0)
    chunks.close()


def test_an_idle_pipe_is_not_its_end() -> None:
    inlet, outlet = os.pipe()
    chunks = PipeChunks(inlet)
    assert chunks.read(0.0) is None
    os.write(outlet, b"abcdef")
    assert (chunks.skip(4), chunks.read(0.0)) == (b"abcd", b"ef")
    os.close(outlet)
    assert chunks.read(10.0) == b""
    os.close(inlet)


# --- output ----------------------------------------------------------------------------------------------------------


def test_lines_outside_terminals_and_the_alarm(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.csv", io.StringIO()
    file.write_text("p,y\n" + "0.5,1\n" * 25 + "2,1\n" + "1,0\n")
    monitor = Monitor(window=WINDOW)
    watch(file, prediction="p", outcome="y", monitor=monitor, follow=False, view=TerminalView(10, Console(file=out)))
    shown = out.getvalue().splitlines()
    assert shown[0] == "line 27: bad prediction: 2.0 is not in [0, 1] (row skipped)"
    values = "monotone_cdl 1.0000  cutoff 0.5000  dtc 0.5000  smcal 0.5000  ece 0.5000  cdl 1.0000"
    assert shown[1] == f"row 10  {values}  e-value {slow_e_value([(0.5, True)] * 10):.3g}"
    at = next(n for n in range(25) if slow_e_value([(0.5, True)] * n) >= 100)
    assert shown[2].startswith(f"ALARM at row {at}: predictions are ")
    assert sum("ALARM" in line for line in shown) == 2  # once when it occurs, once in the report
    assert monitor.alarm.failed_at == 26


def test_a_terminal_shows_a_page_and_then_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, out = Path("[bold].csv"), io.StringIO()
    file.write_text(csv_of(rows(300)))
    console = Console(file=out, force_terminal=True, width=100, height=40)
    watch(
        file,
        prediction="p",
        outcome="y",
        monitor=Monitor(window=WINDOW),
        follow=False,
        view=TerminalView(console=console),
    )
    shown = out.getvalue()
    assert "Read [bold].csv to its end (line 301): 300 rows." in shown
    assert shown.index("if calibrated") < shown.index("to its end") < shown.rindex("if calibrated")


def test_the_smallest_p_value_of_the_simulations_is_an_upper_bound(tmp_path: Path) -> None:
    file, out = tmp_path / "served.csv", io.StringIO()
    file.write_text("p,y\n" + "0.9,0\n" * 200)
    view = TerminalView(console=Console(file=out, width=100))
    watch(file, prediction="p", outcome="y", monitor=Monitor(window=WINDOW), follow=False, view=view)
    assert re.search(r"p-value of calibration[ |]+≤ 0\.02 ", out.getvalue())


def test_faults_have_a_policy() -> None:
    fault = LineFormat.of("p,y,id", StreamColumns("p", "y", "id")).row("0.5,1, ", 3)
    assert fault == LineFault("no id", 3, "' ' is not an id")
