"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trustcal.checking.files import checked_output
from trustcal.writing import atomically


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError), atomically(target) as fresh:
        fresh.write_text("half\ud800", encoding="utf-8")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_the_new_file_keeps_the_old_ones_permissions(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o640)
    with atomically(target) as fresh:
        fresh.write_text("new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a folder: name a file"), atomically(tmp_path):
        pass
    with pytest.raises(ValueError, match="does not exist"), atomically(tmp_path / "no" / "out.csv"):
        pass


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="is a device or a pipe: name a file"), atomically(pipe):
        pass
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to("out.csv")
    for words in ("first", "second"):
        with atomically(link) as fresh:
            fresh.write_text(words)
        assert link.is_symlink()
        assert (tmp_path / "out.csv").read_text() == words


def test_what_is_being_read_is_not_written_over(tmp_path: Path) -> None:
    data, link = tmp_path / "data.csv", tmp_path / "link.csv"
    data.write_text("p,y\n0.5,1\n")
    link.symlink_to(data)
    assert checked_output(tmp_path / "other.csv", data) == tmp_path / "other.csv"
    for target, source in ((data, data), (link, data), (data, link), (tmp_path / "." / "data.csv", data)):
        with pytest.raises(ValueError, match="is being read: name another file to write to"):
            checked_output(target, "elsewhere.csv", source)
