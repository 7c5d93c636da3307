"""OutcomeProblem: exact values, brute force over all swaps, and two outcomes as in DecisionProblem."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from tests.test_class_predictor import class_rows
from trustcal.auditing import class_audit
from trustcal.class_predictor import ClassPredictor
from trustcal.decisions import DecisionProblem, OutcomeProblem
from trustcal.predictor import Predictor

EXACT = json.loads((Path(__file__).parent / "bin_free_reference_values.json").read_text())["outcomes"]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case["name"])
def test_reference_values(case: dict[str, Any]) -> None:
    def floats(table: list[list[str]]) -> list[list[float]]:
        return [[float(Fraction(text)) for text in line] for line in table]

    problem, p = OutcomeProblem(floats(case["payoff"])), floats(case["proba"])
    (w,) = floats([case["sample_weight"]])
    y = case["y"]
    assert problem.action_regret(y, p, w) == pytest.approx(float(Fraction(case["action_regret_lower"])), abs=1e-12)
    assert problem.decision_gaps(y, p, w) == pytest.approx(floats([case["decision_gaps"]])[0], abs=1e-12)
    assert problem.decision_gap(y, p, w) == max(problem.decision_gaps(y, p, w))
    found = problem.recommendations(y, p, w)
    assert sum(one.promised for one in found) == pytest.approx(float(Fraction(case["promised"])), abs=1e-12)
    assert problem.value(y, p, w) == pytest.approx(float(Fraction(case["earned"])), abs=1e-12)


SWAPS = {a: np.array(list(product(range(a), repeat=a))) for a in range(1, 6)}
"""All maps from actions to actions."""


class Law:
    """A random law in rational numbers: vectors on a grid (ties, zeros, certain ones), masses some of which are 0."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.k, self.a, self.n = int(rng.integers(2, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 8))
        grid = int(rng.choice([1, 2, 3, 4, 7, 12]))
        self.p = []
        for _ in range(self.n):
            counts = rng.multinomial(grid, np.ones(self.k) / self.k)
            self.p.append([Fraction(int(count), grid) for count in counts])
        self.joint = rng.integers(0, 4, (self.n, self.k)) * rng.integers(0, 2, (self.n, self.k))
        if not self.joint.any():
            self.joint[0, 0] = 1
        self.payoff = rng.integers(-3, 4, (self.a, self.k))

    @property
    def rows(self) -> tuple[list[int], list[list[float]], list[float]]:
        cells = [(i, k) for i in range(self.n) for k in range(self.k)]
        y = [k for _, k in cells]
        return y, [[float(x) for x in self.p[i]] for i, _ in cells], [float(self.joint[cell]) for cell in cells]

    def taken(self, i: int) -> int:
        """The first best action, exactly; with two outcomes, of those that tie the one that rises least."""
        expected = [sum(int(u) * x for u, x in zip(line, self.p[i], strict=True)) for line in self.payoff]
        tied = [a for a in range(self.a) if expected[a] == max(expected)]
        return min(tied, key=lambda a: self.payoff[a][1] - self.payoff[a][0]) if self.k == 2 else tied[0]

    def regret(self) -> Fraction:
        """The best of all a^a swaps, by enumeration."""
        gain = np.zeros((self.a, self.a), dtype=int)
        for i in range(self.n):
            a = self.taken(i)
            gain[a] += (self.payoff - self.payoff[a]) @ self.joint[i]
        best = gain[np.arange(self.a), SWAPS[self.a]].sum(axis=1).max()
        return Fraction(int(best), int(self.joint.sum()))

    def gap(self) -> Fraction:
        total, worst = int(self.joint.sum()), Fraction(0)
        for a in range(self.a):
            here = [i for i in range(self.n) if self.taken(i) == a]
            gaps = [
                sum(
                    (Fraction(int(self.joint[i, k])) - self.p[i][k] * int(self.joint[i].sum()) for i in here),
                    Fraction(0),
                )
                for k in range(self.k)
            ]
            worst = max(worst, sum(map(abs, gaps), Fraction(0)) / 2)
        return worst / total


