"""`driveflow data export`: into a folder that is new, whole or begun, and never with less than the snapshot has."""

import json
import shutil

import pytest

from driveflow.canonical import digest_bytes
from driveflow.formats.writers import WRITERS
from driveflow.snapshots import open_snapshot
from tests.cli.calling import call
from tests.ingestion.batches import coco, picture, write

OTHER = digest_bytes(picture(2))


@pytest.fixture
def workspace(tmp_path, capsys):
    """Make a workspace with a snapshot called `may`: two pictures, one of them empty, and an ignore region."""
    document = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, (1, 2, 10, 20)), (2, 1, 2, (30.5, 2, 10, 20))])
    document["annotations"][1]["iscrowd"] = 1
    batch = write(tmp_path / "may", {"a.jpg": picture(1), "b.jpg": picture(2), "labels.json": document})
    assert call(capsys, "data", "import", str(batch), "--as", "may", "-w", str(tmp_path / "ws"))[0] == 0
    return tmp_path / "ws"


def _export(capsys, workspace, folder, *more):
    return call(capsys, "data", "export", "may", str(folder), *more, "-w", str(workspace))


def test_an_export_says_what_it_holds_and_comes_back_as_the_same_frames(workspace, tmp_path, capsys):
    code, out, _ = _export(capsys, workspace, tmp_path / "out", "--format", "coco", "-o", "json")

    told = json.loads(out)
    assert code == 0
    assert (told["format"], told["frames"], told["boxes"], told["left_out"]) == ("coco", 2, 2, [])
    assert len(list((tmp_path / "out" / "images" / "train").iterdir())) == 2
    code, out, _ = call(
        capsys, "data", "import", str(tmp_path / "out"), "--as", "back", "-w", str(workspace), "-o", "json"
    )
    assert code == 0
    assert json.loads(out)["counts"]["boxes"] == 2


@pytest.mark.parametrize("label_format", sorted(WRITERS))
@pytest.mark.parametrize("packed", [False, True])
def test_what_a_format_adds_to_all_boxes_is_not_taken_for_what_somebody_said(tmp_path, capsys, label_format, packed):
    document = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, (1, 2, 10, 20)), (2, 1, 2, (30.5, 2, 10, 20))])
    batch = write(tmp_path / "may", {"a.jpg": picture(1), "b.jpg": picture(2), "labels.json": document})
    workspace, back = tmp_path / "ws", tmp_path / "back" / "out"
    assert call(capsys, "data", "import", str(batch), "--as", "may", "-w", str(workspace))[0] == 0
    assert _export(capsys, workspace, back, "--format", label_format)[0] == 0
    if packed:
        shutil.make_archive(str(back), "zip", back)
        shutil.rmtree(back)

    assert call(capsys, "data", "import", str(back.parent), "--as", "back", "-w", str(workspace))[0] == 0
    code, out, _ = call(capsys, "data", "diff", "may", "back", "-w", str(workspace), "-o", "json")

    assert code == 0
    assert {name: count for name, count in json.loads(out)["boxes"].items() if count} == {"unchanged": 2}


def test_what_one_box_says_is_kept_though_the_format_says_it_of_all(tmp_path, capsys):
    document = coco([(1, "a.jpg")], [(1, 1, 1, (1, 2, 10, 20)), (2, 1, 1, (30.5, 2, 10, 20))])
    document["annotations"][0]["attributes"] = {"occluded": False}
    batch = write(tmp_path / "may", {"a.jpg": picture(1), "labels.json": document})
    workspace = tmp_path / "ws"
    assert call(capsys, "data", "import", str(batch), "--as", "may", "-w", str(workspace))[0] == 0
    assert _export(capsys, workspace, tmp_path / "out", "--format", "cvat")[0] == 0

    assert call(capsys, "data", "import", str(tmp_path / "out"), "--as", "back", "-w", str(workspace))[0] == 0
    code, out, _ = call(capsys, "data", "diff", "may", "back", "-w", str(workspace), "-o", "json")

    assert code == 0
    assert {name: count for name, count in json.loads(out)["boxes"].items() if count} == {"changed": 1, "unchanged": 1}


@pytest.mark.parametrize(
    "marker", ["[]", '{"snapshot_id": 1}', '{"snapshot_id":"s","format":"coco","adds":["occluded"]}']
)
def test_a_marker_that_is_not_of_this_format_takes_nothing_away(tmp_path, capsys, marker):
    said = '<box label="car" occluded="0" xtl="1" ytl="2" xbr="10" ybr="20"/>'
    files = {"annotations.xml": f'<annotations><image id="0" name="a.jpg">{said}</image></annotations>'}
    batch = write(tmp_path / "may", {"a.jpg": picture(1), "export.json": marker, **files})

    code, out, _ = call(capsys, "data", "import", str(batch), "--as", "may", "-w", str(tmp_path / "ws"), "-o", "json")

    assert code == 0
    boxes = open_snapshot((tmp_path / "ws/store/snapshots" / json.loads(out)["snapshot"]).as_uri()).boxes()
    assert boxes["attributes"].to_pylist() == ['{"occluded":false}']


def test_what_a_format_cannot_carry_ends_the_export_before_anything_is_written(workspace, tmp_path, capsys):
    code, out, err = _export(capsys, workspace, tmp_path / "out", "--format", "yolo")

    assert (code, out) == (1, "")
    assert "--lossy" in err
    assert "YOLO has no ignore regions: 1 boxes are left out." in err
    assert not (tmp_path / "out").exists()


