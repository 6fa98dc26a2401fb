from collections.abc import Sequence

import cv2
import numpy as np
import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.embeddings.vector_store import VectorStore
from driveflow.snapshots import SnapshotTables
from filtering.miners.crops import ObjectRequest, cut, embed_objects
from tests.filtering.made import Held, Made, snapshot
from tests.strategies import box_row


class Colours:
    """Embeds a picture as the direction of its mean colour, and counts what it was asked."""

    digest = "colours"
    dimensions = 3

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, pictures: Sequence[bytes]) -> np.ndarray:
        self.asked += len(pictures)
        images = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) for data in pictures]
        means = np.array([image.mean(axis=(0, 1))[::-1] for image in images], np.float32) + 1e-3
        return means / np.linalg.norm(means, axis=1, keepdims=True)


def request(*boxes: dict) -> ObjectRequest:
    made = snapshot([Made("a", labeled=True), Made("judge", labeled=True, split="holdout")])
    built = SnapshotTables(made.frames, made.sources, pa.Table.from_pylist(list(boxes), tables.BOXES), made.classes)
    return ObjectRequest(built, None, 0.3)


def box(name: str, corners: tuple[float, float, float, float], frame: str = "a", **changes) -> dict:
    return box_row(frame, name, "car", **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)), **changes)


def pixels() -> Held:
    """The left half red, the right half blue."""
    image = np.zeros((40, 80, 3), np.uint8)
    image[:, :40, 2], image[:, 40:, 0] = 255, 255
    data = cv2.imencode(".png", image)[1].tobytes()
    return Held({"a": data, "judge": data})


LEFT, RIGHT = (5.0, 5.0, 30.0, 30.0), (50.0, 5.0, 75.0, 30.0)


def test_each_object_has_the_vector_of_its_own_part_of_the_picture(tmp_path):
    found = embed_objects(
        request(box("l", LEFT), box("r", RIGHT)), pixels(), Colours(), VectorStore(tmp_path.as_uri(), "c", 3)
    )

    assert (found.frame_ids, found.box_ids) == (("a", "a"), ("l", "r"))
    assert found.vectors.round(1).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_an_object_is_embedded_once(tmp_path):
    store, model = VectorStore(tmp_path.as_uri(), "c", 3), Colours()
    first = embed_objects(request(box("l", LEFT)), pixels(), model, store)

    again = embed_objects(request(box("l", LEFT), box("r", RIGHT)), pixels(), model, store)

    assert model.asked == 2
    assert again.vectors[:1].tolist() == first.vectors.tolist()


def test_hold_out_ignored_and_tiny_boxes_are_no_objects(tmp_path):
    boxes = [
        box("h", LEFT, frame="judge"),
        box("i", LEFT, ignore=True),
        box("t", (5.0, 5.0, 12.9, 30.0)),
    ]

    found = embed_objects(request(*boxes), pixels(), Colours(), VectorStore(tmp_path.as_uri(), "c", 3))

    assert found.box_ids == ()


def test_a_frame_that_cannot_be_decoded_has_no_objects(tmp_path):
    broken = Held({"a": b"nothing"})

    found = embed_objects(request(box("l", LEFT)), broken, Colours(), VectorStore(tmp_path.as_uri(), "c", 3))

    assert found.box_ids == ()


@pytest.mark.parametrize("corners", [(-50, -50, -40, -40), (500, 500, 600, 600), (0, 0, 80, 40)])
def test_a_cut_is_at_least_a_pixel_of_the_picture(corners):
    assert min(cut(np.zeros((40, 80, 3), np.uint8), corners).shape[:2]) >= 1
