"""The scikit-learn classes: scikit-learn's own checks, and the guarantees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from trustcal.decisions import DecisionProblem
from trustcal.estimators import NoiseSmoother, Recalibrated, TrustedClassifier
from trustcal.guarantees import batch_cdl, batch_decision_loss
from trustcal.inference import dtc_upper_bound
from trustcal.measures.decision import cdl
from trustcal.measures.monotone import monotone_cdl
from trustcal.measures.scores import brier
from trustcal.noise import NOISES, Noise, UniformNoise
from trustcal.predictor import Predictor

FloatArray = NDArray[np.float64]

COLUMNS = "the check has several columns, or numbers beyond 1; a smoother takes one column of probabilities"
ONE_COLUMN = (
    "check_fit_score_takes_y", "check_estimators_overwrite_params", "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self", "check_readonly_memmap_input", "check_n_features_in_after_fitting",
    "check_estimators_dtypes", "check_sample_weights_pandas_series", "check_sample_weights_not_an_array",
    "check_sample_weights_list", "check_all_zero_sample_weights_error", "check_sample_weights_shape",
    "check_sample_weights_not_overwritten", "check_sample_weight_equivalence_on_dense_data", "check_dtype_object",
    "check_estimators_nan_inf", "check_estimators_pickle", "check_f_contiguous_array_estimator",
    "check_transformer_data_not_an_array", "check_transformer_general", "check_transformer_preserve_dtypes",
    "check_fit2d_1sample", "check_fit2d_1feature", "check_dict_unchanged", "check_fit_idempotent",
    "check_fit_check_is_fitted", "check_n_features_in", "check_fit2d_predict1d", "check_positive_only_tag_during_fit",
)  # fmt: skip
PIPELINE = "a pipeline fits its steps in place"
DRAWS = "noise is drawn for each row in turn, so another order has other noise"
IN_PIPELINE = {
    "check_estimators_overwrite_params": PIPELINE,
    "check_dont_overwrite_parameters": PIPELINE,
    "check_methods_sample_order_invariance": DRAWS,
    "check_methods_subset_invariance": DRAWS,
}
ACTION = "predict gives the best action, which is not the likelier class"


class Squashed:
    """The data of the checks as one column of probabilities.  A class, so that its repr is the same in every run."""

    def __call__(self, X: FloatArray) -> FloatArray:  # noqa: N803
        return np.asarray(1 / (1 + np.exp(-X[:, :1])))

    def __repr__(self) -> str:
        return "squashed"


def expected_failures(estimator: object) -> dict[str, str]:
    if isinstance(estimator, NoiseSmoother):
        return dict.fromkeys(ONE_COLUMN, COLUMNS)
    if isinstance(estimator, Pipeline):
        return IN_PIPELINE
    assert isinstance(estimator, TrustedClassifier | Recalibrated)
    return {} if estimator.payoff is None else {"check_classifiers_train": ACTION}


@pytest.mark.sklearn_check
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        NoiseSmoother(),
        make_pipeline(FunctionTransformer(Squashed(), validate=True), NoiseSmoother(eps=0.01, random_state=0)),
        TrustedClassifier(LogisticRegression(), cv=2),
        TrustedClassifier(LogisticRegression(), [[0, 0], [-1, 3]], eps=0.01),
        Recalibrated(LogisticRegression(), cv=2),
        Recalibrated(LogisticRegression(), [[0, 0], [-1, 3]], method="Platt", keep_back=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator: object, check: Callable[[object], None]) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def rows() -> tuple[FloatArray, NDArray[np.bool_]]:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    return p[:, None], rng.random(3000) < p


def test_smoother_takes_the_confidence_bound_for_eps(rows: tuple[FloatArray, NDArray[np.bool_]]) -> None:
    x, y = rows
    smoother = NoiseSmoother(target="cdl", confidence=0.9).fit(x, y)
    bound = dtc_upper_bound(Predictor.from_samples(y, x[:, 0]), 0.9)
    assert smoother.eps_ == bound.upper
    assert smoother.noise_ == UniformNoise.for_distance(bound.upper, "cdl")
    assert smoother.guarantee_ == batch_cdl(smoother.noise_, bound.upper)


@pytest.mark.parametrize("family", [family for family in NOISES.values() if family.kind])
def test_given_eps_needs_no_outcomes(family: type[Noise]) -> None:
    smoother = NoiseSmoother(noise=str(family.kind), eps=0.01).fit([[0.5]])
    assert smoother.noise_ == family.for_distance(0.01)
    assert smoother.guarantee_ == batch_decision_loss(smoother.noise_, 0.01)
    assert smoother.guarantee_.proved


def test_smoothed_rows_keep_the_guarantee() -> None:
    """Badly calibrated, as in the paper: just on the wrong side of 1/2."""
    rng = np.random.default_rng(1)
    p = np.where(rng.random(100_000) < 0.5, 0.499, 0.501)
    y = p < 0.5
    smoother = NoiseSmoother(target="cdl", random_state=rng).fit(p[:, None], y)
    smoothed = smoother.transform(p[:, None])[:, 0]
    assert cdl(y, p) == pytest.approx(1.0, abs=0.01)
    assert cdl(y, smoothed, cells=40) <= smoother.guarantee_.value < 0.2


def test_draws_follow_the_seed(rows: tuple[FloatArray, NDArray[np.bool_]]) -> None:
    x, _ = rows
    fixed = NoiseSmoother(eps=0.01, random_state=3).fit(x)
    assert np.array_equal(fixed.transform(x), fixed.transform(x))
    assert np.array_equal(fixed.transform(x), clone(fixed).fit(x).transform(x))
    fresh = NoiseSmoother(eps=0.01, random_state=np.random.default_rng(3)).fit(x)
    assert not np.array_equal(fresh.transform(x), fresh.transform(x))
    assert len(np.unique(fixed.transform(np.full((100, 1), 0.5)))) == 100


def test_frames_come_out_as_frames(rows: tuple[FloatArray, NDArray[np.bool_]]) -> None:
    x, y = rows
    frame = pd.DataFrame({"score": x[:, 0]}, index=np.arange(len(x)) + 7)
    smoothed = NoiseSmoother(random_state=0).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(smoothed.columns) == ["score"]
    assert smoothed.index.equals(frame.index)


@pytest.mark.parametrize(
    ("smoother", "x", "y", "message"),
    [
        (NoiseSmoother(), [[0.5], [0.5]], None, "requires y"),
        (NoiseSmoother(), [[0.5, 0.5]], [1], "one column of probabilities, but got 2"),
        (NoiseSmoother(), [[0.5], [1.5]], [0, 1], r"the first is row 1 \(from 0\) with 1.5"),
        (NoiseSmoother(), [[0.5], [0.5]], [0, 2], "outcomes must be 0 or 1"),
        (NoiseSmoother(), [[np.nan], [0.5]], [0, 1], "contains NaN"),
        (NoiseSmoother(noise="pink"), [[0.5], [0.5]], [0, 1], "noise must be one of 'best', 'uniform'"),
        (NoiseSmoother(target="brier"), [[0.5], [0.5]], [0, 1], "target must be one of"),  # type: ignore[arg-type]
        (NoiseSmoother(eps=0.0), [[0.5], [0.5]], None, "eps must be a distance to calibration"),
        (NoiseSmoother(confidence=1.0), [[0.5], [0.5]], [0, 1], "confidence"),
    ],
)
def test_refusals(smoother: NoiseSmoother, x: list[list[float]], y: list[int] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        smoother.fit(x, y)


def patients(n: int = 1500) -> tuple[FloatArray, NDArray[np.str_]]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 2))
    ill = rng.random(n) < 1 / (1 + np.exp(-2 * x[:, 0]))
    return x, np.where(ill, "ill", "healthy").astype(np.str_)


def test_classifier_measures_rows_it_has_not_seen() -> None:
    x, y = patients()
    model = TrustedClassifier(LogisticRegression(), cv=4, target="ece", eps=1e-5, random_state=0).fit(x, y)
    said = cross_val_predict(LogisticRegression(), x, y, cv=4, method="predict_proba")
    assert list(model.classes_) == ["healthy", "ill"]
    measured = clone(model).set_params(eps=None).fit(x, y)
    assert measured.eps_ == dtc_upper_bound(Predictor.from_samples(y == "ill", said[:, 1])).upper
    assert not measured.remedy_.random  # recalibration promises less than noise for a distance measured on few rows
    assert measured.promise_ == measured.certificate_.decision_loss < measured.guarantee_.value
    assert np.array_equal(model.estimator_.coef_, LogisticRegression().fit(x, y).coef_)
    proba = model.predict_proba(x)
    moved = np.abs(proba[:, 1] - model.estimator_.predict_proba(x)[:, 1])
    assert isinstance(model.noise_, UniformNoise)
    assert 0 < moved.max() <= model.noise_.width
    assert moved.mean() <= model.noise_.displacement().value + 4 * moved.std() / np.sqrt(len(x))
    assert model.promise_ == model.guarantee_.value
    assert np.array_equal(model.predict(x), model.classes_[(proba[:, 1] > 0.5).astype(int)])
    assert 0.6 < model.score(x, y) == np.mean(model.predict(x) == y)


def test_classifier_acts_by_payoffs() -> None:
    x, y = patients()
    payoff = [[0.0, 0.0], [-1.0, 3.0], [-3.0, 3.5]]
    model = TrustedClassifier(LogisticRegression(), payoff, eps=1e-6, random_state=0).fit(x, y)
    named = clone(model).set_params(actions=["wait", "treat", "operate"]).fit(x, y)
    best = DecisionProblem(payoff).best_response(model.predict_proba(x)[:, 1])
    assert np.array_equal(model.predict(x), best)
    assert set(named.predict(x)) == {"wait", "treat", "operate"}
    assert model.score(x, y) == np.mean(np.array(payoff)[best, (y == "ill").astype(int)])
    weight = (y == "ill").astype(float)
    assert model.score(x, y, sample_weight=weight) == pytest.approx(np.array(payoff)[best, 1][y == "ill"].mean())
    with pytest.raises(ValueError, match="no payoff was given"):
        TrustedClassifier(LogisticRegression(), actions=["a", "b"]).fit(x, y)


def test_the_same_row_gets_the_same_answer_alone_and_in_a_batch() -> None:
    x, y = patients(300)
    frame = pd.DataFrame(x, columns=["a", "b"])
    for rows in (x, frame, csr_array(x)):
        model = TrustedClassifier(LogisticRegression(), eps=1e-4, random_state=0).fit(rows, y)
        assert model.remedy_.random
        whole = model.predict_proba(rows)
        one = rows[[17]] if not isinstance(rows, pd.DataFrame) else rows.iloc[[17]]
        assert model.predict_proba(one)[0, 1] == whole[17, 1]
        assert len(np.unique(whole[:, 1])) > 290  # but for those clamped to 0 and 1


def doubled(n: int, seed: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Ten copies of a feature: naive Bayes is ten times too sure."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    return np.repeat(x, 10, axis=1) + rng.normal(size=(n, 10)) / 10, rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))


def test_recalibrated_mends_naive_bayes() -> None:
    (x, y), (new, outcome) = doubled(2000, 0), doubled(4000, 1)
    payoff = [[0.0, 0.0], [-1.0, 3.0]]
    model, plain = Recalibrated(GaussianNB(), payoff).fit(x, y), GaussianNB().fit(x, y)
    said = plain.predict_proba(new)[:, 1]
    parts = [
        remedy.apply(fold.predict_proba(new)[:, 1])
        for fold, remedy in zip(model.estimators_, model.remedies_, strict=True)
    ]
    assert len(parts) == 5
    assert {remedy.method for remedy in model.remedies_} == {model.remedy_.method}
    assert np.array_equal(model.predict_proba(new)[:, 1], np.mean(parts, axis=0))
    assert brier(outcome, model.predict_proba(new)[:, 1]) < brier(outcome, said) - 0.03
    problem = DecisionProblem(payoff)
    assert model.score(new, outcome) > problem.score(said, outcome).mean() + 0.02
    assert model.certificate_ is not None
    after = Predictor.from_samples(outcome, model.predict_proba(new)[:, 1])
    assert monotone_cdl(after) <= model.certificate_.decision_loss
    assert model.certificate_.action_regret is not None
    assert problem.action_regret(after) <= model.certificate_.action_regret
    insisted = Recalibrated(GaussianNB(), method="beta", keep_back=0).fit(x, y)
    assert insisted.remedy_.method == "beta"
    assert insisted.certificate_ is None


def test_a_fold_has_the_map_of_its_own_model() -> None:
    """Each model is fitted to the other fold, and its map to rows of its own that are not kept back."""
    x, y = doubled(2000, 0)
    one, two = np.arange(1000), np.arange(1000, 2000)
    model = Recalibrated(GaussianNB(), method="Platt", cv=[(two, one), (one, two)]).fit(x, y)
    assert model.certificate_.rows == 500
    for seen, fold, remedy in zip((two, one), model.estimators_, model.remedies_, strict=True):
        assert np.array_equal(fold.theta_, GaussianNB().fit(x[seen], y[seen]).theta_)
        assert remedy.learned is not None
        assert 700 < (remedy.learned.rows or 0) < 800
        assert remedy.map != model.remedy_.map
    few = Recalibrated(GaussianNB(), method="Platt", keep_back=0, cv=10).fit(x[:120], y[:120])
    assert all(remedy == few.remedy_ for remedy in few.remedies_)
    with pytest.raises(ValueError, match="every row exactly once"):
        Recalibrated(GaussianNB(), cv=[(two, one)]).fit(x, y)


def test_noise_for_a_measured_distance_must_pay() -> None:
    """Few rows certify little, and noise for what they measure promises less, but earns less than recalibration."""
    x, y = doubled(120, 0)
    payoff = [[0.0, 0.0], [-1.0, 3.0]]
    model = TrustedClassifier(GaussianNB(), payoff, random_state=0).fit(x, y)
    assert model.guarantee_.value < model.certificate_.decision_loss
    assert not model.remedy_.random
    assert model.promise_ == model.certificate_.decision_loss
    told = clone(model).set_params(eps=model.eps_).fit(x, y)  # who knows the distance has the promise of noise
    assert told.remedy_.random
    assert told.promise_ == told.guarantee_.value == model.guarantee_.value
    assert told.estimators_ == []


def test_too_few_rows_are_left_alone() -> None:
    x, y = patients(30)
    y[:] = "healthy"
    y[:6] = "ill"
    model = Recalibrated(LogisticRegression()).fit(x, y)
    assert model.remedy_.method == "none"
    assert np.array_equal(model.predict_proba(x), LogisticRegression().fit(x, y).predict_proba(x))


def test_measures_are_scorers_and_payoffs_choose_models() -> None:
    x, y = patients(400)
    ill = y == "ill"
    loss = make_scorer(cdl, response_method="predict_proba", greater_is_better=False, cells=5)
    assert (cross_val_score(LogisticRegression(), x, ill, scoring=loss, cv=3) <= 0).all()
    search = GridSearchCV(
        TrustedClassifier(LogisticRegression(), [[0, 0], [-1, 3]], eps=0.01, random_state=0),
        {"estimator__C": [1e-6, 1.0]},
        cv=3,
    ).fit(x, ill)
    assert search.best_params_ == {"estimator__C": 1.0}


def test_without_scikit_learn_a_plain_sentence() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import trustcal.remedies; import trustcal.estimators"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: trustcal.estimators needs scikit-learn 1.6 or later: pip install 'trustcal[sklearn]'."
    )


def test_a_label_that_no_class_has_is_no_outcome() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((80, 1))
    y = np.where(rng.random(80) < x[:, 0], "yes", "no")
    model = TrustedClassifier(LogisticRegression(), payoff=[[0, 0], [-1, 3]], eps=0.01, random_state=0).fit(x, y)
    assert -1 <= model.score(x, y) <= 3
    for wrong in (np.full(80, "YES"), (y == "yes").astype(int)):
        with pytest.raises(ValueError, match=r"y must hold the classes \['no', 'yes'\], but also has"):
            model.score(x, wrong)


def test_pipelines_that_want_names_or_texts() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(80), "t": np.where(rng.random(80) < 0.5, "good day", "bad day")})
    y = rng.random(80) < frame["a"]
    by_name = make_pipeline(make_column_transformer(("passthrough", ["a"])), LogisticRegression())
    by_word = make_pipeline(CountVectorizer(), LogisticRegression())
    for estimator, rows in ((by_name, frame), (by_word, frame["t"].tolist())):
        model = TrustedClassifier(estimator, eps=0.01, random_state=0).fit(rows, y)
        said = clone(estimator).fit(rows, y).predict_proba(rows)[:, 1]
        assert isinstance(model.noise_, UniformNoise)
        assert np.abs(model.predict_proba(rows)[:, 1] - said).max() <= model.noise_.width
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TrustedClassifier(by_name, eps=0.01).fit(frame, y[:-1])
