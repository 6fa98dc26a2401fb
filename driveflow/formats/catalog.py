"""The label formats that driveflow reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.formats.bdd100k import bdd100k_files, read_bdd100k
from driveflow.formats.coco import coco_files, read_coco
from driveflow.formats.cvat import cvat_files, read_cvat
from driveflow.formats.dota import dota_files, read_dota
from driveflow.formats.kitti import kitti_files, read_kitti
from driveflow.formats.kitti_tracking import kitti_tracking_files, read_kitti_tracking
from driveflow.formats.label_set import LabelFiles, LabelSet, no_labels
from driveflow.formats.label_studio import read_label_studio
from driveflow.formats.label_studio_tasks import label_studio_files
from driveflow.formats.labelme import labelme_files, read_labelme
from driveflow.formats.mot import mot_files, read_mot
from driveflow.formats.nuscenes import nuscenes_files, read_nuscenes
from driveflow.formats.open_images import open_images_files, read_open_images
from driveflow.formats.openlabel import openlabel_files, read_openlabel
from driveflow.formats.recording import read_recording, recording_files
from driveflow.formats.scalabel import read_scalabel, scalabel_files
from driveflow.formats.sniff import Sniffer
from driveflow.formats.udacity import read_udacity, udacity_files
from driveflow.formats.voc import read_voc, voc_files
from driveflow.formats.waymo import read_waymo, waymo_files
from driveflow.formats.yolo import read_yolo
from driveflow.formats.yolo_layout import bare_yolo_files, yolo_settings_files


@dataclass(frozen=True, slots=True)
class LabelFormat:
    """One format: `read` takes the files and what the batch names as annotations, or nothing.

    `find` returns, by content, the files that are of this format.
    """

    read: Callable[[LabelFiles, str], LabelSet]
    find: Callable[[Sniffer], Sequence[str]]


def read_folder(files: LabelFiles, annotations: str = "") -> LabelSet:  # noqa: ARG001 the face of every reader
    """Return no labels: an image folder says nothing about its pictures."""
    return no_labels()


FORMATS: Final[Mapping[str, LabelFormat]] = {
    "dota": LabelFormat(read_dota, dota_files),  # its text files may lie beside settings of YOLO
    "yolo": LabelFormat(read_yolo, yolo_settings_files),
    "waymo": LabelFormat(read_waymo, waymo_files),
    "nuscenes": LabelFormat(read_nuscenes, nuscenes_files),
    "coco": LabelFormat(read_coco, coco_files),
    "openlabel": LabelFormat(read_openlabel, openlabel_files),
    "label_studio": LabelFormat(read_label_studio, label_studio_files),
    "open_images": LabelFormat(read_open_images, open_images_files),
    "bdd100k": LabelFormat(read_bdd100k, bdd100k_files),
    "scalabel": LabelFormat(read_scalabel, scalabel_files),
    "cvat": LabelFormat(read_cvat, cvat_files),
    "labelme": LabelFormat(read_labelme, labelme_files),
    "voc": LabelFormat(read_voc, voc_files),
    "mot": LabelFormat(read_mot, mot_files),
    "kitti": LabelFormat(read_kitti, kitti_files),
    "kitti_tracking": LabelFormat(read_kitti_tracking, kitti_tracking_files),
    "recording": LabelFormat(read_recording, recording_files),
    "udacity": LabelFormat(read_udacity, udacity_files),
    # bare text files beside pictures are the weakest sign of all, so they are looked for last: see detect.py
    "bare_yolo": LabelFormat(read_yolo, bare_yolo_files),
    "folder": LabelFormat(read_folder, lambda _sniffer: ()),
}
"""By name, the surest sign first: where a batch is of several formats, the first that finds files is read."""
