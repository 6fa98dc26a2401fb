"""The acceptance cases of duplicates, each a claim that users of other tools saw broken."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from driveflow import tables
from driveflow.by_hand import ByHand
from driveflow.flow.sections import FilterSection
from driveflow.signal_store import SignalStore
from driveflow.snapshots import Beside, SnapshotTables, open_snapshot, write_snapshot
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.fingerprint import fingerprint_frames
from filtering.gallery import filter_gallery
from filtering.verify import Evidence, verify_decisions
from tests.driveflow.images.made import encode
from tests.filtering.made import Held, Made, column, measured, snapshot

FILTERS = FilterSection()


def named(pictures: list[bytes]) -> tuple[SnapshotTables, Held]:
    """Pictures as frames of one drive, in the order of their paths, under the digests of their bytes."""
    ids = [hashlib.sha256(data).hexdigest() for data in pictures]
    frames = [Made(name, path=f"{number:03d}") for number, name in enumerate(ids)]
    return snapshot(frames), Held(dict(zip(ids, pictures, strict=True)))


def run(pictures: list[bytes], tmp_path) -> tuple[FilterOutcome, pa.Table, FilterRequest]:
    """Measure, filter and check pictures."""
    built, pixels = named(pictures)
    signals = fingerprint_frames(built.frames["frame_id"], pixels, SignalStore(tmp_path.as_uri())).signals
    request = FilterRequest(built, signals, FILTERS, pixels=pixels)
    outcome = filter_frames(request)
    assert verify_decisions(outcome.decisions, Evidence(signals, built.sources, FILTERS, pixels)).sound
    return outcome, signals, request


def pictures(count: int) -> list[bytes]:
    return [picture(seed) for seed in range(count)]


def picture(seed: int, **options: object) -> bytes:
    """A picture of coarse patches, unlike that of any other seed."""
    patches = np.random.default_rng(seed).integers(0, 255, (7, 11, 3), dtype=np.uint8)
    return encode(np.asarray(Image.fromarray(patches).resize((320, 180), Image.Resampling.NEAREST)), **options)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_ac_a4_after_a_bad_file_every_twin_is_still_the_right_picture(tmp_path, place):
    good = [*pictures(2), picture(0, quality=60)]
    broken = good[0][:100]

    outcome, _, _ = run([*good[:place], broken, *good[place:]], tmp_path)

    ids = [hashlib.sha256(data).hexdigest() for data in (*good, broken)]
    assert column(outcome.decisions, "verdict", ids) == ["kept", "kept", "dropped", "quarantined"]
    assert column(outcome.decisions, "twin", ids)[2] == ids[0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_ac_a6_few_pictures_give_a_valid_result_and_a_page(tmp_path, count):
    outcome, _, request = run(pictures(count), tmp_path)

    assert outcome.counts["kept"] == count
    assert "What the filters decided" in filter_gallery(request, outcome, named(pictures(count))[1])


def test_ac_a9_a_truncated_picture_costs_no_other(tmp_path):
    good = pictures(4)

    outcome, _, _ = run([*good, good[1][:100]], tmp_path)

    assert (outcome.counts["kept"], outcome.counts["quarantined"]) == (4, 1)
    assert outcome.quarantine["path"].to_pylist() == ["front/004.jpg"]


def test_ac_a10_every_file_is_kept_dropped_or_quarantined(tmp_path):
    good = [*pictures(3), picture(0, quality=60)]

    outcome, _, request = run([*good, good[2][:100]], tmp_path)

    verdicts = {name: outcome.counts[name] for name in tables.VERDICTS}
    assert verdicts == {"kept": 3, "dropped": 1, "quarantined": 1}
    assert outcome.decisions["frame_id"].to_pylist() == request.tables.frames["frame_id"].to_pylist()


@pytest.mark.parametrize("count", [1, 40])
def test_pictures_that_are_all_broken_are_all_quarantined(tmp_path, count):
    outcome, _, _ = run([f"no picture {number}".encode() for number in range(count)], tmp_path)

    assert outcome.counts["quarantined"] == outcome.quarantine.num_rows == count


def test_ac_a17_a_drop_deletes_nothing_and_is_undone(tmp_path):
    frames = [Made("a", taken_s=1), Made("b", taken_s=2)]
    built, signals = snapshot(frames), measured(frames)
    store = tmp_path.as_uri()
    before = write_snapshot(store, built, Beside(), {"step": "merge_batches"})

    outcome = filter_frames(FilterRequest(built, signals, FILTERS))
    write_snapshot(store, outcome.kept_tables, Beside(decisions=outcome.decisions), {"step": "filter_frames"})
    undone = filter_frames(FilterRequest(built, signals, FILTERS, by_hand=ByHand(kept=frozenset({"b"}))))

    assert outcome.counts["dropped"] == 1
    assert open_snapshot(before.uri).tables() == before.tables()
    assert column(undone.decisions, "verdict", ["b"]) == ["kept"]
