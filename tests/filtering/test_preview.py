import json
import re
from dataclasses import replace

import pytest

from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.preview import Price, preview
from filtering.preview_page import preview_page
from filtering.sweeps import sweeps
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.filtering.made import Made, measured, snapshot
from tests.filtering.test_gallery import Shown


def walk(count=60):
    """A slow drive whose hash moves two bits a frame."""
    code, frames = 0, []
    for at in range(count):
        code ^= 0b11 << (2 * (at % 31))
        frames.append(Made(f"{at:03}", code, taken_s=at * 0.1, signals={"sharpness": 1.0 if at < 6 else 300.0}))
    return frames


def request_of(frames, filters=None):
    return FilterRequest(snapshot(frames), measured(frames), filters or FilterSection())


@pytest.fixture(scope="module")
def seen():
    return preview(request_of(walk()), all_frames=600, price=Price(0.5, "EUR"))


def test_a_sweep_says_at_each_limit_what_a_run_with_that_limit_keeps(seen):
    sweep = next(item for item in seen.sweeps if item.setting == "same_drive_max_bits")

    for point in sweep.points[::4]:
        tried = replace(FilterSection(), near_duplicates=NearDuplicateSection(same_drive_max_bits=int(point.limit)))
        assert filter_frames(request_of(walk(), tried)).counts["kept"] == point.kept
    assert [point.limit for point in sweep.points] == list(range(17))
    assert sweep.now == 4


def test_a_wider_limit_of_one_setting_never_keeps_a_frame_more_on_a_slow_walk(seen):
    kept = [point.kept for point in next(item for item in seen.sweeps).points]

    assert kept == sorted(kept, reverse=True)


def test_settings_that_cannot_matter_are_not_swept():
    still = [replace(made, taken_s=None) for made in walk(9)]

    assert [item.setting for item in sweeps(request_of(still))] == ["same_drive_max_bits"]
    off = FilterSection(near_duplicates=NearDuplicateSection(enabled=False))
    assert sweeps(request_of(still, off)) == ()


def test_each_limit_says_what_it_drops_and_which_limit_would_drop_a_share(seen):
    blur = next(item for item in seen.limits if item.judged.item.rule == "blur.dead")

    assert blur.dropped == blur.judged.beyond == 6
    assert dict(blur.limits)[0.1] == 1.0
    assert dict(blur.limits)[0.25] == 300.0
    assert blur.curve == ((1.0, 0.1), (300.0, 1.0))


def test_what_is_saved_goes_for_all_training_frames_and_in_money(seen):
    told = json.loads(json.dumps(seen.to_json()))

    assert told["frames"] == {"training": 600, "looked_at": 60}
    assert told["saves"]["frames"] == told["would_be"]["dropped"]
    assert told["saves"]["of_all_frames"] == 10 * told["saves"]["frames"]
    assert told["saves"]["money"] == 5 * told["saves"]["frames"]
    assert told["saves"]["currency"] == "EUR"


def test_without_a_price_nothing_is_said_of_money():
    assert preview(request_of(walk(3)), 3, Price()).to_json()["saves"]["money"] is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_frames_have_a_preview_and_a_page(count):
    found = preview(request_of(walk(count)), count, Price(1.0))

    assert found.to_json()["frames"]["looked_at"] == count
    assert "What the filters would do" in preview_page(found, Shown({}))


def test_the_page_shows_curves_and_needs_nothing_beside_itself(seen):
    page = preview_page(seen, Shown({}))

    assert page.count("<svg") >= 9
    assert "money saved" in page
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)


def test_hostile_names_stay_where_they_are():
    frames = [replace(made, drive=name) for made, name in zip(walk(len(STORABLE_NAMES)), STORABLE_NAMES, strict=True)]
    page = preview_page(preview(request_of(frames), 9, Price(1, STORABLE_NAMES[0])), Shown({}))

    assert "<script>window" not in page
    assert "<img src=x" not in page
