"""Nothing that a file or an argument does ends in a traceback or a hang: exit code 2, one line, and nothing written."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trustcal import cli
from trustcal.cli import main

ROWS = [(0.05 + (i % 7) / 8, i % 2, 1 + i % 3, "ab"[i % 2]) for i in range(40)]
GOOD = "p,y,w,g\n" + "".join(f"{p},{y},{w},{g}\n" for p, y, w, g in ROWS)
SECONDS = 20
"""More than any of these takes on a busy machine; a hang takes for ever."""


class Hang(BaseException):
    """Not an error that a command could turn into a message."""


@contextmanager
def no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "good.csv").write_text(GOOD)
    (folder / "payoff.csv").write_text("action,0,1\nwait,0,0\ntreat,-1,3\n")
    return folder


@pytest.fixture(autouse=True, scope="module")
def one_parser() -> Iterator[None]:
    """Build the parser of the command line once: that takes longer than most of these commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_parser", cache(cli._parser))
        yield


def refused(arguments: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must refuse its input; return what it says."""
    before = {name: os.lstat(place / name).st_mtime_ns for name in os.listdir(place)}
    here = Path.cwd()
    os.chdir(place)
    try:
        with no_hang():
            status = main(arguments)
    finally:
        os.chdir(here)
    said = capsys.readouterr()
    assert (status, said.out) == (2, ""), said
    assert said.err.startswith("trustcal: ")
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1
    assert len(said.err) <= 501  # the line itself, and its end
    assert said.err.removesuffix("\n").isprintable()
    assert {name: os.lstat(place / name).st_mtime_ns for name in os.listdir(place)} == before
    return said.err


# --- arguments: the parser and the first checks, without any file

NUMBERS = ("nan", "inf", "-inf", "-1", "", "x", "1e", "0x1", "½", "--", "1,5", "[]", "None", "1e400x", "9" * 5000)
WHOLE = (*NUMBERS, "1.5", "1e3", "-9" * 40)
AUDIT, FIX = ["audit", "good.csv"], ["fix", "good.csv", "-p", "p", "-y", "y"]
NOISE = ["fix", "good.csv", "-p", "p", "-o", "out.csv"]
WATCH = ["watch", "good.csv", "-p", "p", "-y", "y", "--no-follow"]
NUMERIC: list[tuple[list[str], tuple[str, ...]]] = [
    (["bound"], (*NUMBERS, "0", "2", "1e-300", "1e-400")),
    (["bound", "0.1", "--horizon"], (*WHOLE, "0")),
    (["hard"], (*NUMBERS, "0", "0.3", "1", "1e-400")),
    ([*AUDIT, "--draws"], (*WHOLE, "10000000000000", "true")),
    ([*AUDIT, "--cells"], (*WHOLE, "0", "99999999999999999999", "true")),
    ([*AUDIT, "--seed"], (*WHOLE, "99999999999999999999", "true")),
    ([*AUDIT, "--resolution"], (*NUMBERS, "0.3", "2", "1e-320")),
    ([*FIX, "--keep-back"], (*NUMBERS, "1", "2")),
    ([*FIX, "--seed"], (*WHOLE, "99999999999999999999")),
    ([*NOISE, "--eps"], (*NUMBERS, "0", "1.5", "AUTO", "1e-400")),
    ([*NOISE, "--eps", "0.1", "--seed"], (*WHOLE, "99999999999999999999")),
    ([*WATCH, "--window"], (*WHOLE, "0", "99999999999999999999")),
    ([*WATCH, "--decay"], (*NUMBERS, "0", "1", "2")),
    ([*WATCH, "--alarm-rate"], (*NUMBERS, "0", "1", "1e-300", "2")),
    ([*WATCH, "--pending"], (*WHOLE, "0", "99999999999999999999")),
    ([*WATCH, "--every"], (*WHOLE, "0", "99999999999999999999")),
    (["arena", "--horizons"], (*WHOLE, "9", "0", "1000000000000000", "10 9")),
    (["arena", "--seeds"], (*WHOLE, "0", "100000000")),
    (["arena", "--workers"], (*WHOLE, "0")),
]
ARGUMENTS = [[*command, value] for command, values in NUMERIC for value in values]
GATES = (
    "cdl.p<1e-30", "cdl.p<1e-320", "cdl.p<0", "cdl.p<2", "cdl.p<-1", "loss", "loss>", ">0.1", "loss>nan", "loss>1e999",
    "loss>0_1", "loss>٠.٥", "loss>x", "loss=1", "loss==1", "loss!=1", "loss.zz>1", "zz>1", "zz.p<0.1", "regret.p<0.1",
    "regret>1", "group.loss>1", "group.cdl.lower>1", "group.zz>1", "cdl.p<0.0001", "loss>0.1>0.2", "loss>1 2",
    "\x1b[31mloss>1", "LOSS>1", "loss >", "", " ", "x" * 5000, "loss>" + "9" * 5000, "cdl.p<1e-9",
)  # fmt: skip
ARGUMENTS += [[*AUDIT, "--fail-if", gate] for gate in GATES]
ODD = ("\x1b]0;owned\x07", "\u202egnp.csv", "a\nb.csv", "\udcff.csv", "x" * 5000, "no.csv", "no/no.csv", "", ".", "~",
       "*.none", "[", "good.csv/x.csv", "/dev/null", "/dev/zero", "/proc/self/mem", "good", "good.xlsx.zip",
       "\u2028.csv", "nul\x00.csv", "-", "--", "https://example.org/x.csv", "s3://x/y.csv", "'; --.csv")  # fmt: skip
FILES: list[tuple[list[str], list[str]]] = [
    (["audit"], []),
    (["fix"], ["-p", "p", "-y", "y"]),
    (["fix"], ["-p", "p", "--eps", "0.1", "-o", "out.csv"]),
    (["watch"], ["-p", "p", "-y", "y", "--no-follow"]),
    (["compare"], ["-p", "p", "-p", "w", "-y", "y"]),
    ([*AUDIT, "--payoff"], []),
    ([*NOISE, "--remedy"], []),
    ([*WATCH, "--remedy"], []),
    (["arena", "--replay"], []),
]
ARGUMENTS += [[*before, name, *after] for before, after in FILES for name in ODD if (before[0], name) != ("watch", "-")]
OUTPUTS = [[*AUDIT, "--html"], [*FIX, "--save"], ["fix", "good.csv", "-p", "p", "--eps", "0.1", "-o"],
           [*WATCH, "--state"], ["arena", "--png"], ["arena", "--html"]]  # fmt: skip
ARGUMENTS += [
    [*command, name] for command in OUTPUTS for name in ("no/out.csv", "", ".", "/dev/null", "loop", "nul\x00")
]
ARGUMENTS += [[*command, "good.csv"] for command in OUTPUTS[:4]]
COLUMNS = ("", "P", "no", "p ", "\x1b[2J", "\u202ey", "x" * 5000, "a\nb", "\udcff", "p'; --", '"p"', "0")
ARGUMENTS += [[*AUDIT, flag, name] for flag in ("-p", "-y", "-w", "--by", "--cluster") for name in COLUMNS]
ARGUMENTS += [["fix", "good.csv", "-p", name, "--eps", "0.1", "-o", "out.csv"] for name in COLUMNS]
ARGUMENTS += [["watch", "good.csv", "-p", name, "-y", "y", "--no-follow"] for name in COLUMNS]
ARGUMENTS += [["watch", "good.csv", "-p", "p", "-y", name, "--no-follow"] for name in COLUMNS]
ARGUMENTS += [
    [], ["nothing"], ["audit"], ["fix"], ["watch"], ["bound"], ["hard"], ["audit", "good.csv", "--no"], ["\x1b[31m"],
 ["fix", "good.csv", "-p", "p", "-o", "out.csv"], [*FIX, "--in-place"],
    [*NOISE, "--eps", "0.1", "--in-place"], [*NOISE, "--eps", "0.1", "--noise", "none"],
    [*NOISE, "--eps", "0.1", "--target", "x"], [*FIX, "--method", "magic"], [*AUDIT, "-p", "y", "-y", "y"],
    [*AUDIT, "--positive", "maybe"], ["watch", "good.csv", "-p", "p", "-y", "p"], ["compare", "good.csv", "-p", "p"],
    ["bound", "0.1", "--target", "x"], ["arena", "--preset", "x"], ["arena", "--png", "picture.xyz"],
    ["audit", "good.csv", "payoff.csv"], ["claims", "--no"], ["demo", "x"], [*AUDIT, "-w", "g"], [*AUDIT, "-p", "g"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda arguments: ascii(" ".join(arguments))[1:60])
def test_bad_arguments(arguments: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = place / "loop"
    if not loop.is_symlink():
        loop.symlink_to("loop")
    refused(arguments, place, capsys)


# --- files: what may be in them

CSV: dict[str, bytes] = {
    "empty": b"",
    "only a mark": b"\xef\xbb\xbf",
    "only a break": b"\n",
    "header only": b"p,y\n",
    "zeros": b"\x00" * 1000,
    "noise": bytes(range(256)) * 8,
    "utf-16": "p,y\n0.5,1\n".encode("utf-16"),
    "latin-1": b"p,y,\xe9\n0.5,1,a\n",
    "not utf-8 in a row": b"p,y\n\xff0.5,1\n0.25,0\n",
    "a quote that is never closed": b'p,y,n\n0.5,1,"a\n0.25,0,b\n',
    "a quote in the header": b'"p,y\n0.5,1\n',
    "too many fields": b"p,y\n0.5,1,2\n0.25,0\n",
    "too few fields": b"p,y\n0.5\n0.25,0\n",
    "line ends of two kinds": b"p,y\n0.5,1\r\n0.25,0\n",
    "two columns of a name": b"p,y,p\n0.5,1,0.5\n",
    "no header": b"0.5,1\n0.25,0\n",
    "percentages": b"p,y\n50,1\n25,0\n",
    "negative": b"p,y\n-0.5,1\n0.25,0\n",
    "logits": b"p,y\n-3.2,1\n4.1,0\n",
    "text": b"p,y\nhigh,1\n0.25,0\n",
    "truth": b"p,y\ntrue,1\n0.25,0\n",
    "nan": b"p,y\nnan,1\n0.25,0\n",
    "infinite": b"p,y\ninf,1\n0.25,0\n",
    "too large for a float": b"p,y\n1e400,1\n0.25,0\n",
    "missing": b"p,y\n,1\n0.25,0\n",
    "underscores": b"p,y\n0_1,1\n0.25,0\n",
    "comma decimals": b'p,y\n"0,5",1\n0.25,0\n',
    "hexadecimal": b"p,y\n0x1,1\n0.25,0\n",
    "other digits": "p,y\n٠.٥,1\n0.25,0\n".encode(),
    "an outcome of 2": b"p,y\n0.5,2\n0.25,0\n",
    "an outcome of a half": b"p,y\n0.5,0.5\n0.25,0\n",
    "an outcome that is missing": b"p,y\n0.5,\n0.25,0\n",
    "an outcome with an underscore": b"p,y\n0.5,0_1\n0.25,0\n",
    "labels": b"p,y\n0.5,spam\n0.25,ham\n",
    "escapes": b"p,y\n\x1b[31m0.5,1\n0.25,0\n",
    "a long line": b"p,y,n\n0.5,1," + b"x" * 3_000_000 + b"\n",
    "a long header": b"p,n" + b"x" * 200_000 + b"\n0.5,1\n",
    "many columns": b"p,"
    + b",".join(b"c%d" % i for i in range(5000))
    + b"\n"
    + b"0.5,"
    + b",".join([b"1"] * 5000)
    + b"\n",
    "a gzip file by another name": gzip.compress(GOOD.encode()),
    "a web page": b"<!doctype html><html><body>p,y</body></html>",
}
JSON: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n",
    "a list": b'[{"p": 0.5, "y": 1}]\n',
    "a number": b"3\n",
    "text": b'"p"\n',
    "null": b"null\n",
    "cut off": b'{"p": 0.5, "y": 1}\n{"p": 0.2',
    "single quotes": b"{'p': 0.5, 'y': 1}\n",
    "a comment": b'{"p": 0.5, /* */ "y": 1}\n',
    "two objects on a line": b'{"p": 0.5, "y": 1}{"p": 0.5, "y": 1}\n',
    "a key twice": b'{"p": 0.5, "p": 0.25, "y": 1}\n',
    "a key twice, late": b'{"p": 0.5, "y": 1}\n' * 1500 + b'{"p": 0.5, "p": 0.25, "y": 1}\n',
    "nested": b'{"p": {"p": 0.5}, "y": 1}\n',
    "a list of predictions": b'{"p": [0.5], "y": 1}\n',
    "truth": b'{"p": true, "y": 1}\n',
    "nan": b'{"p": NaN, "y": 1}\n',
    "infinite": b'{"p": 1e999, "y": 1}\n',
    "underscores": b'{"p": "0_1", "y": 1}\n',
    "no prediction": b'{"y": 1}\n',
    "no outcome": b'{"p": 0.5}\n',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep inside": b'{"p": ' + b"[" * 100_000 + b"]" * 100_000 + b', "y": 1}\n',
    "not utf-8": b'{"p": 0.5, "y": 1, "n": "\xff"}\n',
    "zeros": b"\x00" * 100,
    "half a surrogate": b'{"p": 0.5, "y": 1, "n": "\\ud800"}\n',
    "a control character": b'{"p": 0.5, "y": 1, "n": "a\x07"}\n',
    "a leading zero": b'{"p": 00.5, "y": 1}\n',
    "other capitals": b'{"P": 0.5, "Y": 1}\n',
    "an outcome of 2": b'{"p": 0.5, "y": 2}\n',
    "binary": bytes(range(256)),
}
PACKED = gzip.compress(GOOD.encode())
GZIP: dict[str, bytes] = {
    "empty": b"",
    "plain text": GOOD.encode(),
    "cut off": PACKED[: len(PACKED) // 2],
    "without its trailer": PACKED[:-8],
    "without its last bytes": PACKED[:-3],
    "another checksum": PACKED[:-8] + bytes([PACKED[-8] ^ 1]) + PACKED[-7:],
    "another size": PACKED[:-1] + bytes([PACKED[-1] ^ 1]),
    "followed by something": PACKED + b"something",
    "only a head": PACKED[:10],
    "zeros": b"\x00" * 64,
}
BAD = [(f"{name}.csv", data) for name, data in CSV.items()]
BAD += [(f"{name}.tsv", data) for name, data in CSV.items() if b"," not in data]
BAD += [(f"{name}.jsonl", data) for name, data in JSON.items()]
BAD += [(f"{name}.csv.gz", data) for name, data in GZIP.items()]
BAD += [(f"{name}.csv.zst", data) for name, data in GZIP.items() if name in ("plain text", "zeros", "cut off", "empty")]
COMMANDS = (
    ["audit", "FILE", "-p", "p", "-y", "y"],
    ["fix", "FILE", "-p", "p", "-y", "y", "--method", "Platt"],
    ["fix", "FILE", "-p", "p", "-y", "y", "--eps", "0.1", "-o", "out.csv"],
)
EACH = [
    pytest.param(command, id=name, marks=[] if name == "audit" else pytest.mark.slow)
    for name, command in zip(("audit", "learn", "noise"), COMMANDS, strict=True)
]


@pytest.mark.parametrize("command", EACH)
@pytest.mark.parametrize(("name", "data"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_bad_files(
    name: str, data: bytes, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    refused([name if part == "FILE" else part for part in command], tmp_path, capsys)


def parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


PARQUET: dict[str, bytes] = {
    "empty": b"",
    "magic only": b"PAR1PAR1",
    "text": GOOD.encode(),
    "no rows": parquet(p=pa.array([], pa.float64()), y=pa.array([], pa.int8())),
    "truth": parquet(p=[True, False], y=[1, 0]),
    "text predictions": parquet(p=["high", "low"], y=[1, 0]),
    "dates": parquet(p=pa.array([0, 1], pa.date32()), y=[1, 0]),
    "lists": parquet(p=[[0.5], [0.25]], y=[1, 0]),
    "bytes": parquet(p=[b"0.5", b"0.25"], y=[1, 0]),
    "missing": parquet(p=[None, 0.5], y=[1, 0]),
    "nan": parquet(p=[float("nan"), 0.5], y=[1, 0]),
    "above 1": parquet(p=[1.5, 0.5], y=[1, 0]),
    "outcomes of 2": parquet(p=[0.5, 0.5], y=[2, 0]),
    "no outcome": parquet(p=[0.5, 0.5]),
}


@pytest.mark.parametrize("command", EACH)
@pytest.mark.parametrize("name", PARQUET)
def test_bad_parquet(name: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.parquet").write_bytes(PARQUET[name])
    refused(["bad.parquet" if part == "FILE" else part for part in command], tmp_path, capsys)


PAYOFFS: dict[str, bytes] = {
    **{name: data for name, data in CSV.items() if name != "header only"},
    "no actions": b"action,0,1\n",
    "three outcomes": b"action,0,1,2\nwait,0,0,0\n",
    "other order": b"action,1,0\nwait,0,0\n",
    "text": b"action,0,1\nwait,0,much\n",
    "nan": b"action,0,1\nwait,0,nan\n",
    "infinite": b"action,0,1\nwait,0,inf\n",
    "too large": b"action,0,1\nwait,0,1e308\n",
    "underscores": b"action,0,1\nwait,0,1_0\n",
    "missing": b"action,0,1\nwait,0,\n",
    "too long": b"action,0,1\n" + b"wait,0,0\n" * 200_000,
}


@pytest.mark.parametrize("name", PAYOFFS)
def test_bad_payoffs(name: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "bad.csv").write_bytes(PAYOFFS[name])
    refused([*AUDIT, "--payoff", "bad.csv"], tmp_path, capsys)


def test_pipes_and_devices_do_not_hang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.csv").write_text(GOOD)
    os.mkfifo(tmp_path / "pipe.csv")
    for command in (
        [*AUDIT, "--payoff", "pipe.csv"],
        [*NOISE, "--remedy", "pipe.csv"],
        [*WATCH, "--state", "pipe.csv"],
        [*WATCH, "--remedy", "pipe.csv"],
        ["audit", "pipe.csv"],
        ["fix", "pipe.csv", "-p", "p", "-y", "y"],
        ["watch", "pipe.csv", "-p", "p", "-y", "y"],
        ["arena", "--replay", "pipe.csv"],
    ):
        refused(command, tmp_path, capsys)


def test_there_are_many() -> None:
    """The number of inputs that these tests try, without the damaged states and Parquet files of other modules."""
    assert len(ARGUMENTS) + len(COMMANDS) * (len(BAD) + len(PARQUET)) + len(PAYOFFS) >= 700
    assert len({json.dumps(arguments) for arguments in ARGUMENTS}) == len(ARGUMENTS)
