"""Tell by content which label format a batch has."""

from driveflow.formats.coco import coco_files
from driveflow.formats.file_kinds import may_be_picture
from driveflow.formats.label_set import LabelFiles
from driveflow.formats.yolo_layout import is_names_file, settings_of


def detect_format(files: LabelFiles) -> str:
    """Return yolo, coco or folder; a data.yaml or obj.data says YOLO, then the keys of a JSON file say COCO."""
    if any(path.lower().endswith("obj.data") or settings_of(files, path) is not None for path in files.paths):
        return "yolo"
    if coco_files(files):
        return "coco"
    return "yolo" if _has_bare_yolo(files) else "folder"


def _has_bare_yolo(files: LabelFiles) -> bool:
    """Tell whether there is a list of class names, and a text file named like a picture."""
    if not any(is_names_file(path) for path in files.paths):
        return False
    pictures = {_stem(path) for path in files.paths if may_be_picture(path)}
    return any(_stem(path) in pictures for path in files.paths if path.lower().endswith(".txt"))


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]
