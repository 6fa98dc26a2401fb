import hashlib
import io
import random
import time

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from driveflow import tables as columns
from driveflow.images.pixel_digest import pixel_digest
from driveflow.images.signals import measure
from driveflow.neighbours.near_pairs import nearest_pairs
from driveflow.snapshots import SnapshotTables
from ingestion.leak_report import LeakLimits, digests_of, leaks_between, leaks_of_splits
from tests.strategies import frame_row, source_row

LIMITS = LeakLimits(max_bits=2, near_m=10.0, near_s=1.0)
SECOND_NS = 10**9


def _tables(*frames):
    """A snapshot of frames (name, split, what differs in frame and source)."""
    rows, sources = [], []
    for name, split, more in frames:
        group = more.get("drive", f"drive-{name}")
        rows.append(frame_row(name, split=split, drive_group=more.get("group", group)))
        place = {key: value for key, value in more.items() if key != "group"}
        sources.append(source_row(name, **{"path": f"{name}.jpg", "drive": group} | place))
    return SnapshotTables(
        pa.Table.from_pylist(rows, columns.FRAMES),
        pa.Table.from_pylist(sources, columns.SOURCES),
        columns.BOXES.empty_table(),
        ("bus", "car", "person"),
    )


def _signals(**codes):
    rows = [{"frame_id": name, "phash64": code} for name, code in codes.items()]
    return pa.Table.from_pylist(rows, schema=columns.SIGNALS)


def _found(report, kind, other="val"):
    (border,) = [border for border in report.borders if border.other == other]
    (finding,) = [finding for finding in border.findings if finding.kind == kind]
    return finding


def _report(tables, signals=None, digests=None):
    return leaks_of_splits(tables, signals or columns.SIGNALS.empty_table(), LIMITS, digests)


def test_a_snapshot_whose_sides_share_nothing_is_clean():
    report = _report(
        _tables(("a", "train", {}), ("b", "val", {}), ("c", "holdout", {})), _signals(a=0, b=2**40 - 1, c=2**64 - 1)
    )

    assert report.is_clean
    assert [(border.other, border.train_frames, border.other_frames) for border in report.borders] == [
        ("val", 1, 1),
        ("holdout", 1, 1),
    ]


def test_near_duplicates_are_named_with_their_distance_nearest_first():
    tables = _tables(("a", "train", {}), ("b", "train", {}), ("c", "train", {}), ("x", "val", {}))
    finding = _found(_report(tables, _signals(a=0b11, b=0b1, c=0b1111, x=0)), "near_duplicate")

    assert (finding.count, finding.least) == (2, 1.0)
    assert [(pair.train_name, pair.other_name, pair.value) for pair in finding.worst] == [
        ("batch/b.jpg", "batch/x.jpg", 1.0),
        ("batch/a.jpg", "batch/x.jpg", 2.0),
    ]


def test_one_drive_group_on_both_sides_is_a_leak():
    tables = _tables(("a", "train", {"group": "g"}), ("b", "holdout", {"group": "g"}))
    report = _report(tables)

    assert not report.is_clean
    assert _found(report, "drive_group", "holdout").count == 1


def test_frames_without_a_hash_are_counted_as_not_compared():
    report = _report(_tables(("a", "train", {}), ("b", "val", {})), _signals(a=1))

    assert report.borders[0].unmeasured == 1
    assert any("1 frames have no hash" in line for line in report.lines())


def test_between_snapshots_equal_bytes_are_found_and_named_once():
    here, there = _tables(("a", "train", {"drive": "d1"})), _tables(("a", "train", {"drive": "d2"}), ("b", "val", {}))
    report = leaks_between(here, {"old": there}, _signals(a=0, b=0), LIMITS)

    assert _found(report, "bytes", "old").worst[0].train == "a"
    assert _found(report, "near_duplicate", "old").count == 0  # a frame is no near-duplicate of itself


def _encoded(pixels, kind, **more):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **more)
    return stream.getvalue()


def test_equal_pixels_are_found_whatever_they_are_encoded_as():
    pixels = np.random.default_rng(0).integers(0, 255, (64, 96, 3), dtype=np.uint8)
    other = pixels.copy()
    other[0, 0] ^= 1
    data = {"a": _encoded(pixels, "PNG"), "b": _encoded(pixels, "BMP"), "c": _encoded(other, "PNG")}
    tables = _tables(("a", "train", {}), ("c", "train", {}), ("b", "val", {}))
    signals = _signals(**{name: measure(value).phash64 for name, value in data.items()})

    report = _report(tables, signals, digests_of(data.__getitem__))

    finding = _found(report, "pixels")
    assert [(pair.train, pair.other) for pair in finding.worst] == [("a", "b")]
    assert _found(report, "near_duplicate").count == 2


