"""Read from KITTI's devkit of which drive each training picture is: they were drawn from few drives and shuffled.

`train_rand.txt` has, for picture 0, 1, 2 ..., a line number of `train_mapping.txt`, counted from 1, and that line the
day, the drive and the frame of the raw recording.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.formats.label_set import LabelFiles, LabelProblem
from driveflow.formats.path_index import folder_of

_RAND, _MAPPING = "train_rand.txt", "train_mapping.txt"
_LINE: Final = re.compile(r"\d{4}_\d\d_\d\d\s+(\d{4}_\d\d_\d\d_drive_\d{4}\w*)\s+\d+")
_PICTURE: Final = re.compile(r"(?:^|/)training/image_\d+/(\d{6})\.\w+$")
_MANY: Final = 100  # pictures, from which on it is worth a note that nobody says of which drive they are


@dataclass(frozen=True, slots=True)
class KittiDrives:
    """The drive of each training picture, from which files, and what was wrong with them."""

    drives: Mapping[str, str]
    files: frozenset[str] = frozenset()
    problems: tuple[LabelProblem, ...] = ()
    note: str = ""


def read_drives(files: LabelFiles, pictures: Sequence[str]) -> KittiDrives:
    """Return the drive of each of `pictures` that is one of training/image_2, image_3 ... by its number."""
    numbers = {path: int(match[1]) for path in pictures if (match := _PICTURE.search(path))}
    rand, mapping = _devkit(files)
    if not numbers or not rand:
        note = (
            f"The {len(numbers)} pictures of training/ may be frames of few drives, shuffled, as KITTI's are; with"
            f" {_MAPPING} and {_RAND} of its devkit in the batch those of one drive stay in one split."
        )
        return KittiDrives({}, note=note if len(numbers) >= _MANY else "")
    try:
        order = [int(text) for text in _text(files, rand).replace(",", " ").split()]
    except ValueError as error:
        return _refused(rand, (mapping, rand), f"{str(error)[:80]}; it holds whole numbers with commas between", None)
    lines = _text(files, mapping).splitlines()
    drives = {}
    for path, number in numbers.items():
        line = order[number] if number < len(order) else 0
        match = _LINE.fullmatch(lines[line - 1].strip()) if 0 < line <= len(lines) else None
        if match is None:
            told = f"picture {number:06} has line {line} of {len(lines)}, which is no day, drive and frame"
            return _refused(mapping, (mapping, rand), told, line if 0 < line <= len(lines) else None)
        drives[path] = match[1]
    return KittiDrives(drives, frozenset([rand, mapping]))


def _devkit(files: LabelFiles) -> tuple[str, str]:
    """Return the two files of the devkit, which lie together; nothing where they are not there."""
    known = set(files.paths)
    for path in files.paths:
        beside = f"{folder_of(path)}/{_MAPPING}".lstrip("/")
        if path.rpartition("/")[2] == _RAND and beside in known:
            return path, beside
    return "", ""


def _text(files: LabelFiles, path: str) -> str:
    return files.read(path).decode("utf-8-sig", "replace")


def _refused(path: str, files: Sequence[str], detail: str, line: int | None) -> KittiDrives:
    return KittiDrives(
        {}, frozenset(files), (LabelProblem(path, "label_syntax", f"no drives are read: {detail}", line),)
    )
