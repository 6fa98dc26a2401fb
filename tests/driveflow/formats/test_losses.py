"""What an export would lose is found before anything is written, named and counted."""

from dataclasses import replace

import pyarrow as pa
import pytest

from driveflow import tables as columns
from driveflow.errors import InvalidInputError
from driveflow.formats.losses import left_out, losses, refuse_losses
from driveflow.formats.write_coco import COCO
from driveflow.formats.writers import WRITERS
from tests.driveflow.formats.exports import box, export_of, frame, ignored
from tests.strategies import source_row

A, B = frame(0), frame(1)


def _lost(name, frames, boxes, classes=("car", "traffic_light", "truck")):
    return losses(export_of(frames, boxes, classes), WRITERS[name].carries)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_ac_c15_plain_boxes_of_all_classes_are_lost_nowhere(name):
    assert _lost(name, [A, B], [box(A, "a"), box(B, "b", "truck")]) == ()


def test_ignore_regions_are_lost_where_there_are_none():
    assert _lost("yolo", [A], ignored(A)) == ("YOLO has no ignore regions: 3 boxes are left out.",)


@pytest.mark.parametrize("name", ["kitti", "voc", "cvat", "label_studio"])
def test_a_region_ignored_for_one_class_is_not_one_that_is_ignored_for_all(name):
    assert _lost(name, [A], ignored(A)) == ()
    (sentence,) = _lost(name, [A], ignored(A, classes=["car"]))
    assert sentence.endswith("ignores for every class alike: 1 ignore regions of some classes get wider.")


def test_predictions_that_are_ignored_are_no_regions_that_people_drew():
    guessed = [row | {"score": 0.5} for row in ignored(A)]

    assert _lost("label_studio", [A], guessed) == (
        "Label Studio has no predictions that are ignored: 3 boxes with a score come back as others.",
    )
    for name in ("kitti", "voc", "cvat", "yolo"):
        (sentence,) = _lost(name, [A], guessed)
        assert sentence.endswith("has no predictions: 3 boxes with a score are left out.")
    for name in ("coco", "scalabel", "openlabel"):
        assert _lost(name, [A], guessed) == ()


@pytest.mark.parametrize("name", ["yolo", "kitti", "voc", "cvat"])
def test_predictions_are_lost_where_they_would_pass_for_truth(name):
    (sentence,) = _lost(name, [A], [box(A, "a", score=0.5), box(A, "b", score=0.25)])

    assert sentence.endswith("has no predictions: 2 boxes with a score are left out.")


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"coco"}))
def test_frames_in_which_not_all_classes_were_looked_for_are_refused(name):
    partly = [A, frame(1, annotated=["car"]), frame(2, annotated=[])]

    (sentence,) = _lost(name, partly, [box(A, "a")])

    assert sentence.endswith("cannot say which classes were looked for: 1 frames seem complete and are not.")


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"coco"}))
def test_boxes_that_somebody_drew_in_an_unlabeled_frame_are_no_sign_that_all_was_looked_for(name):
    assert len(_lost(name, [A, frame(1, annotated=[])], [box(B, "a")])) == 1


def test_classes_that_nobody_looked_for_anywhere_are_no_loss():
    export = export_of([frame(0, annotated=["car"]), frame(1, annotated=[])], [box(A, "a")])

    assert export.narrowed().classes == ("car",)
    assert losses(export.narrowed(), WRITERS["yolo"].carries) == ()


def test_attributes_are_named_one_by_one_with_their_boxes():
    boxes = [
        box(A, "a", attributes={"occluded": 5, "truncated": 0.5}),
        box(A, "b", attributes={"occluded": True, "x": 1}),
    ]

    assert _lost("kitti", [A], boxes) == (
        "KITTI has no place for the attribute 'occluded' of 2 boxes.",
        "KITTI has no place for the attribute 'x' of 1 boxes.",
    )


def test_attributes_of_frames_that_are_no_text_are_lost_where_only_metadata_has_a_place():
    odd = frame(0, attributes={"weather": "rain", "lanes": 2, "path": "x"})

    assert losses(export_of([odd], [], drives=["d"]), WRITERS["voc"].carries) == (
        "Pascal VOC has no place for the attribute 'lanes' of 1 frames.",
        "Pascal VOC has no place for the attribute 'path' of 1 frames.",
    )


def test_boxes_are_cut_from_half_a_pixel_on():
    boxes = [
        box(A, "a", corners=(-0.5, 1, 5, 5)),
        box(A, "b", corners=(-0.6, 1, 5, 5)),
        box(A, "c", corners=(1, 1, 5, 49)),
    ]

    assert _lost("voc", [A], boxes) == (
        "Pascal VOC has no boxes beyond the edge of the picture: 2 boxes are cut there.",
    )


