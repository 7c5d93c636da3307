"""Files written whole or not at all, and by one process at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trustcal.checking.files import checked_output

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PARTIAL = ".partial"


@contextmanager
def atomically(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to: renamed to `path` at the end, deleted on an error.

    A symbolic link stays a link: its target is replaced, and its owner and permissions are kept.  The file is flushed
    to disk before it is renamed, so that a crash leaves the old file or the new one, never a part of either.  What a
    killed process left behind is deleted by the next one that writes to the same path.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomically(Path(folder) / "a.txt") as fresh:
    ...         _ = fresh.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text(), len(os.listdir(folder))
    ('whole', 1)
    """
    target = Path(os.path.realpath(checked_output(path)))
    try:
        fresh, lock = _partial(target)
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {error.strerror}.") from None
    try:
        yield fresh
        with fresh.open("rb+") as written:  # Windows flushes only what may be written
            os.fsync(written.fileno())
        _adopt(fresh, target)
        fresh.replace(target)
    except BaseException as error:
        fresh.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(fresh)) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(target)) from None  # of a full disk, say
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _partial(target: Path) -> tuple[Path, int | None]:
    """A new file beside the target, locked as long as this process lives; those that nobody locks are deleted."""
    # Writers choose format and compression by the suffix, so it is kept; a long name is cut.
    prefix, suffix = f".{target.name[:32]}.", _PARTIAL + "".join(target.suffixes[-2:])
    if fcntl is None:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=target.parent)
        os.close(handle)  # Windows renames no open file, and cannot lock one for all of its life
        return Path(name), None
    with os.scandir(target.parent) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(suffix)]
    for name in left:
        with suppress(OSError):
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name)
            finally:
                os.close(handle)
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=target.parent)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(name):  # otherwise another process took it for left behind
            return Path(name), handle
        os.close(handle)


def _adopt(fresh: Path, target: Path) -> None:
    """Give the new file the owner and the permissions of the one it replaces, or the user's default permissions."""
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(0o666 & ~mask)  # mkstemp makes files private
        return
    mine = fresh.stat()
    if hasattr(os, "chown") and (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
        for owner in (old.st_uid, -1):  # whoever may not give files away may still share their group
            with suppress(PermissionError):
                os.chown(fresh, owner, old.st_gid)
                break
    fresh.chmod(old.st_mode & 0o7777)


@contextmanager
def only_writer(path: str | Path) -> Iterator[None]:
    """Lock a path against other processes that lock it too; raise a ValueError if one holds it.

    The lock is a file beside the path, released also when the process is killed.
    """
    target = Path(os.path.realpath(checked_output(path)))
    lock = target.with_name(f".{target.name}.lock")
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ValueError(f"{target} cannot be locked: {error.strerror}.") from None
        try:
            _lock(handle)
        except OSError:
            os.close(handle)
            raise ValueError(f"{target} is in use by another process: stop that one, or name another file.") from None
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                break
        os.close(handle)  # its last holder has just deleted it
    try:
        yield
    finally:
        if fcntl is None:
            os.close(handle)
        with suppress(OSError):
            lock.unlink()
        if fcntl is not None:
            os.close(handle)


def _lock(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
