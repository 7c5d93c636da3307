"""The pictures: their numbers against slow definitions, and what is drawn, whatever the rows."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import trustcal as tc
from tests.strategies import predictors, samples
from trustcal import Predictor, diagrams, plots
from trustcal.diagrams.profile import STEPS
from trustcal.diagrams.thinning import COLUMNS
from trustcal.diagrams.thresholds import LAST
from trustcal.inference import consistency_band
from trustcal.plots.axes import DARK, LIGHT, Palette

FloatArray = NDArray[np.float64]
RAIN = Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0])
PICTURES = [plots.reliability, plots.murphy, plots.decision_curve, plots.loss_profile, plots.movement]


def rows(n: int, power: float = 2.0, seed: int = 0) -> tuple[NDArray[np.bool_], FloatArray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**power, p


# --- The numbers


def slow_isotonic(q: Predictor) -> list[float]:
    """The max-min formula: the largest over starts of the smallest over ends of the mean between."""
    n = len(q)
    sums = [[(q.positive[i : j + 1].sum(), q.mass[i : j + 1].sum()) for j in range(n)] for i in range(n)]
    mean = [[float(one / every) if every else 0.0 for one, every in row] for row in sums]
    return [max(min(mean[i][j] for j in range(k, n)) for i in range(k + 1)) for k in range(n)]


@given(predictors())
def test_the_reliability_curve_is_the_isotonic_regression(q: Predictor) -> None:
    found = diagrams.reliability_diagram(q)
    np.testing.assert_allclose(np.interp(q.p, found.p, found.fitted), slow_isotonic(q), atol=1e-12)
    np.testing.assert_array_equal(found.repeated, q.p)
    np.testing.assert_array_equal(found.frequency, q.p_hat)
    assert found.band is None


def slow_murphy(q: Predictor, theta: float) -> float:
    acts = q.p > theta
    return float(theta * (q.mass - q.positive)[acts].sum() + (1 - theta) * q.positive[~acts].sum())


@given(predictors())
def test_the_murphy_diagram_is_the_mean_loss(q: Predictor) -> None:
    found = diagrams.murphy_diagram(q)
    for theta, loss, fitted, constant in zip(
        found.thresholds, found.predictions, found.isotonic, found.base_rate, strict=True
    ):
        assert loss == pytest.approx(slow_murphy(q, theta), abs=1e-12)
        best = min(
            theta * (q.mass - q.positive)[k:].sum() + (1 - theta) * q.positive[:k].sum() for k in range(len(q) + 1)
        )
        assert fitted == pytest.approx(best, abs=1e-12)
        assert constant == pytest.approx(min(theta * (1 - q.base_rate), (1 - theta) * q.base_rate), abs=1e-12)
    between = (np.array(found.thresholds)[1:] + np.array(found.thresholds)[:-1]) / 2
    for curve, column in ((found.predictions, 0), (found.isotonic, 1), (found.base_rate, 2)):
        shown = np.interp(between, found.thresholds, curve)
        np.testing.assert_allclose(shown, tc.murphy(q, between)[column], atol=1e-12)  # linear in between


@given(predictors())
def test_the_decision_curve_is_the_net_benefit(q: Predictor) -> None:
    found = diagrams.decision_curve(q)
    for t, benefit, everybody in zip(found.thresholds, found.net_benefit, found.treat_all, strict=True):
        acts = q.p >= t
        hits, alarms = q.positive[acts].sum(), (q.mass - q.positive)[acts].sum()
        assert benefit == pytest.approx(hits - alarms * t / (1 - t), abs=1e-11)
        assert everybody == pytest.approx(q.base_rate - (1 - q.base_rate) * t / (1 - t), abs=1e-11)
    assert found.thresholds[0] == 0
    assert found.thresholds[-1] == LAST


def slow_gain(q: Predictor, mu: float) -> float:
    """D(mu): the best upper set against acting above, or at and above, mu."""
    payoff = q.positive - mu * q.mass
    best = max(payoff[k:].sum() for k in range(len(q) + 1))
    return float(best - min(payoff[q.p > mu].sum(), payoff[q.p >= mu].sum()))


@given(predictors())
def test_the_loss_profile_says_what_the_better_threshold_gains(q: Predictor) -> None:
    found = diagrams.loss_profile(q, thresholds=[0.3])
    assert 0.3 in found.thresholds
    for mu, regret, instead, changed in zip(found.thresholds, found.regret, found.instead, found.reversed, strict=True):
        assert regret == pytest.approx(slow_gain(q, mu), abs=1e-12)
        if regret == 0:
            assert (instead, changed) == (mu, 0)
            continue
        payoff = q.positive - mu * q.mass
        better = q.p > (-inf if instead == -1 else instead)
        gains = [
            (payoff[better].sum() - payoff[own].sum(), q.mass[better != own].sum()) for own in (q.p > mu, q.p >= mu)
        ]
        assert max(gain for gain, _ in gains) == pytest.approx(regret, abs=1e-12)
        assert min(abs(changed - mass) for gain, mass in gains if gain >= regret - 1e-12) < 1e-12
    assert float(found.loss(found.worst)) == pytest.approx(max(found.loss(found.thresholds)))
    between = (np.array(found.thresholds)[1:] + np.array(found.thresholds)[:-1]) / 2
    exact = [slow_gain(q, mu) for mu in between]
    np.testing.assert_allclose(np.interp(between, found.thresholds, found.regret), exact, atol=1e-12)


@given(predictors())
def test_the_swap_profile_says_what_knowing_every_value_gains(q: Predictor) -> None:
    found = diagrams.swap_profile(q, thresholds=[0.3])
    assert 0.3 in found.thresholds
    for mu, regret, changed in zip(found.thresholds, found.regret, found.reversed, strict=True):
        between = (np.minimum(q.p, q.p_hat) <= mu) & (mu <= np.maximum(q.p, q.p_hat))
        assert regret == pytest.approx((np.abs(q.p_hat - mu) * q.mass)[between].sum(), abs=1e-12)
        if regret > 1e-12:
            least = q.mass[between & (np.abs(q.p_hat - mu) > 1e-12)].sum()
            assert least - 1e-9 <= changed <= q.mass[between].sum() + 1e-9
    middle = (np.array(found.thresholds)[1:] + np.array(found.thresholds)[:-1]) / 2
    np.testing.assert_allclose(found.regret_at(middle), tc.cdl_witness(q).profile(middle), atol=1e-12)
    moving = diagrams.loss_profile(q)
    for mu in moving.thresholds[:: max(1, len(moving.thresholds) // 7)]:
        if mu in found.thresholds:
            assert found.better(mu) == moving.better(mu)


def test_exact_values() -> None:
    rain = diagrams.loss_profile(RAIN)
    assert rain.worst in (0.4999, 0.5001)
    assert float(rain.loss(0.5)) == pytest.approx(0.5)
    assert diagrams.reliability_diagram(RAIN).fitted == (0.5, 0.5)
    assert diagrams.reliability_diagram(RAIN).frequency == (1.0, 0.0)
    constant = diagrams.loss_profile(Predictor([0.2], [1.0], [0.6]))
    assert constant.better(0.4) == -1  # always act
    assert constant.better(0.7) == 0.7  # nothing to gain
    assert diagrams.loss_profile(Predictor([0.8], [1.0], [0.4])).better(0.5) == 1  # never act


def test_the_band_of_the_profile_is_that_of_inference() -> None:
    q = Predictor.from_samples(*rows(500))
    found = diagrams.loss_profile(q, confidence=0.9)
    assert found.half_width == tc.inference.profile_band(q, 0.9)
    assert diagrams.loss_profile(q).half_width is None
    with pytest.raises(ValueError, match="weight"):
        diagrams.loss_profile(Predictor.from_samples([0, 1], [0.2, 0.4], [1, 3]), confidence=0.9)


# --- The consistency band


def test_the_band_is_made_of_order_statistics() -> None:
    """One value: the isotonic curve is the frequency, and the band the quantiles of a binomial."""
    n, p = 400, 0.3
    band = consistency_band([1] * 120 + [0] * 280, [p] * n, draws=1999, rng=1)
    from scipy.stats import binom

    assert band.lower[0] == pytest.approx(binom.ppf(0.025, n, p) / n, abs=0.006)
    assert band.upper[0] == pytest.approx(binom.ppf(0.975, n, p) / n, abs=0.006)
    assert band.outside == 0


def test_the_band_by_its_definition() -> None:
    """Drawn again by hand from the same random numbers."""
    y, p = rows(60)
    q = Predictor.from_samples(y, p)
    band = consistency_band(q, confidence=0.9, draws=39, rng=np.random.default_rng(5))
    rng = np.random.default_rng(5)
    fits = []
    for _ in range(39):
        ones = rng.binomial(1, q.p)
        fits.append(slow_isotonic(Predictor.from_samples(ones, q.p)))
    ordered = np.sort(fits, axis=0)
    np.testing.assert_allclose(band.lower, ordered[1], atol=1e-12)  # k = 0.05·40 = 2
    np.testing.assert_allclose(band.upper, ordered[-2], atol=1e-12)
    left = (q.fitted < ordered[1] - 1e-12) | (q.fitted > ordered[-2] + 1e-12)
    assert band.outside == pytest.approx(left.mean())


@given(samples())
def test_the_band_is_ordered_and_inside_the_unit_interval(
    given_rows: tuple[list[int], list[float], list[float]],
) -> None:
    y, p, w = given_rows
    band = consistency_band(y, p, w, draws=39)
    lower, upper = np.array(band.lower), np.array(band.upper)
    assert (lower >= 0).all()
    assert (lower <= upper).all()
    assert (upper <= 1).all()
    assert (np.diff(lower) >= -1e-12).all()
    assert (np.diff(upper) >= -1e-12).all()
    assert 0 <= band.outside <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
def test_the_band_covers_at_each_prediction(n: int) -> None:
    """At least 95 % at each prediction, and `outside_by_chance` is exceeded in at most 5 % of samples."""
    p = np.linspace(0.02, 0.98, n)
    inside, beyond = np.zeros(n), 0
    samples_drawn = 600
    for seed in range(samples_drawn):
        y = np.random.default_rng([n, seed]).random(n) < p
        q = Predictor.from_samples(y, p)
        band = consistency_band(q, rng=seed, draws=79)
        inside += (q.fitted >= np.array(band.lower)) & (q.fitted <= np.array(band.upper))
        beyond += band.outside > band.outside_by_chance
    assert (inside / samples_drawn).min() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / samples_drawn)
    assert (inside / samples_drawn).mean() > 0.95
    assert beyond / samples_drawn < 0.05 + 3 * np.sqrt(0.05 * 0.95 / samples_drawn)


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="draws must be a whole number, 39 or more"):
        consistency_band([0, 1], [0.2, 0.4], draws=38)


def test_a_known_law_has_no_band() -> None:
    with pytest.raises(ValueError, match="known law"):
        consistency_band(RAIN)


# --- Thinning


@pytest.mark.parametrize("n", [5000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_thinned_curves_look_the_same(n: int) -> None:
    """In every column the drawn curve reaches exactly as high and as low as the whole one."""
    q = Predictor.from_samples(*rows(n))
    found = diagrams.loss_profile(q)
    assert len(found.thresholds) <= 4 * COLUMNS + STEPS + 1
    witness = tc.monotone_cdl_witness(q)
    whole = witness.profile(q.p)
    columns, shown = ((np.floor(np.array(x) * COLUMNS)).astype(int) for x in (q.p, found.thresholds))
    for column in range(0, COLUMNS, 37):
        inside = whole[columns == column] / np.maximum(q.p, 1 - q.p)[columns == column]
        drawn = found.loss(found.thresholds)[shown == column]
        if len(inside):
            assert drawn.max() >= inside.max() - 1e-12
            assert drawn.min() <= inside.min() + 1e-12
    assert len(diagrams.murphy_diagram(q).thresholds) <= 8 * COLUMNS
    assert len(diagrams.decision_curve(q).thresholds) <= 4 * COLUMNS
    curve = diagrams.reliability_diagram(q, band=n < 10**6)
    assert len(curve.p) <= 2 * COLUMNS
    np.testing.assert_allclose(np.interp(curve.p, q.p, q.fitted), curve.fitted, atol=1e-12)


# --- The pictures


def said(ax: Axes) -> list[str]:
    """The words of the legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


