"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomically(path: str | Path) -> Iterator[Path]:
    """A fresh path beside `path` to write to; at the end it takes the place of `path`, and on an error nothing does.

    A link stays: what it points to is written anew.  A device or a pipe is refused, for it would be replaced by a file.

    The fresh file is flushed to the disk before it is renamed, so that after a crash there is the old file or the new
    one, never half of either.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomically(Path(folder) / "a.txt") as fresh:
    ...         _ = fresh.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    target = Path(os.path.realpath(checked_place(path)))
    try:
        # The suffix stays, because writers choose their format and compression by it; all of a long name would not fit.
        suffix = "".join(target.suffixes[-2:])
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:32]}.", suffix=suffix, dir=target.parent)
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {error.strerror}.") from None
    os.close(handle)
    fresh = Path(name)
    try:
        yield fresh
        with fresh.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes files private; the new file is as open as any other that the user writes.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def checked_place(path: str | Path, *sources: str | Path) -> Path:
    """Where a file can be written, or a refusal: known before the work is done.  What is being read stays."""
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder: name a file to write to.")
    if not target.parent.is_dir():
        raise ValueError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    if target.exists() and (not target.is_file() or target.absolute().parent == Path("/dev")):  # /dev/stdout, say
        raise ValueError(f"{target} is a device or a pipe: name a file to write to.")
    if os.path.realpath(target) in map(os.path.realpath, sources):
        raise ValueError(f"{target} is being read: name another file to write to.")
    return target
