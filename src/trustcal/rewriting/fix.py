"""fix_file: noise added to the predictions in a file, with its guarantee and what it reached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from trustcal.cells import cells_for
from trustcal.guarantees import NoiseChoice, noise_of_kind
from trustcal.measures.decision import cdl, ece
from trustcal.measures.pooling import pooled
from trustcal.measures.scores import auc, brier
from trustcal.measures.transport import dtc_witness
from trustcal.noise import Noise, Target
from trustcal.predictor import Predictor
from trustcal.reading import count_rows, read
from trustcal.reading.faults import FaultError
from trustcal.rewriting.files import Progress, rewrite
from trustcal.smoothing import OnlineSmoother, perturb, smooth
from trustcal.smoothing.draws import seed_from


@final
@dataclass(frozen=True)
class Quality:
    """How well calibrated and how sharp predictions are."""

    ece: float
    cdl: float
    cells: int | None
    """The number of bins of equal mass that ECE and CDL were computed on; None: on the values as they are."""
    brier: float
    auc: float | None
    """None if all outcomes are equal."""


@final
@dataclass(frozen=True)
class FileFix:
    """What `fix_file` did to a file, what is guaranteed, and what was reached."""

    rows: int
    eps: float
    """The distance to calibration that the noise was chosen for."""
    eps_measured: bool
    """Whether eps was measured on the rows of the file; otherwise it was given."""
    choice: NoiseChoice
    """The noise, its guarantee, and a lower bound on every guarantee."""
    seed: int
    cells: int | None
    """Online: the number of intervals of equal length; a prediction is rounded down to the left end of its interval."""
    before: Quality | None = None
    expected_ece: float | None = None
    expected_cdl: float | None = None
    """ECE and CDL of the exact distribution after noise, over all draws."""
    after: Quality | None = None
    """The quality of the column that was written.  This and the three above are None without outcomes."""


def fix_file(
    source: str | Path,
    target_file: str | Path,
    *,
    prediction: str,
    outcome: str | None = None,
    eps: float | None = None,
    noise: str = "best",
    target: Target = "cdl",
    online: bool = False,
    seed: int | None = None,
    row_id: str | None = None,
    into: str | None = None,
    progress: Progress | None = None,
) -> FileFix:
    """Copy a file of predictions with a column of noisy ones that are safe to act on (Sections 3 and 4).

    This is the command `trustcal fix`.  The other columns keep their values and rows their order, as `rewrite` says;
    the target is written whole or not at all.

    Parameters
    ----------
    source, target_file : str or Path
        The file to read and the file to write: CSV, TSV, JSON lines or Parquet.  They may be the same.
    prediction : str
        The column of predictions in [0, 1].
    outcome : str, optional
        The column of outcomes.  They are used to measure; the noise does not depend on them.
    eps : float, optional
        The distance to calibration, in (0, 1].  Default: measured on the rows of the file, which needs outcomes.
    noise : str
        A kind of `guarantees.noise_kinds()`: "best" is the one with the smallest guarantee, "paper" the paper's choice.
    target : {"cdl", "ece", "decision_loss"}
        The error whose guarantee is minimised.
    online : bool
        Use the online algorithm, which draws in the order of the rows and rounds to a grid.
    seed : int, optional
        The same seed gives the same file.  Default: a fresh seed, which is reported.
    row_id : str, optional
        A column of integers or text: a row with the same id and prediction gets the same noise in every file.
        Default: the position of the row.
    into : str, optional
        The name of the new column.  Default: the prediction's name with `_safe`.
    progress : callable, optional
        Called with the number of rows done and the (estimated) number of all rows.

    Returns
    -------
    FileFix
        The noise with its guarantee, which holds in expectation over the noise, and the quality before and after.

    Examples
    --------
    >>> import tempfile
    >>> from importlib.resources import files
    >>> census = files("trustcal") / "examples" / "census_income.csv"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fix = fix_file(census, Path(folder) / "safe.csv", prediction="prediction", outcome="outcome", seed=1)
    >>> fix.choice.noise, round(fix.before.cdl, 3), round(fix.expected_cdl, 3), round(fix.choice.guarantee.value, 3)
    (UniformNoise(width=0.564...), 0.051, 0.065, 0.282)

    Notes
    -----
    The file is read once to be rewritten.  It is read once more, before, to measure it if outcomes are named, or to
    count its rows for the online algorithm.  O(n) time, and O(1) memory without outcomes.
    """
    if online and row_id is not None:
        raise ValueError("the online algorithm draws in the order of rows: leave out row_id (--id).")
    q = None if outcome is None else _measured(source, prediction, outcome)
    if eps is not None:
        distance = eps
    elif q is not None:
        distance = _measured_distance(q)
    else:
        raise ValueError(
            "without outcomes the distance to calibration cannot be measured: name the column of outcomes, or give eps."
        )
    horizon = None if not online else count_rows(source) if q is None else q.rows
    choice = noise_of_kind(noise, distance, target, horizon)
    secret = seed_from(seed)
    cells = None if horizon is None or choice.noise.grid_size() is not None else cells_for(horizon)
    if online:
        draw = partial(_next_rounds, OnlineSmoother(choice.noise, cells=cells, rng=secret))
    else:
        draw = partial(_drawn, choice.noise, secret)
    done = rewrite(
        source,
        target_file,
        prediction=prediction,
        draw=draw,
        into=into,
        row_id=row_id,
        outcome=outcome,
        progress=progress,
    )
    fix = FileFix(done.rows, distance, eps is None, choice, secret, cells)
    if q is None or done.predictor is None:
        return fix
    law = smooth(q, choice.noise) if cells is None else smooth(q, choice.noise, cells)
    return replace(
        fix, before=_quality(q), expected_ece=ece(law), expected_cdl=cdl(law), after=_quality(done.predictor)
    )


def _measured(source: str | Path, prediction: str, outcome: str) -> Predictor:
    """The predictor in the file.  Every row is rewritten, so none may be left out."""
    try:
        return read(source, prediction=prediction, outcome=outcome)
    except FaultError as error:
        mended = "Repair them in the file, or remove them."
        recoded = (
            "Write outcomes as 0 and 1. Or leave out the outcome and give eps (--eps): the noise does not need it."
        )
        raise ValueError(error.with_remedies(mended, recoded)) from None


def _measured_distance(q: Predictor) -> float:
    distance = dtc_witness(q).upper
    if distance <= 0:
        raise ValueError("these predictions are calibrated on their rows: there is nothing to fix.")
    return min(1.0, distance)


def _drawn(noise: Noise, seed: int, q: NDArray[np.float64], ids: NDArray[np.generic]) -> NDArray[np.float64]:
    return perturb(q, noise, ids=ids, seed=seed)


def _next_rounds(smoother: OnlineSmoother, q: NDArray[np.float64], _: NDArray[np.generic]) -> NDArray[np.float64]:
    return smoother.transform_many(q)


def _quality(q: Predictor) -> Quality:
    binned, bins = pooled(q)
    both = 0 < q.base_rate < 1
    return Quality(ece(binned), cdl(binned), bins, brier(q), auc(q) if both else None)
