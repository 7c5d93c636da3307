"""Multicalibration on given segments: one shift after the other, until no segment is off beyond chance.

In each round, every segment and everybody together is looked at on every stretch of the common predictions.  Where n
rows were told e in total and k of them had outcome 1, R = k − e and V = Σ p(1 − p), the stretch with the largest
(R² − V)/n among those with R² > 9V is shifted on the logit scale by R/(V + 4).  The 4 shrinks shifts of small parts.

Rows are split at random: three quarters learn, one quarter controls.  As many rounds are made on all rows as gave the
rows that control their best Brier score; if no round improves it, there is none.

References
----------
Hébert-Johnson, Kim, Reingold and Rothblum (2018), Multicalibration: calibration for the (computationally-identifiable)
masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from trustcal.checking import FloatArray, Role, generator
from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor
from trustcal.remedies.grouped_maps import EVERYBODY, SegmentMap
from trustcal.remedies.methods import Method

BoolArray = NDArray[np.bool_]
Shift = tuple[int, float, float, float]

_ROUNDS: Final = 200
"""At most this many shifts."""
_CLEAR: Final = 9.0
"""A stretch is shifted if R² exceeds this many V: three standard deviations."""
_PRIOR: Final = 4.0
"""The weight of no shift, as that of this much variance."""
_PATIENCE: Final = 5
"""Rounds without improvement on the rows that control, after which no more are tried."""
_QUARTERS: Final = (0.25, 0.5, 0.75)


def segment_map(
    method: Method, y: NDArray[np.generic], p: FloatArray, members: BoolArray, problem: DecisionProblem | None = None
) -> SegmentMap:
    """The common map of a method, with shifts that calibrate segments.

    Parameters
    ----------
    method : Method
    y, p : ndarray
        Outcomes and predictions of rows of equal weight.
    members : ndarray of bool
        A column for each segment.
    problem : DecisionProblem, optional
        For methods that need payoffs.

    Returns
    -------
    SegmentMap

    O(n) for each segment and round, after the cost of the method.
    """
    if members.dtype != np.bool_:
        raise ValueError(f"by must hold true and false for each row and segment, but holds {members.dtype}.")
    outcome = np.asarray(y, dtype=np.float64)
    control = generator(0, Role.SPLITS).random(len(p)) < 0.25
    learn = ~control
    if len(set(outcome[learn].tolist())) < 2:
        return SegmentMap(method.learn(Predictor.from_samples(y, p), problem), members.shape[1], ())
    common = method.learn(Predictor.from_samples(y[learn], p[learn]), problem)
    shifts = _shifts(common(p[learn]), outcome[learn], members[learn], _ROUNDS)
    rounds = _rounds(common(p[control]), outcome[control], members[control], shifts)
    whole = method.learn(Predictor.from_samples(y, p), problem)
    return SegmentMap(whole, members.shape[1], tuple(_shifts(whole(p), outcome, members, rounds)))


def _shifts(said: FloatArray, y: FloatArray, members: BoolArray, rounds: int) -> list[Shift]:
    """The shifts, at most `rounds`, that rows ask for."""
    parts = _parts(said, members)
    now, found = said.copy(), []
    for _ in range(rounds):
        best: tuple[float, int] | None = None
        moves = []
        for place, (_, here) in enumerate(parts):
            told = now[here]
            bias, spread = float((y[here] - told).sum()), float((told * (1 - told)).sum())
            moves.append(bias / (spread + _PRIOR))
            harm = (bias * bias - spread) / max(1, len(here))
            if bias * bias > _CLEAR * spread and harm > (0.0 if best is None else best[0]):
                best = harm, place
        if best is None:
            break
        (segment, above, most), here = parts[best[1]]
        found.append((segment, above, most, moves[best[1]]))
        now[here] = expit(logit(now[here]) + moves[best[1]])
    return found


def _parts(said: FloatArray, members: BoolArray) -> list[tuple[tuple[int, float, float], NDArray[np.intp]]]:
    """The segments, and everybody, on every run of quarters of the predictions: with their rows."""
    edges = [-1.0, *np.unique(np.quantile(said, _QUARTERS)).tolist(), 1.0]
    found = []
    for segment in range(EVERYBODY, members.shape[1]):
        member = np.ones(len(said), dtype=bool) if segment == EVERYBODY else members[:, segment]
        for first, above in enumerate(edges):
            for most in edges[first + 1 :]:
                here = np.flatnonzero(member & (said > above) & (said <= most))
                found.append(((segment, above, most), here))
    return found


def _rounds(said: FloatArray, y: FloatArray, members: BoolArray, shifts: Sequence[Shift]) -> int:
    """After how many shifts the Brier score of the rows that control is best; none is the first choice."""
    now = said.copy()
    best, rounds = float(((y - now) ** 2).sum()), 0
    for done, (segment, above, most, shift) in enumerate(shifts, start=1):
        here = (said > above) & (said <= most)
        if segment != EVERYBODY:
            here &= members[:, segment]
        now[here] = expit(logit(now[here]) + shift)
        loss = float(((y - now) ** 2).sum())
        if loss < best:
            best, rounds = loss, done
        elif done - rounds >= _PATIENCE:
            break
    return rounds
