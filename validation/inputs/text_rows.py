"""Read boxes as rows of text, a file a picture: class, perhaps a score, and four numbers in one of four ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl

from driveflow.errors import InvalidInputError, UsageError
from driveflow.formats.box_shapes import SHAPES, SLACK, Shape, corners_of, misfits
from driveflow.formats.picture_finder import bare_stem, stem_of
from driveflow.formats.plain_text import plain_text
from validation.inputs.given import GIVEN_CLASSES, GIVEN_FRAMES, Given
from validation.inputs.label_files import LocalFiles
from validation.model.raw import RawBoxes
from validation.model.scene import Floats

ScoreAt: TypeAlias = Literal["first", "last", "none"]
_LISTS: Final = ("classes.txt", "obj.names", "*.names", "labels.txt")
_BOX: Final = 4
_HINTS: Final[Mapping[str, Shape]] = {
    "xcycwh": "xcycwh",
    "xyx2y2": "xyxy",
    "x1y1x2y2": "xyxy",
    "xyxy": "xyxy",
    "xywh": "xywh",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """One line: its class and the four or five numbers after it."""

    file: str
    line: int
    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a row is meant: whether a score stands before or after the box, the box, and shares or pixels."""

    score: ScoreAt
    shape: Shape
    shares: bool


def are_text_rows(files: LocalFiles) -> bool:
    """Tell whether `files` are text files of class and four or five numbers, by the first lines of some."""
    texts = [path for path in files.paths if path.lower().endswith(".txt") and not _is_list(path)]
    others = [path for path in files.paths if path.lower().endswith((".json", ".xml", ".yaml", ".yml", ".csv"))]
    if not texts or others:
        return False
    lines = [
        line for path in texts[:50] for line in files.read(path)[:4096].decode("utf-8-sig", "replace").splitlines()
    ]
    counts = {len(_numbers(line)[1]) for line in lines[:200] if line.strip()}
    return bool(counts) and counts <= {_BOX, _BOX + 1}


def read_text_rows(path: Path, files: LocalFiles, sizes: Mapping[str, tuple[float, float]], wanted: str = "") -> Given:
    """Return what the rows say; `sizes` has width and height by the name of the picture without its extension.

    How the numbers are meant is `wanted` (one of SHAPES), else it is told by which way keeps boxes inside of pictures.

    Raises:
        InvalidInputError: a line is no such row (file and line are named), or the rows may be meant in several ways.
    """
    texts = [item for item in files.paths if item.lower().endswith(".txt") and not _is_list(item)]
    rows = [row for item in texts for row in _read_file(path, files, item)]
    names = _class_names(files)
    dialect = _dialect(path, rows, sizes, wanted)
    values = np.array([row.values for row in rows], np.float64).reshape(len(rows), -1)
    score, box = _columns(values, dialect.score)
    frames = {item: number for number, item in enumerate(texts)}
    classes = list(dict.fromkeys(row.name for row in rows))
    called = [names.get(name, "" if name.isdecimal() else name) for name in classes]
    label = {name: number for number, name in enumerate(classes)}
    frame_rows = [("", f"{stem_of(item)}.jpg", None, None, "", "", "{}") for item in texts]
    corners, size = corners_of(box, dialect.shape)
    return Given(
        source=str(path),
        frames=pl.DataFrame(frame_rows, schema=GIVEN_FRAMES, orient="row"),
        classes=pl.DataFrame({"key": classes, "name": called}, schema=GIVEN_CLASSES),
        boxes=RawBoxes(
            frame=np.array([frames[row.file] for row in rows], np.int64),
            label=np.array([label[row.name] for row in rows], np.int64),
            corners=corners,
            size=size,
            score=score,
            where=lambda row: f"{files.folder / rows[row].file}:{rows[row].line}",
        ),
        known_frames=len(texts),
        known_classes=len(classes),
        normalised=np.full(len(rows), dialect.shares),
    )


def _is_list(path: str) -> bool:
    return path.rpartition("/")[2].lower() in {"classes.txt", "labels.txt", "train.txt", "val.txt", "test.txt"}


