"""Test the built wheel as users get it: python -m tests.installed WHEEL.  `make package` runs it.

A clean environment, another folder, no home, an installation that may not be written to.  Root may write anywhere, so
root runs it as a user who exists nowhere, as containers do; a Python below /root is not for that user.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

LARGEST = 1_000_000
"""Bytes of a wheel."""
ROWS = 30_000
"""Rows of a file that is large enough for compiled kernels."""
NOBODY = 54_321
"""The id of a user who exists nowhere."""


def main(wheel: str) -> None:
    size = Path(wheel).stat().st_size
    assert size < LARGEST, f"{wheel} has {size:,} bytes"
    with tempfile.TemporaryDirectory() as folder:
        environment, elsewhere = Path(folder) / "env", Path(folder) / "elsewhere"
        elsewhere.mkdir()
        elsewhere.chmod(0o777)
        Path(folder).chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run(
            [environment / "bin" / "pip", "install", "--quiet", "--no-compile", Path(wheel).resolve()], check=True
        )
        (packages,) = environment.glob("lib/python3*/site-packages")
        before = _files(packages / "trustcal")
        _forbid(packages / "trustcal")
        told = _run(environment, elsewhere, "trustcal", "--version")
        assert Path(wheel).name.split("-")[1] in told, told
        assert "These predictions are off" in _run(environment, elsewhere, "trustcal", "demo")
        large = elsewhere / "large.csv"
        large.write_text("p,y\n" + "".join(f"{(i + 0.5) / ROWS!r},{int(i % 3 == 0)}\n" for i in range(ROWS)))
        assert "These predictions are off" in _run(environment, elsewhere, "trustcal", "audit", "large.csv")  # compiles
        where = _run(environment, elsewhere, "python", "-c", "import trustcal; print(trustcal.__file__)")
        assert str(packages.resolve()) in str(Path(where.strip()).resolve()), where
        assert _files(packages / "trustcal") == before, "the installation was written to"
        sys.stdout.write(f"{Path(wheel).name}: {size / 1000:,.0f} KB, installed and run\n")


def _run(environment: Path, folder: Path, command: str, *arguments: str) -> str:
    """What a command prints, without a home and with few variables."""
    variables = {"PATH": f"{environment / 'bin'}:{os.defpath}", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    user = _user(environment)
    done = subprocess.run(
        [environment / "bin" / command, *arguments], cwd=folder, env=variables, capture_output=True, text=True, **user
    )
    assert done.returncode == 0, (command, done)
    return " ".join(done.stdout.split())


@cache
def _user(environment: Path) -> dict[str, Any]:
    """Who runs it, as options of subprocess: root only where others may not run this Python."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    nobody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        subprocess.run([environment / "bin" / "python", "-c", ""], check=True, capture_output=True, **nobody)
    except (PermissionError, subprocess.CalledProcessError):
        sys.stdout.write(f"Run as root: {sys.executable} is not for others.\n")
        return {}
    return nobody


def _files(folder: Path) -> set[str]:
    return {str(file) for file in folder.rglob("*") if "__pycache__" not in file.parts}


def _forbid(folder: Path) -> None:
    """Make a folder and what is in it read-only."""
    for place in [folder, *folder.rglob("*")]:
        if place.is_dir():
            place.chmod(0o555)


if __name__ == "__main__":
    main(*sys.argv[1:])