CASES = {
    "one row": ([1], [0.5], None),
    "one value": ([0, 1, 1, 0], [0.3] * 4, None),
    "all zeros": ([0, 0, 0], [0.1, 0.5, 0.9], None),
    "all ones": ([1, 1, 1], [0.1, 0.5, 0.9], None),
    "certain": ([0, 1], [0.0, 1.0], None),
    "certainly wrong": ([1, 0], [0.0, 1.0], None),
    "ties": ([0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8], None),
    "heavy weights": ([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], [1, 1e6, 1, 1e-6]),
    "zero weights": ([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]),
    "neighbours": ([0, 1, 1], [0.5, 0.5 + 1e-15, 0.5 + 2e-15], None),
}


@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("case", CASES)
def test_every_picture_can_be_drawn(draw: Callable[..., Axes], case: str) -> None:
    """Warnings are errors in these tests."""
    figure = Figure()
    ax = figure.subplots()
    assert draw(*CASES[case], ax=ax) is ax
    figure.draw_without_rendering()
    assert ax.has_data()
    assert ax.get_xlabel()
    assert said(ax)
    for line in ax.lines:
        assert np.isfinite(np.asarray(line.get_data(), dtype=float)).all()


@pytest.mark.parametrize("draw", PICTURES)
def test_a_predictor_and_its_rows_give_the_same_picture(draw: Callable[..., Axes]) -> None:
    y, p = rows(300)
    first, second = (draw(*shown, ax=Figure().subplots()) for shown in ((y, p), (Predictor.from_samples(y, p),)))
    for one, other in zip(first.lines, second.lines, strict=True):
        np.testing.assert_array_equal(one.get_data(), other.get_data())
    with pytest.raises(ValueError, match="give a Predictor, not"):
        draw(y)


