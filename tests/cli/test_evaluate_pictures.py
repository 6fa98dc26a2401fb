"""The page of `driveflow evaluate` shows frames where pictures lie with the truth, and says where none does."""

import json
import re
import shutil

import pytest

from tests.cli.calling import call
from tests.ingestion.batches import picture
from tests.validation.coco_files import annotation, document, result

BOX, FAR = (5, 5, 20, 20), (40, 30, 20, 15)
SIZE = (64, 48)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A COCO data set of three pictures, of which the model misses an object in each."""
    monkeypatch.chdir(tmp_path)
    truth = document([annotation(n, n, box) for n in (1, 2, 3) for box in (BOX, FAR)], images=3)
    truth["images"] = [{**image, "width": SIZE[0], "height": SIZE[1]} for image in truth["images"]]
    for number, row in enumerate(truth["annotations"], start=1):
        row["id"] = number
    (tmp_path / "set" / "annotations").mkdir(parents=True)
    (tmp_path / "set" / "images").mkdir()
    (tmp_path / "set" / "annotations" / "labels.json").write_text(json.dumps(truth))
    for number in (1, 2, 3):
        (tmp_path / "set" / "images" / f"{number}.jpg").write_bytes(picture(number, SIZE))
    (tmp_path / "said.json").write_text(json.dumps([result(n, BOX) for n in (1, 2, 3)]))
    return tmp_path


def page(capsys, truth, *words):
    code, out, told = call(
        capsys, "evaluate", "--truth", str(truth), "--predictions", "said.json", "-o", "html", *words
    )
    assert code == 0, told
    assert "driveflow-evaluate-" not in out
    return out


def _pictures(text):
    return text.count("data:image/jpeg")


@pytest.mark.parametrize("form", ["", "zip", "gztar"])
def test_pictures_of_a_folder_or_an_archive_are_shown_with_what_is_wrong_in_them(folder, capsys, form):
    truth = shutil.make_archive("set", form, folder, "set") if form else "set"

    text = page(capsys, truth)

    assert _pictures(text) == 3
    assert "Missed " in text
    assert "No picture of a frame" not in text
    assert "what the champion said" not in text


def test_pictures_beside_one_file_of_labels_are_found(folder, capsys):
    assert _pictures(page(capsys, "set/annotations/labels.json")) == 3


def test_pictures_of_the_file_of_one_split_are_found_where_an_export_puts_them(folder, capsys):
    assert call(capsys, "data", "import", "set", "--as", "may")[0] == 0
    assert call(capsys, "data", "export", "may", "out", "--format", "coco")[0] == 0
    truth = json.loads((folder / "out" / "annotations" / "instances_train.json").read_text())
    said = [result(image["id"], BOX) for image in truth["images"]]
    (folder / "said.json").write_text(json.dumps(said))

    assert _pictures(page(capsys, "out/annotations/instances_train.json")) == 3


def test_labels_in_a_folder_of_their_own_may_call_pictures_by_another_ending(folder, capsys):
    for number in (1, 2, 3):
        (folder / "set" / "images" / f"{number}.jpg").rename(folder / "set" / "images" / f"{number}.jpeg")

    assert _pictures(page(capsys, "set")) == 3


def test_where_no_picture_lies_with_the_truth_one_line_says_so_and_frames_are_told_in_words(folder, capsys):
    shutil.rmtree(folder / "set" / "images")

    for truth in ("set", "set/annotations/labels.json"):
        text = page(capsys, truth)

        assert _pictures(text) == 0
        assert (
            len(re.findall("No picture of a frame, such as &#x27;1.jpg&#x27;, lies with the truth: to see", text)) == 1
        )
        assert "Missed " in text


def test_a_picture_that_is_broken_or_missing_is_named_and_the_others_are_shown(folder, capsys):
    (folder / "set" / "images" / "1.jpg").write_bytes(b"no picture")
    (folder / "set" / "images" / "2.jpg").unlink()

    text = page(capsys, "set")

    assert _pictures(text) == 1
    assert re.search("Not shown: Frame 1.jpg: [^<]*cannot be decoded", text)
    assert "Not shown: Frame 2.jpg: no picture of &#x27;2.jpg&#x27; lies with the truth" in text


def test_a_model_without_a_mistake_needs_no_picture(folder, capsys):
    said = [result(n, box, 0.9 - n / 10) for n in (1, 2, 3) for box in (BOX, FAR)]
    (folder / "said.json").write_text(json.dumps(said))

    text = page(capsys, "set")

    assert _pictures(text) == 0
    assert "No frame has a missed object or a false detection." in text
    assert "No picture of a frame" not in text


def test_pictures_of_a_snapshot_are_shown(folder, capsys):
    assert call(capsys, "data", "import", "set", "--as", "may")[0] == 0
    said = [{**result(1, BOX), "image_id": f"{n}.jpg", "category_id": "car"} for n in (1, 2, 3)]
    (folder / "said.json").write_text(json.dumps(said))

    text = page(capsys, "may")

    assert _pictures(text) == 3


def test_numbers_of_coco_against_a_snapshot_are_refused_with_what_would_do(folder, capsys):
    assert call(capsys, "data", "import", "set", "--as", "may")[0] == 0
    (folder / "said.json").write_text(json.dumps([result(17, BOX)]))

    code, _, told = call(capsys, "evaluate", "--truth", "may", "--predictions", "said.json")

    assert code != 0
    assert "give the COCO file that they are of as --truth, or name pictures and classes in their place" in told
