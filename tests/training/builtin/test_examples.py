"""What the built-in trainer reads from an export."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow import tables
from driveflow.errors import UsageError
from tests.strategies import box_row, frame_row
from training.builtin.examples import IGNORED, Example, canvas_size, read_examples


def _export(folder, frames, boxes, classes='["bus", "car", "person"]'):
    pq.write_table(pa.Table.from_pylist(frames, tables.FRAMES), folder / "frames.parquet")
    pq.write_table(pa.Table.from_pylist(boxes, tables.BOXES), folder / "boxes.parquet")
    (folder / "classes.json").write_text(classes)
    return folder


def _example(width, height):
    return Example("a", Path("a"), width, height, np.zeros((0, 4)), np.zeros(0, np.int64), np.ones(1, np.bool_))


def test_classes_that_nobody_looked_for_are_not_learned(tmp_path):
    frames = [
        frame_row("a" * 64, annotated_classes=["person"]),
        frame_row("b" * 64, annotated_classes=["bus"], split="val"),
    ]

    found = read_examples(_export(tmp_path, frames, []))

    assert found.classes == ("person",)
    assert found.train[0].looked_for.tolist() == [True]
    assert found.val[0].looked_for.tolist() == [False]


def test_boxes_keep_their_class_and_ignore_regions_have_none(tmp_path):
    boxes = [
        box_row("a" * 64, "1", "person"),
        box_row("a" * 64, "2", "car", ignore=True),
        box_row("a" * 64, "3", "bus"),
    ]

    found = read_examples(_export(tmp_path, [frame_row("a" * 64)], boxes))

    assert found.train[0].numbers.tolist() == [2, IGNORED, 0]


def test_a_box_of_a_class_that_nobody_looked_for_is_left_out(tmp_path):
    frames = [frame_row("a" * 64, annotated_classes=["car"]), frame_row("b" * 64, annotated_classes=["car", "person"])]

    found = read_examples(_export(tmp_path, frames, [box_row("a" * 64, "1", "person")]))

    assert found.train[0].boxes.shape == (0, 4)


def test_a_frame_without_boxes_is_an_example_of_background(tmp_path):
    found = read_examples(_export(tmp_path, [frame_row("a" * 64)], []))

    assert found.train[0].boxes.shape == (0, 4)
    assert found.train[0].looked_for.all()


def test_nothing_looked_for_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="nothing can be learned"):
        read_examples(_export(tmp_path, [frame_row("a" * 64, annotated_classes=[])], []))


@pytest.mark.parametrize(
    ("sizes", "long_side", "canvas"),
    [
        ([(416, 416)], 256, (256, 256)),
        ([(960, 540)], 256, (256, 160)),
        ([(540, 960)], 256, (160, 256)),
        ([(1920, 1080)] * 19 + [(1080, 1920)], 256, (256, 160)),
        ([(1920, 1080), (1080, 1920)], 256, (256, 256)),
        ([(320, 40)], 320, (320, 64)),
    ],
)
def test_the_canvas_has_the_shape_of_most_pictures(sizes, long_side, canvas):
    assert canvas_size(tuple(_example(*size) for size in sizes), long_side) == canvas


def test_one_odd_picture_does_not_change_the_canvas():
    usual = tuple(_example(960, 540) for _ in range(50))

    assert canvas_size((*usual, replace(usual[0], width=10, height=960)), 256) == canvas_size(usual, 256)
