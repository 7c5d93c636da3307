"""Make the pictures of the README in docs/pictures: the page of the demo, by Chromium, and its reliability diagram.

    make pictures

Each picture carries a hash of the numbers that it shows.  tests/test_pictures.py computes the numbers again, so that a
picture that is out of date fails, whatever the fonts and versions of the machine.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import chdir
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image, PngImagePlugin

import trustcal as tc

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
PAGE, DIAGRAM = FOLDER / "page.png", FOLDER / "reliability.svg"
WIDTH, HEIGHT, COLOURS = 1080, 900, 128


def audited() -> tc.Audit:
    """The audit of the demo, with payoffs."""
    with as_file(files("trustcal") / "examples") as folder, chdir(folder):  # the page names the file, not its place
        return tc.audit("census_income.csv", prediction="prediction", outcome="outcome", payoff=problem(), draws=40)


def problem() -> tc.DecisionProblem:
    """A visit to somebody who earns over $50,000 is worth 30; to anybody else it costs 70."""
    return tc.DecisionProblem([[0, 0], [-70, 30]], actions=["stay", "visit"])


def fingerprint(audit: tc.Audit) -> str:
    """A hash of what the pictures show: the loss, the measures, the payoffs and the curve, to three digits."""
    loss, own = audit.loss, audit.problem
    assert own is not None
    numbers = [loss.shown, loss.estimate, own.value, own.moving, *audit.measures.values(), *audit.diagram.fitted[::50]]
    text = json.dumps([audit.rows, audit.verdict.state, *(f"{number:.3g}" for number in numbers)])
    return hashlib.sha256(text.encode()).hexdigest()


def draw_diagram(audit: tc.Audit, mark: str) -> None:
    """Write the reliability diagram as SVG, with text as paths: the same everywhere."""
    with mpl.rc_context({"svg.hashsalt": "trustcal", "font.size": 9}):
        figure = Figure(figsize=(5.6, 4.2), layout="constrained")
        audit.plot(ax=figure.subplots())
        figure.savefig(DIAGRAM, metadata={"Date": None, "Description": mark})


def photograph(audit: tc.Audit, mark: str) -> None:
    """Write the first screen of the page as PNG of few colours."""
    from playwright.sync_api import sync_playwright

    from tests.browser.test_page import BROWSER

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file, shot = Path(folder) / "audit.html", Path(folder) / "page.png"
        audit.to_html(file, title="Who earns over $50,000?")
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(file.as_uri())
        page.screenshot(path=shot)
        browser.close()
        told = PngImagePlugin.PngInfo()
        told.add_text("Description", mark)
        Image.open(shot).convert("RGB").quantize(COLOURS).save(PAGE, optimize=True, pnginfo=told)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    audit = audited()
    mark = fingerprint(audit)
    draw_diagram(audit, mark)
    photograph(audit, mark)
    for file in (PAGE, DIAGRAM):
        print(f"{file.relative_to(FOLDER.parents[1])}: {file.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