def _numbers(line: str) -> tuple[str, tuple[float, ...]]:
    """Return the class, a number or words, and the numbers after it."""
    fields = line.split()
    values: list[float] = []
    while len(fields) > 1:
        try:
            values.append(float(fields[-1]))
        except ValueError:
            break
        fields.pop()
    return " ".join(fields), tuple(values[::-1])


def _read_file(path: Path, files: LocalFiles, item: str) -> list[_Row]:
    rows = []
    for number, line in enumerate(files.read(item).decode("utf-8-sig", "replace").splitlines(), start=1):
        if line.strip():
            name, values = _numbers(line)
            if len(values) not in {_BOX, _BOX + 1}:
                where = f"{files.folder / item}:{number}"
                raise InvalidInputError(
                    f"{where}: {line.strip()[:80]!r} is no class with 4 numbers, or 5 with a score."
                )
            rows.append(_Row(item, number, name, values))
    lengths = {len(row.values) for row in rows}
    if len(lengths) > 1:
        raise InvalidInputError(f"{path}: {item} has rows with and rows without a score.")
    return rows


def _dialect(path: Path, rows: Sequence[_Row], sizes: Mapping[str, tuple[float, float]], wanted: str) -> Dialect:
    """Return the way of reading that puts the fewest boxes out of their pictures; a name of the folder breaks a tie."""
    lengths = {len(row.values) for row in rows}
    if len(lengths) > 1:
        raise InvalidInputError(f"{path}: some files have rows with a score, others rows without one.")
    if not rows:
        return Dialect("none", "xywh", shares=False)
    scores: tuple[ScoreAt, ...] = ("first", "last") if lengths == {_BOX + 1} else ("none",)
    values = np.array([row.values for row in rows], np.float64)
    size = np.array([sizes.get(bare_stem(row.file), (np.inf, np.inf)) for row in rows])
    known = path.parent.name if path.is_file() else path.name
    hint = next((shape for word, shape in _HINTS.items() if word in known.lower()), None)
    ways = []
    for score, shape in product(scores, (wanted,) if wanted in SHAPES else SHAPES):
        given, box = _columns(values, score)
        shares = bool((box <= 1 + SLACK).all())
        limits = np.ones((len(rows), 2)) if shares else size
        bad = int(misfits(box, shape, limits).sum()) + (0 if given is None else int(((given < 0) | (given > 1)).sum()))
        likely = (shape == "xcycwh") == shares
        ways.append(((bad, not likely, shape != hint, score == "last"), Dialect(score, shape, shares)))
    ways.sort(key=lambda way: way[0])
    if len(ways) > 1 and ways[0][0][:3] == ways[1][0][:3] and ways[0][1].shape != ways[1][1].shape:
        first, second = ways[0][1], ways[1][1]
        raise UsageError(
            f"{path}: the rows may be {first.shape} or {second.shape}; say --format text_{first.shape}, "
            f"for one side only with TRUTH,PREDICTIONS."
        )
    return ways[0][1]


def _columns(values: Floats, score: ScoreAt) -> tuple[Floats | None, Floats]:
    if score == "none":
        return None, values.reshape(len(values), -1)[:, :_BOX] if len(values) else np.zeros((0, _BOX))
    return (values[:, 0], values[:, 1:]) if score == "first" else (values[:, _BOX], values[:, :_BOX])


def _class_names(files: LocalFiles) -> Mapping[str, str]:
    """Return the names of class numbers, from a list among the files or in the folder above them."""
    for pattern in _LISTS:
        inside = [path for path in files.paths if fnmatch(path.rpartition("/")[2], pattern)]
        above = sorted(files.folder.parent.glob(pattern)) if files.elsewhere is None else []
        if inside or above:
            data = files.read(min(inside, key=_depth)) if inside else above[0].read_bytes()
            lines = plain_text(data)[0].splitlines()
            return {str(number): line.strip() for number, line in enumerate(lines) if line.strip()}
    return {}


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
