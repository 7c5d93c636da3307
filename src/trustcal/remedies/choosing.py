"""`choose`: every remedy on held-out rows, the recommended one, and that one fitted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final, overload

import numpy as np
from numpy.typing import ArrayLike

from trustcal.checking import Role, checked_fraction, generator
from trustcal.class_predictor import ClassPredictor
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.predictor import Predictor
from trustcal.reading import Evidence, evidence, outcome_problem, payoff_problem
from trustcal.remedies.averaging import averaged
from trustcal.remedies.certificates import certify
from trustcal.remedies.class_choosing import ClassChoice, chosen_classes, opened_classes
from trustcal.remedies.comparison import BY_GROUP, Comparison
from trustcal.remedies.folds import SingleRows
from trustcal.remedies.grouped_maps import GroupMap
from trustcal.remedies.grouping import group_label, group_map, mapped_by_group
from trustcal.remedies.held_out import compared, laws_of_groups
from trustcal.remedies.kept_back import KeptBack, kept_back
from trustcal.remedies.methods import Method, named
from trustcal.remedies.remedy import Remedy
from trustcal.remedies.splitting import row_splits, single_rows
from trustcal.remedies.trials import tried
from trustcal.rows.classes import is_table


@final
@dataclass(frozen=True)
class Choice:
    """Remedies compared, and the recommended one fitted."""

    table: Comparison
    """Every method on held-out rows."""
    fitted: Remedy
    """The recommended remedy, or the one that was insisted on."""

    @property
    def recommended(self) -> str:
        """The name of the recommended method."""
        return self.table.recommended

    def to_json(self) -> str:
        """All numbers of the comparison, and the remedy as it is saved."""
        return json.dumps({**json.loads(self.table.to_json()), "remedy": json.loads(self.fitted.to_json())}, indent=2)

    def __str__(self) -> str:
        return f"{self.table}\n\n{self.fitted}"


@overload
def choose(
    source: ClassPredictor,
    *,
    payoff: OutcomeProblem | str | os.PathLike[str] | None = None,
    method: str = "auto",
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> ClassChoice: ...
@overload
def choose(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any],
    outcome: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
    payoff: OutcomeProblem | str | os.PathLike[str] | None = None,
    method: str = "auto",
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> ClassChoice: ...
@overload
def choose(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | ArrayLike | None = None,
    cluster: ArrayLike | str | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    payoff: DecisionProblem | str | os.PathLike[str] | None = None,
    order: ArrayLike | str | None = None,
    method: str = "auto",
    keep_back: float = 0.25,
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> Choice: ...
def choose(
    source: Any,
    y_prob: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: str | Iterable[Any] | None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    weight: str | None = None,
    by: str | Sequence[str] | ArrayLike | None = None,
    cluster: ArrayLike | str | None = None,
    positive: Any = None,
    resolution: float | None = None,
    drop_invalid: bool = False,
    payoff: DecisionProblem | OutcomeProblem | str | os.PathLike[str] | None = None,
    order: ArrayLike | str | None = None,
    method: str = "auto",
    keep_back: float = 0.25,
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> Choice | ClassChoice:
    """Compare recalibration and noise on held-out rows, recommend one with its reason, and fit it.

    Rows are split at random into folds with equal numbers of each outcome, or by time.  Each method is fitted to all
    folds but one (by time: to all rows before) and applied to that one.  Methods within two standard errors of the
    best loss are told apart by the log loss, where the simplest within 0.6 standard errors is recommended, and none
    unless it beats doing nothing.  After noise the exact distribution is measured, not a draw.

    Parameters
    ----------
    source : a file, a pattern, a list of files, a frame, a relation (as for `read`); y_true; or a `Predictor` made from
        rows of equal weight, whose counts are split as random rows would be.
    y_prob, sample_weight : rows in scikit-learn's order, where `source` is y_true.
    classes : for more than two outcomes: the labels of the columns of y_prob, a table of probabilities, or for files
        the columns, such as "p_*".  Then payoff is an `OutcomeProblem` or its CSV file, and of the other options only
        outcome, weight, drop_invalid, method, folds and rng apply: the remedy is fitted to all rows.
    prediction, outcome, weight, positive, resolution, drop_invalid : how to read a file or frame, as for `read`.
    by : the group of each row, or for files and frames its columns: a method that harms a group is not recommended.
        Where groups differ, the recommended method gets a map for each group, if that is better on held-out rows.
    cluster : the cluster of each row, such as the event it is a forecast of, or for files and frames its column: rows
        of one cluster are held out or kept back together, and standard errors are those of clusters.  Then no map
        for each group is tried.
    payoff : the decision problem to judge by, or a CSV file of it; unless given, the Brier score.
    order : the time of each row, or for files its column: each row is judged by what came before it.
    method : "auto" for the recommended method, or the name of one.
    keep_back : the share of rows that are kept back to certify the fitted remedy, with `order` the last ones; 0: none.
    folds : the number of folds, at least 2.
    rng : a numpy Generator or a seed, for the folds.

    Returns
    -------
    Choice : the comparison, and the remedy fitted to all rows that are not kept back; with classes, a `ClassChoice`.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000)
    >>> told = truth**2 / (truth**2 + (1 - truth) ** 2)
    >>> choice = choose(rng.random(4000) < truth, told)
    >>> choice.recommended, choice.fitted.apply([0.1, 0.9]).round(1), choice.fitted.certificate.decision_loss < 0.2
    ('temperature', array([0.3, 0.7]), True)

    O(folds·n log n) for n distinct values; few rows are split ten times, or forty times if the choice is close.
    """
    if classes is not None or isinstance(source, ClassPredictor) or is_table(y_prob):
        other = (prediction, by, cluster, positive, resolution, order)
        if any(option is not None for option in other) or isinstance(payoff, DecisionProblem):
            raise ValueError(
                "with classes only outcome, weight, drop_invalid, method, folds, rng and an OutcomeProblem apply."
            )
        q = opened_classes(source, y_prob, sample_weight, classes, outcome, weight, drop_invalid)
        return chosen_classes(q, None if payoff is None else outcome_problem(payoff), method, folds, rng)
    if isinstance(payoff, OutcomeProblem):
        raise ValueError("an OutcomeProblem is for several classes: name them, classes=…, or use a DecisionProblem.")
    groups = None if y_prob is None or by is None else np.asarray(by).astype(str)
    found = evidence(
        source, y_prob, sample_weight, prediction=prediction, outcome=outcome, weight=weight,
        by=by if groups is None else None, positive=positive, resolution=resolution, drop_invalid=drop_invalid,
        cluster=cluster,
    )  # fmt: skip
    single = single_rows(source, found, order, y_prob, sample_weight, groups, positive, cluster)
    return chosen(found, payoff_problem(payoff), method, keep_back, folds, rng, single)


def chosen(
    found: Evidence,
    problem: DecisionProblem | None,
    method: str = "auto",
    keep_back: float = 0.25,
    folds: int = 5,
    rng: np.random.Generator | int = 0,
    single: SingleRows | None = None,
) -> Choice:
    """The choice on evidence that was opened before.

    Parameters
    ----------
    found : Evidence
    problem : DecisionProblem or None
    method, keep_back, folds, rng : as for `choose`
    single : the rows one by one, as `single_rows` gives them, where they have weights, times, groups or clusters

    Returns
    -------
    Choice

    O(folds·n log n).
    """
    insisted = None if method == "auto" else named(method)
    random, kept = generator(rng, Role.SPLITS), None
    if keep_back:
        kept = kept_back(found, single, checked_fraction("keep_back", keep_back), random)
        found, single = kept.found, kept.single
    table = compared(found, problem, folds, random, single)
    base = named(table.recommended.removesuffix(BY_GROUP))
    columns = None if found.provenance is None else found.provenance.columns
    prediction = None if columns is None else columns.prediction
    remedy = (insisted or base).fit(found.predictor, problem, prediction)
    if insisted is None and table.recommended.endswith(BY_GROUP) and remedy.learned is not None:
        laws = {group_label(name): q for name, q in laws_of_groups(found, single).items()}
        group = None if columns is None else columns.by[0]
        remedy = replace(remedy, map=group_map(base, laws, problem), learned=replace(remedy.learned, by=group))
    return Choice(table, _certified(remedy, kept, problem))


def recalibration(
    found: Evidence,
    problem: DecisionProblem | None,
    method: str = "auto",
    folds: int = 5,
    rng: np.random.Generator | int = 0,
) -> Method:
    """The method for callers who asked to recalibrate: the mean of those that beat none on held-out rows.

    Noise is not tried, and rows are split at most six times, once if they are many: an average needs no more.

    Parameters
    ----------
    found : Evidence
    problem : DecisionProblem or None
    method, folds, rng : as for `choose`

    Returns
    -------
    Method

    O(folds·n log n); O(1) for a named method.
    """
    if method != "auto":
        return named(method)
    return averaged(tried(row_splits(found, None, folds, generator(rng, Role.SPLITS), most=6), problem))


def _certified(remedy: Remedy, kept: KeptBack | None, problem: DecisionProblem | None) -> Remedy:
    """The remedy with a certificate by the rows that were kept back, if any were."""
    if kept is None:
        return remedy
    if not isinstance(remedy.map, GroupMap):
        said = remedy.apply(kept.law)
        assert isinstance(said, Predictor)
        return remedy.certified(certify(said, problem))
    return remedy.certified(certify(mapped_by_group(remedy.map, kept.laws), problem))
