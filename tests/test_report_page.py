"""The page and its pictures: whole, escaped, the same every time, and without a single address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import trustcal as tc
from trustcal import plots
from trustcal.auditing import Audit
from trustcal.report.page import page

WICKED = """</script><script>alert('1')</script> "double" 'single' & <img src=x onerror=alert(2)> $title 1.23456"""
VOID = {"meta", "link", "input", "br", "path", "use", "rect", "circle", "line", "stop"}


class Elements(HTMLParser):
    """Counts elements, checks that they are closed, and keeps the ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    p = rng.random(n)
    return rng.random(n) < p**1.7, p


@pytest.fixture(scope="module")
def full() -> Audit:
    y, p = rows(800)
    q = tc.Predictor.from_samples(y, p)
    return tc.audit(
        q,
        payoff=tc.DecisionProblem([[0, 0], [-1, 2]], ["wait", WICKED]),
        groups={WICKED: q, "known": tc.Predictor([0.2, 0.7], [0.5, 0.5], [0.1, 0.2])},
        compare=True,
        draws=19,
    )


LAWS = {
    "one value": tc.Predictor([0.3], [1.0], [0.5]),
    "calibrated": tc.Predictor([0.3], [1.0], [0.3]),
    "at the ends": tc.Predictor([0.0, 1.0], [0.5, 0.5], [0.25, 0.25]),
    "rain": tc.Predictor([0.4999, 0.5001], [0.5, 0.5], [0.5, 0.0]),
    "neighbours": tc.Predictor([0.5, 0.5 + 1e-15], [0.5, 0.5], [0.5, 0.0]),
    "certain": tc.Predictor([0.0], [1.0], [0.0]),
    "all wrong": tc.Predictor([0.0, 1.0], [0.5, 0.5], [0.5, 0.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_degenerate_laws_have_a_page(law: str) -> None:
    text = page(tc.audit(LAWS[law]), "t")
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    assert "nan" not in re.sub(r"<style>.*?</style>|<script.*?</script>", "", text, flags=re.DOTALL).lower().split()


def test_one_row_has_a_page() -> None:
    assert "1 rows" in page(tc.audit([1], [0.5], draws=9, rng=0), "t")


def test_the_page_is_whole_and_holds_no_address(full: Audit) -> None:
    text = page(full, "t")
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    assert sorted(elements.ids) == sorted(set(elements.ids))
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text.replace("url(#", "")
    sources = [value for name, value in elements.attributes if name in ("src", "href", "action", "srcset", "data")]
    assert all(value == "data:," or value.startswith("#") for value in sources)
    assert len(text) < 400_000


def test_every_word_of_the_user_is_escaped(full: Audit) -> None:
    text = page(full, WICKED)
    elements = Elements()
    elements.feed(text)
    assert elements.scripts == 2  # the data and the script of the page itself
    assert "<img" not in text
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert text.count("$title 1.23456") >= 3  # shown as it was written: title, heading, group
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["payoff"][1][0] == WICKED


def test_the_same_audit_gives_the_same_bytes_whatever_matplotlib_is_set_to(full: Audit, tmp_path: Path) -> None:
    full.to_html(tmp_path / "a.html", title="t")
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "lines.linewidth": 9, "axes.grid": True}):
        before = dict(mpl.rcParams)
        Audit.from_json(full.to_json()).to_html(tmp_path / "b.html", title="t")
        assert dict(mpl.rcParams) == before
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_page_shows_the_numbers_of_the_audit(full: Audit) -> None:
    text = page(full, "t").replace("\u00a0", " ")
    assert full.inference is not None
    for entry in full.inference.measures:
        assert f"<b>{entry.value:.4f}</b>" in text
        assert f"{entry.lower:.4f} – {entry.upper:.4f}" in text
    assert full.guarantee is not None
    assert full.guarantee.choice.guarantee.source in text
    assert full.comparison is not None
    for row in full.comparison.methods[1:]:
        assert f"<td>{row.name}</td>" in text
    for said in (*full.verdict.headline.split(". ", 1), *(advice.text for advice in full.advice)):
        assert escape(said) in text


def test_a_notebook_shows_the_first_screen_and_nothing_of_the_user_as_markup(full: Audit) -> None:
    text = full._repr_html_()
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    assert elements.scripts == 0
    assert "<img" not in text
    for said in full.verdict.headline.split(". ", 1):  # the first sentence stands by itself
        assert escape(said).replace(" %", "\u00a0%") in text
    assert text.count("<svg") == 1
    assert len(text) < 100_000
    style = text[text.index("<style>") : text.index("</style>")]
    assert style.startswith("<style>.trustcal {")
    assert style.count("{") == style.count("}")
    assert not re.search(r":root|\bbody\b", style)  # nothing outside is styled


def test_the_repr_of_an_audit_is_one_line(full: Audit) -> None:
    assert repr(full) == f"Audit(800 rows, {full.verdict.state}, monotone_cdl {full.loss.estimate:.4f})"
    assert repr(tc.audit(LAWS["calibrated"])).startswith("Audit(a known distribution, ")


def test_a_page_that_cannot_be_written_is_refused(full: Audit, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        full.to_html(tmp_path / "nowhere" / "a.html")


# --- the pictures, for notebooks and papers


@pytest.mark.parametrize("draw", [plots.reliability, plots.loss_profile, plots.movement])
def test_a_picture_draws_on_the_axes_it_is_given(draw: Callable[..., Axes], full: Audit) -> None:
    ax = Figure().subplots()
    assert draw(full, ax=ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("draw", [plots.reliability, plots.movement])
def test_a_picture_of_a_predictor_is_that_of_its_audit(draw: Callable[..., Axes]) -> None:
    q = tc.Predictor.from_samples(*rows(200))
    pictures = [draw(shown, ax=Figure().subplots()) for shown in (q, tc.audit(q, draws=1))]
    first, second = ([line.get_data() for line in ax.lines] for ax in pictures)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [len(ax.patches) for ax in pictures] == [len(pictures[0].patches)] * 2


def test_the_profile_is_drawn_exactly(full: Audit) -> None:
    ax = plots.loss_profile(full, ax=Figure().subplots())
    now = next(line for line in ax.lines if line.get_gid() == "series-now")
    mu, loss = (np.asarray(data) for data in now.get_data())
    y, p = rows(800)
    witness = tc.monotone_cdl_witness(tc.Predictor.from_samples(y, p))
    assert loss == pytest.approx(100 * witness.profile(mu) / np.maximum(mu, 1 - mu), abs=1e-9)
    assert (
        95 * np.max(loss) <= 10_000 * full.worst_threshold.loss <= 100.001 * np.max(loss)
    )  # a threshold with few digits


@pytest.mark.slow
def test_threads_draw_the_same_bytes_and_leave_matplotlib_alone() -> None:
    from concurrent.futures import ThreadPoolExecutor

    audit = tc.audit(tc.Predictor([0.2, 0.5, 0.9], [0.3, 0.4, 0.3], [0.1, 0.1, 0.2]))
    with mpl.rc_context({"lines.linewidth": 7.0, "font.size": 31.0}):
        before = dict(mpl.rcParams)
        want = page(audit, "Title")
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _: page(audit, "Title"), range(6))) == {want}
        assert dict(mpl.rcParams) == before
