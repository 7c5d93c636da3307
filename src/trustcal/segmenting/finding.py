"""`segments`: who is hurt by believing the predictions, found by what it costs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from trustcal.checking import Role, checked_count, generator
from trustcal.decisions import DecisionProblem
from trustcal.predictor import Predictor
from trustcal.reading import payoff_problem, reading
from trustcal.reading.columns import Columns
from trustcal.reading.crosstab import ALL, Crosstab, crosstab, feature_names
from trustcal.reading.fine_counts import fine_counts
from trustcal.segmenting.conjunctions import families
from trustcal.segmenting.harm import Criterion, FloatArray, PayoffCriterion, criterion, smallest_gap
from trustcal.segmenting.judging import JudgedHarm, decision_loss_harm, loss_of_shift, payoff_harm, split_fine
from trustcal.segmenting.merging import HurtPart, merged
from trustcal.segmenting.record import Detectable, Segment, Segments
from trustcal.segmenting.search import CHOOSING, critical_surprise, largest_by_chance, split, steps

DRAWS: Final = 99
"""Draws of calibrated outcomes, unless asked otherwise."""
MOST: Final = 10
"""At most this many segments are found."""
SHARES: Final = (0.01, 0.02, 0.05, 0.1)
"""Sizes of segments for which the smallest detectable error is given, after the smallest size searched."""


def segments(
    source: Any,
    *,
    prediction: str | None = None,
    outcome: str | None = None,
    features: str | Sequence[str] = ALL,
    problem: DecisionProblem | str | os.PathLike[str] | None = None,
    depth: int = 3,
    least: int | None = None,
    positive: Any = None,
    drop_invalid: bool = False,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> Segments:
    """Find the parts of the population that lose most by believing the predictions.

    A segment is a conjunction of at most `depth` conditions on features: a level of a category, or a number between two
    quintiles.  Its harm is what a better reading of its predictions would save: with payoffs, what another action earns
    on a stretch of predictions; without, the bin-free decision loss (`monotone_cdl`): the most anyone could save by
    moving thresholds.  The p-values hold for all segments together; harm is estimated on rows
    that did not choose.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame or a relation, as for `read`
    prediction, outcome : str, optional
        Columns, as for `read`.
    features : list of str, or "all"
        The columns whose values make conditions; "all": every other column.
    problem : DecisionProblem, or a CSV file with the header action,0,1, optional
        Your payoffs.
    depth : int
        The largest number of conditions, 1 to 3.
    least : int, optional
        The smallest number of rows of a segment; 0.1 % of the rows, and at least 100, by default.
    positive, drop_invalid
        As for `read`.
    draws : int
        Draws of calibrated outcomes, at least 49.
    rng : Generator or seed
        For the draws and the split of the rows.

    Returns
    -------
    Segments
        At most ten, those with the largest total harm first; none with probability 98 % if all predictions are
        calibrated.

    References
    ----------
    Kulldorff (1997), A spatial scan statistic; Hébert-Johnson, Kim, Reingold and Rothblum (2018), Multicalibration.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> region, device = rng.choice(["north", "south"], 20_000), rng.choice(["new", "old"], 20_000)
    >>> p = rng.random(20_000)
    >>> truth = np.where((region == "north") & (device == "old"), np.clip(p - 0.15, 0, 1), p)
    >>> rows = pa.table({"p": p, "y": rng.random(20_000) < truth, "region": region, "device": device})
    >>> found = segments(rows, features=["region", "device"])
    >>> print(found.found[0], round(found.found[0].gap, 1))
    region = north and device = old -0.1

    One grouping of the rows by all features in their engine; then O(draws·m) for each set of features, for m distinct
    combinations of their values.  Without payoffs, one more grouping for the predictions of the segments found.
    """
    asked = payoff_problem(problem)
    found = reading(
        source, prediction=prediction, outcome=outcome, positive=positive, drop_invalid=drop_invalid, resolution=None
    )
    return segments_of(
        source, found.provenance.columns, found.predictor, features, asked, depth, least, positive, draws, rng
    )


def segments_of(
    source: Any,
    columns: Columns,
    q: Predictor,
    features: str | Sequence[str] = ALL,
    problem: DecisionProblem | None = None,
    depth: int = 3,
    least: int | None = None,
    positive: Any = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> Segments:
    """The segments of a source whose prediction and outcome were read before.

    Parameters
    ----------
    source, features, problem, depth, least, positive, draws, rng
        As for `segments`.
    columns : Columns
        The prediction and the outcome.
    q : Predictor
        The predictor of all rows.

    Returns
    -------
    Segments

    The cost is that of `segments`.
    """
    checked_count("depth", depth, most=3)
    checked_count("draws", draws, least=49)
    if columns.weight is not None or columns.cluster is not None:
        raise ValueError(
            "segments are searched among rows of equal weight that are independent: leave out weights and clusters."
        )
    names = feature_names(source, columns, features, depth)
    size = max(100, (q.rows or 0) // 1000) if least is None else checked_count("least", least)
    harm = criterion(q, problem)
    table = crosstab(source, columns, names, harm.edges, size, positive)
    searched = families(table, depth, size)
    splitting = generator(rng, Role.SPLITS)
    choosing, judging = split(table, splitting)
    by_chance = largest_by_chance(table, choosing, searched, harm, draws, generator(rng))
    found, p = steps(table, choosing, searched, harm, by_chance, MOST)
    parts = merged(found, table)
    if isinstance(harm, PayoffCriterion):
        judged = [payoff_harm(part, choosing, judging, harm) for part in parts]
    elif parts:
        fine = fine_counts(source, columns, table, [step.coded for step in found], positive)
        halves = [split_fine(table, found, part, fine, judging, splitting) for part in parts]
        judged = [decision_loss_harm(*both) for both in halves]
    else:
        judged = []
    told = [_segment(table, part, one, harm) for part, one in zip(parts, judged, strict=True)]
    used = {place for family in searched for place in family.features}
    named = [feature.name for feature in table.features]
    return Segments(
        found=tuple(sorted(told, key=lambda segment: -segment.total)),
        features=tuple(name for place, name in enumerate(named) if place in used),
        unused=tuple(name for place, name in enumerate(named) if place not in used),
        depth=depth,
        least=size,
        searched=sum(map(len, searched)),
        criterion="decision loss" if problem is None else "payoff",
        rows=int(table.rows.sum()),
        draws=draws,
        p_value=p,
        detectable=_detectable(table, q, size, by_chance, harm),
    )


def _segment(table: Crosstab, part: HurtPart, judged: JudgedHarm, harm: Criterion) -> Segment:
    """A part in words: the stretch of its most harmful step, and the harm on the rows that judge."""
    step = part.steps[0]
    first, last = step.stretch
    edges = [0.0, *table.edges.tolist(), 1.0]
    rows = int(table.rows[part.here].sum())
    taken = better = None
    if isinstance(harm, PayoffCriterion):
        taken, better = (harm.problem.actions[at.action[step.moved][0]] for at in (step.before, step.after))
    return Segment(
        conditions=part.conditions(table),
        rows=rows,
        share=rows / int(table.rows.sum()),
        low=edges[first],
        high=edges[last],
        gap=step.gap,
        taken=taken,
        better=better,
        harm=judged.harm,
        lower=judged.lower,
        upper=judged.upper,
        chosen_harm=judged.chosen,
        p_value=max(one.p_value for one in part.steps),
    )


def _detectable(
    table: Crosstab, q: Predictor, least: int, by_chance: FloatArray, harm: Criterion
) -> tuple[Detectable, ...]:
    """What would have been found, in the smallest segments searched and in larger ones."""
    rows, critical = int(table.rows.sum()), critical_surprise(by_chance)
    variance = float((q.mass * q.p * (1 - q.p)).sum() / q.mass.sum())
    found = []
    for share in sorted({min(1.0, least / rows), *(share for share in SHARES if share * rows > least)}):
        chosen = CHOOSING * share * rows
        if isinstance(harm, PayoffCriterion):
            found.append(Detectable(share, None, harm.smallest(chosen, critical)))
        else:
            gap = smallest_gap(chosen, variance, critical)
            found.append(Detectable(share, gap, loss_of_shift(q, gap)))
    return tuple(found)
