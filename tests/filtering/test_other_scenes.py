"""Limits that are relative to a population judge no frame that shows another scene than all of it."""

import random
from dataclasses import replace

import pytest

from driveflow.flow.miner_section import ShieldSection
from driveflow.flow.sections import FilterSection
from filtering.filter_frames import FilterRequest, filter_frames
from tests.filtering.made import NORMAL, Made, measured, snapshot

BRIGHT = {"brightness": 220.0, "bright_share": 0.4}
SWAPPED = {"red_blue_grid": bytes([138] * 8 + [128] * 16 + [122] * 8)}
BLURRED = {"edge_ratio": 0.7}
UNLIKE = {"over_exposed": BRIGHT, "swapped_channels": SWAPPED, "blur": BLURRED}
COLOURFUL = {"red_blue_grid": bytes([108] * 8 + [128] * 16 + [144] * 8)}


def parked(count=400):
    """A car that stands for a while: codes that differ in a bit or two."""
    draw = random.Random(3)
    return [Made(f"near-{number:03d}", 1 << draw.randrange(64), taken_s=number, signals=COLOURFUL)
            for number in range(count)]  # fmt: skip


def others(code, **signals):
    draw = random.Random(8)
    return [
        Made(f"rare-{number:02d}", draw.getrandbits(64) if code is None else code << number, taken_s=1000.0 + number,
             signals=signals)
        for number in range(20)
    ]  # fmt: skip


def reasons(frames, **changes):
    section = replace(FilterSection(), **changes)
    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames), section))
    rows = outcome.decisions.select(["frame_id", "reason", "verdict"]).to_pylist()
    return {row["frame_id"]: row["reason"] for row in rows if row["frame_id"].startswith("rare")}


@pytest.mark.parametrize("defect", UNLIKE)
def test_twenty_frames_of_other_scenes_survive_the_limits_of_a_drive_that_stands(defect):
    frames = [*parked(), *others(None, **UNLIKE[defect])]

    assert set(reasons(frames, shield=ShieldSection(enabled=False)).values()) == {defect}
    assert set(reasons(frames).values()) == {"kept"}


@pytest.mark.parametrize("defect", UNLIKE)
def test_a_defect_whose_scene_is_that_of_the_drive_is_dropped(defect):
    frames = [*parked(), *others(3, **UNLIKE[defect])]

    assert set(reasons(frames).values()) == {defect}


@pytest.mark.parametrize("defect", UNLIKE)
def test_where_all_frames_are_far_from_each_other_limits_judge_all(defect):
    draw = random.Random(4)
    apart = [replace(made, code=draw.getrandbits(64)) for made in parked()]

    assert set(reasons([*apart, *others(None, **UNLIKE[defect])]).values()) == {defect}


def test_what_hides_the_scene_is_no_other_scene():
    frames = [*parked(), *others(None, tail_share=0.1)]

    assert set(reasons(frames).values()) == {"truncated_tail"}


def test_other_scenes_are_the_same_in_any_order_of_frames():
    frames = [*parked(), *others(None, **BRIGHT), *others(3, **SWAPPED)]
    frames = list({made.name: made for made in frames}.values())
    random.Random(1).shuffle(frames)

    assert reasons(frames) == reasons(sorted(frames, key=lambda made: made.name))


def test_the_usual_look_is_no_defect():
    assert set(reasons([*parked(), *others(None, **NORMAL | COLOURFUL)]).values()) == {"kept"}
