"""Files and states where the system is not POSIX: what is portable, by tests that run on Windows too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trustcal import writing
from trustcal.monitoring import Monitor
from trustcal.monitoring.following import FileChunks, PipeChunks
from trustcal.states import loaded, saved
from trustcal.writing import atomically, only_writer


def test_a_state_comes_back() -> None:
    fields = {"a": [1, 2.5, None, "x"], "b": {"c": True}}
    assert loaded(saved("Thing", 3, fields), "Thing", 3, ("a", "b")) == fields
    for changed in ('"a"', "2.5", "true"):
        with pytest.raises(ValueError, match=r"checksum|lacks"):
            loaded(saved("Thing", 3, fields).replace(changed, '"z"'), "Thing", 3, ("a", "b"))
    with pytest.raises(ValueError, match="Out of range float"):
        saved("Thing", 3, {"a": float("nan")})
    monitor = Monitor()
    monitor.learn_many([0.25, 0.5], [0, 1])
    assert Monitor.from_json(monitor.to_json()).to_json() == monitor.to_json()


def test_a_file_is_followed_without_pread(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"abc")
    chunks = FileChunks(file, follow=True)
    assert (chunks.read(0.0), chunks.read(0.0)) == (b"abc", None)
    with file.open("ab") as more:
        more.write(b"def")
    assert chunks.read(0.0) == b"def"
    file.write_bytes(b"abcDef")
    with pytest.raises(ValueError, match="rewritten"):
        chunks.read(0.0)
    chunks.close()


def test_a_pipe_is_read_without_select() -> None:
    inlet, outlet = os.pipe()
    chunks = PipeChunks(inlet)
    assert chunks.read(0.01) is None
    os.write(outlet, b"abc")
    assert chunks.read(10.0) == b"abc"
    os.close(outlet)
    assert chunks.read(10.0) == b""
    os.close(inlet)


@pytest.mark.parametrize("posix", [True, False])
def test_writing_with_and_without_locks_of_files(posix: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not posix:
        monkeypatch.setattr(writing, "fcntl", None)
    target = tmp_path / "out.txt"
    for words in ("first", "second"):
        with atomically(target) as fresh:
            fresh.write_text(words)
        assert target.read_text() == words
    with pytest.raises(UnicodeEncodeError), atomically(target) as fresh:
        fresh.write_text("half\ud800", encoding="utf-8")
    assert target.read_text() == "second"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_one_writer(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with (
        only_writer(state),
        pytest.raises(ValueError, match="in use by another process"),
        only_writer(state),
    ):
        pass
    with only_writer(state):
        pass
    assert os.listdir(tmp_path) == []
