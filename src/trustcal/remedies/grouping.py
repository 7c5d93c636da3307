"""One map per group, shrunk towards the common one, so that small groups do not overfit.

    logit p' = (1 + u)·logit h(p) + v     h the common map, u and v normal with standard deviation τ

The same τ serves all groups.  It is chosen on held-out rows: the smallest whose Brier score is within one standard
error of the best.  At τ = 0 all groups share the common map.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from math import sqrt
from typing import Any, Final

import numpy as np
from scipy.special import expit, ndtri

from trustcal.checking import FloatArray, Role, generator
from trustcal.decisions import DecisionProblem
from trustcal.measures.counts import law_of_counts
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.predictor import Predictor
from trustcal.remedies.comparison import BY_GROUP, MethodResult
from trustcal.remedies.folds import Fold, IntArray, exact_counts, merged, together
from trustcal.remedies.grouped_maps import GroupMap
from trustcal.remedies.likelihood import BINS, binned
from trustcal.remedies.maps import Map
from trustcal.remedies.methods import METHODS, Method
from trustcal.remedies.trials import NOT_CHANCE, Trial, beyond_chance, difference, gap, monotone_difference

_SPREADS: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
_FOLDS: Final = 5


def group_map(method: Method, laws: Mapping[str, Predictor], problem: DecisionProblem | None = None) -> GroupMap:
    """The common map of a method, with a slope and a shift for each group.

    Parameters
    ----------
    method : Method
    laws : mapping of names to predictors
        Each made from rows of equal weight.
    problem : DecisionProblem, optional
        For methods that need payoffs.

    Returns
    -------
    GroupMap

    O(n log n), and a few Newton steps for each group, fold and spread.
    """
    common = method.learn(together([(q.p, exact_counts(q)) for q in laws.values()]), problem)
    spread = _spread(method, laws, problem)
    if spread == 0:
        return GroupMap(common, ())
    return GroupMap(common, tuple((name, *_shrunk(q, common, spread)) for name, q in laws.items()))


def group_label(value: object) -> str:
    """The name of a group, the same however rows are read.

    >>> group_label(True), group_label(3), group_label("north")
    ('true', '3', 'north')
    """
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def mapped_by_group(found: GroupMap, laws: Mapping[Any, Predictor]) -> Predictor:
    """The predictor after a map by group, of the predictors of the groups.  O(n log n)."""
    total = sum(q.rows or 0 for q in laws.values())
    parts = [q.map(partial(_at, found, name=group_label(name))) for name, q in laws.items()]
    return merged(parts, [(q.rows or 0) / total for q in laws.values()], float(total))


def group_result(
    recommended: Trial, row: MethodResult, folds: Sequence[Fold], problem: DecisionProblem | None
) -> MethodResult | None:
    """What a map for each group does to rows held out, beside the recommended method.

    It may be recommended if its loss is below that of the recommended method by more than its standard error, if it
    harms no group, and if it does not raise the decision loss.  None if a fold has rows of too few groups.

    Parameters
    ----------
    recommended : Trial
        The method that is recommended for all groups together; where that is none, Platt's gets the groups.
    row : MethodResult
        Its result.
    folds : sequence of Fold
        One split of rows of equal weight, by group.
    problem : DecisionProblem or None

    Returns
    -------
    MethodResult or None

    O(n log n) for each fold.
    """
    method = METHODS["Platt"] if recommended.method.name == "none" else recommended.method
    laws, gaps, parts, owners = [], [], [], []
    for fold, common in zip(folds, recommended.maps[0], strict=True):
        if len(fold.others) < 2:
            return None
        fitted = group_map(method, {group_label(name): q for name, q in fold.others.items()}, problem)
        for name, (q, _) in fold.groups.items():
            new = _at(fitted, q.p, group_label(name))
            laws.append((q, fold.share * (q.rows or 0) / (fold.held_out.rows or 1)))
            gaps.append((gap(new, common(q.p), problem), gap(new, q.p, problem)))
            parts.append(q.map(partial(_at, fitted, name=group_label(name))))
            owners.append(name)
    rows = float(sum(q.rows or 0 for q, _ in laws))
    better = difference(laws, [one for one, _ in gaps], rows)
    harmed = tuple(str(name) for name in dict.fromkeys(owners) if _harms(name, owners, laws, [one for _, one in gaps]))
    law = merged(parts, [share for _, share in laws], rows)
    raised = problem is None and beyond_chance(monotone_difference(law), recommended.decision_loss)
    return MethodResult(
        name=method.name + BY_GROUP,
        excess=row.excess + better.mean,
        standard_error=better.error,
        decision_loss=monotone_difference(law).mean,
        brier=brier(law),
        log_loss=log_loss(law),
        auc=auc(law) if 0 < law.base_rate < 1 else None,
        value=None if problem is None else problem.value(law),
        guarantee=None,
        needs_outcomes=True,
        harmed=harmed,
        eligible=better.mean < -better.error and not harmed and not raised,
    )


def _harms(
    name: Hashable, owners: Sequence[Hashable], laws: Sequence[tuple[Predictor, float]], gaps: Sequence[Any]
) -> bool:
    """Whether a group loses by it against none, by more than chance explains."""
    own = [(laws[i], gaps[i]) for i, owner in enumerate(owners) if owner == name]
    rows = float(sum(q.rows or 0 for (q, _), _ in own))
    found = difference([(q, (q.rows or 0) / rows) for (q, _), _ in own], [one for _, one in own], rows)
    return found.mean > -float(ndtri(NOT_CHANCE / max(1, len(set(owners))))) * found.error + 1e-12


def _at(found: GroupMap, p: FloatArray, name: str) -> FloatArray:
    return found.by_group(p, np.full(len(p), name))


def _spread(method: Method, laws: Mapping[str, Predictor], problem: DecisionProblem | None) -> float:
    """τ, by the Brier score of rows held out."""
    random = generator(0, Role.SPLITS)
    counts = {name: exact_counts(q) for name, q in laws.items()}
    parts = {name: _scattered(of, random) for name, of in counts.items()}
    gaps: list[list[FloatArray]] = [[] for _ in _SPREADS]
    rows: list[FloatArray] = []
    for fold in range(_FOLDS):
        rest = {name: (laws[name].p, counts[name] - parts[name][fold]) for name in laws}
        train = together(rest.values())
        if not 0 < train.base_rate < 1:
            return 0.0
        common = method.learn(train, problem)
        for name, (p, left) in rest.items():
            if not left.sum() or not parts[name][fold].sum():
                continue
            said = common(p)
            rows.append(parts[name][fold].ravel().astype(np.float64))
            for lost, spread in zip(gaps, _SPREADS, strict=True):
                moved = said
                if spread > 0:
                    slope, shift = _shrunk(law_of_counts(p, left), common, spread)
                    moved = _at(GroupMap(common, ((name, slope, shift),)), p, name)
                lost.append(np.concatenate([moved**2 - said**2, (1 - moved) ** 2 - (1 - said) ** 2]))
    weight = np.concatenate(rows)
    losses = [np.concatenate(lost) for lost in gaps]
    means = [float((weight * loss).sum() / weight.sum()) for loss in losses]
    best = int(np.argmin(means))
    for spread, loss, mean in zip(_SPREADS, losses, means, strict=True):
        moment = float((weight * (loss - losses[best]) ** 2).sum() / weight.sum())
        if mean - means[best] <= sqrt(moment / weight.sum()):
            return spread
    return _SPREADS[best]


def _scattered(counts: IntArray, random: np.random.Generator) -> list[IntArray]:
    """How many rows are in each fold, each by itself: equal shares of ones would hide how much small groups vary."""
    parts, rest = [], counts
    for left in range(_FOLDS, 0, -1):
        parts.append(random.binomial(rest, 1 / left))
        rest = rest - parts[-1]
    return parts


def _shrunk(q: Predictor, common: Map, spread: float) -> tuple[float, float]:
    """The slope and the shift of a group, by Newton's method on the penalised likelihood; the slope stays positive."""
    said = np.clip(common(q.p), 1e-300, 1 - 2.0**-53)
    x, rows = np.log(said) - np.log1p(-said), q.rows or 0
    mass, target = q.mass * rows, q.p_hat
    if len(x) > 8 * BINS:  # two numbers do not notice
        mass, (x, target) = binned(mass, [x, target])

    def loss(at: FloatArray) -> float:
        score = (1 + at[0]) * x + at[1]
        return float((mass * (np.logaddexp(0, score) - target * score)).sum() + at @ at / (2 * spread**2))

    at = np.zeros(2)
    least = loss(at)
    for _ in range(50):
        p = expit((1 + at[0]) * x + at[1])
        error, curve = mass * (p - target), mass * p * (1 - p)
        slope = np.array([(error * x).sum(), error.sum()]) + at / spread**2
        cross = float((curve * x).sum())
        bend = np.array([[(curve * x * x).sum(), cross], [cross, curve.sum()]]) + np.eye(2) / spread**2
        step = np.linalg.solve(bend, slope)
        while slope @ step > 1e-12 * max(1, rows):
            new = loss(at - step)
            if new < least:
                break
            step = step / 2
        else:
            break
        at, least = at - step, new
    return max(0.1, 1 + float(at[0])), float(at[1])
