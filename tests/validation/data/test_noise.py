import pyarrow as pa
import pytest

from driveflow import tables
from tests.strategies import box_row, frame_row
from tests.validation.data.made import checked, frame_id, side

LABEL = {"x1": 10.0, "y1": 10.0, "x2": 30.0, "y2": 30.0}


def judged(predictions, labels=(("car", LABEL),), **frame):
    own = frame_id(0)
    boxes = [box_row(own, f"l{n}", name) | corners for n, (name, corners) in enumerate(labels)]
    seen = [box_row(own, f"p{n}", name, score=score) | corners for n, (name, score, corners) in enumerate(predictions)]
    table = pa.Table.from_pylist(seen, tables.PREDICTIONS)
    return checked(side([frame_row(own, **frame)], boxes), predictions=table)[1]["label_noise"]


@pytest.mark.parametrize(
    ("name", "corners", "said"),
    [
        ("car", LABEL, None),
        ("car", LABEL | {"x1": 40.0, "x2": 60.0}, "nobody drew it: the champion sees car with 0.95"),
        ("bus", LABEL, "labeled as another class: the champion sees bus with 0.95"),
        ("car", LABEL | {"x1": 20.0, "x2": 40.0}, "the label sits badly: the champion sees car with 0.95"),
    ],
)
def test_a_sure_detection_that_no_label_bears_out_is_a_suspect(name, corners, said):
    check = judged([(name, 0.95, corners)])

    assert [suspect.detail for suspect in check.suspects] == ([said] if said else [])


def test_an_unsure_detection_speaks_against_nothing():
    check = judged([("bus", 0.79, LABEL)])

    assert check.outcome == "NOT JUDGED"


def test_a_class_that_nobody_looked_for_is_no_forgotten_object():
    check = judged([("bus", 0.95, LABEL | {"x1": 40.0, "x2": 60.0})], annotated_classes=["car"])

    assert check.outcome == "NOT JUDGED"


def test_a_frame_that_was_looked_at_and_shows_nothing_is_no_suspect():
    own = frame_id(0)
    nothing = [{"frame_id": own, "box_id": "", "ignore": False, "attributes": "{}"}]

    _, checks = checked(side([frame_row(own)]), predictions=pa.Table.from_pylist(nothing, tables.PREDICTIONS))

    assert checks["label_noise"].outcome == "NOT JUDGED"


def test_the_label_it_is_held_against_is_shown_beside_it():
    (suspect,) = judged([("bus", 0.9, LABEL)]).suspects

    assert (suspect.class_name, suspect.other_name, suspect.other) == ("bus", "car", (10.0, 10.0, 30.0, 30.0))


def test_the_share_is_of_the_detections_that_were_looked_at():
    far = LABEL | {"x1": 40.0, "x2": 60.0}

    check = judged([("car", 0.99, LABEL), ("car", 0.9, far), ("car", 0.3, far)])

    assert (check.found, check.n, check.value) == (1, 2, 0.5)