def test_lossy_leaves_it_out_and_says_so(workspace, tmp_path, capsys):
    code, out, _ = _export(capsys, workspace, tmp_path / "out", "--format", "yolo", "--lossy")

    assert code == 0
    assert "YOLO has no ignore regions: 1 boxes are left out." in out
    assert "no ignore regions" in json.loads((tmp_path / "out" / "export.json").read_text())["left_out"][0]


def test_labels_alone_are_written_without_pictures(workspace, tmp_path, capsys):
    assert _export(capsys, workspace, tmp_path / "out", "--format", "coco", "--no-pictures")[0] == 0

    assert not (tmp_path / "out" / "images").exists()
    assert (tmp_path / "out" / "annotations" / "instances_train.json").is_file()


def test_a_folder_with_anything_else_in_it_is_refused(workspace, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")

    code, _, err = _export(capsys, workspace, tmp_path / "out", "--format", "coco")

    assert code == 2
    assert "is not empty" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_whole_export_is_left_alone_and_another_is_not_written_over_it(workspace, tmp_path, capsys):
    out = tmp_path / "out"
    first = _export(capsys, workspace, out, "--format", "coco", "-o", "json")
    written = (out / "annotations" / "instances_train.json").stat().st_mtime_ns

    assert _export(capsys, workspace, out, "--format", "coco", "-o", "json") == first
    assert (out / "annotations" / "instances_train.json").stat().st_mtime_ns == written
    assert _export(capsys, workspace, out, "--format", "scalabel")[0] == 2


def test_an_export_that_was_stopped_goes_on_and_ends_as_if_it_had_not(workspace, tmp_path, capsys):
    whole, half = tmp_path / "whole", tmp_path / "half"
    _export(capsys, workspace, whole, "--format", "coco")
    _export(capsys, workspace, half, "--format", "coco")
    told = json.loads((half / "export.json").read_text())
    begun = {key: told[key] for key in ("snapshot_id", "format", "split", "lossy", "pictures")}
    (half / "export-begun.json").write_text(json.dumps(begun))  # as it is before the last step
    (half / "export.json").unlink()
    pictures = sorted((half / "images" / "train").iterdir())
    kept = pictures[0].stat().st_mtime_ns
    pictures[1].unlink()
    pictures[1].with_name(f"{pictures[1].name}.part").write_bytes(b"cut sh")

    assert _export(capsys, workspace, half, "--format", "coco")[0] == 0

    files = [{path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
             for home in (whole, half)]  # fmt: skip
    assert files[0] == files[1]
    assert pictures[0].stat().st_mtime_ns == kept


@pytest.mark.parametrize("stopped", [False, True], ids=["whole", "stopped"])
def test_an_export_with_frames_that_were_withdrawn_since_is_refused(workspace, tmp_path, capsys, stopped):
    out = tmp_path / "out"
    _export(capsys, workspace, out, "--format", "coco", "--lossy")
    if stopped:
        told = json.loads((out / "export.json").read_text())
        begun = {key: value for key, value in told.items() if key not in {"frames", "boxes", "adds", "left_out"}}
        (out / "export-begun.json").write_text(json.dumps(begun))
        (out / "export.json").unlink()
    assert call(capsys, "data", "withdraw", "a.jpg", "--reason", "law", "-y", "-w", str(workspace))[0] == 0

    code, _, err = _export(capsys, workspace, out, "--format", "coco", "--lossy")

    assert (code, "before frames of it were withdrawn" in err) == (2, True)
    assert len(list((out / "images" / "train").iterdir())) == 2  # the folder is not ours to purge
    code, said, _ = _export(capsys, workspace, tmp_path / "anew", "--format", "coco", "--lossy", "-o", "json")
    again = _export(capsys, workspace, tmp_path / "anew", "--format", "coco", "--lossy", "-o", "json")
    assert (code, again[:2]) == (0, (0, said))
    assert [path.name for path in (tmp_path / "anew" / "images" / "train").iterdir()] == [f"{OTHER}.jpg"]


def test_a_split_without_frames_and_an_unknown_snapshot_are_not_found(workspace, tmp_path, capsys):
    code, _, err = _export(capsys, workspace, tmp_path / "out", "--format", "coco", "--split", "holdout")
    assert code == 3
    assert "has no frames in split holdout" in err
    code, _, _ = call(capsys, "data", "export", "june", str(tmp_path / "o"), "--format", "coco", "-w", str(workspace))
    assert code == 3


def test_a_format_that_is_not_written_is_a_wrong_call(workspace, tmp_path, capsys):
    assert _export(capsys, workspace, tmp_path / "out", "--format", "waymo")[0] == 2


@pytest.mark.parametrize("address", ["s3://bucket/out", "file:///somewhere/out"])
def test_an_address_is_no_folder_to_export_to(workspace, tmp_path, capsys, monkeypatch, address):
    monkeypatch.chdir(tmp_path)

    code, out, err = _export(capsys, workspace, address, "--format", "coco")

    assert (code, out) == (2, "")
    assert "is an address, and exports go to a local folder" in err
    assert not any(path.name in {"s3:", "file:"} for path in tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told_in_one_line(workspace, tmp_path, capsys):
    (tmp_path / "file").touch()

    code, _, err = _export(capsys, workspace, tmp_path / "file" / "out", "--format", "coco")

    assert (code, err) == (1, f"driveflow: Cannot write {tmp_path / 'file' / 'out'}: Not a directory\n")


def test_a_workspace_that_cannot_be_written_is_told_in_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    batch = write(tmp_path / "b", {"a.jpg": picture(1)})

    code, _, err = call(capsys, "data", "import", str(batch), "--as", "b", "-w", str(tmp_path / "file" / "ws"))

    assert (code, err.count("\n")) == (2, 1)
    assert f"{tmp_path / 'file'} is a file, and should be a folder" in err
