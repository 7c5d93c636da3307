"""Rows kept back: they have no part in a choice, so that they can certify it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trustcal.measures.counts import law_of_counts
from trustcal.predictor import Predictor
from trustcal.reading import Evidence
from trustcal.remedies.folds import SingleRows, exact_counts, together


@final
@dataclass(frozen=True, eq=False)
class KeptBack:
    """The rows to learn from, and those that are kept back."""

    found: Evidence
    single: SingleRows | None
    """The rows to learn from one by one, where counts are not enough."""
    law: Predictor
    """The rows kept back."""
    laws: Mapping[Any, Predictor]
    """The same of each group; empty without groups."""


def kept_back(found: Evidence, single: SingleRows | None, share: float, random: np.random.Generator) -> KeptBack:
    """The evidence without a share of the rows, and these rows: the last ones in time, or a random sample.

    Rows of one cluster stay together.
    """
    if single is not None:
        return _without(found, single, share, random)
    laws: Mapping[Any, Predictor] = found.groups or {"all": found.predictor}
    rest, back = {}, {}
    for name, q in laws.items():
        both = exact_counts(q)
        drawn = random.binomial(both, share)
        if drawn.sum() < both.sum():
            rest[name] = (q.p, both - drawn)
        if drawn.any():
            back[name] = (q.p, drawn)
    if not back or not rest:
        raise ValueError("keep_back leaves no rows to learn from, or none to judge by. Use 0, or more rows.")
    groups = {name: law_of_counts(*part) for name, part in rest.items()} if found.groups else {}
    kept = {name: law_of_counts(*part) for name, part in back.items()} if found.groups else {}
    left = replace(found, predictor=together(rest.values()), groups=groups, rows=None)
    return KeptBack(left, None, together(back.values()), kept)


def _without(found: Evidence, single: SingleRows, share: float, random: np.random.Generator) -> KeptBack:
    """The evidence without some single rows, and these."""
    size = len(single.y_true)
    if single.times is not None:
        kept = single.times >= np.sort(single.times)[int(size * (1 - share))]
    elif single.clusters is not None:
        known, at = np.unique(single.clusters, return_inverse=True)
        kept = (random.permutation(len(known)) < share * len(known))[at]
    else:
        kept = random.permutation(size) < share * size
    if kept.all() or not kept.any():
        raise ValueError("keep_back leaves no rows to learn from, or none to judge by. Use 0, or more rows.")
    rest, back = single.where(~kept), single.where(kept)
    return KeptBack(replace(found, predictor=rest.law, groups=rest.laws, rows=None), rest, back.law, back.laws)
