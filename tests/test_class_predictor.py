"""ClassPredictor: rows become a distribution once; every view is an ordinary predictor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from trustcal.class_predictor import ClassPredictor, as_class_predictor
from trustcal.predictor import Predictor

PROBA = np.array([[0.6, 0.4, 0.0], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
LABELS = ["cat", "dog", "bird"]
NAMES = ["bird", "cat", "dog"]


@st.composite
def class_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, vectors and weights, with ties, zeros and certain vectors."""
    classes, rows = draw(st.integers(2, 5)), draw(st.integers(1, 20))
    grid = draw(st.sampled_from([1, 2, 8]))
    cuts = [
        sorted(draw(st.lists(st.integers(0, grid), min_size=classes - 1, max_size=classes - 1))) for _ in range(rows)
    ]
    p = np.diff(np.array([[0, *line, grid] for line in cuts]), axis=1) / grid
    y = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)))
    w = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), dtype=float)
    return y, p, w if w.any() else np.ones(rows)


def test_a_table_of_exact_values() -> None:
    q = ClassPredictor.from_samples(LABELS, PROBA, classes=NAMES)
    assert len(q) == 3
    assert q.rows == 3
    assert q.frequencies.tolist() == [1 / 3] * 3
    top = q.top()
    assert top.p.tolist() == [0.4, 0.5, 0.6]
    assert top.p_hat.tolist() == [1.0, 1.0, 0.0]
    assert q.one("dog").p.tolist() == [0.0, 0.2, 0.5]
    assert q.top_k(2).p.tolist() == [0.8, 1.0]
    assert q.top_k(2).p_hat.tolist() == [1.0, 1.0]
    assert q.pair("cat", "dog").p.tolist() == pytest.approx([0.375, 1.0], rel=1e-15)
    assert q.pair("cat", "dog").p_hat.tolist() == [0.0, 1.0]
    weighted = ClassPredictor.from_samples(LABELS, PROBA, [1, 1, 2], classes=NAMES)
    assert weighted.top().mass.tolist() == [0.5, 0.25, 0.25]
    assert weighted.effective_rows == pytest.approx(16 / 6, rel=1e-15)


