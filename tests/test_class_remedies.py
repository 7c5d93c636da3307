"""Remedies for K classes: fitted, applied, saved, compared on held-out rows, and inside a scikit-learn classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from trustcal.class_predictor import ClassPredictor
from trustcal.classes import class_brier
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.estimators import Recalibrated, TrustedClassifier
from trustcal.remedies import ClassRemedy, choose, fit
from trustcal.remedies.class_remedy import CLASS_METHODS

METHODS = [name for name in CLASS_METHODS if name != "none"]


def overconfident(n: int, seed: int = 0, power: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, what was said, and the true probabilities."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), n)
    y = (rng.random((n, 1)) >= np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
    said = truth**power
    return y, said / said.sum(axis=1, keepdims=True), truth


@pytest.mark.parametrize("method", METHODS)
def test_a_remedy_improves_new_rows_and_gives_vectors(method: str) -> None:
    y, said, _ = overconfident(2000)
    remedy = fit(method, y, said, classes=[0, 1, 2])
    fresh, told, truth = overconfident(2000, seed=1)
    new = remedy.apply(told)
    assert np.abs(new.sum(axis=1) - 1).max() < 1e-12
    assert new.min() >= 0
    assert np.abs(new - truth).mean() < np.abs(told - truth).mean() / 2
    assert class_brier(fresh, new) < class_brier(fresh, told)
    q = ClassPredictor.from_samples(fresh, told)
    assert class_brier(remedy.predictor(q)) == pytest.approx(class_brier(fresh, new), abs=1e-12)


@pytest.mark.parametrize("method", list(CLASS_METHODS))
def test_a_remedy_is_saved_to_the_bit(method: str, tmp_path: Path) -> None:
    y, said, _ = overconfident(200)
    remedy = fit(method, y, said, classes=[0, 1, 2])
    again = ClassRemedy.from_json(remedy.to_json())
    assert again == remedy
    assert (again.apply(said) == remedy.apply(said)).all()
    remedy.save(tmp_path / "remedy.json")
    assert ClassRemedy.from_json((tmp_path / "remedy.json").read_text()) == remedy
    assert str(remedy).endswith("Learned from 200 rows.")
    with pytest.raises(ValueError, match="checksum"):
        ClassRemedy.from_json(remedy.to_json().replace(method, "magic"))


def test_calibrated_vectors_need_nothing() -> None:
    y, said, _ = overconfident(3000, power=1.0)
    choice = choose(y, said, classes=[0, 1, 2])
    assert choice.recommended == "none"
    assert choice.methods[0].excess <= choice.methods[0].standard_error
    assert choice.fitted.describe().startswith("No remedy: vectors are left as they are.")


def test_the_choice_is_judged_by_the_payoffs() -> None:
    y, said, _ = overconfident(2000)
    payoff = np.full((4, 3), -2.0)
    payoff[np.arange(3), np.arange(3)] = 1
    payoff[3] = 0
    problem = OutcomeProblem(payoff, ["0", "1", "2", "ask"])
    choice = choose(y, said, classes=range(3), payoff=problem, rng=1)
    found = {one.name: one for one in choice.methods}
    assert choice.criterion == "payoff"
    assert choice.recommended != "none"
    assert found[choice.recommended].value > found["none"].value  # type: ignore[operator]
    # The value of none is that of all rows, each held out once.
    assert found["none"].value == pytest.approx(problem.value(y, said), abs=1e-12)
    assert found["none"].brier == pytest.approx(class_brier(y, said), abs=1e-12)
    again = choose(y, said, classes=range(3), payoff=problem, rng=1)
    assert again == choice
    assert "Recommended:" in str(choice)
    # Named outcomes in another order are matched by name.
    mixed = OutcomeProblem(payoff[:, [2, 0, 1]], ["0", "1", "2", "ask"], outcomes=["2", "0", "1"])
    other = choose(y, said, classes=range(3), payoff=mixed, rng=1)
    assert [one.value for one in other.methods] == pytest.approx([one.value for one in choice.methods], abs=1e-12)
    assert choose(y, said, method="isotonic", rng=1).fitted.method == "isotonic"  # a table is enough


def test_bad_arguments() -> None:
    y, said, _ = overconfident(50)
    remedy = fit("temperature", y, said, classes=[0, 1, 2])
    two: Any = DecisionProblem(np.eye(2))
    three: Any = OutcomeProblem(np.eye(3))
    cases: list[tuple[Any, str]] = [
        (lambda: fit("magic", y, said), "method must be one of"),
        (lambda: remedy.apply([[0.5, 0.5]]), "must have 3 probabilities"),
        (lambda: remedy.apply([[0.5, 0.9, 0.5]]), "sum to 1"),
        (lambda: choose(ClassPredictor([[0.5, 0.5]], [[0.5, 0.5]])), "needs rows"),
        (lambda: choose([0], [[0.5, 0.5]]), "at least two"),
        (lambda: choose(y, said, by=y), "with classes only"),
        (lambda: fit("temperature", y, said, by=y), "for two outcomes"),
        (lambda: choose(y, said, classes=[0, 1, 2], payoff=two), "with classes only"),
        (lambda: choose(y, said[:, 0], payoff=three), "OutcomeProblem is for several classes"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            bad()


def test_recalibrated_takes_more_than_two_classes() -> None:
    x, y = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in range(10)])[y]
    payoff = np.full((11, 10), -4.0)
    payoff[np.arange(10), np.arange(10)] = 1
    payoff[10] = 0.2
    train, test = slice(0, 900), slice(900, None)
    actions = [f"say {k}" for k in range(10)] + ["ask"]
    raw = GaussianNB().fit(x[train], names[train])
    found = Recalibrated(GaussianNB(), payoff, actions=actions, method="temperature").fit(x[train], names[train])
    problem = OutcomeProblem(payoff, outcomes=found.classes_)
    assert found.score(x[test], names[test]) > problem.value(names[test], raw.predict_proba(x[test]))
    proba = found.predict_proba(x[test])
    assert np.abs(proba.sum(axis=1) - 1).max() < 1e-12
    assert found.score(x[test], names[test]) == pytest.approx(problem.value(names[test], proba), abs=1e-12)
    assert set(found.predict(x[test])) <= set(actions)
    assert (found.predict_proba(x[test][:3]) == proba[:3]).all()
    assert 0 <= found.certificate_.estimate <= found.certificate_.upper
    plain = Recalibrated(GaussianNB(), method="none", keep_back=0).fit(x[train], names[train])
    assert plain.certificate_ is None
    assert plain.score(x[test], names[test]) == raw.score(x[test], names[test])
    with pytest.raises(ValueError, match="Only binary classification"):
        TrustedClassifier(GaussianNB()).fit(x[train], names[train])
