"""Tell by content which label formats a batch has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.formats.catalog import FORMATS
from driveflow.formats.label_set import LabelFiles
from driveflow.formats.sniff import Sniffer

_READ_AS: Final = {"bare_yolo": "yolo"}


@dataclass(frozen=True, slots=True)
class _Only:
    """A batch of which only some files can be seen."""

    files: LabelFiles
    paths: Sequence[str]

    def read(self, path: str) -> bytes:
        return self.files.read(path)


def detect_formats(files: LabelFiles, annotations: str = "") -> list[str]:
    """Return the formats that find label files in the batch, the surest first; `folder` where none does.

    With `annotations`, a file of the batch or a folder in it, only what lies there is looked at.
    """
    sniffer = Sniffer(_Only(files, _at(files, annotations)) if annotations else files)
    found = [_READ_AS.get(name, name) for name, known in FORMATS.items() if known.find(sniffer)]
    return list(dict.fromkeys(found)) or ["folder"]


def detect_format(files: LabelFiles, annotations: str = "") -> str:
    """Return the surest of `detect_formats`."""
    return detect_formats(files, annotations)[0]


def _at(files: LabelFiles, annotations: str) -> list[str]:
    folder = annotations.rstrip("/") + "/"
    return [path for path in files.paths if path == annotations or path.startswith(folder)]
