"""Which share of each defect is found, in real drives and beside clean pictures."""

import csv
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from driveflow.canonical import digest_bytes
from driveflow.flow.defect_sections import LowContrastSection, SoiledLensSection
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from driveflow.images.decode import decode_rgb
from driveflow.signal_store import SignalStore
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.fingerprint import fingerprint_frames
from tests.driveflow.images.made import encode
from tests.filtering.made import NORMAL, Held, Made, measured, sequences, snapshot
from tests.shared_data import shared_data

ALONE = replace(FilterSection(), near_duplicates=NearDuplicateSection(enabled=False))
OPTIONAL = replace(ALONE, low_contrast=LowContrastSection(enabled=True), soiled_lens=SoiledLensSection(enabled=True))
FLOORS = {
    "black": 1.0,
    "green": 1.0,
    "half_missing": 1.0,
    "defocus": 1.0,
    "motion_blur": 0.8,
    "dark": 0.8,
    "over_exposed": 0.8,
    "low_contrast": 0.8,
    "dirty_lens": 0.0,
    "heavy_noise": 0.0,
    "sun_flare": 0.0,
    "fog": 0.0,
    "rain_streaks": 0.0,
}
"""The share of `quality_derived` that is found at least; 0: a frame by itself does not tell, and nothing judges it."""
ALWAYS_KEPT = ["clean", "fog", "heavy_noise", "sun_flare", "rain_streaks"]
SEQUENCES = [
    "seq_udacity_shadow",
    "seq_udacity_overlap",
    "seq_udacity_solidwhite",
    "seq_intel_cars",
    "seq_night_driveway",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SignalStore:
    return SignalStore(tmp_path_factory.mktemp("signals").as_uri())


def reasons(frames: list[Made], signals: pa.Table, section: FilterSection) -> dict[str, str]:
    decisions = filter_frames(FilterRequest(snapshot(frames), signals, section)).decisions
    return dict(zip(decisions["frame_id"].to_pylist(), decisions["reason"].to_pylist(), strict=True))


def judged(store: SignalStore, pictures: dict[str, list[bytes]], section: FilterSection) -> dict[bytes, str]:
    """The reasons of pictures, each camera's in the order of its one drive."""
    data = {digest_bytes(item): item for items in pictures.values() for item in items}
    frames = [
        Made(digest_bytes(item), drive=name, camera=name, taken_s=at / 10)
        for name, items in pictures.items()
        for at, item in enumerate(items)
    ]
    distinct = list({made.name: made for made in frames}.values())
    signals = fingerprint_frames(list(data), Held(data), store).signals
    found = reasons(distinct, signals, section)
    return {item: found[name] for name, item in data.items()}


@cache
def drive(name: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((shared_data(name) / "frames").iterdir()))


@cache
def phones() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(shared_data("det_modes_of_transport").rglob("*.jpg")))


@cache
def quality() -> tuple[tuple[str, str, bytes], ...]:
    """Defect, camera and bytes: each picture beside those of the camera that took its clean one."""
    folder = shared_data("quality_derived")
    cameras = {"q00": "shadow", "q01": "solidwhite", "q02": "bicycle", "q03": "phones", "q04": "phones"}
    rows = csv.DictReader((folder / "labels.csv").read_text().splitlines())
    return tuple(
        (row["defect"], cameras[row["file"][:3]], (folder / "images" / row["file"]).read_bytes()) for row in rows
    )


def recall(store: SignalStore, section: FilterSection) -> dict[str, float]:
    """The share of each defect that is dropped where one defect at a time is planted among clean pictures."""
    clean = {
        "shadow": list(drive("seq_udacity_shadow")),
        "solidwhite": list(drive("seq_udacity_solidwhite")),
        "phones": list(phones()),
        "bicycle": [],
    }
    found = {}
    for defect in dict.fromkeys(name for name, _, _ in quality()):
        planted = [(camera, data) for name, camera, data in quality() if name == defect]
        pictures = {
            camera: [*items, *(data for other, data in planted if other == camera)] for camera, items in clean.items()
        }
        verdicts = judged(store, pictures, section)
        found[defect] = float(np.mean([verdicts[data] != "kept" for _, data in planted]))
    return found


def test_each_defect_is_found_at_least_as_often_as_is_said_and_clean_pictures_stay(store):
    found = recall(store, OPTIONAL)

    assert {name: share for name, share in found.items() if name in FLOORS and share < FLOORS[name]} == {}
    assert {name: found[name] for name in ALWAYS_KEPT} == dict.fromkeys(ALWAYS_KEPT, 0.0)


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_real_drive_loses_nothing_to_any_defect(store, name):
    verdicts = judged(store, {name: list(drive(name))}, OPTIONAL)

    assert Counter(verdicts.values()) == {"kept": len(verdicts)}


@pytest.mark.parametrize("name", ["stills_udacity", "stills_opencv"])
def test_stills_lose_nothing_to_any_defect(store, name):
    suffixes = {".jpg", ".png"}
    pictures = [path.read_bytes() for path in sorted(shared_data(name).rglob("*")) if path.suffix in suffixes]

    assert set(judged(store, {"stills": pictures}, OPTIONAL).values()) == {"kept"}


