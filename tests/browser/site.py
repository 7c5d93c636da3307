"""Open the built site in Chromium: python -m tests.browser.site [FOLDER FOR PICTURES].  `make docs` runs it.

Every page below is opened at the width of a screen and of a phone.  It fails at an error on the console, a request to
another host, a page wider than its window, a picture that is missing, or a search that finds nothing.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.test_page import BROWSER

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = {
    "home": "index.html",
    "tutorial": "tutorials/data-scientist.html",
    "gallery": "gallery.html",
    "api": "reference/api/measures.html",
    "theory": "explanation/theory.html",
}
WIDTHS = (1280, 390)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def main(folder: str | None = None) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_address[1]}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        for width in WIDTHS:
            tab = browser.new_page(viewport={"width": width, "height": 900})
            faults: list[str] = []
            _listen(tab, home, faults)
            for name, page in PAGES.items():
                tab.goto(home + page)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, f"{page} is wider than {width}"
                if name == "gallery":
                    assert tab.locator("figure svg").count() >= 4
                if folder is not None:
                    tab.screenshot(path=Path(folder) / f"{name}-{width}.png")
            _search(tab, home, width)
            assert not faults, faults
            tab.close()
        browser.close()
    server.shutdown()


def _listen(tab: Any, home: str, faults: list[str]) -> None:
    """Collect errors, and requests to other hosts."""
    tab.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("request", lambda asked: faults.append(asked.url) if _foreign(asked.url, home) else None)


def _foreign(url: str, home: str) -> bool:
    return not url.startswith((home, "data:", "blob:"))


def _search(tab: Any, home: str, width: int) -> None:
    tab.goto(home)
    if width < 1000:
        tab.locator("label[for=__search]").first.click()
    tab.locator(".md-search__input").fill("monotone_cdl")
    tab.locator(".md-search-result__item").first.wait_for()


if __name__ == "__main__":
    main(*sys.argv[1:])
