"""Where the images of a COCO document were looked at, and where of LVIS's classes more may be than has a box."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from driveflow.formats.coco_looked import looked_for, not_exhaustive
from driveflow.formats.coco_records import CocoImage
from validation.inputs.given import Given
from validation.model.box_facts import no_facts
from validation.model.raw import RawBoxes
from validation.model.scene import Bools, Correction, Floats, Ints, Mode

_SHOWN: Final = 5


def looked_at(images: Sequence[CocoImage], classes: pl.DataFrame, boxes: RawBoxes) -> Bools | None:
    """Return images x `classes`: somebody looked for it there; None: everywhere, as COCO means."""
    if all(image.annotated_classes is None and image.neg_category_ids is None for image in images):
        return None
    names, place = _named(classes)
    keys, drawn = classes["key"].to_list(), defaultdict[int, list[str]](list)
    for code in np.unique(boxes.frame * len(keys) + boxes.label).tolist():
        drawn[code // len(keys)].append(keys[code % len(keys)])
    looked = np.zeros((len(images), len(keys)), bool)
    for row, image in enumerate(images):
        found = looked_for(image, drawn[row], names)
        looked[row, slice(None) if found is None else [place[name] for name in found if name in place]] = True
    return looked


def not_exhaustive_pairs(images: Sequence[CocoImage], classes: pl.DataFrame) -> Ints:
    """Return the rows of image and class of which LVIS says that more may be there than has a box."""
    names, place = _named(classes)
    pairs = [(row, place[name]) for row, image in enumerate(images) for name in not_exhaustive(image, names)]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _named(classes: pl.DataFrame) -> tuple[dict[str, str], dict[str, int]]:
    """Return the name of each id, and the row of each name."""
    return dict(classes.select("key", "name").iter_rows()), {name: row for row, name in enumerate(classes["name"])}


def with_regions(truth: Given, mode: Mode) -> Given:
    """Return `truth` with an ignore region over the whole picture of each class that is not labeled to the end there.

    What is found beside its objects is then neither right nor wrong, as in LVIS's own evaluator. COCO's knows nothing
    of it, so there is no region in mode coco, nor where nobody says how large the picture is.
    """
    if not len(truth.not_exhaustive):
        return truth
    pairs = truth.not_exhaustive
    frame, label = (pairs if truth.looked is None else pairs[truth.looked[pairs[:, 0], pairs[:, 1]]]).T
    sides = truth.frames.select("width", "height").to_numpy()[frame].astype(np.float64)
    sized = (sides > 0).all(axis=1) & (mode == "strict")
    done = "what is found of these classes in these frames beside their objects is neither right nor wrong"
    told = [
        *_told(truth, frame[sized], done),
        *_told(truth, frame[~sized], "wrong detections of these classes in these frames count as wrong"),
    ]
    boxes = _joined(truth.boxes, frame[sized], label[sized], sides[sized])
    return replace(truth, boxes=boxes, corrections=(*truth.corrections, *told))


def _told(truth: Given, frame: Ints, done: str) -> list[Correction]:
    shown = tuple(truth.frames["name"].gather(np.unique(frame)[:_SHOWN]).to_list())
    return [Correction("classes_not_exhaustive", len(frame), shown, done)] if len(frame) else []


def _joined(boxes: RawBoxes, frame: Ints, label: Ints, sides: Floats) -> RawBoxes:
    """Return `boxes` and after them whole pictures of `sides` as ignore regions."""
    count = len(frame)
    corners = np.column_stack([np.zeros_like(sides), sides])
    return replace(
        boxes,
        frame=np.append(boxes.frame, frame),
        label=np.append(boxes.label, label),
        corners=np.concatenate([boxes.corners, corners]),
        size=np.concatenate([boxes.sizes(), sides]),
        area_px=None if boxes.area_px is None else np.append(boxes.area_px, np.full(count, np.nan)),
        ignore=np.append(np.zeros(len(boxes), bool) if boxes.ignore is None else boxes.ignore, np.ones(count, bool)),
        crowd=np.append(np.zeros(len(boxes), bool) if boxes.crowd is None else boxes.crowd, np.zeros(count, bool)),
        facts=None if boxes.facts is None else boxes.facts.followed_by(no_facts(count)),
        where=lambda row: boxes.where(row) if row < len(boxes) else f"not_exhaustive_category_ids (entry {row})",
    )
