"""Print the oldest versions of the dependencies that pyproject.toml declares, as pins for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for declared in (*project["dependencies"], *extras["sklearn"], *extras["polars"], *extras["excel"], extras["spark"][1]):
    found = re.fullmatch(r"([\w-]+)>=([\d.]+).*", declared)
    assert found is not None, declared
    sys.stdout.write(f"{found[1]}=={found[2]} ")
