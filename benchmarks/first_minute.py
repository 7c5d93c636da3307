"""What a newcomer waits for: python -m benchmarks.first_minute [--install]

Prints, for the audit of 100,000 rows: CPU seconds of the first one after an install, when kernels are compiled, how
many, and of the second one in a new process; and of 20,000 rows without compiled kernels.  Then the size of every
package that trustcal needs.
With --install all of it is measured in a new environment, into which this folder is installed by pip.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path

AUDIT = """
import time, numba.core.event as event, numpy as np, trustcal as tc, trustcal.kernels
count = event.RecordingListener()
event.register("numba:compile", count)
rows, rng = ROWS, np.random.default_rng(0)
p = rng.random(rows)
y = rng.random(rows) < p**2
begin = time.process_time()
tc.audit(y, p)
starts = sum(1 for _, one in count.buffer if one.is_start)
print(f"{time.process_time() - begin:.1f} s of CPU, {starts} functions compiled")
"""
UNCOMPILED = AUDIT.replace("rows, rng", 'trustcal.kernels.WORTH_COMPILING = float("inf")\nrows, rng').replace(
    "ROWS", "20_000"
)


def run(python: str, code: str, cache: str) -> str:
    """What the code prints, with a cache of compiled kernels in this folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    return subprocess.run([python, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout


def needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """A package and what it needs without extras, by name."""
    found[name] = distribution(name)
    for requirement in requires(name) or []:
        part = re.match(r"[\w.-]+", requirement)
        assert part is not None
        if "extra ==" not in requirement and part[0].lower() not in map(str.lower, found):
            try:
                needed(part[0], found)
            except ImportError:  # for another system or version of Python
                continue
    return found


def megabytes(package: Distribution) -> float:
    """The size of the files of a package."""
    places = [Path(str(file.locate())) for file in package.files or []]
    return sum(place.stat().st_size for place in places if place.is_file()) / 1e6


def sizes() -> None:
    """Print the size of every package, largest first."""
    found = {name: megabytes(package) for name, package in needed("trustcal", {}).items()}
    for name, size in sorted(found.items(), key=lambda item: -item[1]):
        if size >= 1:
            print(f"{name:14} {size:6.0f} MB")
    print(f"{'all':14} {sum(found.values()):6.0f} MB")


def installed(folder: str) -> str:
    """The Python of a new environment with trustcal in it."""
    python = str(Path(folder) / "env" / "bin" / "python")
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(Path(folder) / "env")], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(Path(__file__).parents[1])], check=True)
    print(f"install: {time.perf_counter() - begin:.0f} s")
    return python


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "--install" in sys.argv:
            python = installed(folder)
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            subprocess.run([python, __file__], env=environment, check=True, cwd=folder)
            return
        audit = AUDIT.replace("ROWS", "100_000")
        for title, code in (("first audit", audit), ("second audit", audit), ("20,000 rows without numba", UNCOMPILED)):
            print(f"{title}: {run(sys.executable, code, folder)}", end="", flush=True)
    sizes()


if __name__ == "__main__":
    main()
