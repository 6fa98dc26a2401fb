import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.by_hand import ByHand
from driveflow.flow.sections import (
    BlurSection,
    CornerCaseSection,
    ExposureSection,
    FilterSection,
    NearDuplicateSection,
    WhereSection,
)
from driveflow.snapshots import SnapshotTables
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from tests.filtering.made import FAR, Made, column, measured, snapshot

ALONE = FilterSection(near_duplicates=NearDuplicateSection(enabled=False))
NIGHT = CornerCaseSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}), quota_frames=2)


def filtered(frames: list[Made], filters: FilterSection = FilterSection(), *cases: CornerCaseSection) -> FilterOutcome:  # noqa: B008
    return filter_frames(FilterRequest(snapshot(frames), measured(frames), filters, cases))


def verdicts(outcome: FilterOutcome) -> dict[str, str]:
    rows = outcome.decisions.to_pylist()
    return {row["frame_id"]: row["verdict"] if row["verdict"] == "kept" else row["reason"] for row in rows}


def crowd(count: int = 60, **signals: float) -> list[Made]:
    """Normal frames of one drive, each far from the others by hash."""
    codes = random.Random(1).sample(range(2**62), count)
    return [Made(f"normal-{number:03d}", codes[number], signals=signals) for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_frames_give_a_valid_result(count):
    outcome = filtered([Made(f"f{number}", number * 0xFFFF) for number in range(count)])

    assert outcome.counts["frames_in"] == outcome.counts["kept"] == outcome.kept_tables.frames.num_rows == count


@pytest.mark.parametrize("place", [0, 2, 4])
def test_an_unreadable_frame_is_quarantined_by_name_and_costs_no_other(place):
    frames = [Made(f"f{number}", FAR[number]) for number in range(4)]
    frames.insert(place, Made("broken", None, error="cannot be decoded: cut"))

    outcome = filtered(frames)

    assert verdicts(outcome) == {**{f"f{number}": "kept" for number in range(4)}, "broken": "unreadable"}
    assert outcome.quarantine.to_pylist()[0] | {"byte_count": 0} == {
        "batch": "drive",
        "path": "front/broken.jpg",
        "reason": "unreadable",
        "detail": "cannot be decoded: cut",
        "byte_count": 0,
        "line": None,
    }


def test_a_frame_that_nobody_measured_is_quarantined():
    frames = [Made("a"), Made("b", 0xFFFF)]

    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames[:1]), FilterSection()))

    assert verdicts(outcome) == {"a": "kept", "b": "unreadable"}


@pytest.mark.parametrize("split", ["val", "holdout"])
def test_frames_that_judge_are_never_thinned_and_thin_no_other(split):
    black = {"dark_share": 1.0, "contrast": 0.0, "sharpness": 0.0}
    frames = [
        Made("a", split=split),
        Made("b", split=split),
        Made("c", split=split, signals=black),
        Made("d", drive="other"),
    ]

    outcome = filtered(frames)

    assert set(verdicts(outcome).values()) == {"kept"}
    assert column(outcome.decisions, "reason", ["a", "d"]) == [split, "kept"]


@pytest.mark.parametrize(
    ("signals", "verdict"),
    [
        ({"contrast": 1.99}, "no_contrast"),
        ({"contrast": 2.0}, "kept"),
        ({"dark_share": 0.995}, "under_exposed"),
        ({"dark_share": 0.9949}, "kept"),
        ({"bright_share": 0.98}, "over_exposed"),
        ({"bright_share": 0.9799}, "kept"),
        ({"sharpness": 3.99}, "blur"),
        ({"sharpness": 4.0}, "kept"),
    ],
)
def test_dead_limits_hold_in_a_population_of_one(signals, verdict):
    assert verdicts(filtered([Made("a", signals=signals)])) == {"a": verdict}


@pytest.mark.parametrize(("count", "verdict"), [(48, "kept"), (49, "blur")])
def test_relative_limits_hold_from_a_population_of_50_on(count, verdict):
    frames = [*crowd(count), Made("soft", 1, signals={"edge_ratio": 0.7})]

    assert verdicts(filtered(frames))["soft"] == verdict


