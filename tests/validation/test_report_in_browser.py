"""A real browser, in the frame that the KFP UI puts a report into."""

import math
import os
from pathlib import Path

import pytest

from tests.browsing import browser, in_frame
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.validation.reports import report_request
from validation.report import report_html

__all__ = ["browser"]

HOSTILE = STORABLE_NAMES[:5]  # <script>, quotes, 200 characters, right to left, emoji


@pytest.fixture(scope="module")
def text() -> str:
    return report_html(report_request(classes=HOSTILE, worst_frames=6))


@pytest.fixture(scope="module")
def frame(browser, text, tmp_path_factory):
    """The report in the frame of the KFP UI."""
    return in_frame(browser, text, tmp_path_factory.mktemp("page"))


def test_no_script_of_a_class_name_runs(frame):
    inner, _page = frame

    assert inner.evaluate("window.stolen === undefined")
    assert inner.evaluate("document.querySelectorAll('script').length") == 1


def test_nothing_is_asked_of_any_other_place_and_nothing_goes_wrong(frame):
    _inner, page = frame

    assert [url for url in page.asked if not url.startswith(("data:", "about:", "file:"))] == []
    assert page.said == []


def test_every_picture_and_chart_is_there(frame):
    inner, _page = frame
    widths = inner.evaluate(
        """Promise.all(Array.from(document.querySelectorAll(".gallery figure:not([hidden]) img"), async (picture) => {
            await picture.decode();
            return picture.naturalWidth;
        }))"""
    )
    size = "(s) => [s.getBoundingClientRect().width, s.getBoundingClientRect().height]"
    charts = inner.evaluate(f"Array.from(document.querySelectorAll('.charts svg'), {size})")
    whiskers = inner.evaluate(f"Array.from(document.querySelectorAll('svg.whisker'), {size})")

    assert len(widths) >= 18  # worst, newly broken, newly fixed
    assert min(widths) == 200
    assert len(charts) == 6  # four classes have objects, and the scores of both models
    assert min(min(chart) for chart in charts) > 50
    assert len(whiskers) > 10
    assert min(min(drawn) for drawn in whiskers) > 10


def test_names_are_shown_as_written(frame):
    inner, _page = frame

    for name in ("<script>window.stolen=1</script>", HOSTILE[1], HOSTILE[2], HOSTILE[4]):
        assert inner.evaluate("(name) => document.body.textContent.includes(name)", name)


@pytest.mark.parametrize("title", ["AP50", "objects"])
def test_numbers_sort_by_value_both_ways_and_by_keyboard(frame, title):
    inner, _page = frame
    button = inner.locator("#classes thead button", has_text=title).first
    column = """(title) => {
        const heads = Array.from(document.querySelectorAll("#classes thead th"));
        const at = heads.findIndex((head) => head.textContent === title);
        return Array.from(document.querySelector("#classes tbody").rows, (row) => row.cells[at].dataset.order);
    }"""

    button.focus()
    button.press("Enter")
    rising = [float(value) for value in inner.evaluate(column, title)]
    button.press("Space")
    falling = [float(value) for value in inner.evaluate(column, title)]

    known = sorted(value for value in rising if not math.isnan(value))
    assert len(rising) == 5
    assert rising[: len(known)] == known
    assert falling[: len(known)] == known[::-1]
    assert inner.locator("#classes th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_pictures_open_large_turn_and_close_by_keyboard(frame):
    inner, _page = frame
    first = inner.locator(".gallery button.zoom").first
    shown = "document.querySelector('#large').textContent"

    first.focus()
    first.press("Enter")
    opened = inner.evaluate("document.getElementById('large').open")
    one = inner.evaluate(shown)
    inner.locator("#large").press("ArrowRight")
    other = inner.evaluate(shown)
    inner.locator("#large").press("ArrowLeft")
    back = inner.evaluate(shown)
    inner.locator("#large").press("Escape")

    assert opened
    assert one == back != other
    assert not inner.evaluate("document.getElementById('large').open")
    assert inner.evaluate("document.activeElement === document.querySelector('.gallery button.zoom')")


def test_a_class_of_a_gallery_is_chosen_by_keyboard_and_only_its_pictures_are_there_and_turned_to(frame):
    inner, page = frame
    gallery = inner.locator("#frames .chooser")
    choice, said = gallery.locator("select"), gallery.locator("output")
    shown = """() => Array.from(document.querySelectorAll("#frames .gallery figure"))
        .filter((figure) => figure.getBoundingClientRect().width > 0)
        .map((figure) => [figure.dataset.all, figure.dataset.c0])"""

    before = inner.evaluate(shown)
    choice.focus()
    choice.press("ArrowDown")
    chosen, words = inner.evaluate(shown), said.text_content()
    gallery.locator("figure:not([hidden]) button.zoom").first.press("Enter")
    inner.locator("#large").press("ArrowRight")
    caption = inner.evaluate("document.querySelector('#large figcaption').textContent")
    second = gallery.locator("figure:not([hidden]) figcaption").nth(1).text_content()
    inner.locator("#large").press("Escape")
    choice.press("Home")

    assert [int(places[0]) for places in before] == list(range(6))
    assert [int(places[1]) for places in chosen] == list(range(len(chosen)))
    assert 0 < len(chosen) <= 6
    assert words == f"{len(chosen)} shown"
    assert caption == second
    assert inner.evaluate(shown) == before
    assert page.said == []


def test_charts_open_large_too(frame):
    inner, _page = frame

    inner.locator(".charts button.zoom").first.click()
    width = inner.evaluate("document.querySelector('#large svg').getBoundingClientRect().width")
    inner.locator("#large").press("Escape")

    assert width > 600


def test_links_lead_to_their_section_within_the_frame(frame):
    inner, _page = frame

    inner.locator("nav a", has_text="Leak check").click()
    top = inner.evaluate("document.getElementById('leak').getBoundingClientRect().top")
    inner.evaluate("window.scrollTo(0, 0)")

    assert inner.evaluate("document.querySelector('h1') !== null")
    assert 0 <= top < 960


@pytest.mark.parametrize("width", [1240, 390])
def test_the_page_is_no_wider_than_its_window(browser, text, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(path.as_uri())

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_verdict_stands_out_in_both_schemes(browser, text, tmp_path, scheme):
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1240, "height": 960}, color_scheme=scheme)
    page.goto(path.as_uri())
    colours = page.evaluate(
        """() => ["body", ".verdict"].map((place) => getComputedStyle(document.querySelector(place)))
            .flatMap((style) => [style.backgroundColor, style.color])
            .map((colour) => colour.match(/\\d+/g).slice(0, 3).map(Number))"""
    )
    page.close()
    paper, ink, wash, verdict = (sum(colour) / 3 for colour in colours)

    assert (paper > 200) == (scheme == "light")
    assert abs(paper - ink) > 150
    assert abs(wash - verdict) > 80


def test_the_screenshot_has_the_first_screen(frame, tmp_path: Path):
    _inner, page = frame
    target = Path(os.environ.get("DRIVEFLOW_SCREENSHOTS", str(tmp_path))) / "report-in-frame.png"

    page.screenshot(path=str(target))

    assert target.stat().st_size > 20_000