def test_equal_vectors_are_merged_and_rows_of_weight_zero_dropped() -> None:
    p = [[0.5, 0.5, -0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    q = ClassPredictor.from_samples([0, 1, 0, 1], p, [2, 1, 1, 0])
    assert len(q) == 2
    assert q.rows == 3
    joint = {tuple(line): tuple(mass) for line, mass in zip(q.p.tolist(), q.joint.tolist(), strict=True)}
    assert joint == {(0.5, 0.5, 0.0): (0.5, 0.25, 0.0), (1.0, 0.0, 0.0): (0.25, 0.0, 0.0)}


@given(class_rows())
@examples(200)
def test_views_are_those_of_the_rows(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Bit for bit what `Predictor.from_samples` makes of the rows; weights are whole, so that sums are exact."""
    y, p, w = rows
    count = p.shape[1]
    for weight in (None, w):
        q = ClassPredictor.from_samples(y, p, weight)
        best = np.argmax(p, axis=1)
        same_bits(q.top(), Predictor.from_samples(best == y, p.max(axis=1), weight))
        for k in range(count):
            same_bits(q.one(k), Predictor.from_samples(y == k, p[:, k], weight))
        order = np.argsort(-p, axis=1, kind="stable")
        for k in range(1, count + 1):
            chosen = np.minimum(np.take_along_axis(p, order[:, :k], 1).sum(axis=1), 1)
            same_bits(q.top_k(k), Predictor.from_samples((order[:, :k] == y[:, None]).any(axis=1), chosen, weight))
        a, b = 0, count - 1
        kept = (y == a) | (y == b)
        if kept.any() and (weight is None or weight[kept].any()):
            both = p[kept, a] + p[kept, b]
            chance = np.where(both > 0, p[kept, a] / np.where(both > 0, both, 1), 0.5)
            part = None if weight is None else weight[kept]
            same_bits(q.pair(a, b), Predictor.from_samples(y[kept] == a, np.minimum(chance, 1), part))


def same_bits(one: Predictor, other: Predictor) -> None:
    assert one == other
    assert one.rows == other.rows
    assert one.effective_rows == pytest.approx(other.effective_rows, rel=1e-14)


@given(class_rows(), st.randoms(use_true_random=False))
@examples(100)
def test_the_order_of_rows_and_classes_does_not_matter(rows: Any, random: Any) -> None:
    y, p, w = rows
    q = ClassPredictor.from_samples(y, p, w)
    order = list(range(len(y)))
    random.shuffle(order)
    again = ClassPredictor.from_samples(y[order], p[order], w[order])
    assert (q.p == again.p).all()
    assert (q.joint == again.joint).all()
    columns = list(range(p.shape[1]))
    random.shuffle(columns)
    other = ClassPredictor.from_samples(y, p[:, columns], w, classes=columns)
    for k in columns:
        assert other.one(k) == q.one(k)
    back = other.ordered([columns.index(k) for k in range(len(columns))])
    assert back.classes == q.classes
    for k in columns:
        assert back.one(k) == q.one(k)


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ([0, 1, 2], [0, 2, 1]),
        ([0, 1, 2], [0.0, 2.0, 1.0]),
        ([0, 1, 2], ["0", "2", "1"]),
        (["0", "1", "2"], [0, 2, 1]),
        (np.array([0, 1, 2]), np.array([0, 2, 1], dtype=np.int8)),
        (["a", "b", "c"], np.array(["a", "c", "b"], dtype=object)),
        ([b"a", b"b", b"c"], [b"a", b"c", b"b"]),
        ([1.5, 2.5, 3.5], [1.5, 3.5, 2.5]),
    ],
)
def test_the_type_of_labels_does_not_matter(classes: Any, labels: Any) -> None:
    q = ClassPredictor.from_samples(labels, PROBA, classes=classes)
    expected = ClassPredictor.from_samples([0, 2, 1], PROBA)
    assert (q.joint == expected.joint).all()
    assert q.one(q.classes[2]) == expected.one(2)


def test_labels_from_pandas_and_polars() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = ClassPredictor.from_samples(LABELS, PROBA, classes=NAMES)
    for column in (pandas.Series(LABELS), pandas.Series(LABELS, dtype="category"), polars.Series(LABELS)):
        q = ClassPredictor.from_samples(column, pandas.DataFrame(PROBA), classes=NAMES)
        assert (q.joint == expected.joint).all()


def test_logits_on_request() -> None:
    logits: Any = np.array([[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]])
    q = ClassPredictor.from_samples([0, 1], logits, logits=True)
    assert sorted(q.one(0).p.tolist()) == [1 / 3, 1.0]
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        ClassPredictor.from_samples([0, 1], logits)
    with pytest.raises(ValueError, match="logits must be finite"):
        ClassPredictor.from_samples([0, 1], np.array([[np.inf, 0], [0, 0]]), logits=True)


def test_vectors_are_kept_as_they_are() -> None:
    p = [[0.333, 0.333, 0.333], [0.5, 0.25, 0.25]]  # rounded to three decimals
    assert ClassPredictor.from_samples([0, 1], p).one(0).p.tolist() == [0.333, 0.5]


def test_a_known_law() -> None:
    q = ClassPredictor([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], [[0.25, 0.25], [0.5, 0.0], [0.0, 0.0]], classes=["a", "b"])
    assert len(q) == 2
    assert q.rows is None
    assert q.effective_rows is None
    assert q.one("a") == Predictor([0.5, 1], [0.5, 0.5], [0.25, 0.5])
    assert as_class_predictor(q) is q
    cases: list[tuple[Any, Any, str]] = [
        ([[0.5, 0.5]], [[0.5, 0.25]], "sum to 1 within 1e-9"),
        ([[0.5, 0.5]], [[1.5, -0.5]], "probabilities"),
        ([[0.5, 0.5]], [[1.0, 0.0, 0.0]], "same shape"),
        ([[0.5, 0.5]] * 2, [[0.5, 0.0]] * 2, "each vector must occur once"),
    ]
    for p, joint, message in cases:
        with pytest.raises(ValueError, match=message):
            ClassPredictor(p, joint)


@pytest.mark.parametrize(
    ("y", "proba", "options", "message"),
    [
        ([0, 1], [0.2, 0.8], {}, "row per sample and a column per class"),
        ([0, 1], [[1.0], [1.0]], {}, r"two or more, but its shape is \(2, 1\)"),
        ([0], [[0.2, 0.8], [0.3, 0.7]], {}, "one label per row"),
        ([0, 3], [[0.2, 0.8], [0.3, 0.7]], {}, r"every label.*1 of 2.*3 in row 1.*classes_"),
        ([0, None], [[0.2, 0.8], [0.3, 0.7]], {}, r"every label.*None in row 1"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.9]], {}, r"sum to 1, within 0.001: 1 of 2.*row 1.*logits=True"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.7]], {"classes": ["a"]}, "name the 2 columns"),
        ([0, 1], [[-1.0, 2.0], [0.3, 0.7]], {}, r"\[0, 1\]"),
        ([0, 1], [[np.nan, 1.0], [0.3, 0.7]], {}, "missing or NaN"),
        ([0, 1], [["a", "b"], ["c", "d"]], {}, "numbers"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.7]], {"classes": [0, 0]}, "each once"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.7]], {"sample_weight": [1]}, "as many rows"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.7]], {"sample_weight": [1, -1]}, "not be negative"),
        ([0, 1], [[0.2, 0.8], [0.3, 0.7]], {"sample_weight": [0, 0]}, "some weight must be positive"),
        ([], np.zeros((0, 3)), {}, "at least one row"),
        ([0], np.full((1, 10**4), 1e-4), {}, "at most 1,000 classes, but proba has 10,000 columns"),
    ],
)
def test_bad_rows_are_refused_in_one_line(y: Any, proba: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        ClassPredictor.from_samples(y, proba, **options)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_bad_views_are_refused() -> None:
    q = ClassPredictor.from_samples(LABELS, PROBA, classes=NAMES)
    for bad, message in (
        (lambda: q.one("horse"), "one of .*'bird', 'cat', 'dog'.*, not 'horse'"),
        (lambda: q.one([0]), "a class must be one of"),
        (lambda: q.pair("cat", "cat"), "two classes"),
        (lambda: q.top_k(4), "from 1 to 3"),
        (lambda: ClassPredictor.from_samples([0], [[0.5, 0.25, 0.25]]).pair(1, 2), "no row is of class"),
        (lambda: as_class_predictor(q, PROBA), "not both"),
        (lambda: as_class_predictor([0, 1]), "a column of probabilities per class"),
    ):
        with pytest.raises(ValueError, match=message):
            bad()
