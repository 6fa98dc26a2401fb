"""Truth and predictions may lie in archives, on S3, in Waymo's tables, and in exports of Label Studio."""

import io
import json
import random
import shutil
import tarfile
import zipfile
from pathlib import Path

import polars as pl
import pytest

from driveflow.storage.objects import write_bytes
from ingestion import batch_files
from tests.cli.calling import call
from tests.shared_data import shared_data
from tests.validation.coco_files import annotation, document, result

SAME_TRUTH = "fmt_same_truth"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Predictions of the pictures that all formats of one truth show, as a COCO document; and its content."""
    monkeypatch.chdir(tmp_path)
    value = json.loads(next((shared_data(SAME_TRUTH) / "coco").rglob("*.json")).read_text())
    chance = random.Random(1)
    for row in value["annotations"]:
        x, y, width, height = row["bbox"]
        row |= {"bbox": [x + 2, y + 1, width, height], "score": round(chance.random(), 4)}
    Path("said.json").write_text(json.dumps(value))
    return value


def evaluate(capsys, truth, predictions, *words):
    code, out, told = call(capsys, "evaluate", "--truth", str(truth), "--predictions", str(predictions), *words)
    return code, out, told


def numbers(capsys, truth, predictions, *words):
    code, out, told = evaluate(capsys, truth, predictions, "-o", "json", *words)
    assert code == 0, told
    found = json.loads(out)
    assert "driveflow-evaluate-" not in out
    return {name: found[name] for name in ("AP", "AP50", "AR100", "n_objects", "n_frames")}


def kinds(capsys, truth, predictions):
    code, out, told = evaluate(capsys, truth, predictions, "-o", "json")
    assert code == 0, told
    return {item["kind"]: item["count"] for item in json.loads(out)["corrections"]}


def _tasks(said, address):
    """The predictions as Label Studio exports them; `address` makes that of a picture from its number and name."""
    names = {entry["id"]: entry["name"] for entry in said["categories"]}
    tasks = []
    for number, image in enumerate(said["images"]):
        rows = [row for row in said["annotations"] if row["image_id"] == image["id"]]
        results = [_region(row, image, names[row["category_id"]]) for row in rows]
        data = {"image": address(number, Path(image["file_name"]).name)}
        tasks.append(
            {"id": number, "data": data, "annotations": [], "predictions": [{"score": 0.5, "result": results}]}
        )
    return tasks


def _region(row, image, name):
    x, y, width, height = row["bbox"]
    wide, high = image["width"], image["height"]
    value = {"x": 100 * x / wide, "y": 100 * y / high, "width": 100 * width / wide, "height": 100 * height / high}
    size = {"original_width": wide, "original_height": high, "image_rotation": 0}
    shape = {"type": "rectanglelabels", "from_name": "label", "to_name": "image", "score": row["score"]}
    return {**shape, **size, "value": {**value, "rotation": 0, "rectanglelabels": [name]}}


@pytest.mark.parametrize("form", ["zip", "tar", "gztar"])
@pytest.mark.parametrize("name", ["coco", "voc", "yolo", "label_studio", "waymo_v2_parquet", "openlabel"])
def test_labels_in_an_archive_are_the_labels_in_its_folder(said, capsys, name, form):
    home = shared_data(SAME_TRUTH)
    archive = shutil.make_archive("labels", form, home, name)
    predictions = "said.json" if name != "waymo_v2_parquet" else _waymo_names(said)

    assert numbers(capsys, archive, predictions) == numbers(capsys, home / name, predictions)


def _waymo_names(said):
    """The predictions under the names by which an import calls the pictures of the Waymo tables."""
    truth = {image["file"]: image["timestamp_us"] for image in _truth()["images"]}
    images = [{**image, "file_name": f"FRONT/{truth[Path(image['file_name']).name] * 1000}.jpg"}
              for image in said["images"]]  # fmt: skip
    maps = json.loads((shared_data(SAME_TRUTH) / "class_maps.json").read_text())["waymo_v2_parquet"]
    words = {1: "vehicle", 2: "pedestrian", 4: "cyclist"}
    named = [{"id": number, "name": word} for number, word in words.items()]
    own = {entry["id"]: maps.get(entry["name"]) for entry in said["categories"]}
    rows = [
        {**row, "category_id": own[row["category_id"]]}
        for row in said["annotations"]
        if own[row["category_id"]] in words
    ]
    Path("waymo.json").write_text(json.dumps({"images": images, "categories": named, "annotations": rows}))
    return "waymo.json"


def _truth():
    return json.loads((shared_data(SAME_TRUTH) / "truth.json").read_text())


def test_a_folder_of_waymo_tables_is_truth_for_predictions_by_camera_and_time(said, capsys):
    folder = shared_data(SAME_TRUTH) / "waymo_v2_parquet"
    predictions = _waymo_names(said)

    found = numbers(capsys, folder, predictions)
    boxes_alone = numbers(capsys, folder / "camera_box", predictions)

    assert (found["n_frames"], found["n_objects"]) == (13, 60)
    assert found["AP50"] > 0.8
    assert (boxes_alone["n_frames"], boxes_alone["n_objects"]) == (12, 60)
    assert kinds(capsys, folder / "camera_box", predictions) == {"label_frames_without_box": 1}
    assert kinds(capsys, folder, predictions) == {}


@pytest.mark.parametrize(
    ("address", "loose"),
    [
        (lambda number, name: f"/data/upload/1/{number:08x}-{name}", "frame_joined_as_upload"),
        (lambda number, name: f"{number:08x}-{name}", "frame_joined_as_upload"),
        (lambda _number, name: f"/data/local-files/?d=some/set/{name}", None),
        (lambda _number, name: f"s3://bucket/some%20set/{name}", None),
        (lambda _number, name: f"https://host/images/{name}?token=1", None),
    ],
    ids=["upload", "prefix", "local-files", "s3", "https"],
)
def test_a_label_studio_export_names_the_pictures_of_any_truth(said, capsys, address, loose):
    Path("tasks.json").write_text(json.dumps(_tasks(said, address)))
    folder = shared_data(SAME_TRUTH)

    found = numbers(capsys, folder / "coco", "tasks.json")

    assert found == pytest.approx(numbers(capsys, folder / "coco", "said.json"), abs=1e-9)
    assert kinds(capsys, folder / "coco", "tasks.json") == ({loose: 13} if loose else {})


def test_an_export_of_label_studio_without_its_pictures_is_truth_for_any_predictions(said, capsys, tmp_path):
    shutil.copy(shared_data(SAME_TRUTH) / "label_studio" / "export.json", tmp_path / "export.json")
    Path("tasks.json").write_text(json.dumps(_tasks(said, lambda number, name: f"/data/upload/7/{number:08x}-{name}")))

    plain = numbers(capsys, "export.json", "said.json")

    assert plain["n_objects"] == 69
    assert plain == pytest.approx(numbers(capsys, shared_data(SAME_TRUTH) / "coco", "said.json"), abs=1e-6)
    assert numbers(capsys, "export.json", "tasks.json") == pytest.approx(plain, abs=1e-9)


def test_other_exports_of_label_studio_with_its_prefixes_are_joined_too(said, capsys):
    for number, image in enumerate(said["images"]):
        image["file_name"] = f"images/{number:08x}-{Path(image['file_name']).name}"
    Path("uploads.json").write_text(json.dumps(said))

    assert numbers(capsys, shared_data(SAME_TRUTH) / "voc", "uploads.json")["AP50"] > 0.8


def test_both_sides_may_lie_on_s3_as_files_folders_and_archives(said, capsys, s3_store):
    home = shared_data(SAME_TRUTH)
    expected = numbers(capsys, home / "coco", "said.json")
    for path in (path for path in (home / "coco").rglob("*") if path.is_file()):
        write_bytes(f"{s3_store}/coco/{path.relative_to(home / 'coco').as_posix()}", path.read_bytes())
    write_bytes(f"{s3_store}/said/said.json", Path("said.json").read_bytes())
    write_bytes(f"{s3_store}/coco.zip", Path(shutil.make_archive("coco", "zip", home, "coco")).read_bytes())
    write_bytes(f"{s3_store}/waymo.tar", Path(shutil.make_archive("w", "tar", home, "waymo_v2_parquet")).read_bytes())

    for truth in (f"{s3_store}/coco", f"{s3_store}/coco/annotations/instances_default.json", f"{s3_store}/coco.zip"):
        for predictions in ("said.json", f"{s3_store}/said/said.json", f"{s3_store}/said"):
            assert numbers(capsys, truth, predictions) == expected
    waymo = _waymo_names(said)
    assert numbers(capsys, f"{s3_store}/waymo.tar", waymo) == numbers(capsys, home / "waymo_v2_parquet", waymo)


def test_what_is_wrong_on_s3_is_told_with_its_address(capsys, s3_store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    turned = document([annotation(1, 1, (60, 10, -50, 50))])
    write_bytes(f"{s3_store}/gt.json", json.dumps(turned).encode())
    write_bytes(f"{s3_store}/broken.json", b'{"images": [')
    Path("said.json").write_text(json.dumps([result(1, (10, 10, 50, 50))]))

    for name in ("gt.json", "broken.json"):
        code, _, told = evaluate(capsys, f"{s3_store}/{name}", "said.json")
        assert (code, f"{s3_store}/{name}" in told) == (1, True)
        assert len(told.strip().splitlines()) == 1
    assert evaluate(capsys, f"{s3_store}/nothing", "said.json")[0] in {1, 3}
    assert evaluate(capsys, "said.json", f"{s3_store}/nothing.json")[0] in {1, 3}


def _zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def test_an_archive_that_cannot_be_opened_is_named(said, capsys):
    Path("cut.zip").write_bytes(b"PK\x03\x04 and no more")
    Path("cut.tar.gz").write_bytes(b"\x1f\x8b and no more")

    for name, why in (("cut.zip", "cannot be read to its end"), ("cut.tar.gz", "it begins as no zip and no tar does")):
        code, _, told = evaluate(capsys, name, "said.json")
        assert code == 1
        assert told.startswith(f"driveflow: {name}: {why}")
        assert len(told.strip().splitlines()) == 1


def test_a_table_of_predictions_may_be_larger_than_any_file_of_a_batch(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch_files, "MAX_FILE_BYTES", 100)
    _coco_of("truth.json", ("a.jpg",), scored=False)
    box = {"x1": [10], "y1": [10], "x2": [60], "y2": [60], "score": [0.5]}
    pl.DataFrame({"frame_id": ["a.jpg"], "class_name": ["car"], **box}).write_parquet("said.parquet")

    assert numbers(capsys, "truth.json", "said.parquet")["AP50"] == pytest.approx(1.0)


def test_what_of_an_archive_is_not_read_is_a_correction(said, capsys):
    labels = (shared_data(SAME_TRUTH) / "coco" / "annotations" / "instances_default.json").read_bytes()
    _zip("labels.zip", {"instances.json": labels, "../up.json": b"{}"})

    assert kinds(capsys, "labels.zip", "said.json") == {"archive_path_escape": 1}


def test_names_in_an_archive_that_no_folder_could_hold_are_read_too(said, capsys):
    labels = (shared_data(SAME_TRUTH) / "coco" / "annotations" / "instances_default.json").read_bytes()
    _zip("beside.zip", {"instances.json": labels, f"{'a' * 300}.json": b"{}", "x.json": b"{}", "x.json/y.txt": b""})
    _zip("long.zip", {f"{'a' * 300}.json": labels})

    expected = numbers(capsys, shared_data(SAME_TRUTH) / "coco", "said.json")
    assert numbers(capsys, "beside.zip", "said.json") == expected
    assert numbers(capsys, "long.zip", "said.json") == expected


def test_a_link_beside_an_archive_is_not_followed_and_told(said, capsys):
    Path("labels").mkdir()
    home = shared_data(SAME_TRUTH) / "coco"
    labels = (home / "annotations" / "instances_default.json").read_bytes()
    _zip("labels/labels.zip", {"instances.json": labels})
    Path("labels/more.json").symlink_to(Path("said.json").resolve())

    assert kinds(capsys, "labels", "said.json") == {"link": 1}
    assert numbers(capsys, "labels", "said.json") == numbers(capsys, home, "said.json")


def test_a_line_of_a_file_in_an_archive_is_named_as_a_person_finds_it(said, capsys):
    with tarfile.open("rows.tar", "w") as archive:
        data = b"car 0.9 1 1 5 5\ncar 1 1\n"
        entry = tarfile.TarInfo("dets/a.txt")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))

    code, _, told = evaluate(capsys, "said.json", "rows.tar", "--format", "coco,text_xyxy")

    assert code == 1
    assert "driveflow: rows.tar!/dets/a.txt:2: 'car 1 1' is no class with 4 numbers" in told


FOLDERS = ("day/1.jpg", "night/1.jpg")


def _coco_of(path, names, scored):
    images = [{"id": number, "file_name": name, "width": 200, "height": 200} for number, name in enumerate(names, 1)]
    rows = [{**annotation(number, number, (10, 10, 50, 50)), "score": 0.9} for number in range(1, len(names) + 1)]
    rows = rows if scored else [{key: value for key, value in row.items() if key != "score"} for row in rows]
    value = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": rows}
    Path(path).write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("truth", "predictions", "told"),
    [
        (FOLDERS, ("1.jpg",), "'1.jpg' may be the frame 'day/1.jpg' or 'night/1.jpg' of the truth"),
        (("a.jpg", "a.png"), ("a.jpeg",), "'a.jpeg' may be the frame 'a.jpg' or 'a.png' of the truth"),
        (("1.jpg",), FOLDERS, "'day/1.jpg' and 'night/1.jpg' would both be the frame '1.jpg' of the truth"),
        (("train/1.jpg",), ("val/1.jpg",), "no prediction is of a frame of the truth"),
        (("a.jpg",), ("b.jpg",), "it names ['b.jpg'], the truth has ['a.jpg']. Both must name pictures alike"),
    ],
)
def test_a_picture_that_cannot_be_matched_for_sure_is_an_error_and_no_number(
    tmp_path, monkeypatch, capsys, truth, predictions, told
):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", truth, scored=False)
    _coco_of("said.json", predictions, scored=True)

    code, _, said = evaluate(capsys, "truth.json", "said.json")

    assert code == 1
    assert told in said
    assert "said.json" in said


def test_a_picture_of_another_folder_is_counted_and_told_and_goes_behind_one_of_the_same_folder(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", ("day/1.jpg", "day/2.jpg"), scored=False)
    _coco_of("other.json", ("dusk/1.jpg", "far/2.jpg"), scored=True)
    _coco_of("both.json", ("day/1.jpg", "night/1.jpg"), scored=True)

    assert kinds(capsys, "truth.json", "both.json") == {"detection_in_unknown_frame": 1}


SEQUENCES = ("seq1/images/1.jpg", "seq2/images/1.jpg")


@pytest.mark.parametrize("predictions", [("seq1/1.jpg", "seq2/1.jpg"), ("out/seq1/dets/1.jpg", "out/seq2/dets/1.jpg")])
def test_folders_that_every_data_set_has_do_not_part_two_names(tmp_path, monkeypatch, capsys, predictions):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", SEQUENCES, scored=False)
    _coco_of("said.json", predictions, scored=True)

    assert numbers(capsys, "truth.json", "said.json")["AP50"] == pytest.approx(1.0)
    assert kinds(capsys, "truth.json", "said.json") == {"tied_scores": 2}


@pytest.mark.parametrize("names", [("a.jpg", "a.png"), ("day/a.JPG", "day/a.png", "night/a.jpg")])
@pytest.mark.parametrize("folder", ["", "set/images/"])
def test_pictures_whose_names_differ_in_the_extension_alone_are_parted_by_it(
    tmp_path, monkeypatch, capsys, names, folder
):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", [f"{folder}{name}" for name in names], scored=False)
    _coco_of("said.json", names, scored=True)

    assert numbers(capsys, "truth.json", "said.json")["AP50"] == pytest.approx(1.0)
    assert kinds(capsys, "truth.json", "said.json") == {"tied_scores": len(names)}


def test_another_folder_with_a_picture_of_that_name_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", ("day/1.jpg", "night/2.jpg"), scored=False)
    _coco_of("said.json", ("dusk/1.jpg", "night/2.jpg"), scored=True)

    assert kinds(capsys, "truth.json", "said.json") == {"frame_joined_by_name": 1, "tied_scores": 2}


def test_results_that_name_ids_are_refused_where_the_truth_has_none(said, capsys):
    rows = [{key: row[key] for key in ("image_id", "category_id", "bbox", "score")} for row in said["annotations"]]
    Path("results.json").write_text(json.dumps(rows))

    code, _, told = evaluate(capsys, shared_data(SAME_TRUTH) / "voc", "results.json")

    assert code == 1
    assert "numbers of a COCO result list need a truth that has them: give the COCO file" in told


def test_predictions_of_other_classes_altogether_are_an_error_and_no_zero(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _coco_of("truth.json", ("a.jpg",), scored=False)
    _coco_of("said.json", ("a.jpg",), scored=True)
    Path("said.json").write_text(Path("said.json").read_text().replace('"car"', '"Car"'))

    code, _, told = evaluate(capsys, "truth.json", "said.json")

    assert code == 1
    assert "no prediction is of a class of the truth: it says ['Car'], the truth has ['car']" in told
