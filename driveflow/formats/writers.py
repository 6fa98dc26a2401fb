"""The label formats that driveflow writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from driveflow.formats.carries import Carries
from driveflow.formats.export import Export, Written
from driveflow.formats.write_coco import COCO, write_coco
from driveflow.formats.write_cvat import CVAT, write_cvat
from driveflow.formats.write_kitti import KITTI, write_kitti
from driveflow.formats.write_label_studio import LABEL_STUDIO, write_label_studio
from driveflow.formats.write_openlabel import OPENLABEL, write_openlabel
from driveflow.formats.write_scalabel import SCALABEL, write_scalabel
from driveflow.formats.write_voc import VOC, write_voc
from driveflow.formats.write_yolo import YOLO, write_yolo


@dataclass(frozen=True, slots=True)
class LabelWriter:
    """One format: `write` puts an export into a folder, `carries` says what it has a place for."""

    write: Callable[[Export, Path], Written]
    carries: Carries


WRITERS: Final[Mapping[str, LabelWriter]] = {
    "coco": LabelWriter(write_coco, COCO),
    "yolo": LabelWriter(write_yolo, YOLO),
    "kitti": LabelWriter(write_kitti, KITTI),
    "voc": LabelWriter(write_voc, VOC),
    "scalabel": LabelWriter(write_scalabel, SCALABEL),
    "cvat": LabelWriter(write_cvat, CVAT),
    "label_studio": LabelWriter(write_label_studio, LABEL_STUDIO),
    "openlabel": LabelWriter(write_openlabel, OPENLABEL),
}
"""By the names of the readers in `catalog.FORMATS`."""
