"""Checks of files before the work starts: what is read, and where results will be written."""

from __future__ import annotations

import os
from pathlib import Path

LARGEST = 1 << 26
"""Bytes of the largest payoff table, remedy or state: far more than any has."""


def checked_output(path: str | Path, *sources: str | Path) -> Path:
    """A path that can be written to, checked before the work starts; none of the sources may be overwritten."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder: name a file to write to.")
    if not target.parent.is_dir():
        raise ValueError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    exists = _exists(target, "written")
    if exists and (not target.is_file() or target.absolute().parent == Path("/dev")):  # such as /dev/stdout
        raise ValueError(f"{target} is a device or a pipe: name a file to write to.")
    if os.path.realpath(target) in map(os.path.realpath, sources):
        raise ValueError(f"{target} is being read: name another file to write to.")
    folder = Path(os.path.realpath(target)).parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{target} cannot be written: the folder {folder} may not be changed.")
    if exists and not os.access(target, os.W_OK):
        raise ValueError(f"{target} cannot be written: the file is read-only.")
    return target


def checked_input(path: str | Path, most: int = LARGEST) -> Path:
    """A small regular file to read: a device or a pipe may never end."""
    file = Path(path)
    if not _exists(file, "read"):
        raise ValueError(f"{file} cannot be read: it does not exist.")
    if not file.is_file():
        what = "a folder" if file.is_dir() else "a device or a pipe"
        raise ValueError(f"{file} is {what}: name a file to read.")
    size = file.stat().st_size
    if size > most:
        raise ValueError(f"{file} cannot be read: it has {size:,} bytes, and {most:,} are the most.")
    return file


def text_of(path: str | Path) -> str:
    """The text of a small regular file."""
    file = checked_input(path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} cannot be read: it is not UTF-8 text.") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None


def _exists(file: Path, done: str) -> bool:
    try:
        file.stat()
    except FileNotFoundError:
        return False
    except OSError as error:  # a loop of links, a name too long, a folder that may not be entered
        raise ValueError(f"{file} cannot be {done}: {error.strerror}.") from None
    return True
