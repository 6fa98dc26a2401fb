"""Frames are looked at once, and what was seen does not depend on when and with whom."""

import hashlib

import cv2
import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.detectors.catalog import load_detector
from driveflow.detectors.predict import PredictionStore, predict_frames
from driveflow.errors import BrokenDataError
from driveflow.images.pixels import PixelReader
from tests.driveflow.detectors.made import bright_spot_folder, picture_with_spot


class Counting:
    """A detector that counts the pictures it was given."""

    batch_frames = 3

    def __init__(self, inner):
        self.inner, self.digest, self.classes, self.seen = inner, inner.digest, inner.classes, 0

    def predict(self, images):
        self.seen += len(images)
        return self.inner.predict(images)


@pytest.fixture
def store(tmp_path):
    return (tmp_path / "store").as_uri()


@pytest.fixture
def detector(store, tmp_path):
    return Counting(load_detector(bright_spot_folder(store).uri, tmp_path))


def _frames(folder, images):
    rows = []
    for data in images:
        frame_id = hashlib.sha256(data).hexdigest()
        path = folder / frame_id
        path.write_bytes(data)
        rows.append({"frame_id": frame_id, "uri": path.as_uri(), "offset": 0, "length": len(data)})
    return PixelReader(pa.Table.from_pylist(rows, tables.LOCATIONS)), [row["frame_id"] for row in rows]


def _spots(folder, count):
    pictures = [picture_with_spot(8 * place, 16) for place in range(count - 1)]
    pictures.append(picture_with_spot(0, 0, level=0))
    return _frames(folder, [cv2.imencode(".png", picture)[1].tobytes() for picture in pictures])


def test_predictions_name_the_model_and_carry_a_score(store, tmp_path, detector):
    pixels, ids = _spots(tmp_path, 4)

    rows = predict_frames(detector, pixels, ids, PredictionStore(store))

    assert rows.schema == tables.PREDICTIONS
    assert rows["frame_id"].to_pylist() == sorted(ids[:3])
    assert set(rows["origin"].to_pylist()) == {f"model:{detector.digest}"}
    assert rows["score"].to_pylist() == [1.0] * 3


def test_a_frame_is_looked_at_once_even_where_nothing_was_found(store, tmp_path, detector):
    pixels, ids = _spots(tmp_path, 4)
    first = predict_frames(detector, pixels, ids[:2], PredictionStore(store))

    again = predict_frames(detector, pixels, ids, PredictionStore(store))
    predict_frames(detector, pixels, ids, PredictionStore(store))

    assert detector.seen == 4
    assert again.filter(pa.compute.is_in(again["frame_id"], first["frame_id"].combine_chunks())).equals(first)


def test_order_and_repeats_change_nothing(store, tmp_path, detector):
    pixels, ids = _spots(tmp_path, 7)
    one = predict_frames(detector, pixels, ids, PredictionStore(store))

    other = predict_frames(detector, pixels, pa.array([*reversed(ids), ids[0]]), PredictionStore(f"{store}-other"))

    assert other.equals(one)


def test_a_damaged_part_is_made_again(store, tmp_path, detector):
    pixels, ids = _spots(tmp_path, 4)
    first = predict_frames(detector, pixels, ids, PredictionStore(store))
    for path in (tmp_path / "store" / "predictions").rglob("*.parquet"):
        path.write_bytes(b"damaged")

    again = predict_frames(detector, pixels, ids, PredictionStore(store))

    assert again.equals(first)
    assert detector.seen == 8


def test_no_frames_give_an_empty_table(store, detector):
    rows = predict_frames(detector, PixelReader(tables.LOCATIONS.empty_table()), [], PredictionStore(store))

    assert rows.num_rows == 0
    assert rows.schema == tables.PREDICTIONS


def test_a_frame_that_cannot_be_decoded_is_told(store, tmp_path, detector):
    pixels, ids = _frames(tmp_path, [b"\x89PNG\r\n\x1a\n broken"])

    with pytest.raises(BrokenDataError, match="corrupt"):
        predict_frames(detector, pixels, ids, PredictionStore(store))


def test_progress_ends_at_the_number_of_frames(store, tmp_path, detector):
    pixels, ids = _spots(tmp_path, 5)
    told = []

    predict_frames(detector, pixels, ids, PredictionStore(store), lambda done, total, _: told.append((done, total)))

    assert told[-1] == (5, 5)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
