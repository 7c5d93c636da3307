"""The cross-tabulation of features and predictions: how many rows, what they were told, and how many had outcome 1.

The engine that holds the rows groups them once, by the codes of all features and by the range of the prediction.  Only
the counts come back.  Sums of predictions are integers, multiples of 2^-30, so that no order of rows or threads shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from trustcal.reading.columns import Columns, place_of
from trustcal.reading.duckdb import Run, arrow_reader, as_numpy
from trustcal.reading.expressions import group_type, rows_of
from trustcal.reading.features import (
    FEW,
    FIRST,
    MISSING,
    QUANTILES,
    RARE,
    Feature,
    category_feature,
    number_feature,
)
from trustcal.reading.files import Table, quoted
from trustcal.reading.request import Request
from trustcal.reading.sources import at_source
from trustcal.rows import FloatArray

IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int16]
STEPS: Final = 2**30
"""Predictions are added up in units of 1/STEPS."""
ALL: Final = "all"
"""Every column that has no other role."""
SETS: Final = 5_000
"""At most this many sets of features are searched."""
_TRIED: Final = 1000
"""Rows on which it is tried whether a feature is a number."""


@final
@dataclass(frozen=True, eq=False)
class Crosstab:
    """Rows counted by the codes of all features and by the range of the prediction; one entry per combination."""

    features: tuple[Feature, ...]
    edges: FloatArray
    """Range k holds the predictions p with edges[k − 1] < p ≤ edges[k]."""
    codes: CodeArray
    """The code of each feature (a line) in each combination (a column)."""
    ranges: CodeArray
    """The range of the prediction."""
    rows: IntArray
    """The number of rows."""
    told: FloatArray
    """The sum of the predictions."""
    positive: IntArray
    """The number of rows with outcome 1."""

    @classmethod
    def from_counts(
        cls, features: tuple[Feature, ...], edges: FloatArray, codes: CodeArray, ranges: CodeArray, sums: IntArray
    ) -> Crosstab:
        """The table of counts in any order, in which a combination may occur twice.

        `sums` has three lines: rows, predictions in units of 1/STEPS, and rows with outcome 1.  O(m log m) for m
        counts.
        """
        words = [np.zeros(len(ranges), dtype=np.int64)]
        room = 1
        for line, size in zip([*codes, ranges], [*(one.codes for one in features), len(edges) + 1], strict=True):
            if room * size >= 2**62:
                words.append(np.zeros(len(ranges), dtype=np.int64))
                room = 1
            words[-1] = words[-1] * size + line
            room *= size
        order = np.lexsort(words)
        new = np.ones(len(order), dtype=bool)
        if len(order):
            new[1:] = np.any([np.diff(word[order]) != 0 for word in words], axis=0)
        first = np.flatnonzero(new)
        rows, told, positive = (np.add.reduceat(line[order], first) if len(first) else line for line in sums)
        kept = order[first]
        return cls(features, edges, codes[:, kept], ranges[kept], rows, told / STEPS, positive)


def feature_names(source: Any, columns: Columns, features: str | Sequence[str], depth: int) -> tuple[str, ...]:
    """The columns of a source that make features, each once, none of them with another role; "all": all of these."""
    asked = [features] if isinstance(features, str) else list(features)
    if not asked or not all(isinstance(name, str) for name in asked) or len(set(asked)) < len(asked):
        raise ValueError(f'features must be a list of columns, each once, or "all", not {features!r}.')
    both = [name for name in asked if name in columns.names]
    if both:
        raise ValueError(f"features must be other columns than the prediction and the outcome, but {both[0]!r} is one.")

    def request(names: Sequence[str], title: str, folders: Sequence[str] = ()) -> Request:
        every = [*names, *folders]
        chosen = [name for name in every if name not in columns.names] if asked == [ALL] else asked
        for name in chosen:
            place_of(name, every, title)
        if not chosen:
            raise ValueError(f"{title}: segments need features, but no column is left beside {', '.join(every)}.")
        sets = sum(comb(len(chosen), size) for size in range(1, depth + 1))
        if sets > SETS:
            raise ValueError(
                f"{title}: at most {SETS:,} sets of features can be searched, but {len(chosen)} features make {sets:,} "
                f"sets of up to {depth}. Name fewer features, or take a smaller depth."
            )
        return Request(replace(columns, by=tuple(chosen)), None, 0.0, True)

    return at_source(source, request, lambda *_: None, lambda *_: None)[1].columns.by


def crosstab(
    source: Any, columns: Columns, features: Sequence[str], edges: FloatArray, least: int, positive: Any = None
) -> Crosstab:
    """Cross-tabulate the valid rows of a source; others are left out.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame or a relation, as for `read`
    columns : Columns
        The prediction and the outcome.
    features : sequence of str
        Columns.
    edges : ndarray
        Where predictions are cut, increasing.
    least : int
        Levels with fewer rows are pooled.
    positive : str or number, optional
        The label that counts as 1.

    Returns
    -------
    Crosstab

    Three passes in the engine: numbers, levels, and the cross-tabulation itself.
    """
    asked = Request(replace(columns, by=tuple(features), weight=None, cluster=None), positive, 0.0, True)

    def by_frame(frame: Any, _: Request) -> Crosstab:
        from trustcal.reading.frame_crosstab import crosstab_of_frame  # loads narwhals

        return crosstab_of_frame(frame, asked, edges, least)

    def by_table(table: Table, run: Run, _: Request) -> Crosstab:
        valid = rows_of(table, asked).valid
        return _counted(run, valid, _features(table, run, asked.columns, valid, least), edges)

    return at_source(source, lambda *_: asked, by_table, by_frame)[2]


def _features(table: Table, run: Run, columns: Columns, valid: str, least: int) -> tuple[Feature, ...]:
    """The features of a table: which are numbers, where these are cut, and the levels of the others."""
    types = [group_type(table, name) for name in columns.by]
    # Text is tried on a few rows first: failed casts of all rows would take longer than everything else.
    likely = _numbers(run, f"(SELECT * FROM {valid} LIMIT {_TRIED})", dict(enumerate(types)))
    cuts = _numbers(run, valid, {place: types[place] for place in likely})
    numbers = {place: found for place, (distinct, found) in cuts.items() if distinct > FEW}
    levels = _levels(run, valid, [place for place in range(len(types)) if place not in numbers], least)
    return tuple(
        number_feature(name, numbers[place]) if place in numbers else category_feature(name, levels.get(place, {}))
        for place, name in enumerate(columns.by)
    )


def _numbers(run: Run, rows: str, types: Mapping[int, str]) -> dict[int, tuple[int, list[float]]]:
    """The features that are numbers wherever they are not missing: how many distinct ones, and their quantiles."""
    asked = []
    for place, type_ in types.items():
        number = _number(place, type_)
        asked += [f"count(g{place}) = count({number})", f"approx_count_distinct(g{place})"]
        asked.append(f"quantile_cont({number}, {list(QUANTILES)})")
    if not asked:
        return {}
    facts = run(f"SELECT {', '.join(asked)} FROM {rows}").fetchall()[0]
    found = {place: facts[3 * index : 3 * index + 3] for index, place in enumerate(types)}
    return {place: (distinct, cuts) for place, (numeric, distinct, cuts) in found.items() if numeric and cuts}


def _number(index: int, type_: str) -> str:
    """A feature as a number; NULL where it is none."""
    if type_ == "VARCHAR":
        number = f"TRY_CAST(g{index} AS DOUBLE)"
        return f"CASE WHEN isfinite({number}) THEN {number} END"
    plain = type_.startswith("DECIMAL") or type_.endswith("INT") or type_ in ("INTEGER", "FLOAT", "DOUBLE")
    return f"CAST(g{index} AS DOUBLE)" if plain else "CAST(NULL AS DOUBLE)"


def _levels(run: Run, valid: str, places: Sequence[int], least: int) -> dict[int, dict[str, int]]:
    """The levels of categories that at least `least` rows have, counted in one pass over grouped sets."""
    if not places:
        return {}
    texts = [f"t{index}" for index in places]
    inner = ", ".join(f"CAST(g{index} AS VARCHAR) AS t{index}" for index in places)
    sets = ", ".join(f"({text})" for text in texts)
    which = " + ".join(f"{place} * (1 - GROUPING({text}))" for place, text in zip(places, texts, strict=True))
    lines = run(
        f"SELECT {which} AS place, coalesce({', '.join([*texts, 'NULL'])}) AS level, count(*) AS n "
        f"FROM (SELECT {inner} FROM {valid}) GROUP BY GROUPING SETS ({sets}) HAVING count(*) >= {least}"
    ).fetchall()
    found: dict[int, dict[str, int]] = {}
    for place, level, count in lines:
        if level is not None:
            found.setdefault(place, {})[level] = count
    return found


def _counted(run: Run, valid: str, features: tuple[Feature, ...], edges: FloatArray) -> Crosstab:
    codes = [f"{code_sql(f'g{index}', feature)} AS f{index}" for index, feature in enumerate(features)]
    names = [f"f{index}" for index in range(len(features))]
    keys = ", ".join([*codes, f"{place_sql('p', edges)} AS b"])
    sums = f"count(*) AS n, CAST(sum(CAST(round(p * {STEPS}) AS BIGINT)) AS BIGINT) AS s, count_if(y = 1) AS one"
    by = ", ".join([*names, "b"])
    parts = [
        [as_numpy(column) for column in batch.columns]
        for batch in arrow_reader(
            run,
            f"SELECT {by}, n, s, CAST(one AS BIGINT) AS one FROM (SELECT {keys}, {sums} FROM {valid} GROUP BY {by})",
        )
    ]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    found = np.array(columns[: len(features)], dtype=np.int16).reshape(len(features), -1)
    return Crosstab.from_counts(features, edges, found, columns[-4].astype(np.int16), np.array(columns[-3:]))


def code_sql(value: str, feature: Feature) -> str:
    """The code of a feature's value, as SQL."""
    text = f"CAST({value} AS VARCHAR)"
    if feature.numeric:
        known = f"{place_sql(f'CAST({value} AS DOUBLE)', feature.cuts)} + {FIRST}"
    elif feature.levels:
        listed = ", ".join(map(quoted, feature.levels))
        known = f"coalesce(list_position([{listed}], {text}) + {FIRST - 1}, {RARE})"
    else:
        known = str(RARE)
    return f"CAST(CASE WHEN {value} IS NULL THEN {MISSING} ELSE {known} END AS SMALLINT)"


def place_sql(value: str, cuts: Sequence[float] | FloatArray) -> str:
    """How many cuts a value exceeds."""
    steps = [f"CAST({value} > CAST({float(cut)!r} AS DOUBLE) AS SMALLINT)" for cut in cuts]
    return f"({' + '.join(['CAST(0 AS SMALLINT)', *steps])})"
