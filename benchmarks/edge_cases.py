"""Where packages give different answers for the same few rows: python -m benchmarks.edge_cases

Prints the table of docs/explanation/edge-cases.md: binned ECE by every package that is installed, with its version.
`make bench` installs scikit-learn, relplot, uncertainty-calibration and pycalib; MAPIE and probcal are taken if there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from typing import Any

import numpy as np

import trustcal as tc

BINS = 5


@dataclass(frozen=True)
class Case:
    title: str
    y: tuple[int, ...]
    p: tuple[float, ...]
    exact: str
    weight: tuple[float, ...] | None = None
    other_order: tuple[int, ...] | None = None
    """The same rows in another order; bins are then two of equal mass."""


CASES = (
    Case("a prediction of exactly 1 fails", (0, 1, 1, 1), (1.0, 0.9, 0.9, 0.9), "0.175"),
    Case("a prediction of exactly 0 comes true", (1, 0, 0, 0), (0.0, 0.1, 0.1, 0.1), "0.175"),
    Case("a prediction on the edge of a bin", (1, 0), (0.2, 0.3), "0.55 or 0.25"),
    Case("three empty bins", (0, 1, 1, 0), (0.1, 0.1, 0.9, 0.9), "0.4"),
    Case("only one class", (1, 1, 1, 1), (0.7, 0.7, 0.9, 0.9), "0.2"),
    Case("a row of weight 3", (1, 0), (0.5, 0.5), "0.25", weight=(3.0, 1.0)),
    Case("ties, in two orders of rows", (0, 0, 1, 1), (0.5,) * 4, "0, 0", other_order=(0, 2, 1, 3)),
)


def by_sklearn(y: Any, p: Any, w: Any, mass: bool) -> float:
    from sklearn.calibration import calibration_curve

    if w is not None:
        raise TypeError
    strategy = "quantile" if mass else "uniform"
    gaps = np.abs(np.subtract(*calibration_curve(y, p, n_bins=2 if mass else BINS, strategy=strategy)))
    edges = np.quantile(p, [0, 0.5, 1]) if mass else np.linspace(0, 1, BINS + 1)
    rows = np.bincount(np.searchsorted(edges[1:-1], p), minlength=len(edges) - 1)
    return float(gaps @ rows[rows > 0] / len(p))


def by_uncertainty_calibration(y: Any, p: Any, w: Any, mass: bool) -> float:
    import calibration

    if w is not None:
        raise TypeError
    measure = calibration.get_ece_em if mass else calibration.get_ece
    return float(measure(list(p), list(y), num_bins=2 if mass else BINS))


def by_relplot(y: Any, p: Any, w: Any, mass: bool) -> float:
    import relplot

    if w is not None or mass:
        raise TypeError
    return float(relplot.metrics.binnedECE(np.asarray(p), np.asarray(y), nbins=BINS))


def by_pycalib(y: Any, p: Any, w: Any, mass: bool) -> float:
    from pycalib.metrics import binary_ECE

    if w is not None or mass:
        raise TypeError
    return float(binary_ECE(np.asarray(y), np.asarray(p), bins=BINS))


def by_mapie(y: Any, p: Any, w: Any, mass: bool) -> float:
    from mapie.metrics.calibration import expected_calibration_error

    if w is not None:
        raise TypeError
    strategy = "quantile" if mass else "uniform"
    edges = 3 if mass else BINS + 1
    return float(expected_calibration_error(np.asarray(y), np.asarray(p), num_bins=edges, split_strategy=strategy))


def by_probcal(y: Any, p: Any, w: Any, mass: bool) -> float:
    from probcal.metrics import ece

    return float(ece(y, p, n_bins=2 if mass else BINS, strategy="mass" if mass else "width", sample_weight=w))


def by_trustcal(y: Any, p: Any, w: Any, mass: bool) -> float:
    return tc.binned_ece(y, p, w, bins=2 if mass else BINS, strategy="quantile" if mass else "uniform")


PEERS: dict[str, Callable[[Any, Any, Any, bool], float]] = {
    "trustcal": by_trustcal,
    "scikit-learn": by_sklearn,
    "uncertainty-calibration": by_uncertainty_calibration,
    "relplot": by_relplot,
    "pycalib": by_pycalib,
    "mapie": by_mapie,
    "probcal": by_probcal,
}


def answer(peer: Callable[[Any, Any, Any, bool], float], case: Case) -> str:
    """What a package says about a case, to six digits."""
    orders = [tuple(range(len(case.y))), *([case.other_order] if case.other_order else [])]
    return ", ".join(_number(peer, case, order) for order in orders)


def _number(peer: Callable[[Any, Any, Any, bool], float], case: Case, order: tuple[int, ...]) -> str:
    rows = np.array(order)
    weight = None if case.weight is None else np.array(case.weight)[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = peer(np.array(case.y)[rows], np.array(case.p)[rows], weight, case.other_order is not None)
    except TypeError:
        return "not offered"
    except Exception as error:
        return type(error).__name__
    return "NaN" if isnan(found) else f"{round(found, 6):g}"


def main() -> None:
    here = {}
    for name, peer in PEERS.items():
        try:
            here[f"{name} {version(name)}"] = peer
        except PackageNotFoundError:
            continue
    print("| | exact |", " | ".join(here), "|")
    print("| --- " * (len(here) + 2) + "|")
    for case in CASES:
        print(f"| {case.title} | {case.exact} |", " | ".join(answer(peer, case) for peer in here.values()), "|")


if __name__ == "__main__":
    main()
