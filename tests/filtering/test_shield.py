import random
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from driveflow.flow.miner_section import ShieldSection
from driveflow.flow.sections import (
    CornerCaseSection,
    FilterSection,
    LabelingSection,
    NearDuplicateSection,
    WhereSection,
)
from filtering.corner_cases import CornerCaseRequest, find_corner_cases
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.rare_pixels import rare_by_pixels
from tests.filtering.made import Made, column, measured, snapshot

TAG = CornerCaseSection(name="tagged", where=WhereSection(attributes={"trigger": ("hard_brake",)}), quota_frames=20)
RARE = tuple(f"rare-{number:02d}" for number in range(20))


def drive(count: int = 10_000, **changes) -> list[Made]:
    """A drive at 10 Hz of near-duplicates, among which 20 frames look like nothing else."""
    draw = random.Random(5)
    places = dict(zip(draw.sample(range(1, count), len(RARE)), RARE, strict=True))
    frames = []
    for number in range(count):
        if number in places:
            frames.append(Made(places[number], draw.getrandbits(64), taken_s=number * 0.1, **changes))
        else:
            code = 1 << draw.randrange(64)
            frames.append(Made(f"near-{number:05d}", code, taken_s=number * 0.1))
    return frames


def thinned(frames: list[Made], *cases: CornerCaseSection, shield: ShieldSection = ShieldSection()) -> FilterOutcome:  # noqa: B008
    section = NearDuplicateSection(min_gap_s=60.0)
    return filter_frames(
        FilterRequest(snapshot(frames), measured(frames), FilterSection(near_duplicates=section, shield=shield), cases)
    )


def kept(outcome: FilterOutcome) -> set[str]:
    return set(outcome.kept_tables.frames["frame_id"].to_pylist())


def test_twenty_rare_frames_among_ten_thousand_near_duplicates_all_survive_tagged():
    off = ShieldSection(enabled=False)
    started_s = time.process_time()

    outcome = thinned(drive(attributes={"trigger": "hard_brake"}), TAG, shield=off)

    assert kept(outcome) >= set(RARE)
    assert outcome.counts["kept"] < 200
    assert time.process_time() - started_s < 20


def test_twenty_rare_frames_among_ten_thousand_near_duplicates_all_survive_untagged():
    outcome = thinned(drive())

    assert kept(outcome) >= set(RARE)
    assert outcome.counts["kept"] < 200
    assert set(column(outcome.decisions, "reason", RARE)) == {"rare_by_pixels"}


@pytest.mark.parametrize("cases", [(TAG,), ()], ids=["tagged", "untagged"])
def test_with_default_settings_all_twenty_survive_and_are_within_the_budget(cases):
    frames = drive(attributes={"trigger": "hard_brake"} if cases else {})
    built, signals = snapshot(frames), measured(frames)

    outcome = filter_frames(FilterRequest(built, signals, FilterSection(), cases))
    selection = find_corner_cases(CornerCaseRequest(outcome.kept_tables, signals, LabelingSection(), cases))

    assert kept(outcome) >= set(RARE)
    assert set(selection.table["frame_id"].to_pylist()) >= set(RARE)
    assert selection.counts["selected"] <= LabelingSection().budget_frames


@pytest.mark.parametrize("gap", [{"min_gap_s": 60.0}, {"min_gap_m": 500.0, "standstill_s": 3_600.0}])
def test_rare_frames_survive_floors_in_seconds_and_in_metres(gap):
    frames = [replace(made, lat=48.0 + number * 1e-6) for number, made in enumerate(drive(2_000))]
    section = FilterSection(near_duplicates=NearDuplicateSection(**gap))

    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames), section))

    assert kept(outcome) >= set(RARE)
    assert outcome.counts["kept"] < 100


def test_rare_frames_that_arrive_in_two_batches_survive_up_to_one_quota():
    frames = [replace(made, drive=f"batch {number % 2}") for number, made in enumerate(drive(2_000))]
    section = FilterSection(near_duplicates=NearDuplicateSection(min_gap_s=60.0), shield=ShieldSection(quota_frames=12))
    request = FilterRequest(snapshot(frames), measured(frames), section, arrival=("batch 0", "batch 1"))

    outcome = filter_frames(request)

    assert column(outcome.decisions, "reason", RARE).count("rare_by_pixels") == 12


def test_without_the_shield_the_floor_takes_them():
    assert not kept(thinned(drive(2_000), shield=ShieldSection(enabled=False))) >= set(RARE)


def test_the_quota_bounds_what_is_spared_and_the_farthest_are():
    codes = np.array([0, 0xFFFF, 0xFFFF_FFFF_0000, *[0xFF00_0000_0000_0000] * 9], np.uint64)
    ids = pa.array([f"f{number:02d}" for number in range(12)])

    found = rare_by_pixels(ids, codes, ShieldSection(min_bits=16, quota_frames=1))

    assert found == {"f02": 32}


@pytest.mark.parametrize(("bits", "spared"), [(15, 0), (16, 1), (17, 1)])
def test_a_frame_is_rare_from_the_least_distance_on(bits, spared):
    codes = np.array([*[0] * 9, 2**bits - 1], np.uint64)

    found = rare_by_pixels(pa.array([f"f{number}" for number in range(10)]), codes, ShieldSection())

    assert len(found) == spared


def test_one_frame_of_a_rare_moment_is_spared_and_none_of_a_scene():
    codes = np.array([*[0] * 9, *[0xFFFF_FFFF] * 8], np.uint64)

    found = rare_by_pixels(pa.array([f"f{number:02d}" for number in range(17)]), codes, ShieldSection())

    assert found == {"f09": 32}


def test_what_is_rare_depends_on_no_order():
    draw = random.Random(2)
    codes = [draw.getrandbits(64) for _ in range(60)]
    names = [f"f{number:02d}" for number in range(60)]
    mixed = draw.sample(range(60), 60)
    section = ShieldSection(quota_frames=7)

    one = rare_by_pixels(pa.array(names), np.array(codes, np.uint64), section)
    other = rare_by_pixels(
        pa.array([names[at] for at in mixed]), np.array([codes[at] for at in mixed], np.uint64), section
    )

    assert one == other
    assert len(one) == 7


def test_a_single_frame_and_none_are_right():
    assert rare_by_pixels(pa.array([], pa.string()), np.zeros(0, np.uint64), ShieldSection()) == {}
    assert rare_by_pixels(pa.array(["a"]), np.zeros(1, np.uint64), ShieldSection()) == {"a": 16}


def test_thinning_by_hash_alone_needs_no_shield():
    frames = drive(200)
    section = FilterSection(near_duplicates=NearDuplicateSection())

    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames), section))

    assert kept(outcome) >= set(RARE)
    assert "rare_by_pixels" not in set(outcome.decisions["reason"].to_pylist())
