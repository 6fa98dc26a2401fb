"""Open a page in a real browser, in the frame that the KFP UI puts it into."""

import html
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Debian's Chromium under playwright; skipped where it is not there, except in CI."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        message = "no Chromium on this machine: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield started
        started.close()


def in_frame(browser: Any, text: str, folder: Path) -> tuple[Any, Any]:
    """Return the frame `<iframe sandbox="allow-scripts" srcdoc>` that holds `text`, and the page around it.

    The page collects all requests in `asked` and all errors and words of the console in `said`.
    """
    page = browser.new_page(viewport={"width": 1240, "height": 1000})
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    outer = '<!doctype html><meta charset="utf-8"><iframe sandbox="allow-scripts" style="width:1200px;height:960px" '
    path = folder / "outer.html"
    path.write_text(f'{outer} srcdoc="{html.escape(text)}"></iframe>', encoding="utf-8")
    page.goto(path.as_uri())
    inner = page.frames[1]
    inner.wait_for_selector("h1")
    return inner, page
