"""The label formats that driveflow reads."""

from collections.abc import Callable, Mapping
from typing import Final

from driveflow.formats.coco import read_coco
from driveflow.formats.label_set import LabelFiles, LabelSet, no_labels
from driveflow.formats.yolo import read_yolo


def read_folder(files: LabelFiles, annotations: str = "") -> LabelSet:  # noqa: ARG001 the face of every reader
    """Return no labels: an image folder says nothing about its pictures."""
    return no_labels()


READERS: Final[Mapping[str, Callable[[LabelFiles, str], LabelSet]]] = {
    "coco": read_coco,
    "yolo": read_yolo,
    "folder": read_folder,
}
"""By format name: (files, annotations file or "") -> what the labels say."""
