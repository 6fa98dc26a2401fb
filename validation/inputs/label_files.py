"""A file or folder of labels as the readers of formats see it, with the pictures that are not there."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from driveflow.errors import NotFoundError
from driveflow.formats.catalog import FORMATS
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.label_set import LabelSet
from driveflow.formats.path_index import plain_path
from driveflow.formats.picture_finder import stem_of

_NAMED: Final = re.compile(r"^(?:\w+ )?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") is no file of this batch")
_BESIDE: Final = {"voc": ".xml", "kitti": ".txt", "yolo": ".txt", "dota": ".txt", "labelme": ".json"}
"""Formats with a file of labels for each picture."""
_LISTS: Final = frozenset(["classes", "labels", "train", "val", "test", "trainval"])


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files under a folder, and pictures beside them that exist in name only."""

    folder: Path
    paths: Sequence[str]

    def read(self, path: str) -> bytes:
        """Return the bytes of one file."""
        return (self.folder / path).read_bytes()

    def with_pictures(self, pictures: Sequence[str]) -> "LocalFiles":
        """Return the same with pictures that need not be there."""
        return LocalFiles(self.folder, sorted({*self.paths, *pictures}))


def local_files(path: Path) -> LocalFiles:
    """Return the files at `path`, one or all of a folder.

    Raises:
        NotFoundError: there is nothing.
    """
    if path.is_file():
        return LocalFiles(path.parent, [path.name])
    if not path.is_dir():
        raise NotFoundError(f"{path}: there is no such file or folder.")
    found = sorted(item.relative_to(path).as_posix() for item in path.rglob("*") if item.is_file())
    if not found:
        raise NotFoundError(f"{path}: the folder is empty.")
    return LocalFiles(path, found)


def read_labels(files: LocalFiles, label_format: str) -> LabelSet:
    """Return what the labels say, where every picture that they speak of counts as there.

    A picture that a file of its own speaks of is taken to lie beside it; one that is named is looked for once more.
    """
    read = FORMATS[label_format].read
    if label_format in _BESIDE:
        files = files.with_pictures(_beside(files.paths, _BESIDE[label_format]))
    if label_format == "open_images":
        files = files.with_pictures(_first_cells(files))
    labels = read(files, "")
    named = _missing(labels)
    return _read_again(read, files, named) if named else labels


def _read_again(read: Callable[[LocalFiles, str], LabelSet], files: LocalFiles, named: Sequence[str]) -> LabelSet:
    return read(files.with_pictures(named), "")


def _beside(paths: Sequence[str], ending: str) -> list[str]:
    pictures = {stem_of(path) for path in paths if kind_of(path) == "picture"}
    stems = {stem_of(path) for path in paths if path.lower().endswith(ending)} - pictures
    return [f"{stem}.jpg" for stem in sorted(stems) if stem.rpartition("/")[2] not in _LISTS]


def _first_cells(files: LocalFiles) -> list[str]:
    """Return the pictures that rows of Open Images speak of, by their ids."""
    found = set()
    for path in files.paths:
        if path.lower().endswith(".csv"):
            lines = files.read(path).decode("utf-8-sig", "replace").splitlines()
            if lines and lines[0].startswith("ImageID"):
                found |= {f"{line.partition(',')[0].strip()}.jpg" for line in lines[1:] if line.strip()}
    return sorted(found)


def _missing(labels: LabelSet) -> list[str]:
    found = set()
    for problem in labels.problems:
        said = _NAMED.match(problem.detail) if problem.reason == "label_missing_picture" else None
        if said:
            path = re.sub(r"^(/|\.\./)+", "", plain_path(ast.literal_eval(said[1])))
            name = path.rpartition("/")[2]
            if name:
                found.add(path if kind_of(path) == "picture" else f"{path}.jpg")
    return sorted(found)
