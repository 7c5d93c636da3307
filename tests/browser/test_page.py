"""The page in a browser: what its script shows is what the audit says, offline, on a phone, whatever the title."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trustcal as tc
from trustcal.auditing import Audit

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
)

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="the browser tests need Chromium, and none is installed")

TITLE = 'Who pays? <script>document.title="owned"</script> & "quotes"'
PAYOFF = ((0.0, 0.0), (-100.0, 300.0), (-40.0, 150.0))


@pytest.fixture(scope="module")
def audit() -> Audit:
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 1500)
    y = rng.random(1500) < p**1.6
    names = ["wait", 'treat "now" </script><script>document.title="owned"</script>', "watch <b>"]
    half = rng.random(1500) < 0.5
    groups = {"<i>odd</i>": half, "even": ~half}
    return tc.audit(
        y,
        p,
        payoff=tc.DecisionProblem(PAYOFF, names),
        groups={name: tc.Predictor.from_samples(y[of], p[of]) for name, of in groups.items()},
        noise=tc.UniformNoise(0.2),  # asked for, so it is in the explorer
        draws=19,
        rng=0,
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    arguments += ["--disable-background-networking", "--disable-component-update"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "page.html"
    audit.to_html(file, title=TITLE)
    return file


@pytest.fixture
def opened(file: Path, browser: Any) -> Iterator[Any]:
    """The page, opened; at the end nothing may have gone wrong, and nothing been asked for beside the file."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    yield page
    page.close()
    assert [url for url in asked if url != file.as_uri() and url != "data:,"] == []
    assert said == []


def share(page: Any, name: str) -> float:
    """A loss that the page shows, per cent, as a share."""
    return float(page.inner_text(f"#{name}").replace("%", "")) / 100


def assert_shown(page: Any, audit: Audit, mu: float) -> None:
    assert audit.after_noise is not None
    half = 0.00051  # one decimal of a per cent
    assert share(page, "loss-now") == pytest.approx(float(audit.profile.loss(mu)), abs=half)
    better = audit.profile.better(mu)
    words = "act always" if better < 0 else "act never" if better >= 1 else f"{better:.4g}"
    assert page.inner_text("#better") == ("this one" if better == mu else words)
    assert share(page, "reversed") == pytest.approx(audit.profile.changed(mu), abs=half)
    assert share(page, "loss-after") == pytest.approx(float(audit.after_noise.loss(mu)), abs=half)
    assert share(page, "loss-total") == pytest.approx(float(audit.after_noise.loss(mu, total=True)), abs=half)


def test_the_page_begins_with_the_worst_threshold(opened: Any, audit: Audit) -> None:
    mu = audit.worst_threshold.threshold
    assert float(opened.input_value("#threshold")) == pytest.approx(mu, abs=1e-4)
    assert share(opened, "loss-now") == pytest.approx(audit.worst_threshold.loss, abs=0.00051)
    assert_shown(opened, audit, mu)


def test_dragging_typing_and_keys_move_the_threshold(opened: Any, audit: Audit) -> None:
    opened.locator("#profile").scroll_into_view_if_needed()
    box = opened.locator("#profile").bounding_box()
    y = box["y"] + box["height"] / 2
    opened.mouse.move(box["x"] + 0.3 * box["width"], y)
    opened.mouse.down()
    seen = []
    for part in (0.4, 0.5, 0.75):
        opened.mouse.move(box["x"] + part * box["width"], y)
        seen.append(float(opened.input_value("#threshold")))
        assert_shown(opened, audit, seen[-1])
    opened.mouse.up()
    assert seen == sorted(seen)
    assert seen[2] - seen[1] == pytest.approx(0.25 * box["width"] / frame_width(opened), abs=0.002)
    opened.mouse.move(box["x"] + 0.2 * box["width"], y)  # not held down any more
    assert float(opened.input_value("#threshold")) == seen[2]

    for mu in (0.0, 0.125, 0.6, 1.0):
        opened.fill("#threshold", str(mu))
        assert_shown(opened, audit, mu)
    opened.fill("#ratio", "4")
    assert float(opened.input_value("#threshold")) == 0.2
    assert_shown(opened, audit, 0.2)
    opened.focus("#slider")
    opened.keyboard.press("ArrowRight")
    assert float(opened.input_value("#threshold")) == pytest.approx(0.201)
    assert_shown(opened, audit, 0.201)
    opened.fill("#threshold", "1.5")
    assert opened.get_attribute("#threshold", "aria-invalid") == "true"
    assert_shown(opened, audit, 0.201)


