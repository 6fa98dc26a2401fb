"""A model may be a command; what it answers is checked."""

import textwrap

import numpy as np
import pytest

from driveflow.detectors.catalog import load_detector
from driveflow.detectors.command_detector import CommandDetector
from driveflow.detectors.declaration import ModelDeclaration
from driveflow.detectors.model_folder import write_model
from driveflow.errors import IntegrityError

PICTURES = [np.full((20, 30, 3), level, np.uint8) for level in (10, 200)]


def _detector(tmp_path, body):
    script = f"import json, os, sys, time\nfrom pathlib import Path\n{textwrap.dedent(body)}"
    declaration = ModelDeclaration(kind="command", classes=("car",), command=("python", "predict.py"))
    model = write_model((tmp_path / "store").as_uri(), declaration, {"predict.py": script.encode()})
    return load_detector(model.uri, tmp_path / "scratch")


def _answer(lines):
    return f"Path(os.environ['DRIVEFLOW_PREDICTIONS']).write_text({lines!r})"


def test_a_command_gets_pictures_and_its_own_files(tmp_path):
    detector = _detector(
        tmp_path,
        """
        assert Path.cwd() == Path(os.environ["DRIVEFLOW_MODEL"]) and Path("predict.py").is_file()
        names = sorted(path.name for path in Path(os.environ["DRIVEFLOW_PICTURES"]).iterdir())
        box = {"class_name": "car", "x1": 1, "y1": 2, "x2": 3, "y2": 4.5}
        boxes = [box | {"score": 0.25}, box | {"score": 0.75}]
        Path(os.environ["DRIVEFLOW_PREDICTIONS"]).write_text(json.dumps({"picture": names[1], "boxes": boxes}))
        """,
    )

    found = detector.predict(PICTURES)

    assert [len(one.class_names) for one in found] == [0, 2]
    assert found[1].scores.tolist() == [0.75, 0.25]
    assert found[1].boxes.tolist() == [[1.0, 2.0, 3.0, 4.5]] * 2


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("sys.exit('out of luck')", "exit code 1: out of luck"),
        ("pass", "wrote no predictions"),
        (_answer("{"), "Line 1"),
        (_answer("null"), "Line 1"),
        (_answer('{"picture": [], "boxes": []}'), "Line 1"),
        (_answer('{"picture": "9.png", "boxes": []}'), "pictures that it was not given"),
        (_answer('{"picture": "000000.png", "boxes": [{"class_name": "car"}]}'), "cannot be read"),
        (
            _answer(f'{{"picture": "000000.png", "boxes": [{{"class_name": "car", "score": {"9" * 400}}}]}}'),
            "cannot be read: OverflowError",
        ),
        (
            _answer('{"picture": "000000.png", "boxes": [{"class_name":"cow","score":1,"x1":0,"y1":0,"x2":1,"y2":1}]}'),
            "that is none",
        ),
        (
            _answer(
                '{"picture": "000000.png", "boxes": [{"class_name":"car","score":NaN,"x1":0,"y1":0,"x2":1,"y2":1}]}'
            ),
            "that is none",
        ),
        (
            _answer('{"picture": "000000.png", "boxes": [{"class_name":"car","score":1,"x1":2,"y1":0,"x2":1,"y2":1}]}'),
            "that is none",
        ),
    ],
)
def test_a_command_that_fails_or_answers_nonsense_is_told(tmp_path, body, match):
    detector = _detector(tmp_path, body)

    with pytest.raises(IntegrityError, match=match) as told:
        detector.predict(PICTURES)
    assert detector.digest in str(told.value)


def test_an_answer_beyond_all_bounds_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("driveflow.detectors.command_detector.MAX_ANSWER_BYTES", 1)
    detector = _detector(tmp_path, _answer("{}"))

    with pytest.raises(IntegrityError, match=f"{detector.digest} wrote more than 1 bytes"):
        detector.predict(PICTURES)


def test_a_command_that_does_not_end_is_stopped(tmp_path):
    slow = CommandDetector("0" * 64, ("car",), ("sleep", "60"), tmp_path, max_seconds=0.2)

    with pytest.raises(IntegrityError, match="did not answer in 0 s"):
        slow.predict(PICTURES)


def test_a_command_that_is_not_there_is_told(tmp_path):
    with pytest.raises(IntegrityError, match=r"exit code 127.*cannot be started"):
        CommandDetector("0" * 64, ("car",), ("no-such-command",), tmp_path).predict(PICTURES)