def test_classes_are_refused_where_they_cannot_be_spelled():
    classes = ("a b", "a_b", "x#y", "bell\x07", "ignore")
    looked = frame(0, annotated=classes)
    boxes = [box(looked, name, name) for name in classes]

    assert _lost("kitti", [looked], boxes, classes)[0] == (
        "KITTI cannot spell the class 'a b' of 1 boxes: it is written 'a_b_2'."
    )
    assert _lost("openlabel", [looked], boxes, classes) == (
        "OpenLABEL cannot spell the class 'x#y' of 1 boxes: it is written 'x_y'.",
        "OpenLABEL cannot spell the class 'ignore' of 1 boxes: it is written 'ignore class'.",
    )
    assert "Pascal VOC cannot spell the class 'bell\\x07' of 1 boxes: it is written 'bell_'." in _lost(
        "voc", [looked], boxes, classes
    )


def test_the_refusal_lists_everything_and_says_what_would_do():
    export = export_of([A], [*ignored(A), box(A, "a", attributes={"colour": "red"})])

    with pytest.raises(InvalidInputError, match=r"--lossy(.|\n)*no ignore regions: 3 boxes(.|\n)*'colour' of 1 boxes"):
        refuse_losses(export, WRITERS["yolo"].carries)


@pytest.mark.parametrize("name", ["scalabel", "openlabel", "label_studio", "cvat"])
def test_whole_numbers_beyond_64_bits_are_lost_where_readers_do_not_take_them(name):
    boxes = [box(A, "a", attributes={"stamp": 2**63 - 1}), box(A, "b", attributes={"stamp": 2**63})]

    (sentence,) = _lost(name, [A], boxes)

    assert sentence.endswith("has no place for the attribute 'stamp' of 1 boxes.")
    assert _lost("coco", [A], boxes) == ()


def test_attributes_of_several_kinds_become_text_in_cvat_class_by_class():
    boxes = [
        box(A, "a", attributes={"lane": 1, "stamp": 2, "occluded": True}),
        box(A, "b", attributes={"lane": "left", "stamp": 0.5, "occluded": 2}),
        box(A, "c", attributes={"lane": True}),
        box(B, "d", "truck", attributes={"lane": "right"}),
    ]

    assert _lost("cvat", [A, B], boxes) == (
        "CVAT has one kind of attribute 'lane' for 'car': of 2 boxes it becomes text.",
    )
    assert _lost("cvat", [A, B], boxes[2:]) == ()


def test_it_is_told_that_of_the_drives_of_a_frame_the_first_alone_comes_back():
    sources = [source_row(A["frame_id"], drive="one"), source_row(A["frame_id"], drive="two", path="b.jpg"),
               source_row(B["frame_id"], drive="two")]  # fmt: skip
    table = pa.Table.from_pylist(sources, schema=columns.SOURCES)
    export = replace(export_of([A, B], [box(A, "a")]), sources=table)

    assert losses(export, COCO) == ()
    (sentence,) = left_out(export, COCO)
    assert sentence.startswith("1 frames are of several drives: only the first comes back")
    assert left_out(replace(export, sources=table[:1]), COCO) == ()


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("scalabel", "Crowd", True),
        ("scalabel", "Occluded", "much"),
        ("openlabel", "Occluded", "much"),
        ("openlabel", "Truncated", False),
        ("voc", "rotation", "30"),
    ],
)
def test_an_attribute_that_would_be_read_as_something_else_is_refused(name, key, value):
    (sentence,) = _lost(name, [A], [box(A, "a", attributes={key: value})])

    assert sentence.endswith(f"has no place for the attribute {key!r} of 1 boxes.")


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ({"dimensions": [1, 2, 3], "location": [0, 1, 20], "rotation_y": 0.5}, []),
        ({"dimensions": [1, 2, 3], "rotation_y": 0.5}, ["dimensions", "rotation_y"]),
        (
            {"dimensions": [1, 2, 0], "location": [0, 1, 20], "rotation_y": 0.5},
            ["dimensions", "location", "rotation_y"],
        ),
    ],
)
def test_kitti_has_a_place_for_all_of_a_box_in_space_or_for_none(said, lost):
    found = _lost("kitti", [A], [box(A, "a", attributes=said)])

    assert found == tuple(f"KITTI has no place for the attribute {key!r} of 1 boxes." for key in lost)
