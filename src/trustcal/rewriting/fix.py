"""fix_file: a remedy applied to the predictions in a file, with what is guaranteed and what it reached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from trustcal.guarantees import Bound, NoiseChoice, noise_of_kind
from trustcal.measures.decision import cdl, ece
from trustcal.measures.pooling import pooled
from trustcal.measures.scores import auc, brier
from trustcal.measures.transport import dtc_witness
from trustcal.noise import Target
from trustcal.predictor import Predictor
from trustcal.reading import count_rows, read
from trustcal.reading.faults import FaultError
from trustcal.remedies import Remedy, noise_remedy
from trustcal.rewriting.engine_columns import new_column
from trustcal.rewriting.files import Draw, Progress, rewrite
from trustcal.rows import FloatArray
from trustcal.smoothing import OnlineSmoother, smooth
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
    column: str
    """The name of the new column."""
    written: bool
    """Whether a file was written; not if the advice is to do nothing."""
    remedy: Remedy | None
    """What was applied; None for the online algorithm, whose draws depend on the order of the rows."""
    choice: NoiseChoice | None = None
    """For noise: the noise, its guarantee, and a lower bound on every guarantee."""
    eps: float | None = None
    """The distance to calibration that the noise was chosen for."""
    eps_measured: bool = False
    """Whether eps was measured on the rows of the file; otherwise it was given."""
    seed: int | None = None
    cells: int | None = None
    """Online: the number of intervals of equal length; a prediction becomes the middle of its interval."""
    before: Quality | None = None
    expected_ece: float | None = None
    expected_cdl: float | None = None
    """ECE and CDL of the exact distribution after noise, over all draws; None for other remedies."""
    after: Quality | None = None
    """The quality of the column that was written.  This and the three above are None without outcomes."""
    learned_from: str | None = None
    """The column that the remedy was learned from, if it was applied to another one."""

    @property
    def advice(self) -> str:
        """What to think of it: whether noise is worth it, or what the remedy does."""
        if self.choice is None:
            if not self.written:
                return "Do nothing: that is the remedy, and no file is written."
            other = "" if self.learned_from is None else f" It was learned from another column, {self.learned_from}."
            return f"{self.remedy}{other}"
        guarantee = self.choice.guarantee
        if guarantee.vacuous:
            return "The guarantee is vacuous at this distance to calibration. Recalibrate with outcomes instead."
        if self.before is None:
            return "If outcomes are available, use them first: recalibration usually costs less than noise."
        now = _now(guarantee, self.before)
        if not self.written:
            return (
                f"Noise does not help here: acting on the predictions as they are loses {now:.4g}, no more than the "
                f"{guarantee.value:.4g} that noise guarantees. No file is written. With these outcomes a recalibration "
                "can be learned instead: leave out --eps, and use --save."
            )
        return (
            f"The guarantee, {guarantee.value:.4g}, is below the current loss, {now:.4g}. With outcomes available, "
            "recalibration usually does better still; noise is for predictions whose outcomes are not available, or "
            "are chosen by an adversary."
        )


def fix_file(
    source: str | Path,
    target_file: str | Path,
    *,
    prediction: str,
    remedy: Remedy | None = None,
    outcome: str | None = None,
    eps: float | None = None,
    noise: str = "best",
    target: Target = "cdl",
    online: bool = False,
    seed: int | None = None,
    row_id: str | None = None,
    by: str | None = None,
    into: str | None = None,
    progress: Progress | None = None,
) -> FileFix:
    """Copy a file with a column of predictions after a remedy: one that was learned, or noise (Sections 3 and 4).

    The other columns keep their values and rows their order, as `rewrite` says; the target is written whole or not at
    all, and not if the advice is to do nothing.

    Parameters
    ----------
    source, target_file : str or Path
        The file to read and the file to write: CSV, TSV, JSON lines or Parquet.  They may be the same.
    prediction : str
        The column of predictions in [0, 1].
    remedy : Remedy, optional
        What to apply.  Default: noise for the distance eps.
    outcome : str, optional
        The column of outcomes, to measure both columns.
    eps : float, optional
        For noise: the distance to calibration, in (0, 1].  Default: measured on the rows, which needs outcomes.
    noise : str
        A kind of `guarantees.noise_kinds()`: "best" is the one with the smallest guarantee, "paper" the paper's choice.
    target : {"cdl", "ece", "decision_loss"}
        The error whose guarantee is minimised.
    online : bool
        Use the online algorithm, which draws in the order of the rows and rounds to a grid.
    seed : int, optional
        For noise: the same seed gives the same file.  Default: a fresh seed, which is reported.
    row_id : str, optional
        A column of integers or text: a row with the same id and prediction gets the same noise in every file.
        Default: the position of the row.
    by : str, optional
        For a remedy that was learned by group, the column of groups, integers or text.  Default: the name of the column
        from which it was learned.
    into : str, optional
        The name of the new column.  Default: the prediction's name with `_recalibrated` or `_noised`.
    progress : callable, optional
        Called with the number of rows done and the (estimated) number of all rows.

    Returns
    -------
    FileFix
        The remedy, the guarantee of noise, which holds in expectation, and the quality before and after.

    Examples
    --------
    >>> import tempfile
    >>> from importlib.resources import files
    >>> from trustcal.remedies import fit
    >>> census = files("trustcal") / "examples" / "census_income.csv"
    >>> columns = {"prediction": "prediction", "outcome": "outcome"}
    >>> platt = fit("Platt", read(census, **columns))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fix = fix_file(census, Path(folder) / "out.csv", remedy=platt, **columns)
    >>> fix.column, round(fix.before.brier, 4), round(fix.after.brier, 4)
    ('prediction_recalibrated', 0.1424, 0.1157)

    Notes
    -----
    The file is read once to be rewritten.  It is read once more, before, to measure it if outcomes are named, or to
    count its rows for the online algorithm.  O(n) time, and O(1) memory without outcomes.
    """
    if online and row_id is not None:
        raise ValueError("the online algorithm draws in the order of rows: leave out row_id (--id).")
    if remedy is not None and (eps is not None or online):
        raise ValueError("give a remedy, or eps for noise, but not both.")
    q = None if outcome is None else _measured(source, prediction, outcome)
    before = None if q is None else _quality(q)
    if remedy is not None:
        column, known = new_column(prediction, into, remedy.suffix), remedy.learned and remedy.learned.prediction
        other = None if known == prediction else known
        fix = FileFix(0, column, remedy.method != "none", remedy, before=before, learned_from=other)
        draw: Draw = remedy.apply_to_rows
        row_id = remedy.group_column(by) or row_id
    else:
        fix, draw = _noise(source, q, before, eps, noise, target, online, seed, new_column(prediction, into))
    if not fix.written:
        return fix
    done = rewrite(
        source,
        target_file,
        prediction=prediction,
        draw=draw,
        into=fix.column,
        row_id=row_id,
        outcome=outcome,
        progress=progress,
    )
    after = None if done.predictor is None else _quality(done.predictor)
    return replace(fix, rows=done.rows, after=after)


def _noise(
    source: str | Path,
    q: Predictor | None,
    before: Quality | None,
    eps: float | None,
    kind: str,
    target: Target,
    online: bool,
    seed: int | None,
    column: str,
) -> tuple[FileFix, Draw]:
    """The noise for a file, as if it were written, and how to draw it."""
    if eps is not None:
        distance = eps
    elif q is not None:
        distance = _measured_distance(q)
    else:
        raise ValueError(
            "without outcomes the distance to calibration cannot be measured: name the column of outcomes, or give eps."
        )
    horizon = None if not online else count_rows(source) if q is None else q.rows
    choice = noise_of_kind(kind, distance, target, horizon)
    secret = seed_from(seed)
    cells = choice.cells
    remedy = None if online else noise_remedy(choice.noise, secret, choice.guarantee, distance)
    draw: Draw
    if remedy is None:
        draw = partial(_next_rounds, OnlineSmoother(choice.noise, cells=cells, end=choice.end, rng=secret))
    else:
        draw = remedy.apply_to_rows
    worth = before is None or _now(choice.guarantee, before) > choice.guarantee.value
    rows = 0 if q is None or q.rows is None else q.rows
    fix = FileFix(rows, column, worth, remedy, choice, distance, eps is None, secret, cells, before)
    if q is None:
        return fix, draw
    law = smooth(q, choice.noise) if cells is None else smooth(q, choice.noise, cells, choice.end)
    return replace(fix, expected_ece=ece(law), expected_cdl=cdl(law)), draw


def _now(guarantee: Bound, before: Quality) -> float:
    """What the guarantee bounds, of the predictions as they are."""
    return before.ece if guarantee.quantity == "ECE" else before.cdl


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


def _next_rounds(smoother: OnlineSmoother, q: FloatArray, _: NDArray[Any]) -> FloatArray:
    return smoother.transform_many(q)


def _quality(q: Predictor) -> Quality:
    binned, bins = pooled(q)
    both = 0 < q.base_rate < 1
    return Quality(ece(binned), cdl(binned), bins, brier(q), auc(q) if both else None)
