"""Read MOTChallenge sequences: gt/gt.txt and det/det.txt over numbered frames."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.frame_order import VideoLabels, by_number, natural_key, pictures_of_video
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.mot_lines import MotBox, MotSequence, MotText, is_mot_line, last_frame, read_seqinfo
from driveflow.formats.path_index import folder_of, under
from driveflow.formats.picture_finder import PictureFinder
from driveflow.formats.plain_text import text_lines
from driveflow.formats.scores import odd_scores
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import split_of_folders

_FOLDERS: Final = frozenset(["gt", "det"])
_NAME: Final = re.compile(r"(gt|det)([_.-].*)?\.txt", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(\d{1,18})")
_INFO: Final = "seqinfo.ini"
_MAX_LIST_BYTES: Final = 4 << 20  # of seqinfo.ini and labels.txt; what is larger is neither


def mot_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are MOT's: by content, where they lie in gt or det or beside a seqinfo.ini.

    Lists of numbers are many things, so content alone would not do.
    """
    known = set(sniffer.paths)
    return [
        path
        for path in sniffer.ending_in(".txt")
        if (_NAME.fullmatch(path.rpartition("/")[2]) or f"{_root(path)}/{_INFO}".lstrip("/") in known)
        and is_mot_line(sniffer.head(path).decode("utf-8-sig", "replace").lstrip().partition("\n")[0])
    ]


def read_mot(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the MOT files of the batch, or those at `annotations`, say.

    The boxes of det.txt are predictions. Every picture of a sequence with a gt.txt is labeled. The classes looked for
    are those of labels.txt, else all that any gt.txt names.
    """
    found = mot_files(Sniffer(within(files, annotations))) or ([annotations] if annotations in files.paths else [])
    roots = frozenset(_root(path) for path in mot_files(Sniffer(files)))
    reader = _Mot(files, PictureFinder(files.paths), LabelSetBuilder(), frozenset(files.paths), roots)
    for path in found:
        reader.read(path)
    return reader.finish()


def _root(path: str) -> str:
    """Return the folder of the sequence that the file is of."""
    home = folder_of(path)
    return folder_of(home) if home.rpartition("/")[2].lower() in _FOLDERS else home


@dataclass(frozen=True, slots=True)
class _Track:
    """One gt.txt or det.txt with the sequence it is of."""

    path: str
    sequence: MotSequence
    names: tuple[str, ...]
    text: MotText
    pictures: Mapping[int, str]

    @property
    def is_truth(self) -> bool:
        """Whether people drew this."""
        name = self.path.rpartition("/")[2].lower()
        return not name.startswith("det") and folder_of(self.path).rpartition("/")[2].lower() != "det"


@dataclass(slots=True)
class _Mot:
    """The sequences of a data set on their way into the builder."""

    files: LabelFiles
    finder: PictureFinder
    builder: LabelSetBuilder
    known: frozenset[str]
    roots: frozenset[str]  # of all sequences of the batch
    tracks: list[_Track] = field(default_factory=list)

    def read(self, path: str) -> None:
        """Read one gt.txt or det.txt."""
        self.builder.files.add(path)
        root = _root(path)
        sequence = read_seqinfo(self._text(f"{root}/{_INFO}".lstrip("/")))
        folders = (folder_of(path), f"{root}/gt".lstrip("/"), root)
        lists = (self._text(f"{folder}/labels.txt".lstrip("/")) for folder in folders)
        names = tuple(line.strip() for line in next(filter(None, lists), "").splitlines() if line.strip())
        data = self.files.read(path)
        pictures = self._pictures(path, sequence, last_frame(text_lines(data), names))
        track = _Track(path, sequence, names, MotText(path, names), pictures)
        self.builder.add_box_rows(_row(track, box) for box in track.text.boxes(text_lines(data), pictures))
        self.builder.problems += track.text.problems
        self.tracks.append(track)

    def finish(self) -> LabelSet:
        """Return all that was read; only now the classes of the set are known."""
        seen = sorted({name for track in self.tracks if track.is_truth for name in track.text.seen})
        for track in self.tracks:
            text = track.text
            number = self.builder.class_list(track.names or seen) if track.is_truth else None
            hopeless = text.spoiled - text.useful
            for frame, picture in track.pictures.items():
                self.builder.add_image(_image(track, frame, picture, None if frame in hopeless else number))
            if text.lost:
                detail = f"frames are no files of this batch: {len(track.pictures)} pictures stand for frames"
                self.builder.problems.append(LabelProblem(track.path, "label_missing_picture", detail, None, text.lost))
            self.builder.notes += odd_scores(f"{track.path}:", [] if track.is_truth else text.flags)
        return self.builder.build()

    def _text(self, path: str) -> str:
        if path not in self.known:
            return ""
        self.builder.files.add(path)
        data = self.files.read(path)
        return "" if len(data) > _MAX_LIST_BYTES else data.decode("utf-8-sig", "replace")

    def _pictures(self, path: str, sequence: MotSequence, last: int) -> Mapping[int, str]:
        """Return the pictures by frame, which counts from 1: by their names if those are numbers, else in order."""
        root = _root(path)
        beside: Sequence[str] = sorted(self.finder.under(under(root, sequence.folder)), key=natural_key)
        count = sequence.frame_count or last
        labels = VideoLabels(f"{root}/{_INFO}".lstrip("/"), count=count, other_homes=self.roots - {root})
        pictures = beside or pictures_of_video(self.finder, labels)
        numbered = by_number(pictures, _NUMBERED)
        if len(numbered) == len(pictures) and min(numbered, default=0) >= 1 and max(numbered) < 10**9:
            return {number: numbered[number] for number in sorted(numbered)}
        if not len(pictures) >= last:
            return {}
        if pictures:
            self.builder.notes.append(f"{path}: frame 1 is {pictures[0]}, and so on in order of the names.")
        return dict(enumerate(pictures[: sequence.frame_count or len(pictures)], start=1))


def _image(track: _Track, frame: int, picture: str, class_list: int | None) -> ImageLabels:
    rate = track.sequence.frames_per_second
    return ImageLabels(
        path=picture,
        label_file=track.path,
        class_list=class_list,
        width=track.sequence.width,
        height=track.sequence.height,
        drive=track.sequence.name or _root(track.path).rpartition("/")[2],
        captured_ns=round((frame - 1) * 1e9 / rate) if rate else None,
        clock="drive_relative" if rate else "",
        source_split=split_of_folders(picture),
        broken=track.text.unknown.get(frame, ""),
    )


def _row(track: _Track, box: MotBox) -> dict[str, object]:
    said: dict[str, Json] = {}
    if box.track is not None:
        said["track_id"] = box.track
    if box.visibility is not None:
        said["visibility"] = box.visibility
    return {
        "path": track.pictures[box.frame],
        "label_file": track.path,
        "line": box.line,
        "class_name": box.class_name,
        **dict(zip(("x1", "y1", "x2", "y2"), box.corners, strict=True)),
        "ignore": track.is_truth and box.flag == 0,
        "attributes": canonical_json(said),
        "score": None if track.is_truth else box.flag,
    }
