"""`compare`: models on the same rows, with intervals from rows, or clusters, drawn again for all of them together.

Threshold losses decide who is better for whom.  With D(θ) the loss of one model minus that of another at threshold θ,
every decision maker's difference is a mixture of D, and the most that anyone can lose is 2·cav D⁺(1/2), the
`decision_loss`.  It moves by at most twice as much as D does anywhere, so a band for D gives its interval.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trustcal.checking import checked_count, generator, refuse_other
from trustcal.comparing.numbers import ModelComparison, ModelPair, ModelScores, PairedDifference, Range
from trustcal.decisions import DecisionProblem
from trustcal.measures.corp import corp, murphy
from trustcal.measures.decision import decision_loss
from trustcal.measures.monotone import monotone_cdl
from trustcal.measures.scores import auc, brier, log_loss
from trustcal.predictor import Predictor
from trustcal.reading import payoff_problem
from trustcal.rows import checked_rows, labels_of_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DRAWS: Final = 400
LEVEL: Final = 0.95
_THRESHOLDS: Final = 2**11
"""The band is taken over at most this many thresholds, equally spaced among the predictions of all models."""
_ROUNDING: Final = 1e-12


def compare(
    models: Mapping[str, ArrayLike],
    y_true: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    payoff: DecisionProblem | str | os.PathLike[str] | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | int = 0,
) -> ModelComparison:
    """Compare models on the same rows: who is better for whom, and whether that is chance.

    At each threshold θ a decision maker acts above θ; a false alarm costs θ and a miss 1 − θ.  A model whose loss is
    nowhere higher than another's is at least as good for every decision maker (it dominates).  Otherwise the decision
    loss each way says how much the wrong choice can cost anyone.  Rows are drawn again with replacement, the same ones
    for all models: intervals are of paired differences.  Those of threshold losses and decision losses hold for all
    thresholds and pairs at once.  Where rows share events, name the event of each as its cluster: then whole clusters
    are drawn again.

    Parameters
    ----------
    models : predicted probabilities by the name of the model, at least two.
    y_true : the outcomes, in the same order.
    sample_weight : weights of the rows.
    cluster : the cluster of each row, such as the event it is a forecast of; omitted, all rows are independent.
    payoff : the user's decision problem, or a CSV file with the header action,0,1.
    draws : how often rows, or clusters, are drawn again.
    rng : a numpy Generator or a seed.

    Returns
    -------
    ModelComparison : scores of each model, the best one beside each other one, and the answer in words.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger (2016), Of quantiles and expectiles.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(3000)
    >>> found = compare({"sharp": truth, "dull": 0.5 + 0.2 * (truth - 0.5)}, rng.random(3000) < truth)
    >>> found.best, found.pairs[0].loss_second.lower > 0, found.pairs[0].second_better
    ('sharp', True, ())
    >>> event = np.arange(3000) // 20
    >>> compare({"one": truth, "other": truth[::-1]}, rng.random(3000) < truth, cluster=event, draws=50).clusters
    150

    O((draws + log n)·n) for each model.
    """
    refuse_other("models", models, Mapping, "a dict of predictions by the name of the model, with y_true after it")
    if len(models) < 2:
        raise ValueError(f"a comparison needs at least two models, but there are {len(models)}.")
    checked_count("draws", draws, most=10**7)
    problem, random = payoff_problem(payoff), generator(rng)
    names = [str(name) for name in models]
    rows = [
        checked_rows(y_true, p, sample_weight, ("y_true", f"models[{name!r}]", "sample_weight"))
        for name, p in models.items()
    ]
    y, _, w = rows[0]
    weight = np.ones(len(y)) if w is None else w
    unit, units = (None, None) if cluster is None else _units(labels_of_rows(cluster, len(y), sample_weight))
    made = (Predictor.from_samples(y_true, p, sample_weight, cluster=cluster) for p in models.values())
    laws = dict(zip(names, made, strict=True))
    scores = tuple(_scores(name, law, problem) for name, law in laws.items())
    best = min(range(len(names)), key=lambda i: (_criterion(scores[i]), i))
    others = [i for i in range(len(names)) if i != best]
    theta = _thresholds(laws)
    predictions = [p for _, p, _ in rows]
    keys = (weight, y, *predictions) if unit is None else (unit, weight, y, *predictions)
    order = np.lexsort(keys)  # the same draws in any order of the rows
    predictions, outcome, weight = [p[order] for p in predictions], y[order].astype(np.float64), weight[order]
    unit = np.arange(len(y)) if unit is None else unit[order]
    drawn = _drawn(predictions, outcome, weight / weight.sum(), unit, theta, problem, draws, random)
    widths = _half_widths(np.abs(drawn.spread(best, others)).max(axis=2))
    pairs = tuple(
        _pair(names, scores, laws, drawn, best, other, theta, width)
        for other, width in zip(others, widths, strict=True)
    )
    return ModelComparison(
        rows=len(y), clusters=units, base_rate=laws[names[0]].base_rate, models=scores, best=names[best], pairs=pairs,
        confidence=LEVEL, draws=draws, laws=laws,
    )  # fmt: skip


def _units(label: NDArray[Any]) -> tuple[IntArray, int]:
    """The cluster of each row as 0, 1, 2, …, and their number: one alone says nothing about chance."""
    names, unit = np.unique(label, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"a comparison by cluster needs at least two clusters, but all {len(label):,} rows are of one. Name the "
            "column that says which rows share an event."
        )
    return unit.astype(np.int64), len(names)


def _scores(name: str, law: Predictor, problem: DecisionProblem | None) -> ModelScores:
    return ModelScores(
        name=name,
        brier=brier(law),
        split=corp(law),
        log_loss=log_loss(law),
        auc=auc(law) if 0 < law.base_rate < 1 else None,
        decision_loss=monotone_cdl(law),
        value=None if problem is None else problem.value(law),
    )


def _criterion(scores: ModelScores) -> float:
    return scores.brier if scores.value is None else -scores.value


def _thresholds(laws: Mapping[str, Predictor]) -> FloatArray:
    """Where threshold losses bend or jump: the predictions of all models, each also from below; thinned if many."""
    p = np.unique(np.concatenate([law.p for law in laws.values()]))
    if len(p) > _THRESHOLDS:
        p = p[np.linspace(0, len(p) - 1, _THRESHOLDS).round().astype(np.intp)]
    return np.unique(np.concatenate([[0.0, 1.0], p, np.nextafter(p, 0)]))


@final
@dataclass(frozen=True, eq=False)
class _Drawn:
    """Threshold losses and means of every model: of the rows, and of rows or clusters drawn again."""

    loss: FloatArray
    """loss[0, model, threshold] of the rows, loss[1 + draw, …] of the draws."""
    brier: FloatArray
    """brier[0, model] and so on."""
    value: FloatArray | None

    def spread(self, best: int, others: list[int]) -> FloatArray:
        """How far the difference of threshold losses strays from that of the rows: [draw, other, threshold]."""
        difference = self.loss[:, [best]] - self.loss[:, others]
        return np.asarray(difference[1:] - difference[0])


def _half_widths(strayed: FloatArray) -> list[float]:
    """Of bands that hold for all pairs at once: each in proportion to how far its own pair strays, on average.

    So a model that is far from the others does not hide what tells those apart.
    """
    mean = strayed.mean(axis=0)
    relative = (strayed / np.where(mean > 0, mean, 1.0)).max(axis=1)
    return [float(width) for width in mean * np.quantile(relative, LEVEL)]


def _drawn(
    predictions: list[FloatArray],
    y: FloatArray,
    weight: FloatArray,
    unit: IntArray,
    theta: FloatArray,
    problem: DecisionProblem | None,
    draws: int,
    rng: np.random.Generator,
) -> _Drawn:
    """The rows, then units of them (a row or a cluster each) drawn again: every model is measured on the same ones.

    O(draws · n) for each model.
    """
    units = int(unit.max()) + 1
    orders = [np.argsort(p, kind="stable") for p in predictions]
    firsts = [np.searchsorted(p[order], theta, side="right") for p, order in zip(predictions, orders, strict=True)]
    squares = np.stack([(p - y) ** 2 for p in predictions])
    pays = None if problem is None else np.stack([problem.score(p, y) for p in predictions])
    loss, brier, value = np.empty((1 + draws, len(predictions), len(theta))), [], []
    for draw in range(1 + draws):
        w = weight
        if draw:
            w = weight * np.bincount(rng.integers(units, size=units), minlength=units)[unit]
            w = w / w.sum()
        positive = w * y
        for i, (order, first) in enumerate(zip(orders, firsts, strict=True)):
            below, ones = (np.append(0.0, np.cumsum(part[order]))[first] for part in (w, positive))
            alarms = (w.sum() - below) - (positive.sum() - ones)
            loss[draw, i] = theta * alarms + (1 - theta) * ones
        brier.append(squares @ w)
        value += [] if pays is None else [pays @ w]
    return _Drawn(loss, np.array(brier), None if pays is None else np.array(value))


def _pair(
    names: list[str],
    scores: tuple[ModelScores, ...],
    laws: Mapping[str, Predictor],
    drawn: _Drawn,
    one: int,
    two: int,
    theta: FloatArray,
    width: float,
) -> ModelPair:
    first, second = names[one], names[two]
    gap = drawn.loss[0, one] - drawn.loss[0, two]
    return ModelPair(
        first=first,
        second=second,
        brier=_difference(scores[one].brier - scores[two].brier, drawn.brier[1:, one] - drawn.brier[1:, two]),
        value=_earned(scores, drawn, one, two),
        loss_first=_within(decision_loss(laws[first], laws[second]), width),
        loss_second=_within(decision_loss(laws[second], laws[first]), width),
        dominates=_dominant(laws[first], laws[second], first, second),
        first_better=_runs(theta, -gap, width),
        second_better=_runs(theta, gap, width),
        half_width=width,
    )


def _earned(scores: tuple[ModelScores, ...], drawn: _Drawn, one: int, two: int) -> PairedDifference | None:
    mine, other = scores[one].value, scores[two].value
    if mine is None or other is None or drawn.value is None:
        return None
    return _difference(mine - other, drawn.value[1:, one] - drawn.value[1:, two])


def _difference(value: float, again: FloatArray) -> PairedDifference:
    """A mean difference with the interval of its quantiles over what was drawn again."""
    lower, upper = np.quantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return PairedDifference(float(value), min(float(value), float(lower)), max(float(value), float(upper)))


def _within(value: float, width: float) -> PairedDifference:
    """A decision loss: it is 2·cav D⁺(1/2), so it moves by at most twice as much as D does anywhere."""
    return PairedDifference(value, max(0.0, value - 2 * width), min(1.0, value + 2 * width))


def _dominant(one: Predictor, two: Predictor, first: str, second: str) -> str | None:
    """The model whose loss is nowhere higher, at all thresholds where either bends or jumps."""
    p = np.union1d(one.p, two.p)
    theta = np.unique(np.concatenate([p, np.nextafter(p, 0)]))
    gap = murphy(one, theta).predictions - murphy(two, theta).predictions
    low, high = bool((gap < -_ROUNDING).any()), bool((gap > _ROUNDING).any())
    return None if low == high else first if low else second


def _runs(theta: FloatArray, gain: FloatArray, width: float) -> tuple[Range, ...]:
    """The ranges of thresholds in which there is a gain, each from its first to its last clear one."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], gain > 0, [False]]).astype(np.int8)))
    found = []
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        clear = a + np.flatnonzero(gain[a:b] > width)
        if len(clear):
            found.append((float(theta[clear[0]]), float(theta[clear[-1]])))
    return tuple(found)
