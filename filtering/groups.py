"""The groups over which a budget is spread: drives, classes that are seen or labeled, slices of validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow.compute as pc

from driveflow.flow.sections import SliceSection
from filtering.miners.material import Ints, Mask, Material
from filtering.places import first_places
from filtering.rarity import evidence
from filtering.slice_groups import slice_rows

NO_CLASS: Final = "class nothing seen"


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of frames, as pairs of a frame's row and a group's number; a frame may be in several, or in none."""

    names: tuple[str, ...]
    frame: Ints
    group: Ints

    def reached(self, rows: Ints, count: int) -> set[str]:
        """Return the names of the groups to which any of `rows` belongs, of `count` frames in all."""
        chosen = np.zeros(count, np.bool_)
        chosen[rows] = True
        return {self.names[number] for number in np.unique(self.group[chosen[self.frame]]).tolist()}


def groups_of(material: Material, balance: str, slices: Sequence[SliceSection]) -> Groups:
    """Return the groups of the kept frames, in a fixed order; `balance` is a value of the setting."""
    found: list[Groups] = []
    if balance in {"drives", "all"}:
        found.append(_drives(material))
    if balance in {"classes", "all"}:
        found.append(_of_masks(_classes(material)))
    if balance in {"slices", "all"}:
        found.append(_slices(material, slices))
    first = np.cumsum([0, *(len(part.names) for part in found)])
    return Groups(
        tuple(name for part in found for name in part.names),
        np.concatenate([part.frame for part in found]),
        np.concatenate([part.group + start for part, start in zip(found, first[:-1], strict=True)]),
    )


def _drives(material: Material) -> Groups:
    drives = [drive for drive, _ in first_places(material.tables.frames, material.tables.sources)]
    names, group = np.unique(np.array(drives, np.str_), return_inverse=True)
    return Groups(tuple(f"drive {name}" for name in names.tolist()), np.arange(len(drives)), group.reshape(-1))


def _of_masks(masks: dict[str, Mask]) -> Groups:
    rows = [np.flatnonzero(mask) for mask in masks.values()]
    numbers = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return Groups(tuple(masks), np.concatenate([np.zeros(0, np.int64), *rows]), numbers.astype(np.int64))


def _classes(material: Material) -> dict[str, Mask]:
    boxes = evidence(material.tables, material.tables.classes, material.sure(), material.min_score)
    boxes = boxes.filter(pc.invert(pc.fill_null(boxes["ignore"], False)))
    found, nothing = {}, np.ones(material.count, np.bool_)
    for name in material.tables.classes:
        mask = np.zeros(material.count, np.bool_)
        mask[material.rows_of(boxes["frame_id"].filter(pc.equal(boxes["class_name"], name)))] = True
        found[f"class {name}"] = mask
        nothing &= ~mask
    return {**found, NO_CLASS: nothing}


def _slices(material: Material, slices: Sequence[SliceSection]) -> Groups:
    found = slice_rows(material, slices)
    names = found["name"].unique(maintain_order=True)
    number = pl.DataFrame({"name": names, "group": np.arange(len(names))})
    group = found.join(number, on="name", how="left", maintain_order="left")["group"]
    return Groups(tuple(f"slice {name}" for name in names), found["row"].to_numpy(), group.to_numpy())
