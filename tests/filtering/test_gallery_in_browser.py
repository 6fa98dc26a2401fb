"""The gallery of a real drive in a real browser, in the frame that the KFP UI puts it into."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from driveflow.flow.sections import BlurSection, CornerCaseSection, FilterSection, WhereSection
from driveflow.signal_store import SignalStore
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.fingerprint import fingerprint_frames
from filtering.gallery import filter_gallery
from filtering.shown import MAX_BYTES
from tests.browsing import browser, in_frame
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.filtering.made import sequences

__all__ = ["browser"]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory) -> str:
    """The page of the shadow drive under a blur limit that drops some of it, with files of hostile names."""
    tables, pixels = sequences("seq_udacity_shadow")
    names = [f"{STORABLE_NAMES[at % len(STORABLE_NAMES)]} {at:03}.jpg" for at in range(tables.sources.num_rows)]
    place = tables.sources.schema.get_field_index("path")
    hostile = replace(tables, sources=tables.sources.set_column(place, "path", pa.array(names)))
    store = SignalStore(tmp_path_factory.mktemp("store").as_uri())
    signals = fingerprint_frames(hostile.frames["frame_id"], pixels, store).signals
    sharp = float(np.quantile(signals["sharpness"].to_numpy(), 0.05))
    filters = FilterSection(blur=BlurSection(dead_sharpness=sharp))
    spared = CornerCaseSection(name="all", where=WhereSection(attributes={}), quota_frames=3)
    request = FilterRequest(hostile, signals, filters, (spared,), pixels=pixels)
    return filter_gallery(request, filter_frames(request), pixels)


@pytest.fixture(scope="module")
def frame(browser, gallery, tmp_path_factory):
    return in_frame(browser, gallery, tmp_path_factory.mktemp("page"))


def test_the_page_of_a_real_drive_stays_under_five_megabytes(gallery):
    assert len(gallery.encode()) < MAX_BYTES


def test_nothing_is_asked_of_any_other_place_no_script_of_a_name_runs_and_nothing_goes_wrong(frame):
    inner, page = frame

    assert [url for url in page.asked if not url.startswith(("data:", "about:", "file:"))] == []
    assert page.said == []
    assert inner.evaluate("window.stolen === undefined")


def test_the_end_of_every_path_is_shown(frame):
    inner, _page = frame
    hidden = inner.evaluate(
        """Array.from(document.querySelectorAll(".path")).filter((path) => {
          const whole = path.getBoundingClientRect(), end = path.lastChild.getBoundingClientRect();
          return end.width === 0 || end.left < whole.left - 1 || end.right > whole.right + 1;
        }).map((path) => path.title)"""
    )

    assert inner.locator(".path").count() > 0
    assert hidden == []


def test_every_picture_is_shown_and_has_words(frame):
    inner, _page = frame
    widths = inner.evaluate(
        """Promise.all(Array.from(document.querySelectorAll(".gallery img"), async (picture) => {
            await picture.decode();
            return picture.naturalWidth;
        }))"""
    )

    assert len(widths) > 30
    assert min(widths) >= 200
    assert inner.evaluate("Array.from(document.querySelectorAll('.gallery img'), (item) => item.alt).every(Boolean)")


def test_a_limit_that_drops_something_is_open_and_any_other_opens_by_keyboard(frame):
    inner, _page = frame
    is_open = "Array.from(document.querySelectorAll('details'), (item) => item.open)"
    at_first = inner.evaluate(is_open)
    closed = inner.locator("details:not([open]) > summary").first

    closed.focus()
    closed.press("Enter")

    assert any(at_first)
    assert inner.evaluate(is_open).count(True) == at_first.count(True) + 1


def test_twins_open_large_and_arrows_go_from_pair_to_pair(frame):
    inner, _page = frame
    first = inner.locator("#twins button.zoom").first
    words = "document.querySelector('#large figcaption').textContent"

    first.focus()
    first.press("Enter")
    one = inner.evaluate(words)
    inner.locator("#large").press("ArrowRight")
    other = inner.evaluate(words)
    inner.locator("#large").press("Escape")

    assert "bits from the kept frame" in one
    assert one != other
    assert not inner.evaluate("document.getElementById('large').open")


def test_links_lead_to_their_sections_and_the_page_is_no_wider_than_its_frame(frame):
    inner, _page = frame
    links = inner.evaluate("Array.from(document.querySelectorAll('nav a'), (link) => link.getAttribute('href'))")

    assert inner.evaluate(f"{links}.every((link) => document.querySelector(link) !== null)")
    assert inner.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_page_can_be_looked_at(frame, gallery, tmp_path: Path):
    _inner, page = frame
    folder = Path(os.environ.get("DRIVEFLOW_SCREENSHOTS", str(tmp_path)))
    (folder / "gallery.html").write_text(gallery, encoding="utf-8")

    page.screenshot(path=str(folder / "gallery-in-frame.png"))

    assert (folder / "gallery-in-frame.png").stat().st_size > 20_000
