"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trustcal.checking import checked_output


@contextmanager
def atomically(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to: renamed to `path` at the end, deleted on an error.

    A symbolic link stays a link: its target is replaced.  The file is flushed to disk before it is renamed, so that a
    crash leaves the old file or the new one, never a part of either.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomically(Path(folder) / "a.txt") as fresh:
    ...         _ = fresh.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    target = Path(os.path.realpath(checked_output(path)))
    try:
        # Writers choose format and compression by the suffix, so it is kept; a long name is cut.
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
        # mkstemp makes files private; give the file the user's default permissions, or those of the file it replaces.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