@pytest.mark.parametrize(
    ("signals", "verdict"),
    [
        ({"brightness": 40.0}, "kept"),  # a dark truck in front of the camera: dark, but not flat
        ({"brightness": 40.0, "contrast": 60.0}, "kept"),
        ({"brightness": 40.0, "contrast": 20.0}, "under_exposed"),
        ({"brightness": 70.0, "contrast": 25.0}, "kept"),  # six floors of deviation, not more
        ({"brightness": 69.0, "contrast": 24.0}, "under_exposed"),
        ({"brightness": 160.0}, "kept"),  # bright, but nothing burnt out
        ({"brightness": 160.0, "bright_share": 0.3}, "over_exposed"),
    ],
)
def test_exposure_is_judged_by_population_and_by_what_was_lost(signals, verdict):
    assert verdicts(filtered([*crowd(), Made("odd", 1, signals=signals)], ALONE))["odd"] == verdict


def test_a_night_drive_is_no_outlier_among_days():
    dark = {"brightness": 12.0, "contrast": 9.0, "dark_share": 0.8, "sharpness": 15.0}
    night = [Made(f"night-{number}", number, drive="night", signals=dark) for number in range(60)]

    outcome = filtered([*crowd(200), *night], ALONE)

    assert outcome.counts["dropped"] == 0


def test_tagged_night_frames_are_a_population_of_their_own():
    dark = {"brightness": 12.0, "contrast": 9.0, "dark_share": 0.8, "sharpness": 15.0}
    tagged = {"time_of_day": "night"}
    night = [Made(f"night-{number}", number, signals=dark, attributes=tagged) for number in range(60)]

    assert filtered([*crowd(200), *night], ALONE).counts["dropped"] == 0


def test_cameras_are_populations_of_their_own():
    soft = [Made(f"rear-{number}", number, camera="rear", signals={"edge_ratio": 0.7}) for number in range(60)]

    assert filtered([*crowd(200), *soft], ALONE).counts["dropped"] == 0


def test_a_corner_case_survives_every_thinning_up_to_its_quota():
    night = {"time_of_day": "night"}
    frames = [Made(f"night-{number}", 5, taken_s=number, attributes=night) for number in range(6)]

    outcome = filtered(frames, FilterSection(), NIGHT)

    assert outcome.counts["kept"] == 2
    assert column(outcome.decisions, "reason").count("corner_case") == 2


def test_a_shielded_frame_survives_relative_limits_but_no_dead_one():
    tagged = {"weather": "fog"}
    fog = CornerCaseSection(name="fog", where=WhereSection(attributes={"weather": ("fog",)}))
    frames = [
        *crowd(),
        Made("soft", 1, attributes=tagged, signals={"edge_ratio": 0.7}),
        Made("dead", 2, attributes=tagged, signals={"sharpness": 1.0}),
    ]

    found = verdicts(filtered(frames, FilterSection(), fog))

    assert (found["soft"], found["dead"]) == ("kept", "blur")
    assert verdicts(filtered(frames))["soft"] == "blur"


def test_twenty_rare_frames_among_ten_thousand_near_duplicates_all_survive():
    tagged = {"weather": "snow"}
    rare = CornerCaseSection(name="snow", where=WhereSection(attributes={"weather": ("snow",)}))
    frames = [
        Made(f"f{number:05d}", 5, taken_s=number, attributes=tagged if number % 500 == 7 else {})
        for number in range(10_000)
    ]

    outcome = filtered(frames, FilterSection(), rare)

    kept = set(outcome.kept_tables.frames["frame_id"].to_pylist())
    assert {made.name for made in frames if made.attributes} <= kept
    assert len(kept) == 20


