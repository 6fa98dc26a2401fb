"""What the filters decide on real drives."""

import csv

import pytest

from driveflow.flow.sections import FilterSection
from driveflow.images.signals import measure
from driveflow.signal_store import SignalStore
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.fingerprint import fingerprint_frames
from filtering.verify import Evidence, VerifyReport, verify_decisions
from tests.filtering.made import Held, Made, measured, sequences, snapshot
from tests.shared_data import shared_data


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SignalStore:
    return SignalStore(tmp_path_factory.mktemp("signals").as_uri())


def run(store: SignalStore, *names: str) -> tuple[FilterOutcome, VerifyReport]:
    built, pixels = sequences(*names)
    signals = fingerprint_frames(built.frames["frame_id"], pixels, store).signals
    outcome = filter_frames(FilterRequest(built, signals, FilterSection()))
    return outcome, verify_decisions(outcome.decisions, Evidence(signals, built.sources, FilterSection()))


def test_two_overlapping_cuts_of_one_drive_keep_a_quarter_to_a_half_and_no_orphan(store):
    outcome, report = run(store, "seq_udacity_shadow", "seq_udacity_overlap")

    assert outcome.counts["frames_in"] == 179
    assert 0.25 <= outcome.counts["kept"] / 179 <= 0.5
    assert report.sound
    assert report.pairs == outcome.counts["dropped_near_duplicate"] == outcome.counts["dropped"]


@pytest.mark.parametrize("name", ["seq_udacity_solidwhite", "seq_intel_cars"])
def test_a_real_drive_leaves_no_orphan_and_loses_nothing_to_blur_or_light(store, name):
    outcome, report = run(store, name)

    assert report.sound
    assert outcome.counts["dropped"] == outcome.counts["dropped_near_duplicate"]
    assert outcome.counts["kept"] >= 0.1 * outcome.counts["frames_in"]


@pytest.mark.parametrize("beside", [(), ("seq_udacity_solidwhite", "seq_udacity_shadow", "seq_intel_cars")])
def test_ac_a8_a_night_drive_loses_under_one_percent_to_exposure(store, beside):
    outcome, _ = run(store, "seq_night_driveway", *beside)

    lost = [
        outcome.counts.get(f"dropped_{reason}", 0)
        for reason in ("under_exposed", "over_exposed", "no_contrast", "blur")
    ]
    assert sum(lost) < 0.01 * 136


def test_pictures_that_only_look_alike_are_no_duplicates_at_the_default_limits():
    folder = shared_data("dedup_derived")
    pairs = list(csv.DictReader((folder / "hard_pairs.csv").read_text().splitlines()))
    frames = [
        Made(name, measure((folder / "images" / name).read_bytes()).phash64, drive=f"pair {number}")
        for number, pair in enumerate(pairs)
        for name in (pair["a"], pair["b"])
    ]

    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames), FilterSection()))

    assert outcome.counts["dropped"] == 0


def test_every_pair_of_copies_is_found_whatever_cameras_took_them():
    folder = shared_data("dedup_derived")
    rows = csv.DictReader((folder / "pairs.csv").read_text().splitlines())
    pairs = [(row["base"], row["variant"]) for row in rows if row["relation"] == "same_pixels"]
    names = sorted({name for pair in pairs for name in pair})
    data = {name: (folder / "images" / name).read_bytes() for name in names}
    frames = [Made(name, measure(data[name]).phash64, drive=name, camera=name) for name in names]

    outcome = filter_frames(FilterRequest(snapshot(frames), measured(frames), FilterSection(), pixels=Held(data)))

    rows = outcome.decisions.to_pylist()
    leader = {row["frame_id"]: row["twin"] or row["frame_id"] for row in rows}
    assert len(pairs) == 20
    assert all(leader[base] == leader[variant] for base, variant in pairs)
    assert {row["reason"] for row in rows} == {"kept", "exact_duplicate"}