def test_the_digest_of_pixels_is_of_shape_and_mode_too():
    gray = np.zeros((4, 6), np.uint8)

    digests = {
        pixel_digest(_encoded(gray, "PNG")),
        pixel_digest(_encoded(gray.reshape(6, 4), "PNG")),
        pixel_digest(_encoded(np.zeros((4, 6, 3), np.uint8), "PNG")),
    }

    assert len(digests) == 3
    assert pixel_digest(_encoded(gray, "PNG")) == pixel_digest(_encoded(gray, "TIFF"))


def test_ac_b27_the_least_time_between_train_and_val_is_told_for_frames_of_one_drive():
    tables = _tables(
        ("a", "train", {"drive": "d", "captured_ns": 10 * SECOND_NS, "clock": "drive_relative"}),
        ("b", "val", {"drive": "d", "captured_ns": 10 * SECOND_NS + SECOND_NS // 4, "clock": "drive_relative"}),
        ("c", "val", {"drive": "d", "captured_ns": 90 * SECOND_NS, "clock": "drive_relative"}),
        ("e", "val", {"drive": "other", "captured_ns": 10 * SECOND_NS, "clock": "drive_relative"}),
    )
    report = _report(tables)

    finding = _found(report, "seconds_in_drive")
    assert (finding.count, finding.least) == (1, 0.25)
    assert [(pair.train, pair.other, pair.value) for pair in finding.worst] == [("a", "b", 0.25), ("a", "c", 80.0)]
    assert _found(report, "seconds").least is None  # times of one drive say nothing between drives


def test_between_drives_only_clocks_that_give_a_date_are_compared():
    tables = _tables(
        ("a", "train", {"captured_ns": 100 * SECOND_NS, "clock": "utc"}),
        ("b", "val", {"captured_ns": 103 * SECOND_NS, "clock": "utc"}),
        ("c", "val", {"captured_ns": 100 * SECOND_NS, "clock": "none"}),
    )

    finding = _found(_report(tables), "seconds")

    assert [(pair.other, pair.value) for pair in finding.worst] == [("b", 3.0)]


def test_the_least_distance_in_metres_is_that_on_the_earth():
    tables = _tables(
        ("a", "train", {"lat": 48.0, "lon": 11.0}),
        ("b", "val", {"lat": 48.0, "lon": 11.001}),
        ("c", "val", {"lat": -48.0, "lon": -169.0}),
    )
    finding = _found(_report(tables), "metres")

    assert finding.least == pytest.approx(74.4, abs=0.1)
    assert finding.count == 0
    assert finding.worst[1].value == pytest.approx(6_371_008.8 * np.pi, rel=1e-6)  # the other end of the earth


def test_metres_go_over_the_date_line():
    tables = _tables(("a", "train", {"lat": 0.0, "lon": 179.99999}), ("b", "val", {"lat": 0.0, "lon": -179.99999}))

    assert _found(_report(tables), "metres").least == pytest.approx(2.224, abs=0.01)


def test_positions_and_times_that_are_missing_are_no_distance():
    report = _report(_tables(("a", "train", {}), ("b", "val", {"lat": 1.0, "lon": 2.0})))

    assert (_found(report, "metres").least, _found(report, "seconds").least) == (None, None)


def test_the_nearest_of_two_sets_is_that_of_a_plain_search():
    dice = random.Random(1)
    left, right = ([dice.getrandbits(12) for _ in range(60)] for _ in range(2))
    pairs = nearest_pairs(np.array(left, np.uint64), np.array(right, np.uint64), 2)

    plain = {at: min((code ^ other).bit_count() for other in right) for at, code in enumerate(left)}
    assert dict(zip(pairs.left.tolist(), pairs.distance_bits.tolist(), strict=True)) == {
        at: bits for at, bits in plain.items() if bits <= 2
    }


def test_forty_thousand_frames_are_compared_in_seconds():
    dice = np.random.default_rng(3)
    count = 40_000
    ids = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]
    frames = [
        frame_row(name, split="val" if at % 5 == 0 else "train", drive_group=f"g{at}", annotated_classes=[])
        for at, name in enumerate(ids)
    ]
    place = dice.uniform(-0.2, 0.2, (count, 2))
    sources = [
        source_row(
            name,
            drive=f"d{at % 100}",
            lat=48 + place[at, 0],
            lon=11 + place[at, 1],
            captured_ns=at * 10**8,
            clock="utc",
        )
        for at, name in enumerate(ids)
    ]
    tables = SnapshotTables(
        pa.Table.from_pylist(frames, columns.FRAMES),
        pa.Table.from_pylist(sources, columns.SOURCES),
        columns.BOXES.empty_table(),
        (),
    )
    codes = dice.integers(0, 2**63, count, dtype=np.uint64).tolist()
    signals = pa.Table.from_pylist(
        [{"frame_id": i, "phash64": c} for i, c in zip(ids, codes, strict=True)], schema=columns.SIGNALS
    )

    started = time.process_time()
    report = leaks_of_splits(tables, signals, LIMITS)

    assert time.process_time() - started < 20
    assert _found(report, "seconds").least == pytest.approx(0.1)
