"""The search: which segment is hurt most, beyond what chance shows anywhere in the same search.

Rows are split at random, entry by entry of the cross-tabulation: two thirds choose, one third judges.  Outcomes are
drawn as if the predictions were calibrated, and the largest surprise over all segments and stretches is kept for each
draw.  Of the segments that surprise more than 98 % of these, the one with the largest harm is found.  Its rows are then
read anew: their predictions are shifted, or another action is taken.  The search goes on with what is still wrong, so
that a segment is not found for the rows that it shares with one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.crosstab import Crosstab
from trustcal.reading.fine_counts import CodedPart
from trustcal.segmenting.conjunctions import Family
from trustcal.segmenting.harm import Beliefs, Criterion, FloatArray, Half, Stretch

CHOOSING: Final = 2 / 3
"""The share of rows that choose; the others judge."""
LEVEL: Final = 0.02
"""The probability that a search finds any segment where all predictions are calibrated."""
_BLOCK: Final = 1 << 25
"""Draws are made in blocks of at most this many numbers."""


@final
@dataclass(frozen=True, eq=False)
class Step:
    """A segment that was found, and the new reading of its rows."""

    family: Family
    place: int
    """The segment within its family."""
    stretch: Stretch
    here: NDArray[np.bool_]
    """The entries of the segment."""
    moved: NDArray[np.bool_]
    """Those among them on the stretch: they are read anew."""
    harm: float
    """The harm in total, on the rows that choose."""
    gap: float
    """Mean outcome less mean prediction on the stretch, on the rows that choose."""
    p_value: float
    before: Beliefs
    after: Beliefs

    @property
    def coded(self) -> CodedPart:
        """The segment as codes of features."""
        codes = tuple(self.family.codes[self.place].tolist())
        return CodedPart(self.family.features, codes, codes)


def split(table: Crosstab, rng: np.random.Generator) -> tuple[Half, Half]:
    """The rows that choose and those that judge.  A random split of rows splits each entry like this.  O(m)."""
    rows = rng.binomial(table.rows, CHOOSING)
    positive = rng.hypergeometric(table.positive, table.rows - table.positive, rows)
    chosen = Half(rows.astype(float), positive.astype(float))
    return chosen, Half(table.rows - chosen.rows, table.positive - chosen.positive)


def initial(table: Crosstab, criterion: Criterion) -> Beliefs:
    """The predictions of a table, each entry at its mean, and the actions they recommend."""
    return Beliefs(np.clip(table.told / table.rows, 0.0, 1.0), criterion.actions[table.ranges])


def largest_by_chance(
    table: Crosstab,
    choosing: Half,
    searched: Sequence[Family],
    criterion: Criterion,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """The largest surprise over the whole search, for each draw of calibrated outcomes.

    O(draws·m) for m entries and each family.
    """
    told, rows = initial(table, criterion).told, choosing.rows.astype(np.int64)
    facts = np.column_stack([rows, rows * told, rows * told * (1 - told)])
    known = [family.sums(table, facts).astype(np.float32) for family in searched]
    block = max(1, min(draws, _BLOCK // max(1, len(rows))))
    found = []
    for begin in range(0, draws, block):
        size = (len(rows), min(block, draws - begin))
        outcomes = rng.binomial(rows[:, None], told[:, None], size=size).astype(np.float32)
        most = np.zeros(size[1], dtype=np.float32)
        for family, fact in zip(searched, known, strict=True):
            ones = family.sums(table, outcomes)
            for first, last in criterion.stretches:
                on_rows, expected, spread = np.moveaxis(fact[:, first:last].sum(axis=1), 1, 0)[..., None]
                seen = ones[:, first:last].sum(axis=1)
                surprises = criterion.drawn(first, on_rows, expected, spread, seen)
                np.maximum(most, surprises.max(axis=0), out=most)
        found.append(most)
    return np.concatenate(found).astype(np.float64)


def steps(
    table: Crosstab,
    choosing: Half,
    searched: Sequence[Family],
    criterion: Criterion,
    by_chance: FloatArray,
    most: int,
) -> tuple[list[Step], float]:
    """The segments found one after the other, at most `most`, and the smallest p-value of the first search.

    O(m) for m entries, each family and step.
    """
    found: list[Step] = []
    step, smallest = _next(table, choosing, searched, criterion, by_chance, initial(table, criterion))
    while step is not None:
        found.append(step)
        if len(found) == most:
            break
        step, _ = _next(table, choosing, searched, criterion, by_chance, step.after)
    return found, smallest


def p_value(surprised: float, by_chance: FloatArray) -> float:
    """The share of draws whose largest surprise is at least this, the data themselves counted as one."""
    return float((1 + np.count_nonzero(by_chance >= surprised)) / (1 + len(by_chance)))


def _next(
    table: Crosstab,
    choosing: Half,
    searched: Sequence[Family],
    criterion: Criterion,
    by_chance: FloatArray,
    beliefs: Beliefs,
) -> tuple[Step | None, float]:
    """The segment with the largest harm of those that surprise enough, and the smallest p-value of all."""
    columns = criterion.columns(choosing, beliefs)
    critical = critical_surprise(by_chance)
    best: tuple[float, float, Family, int, Stretch] | None = None
    largest = 0.0
    for family in searched:
        sums = family.sums(table, columns)
        for stretch in criterion.stretches:
            harm, surprises = criterion.judged(sums[:, slice(*stretch)].sum(axis=1))
            largest = max(largest, float(surprises.max()))
            harm = np.where(surprises > critical, harm, 0.0)
            place = int(np.argmax(harm))
            if harm[place] > (0.0 if best is None else best[0]):
                best = float(harm[place]), float(surprises[place]), family, place, stretch
    if best is None:
        return None, p_value(largest, by_chance)
    most, surprised, family, place, stretch = best
    here = family.segment(table) == place
    moved = here & (table.ranges >= stretch[0]) & (table.ranges < stretch[1])
    after = criterion.reread(choosing, beliefs, moved)
    told, rows = ((each * choosing.rows)[moved].sum() for each in (beliefs.told, 1.0))
    gap = float((choosing.positive[moved].sum() - told) / rows)
    step = Step(family, place, stretch, here, moved, most, gap, p_value(surprised, by_chance), beliefs, after)
    return step, p_value(largest, by_chance)


def critical_surprise(by_chance: FloatArray) -> float:
    """What must be exceeded for a p-value of at most 2 %.

    >>> by_chance = np.arange(1.0, 100.0)
    >>> critical_surprise(by_chance), p_value(98.5, by_chance)
    (98.0, 0.02)
    """
    allowed = int(LEVEL * (len(by_chance) + 1) + 1e-9)
    return float(np.sort(by_chance)[len(by_chance) - allowed])