def test_one_drive_of_a_hundred_thousand_equal_hashes_is_one_frame_and_quick():
    count = 100_000
    one = [Made("f", taken_s=0.0, drive="monday")]
    names = pa.array([f"f{number:06d}" for number in range(count)])
    copies = pa.array(np.zeros(count, np.int64))

    def repeated(table: pa.Table, **values: pa.Array) -> pa.Table:
        many = table.take(copies).set_column(table.column_names.index("frame_id"), "frame_id", names)
        for name, value in values.items():
            many = many.set_column(many.column_names.index(name), name, value)
        return many

    built = snapshot(one)
    batch = pa.array(["monday"] * (count // 2) + ["tuesday"] * (count // 2))
    times = pa.array(np.arange(count) * 100_000_000)
    sources = repeated(built.sources, path=names, batch=batch, captured_ns=times)
    tables = SnapshotTables(repeated(built.frames), sources, built.boxes, built.classes)
    prints = pa.array(np.arange(count), pa.uint64())
    began = time.process_time()

    signals = repeated(measured(one), thumbnail_print=prints)
    outcome = filter_frames(FilterRequest(tables, signals, FilterSection(), arrival=("monday", "tuesday")))

    assert outcome.kept_tables.frames["frame_id"].to_pylist() == ["f000000"]
    assert set(outcome.decisions["twin"].drop_null().to_pylist()) == {"f000000"}
    assert time.process_time() - began < 30


def test_disabled_filters_drop_nothing():
    off = FilterSection(
        near_duplicates=NearDuplicateSection(enabled=False),
        blur=BlurSection(enabled=False),
        exposure=ExposureSection(enabled=False),
    )
    frames = [Made("a", signals={"contrast": 0.0, "sharpness": 0.0, "dark_share": 1.0}), Made("b")]

    assert filtered(frames, off).counts["kept"] == 2


def test_the_kept_snapshot_holds_exactly_the_kept_frames():
    frames = [Made("a", taken_s=1), Made("b", taken_s=2), Made("c", 0xFFFF, taken_s=3)]

    outcome = filtered(frames)

    assert outcome.kept_tables.frames["frame_id"].to_pylist() == ["a", "c"]
    assert outcome.kept_tables.sources["frame_id"].to_pylist() == ["a", "c"]


def test_a_pair_that_a_person_marked_as_no_duplicate_stays():
    frames = [Made("a", taken_s=1), Made("b", taken_s=2)]
    request = FilterRequest(
        snapshot(frames), measured(frames), FilterSection(), by_hand=ByHand(not_duplicates=(("a", "b"),))
    )

    assert filter_frames(request).counts["kept"] == 2


frames_strategy = st.lists(
    st.builds(
        Made,
        name=st.integers(0, 400).map(lambda number: f"f{number:03d}"),
        code=st.integers(0, 2**8 - 1),
        drive=st.sampled_from(["one", "two"]),
        taken_s=st.none() | st.integers(0, 30).map(float),
        split=st.sampled_from(["train", "train", "val", "holdout"]),
        labeled=st.booleans(),
        attributes=st.sampled_from([{}, {"time_of_day": "night"}]),
        signals=st.sampled_from([{}, {"sharpness": 1.0}, {"contrast": 0.0}, {"dark_share": 1.0}]),
        error=st.sampled_from([None, None, None, "cut"]),
    ),
    max_size=20,
    unique_by=lambda made: made.name,
)


@settings(max_examples=60)
@given(frames=frames_strategy, seed=st.integers(0, 99))
def test_every_frame_leaves_with_one_verdict_for_any_order(frames, seed):
    outcome = filtered(frames, FilterSection(), NIGHT)
    other = filtered(random.Random(seed).sample(frames, len(frames)), FilterSection(), NIGHT)

    assert outcome.decisions["frame_id"].to_pylist() == sorted(made.name for made in frames)
    assert outcome.counts["kept"] + outcome.counts["dropped"] + outcome.counts["quarantined"] == len(frames)
    assert outcome.kept_tables.frames.num_rows == outcome.counts["kept"]
    assert other.decisions.equals(outcome.decisions)
    assert pc.all(pc.is_valid(outcome.decisions["reason"])).as_py() in {True, None}