def frame_width(page: Any) -> float:
    """Pixels from threshold 0 to threshold 1."""
    script = (
        "() => { const f = JSON.parse(document.getElementById('data').textContent).frame; return f.right - f.left; }"
    )
    units, view = page.evaluate(script), page.evaluate("document.getElementById('profile').viewBox.baseVal.width")
    return float(units / view * page.locator("#profile").bounding_box()["width"])


def test_a_payoff_table_costs_what_the_audit_says(opened: Any, audit: Audit) -> None:
    assert audit.problem is not None
    answer = opened.locator("#payoff-answer")
    assert float(answer.get_attribute("data-now")) == pytest.approx(audit.problem.moving, abs=1e-9)
    table = [list(row) for row in PAYOFF]
    for action, y, value in ((1, 0, -300.0), (1, 1, 100.0), (2, 1, 12.5), (0, 0, 20.0)):
        table[action][y] = value
        opened.locator("#payoff-rows tr").nth(action).locator("input").nth(1 + y).fill(str(value))
        problem = tc.DecisionProblem(table)
        expected = problem.weights @ audit.profile.regret_at(problem.thresholds)
        assert float(answer.get_attribute("data-now")) == pytest.approx(float(expected), abs=1e-9)
    opened.locator("#payoff-rows tr").nth(0).locator("input").nth(1).fill("")
    assert "needs two numbers" in answer.inner_text()
    opened.click("#payoff-more")
    assert opened.locator("#payoff-rows tr").count() == 4


@pytest.mark.slow
def test_thresholds_of_typed_payoffs_are_those_of_python(opened: Any) -> None:
    """Payoffs on small grids, so that ties, parallel lines and thresholds at 0 and 1 are common."""
    script = (Path(tc.__file__).parent / "report" / "page" / "page.js").read_text()
    envelope = script[script.index("  function envelope(") : script.index("  function pay(")]
    rng = np.random.default_rng(0)
    tables = [rng.integers(-4, 5, (int(rng.integers(2, 6)), 2)).tolist() for _ in range(4000)]
    tables += [rng.normal(size=(4, 2)).tolist() for _ in range(500)] + [[[-2, -3], [0, 0], [0, -3]]]
    found = opened.evaluate(f"tables => {{ {envelope} return tables.map(table => envelope(table).steps); }}", tables)
    for table, steps in zip(tables, found, strict=True):
        problem = tc.DecisionProblem(table)
        assert [step["mu"] for step in steps] == pytest.approx(problem.thresholds.tolist(), abs=1e-12), table
        assert [step["weight"] for step in steps] == pytest.approx(problem.weights.tolist(), abs=1e-12), table


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_verdict_and_the_picture_are_on_the_first_screen(opened: Any, width: int, height: int) -> None:
    opened.set_viewport_size({"width": width, "height": height})
    assert "%" in opened.inner_text(".verdict p.more")  # the number
    for part in (".verdict p >> nth=0", ".verdict p.more", "#reliability"):
        box = opened.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height, part


def test_series_can_be_hidden_and_shown(opened: Any) -> None:
    for name in ("now", "after", "total"):
        line, box = opened.locator(f"#profile-series-{name}"), opened.locator(f'input[data-series="{name}"]')
        assert line.is_visible()
        box.uncheck()
        assert not line.is_visible()
        box.check()
        assert line.is_visible()


def test_what_the_user_wrote_is_text(opened: Any, audit: Audit) -> None:
    assert opened.title() == TITLE
    assert opened.inner_text("h1") == TITLE
    assert audit.problem is not None
    assert opened.locator("#payoff-rows tr").nth(1).locator("input").nth(0).input_value() == audit.problem.actions[1]
    assert opened.get_by_text("<i>odd</i>", exact=True).count() == 1
    assert opened.locator("main i:not(.swatch), main script").count() == 0