@pytest.mark.parametrize("draw", PICTURES)
def test_new_axes_are_made_and_settings_left_alone(draw: Callable[..., Axes]) -> None:
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    ax = draw(*rows(50))
    assert ax in plt.gcf().axes
    plt.close()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("draw", [plots.reliability, plots.murphy, plots.decision_curve, plots.loss_profile])
def test_the_thresholds_of_the_reader_are_drawn(draw: Callable[..., Axes]) -> None:
    problem = tc.DecisionProblem([[0, 0], [-1, 3]])
    for thresholds in (0.25, [0.25], problem):
        ax = draw(*rows(100), thresholds=thresholds, ax=Figure().subplots())
        assert any(set(np.asarray(line.get_xdata()).tolist()) == {0.25} for line in ax.lines)
        assert any("your" in text and "0.25" in text for text in said(ax))
    with pytest.raises(ValueError, match=r"thresholds must lie in \[0, 1\]"):
        draw(*rows(100), thresholds=1.5)


@pytest.mark.parametrize("draw", [plots.murphy, plots.decision_curve])
def test_several_predictors_share_a_picture(draw: Callable[..., Axes]) -> None:
    y, p = rows(300)
    both = {"raw": Predictor.from_samples(y, p), "squared": Predictor.from_samples(y, p**2)}
    texts = said(draw(both, ax=Figure().subplots()))
    assert texts[:2] == ["raw", "squared"]
    assert len([text for text in texts if "treat all" in text or "always" in text]) == 1  # the same outcomes
    other = {"raw": both["raw"], "others": Predictor.from_samples([1, 1, 0], [0.2, 0.4, 0.6])}
    draw(other, ax=Figure().subplots())
    with pytest.raises(ValueError, match="one dict"):
        draw({})
    with pytest.raises(ValueError, match="one dict"):
        draw(both, p)


