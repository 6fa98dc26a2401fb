"""The groups over which a budget is spread: drives, classes that are seen or labeled, slices of validation."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.flow.sections import SliceSection
from driveflow.predicates import matches
from filtering.miners.material import Mask, Material
from filtering.places import first_places
from filtering.rarity import evidence

NO_CLASS: Final = "nothing seen"


def groups_of(material: Material, balance: str, slices: Sequence[SliceSection]) -> dict[str, Mask]:
    """Return for each group which of the kept frames belong to it; `balance` is a value of the setting."""
    found: dict[str, Mask] = {}
    if balance in {"drives", "all"}:
        found |= _drives(material)
    if balance in {"classes", "all"}:
        found |= _classes(material)
    if balance in {"slices", "all"}:
        found |= _slices(material, slices)
    return found


def _drives(material: Material) -> dict[str, Mask]:
    names = np.array([drive for drive, _ in first_places(material.tables.frames, material.tables.sources)], np.str_)
    return {f"drive {name}": names == name for name in np.unique(names).tolist()}


def _classes(material: Material) -> dict[str, Mask]:
    boxes = evidence(material.tables, material.tables.classes, material.sure(), material.min_score)
    boxes = boxes.filter(pc.invert(pc.fill_null(boxes["ignore"], False)))
    found, nothing = {}, np.ones(material.count, np.bool_)
    for name in material.tables.classes:
        mask = np.zeros(material.count, np.bool_)
        mask[material.rows_of(boxes["frame_id"].filter(pc.equal(boxes["class_name"], name)))] = True
        found[f"class {name}"] = mask
        nothing &= ~mask
    return {**found, f"class {NO_CLASS}": nothing}


def _slices(material: Material, slices: Sequence[SliceSection]) -> dict[str, Mask]:
    boxes = evidence(material.tables, material.tables.classes, material.sure(), material.min_score)
    return {f"slice {part.name}": matches(material.tables.frames, boxes, part.where) for part in slices}
