"""A file or folder of labels as the readers of formats see it, with the pictures that are not there."""

import ast
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias
from urllib.parse import unquote

from driveflow.errors import NotFoundError
from driveflow.formats.catalog import FORMATS
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.label_set import LabelSet
from driveflow.formats.path_index import plain_path
from driveflow.formats.picture_finder import stem_of
from driveflow.formats.voc import read_voc_as_written

_NAMED: Final = re.compile(r"^(?:\w+ )?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") is no file of this batch")
_BESIDE: Final = {"voc": ".xml", "kitti": ".txt", "yolo": ".txt", "dota": ".txt", "labelme": ".json"}
"""Formats with a file of labels for each picture."""
_FOLDERS: Final = (("labels", "images"), ("Annotations", "JPEGImages"), ("label_2", "image_2"), ("labelTxt", "images"))
_LISTS: Final = frozenset(["classes", "labels", "train", "val", "test", "trainval"])


ReadEach: TypeAlias = Callable[[Sequence[str]], Iterator[tuple[str, bytes]]]
"""Yields the bytes of files, those that can be read."""


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files under a folder, some of which may lie `elsewhere`, and pictures beside them that exist in name only."""

    folder: Path
    paths: Sequence[str]
    elsewhere: ReadEach | None = None

    def holds(self, path: str) -> bool:
        """Tell whether the file lies in the folder; one whose name is too long for a disk does not."""
        try:
            return (self.folder / path).is_file()
        except OSError:
            return False

    def read(self, path: str) -> bytes:
        """Return the bytes of one file."""
        if self.elsewhere is not None and not self.holds(path):
            return next((data for _path, data in self.elsewhere([path])), b"")
        return (self.folder / path).read_bytes()

    def open_each(self, paths: Sequence[str]) -> Iterator[tuple[str, BinaryIO]]:
        """Yield files to read from, those that are there."""
        absent = []
        for path in paths:
            try:
                with (self.folder / path).open("rb") as stream:
                    yield path, stream
            except OSError:
                absent.append(path)
        for path, data in self.elsewhere(absent) if self.elsewhere is not None and absent else ():
            yield path, io.BytesIO(data)

    def with_pictures(self, pictures: Sequence[str]) -> "LocalFiles":
        """Return the same with pictures that need not be there."""
        return replace(self, paths=sorted({*self.paths, *pictures}))


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


def read_labels(files: LocalFiles, label_format: str, *, as_written: bool = False) -> LabelSet:
    """Return what the labels say, where every picture that they speak of counts as there.

    A picture that a file of its own speaks of is taken to lie beside it; one that is named is looked for once more.
    With `as_written`, corners are as the files spell them, whatever the format means by them.
    """
    read = read_voc_as_written if as_written and label_format == "voc" else FORMATS[label_format].read
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
    """Return a picture beside each file of labels that has none: not in its folder nor in the one for its pictures.

    A picture elsewhere is its own where no other file of labels has that name.
    """
    pictures = {stem_of(path) for path in paths if kind_of(path) == "picture"}
    named = {_name_of(stem) for stem in pictures}
    stems = {stem_of(path) for path in paths if path.lower().endswith(ending)}
    count = Counter(map(_name_of, stems))
    lone = [stem for stem in stems if not pictures & {stem, *_of_pictures(stem)} and _name_of(stem) not in _LISTS]
    return [f"{stem}.jpg" for stem in sorted(lone) if count[_name_of(stem)] > 1 or _name_of(stem) not in named]


def _of_pictures(stem: str) -> list[str]:
    """Return where the picture of a file of labels lies, as data sets keep folders for both."""
    return [f"/{stem}".replace(f"/{labels}/", f"/{pictures}/")[1:] for labels, pictures in _FOLDERS]


def _name_of(stem: str) -> str:
    return stem.rpartition("/")[2]


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
            path = re.sub(r"^(/|\.\./)+", "", plain_path(_without_query(ast.literal_eval(said[1]))))
            name = path.rpartition("/")[2]
            if name:
                found.add(path if kind_of(path) == "picture" else f"{path}.jpg")
    return sorted(found)


def _without_query(address: str) -> str:
    """Return the address of a picture without what a server is asked beside it; a plain name stays as it is."""
    if "://" not in address or "?" not in address:
        return address
    return unquote(address.partition("?")[0])