def test_the_audit_draws_the_reliability_diagram() -> None:
    y, p = rows(300)
    audit = tc.audit(y, p, payoff=tc.DecisionProblem([[0, 0], [-1, 3]]), draws=9)
    ax = audit.plot(ax=Figure().subplots())
    texts = said(ax)
    assert texts[-1] == "your threshold: 0.25"
    assert any("by chance" in text for text in texts)
    assert audit.diagram == diagrams.reliability_diagram(Predictor.from_samples(y, p), rng=0)
    alone = diagrams.loss_profile(Predictor.from_samples(y, p))
    assert 0.25 in audit.profile.thresholds
    assert audit.profile.loss(alone.thresholds) == pytest.approx(alone.loss(alone.thresholds), abs=1e-12)
    assert tc.audit(y, p, draws=0).diagram.band is None


@pytest.mark.parametrize(
    ("highest", "mark", "end"), [(0.08, None, 0.1), (0.08, 0.3, 0.5), (0.35, None, 0.5), (0.6, None, 1)]
)
def test_the_axes_end_where_small_predictions_do(highest: float, mark: float | None, end: float) -> None:
    y, p = rows(200)
    ax = plots.reliability(y, highest * p / p.max(), thresholds=mark, ax=Figure().subplots())
    assert ax.get_xlim() == ax.get_ylim() == (0, end)


# --- Colours


def luminance(colour: str) -> float:
    """Relative luminance, as in WCAG."""
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#000000"), (DARK, "#1d2024")])
def test_lines_and_words_stand_out_from_the_background(colours: Palette, paper: str) -> None:
    assert contrast(colours.ink, paper) > 7
    assert contrast(colours.soft, paper) > 4.5
    assert all(contrast(colour, paper) > 3 for colour in colours.series)


BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""Machado, Oliveira and Fernandes (2009), severity 1."""


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("kind", BLIND)
def test_series_differ_for_the_colour_blind(colours: Palette, kind: str) -> None:
    """Every pair differs by at least 0.1 in one channel; line styles differ as well."""
    seen = [np.array(BLIND[kind]) @ [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours.series]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert np.abs(one - other).max() > 0.1


@pytest.mark.parametrize("paper", ["black", "white"])
def test_the_colours_follow_the_background(paper: str) -> None:
    figure = Figure(facecolor=paper)
    ax = figure.subplots()
    ax.set_facecolor("none")
    plots.reliability(*rows(50), ax=ax)
    assert ax.xaxis.label.get_color() == (DARK if paper == "black" else LIGHT).soft
