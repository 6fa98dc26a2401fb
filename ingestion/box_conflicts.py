"""Tell every disagreement about boxes as one row of CONFLICTS."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from ingestion.disputes import COMPARED, CORNERS, FATES, Alone, Bools, Dispute, Verdicts
from ingestion.overlap import Ints, iou

_SAME_PX = 1e-3  # corners this close are one number, written by two tools
_ROWS_AT_ONCE = 50_000
_IN_REVIEW = FATES.index("in_review")
_STAYS = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}

Row = dict[str, str]


def box_conflicts(dispute: Dispute, verdicts: Verdicts) -> pa.Table:
    """Return rows of CONFLICTS, without `where`, for boxes that differ and boxes that not all drew."""
    writer = _Writer(dispute, verdicts)
    chunks, waiting = [], list[Row]()
    for row in writer.rows():
        waiting.append(row)
        if len(waiting) == _ROWS_AT_ONCE:
            chunks.append(pa.Table.from_pylist(waiting, schema=columns.CONFLICTS))
            waiting = []
    return pa.concat_tables([*chunks, pa.Table.from_pylist(waiting, schema=columns.CONFLICTS)])


class _Writer:
    """Spells the boxes of a dispute."""

    def __init__(self, dispute: Dispute, verdicts: Verdicts) -> None:
        self.dispute = dispute
        self.verdicts = verdicts
        told = ["frame_id", "box_id", "class_name", *CORNERS, *COMPARED, "by"]
        self.columns = {name: dispute.boxes[name].to_list() for name in told}
        self.rule = dispute.rule

    def rows(self) -> Iterator[Row]:
        """Yield the rows, class after class, frame after frame."""
        yield from self._moved()
        yield from self._alone(self.verdicts.alone)

    def _moved(self) -> Iterator[Row]:
        same = self.verdicts.same
        differ = _differ(self.dispute, same.left, same.right)
        for kept, gone in zip(same.left[differ].tolist(), same.right[differ].tolist(), strict=True):
            yield self._pair(kept, gone, "review" if self.verdicts.fates[gone] == _IN_REVIEW else "kept")

    def _alone(self, alone: Alone) -> Iterator[Row]:
        twins = _other_names(self.dispute, alone)
        told = set(twins.values())
        box, silent, stays = alone.box.tolist(), alone.silent.tolist(), alone.stays.tolist()
        claims = self.dispute.claim_of(self.dispute.groups[alone.box], alone.silent)
        names = self.dispute.claim_names.gather(claims).to_list()
        order = np.lexsort((alone.silent, alone.box, self.dispute.groups[alone.box])).tolist()
        for entry in order:
            if entry in twins:
                yield self._renamed((box[entry], stays[entry]), (box[twins[entry]], stays[twins[entry]]))
            elif entry not in told:
                yield self._missing(box[entry], (silent[entry], names[entry]), stays=stays[entry])

    def _pair(self, kept: int, gone: int, how: str) -> Row:
        first = self.dispute.turns[kept] <= self.dispute.turns[gone]
        left, right = (kept, gone) if first else (gone, kept)
        winner = how if how == "review" else "left" if first else "right"
        return self._row(kept, (self._tell(left), self._tell(right)), winner)

    def _renamed(self, a: tuple[int, bool], b: tuple[int, bool]) -> Row:
        left, right = (a, b) if self.dispute.turns[a[0]] <= self.dispute.turns[b[0]] else (b, a)
        winner = _STAYS[left[1], right[1]]
        return self._row(a[0], (self._tell(left[0]), self._tell(right[0])), self._or_review(winner))

    def _missing(self, box: int, silent: tuple[int, str], *, stays: bool) -> Row:
        nothing, drawn = _nothing(silent[1]), self._tell(box)
        if self.dispute.turns[box] <= silent[0]:
            return self._row(box, (drawn, nothing), self._or_review("left" if stays else "right"))
        return self._row(box, (nothing, drawn), self._or_review("right" if stays else "left"))

    def _or_review(self, winner: str) -> str:
        return "review" if self.rule.kind == "review" else winner

    def _row(self, box: int, sides: tuple[str, str], winner: str) -> Row:
        told = {"frame_id": self.columns["frame_id"][box], "kind": "box", "rule": self.rule.name, "winner": winner}
        return {**told, "left": sides[0], "right": sides[1]}

    def _tell(self, box: int) -> str:
        """Return the canonical JSON of a box, with its contributor."""
        said: dict[str, Any] = {name: self.columns[name][box] for name in COMPARED}
        texts = {
            "batch": _quoted(self.columns["by"][box]),
            "box": _quoted(self.columns["box_id"][box]),
            "class_name": _quoted(self.columns["class_name"][box]),
            **{name: repr(round(self.columns[name][box], 3)) for name in CORNERS},
            **{name: _quoted(value) for name, value in said.items() if value not in {None, False, "{}"}},
        }
        return "{" + ",".join(f'"{name}":{texts[name]}' for name in sorted(texts)) + "}"


@lru_cache(maxsize=65_536)
def _quoted(value: str | bool) -> str:
    return canonical_json(value)


@lru_cache(maxsize=1_024)
def _nothing(batch: str) -> str:
    return canonical_json({"batch": batch, "box": None})


def _differ(dispute: Dispute, left: Ints, right: Ints) -> Bools:
    moved: Bools = np.abs(dispute.corners[left] - dispute.corners[right]).max(axis=1, initial=0) > _SAME_PX
    for name in COMPARED:
        values = dispute.boxes[name]
        moved |= values.gather(left).ne_missing(values.gather(right)).to_numpy()
    return moved


def _other_names(dispute: Dispute, alone: Alone) -> dict[int, int]:
    """Return, for entries that are one place under two names, the entry of the other name; each is in one pair."""
    entries = pl.DataFrame(
        {
            "frame_id": dispute.boxes["frame_id"].gather(alone.box),
            "group": dispute.groups[alone.box],
            "turn": dispute.turns[alone.box],
            "silent": alone.silent,
        }
    ).with_row_index("entry")
    crossed = entries.join(
        entries, left_on=["frame_id", "turn", "silent"], right_on=["frame_id", "silent", "turn"], suffix="_other"
    )
    crossed = crossed.filter(pl.col("group") < pl.col("group_other"))
    one, other = crossed["entry"].to_numpy(), crossed["entry_other"].to_numpy()
    near = iou(dispute.corners[alone.box[one]], dispute.corners[alone.box[other]])
    close = (near >= round(dispute.rule.min_iou, 9)) & (near > 0)
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for a, b in sorted(zip(one[close].tolist(), other[close].tolist(), strict=True)):
        if a not in used and b not in used:
            pairs[a] = b
            used |= {a, b}
    return pairs
