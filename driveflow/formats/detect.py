"""Tell by content which label formats a batch has."""

from typing import Final

from driveflow.formats.catalog import FORMATS
from driveflow.formats.label_set import LabelFiles
from driveflow.formats.sniff import Sniffer, within

_READ_AS: Final = {"bare_yolo": "yolo"}


def detect_formats(files: LabelFiles, annotations: str = "") -> list[str]:
    """Return the formats that find label files in the batch, the surest first; `folder` where none does.

    With `annotations`, a file of the batch or a folder in it, only what lies there is looked at.
    """
    sniffer = Sniffer(within(files, annotations))
    found = [_READ_AS.get(name, name) for name, known in FORMATS.items() if known.find(sniffer)]
    return list(dict.fromkeys(found)) or ["folder"]


def detect_format(files: LabelFiles) -> str:
    """Return the surest of `detect_formats`."""
    return detect_formats(files)[0]
