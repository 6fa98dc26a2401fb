"""A real browser, in the frame that the KFP UI puts a report into."""

import os
from pathlib import Path

import pytest

from tests.browsing import browser, in_frame
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.validation.reports import report_request
from validation.report import report_html

__all__ = ["browser"]


@pytest.fixture(scope="module")
def frame(browser, tmp_path_factory):
    """The report in the frame of the KFP UI."""
    text = report_html(report_request(classes=STORABLE_NAMES[:5]))
    return in_frame(browser, text, tmp_path_factory.mktemp("page"))


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
