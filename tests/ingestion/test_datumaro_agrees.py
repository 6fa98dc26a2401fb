"""An independent reader, datumaro in an environment of its own, finds in every file the boxes that driveflow finds."""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks import peers
from driveflow.snapshots import open_snapshot
from tests.cli.calling import call
from tests.ingestion.batches import picture, write
from tests.shared_data import shared_data

TOLERANCE_PX = 0.01  # datumaro keeps corners in single precision

# Its VOC reader takes the corners as they are written, which are counted from one and with the last pixel inside.
ONE_BASED = frozenset(["voc"])

READ = """
import json, sys
from datumaro.components.dataset import Dataset

found = {}
for folder, name in zip(sys.argv[1::2], sys.argv[2::2]):
    data = Dataset.import_from(folder, name)
    labels = data.categories().get(next(kind for kind in data.categories() if kind.name == "label"))
    found[folder] = [
        [item.id.split("/")[-1], labels.items[box.label].name, *box.get_bbox()]
        for item in data for box in item.annotations if box.type.name == "bbox"
    ]
print("\\n" + json.dumps(found))
"""

DOCUMENT = {
    "images": [{"id": i, "file_name": f"{i}.jpg", "width": 64, "height": 48} for i in range(3)],
    "annotations": [
        {"id": 10 * i + j, "image_id": i, "category_id": 1 + j % 2, "bbox": [1.5 + j, 2.25 + i, 20.5 - j, 30.125]}
        for i in range(2)  # the third picture is labeled and empty
        for j in range(4)
    ],
    "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "bicycle"}],
}


@pytest.fixture(scope="module")
def datumaro() -> str:
    """The python of an environment that has datumaro: made where CI runs, else by `make peers`."""
    python = peers.make("datumaro") if os.environ.get("CI") else peers.python_of("datumaro")
    return python or pytest.skip(peers.how_to("datumaro"))


def _by_datumaro(python, *folders_and_formats):
    """Return the boxes of each folder as {(picture, class): corners}, read by datumaro in one process."""
    arguments = [str(word) for word in folders_and_formats]
    done = subprocess.run([python, "-W", "ignore", "-c", READ, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    boxes = {}
    for folder, name in zip(arguments[::2], arguments[1::2], strict=True):
        first = -1 if name in ONE_BASED else 0
        boxes[folder] = _grouped(
            (stem, label, (x + first, y + first, x + width, y + height))
            for stem, label, x, y, width, height in read[folder]
        )
    return boxes


def _by_us(uri):
    tables = open_snapshot(uri).tables()
    stems = {row["frame_id"]: Path(row["path"]).stem for row in tables.sources.to_pylist()}
    rows = tables.boxes.to_pylist()
    corners = [(row["x1"], row["y1"], row["x2"], row["y2"]) for row in rows]
    names = [row["class_name"] for row in rows]
    by_frame = _grouped((row["frame_id"], name, box) for row, name, box in zip(rows, names, corners, strict=True))
    by_stem = _grouped((stems[row["frame_id"]], name, box) for row, name, box in zip(rows, names, corners, strict=True))
    return by_frame, by_stem


def _grouped(boxes):
    grouped = defaultdict(list)
    for picture_name, label, corners in boxes:
        grouped[picture_name, label].append(corners)
    return {place: sorted(found) for place, found in grouped.items()}


def _assert_same(theirs, ours):
    assert theirs.keys() == ours.keys()
    for place, boxes in ours.items():
        assert len(theirs[place]) == len(boxes), place
        for left, right in zip(theirs[place], boxes, strict=True):
            assert left == pytest.approx(right, abs=TOLERANCE_PX), place


def _imported(capsys, folder, workspace, name):
    code, out, err = call(capsys, "data", "import", str(folder), "--as", name, "-w", str(workspace), "-o", "json")
    assert code == 0, err
    return json.loads(out)["uri"]


@pytest.fixture
def made(tmp_path):
    return write(tmp_path / "made", {f"{i}.jpg": picture(i) for i in range(3)} | {"labels.json": DOCUMENT})


@pytest.fixture(params=["made", "real"])
def batch(request):
    """A batch made here, and the real one where it is."""
    return request.getfixturevalue("made") if request.param == "made" else shared_data("fmt_same_truth") / "coco"


def test_datumaro_reads_from_every_export_the_boxes_that_were_exported(batch, datumaro, tmp_path, capsys):
    uri = _imported(capsys, batch, tmp_path / "ws", "may")
    read = []
    for name in ("coco", "yolo", "kitti", "voc", "cvat"):
        export = ("data", "export", "may", str(tmp_path / name), "--format", name, "--lossy")
        code, _, err = call(capsys, *export, "-w", str(tmp_path / "ws"))
        assert code == 0, err
        read += [tmp_path / name, name]

    theirs = _by_datumaro(datumaro, *read)

    ours, _ = _by_us(uri)
    assert ours
    for boxes in theirs.values():
        _assert_same(boxes, ours)


@pytest.mark.parametrize(("folder", "name"), [("coco", "coco"), ("kitti", "kitti"), ("cvat_images", "cvat")])
def test_datumaro_and_driveflow_read_the_same_from_the_files_of_others(folder, name, datumaro, tmp_path, capsys):
    source = shared_data("fmt_same_truth") / folder

    theirs = _by_datumaro(datumaro, source, name)

    _, ours = _by_us(_imported(capsys, source, tmp_path / "ws", "may"))
    _assert_same(theirs[str(source)], ours)
