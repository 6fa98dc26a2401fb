"""Read KITTI tracking labels: a text file a sequence, label_02/0000.txt, beside image_02/0000/000000.png."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.kitti_lines import KittiTally, box_row, is_kitti_line, read_kitti_lines
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
from driveflow.formats.picture_finder import PictureFinder, bare_stem
from driveflow.formats.plain_text import text_lines
from driveflow.formats.scores import odd_scores
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import split_of_folders

_LABELS, _IMAGES = re.compile(r"label_\d+"), re.compile(r"image_\d+")
_COUNTED: Final = re.compile(r"\s*(\d{1,18})\s+(-?\d{1,18})\s+(.*)", re.DOTALL)  # frame, track and what KITTI says else
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_SHOWN: Final = 5  # frames that a problem names


def kitti_tracking_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are of KITTI's tracking benchmark: by content, and empty ones in a folder of such."""
    texts = [path for path in sniffer.ending_in(".txt") if kind_of(path) == "text"]
    found = {path for path in texts if _is_tracking(sniffer.head(path))}
    folders = {folder_of(path) for path in found}
    return [path for path in texts if path in found or (folder_of(path) in folders and not sniffer.head(path).strip())]


def read_kitti_tracking(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the tracking labels of the batch, or those at `annotations`, say.

    Each picture of a sequence is labeled, for all classes that any of the files names, and each sequence is a drive. A
    file with scores holds predictions: it labels no picture. Pictures of other cameras are unlabeled.
    """
    found = kitti_tracking_files(Sniffer(within(files, annotations)))
    reader = _Tracking(files, PictureFinder(files.paths), LabelSetBuilder())
    for path in found or ([annotations] if annotations in files.paths else []):
        reader.read(path)
    return reader.finish()


def _is_tracking(head: bytes) -> bool:
    match = _COUNTED.fullmatch(head.decode("utf-8-sig", "replace").lstrip().partition("\n")[0])
    return match is not None and is_kitti_line(match[3])


@dataclass(slots=True)
class _Tracking:
    """The sequences of a data set on their way into the builder."""

    files: LabelFiles
    finder: PictureFinder
    builder: LabelSetBuilder
    images: list[tuple[ImageLabels, bool]] = field(default_factory=list)  # and whether somebody looked
    drawn: set[str] = field(default_factory=set)  # classes of boxes without a score
    scores: list[float] = field(default_factory=list)  # the least and the most of each file

    def read(self, path: str) -> None:
        """Read the labels of one sequence."""
        self.builder.files.add(path)
        tally, problems = KittiTally(), ProblemList()
        self.builder.add_box_rows(self._rows(path, tally, problems))
        self.builder.problems += problems
        self.scores += tally.scores
        self.drawn |= tally.drawn
        looked = not tally.scores and (bool(tally.boxes) or not problems)
        self.images += [(_image(picture, path), looked) for picture in self._pictures(path).values()]

    def _rows(self, path: str, tally: KittiTally, problems: ProblemList) -> Iterator[dict[str, object]]:
        """Yield the boxes of the pictures there are; report the others."""
        pictures = self._pictures(path)
        lost, missing = 0, set[int]()
        at: list[re.Match[str] | None] = [None]  # frame and track of the line at hand
        for box in tally.counted(read_kitti_lines(path, _rest(self.files.read(path), at), problems)):
            if (match := at[0]) is None:
                detail = f"{box.class_name}: no frame and track before the class"
                problems.append(LabelProblem(path, "label_syntax", detail, box.line, 1))
            elif int(match[1]) in pictures:
                yield box_row(pictures[int(match[1])], path, box, _attributes(box.attributes, match[2]))
            else:
                lost += 1
                missing.add(int(match[1]))
                if len(missing) > _SHOWN + 1:
                    missing.remove(max(missing))
        if lost:
            few = ", ".join(map(str, sorted(missing)[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
            where = f"no picture in {_image_folder(path)} has the number of frame {few}"
            problems.append(LabelProblem(path, "label_missing_picture", where, None, lost))

    def finish(self) -> LabelSet:
        """Return all that was read; only now the classes of the set are known."""
        number = self.builder.class_list(sorted(name for name in self.drawn if not names_ignore_region(name)))
        for image, looked in self.images:
            self.builder.add_image(replace(image, class_list=number if looked else None))
        spoken_of, drives = {image.path for image, _ in self.images}, {image.drive for image, _ in self.images}
        for picture in self.finder.pictures:
            image = _image(picture)
            if picture not in spoken_of and image.drive in drives and _IMAGES.fullmatch(image.camera):
                self.builder.add_image(image)
        self.builder.notes += odd_scores("KITTI", self.scores)
        return self.builder.build()

    def _pictures(self, path: str) -> Mapping[int, str]:
        """Return the pictures of a sequence by the number that their name is."""
        known = ((bare_stem(picture), picture) for picture in self.finder.under(_image_folder(path)))
        return {int(stem): picture for stem, picture in known if _NUMBER.fullmatch(stem)}


def _rest(data: bytes, at: list[re.Match[str] | None]) -> Iterator[tuple[int, str]]:
    """Yield the lines without their frame and track, which are in `at` until the next."""
    for number, line in text_lines(data):
        at[0] = _COUNTED.fullmatch(line)
        yield number, at[0][3] if at[0] else line


def _image_folder(path: str) -> str:
    """Return the folder of the pictures of a label file: image_02/0000 for label_02/0000.txt."""
    home, _, name = folder_of(path).rpartition("/")
    images = name.replace("label", "image") if _LABELS.fullmatch(name) else "image_02"
    return "/".join(part for part in (home, images, bare_stem(path)) if part)


def _attributes(said: Mapping[str, Json], track: str) -> dict[str, Json]:
    """Return attributes with the track; how much is outside is a level here, 0 to 2, and no share."""
    found = dict(said)
    level = found.pop("truncated", None)
    if isinstance(level, float):
        found |= {"truncated": level > 0, "truncation_level": int(level)}
    return found if int(track) < 0 else {**found, "track_id": str(int(track))}


def _image(picture: str, label_file: str = "") -> ImageLabels:
    folder, _, sequence = folder_of(picture).rpartition("/")
    home, _, camera = folder.rpartition("/")
    drive = "/".join(part for part in (home, sequence) if part)
    split = split_of_folders(picture)
    return ImageLabels(path=picture, label_file=label_file, drive=drive, camera=camera, source_split=split)
