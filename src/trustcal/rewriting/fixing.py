"""The fix: predictions in a file made safe to act on by noise, with the guarantee beside what was reached."""

from __future__ import annotations

from dataclasses import dataclass
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
from trustcal.rewriting.drawing import new_column
from trustcal.rewriting.passage import Progress
from trustcal.rewriting.rewriting import rewrite
from trustcal.smoothing import OnlineSmoother, perturb, smooth
from trustcal.smoothing.draws import seed_from


@final
@dataclass(frozen=True)
class Quality:
    """What predictions are worth: calibration for decision makers, and sharpness."""

    ece: float
    cdl: float
    cells: int | None
    """ECE and CDL were taken on this many cells of equal mass; None: on the values as they are."""
    brier: float
    auc: float | None
    """None where all outcomes are the same."""


@final
@dataclass(frozen=True)
class Fix:
    """What was done to predictions, what is promised of it, and what it reached."""

    rows: int
    eps: float
    eps_measured: bool
    """Whether eps is the distance to calibration of these very rows, rather than given."""
    choice: NoiseChoice
    """The noise, its guarantee, and what nobody can promise."""
    seed: int
    cells: int | None
    """Online: the number of cells, each announced as its left end."""
    before: Quality | None
    expected_ece: float | None
    expected_cdl: float | None
    """Of the exact law after noise, over all draws."""
    after: Quality | None
    """Of this draw."""
    advice: str


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
) -> Fix:
    """Copy a file of predictions with a column of safe ones (the algorithms of Sections 3 and 4).

    With outcomes eps may be left out: it is then the distance to calibration of these rows, and the guarantee holds for
    them, in expectation over the noise.  The noise needs no outcomes; they only measure.  Draws depend on the seed, the
    row id (or position) and the prediction, online on the round.  Without a seed one is drawn, and reported.

    >>> import tempfile
    >>> from importlib.resources import files
    >>> census = files("trustcal") / "examples" / "census_income.csv"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fix = fix_file(census, Path(folder) / "safe.csv", prediction="prediction", outcome="outcome", seed=1)
    >>> fix.choice.noise, round(fix.before.cdl, 3), round(fix.expected_cdl, 3), round(fix.choice.guarantee.value, 3)
    (UniformNoise(width=0.564...), 0.051, 0.065, 0.282)

    O(n) beyond the reading; constant memory without outcomes.
    """
    q = None if outcome is None else _measured(source, prediction, outcome)
    if eps is not None:
        distance = eps
    elif q is not None:
        distance = _measured_distance(q)
    else:
        raise ValueError(
            "without outcomes the distance to calibration cannot be measured: name the column of outcomes, or give eps."
        )
    rows = count_rows(source) if online else 0
    choice = noise_of_kind(noise, distance, target, rows if online else None)
    secret = seed_from(seed)
    cells = cells_for(rows) if online and choice.noise.grid_size() is None else None
    if online:
        smoother = OnlineSmoother(choice.noise, cells=cells, rng=secret)
        draw = partial(_next_rounds, smoother)
    else:
        draw = partial(_drawn, choice.noise, secret)
    name = new_column(prediction, into)
    written = rewrite(
        source,
        target_file,
        prediction=prediction,
        draw=draw,
        into=name,
        row_id=row_id,
        outcome=outcome,
        progress=progress,
    )
    if q is None:
        return Fix(written, distance, False, choice, secret, cells, None, None, None, None, _advice(None, choice))
    law = smooth(q, choice.noise) if cells is None else smooth(q, choice.noise, cells)
    before = _quality(q)
    return Fix(
        rows=written,
        eps=distance,
        eps_measured=eps is None,
        choice=choice,
        seed=secret,
        cells=cells,
        before=before,
        expected_ece=ece(law),
        expected_cdl=cdl(law),
        after=_quality(read(target_file, prediction=name, outcome=outcome)),
        advice=_advice(before, choice),
    )


def _measured(source: str | Path, prediction: str, outcome: str) -> Predictor:
    """The predictor in the file.  Every row is rewritten, so that none may be left out."""
    try:
        return read(source, prediction=prediction, outcome=outcome)
    except FaultError as error:
        mended = "Mend them in the file, or take them out."
        recoded = "Write outcomes as 0 and 1; or leave them out and give eps (--eps), since they only measure."
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


def _advice(before: Quality | None, choice: NoiseChoice) -> str:
    """What we would do, said plainly: noise is for when no outcomes will come, or when only a promise will do."""
    promise = choice.guarantee
    if promise.vacuous:
        return "The guarantee says nothing at this distance to calibration. Recalibrate with outcomes instead."
    if before is None:
        return "Where outcomes can be had, look at them first: recalibrating usually costs less than noise."
    now = before.ece if promise.quantity == "ECE" else before.cdl
    if now <= promise.value:
        return (
            f"Do nothing: believing the predictions as they are loses {now:.4g}, less than the {promise.value:.4g} "
            "that noise would promise."
        )
    return (
        f"The promise, {promise.value:.4g}, is below the {now:.4g} lost now. With outcomes at hand recalibrating "
        "usually does better still; noise is for predictions whose outcomes will not come, or come from an adversary."
    )
