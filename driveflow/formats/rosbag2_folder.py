"""Know which files are parts of one rosbag2 recording, by the metadata.yaml beside them."""

import posixpath
import re
from collections import Counter
from typing import Any, Final

import yaml

from driveflow.formats.label_set import LabelFiles, LabelProblem
from driveflow.formats.path_index import folder_of, under

_NAME: Final = "metadata.yaml"
_ENDINGS: Final = frozenset([".db3", ".mcap"])
_ROOT: Final = "rosbag2_bagfile_information"
_MAX_BYTES: Final = 1 << 20
_NESTED: Final = re.compile(rb"(?:[\[{]\s*){9}|(?:[-?]\s+){9}")  # no recorder writes so, and no parser takes it well


class BagFolders:
    """The rosbag2 folders of a batch; `settings` are their metadata files, `problems` what is missing of them."""

    def __init__(self, files: LabelFiles) -> None:
        """Read the metadata files among `files`."""
        self.settings: set[str] = set()
        self.problems: list[LabelProblem] = []
        self._bag_of: dict[str, str] = {}
        recordings = {folder_of(path).removesuffix("!") for path in files.paths if folder_of(path).endswith("!")}
        for path in files.paths:
            if posixpath.basename(path) == _NAME:
                self._take(path, files.read(path), recordings | set(files.paths))
        numbered = Counter(folder_of(path) for path in recordings if _is_numbered(path))
        self._bag_of = {
            path: folder_of(path) for path in recordings if _is_numbered(path) and numbered[folder_of(path)] > 1
        } | self._bag_of

    def drive_of(self, container: str) -> str:
        """Return the recording that the file `container` ("a/b.mcap!") is, or is a part of, as the name of a drive."""
        path = container.removesuffix("!")
        return self._bag_of.get(path) or posixpath.splitext(path)[0]

    def _take(self, path: str, data: bytes, known: set[str]) -> None:
        parts = _parts(data)
        if parts is None:
            return
        self.settings.add(path)
        folder = folder_of(path)
        for part in parts:
            # paths of old bags begin with the folder's own name
            place = next((spot for spot in (under(folder, part), under(folder, posixpath.basename(part)))
                          if spot in known), None)  # fmt: skip
            if place is None:
                detail = f"{part} belongs to the recording, but is no file of the batch that can be read"
                self.problems.append(LabelProblem(path, "recording_missing_part", detail))
            else:
                self._bag_of[place] = folder or posixpath.splitext(parts[0])[0].removesuffix("_0")


def _is_numbered(path: str) -> bool:
    """Tell whether a recording is named as rosbag2 names the parts of one, `bag/bag_1.db3`: no list of them is needed.

    A recorder that was killed has written none.
    """
    stem, ending = posixpath.splitext(posixpath.basename(path))
    name, _, number = stem.rpartition("_")
    return ending in _ENDINGS and number.isdecimal() and name == posixpath.basename(folder_of(path)) != ""


def _parts(data: bytes) -> list[str] | None:
    """Return the files that a metadata.yaml lists; None where it is of something else."""
    if len(data) > _MAX_BYTES or _ROOT.encode() not in data or _NESTED.search(data):
        return None
    try:
        document: Any = yaml.safe_load(data)
        paths = document[_ROOT]["relative_file_paths"]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return [_name(path) for path in paths] if isinstance(paths, list) else None


def _name(path: object) -> str:
    # by anchors a few lists spell out gigabytes
    return str(path) if isinstance(path, str | int | float) else "what is no name"
