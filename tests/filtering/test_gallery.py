import re

import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.canonical import digest_bytes
from driveflow.errors import NotFoundError
from driveflow.flow.sections import CornerCaseSection, FilterSection, LabelingSection, WhereSection
from filtering import gallery
from filtering.corner_cases import CornerCaseRequest, find_corner_cases
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.gallery import filter_gallery, selection_gallery
from filtering.shown import MAX_BYTES, small_enough
from tests.driveflow.images.made import encode, scene
from tests.filtering.made import Held, Made, measured, snapshot
from tests.strategies import box_row

NIGHT = CornerCaseSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}))


class Shown(Held):
    def read(self, frame_id: str) -> bytes:
        if frame_id not in self.data:
            raise NotFoundError("gone")
        return super().read(frame_id)


@pytest.fixture
def pixels() -> Shown:
    pictures = [encode(scene(seed, 320, 180)) for seed in range(6)]
    return Shown({digest_bytes(data): data for data in pictures})


def request_for(pixels: Shown, **changes) -> FilterRequest:
    ids = list(pixels.data)
    frames = [
        Made(ids[0], 0, taken_s=0),
        Made(ids[1], 7, taken_s=1),
        Made(ids[2], 0xFFFF, signals={"sharpness": 1.0}),
        Made(ids[3], 0xFFFF0000, attributes={"time_of_day": "night"}),
        Made(ids[4], None, error="cannot be decoded: <b>cut</b>"),
        Made("f" * 64, 0xFFFF00000000),
    ]
    return FilterRequest(snapshot(frames), measured(frames), FilterSection(), (NIGHT,), **changes)


def test_the_page_shows_twins_limits_corner_cases_and_reasons(pixels):
    request = request_for(pixels)
    page = filter_gallery(request, filter_frames(request), pixels)

    for words in ("near duplicate", "3 bits from", "blur.dead", "shielded by night", "unreadable"):
        assert words in page, words
    assert page.count("data:image/jpeg;base64,") >= 5


def test_the_page_needs_nothing_beside_itself_and_escapes_what_came_in(pixels):
    request = request_for(pixels)
    page = filter_gallery(request, filter_frames(request), pixels)

    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert "<b>cut</b>" not in page
    assert "&lt;b&gt;cut&lt;/b&gt;" in page


def test_pairs_just_beyond_the_limit_are_shown_beside_those_within(pixels):
    ids = list(pixels.data)
    frames = [Made(ids[0], 0, taken_s=0), Made(ids[1], 7, taken_s=1), Made(ids[2], 0b111111 << 8, taken_s=2)]
    request = FilterRequest(snapshot(frames), measured(frames), FilterSection())

    page = filter_gallery(request, filter_frames(request), pixels)

    assert "3 bits from" in page
    assert "6 bits, limit 4" in page


def test_every_link_of_the_page_has_its_section(pixels):
    request = request_for(pixels)
    page = filter_gallery(request, filter_frames(request), pixels)
    links = re.findall(r'href="#([a-z-]+)"', page)

    assert len(links) == 6
    assert all(f'id="{link}"' in page for link in links)


def test_a_frame_whose_bytes_are_gone_is_left_out_of_the_page(pixels):
    request = request_for(pixels)
    outcome = filter_frames(request)

    page = filter_gallery(request, outcome, Shown({}))

    assert "data:image/jpeg" not in page
    assert "No picture to show." in page


def test_the_page_stays_under_its_limit_by_showing_fewer_pictures(pixels, monkeypatch):
    request = request_for(pixels)
    outcome = filter_frames(request)
    full = filter_gallery(request, outcome, pixels)
    monkeypatch.setattr(gallery, "small_enough", lambda build: small_enough(build, len(full.encode()) - 1))

    assert len(filter_gallery(request, outcome, pixels).encode()) < len(full.encode()) < MAX_BYTES


def test_a_run_without_frames_has_a_page():
    request = FilterRequest(snapshot([]), measured([]), FilterSection())

    assert "Nothing was dropped." in filter_gallery(request, filter_frames(request), Shown({}))


def test_the_page_of_a_selection_shows_each_rule_with_what_the_model_saw(pixels):
    ids = list(pixels.data)
    frames = [Made(frame_id, attributes={"time_of_day": "night"} if frame_id == ids[0] else {}) for frame_id in ids]
    guesses = pa.Table.from_pylist([box_row(ids[0], "1", "bus", score=0.9)], tables.PREDICTIONS)
    labeling = LabelingSection(budget_frames=4, control_share=0.25)
    request = CornerCaseRequest(snapshot(frames), measured(frames), labeling, (NIGHT,), guesses)
    selection = find_corner_cases(request)

    page = selection_gallery(request, selection, pixels)

    assert "night: 1 frame<" in page
    assert "control: 1 frame<" in page
    assert "rest of the budget: 2 frames" in page
    assert page.count("data:image/jpeg;base64,") == 4


def test_the_page_of_a_selection_says_how_many_of_the_frames_of_a_rule_are_shown():
    frames = [Made(f"{number:064x}", number, attributes={"time_of_day": "night"}) for number in range(11)]
    labeling = LabelingSection(budget_frames=11, control_share=0.0)
    request = CornerCaseRequest(snapshot(frames), measured(frames), labeling, (NIGHT,))

    page = selection_gallery(request, find_corner_cases(request), Shown({}))

    assert "night: 11 frames, 8 shown" in page
    assert "compared with nothing." in page


def test_a_long_quarantine_says_how_many_of_its_files_are_listed():
    frames = [Made(f"{number:064x}", None, error="cannot be decoded") for number in range(201)]
    request = FilterRequest(snapshot(frames), measured(frames), FilterSection())

    assert "201 files, 200 shown" in filter_gallery(request, filter_frames(request), Shown({}))


@pytest.mark.parametrize(
    ("labeled", "words"),
    [(True, "Nothing is left to label"), (False, "the budget pays for no frame, and 1 lack labels of some class")],
)
def test_the_page_of_a_selection_of_nothing_says_why_and_shows_what_was_found(labeled, words):
    made = Made("a", attributes={"time_of_day": "night"}, labeled=labeled)
    request = CornerCaseRequest(snapshot([made]), measured([made]), LabelingSection(budget_frames=0), (NIGHT,))

    page = selection_gallery(request, find_corner_cases(request), Shown({}))

    assert words in page
    assert "1 found, 0 taken" in page
    assert "<svg" not in page


def test_the_page_of_a_selection_shows_what_a_miner_found_with_its_score_and_formula(pixels):
    frames = [Made("a", 0), Made("b", 0xFF)]
    rare = CornerCaseSection(name="new", miner="rare_frames")
    request = CornerCaseRequest(snapshot(frames), measured(frames), LabelingSection(budget_frames=0), (rare,))

    page = selection_gallery(request, find_corner_cases(request), pixels)

    assert "new, by rare_frames" in page
    assert "2 found, 0 taken. Score: distance to the nearest frame of the reference" in page
