"""A real browser, in the frame that the KFP UI puts a report into."""

import html
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.validation.reports import report_request
from validation.report import report_html

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


@pytest.fixture(scope="module")
def frame(browser, tmp_path_factory):
    """The report in `<iframe sandbox="allow-scripts" srcdoc>`, with all requests and console errors collected."""
    page = browser.new_page(viewport={"width": 1240, "height": 1000})
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    text = html.escape(report_html(report_request(classes=STORABLE_NAMES[:5])))
    path = tmp_path_factory.mktemp("page") / "outer.html"
    outer = '<!doctype html><meta charset="utf-8"><iframe sandbox="allow-scripts" style="width:1200px;height:960px" '
    path.write_text(f'{outer} srcdoc="{text}"></iframe>', encoding="utf-8")
    page.goto(path.as_uri())
    inner = page.frames[1]
    inner.wait_for_selector("h1")
    return inner, page


def test_no_script_of_a_class_name_runs(frame):
    inner, _page = frame

    assert inner.evaluate("window.stolen === undefined")


def test_nothing_is_asked_of_any_other_place_and_nothing_goes_wrong(frame):
    _inner, page = frame

    assert [url for url in page.asked if not url.startswith(("data:", "about:", "file:"))] == []
    assert page.said == []


def test_every_picture_and_chart_is_there(frame):
    inner, _page = frame
    widths = inner.evaluate(
        """Promise.all(Array.from(document.querySelectorAll(".gallery img"), async (picture) => {
            await picture.decode();
            return picture.naturalWidth;
        }))"""
    )
    heights = inner.evaluate("Array.from(document.querySelectorAll('svg'), (s) => s.getBoundingClientRect().height)")

    assert len(widths) == 12
    assert min(widths) == 200
    assert len(heights) == 5  # four classes have objects, and calibration
    assert min(heights) > 50


def test_names_are_shown_as_written(frame):
    inner, _page = frame

    assert inner.evaluate("document.body.textContent.includes('<script>window.stolen=1</script>')")


def test_numbers_sort_by_value_both_ways_and_by_keyboard(frame):
    inner, _page = frame
    column = """Array.from(document.querySelector("#classes tbody").rows,
        (row) => Number(row.cells[2].textContent.replace(",", "")))"""
    head = inner.locator("#classes thead th").nth(2)

    head.locator("button").focus()
    head.locator("button").press("Enter")
    rising = inner.evaluate(column)
    head.locator("button").press("Enter")

    assert rising == sorted(rising)
    assert inner.evaluate(column) == rising[::-1]
    assert head.get_attribute("aria-sort") == "descending"


def test_pictures_open_large_and_close_by_keyboard(frame):
    inner, _page = frame
    first = inner.locator("button.zoom").first

    first.focus()
    first.press("Enter")
    opened = inner.evaluate("document.getElementById('large').open && document.querySelectorAll('#large img').length")
    inner.locator("#large").press("ArrowRight")
    inner.locator("#large").press("Escape")

    assert opened == 1
    assert not inner.evaluate("document.getElementById('large').open")


def test_the_page_is_no_wider_than_its_frame(frame):
    inner, _page = frame

    assert inner.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_screenshot_has_the_verdict_in_its_colour(frame, tmp_path: Path):
    _inner, page = frame
    target = Path(os.environ.get("DRIVEFLOW_SCREENSHOTS", str(tmp_path))) / "report-in-frame.png"

    page.screenshot(path=str(target))

    assert target.stat().st_size > 20_000