@pytest.mark.parametrize("tag", ["", "day"])
def test_drives_of_one_camera_do_not_make_each_other_defects(store, tag):
    built, pixels = sequences("seq_udacity_shadow", "seq_udacity_overlap", "seq_udacity_solidwhite")
    signals = fingerprint_frames(built.frames["frame_id"], pixels, store).signals
    texts = pa.array([f'{{"time_of_day":"{tag}"}}'] * built.frames.num_rows)
    place = built.frames.schema.get_field_index("attributes")
    tagged = replace(built, frames=built.frames.set_column(place, "attributes", texts))

    outcome = filter_frames(FilterRequest(tagged, signals, ALONE))

    assert outcome.counts["kept"] == outcome.counts["frames_in"]


def test_swapped_frames_among_right_ones_are_found(store):
    pictures = list(drive("seq_udacity_solidwhite"))
    swapped = [encode(np.ascontiguousarray(decode_rgb(item)[:, :, ::-1])) for item in pictures[::20]]

    verdicts = judged(store, {"front": [*pictures, *swapped]}, ALONE)

    assert {verdicts[item] for item in swapped} == {"swapped_channels"}
    assert {verdicts[item] for item in pictures} == {"kept"}


def test_a_tunnel_full_of_yellow_lamps_is_not_swapped():
    sky = bytes([108] * 16 + [128] * 16)
    lamps = bytes([150] * 32)
    frames = [Made(f"{at:03}", taken_s=at, signals={"red_blue_grid": sky if at < 80 else lamps}) for at in range(90)]

    assert set(reasons(frames, measured(frames), ALONE).values()) == {"kept"}


def test_dirt_that_stays_is_found_and_a_passing_truck_is_not(store):
    import cv2

    pictures = list(drive("seq_udacity_solidwhite"))
    dirty = []
    for item in pictures[170:]:
        pixels = decode_rgb(item).copy()
        soft = cv2.GaussianBlur(pixels, (0, 0), 40)
        pixels[150:420, 300:700] = soft[150:420, 300:700]
        dirty.append(encode(pixels))

    verdicts = judged(store, {"front": [*pictures[:170], *dirty]}, OPTIONAL)
    passing = judged(store, {"front": [*pictures[:170], *dirty[:10], *pictures[180:]]}, OPTIONAL)

    assert np.mean([verdicts[item] == "soiled_lens" for item in dirty]) >= 0.7
    assert np.mean([verdicts[item] == "kept" for item in pictures[:150]]) == 1.0
    assert set(passing.values()) == {"kept"}


def frozen(count: int, gap_s: float = 1.0) -> list[Made]:
    same = {**NORMAL, "thumbnail_print": 5}
    return [Made(f"{at}", taken_s=at * gap_s, signals=same) for at in range(count)]


@pytest.mark.parametrize(("count", "dropped"), [(1, 0), (2, 0), (3, 2), (100, 99)])
def test_of_a_frozen_camera_the_first_picture_stays(count, dropped):
    frames = frozen(count)

    found = reasons(frames, measured(frames), ALONE)

    assert found["0"] == "kept"
    assert Counter(found.values())["frozen_camera"] == dropped


def test_equal_pictures_of_one_moment_are_no_frozen_camera():
    frames = frozen(5, gap_s=0.0)

    assert set(reasons(frames, measured(frames), ALONE).values()) == {"kept"}


def test_equal_pictures_of_two_drives_are_no_frozen_camera():
    frames = [replace(made, drive=made.name) for made in frozen(5)]

    assert set(reasons(frames, measured(frames), ALONE).values()) == {"kept"}


@pytest.mark.parametrize(
    ("share", "reason"), [(0.05, "kept"), (0.06, "truncated_tail"), (0.2, "truncated_tail"), (1.0, "truncated_tail")]
)
def test_a_tail_counts_against_the_tails_of_the_camera(share, reason):
    frames = [*(Made(f"{at}", taken_s=at) for at in range(60)), Made("cut", 1, signals={"tail_share": share})]

    assert reasons(frames, measured(frames), ALONE)["cut"] == reason


@pytest.mark.parametrize(("share", "reason"), [(0.19, "kept"), (0.2, "truncated_tail")])
def test_in_small_populations_only_the_dead_limit_of_a_tail_counts(share, reason):
    frames = [Made("cut", signals={"tail_share": share})]

    assert reasons(frames, measured(frames), ALONE)["cut"] == reason


def test_one_truncated_file_is_quarantined_and_all_others_are_judged(store):
    pictures = drive("seq_udacity_overlap")[:20]
    data = {f"{at:02}": item for at, item in enumerate(pictures)} | {"07": pictures[7][:200]}
    frames = [Made(name, taken_s=float(name)) for name in data]

    signals = fingerprint_frames(list(data), Held(data), store).signals
    outcome = filter_frames(FilterRequest(snapshot(frames), signals, ALONE))

    assert (outcome.counts["kept"], outcome.counts["quarantined"]) == (19, 1)
    assert outcome.quarantine["reason"].to_pylist() == ["unreadable"]
    assert outcome.counts["frames_in"] == 20
