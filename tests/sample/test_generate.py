import hashlib
import json
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from driveflow.errors import UsageError
from sample.generate import SampleSettings, Summary, generate
from sample.paint import MIN_SIDE_PX
from sample.truth import Truth, read_truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample") / "drives"


@pytest.fixture(scope="module")
def summary(folder: Path) -> Summary:
    return generate(folder, SampleSettings(frames=40, seed=7))


@pytest.fixture(scope="module")
def truth(folder: Path, summary: Summary) -> Truth:
    return read_truth((folder / "truth").as_uri())


def _tree(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _pictures(folder: Path, truth: Truth) -> dict[str, Path]:
    broken = {f"{one.batch}/{one.path}" for one in truth.broken}
    paths = (path for path in (folder / "batches").rglob("*.jpg"))
    sound = [path for path in paths if str(path.relative_to(folder / "batches")) not in broken]
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sound}


def test_the_same_seed_gives_the_same_bytes(folder: Path, summary: Summary, tmp_path: Path) -> None:
    again = generate(tmp_path / "again", SampleSettings(frames=40, seed=7))

    assert again.digest == summary.digest
    assert _tree(tmp_path / "again") == _tree(folder)


def test_another_seed_gives_other_pictures(summary: Summary, truth: Truth, tmp_path: Path) -> None:
    other = generate(tmp_path / "other", SampleSettings(frames=40, seed=8))

    assert other.digest != summary.digest
    assert not set(read_truth((tmp_path / "other" / "truth").as_uri()).frames) & set(truth.frames)


def test_every_sound_picture_has_its_truth_and_every_truth_a_picture(
    folder: Path, summary: Summary, truth: Truth
) -> None:
    pictures = _pictures(folder, truth)

    assert set(pictures) == set(truth.frames)
    assert summary.distinct_frames == len(truth.frames)


def test_pictures_have_the_size_that_the_truth_states(folder: Path, truth: Truth) -> None:
    for frame_id, path in _pictures(folder, truth).items():
        image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)

        assert image is not None
        assert image.shape == (truth.frames[frame_id].height, truth.frames[frame_id].width, 3)


def test_boxes_lie_inside_the_picture_and_are_not_tiny(truth: Truth) -> None:
    boxes = [(frame, box) for frame in truth.frames.values() for box in frame.boxes]

    assert len(boxes) > 150
    for frame, box in boxes:
        assert 0 <= box.x1 < box.x2 <= frame.width
        assert 0 <= box.y1 < box.y2 <= frame.height
        assert min(box.x2 - box.x1, box.y2 - box.y1) >= MIN_SIDE_PX


def test_every_class_and_time_of_day_is_there_even_in_a_small_sample(truth: Truth) -> None:
    times = Counter(frame.time_of_day for frame in truth.frames.values())
    classes = Counter(box.class_name for frame in truth.frames.values() for box in frame.boxes)

    assert set(times) == {"day", "dusk", "night"}
    assert set(classes) == set(truth.classes)


def test_repeated_frames_are_equal_byte_for_byte_under_other_names(folder: Path, truth: Truth) -> None:
    assert truth.repeats
    for repeat in truth.repeats:
        first, second = folder / "batches" / repeat.first, folder / "batches" / repeat.second

        assert first.read_bytes() == second.read_bytes()
        assert first.name != second.name
        assert hashlib.sha256(first.read_bytes()).hexdigest() == repeat.frame_id


def test_broken_files_are_listed_and_are_broken(folder: Path, truth: Truth) -> None:
    assert Counter(one.kind for one in truth.broken) == {"truncated": 2, "empty": 1, "text": 1}
    for one in truth.broken:
        data = (folder / "batches" / one.batch / one.path).read_bytes()

        assert hashlib.sha256(data).hexdigest() not in truth.frames
        assert not data.endswith(b"\xff\xd9")


def test_the_unlabeled_batch_holds_pictures_and_a_table_only(folder: Path, summary: Summary) -> None:
    kinds = {path.suffix for path in (folder / "batches" / "drives_c").rglob("*") if path.is_file()}

    assert kinds == {".jpg", ".csv"}


def test_coco_boxes_are_those_of_the_truth(folder: Path, truth: Truth) -> None:
    batch = folder / "batches" / "drives_a"
    coco = json.loads((batch / "annotations.json").read_text("utf-8"))
    found = Counter(annotation["image_id"] for annotation in coco["annotations"])

    for image in coco["images"]:
        frame_id = hashlib.sha256((batch / image["file_name"]).read_bytes()).hexdigest()
        assert found[image["id"]] == len(truth.frames[frame_id].boxes)
        assert image["drive"] == truth.frames[frame_id].drive


def test_yolo_labels_lead_back_to_the_truth(folder: Path, truth: Truth) -> None:
    batch = folder / "batches" / "drives_b"
    for label in (batch / "labels").rglob("*.txt"):
        picture = batch / "images" / label.relative_to(batch / "labels").with_suffix(".jpg")
        frame = truth.frames[hashlib.sha256(picture.read_bytes()).hexdigest()]
        numbers = [[float(part) for part in line.split()] for line in label.read_text("utf-8").splitlines()]
        left = [(x - width / 2) * frame.width for _, x, _, width, _ in numbers]

        assert left == pytest.approx([box.x1 for box in frame.boxes], abs=1e-4)


def test_a_sample_that_is_there_is_taken_as_it_is(folder: Path, summary: Summary) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}

    assert generate(folder, SampleSettings(frames=40, seed=7)) == summary
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_folder_with_another_sample_is_refused(folder: Path, summary: Summary) -> None:
    with pytest.raises(UsageError, match="40 frames with seed 7; another folder would do"):
        generate(folder, SampleSettings(frames=40, seed=9))


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear driver")

    with pytest.raises(UsageError, match="an empty or new folder would do"):
        generate(tmp_path, SampleSettings(frames=40, seed=7))

    assert (tmp_path / "letter.txt").exists()


def test_progress_reaches_the_total(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []

    generate(tmp_path / "new", SampleSettings(frames=41, seed=7), lambda done, total, _: steps.append((done, total)))

    assert steps[-1] == (41, 41)
    assert steps == sorted(steps)