def test_no_width_scrolls_sideways_in_light_or_dark(opened: Any) -> None:
    for width in (320, 360, 390, 700, 900, 1280):
        opened.set_viewport_size({"width": width, "height": 800})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        style = "getComputedStyle(document.body)"
        ink, paper = opened.evaluate(f"[{style}.color, {style}.backgroundColor]")
        label = opened.locator("#reliability text").first.evaluate("node => getComputedStyle(node).fill")
        assert (brightness(ink) > brightness(paper)) == (scheme == "dark")
        assert (brightness(label) > brightness(paper)) == (scheme == "dark")


def brightness(colour: str) -> float:
    return sum(map(float, colour.removeprefix("rgb(").removesuffix(")").split(",")))


def test_folded_sections_and_payoffs_are_printed_without_a_script_too(
    audit: Audit, browser: Any, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    audit.to_html(file, title="t")
    for script in (True, False):
        context = browser.new_context(java_script_enabled=script)
        page = context.new_page()
        page.goto(file.as_uri())
        clinical = page.locator("td small", has_text="two-sided")
        assert not clinical.is_visible()
        if not script:
            assert page.locator("#payoff-rows tr").nth(1).inner_text().split()[-2:] == ["-100", "300"]
            page.locator("summary", has_text="For clinical readers").click()
            assert clinical.is_visible()
            page.locator("summary", has_text="For clinical readers").click()
        page.emulate_media(media="print")
        assert clinical.bounding_box()["height"] > 0
        context.close()


def test_it_prints(opened: Any, tmp_path: Path) -> None:
    opened.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


def test_a_calibrated_law_has_a_page_too(browser: Any, tmp_path: Path) -> None:
    tc.audit(tc.Predictor([0.25, 0.5], [0.5, 0.5], [0.125, 0.25])).to_html(tmp_path / "calm.html")
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "calm.html").as_uri())
    page.fill("#threshold", "0.5")
    assert page.inner_text("#loss-now") == "0.0\u00a0%"
    assert page.locator("#loss-after").count() == 0
    assert said == []
    page.close()


PLANTED = {
    "a script": "<script>window.owned = true</script>",
    "a handler": '<img src="data:image/png;base64,AAAA" onerror="window.owned = true">',
    "a frame": '<iframe srcdoc="<script>parent.owned = true</script>"></iframe>',
    "an address": '<a id="go" href="javascript:void(window.owned = true)">go</a>',
    "another base": '<base href="https://example.org/">',
    "a form": '<form id="send" action="https://example.org/"><input name="x"></form>',
    "a style": "<style>h1 { display: none }</style>",
    "a picture": '<img src="https://example.org/pixel.png">',
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_in_the_page_does_not_run(file: Path, browser: Any, tmp_path: Path, kind: str) -> None:
    """The policy is a second wall: here every escape is missing, and the data of the page is the attacker's."""
    text = file.read_text(encoding="utf-8")
    assert "unsafe" not in text
    assert ' style="' not in text
    assert text.count("</h1>") == 1
    planted = tmp_path / "page.html"
    planted.write_text(text.replace("</h1>", f"</h1>{PLANTED[kind]}"), encoding="utf-8")
    page = browser.new_page()
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))  # one that is blocked never is
    page.goto(planted.as_uri())
    if kind == "an address":
        page.click("#go")
    if kind == "a form":
        page.evaluate("document.getElementById('send').submit()")
    assert not page.evaluate("window.owned === true")
    assert page.evaluate("document.baseURI") == planted.as_uri()
    assert page.locator("h1").is_visible()
    assert share(page, "loss-now") > 0  # and the page's own script still does
    assert [url for url in asked if url.startswith("http")] == []
    page.close()


@pytest.mark.slow
def test_a_changed_script_of_the_page_itself_does_not_run(audit: Audit, browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    audit.to_html(file)
    file.write_text(file.read_text(encoding="utf-8").replace('"use strict";', '"use strict"; window.owned = true;'))
    page = browser.new_page()
    page.goto(file.as_uri())
    assert not page.evaluate("window.owned === true")
    page.close()
