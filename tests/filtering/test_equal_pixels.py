import io
from dataclasses import replace

import pyarrow as pa
import pytest
from PIL import Image

from driveflow.flow.sections import FilterSection
from driveflow.snapshots import SnapshotTables
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.kept_index import KeptIndex
from filtering.pixel_digests import PixelDigests
from filtering.verify import Evidence, verify_decisions
from tests.driveflow.images.made import scene
from tests.filtering.made import Held, Made, column, measured, snapshot
from tests.strategies import CLASSES, box_row


def png(seed: int, level: int) -> bytes:
    """One picture, at any level of compression."""
    held = io.BytesIO()
    Image.fromarray(scene(seed, 64, 36)).save(held, "PNG", compress_level=level)
    return held.getvalue()


def run(frames: list[Made], pixels: Held, boxes: tuple[dict[str, object], ...] = ()) -> FilterOutcome:
    built = snapshot(frames)
    if boxes:
        built = SnapshotTables(
            built.frames, built.sources, pa.Table.from_pylist(list(boxes), built.boxes.schema), built.classes
        )
    return filter_frames(FilterRequest(built, measured(frames), FilterSection(), pixels=pixels))


class Counted(Held):
    """Pixels that tell which were read."""

    def __init__(self, data: dict[str, bytes]) -> None:
        super().__init__(data)
        self.read_ids: set[str] = set()

    def read(self, frame_id: str) -> bytes:
        self.read_ids.add(frame_id)
        return super().read(frame_id)


def test_a_copy_encoded_anew_is_dropped_whatever_camera_and_drive_it_came_from():
    pixels = Held({"a": png(1, 1), "b": png(1, 9), "c": png(2, 1)})
    frames = [Made("a", 7), Made("b", 7, "other", "left"), Made("c", 7, "third", "rear")]

    outcome = run(frames, pixels)

    assert column(outcome.decisions, "reason") == ["kept", "exact_duplicate", "kept"]
    assert column(outcome.decisions, "twin", ["b"]) == ["a"]
    evidence = Evidence(measured(frames), snapshot(frames).sources, FilterSection(), pixels)
    assert verify_decisions(outcome.decisions, evidence).sound


def test_verify_decodes_pairs_of_equal_pixels_again():
    frames = [Made("a", 7), Made("b", 7, "other", "left")]
    outcome = run(frames, Held({"a": png(1, 1), "b": png(1, 9)}))

    changed = Evidence(
        measured(frames), snapshot(frames).sources, FilterSection(), Held({"a": png(1, 1), "b": png(2, 1)})
    )

    assert [item.why for item in verify_decisions(outcome.decisions, changed).orphans] == [
        "its pixels are not those of its twin"
    ]


def test_pixels_that_cannot_be_read_are_no_proof_and_no_orphan():
    frames = [Made("a", 7), Made("b", 7, "other", "left")]
    outcome = run(frames, Held({"a": png(1, 1), "b": png(1, 9)}))
    gone = Evidence(measured(frames), snapshot(frames).sources, FilterSection(), Held({"a": png(1, 1), "b": b"gone"}))

    report = verify_decisions(outcome.decisions, gone)

    assert report.orphans == ()
    assert [item.why for item in report.wrong] == ["its pixels, or those of its twin, cannot be read"]
    assert not report.sound


def test_nothing_is_decoded_where_the_other_rules_tell():
    pixels = Counted({name: png(1, 1) for name in "abc"})

    run([Made("a", 7, taken_s=1), Made("b", 7, taken_s=2), Made("c", 8, "other", "left")], pixels)

    assert pixels.read_ids == set()


def test_of_two_copies_the_labeled_one_stays():
    pixels = Held({"a": png(1, 1), "b": png(1, 9)})

    outcome = run([Made("a", 7), Made("b", 7, "other", "left", labeled=True)], pixels)

    assert column(outcome.decisions, "verdict") == ["dropped", "kept"]


@pytest.mark.parametrize(("x1", "kept"), [(1.0, 1), (2.0, 2)])
def test_a_labeled_copy_goes_only_where_its_labels_are_those_of_the_other(x1, kept):
    pixels = Held({"a": png(1, 1), "b": png(1, 9)})
    frames = [Made("a", 7, labeled=True), Made("b", 7, "other", "left", labeled=True)]

    outcome = run(frames, pixels, (box_row("a", "1", CLASSES[0], x1=1.0), box_row("b", "1", CLASSES[0], x1=x1)))

    assert outcome.counts["kept"] == kept


def test_a_picture_that_cannot_be_read_is_no_copy():
    frames = [Made("a", 7), Made("b", 7, "other", "left")]

    assert run(frames, Held({"a": png(1, 1), "b": b"cut"})).counts["kept"] == 2


def test_an_old_frame_is_decoded_once_for_all_batches_and_only_where_a_new_one_looks_like_it(tmp_path):
    data = {name: png(seed, 1) for name, seed in (("a", 1), ("b", 2), ("c", 1), ("d", 3), ("e", 1))}
    frames = [
        Made("a", 7, drive="monday"),
        Made("b", 0xFF00, drive="monday"),
        Made("c", 7, drive="tuesday", camera="left"),
        Made("d", 0xFF0000, drive="tuesday", camera="left"),
        Made("e", 7, drive="wednesday", camera="rear"),
    ]
    index, days, read = KeptIndex(tmp_path.as_uri()), ("monday", "tuesday", "wednesday"), []

    for count in (1, 2, 3):
        come = [made for made in frames if made.drive in days[:count]]
        pixels = Counted(data)
        digests = PixelDigests(tmp_path.as_uri())
        request = FilterRequest(snapshot(come), measured(come), FilterSection(), pixels=pixels, digests=digests)
        outcome = filter_frames(replace(request, arrival=days[:count], index=index))
        read.append(pixels.read_ids)

    assert read == [set(), {"a", "c"}, {"e"}]
    assert column(outcome.decisions, "twin") == [None, None, "a", None, "a"]