@pytest.mark.parametrize("laws", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_against_brute_force_over_all_swaps(laws: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(laws):
        law = Law(rng)
        problem, rows = OutcomeProblem(law.payoff), law.rows
        q = ClassPredictor.from_samples(*rows)
        assert problem.action_regret(q) == pytest.approx(float(law.regret()), abs=1e-12)
        assert problem.decision_gap(q) == pytest.approx(float(law.gap()), abs=1e-12)
        # The view of a problem with two actions has the same regret and the same value over never acting.
        if law.a == 2 and law.k > 2 and np.ptp(law.payoff[1] - law.payoff[0]):
            view, binary = problem.view(q), problem.projected
            never = float((law.payoff[0] * q.frequencies).sum())
            assert binary.action_regret(view, "lower") == pytest.approx(problem.action_regret(q), abs=1e-12)
            assert binary.value(view) == pytest.approx(problem.value(q) - never, abs=1e-12)
        # Views of one class and of the top label, against a loop over the cells of the law.
        one, top = q.one(law.k - 1), q.top()
        seen = {float(law.p[i][-1]): 0 for i in range(law.n) if law.joint[i].any()}
        hits = 0
        for i in range(law.n):
            if law.joint[i].any():
                seen[float(law.p[i][-1])] += int(law.joint[i, -1])
                hits += int(law.joint[i, law.p[i].index(max(law.p[i]))])
        total = law.joint.sum()
        assert one.positive.tolist() == pytest.approx([seen[x] / total for x in sorted(seen)], abs=1e-15)
        assert top.base_rate == pytest.approx(hits / total, abs=1e-15)


@st.composite
def binary_cases(draw: st.DrawFn) -> tuple[list[list[float]], np.ndarray, np.ndarray, np.ndarray | None]:
    payoff = draw(st.lists(st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=2), min_size=1, max_size=5))
    rows = draw(st.integers(1, 25))
    cells = draw(st.sampled_from([1, 2, 4, 10, 64]))
    p = np.array(draw(st.lists(st.integers(0, cells), min_size=rows, max_size=rows))) / cells
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)))
    w = draw(st.none() | st.lists(st.integers(1, 4).map(float), min_size=rows, max_size=rows).map(np.array))
    return payoff, y, p, w


@given(binary_cases())
@examples(400)
def test_two_outcomes_give_the_bits_of_a_decision_problem(case: Any) -> None:
    payoff, y, p, w = case
    many, two = OutcomeProblem(payoff), DecisionProblem(payoff)
    proba, q = np.column_stack([1 - p, p]), Predictor.from_samples(y, p, w)
    assert (many.best_response(proba) == two.best_response(p)).all()
    assert many.action_regret(y, proba, w) == two.action_regret(q, "lower")
    assert many.recommendations(y, proba, w) == two.recommendations(q, "lower")
    assert many.value(y, proba, w) == two.value(q)


@given(class_rows(), st.integers(1, 4), st.randoms(use_true_random=False))
@examples(200)
def test_the_order_of_classes_does_not_matter(rows: Any, actions: int, random: Any) -> None:
    y, p, w = rows
    count = p.shape[1]
    payoff = np.array([[random.randint(-3, 3) for _ in range(count)] for _ in range(actions)], dtype=float)
    names = [f"class {k}" for k in range(count)]
    problem = OutcomeProblem(payoff, outcomes=names)
    q = ClassPredictor.from_samples([names[k] for k in y], p, w, classes=names)
    columns = list(range(count))
    random.shuffle(columns)
    mixed = [names[k] for k in columns]
    other = ClassPredictor.from_samples([names[k] for k in y], p[:, columns], w, classes=mixed)
    assert problem.action_regret(other) == problem.action_regret(q)
    turned = OutcomeProblem(payoff[:, columns], outcomes=mixed)
    assert turned.action_regret(q) == pytest.approx(problem.action_regret(q), abs=1e-12)
    assert turned.decision_gap(q) == pytest.approx(problem.decision_gap(q), abs=1e-12)
    assert (turned.best_response(p[:, columns]) == problem.best_response(p)).all()


def test_a_row_on_a_threshold_is_the_same_in_any_order_of_classes() -> None:
    """At 1/2 both promise the same.  As in DecisionProblem, the one that gains less by the last class is taken."""
    for names in (["no", "yes"], [0, 1], ["9", "10"], ["dog", "fox"]):
        one = OutcomeProblem([[1, 0], [0, 1]], ["first", "last"], names)
        other = OutcomeProblem([[0, 1], [1, 0]], ["first", "last"], names[::-1])
        assert one.best_response([0.5, 0.5]) == other.best_response([0.5, 0.5]) == 0
        q = ClassPredictor.from_samples([names[1]] * 4, [[0.5, 0.5]] * 4, classes=names)
        turned = ClassPredictor.from_samples([names[1]] * 4, [[0.5, 0.5]] * 4, classes=names[::-1])
        assert {problem.action_regret(law) for problem in (one, other) for law in (q, turned)} == {1.0}
        assert {law.top().base_rate for law in (q, turned)} == {0.0}  # the first by name
        assert {law.top_k(1).base_rate for law in (q, turned)} == {0.0}
    labels, p = ["b", "a", "c"] * 4, [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.4, 0.2, 0.4]] * 4
    found = [
        class_audit(labels, np.array(p)[:, order], classes=np.array(list("abc"))[order].tolist(), draws=0)
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])
    ]
    assert len({one.problem.action_regret for one in found}) == 1
    assert len({one.top.base_rate for one in found}) == 1


