"""What the built-in trainer learns from: the frames of an export, their boxes, and which classes were looked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from driveflow.errors import UsageError
from driveflow.formats.export import picture_name

IGNORED = -1  # the class number of an ignore region
_MULTIPLE_PX = 32
_SHARE_THAT_FITS = 0.9


@dataclass(frozen=True, slots=True)
class Example:
    """One frame.

    `boxes` is (n, 4): x1, y1, x2, y2 in upright pixels; `numbers` (n,) has their class numbers, `IGNORED`
    for ignore regions; `looked_for` (classes,) says which classes somebody looked for.
    """

    frame_id: str
    picture: Path
    width: int
    height: int
    boxes: npt.NDArray[np.float32]
    numbers: npt.NDArray[np.int64]
    looked_for: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Examples:
    """All frames by split, sorted by frame id, and the classes that any training frame was searched for."""

    classes: tuple[str, ...]
    train: tuple[Example, ...]
    val: tuple[Example, ...]

    @property
    def everything(self) -> tuple[Example, ...]:
        """Train, then val."""
        return self.train + self.val


def read_examples(folder: Path) -> Examples:
    """Return the examples in an export of the shape "tables".

    Raises:
        UsageError: none of its frames is for training.
    """
    frames = pq.read_table(folder / "frames.parquet").sort_by("frame_id")
    named: list[str] = json.loads((folder / "classes.json").read_bytes())
    rows = {split: frames.filter(pc.equal(frames["split"], split)).to_pylist() for split in ("train", "val")}
    searched = {name for row in rows["train"] for name in row["annotated_classes"]}
    classes = tuple(name for name in named if name in searched)
    if not classes:
        raise UsageError("No training frame says which classes were looked for in it: nothing can be learned.")
    boxes = _boxes_by_frame(pq.read_table(folder / "boxes.parquet"))
    train, val = (tuple(_example(folder, row, boxes, classes) for row in rows[split]) for split in ("train", "val"))
    return Examples(classes, train, val)


def canvas_size(examples: tuple[Example, ...], long_side_px: int) -> tuple[int, int]:
    """Return width and height that the model takes: most pictures fit with their long side at `long_side_px`.

    Sides are multiples of 32 pixels, so pictures of one shape leave little of it empty.
    """
    scales = [long_side_px / max(example.width, example.height) for example in examples]
    widths = [example.width * scale for example, scale in zip(examples, scales, strict=True)]
    heights = [example.height * scale for example, scale in zip(examples, scales, strict=True)]
    width, height = (float(np.quantile(sides, _SHARE_THAT_FITS, method="higher")) for sides in (widths, heights))
    return _round_up(width), _round_up(height)


def _round_up(side_px: float) -> int:
    return int(-(-round(side_px, 3) // _MULTIPLE_PX)) * _MULTIPLE_PX


def _boxes_by_frame(boxes: pa.Table) -> Mapping[str, list[Mapping[str, object]]]:
    found: dict[str, list[Mapping[str, object]]] = {}
    wanted = ["frame_id", "box_id", "class_name", "x1", "y1", "x2", "y2", "ignore"]
    for row in boxes.select(wanted).sort_by([("frame_id", "ascending"), ("box_id", "ascending")]).to_pylist():
        found.setdefault(row["frame_id"], []).append(row)
    return found


def _example(
    folder: Path, row: Mapping[str, object], boxes: Mapping[str, list[Mapping[str, object]]], classes: tuple[str, ...]
) -> Example:
    frame_id, annotated = str(row["frame_id"]), row["annotated_classes"]
    looked_for = np.array([isinstance(annotated, list) and name in annotated for name in classes], dtype=np.bool_)
    numbers = {name: number for number, name in enumerate(classes)}
    sides, found = [], []
    for box in boxes.get(frame_id, ()):
        number = numbers.get(str(box["class_name"]), IGNORED)
        known = number != IGNORED and looked_for[number]
        if box["ignore"] or known:  # a box of a class nobody looked for says nothing about that class elsewhere
            sides.append([box["x1"], box["y1"], box["x2"], box["y2"]])
            found.append(IGNORED if box["ignore"] else number)
    return Example(
        frame_id=frame_id,
        picture=folder / "images" / str(row["split"]) / picture_name(dict(row)),
        width=int(str(row["width"])),
        height=int(str(row["height"])),
        boxes=np.array(sides, dtype=np.float32).reshape(-1, 4),
        numbers=np.array(found, dtype=np.int64),
        looked_for=looked_for,
    )
