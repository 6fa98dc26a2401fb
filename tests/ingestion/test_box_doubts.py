"""Boxes of COCO that seem to be no pixels of corner and size are imported as they stand, and doubted by name."""

import pytest

from tests.ingestion.batches import bring_in, coco, picture, write

BOXES = [(30, 25, 20, 16), (36, 20, 18, 14), (40, 25, 15, 20), (25, 30, 30, 15)]


def _notes(tmp_path, boxes):
    annotations = [(number, 1, 1, box) for number, box in enumerate(boxes)]
    files = {"a.jpg": picture(1), "labels.json": coco([(1, "a.jpg")], annotations)}
    batch = bring_in(write(tmp_path / "b", files))
    return batch, [note for note in batch.notes if "COCO" in note]


def _said(box, shape):
    x, y, width, height = box
    return (x, y, x + width, y + height) if shape == "corners" else tuple(number / 64 for number in box)


def test_boxes_of_corner_and_size_are_not_doubted(tmp_path):
    assert _notes(tmp_path, BOXES)[1] == []


def test_corners_where_coco_has_sizes_are_doubted(tmp_path):
    batch, (note,) = _notes(tmp_path, [_said(box, "corners") for box in BOXES])

    assert "leave their pictures as COCO's x, y, width and height, and 0 as x1, y1, x2, y2: were these written?" in note
    assert batch.counts["boxes"] == len(BOXES)


def test_shares_of_pictures_are_doubted(tmp_path):
    _, (note,) = _notes(tmp_path, [_said(box, "shares") for box in BOXES])

    assert note.startswith("No number of 4 boxes looked at is over 1: COCO's are pixels")


@pytest.mark.parametrize("boxes", [[], [(0.1, 0.1, 0.5, 0.5)], [(60, 40, 60, 40)]])
def test_few_boxes_tell_nothing(tmp_path, boxes):
    assert _notes(tmp_path, boxes)[1] == []
