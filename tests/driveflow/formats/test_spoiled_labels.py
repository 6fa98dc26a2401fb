"""No reader may raise on what a label file holds, and every count must come from somewhere."""

import random

import pytest

from driveflow.formats.bdd100k import read_bdd100k
from driveflow.formats.cvat import read_cvat
from driveflow.formats.dota import read_dota
from driveflow.formats.kitti import read_kitti
from driveflow.formats.label_set import LABEL_BOXES, LABEL_IMAGES
from driveflow.formats.label_studio import read_label_studio
from driveflow.formats.labelme import read_labelme
from driveflow.formats.mot import read_mot
from driveflow.formats.open_images import read_open_images
from driveflow.formats.openlabel import read_openlabel
from driveflow.formats.scalabel import read_scalabel
from driveflow.formats.udacity import read_udacity
from driveflow.formats.voc import read_voc
from tests.driveflow.formats.in_memory import InMemory
from tests.driveflow.formats.on_disk import OnDisk
from tests.shared_data import shared_data

SETS = {
    "voc": (read_voc, "fmt_datumaro/voc_dataset", "xml"),
    "kitti": (read_kitti, "fmt_same_truth/kitti", "txt"),
    "cvat": (read_cvat, "fmt_datumaro/cvat_dataset/for_images", "xml"),
    "labelme": (read_labelme, "fmt_same_truth/labelme", "json"),
    "old labelme": (read_labelme, "fmt_datumaro/labelme_dataset", "xml"),
    "mot": (read_mot, "fmt_datumaro/mot_dataset", "txt"),
    "bdd100k": (read_bdd100k, "fmt_same_truth/bdd100k_2018", "json"),
    "scalabel": (read_scalabel, "fmt_scalabel", "json"),
    "openlabel": (read_openlabel, "fmt_openlabel_vcd", "json"),
    "label studio": (read_label_studio, "fmt_labelstudio_converter", "json"),
    "label studio as csv": (read_label_studio, "fmt_labelstudio_converter", "csv"),
    "open images": (read_open_images, "fmt_same_truth/open_images", "bbox.csv"),
    "udacity": (read_udacity, "fmt_same_truth/udacity_csv", "csv"),
    "vott": (read_udacity, "fmt_datumaro/vott_csv_dataset", "csv"),
    "dota": (read_dota, "fmt_datumaro/roboflow_dataset/yolo_obb", "txt"),
}
PIECES = [b"", b"-", b"nan", b"1e999", b"99999999999999999999", b"\xff\xfe", b"\x00", b"<", b"&x;", b'"', b",", b"\n"]
PIECES += [b"{}", b"null", "ä".encode(), "\U0001f697".encode(), b"0", b"-1", b" ", b"\\ud800"]


def spoil(data, random_):
    """Return `data` with a few places cut, doubled or overwritten."""
    for _ in range(random_.randint(1, 4)):
        at, length = random_.randrange(len(data) + 1), random_.choice([0, 1, 2, 5, 40])
        piece = random_.choice([*PIECES, data[at : at + length] * 2])
        data = data[:at] + piece + data[at + length :]
    return data[: random_.randrange(len(data) + 1)] if random_.random() < 0.1 else data


@pytest.mark.parametrize("name", SETS)
def test_a_spoiled_file_never_raises_and_leaves_only_usable_boxes(name):
    read, folder, ending = SETS[name]
    disk = OnDisk(shared_data(folder))
    files = {path: disk.read(path) if path.endswith((ending, "txt", "ini")) else b"" for path in disk.paths}
    annotations = [path for path, data in files.items() if path.endswith(ending) and data and "ImageSets" not in path]
    random_ = random.Random(name)

    for _ in range(60):
        path = random_.choice(annotations)
        labels = read(InMemory({**files, path: spoil(files[path], random_)}), random_.choice(["", path]))

        labels.images.validate(full=True)
        assert labels.images.schema == LABEL_IMAGES
        assert labels.boxes.schema == LABEL_BOXES
        for row in labels.boxes.to_pylist():
            assert row["class_name"]
            assert row["x1"] < row["x2"] < float("inf")
            assert row["y1"] < row["y2"] < float("inf")
        assert all(problem.reason.startswith("label_") for problem in labels.problems)
