"""ONNX models find boxes in pixels of the picture, and are refused where they are not what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.detectors.catalog import load_detector
from driveflow.detectors.model_folder import write_model
from driveflow.detectors.onnx_bytes import refuse_external_files
from driveflow.errors import IntegrityError
from tests.driveflow.detectors.made import (
    boxes_declaration,
    bright_spot_folder,
    bright_spot_model,
    constant_model,
    external_model,
    heatmap_declaration,
    picture_with_spot,
)

HEAT = np.zeros((1, 1, 8, 16), np.float32)
SIDES = np.ones((1, 4, 8, 16), np.float32)


@pytest.fixture
def store(tmp_path):
    return (tmp_path / "store").as_uri()


def _detector(store, tmp_path, declaration, data):
    return load_detector(write_model(store, declaration, {"model.onnx": data}).uri, tmp_path)


def test_a_box_comes_back_in_pixels_of_the_picture(store, tmp_path):
    detector = load_detector(bright_spot_folder(store).uri, tmp_path)

    found = detector.predict([picture_with_spot(40, 24)])[0]

    assert found.boxes.tolist() == [[28.0, 20.0, 60.0, 36.0]]
    assert found.scores.tolist() == [1.0]
    assert found.class_names == ("car",)


def test_a_picture_of_another_shape_is_fitted_without_being_squeezed(store, tmp_path):
    detector = load_detector(bright_spot_folder(store).uri, tmp_path)
    tall = np.zeros((128, 64, 3), np.uint8)  # scaled by 1/4 into 16 x 32 of 64 x 32
    tall[48:64, 16:32] = 255

    found = detector.predict([tall])[0]

    assert found.boxes[0].tolist() == [0.0, 40.0, 56.0, 72.0]
    assert (found.boxes[:, 0] < 64).all()  # nothing is seen in the filled part beside it


def test_boxes_are_cut_at_the_edge_of_the_picture(store, tmp_path):
    detector = load_detector(bright_spot_folder(store).uri, tmp_path)

    found = detector.predict([picture_with_spot(0, 0)])[0]

    assert found.boxes.tolist() == [[0.0, 0.0, 20.0, 12.0]]


def test_a_picture_without_anything_has_no_boxes(store, tmp_path):
    detector = load_detector(bright_spot_folder(store).uri, tmp_path)

    found = detector.predict([np.zeros((64, 128, 3), np.uint8)])[0]

    assert found.boxes.shape == (0, 4)
    assert found.class_names == ()


def test_what_is_found_does_not_depend_on_the_company(store, tmp_path):
    detector = load_detector(bright_spot_folder(store).uri, tmp_path)
    pictures = [picture_with_spot(8 * place, 16, level=200 + place) for place in range(8)]

    together = detector.predict(pictures)
    alone = [detector.predict([picture])[0] for picture in pictures]

    assert [found.boxes.tolist() for found in together] == [found.boxes.tolist() for found in alone]
    assert [found.scores.tolist() for found in together] == [found.scores.tolist() for found in alone]


def test_a_head_of_boxes_keeps_the_best_of_those_that_overlap(store, tmp_path):
    boxes = np.array([[[0, 0, 10, 10], [1, 0, 10, 10], [30, 0, 40, 10], [5, 5, 5, 9]]], np.float32)
    scores = np.array([[[0.5, 0.0], [0.9, 0.0], [0.0, 0.4], [0.99, 0.0]]], np.float32)
    data = constant_model({"boxes": boxes, "scores": scores})
    detector = _detector(store, tmp_path, boxes_declaration(("car", "bus")), data)

    found = detector.predict([np.zeros((64, 128, 3), np.uint8)])[0]

    assert found.class_names == ("car", "bus")
    assert found.boxes.tolist() == [[2.0, 0.0, 20.0, 20.0], [60.0, 0.0, 80.0, 20.0]]


def test_equal_scores_are_told_in_one_order(store, tmp_path):
    heat = HEAT.copy()
    heat[0, 0, 2, 2] = heat[0, 0, 6, 10] = heat[0, 0, 2, 12] = 0.5
    detector = _detector(store, tmp_path, heatmap_declaration(), constant_model({"scores": heat, "sides": SIDES}))

    found = detector.predict([np.zeros((32, 64, 3), np.uint8)])[0]

    assert [box[:2] for box in found.boxes.tolist()] == [[9.0, 9.0], [49.0, 9.0], [41.0, 25.0]]


@pytest.mark.parametrize(
    ("outputs", "match"),
    [
        ({"scores": HEAT[:, :, :4], "sides": SIDES}, "its head says"),
        ({"scores": HEAT, "sides": SIDES[:, :2]}, "its head says"),
        ({"scores": np.full_like(HEAT, np.nan), "sides": SIDES}, "no numbers"),
        ({"scores": HEAT, "sides": np.full_like(SIDES, np.inf)}, "no numbers"),
    ],
)
def test_a_model_that_answers_otherwise_than_declared_is_refused(store, tmp_path, outputs, match):
    detector = _detector(store, tmp_path, heatmap_declaration(), constant_model(outputs))

    with pytest.raises(IntegrityError, match=match):
        detector.predict([np.zeros((32, 64, 3), np.uint8)])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (external_model(), "in another file"),
        (b"", "is no model that can be run"),
        (b"not onnx at all", "no ONNX model|ends in the middle|is no model"),
        (bright_spot_model()[:-40], "ends in the middle|no ONNX model"),
        (constant_model({"scores": HEAT}), "its head needs"),
    ],
)
def test_bytes_that_are_not_the_declared_model_are_refused_before_they_run(store, tmp_path, data, match):
    with pytest.raises(IntegrityError, match=match):
        _detector(store, tmp_path, heatmap_declaration(), data)


def test_an_input_of_another_type_is_refused(store, tmp_path):
    declared = heatmap_declaration()
    declared = type(declared)(
        kind="onnx",
        classes=declared.classes,
        head=declared.head,
        input=type(declared.input)(name="pictures", width=64, height=32, dtype="float32"),
    )

    with pytest.raises(IntegrityError, match="its manifest says 'pictures' of float32"):
        _detector(store, tmp_path, declared, bright_spot_model())


def test_a_model_that_changed_on_disk_is_not_opened(store, tmp_path):
    model = bright_spot_folder(store)
    path = tmp_path / "store" / "models" / model.digest / "model.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"x")

    with pytest.raises(IntegrityError, match="digest differs"):
        load_detector(model.uri, tmp_path)


def test_a_whole_model_names_no_file_outside():
    refuse_external_files(bright_spot_model())


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_are_read_or_refused(data):
    try:
        refuse_external_files(data)
    except IntegrityError as error:
        assert "ONNX" in str(error)  # noqa: PT017 either is right


@given(st.integers(0, 10_000), st.integers(0, 255))
@settings(max_examples=100)
def test_a_model_with_any_byte_changed_is_read_or_refused(place, value):
    data = bytearray(bright_spot_model())
    data[place % len(data)] = value

    try:
        refuse_external_files(bytes(data))
    except IntegrityError as error:
        assert "ONNX" in str(error)  # noqa: PT017 either is right