@given(class_rows(), st.integers(1, 4), st.randoms(use_true_random=False))
@examples(200)
def test_theorem_m4(rows: Any, actions: int, random: Any) -> None:
    """Action regret ≤ Σ_a max_a' ⟨Γ[a], U[a'] − U[a]⟩ ≤ Σ_a osc_a·½‖Γ[a]‖₁, and earned − promised = Σ Γ·U."""
    y, p, w = rows
    payoff = np.array([[random.randint(-3, 3) for _ in range(p.shape[1])] for _ in range(actions)], dtype=float)
    problem, q = OutcomeProblem(payoff), ClassPredictor.from_samples(y, p, w)
    found = problem.tables(q)
    gap = found.seen - found.said
    step = payoff[None, :, :] - payoff[:, None, :]
    middle = np.einsum("ak,abk->ab", gap, step).max(axis=1).sum()
    right = (np.ptp(step, axis=2).max(axis=1) * np.abs(gap).sum(axis=1) / 2).sum()
    assert problem.action_regret(q) <= middle + 1e-12
    assert middle <= right + 1e-12
    earned, promised = problem.value(q), sum(one.promised for one in problem.recommendations(q))
    assert earned - promised == pytest.approx(float((gap * payoff).sum()), abs=1e-12)


def test_what_all_actions_pay_in_common_hides_nothing() -> None:
    y, p = [0, 1, 1, 2], [[0.5, 0.25, 0.25]] * 3 + [[0.25, 0.25, 0.5]]
    payoff = np.eye(3)
    for common in (0.0, 2.0**40, [2.0**40, 0.0, -(2.0**45)]):
        problem = OutcomeProblem(payoff + np.asarray(common))
        assert problem.best_response(p).tolist() == [0, 0, 0, 2]
        assert problem.action_regret(y, p) == 0.25
    huge = OutcomeProblem(np.diag([1e300, 1, 2]))
    assert huge.best_response([[0.0, 0.6, 0.4], [0.0, 0.75, 0.25], [0.1, 0.4, 0.5]]).tolist() == [2, 1, 0]


def test_one_vector_and_many_rows() -> None:
    problem = OutcomeProblem(np.eye(3))
    assert problem.best_response([0.2, 0.5, 0.3]) == 1
    p = np.tile([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]], (70_000, 1))
    assert (problem.best_response(p) == np.tile([1, 0], 70_000)).all()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: OutcomeProblem([[1.0], [2.0]]), "two or more, but its shape is"),
        (lambda: OutcomeProblem([[1, np.nan, 2]]), "finite"),
        (lambda: OutcomeProblem([[1, 2, 3]], actions=["a", "b"]), "actions must be 1 names"),
        (lambda: OutcomeProblem([[1, 2, 3]], outcomes=["a", "b"]), "outcomes must name the 3 columns of payoff"),
        (lambda: OutcomeProblem(np.eye(3)).best_response([[0.5, 0.5]]), "3 columns, one per outcome, not 2"),
        (lambda: OutcomeProblem(np.eye(3)).action_regret([0], [[0.5, 0.5]]), "columns of proba"),
        (lambda: OutcomeProblem(np.eye(3)).view([0], [[0.5, 0.25, 0.25]]), "only a problem with two actions"),
        (lambda: OutcomeProblem([[0, 0, 0], [1, 1, 1]]).view([0], [[0.5, 0.25, 0.25]]), "no prediction matters"),
        (
            lambda: OutcomeProblem(np.eye(2), outcomes=["a", "b"]).action_regret(
                ClassPredictor.from_samples(["a"], [[0.5, 0.5]], classes=["a", "c"])
            ),
            "a column for each class.*'b' is only in one",
        ),
    ],
)
def test_bad_problems_are_refused(bad: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bad()
