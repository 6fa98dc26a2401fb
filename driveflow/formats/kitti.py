"""Read KITTI object labels: a text file a picture, in label_2 beside image_2."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.formats.dataset_meta import listed_classes
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.kitti_lines import KittiTally, box_row, is_kitti_line, read_kitti_lines, scores_say_nothing
from driveflow.formats.kitti_mapping import read_drives
from driveflow.formats.label_set import (
    ImageLabels,
    LabelFiles,
    LabelProblem,
    LabelSet,
    LabelSetBuilder,
    ProblemList,
    names_ignore_region,
)
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import Found, PictureFinder, bare_stem
from driveflow.formats.plain_text import lines_in, text_lines
from driveflow.formats.scores import odd_scores
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import split_of_folders

_LINES_LOOKED_AT: Final = 20
_LABELS: Final = re.compile(r"label(s?)(_\d+)?")
_CAMERA: Final = re.compile(r"image_\d+")


def kitti_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are KITTI labels, by content; empty and broken ones count where their folder holds such.

    So do empty ones in label_2 beside image_2.
    """
    texts = [path for path in sniffer.ending_in(".txt") if kind_of(path) == "text"]
    folders = {folder_of(path) for path in texts if _has_kitti_line(sniffer.head(path))}
    cameras = {folder for path in sniffer.paths if _CAMERA.fullmatch((folder := folder_of(path)).rpartition("/")[2])}
    return [path for path in texts if folder_of(path) in folders or _is_empty_beside(sniffer, path, cameras)]


def read_kitti(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the KITTI labels of the batch, or those at `annotations`, say.

    An empty file is a labeled picture without objects. A folder with scores holds predictions: it labels no picture.
    The classes looked for are all that the labels or a dataset_meta.json name. Labels in label_2 belong to image_2;
    pictures of other cameras and those without a file are unlabeled.
    """
    found = kitti_files(Sniffer(within(files, annotations))) or ([annotations] if annotations in files.paths else [])
    reader = _Kitti(files, PictureFinder(files.paths), LabelSetBuilder())
    reader.learn_scores(found)
    for path in found:
        reader.read(path)
    return reader.finish()


def _is_empty_beside(sniffer: Sniffer, path: str, cameras: set[str]) -> bool:
    """Tell whether a file is empty in label_2 beside image_2: a split may have nothing but pictures without objects."""
    home, _, name = folder_of(path).rpartition("/")
    match = _LABELS.fullmatch(name)
    beside = bool(match and match[2]) and f"{home}/image{match[2] if match else ''}".lstrip("/") in cameras
    return beside and not sniffer.head(path).strip()


def _has_kitti_line(head: bytes) -> bool:
    lines = head.decode("utf-8-sig", "replace").splitlines()[:_LINES_LOOKED_AT]
    return any(map(is_kitti_line, lines))


@dataclass(slots=True)
class _Kitti:
    """The labels of a data set on their way into the builder."""

    files: LabelFiles
    finder: PictureFinder
    builder: LabelSetBuilder
    images: list[tuple[ImageLabels, bool]] = field(default_factory=list)  # and whether it says anything usable
    drawn: set[str] = field(default_factory=set)  # classes of boxes without a score
    scores: list[float] = field(default_factory=list)  # the least and the most of each file
    predictions: set[str] = field(default_factory=set)  # folders with scores
    unscored: set[str] = field(default_factory=set)  # folders whose scores say nothing

    def learn_scores(self, paths: Iterable[str]) -> None:
        """Find the folders whose scores are those of a program that has none: their boxes are no predictions."""
        by_folder: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            by_folder[folder_of(path)].append(path)
        for folder, here in by_folder.items():
            if scores_say_nothing(line for path in here for _, line in text_lines(self.files.read(path))):
                self.unscored.add(folder)
                told = (
                    f"{folder or 'the batch'}: all scores are 1, as Datumaro and CVAT write them beside what is drawn"
                )
                self.builder.notes.append(f"{told}; its boxes are read as labels, not as predictions.")

    def read(self, path: str) -> None:
        """Read one label file."""
        self.builder.files.add(path)
        data = self.files.read(path)
        found = self._picture(path)
        if not found.path:
            self.builder.problems.append(LabelProblem(path, found.reason, found.detail, None, lines_in(data)))
            return
        tally, problems = KittiTally(), ProblemList()
        read = read_kitti_lines(path, text_lines(data), problems)
        if folder_of(path) in self.unscored:
            read = (replace(box, score=None) for box in read)
        boxes = tally.counted(read)
        self.builder.add_box_rows(box_row(found.path, path, box, box.attributes) for box in boxes)
        self.builder.problems += problems
        self.drawn |= tally.drawn
        if tally.scores:
            self.predictions.add(folder_of(path))
            self.scores += tally.scores
        image = _image(found.path, path)
        self.images.append((image, bool(tally.boxes) or not problems))

    def finish(self) -> LabelSet:
        """Return all that was read; only now the classes of the set are known."""
        number = self.builder.class_list(self._classes())
        known = read_drives(self.files, self.finder.pictures)
        self.builder.files |= known.files
        self.builder.problems += known.problems
        self.builder.notes += [known.note] if known.note else []
        for image, usable in self.images:
            looked = usable and folder_of(image.label_file) not in self.predictions
            drive = known.drives.get(image.path, "")
            self.builder.add_image(replace(image, class_list=number if looked else None, drive=drive))
        spoken_of = {image.path for image, _ in self.images}
        for picture in self.finder.pictures:
            if picture not in spoken_of and _camera(picture):
                self.builder.add_image(replace(_image(picture), drive=known.drives.get(picture, "")))
        self.builder.notes += odd_scores("KITTI", self.scores)
        return self.builder.build()

    def _picture(self, path: str) -> Found:
        """Return the picture of a label file; label_2 never means a picture of another camera than image_2."""
        stem = bare_stem(path)
        home, _, name = folder_of(path).rpartition("/")
        match = _LABELS.fullmatch(name)
        if match and match[2]:
            folder = f"{home}/image{match[2]}".lstrip("/")
            found = self.finder.at(f"{folder}/{stem}")
            if found or self.finder.under(folder):
                return Found(found[0]) if found else Found("", "label_missing_picture", f"{folder} has no {stem!r}")
        folders = {folder_of(picture) for picture in self.finder.pictures if _camera(picture) == "image_2"}
        return self.finder.stemmed(path, stem, [*folders] if len(folders) == 1 else [])

    def _classes(self) -> Iterable[str]:
        listed, lists = listed_classes(self.files) if self.images else (frozenset(), frozenset())
        self.builder.files |= lists
        return sorted(listed.union(name for name in self.drawn if not names_ignore_region(name)))


def _image(picture: str, label_file: str = "") -> ImageLabels:
    split = split_of_folders(picture)
    return ImageLabels(path=picture, label_file=label_file, camera=_camera(picture), source_split=split)


def _camera(picture: str) -> str:
    """Return image_2, image_3 ... where that is the folder of the picture, else nothing."""
    name = folder_of(picture).rpartition("/")[2]
    return name if _CAMERA.fullmatch(name) else ""
