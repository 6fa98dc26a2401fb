"""Decide which frames a model may learn from, and keep all that touches the hold-out away from them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.errors import InvalidInputError
from driveflow.neighbours.hamming import HammingIndex
from driveflow.snapshots import SnapshotTables
from driveflow.truth import truth_of
from driveflow.withdrawn import REASON as WITHDRAWN
from driveflow.withdrawn import withdrawn_among, withdrawn_decisions

STEP: Final = "build_training_set"
_Row: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """What a model learns from, what judges it, and what was decided about every frame.

    `training` holds the labeled train and val frames, `holdout` the hold-out frames; `decisions` (schema DECISIONS) has
    one row for each frame that came in. `counts` say how many, by what became of them; "unmeasured" are those kept
    without a hash, of which only the drive group could be checked.
    """

    training: SnapshotTables
    holdout: SnapshotTables
    decisions: pa.Table
    counts: Mapping[str, int]


def build_training_set(
    tables: SnapshotTables, signals: pa.Table, leak_max_bits: int, withdrawn: Collection[str] = ()
) -> TrainingSet:
    """Split `tables` into what trains and what judges, dropping every train or val frame that touches the hold-out.

    A frame touches it when it is of the same drive group as a hold-out frame, or when its perceptual hash in `signals`
    (schema SIGNALS) differs in at most `leak_max_bits` of 64 bits from one; it is dropped with the reason "leak". A
    frame in which nobody looked for any class is dropped with the reason "unlabeled". Frames that are `withdrawn`
    neither train nor judge, and boxes with a score, which are predictions, teach and judge nothing.

    Raises:
        InvalidInputError: no frame is left to train on; says what became of them.
    """
    gone = withdrawn_among(tables.frames["frame_id"], withdrawn)
    tables = replace(tables, boxes=truth_of(tables.boxes)).without(gone)
    firewall = _Firewall(tables.frames, signals, leak_max_bits)
    rows = [*withdrawn_decisions(gone, STEP), *(_decide(frame, firewall) for frame in _frame_rows(tables.frames))]
    decisions = pa.Table.from_pylist(rows, schema=columns.DECISIONS)
    kept = decisions.filter(pc.equal(decisions["verdict"], "kept"))["frame_id"]
    training = tables.only(kept)
    counts = _counts(rows, training.frames)
    counts["unmeasured"] = sum(not firewall.measured(frame_id) for frame_id in kept.to_pylist())
    if counts["train"] == 0:
        raise InvalidInputError(_none_left(counts))
    return TrainingSet(training, tables.only(_of_split(tables.frames, "holdout")), decisions, counts)


def _none_left(counts: Mapping[str, int]) -> str:
    """Return that nothing is left to train on, why, and what would do for the reason that took most frames."""
    told = ", ".join(f"{name} {number}" for name, number in counts.items())
    remedies = {
        "unlabeled": "collect what annotators answered (`driveflow label list`), or bring a batch with labels",
        "leak": "bring drives that do not touch the hold-out",
        "holdout": "hold out fewer drives (holdout of the flow file)",
        "val": "make splits.val_fraction smaller",
    }
    reason = max(remedies, key=lambda name: counts[name])
    would = f" What would do: {remedies[reason]}." if counts[reason] else ""
    return f"No frame is left to train on: {told}.{would}"


class _Firewall:
    """Knows the hold-out and says how a frame touches it."""

    def __init__(self, frames: pa.Table, signals: pa.Table, max_bits: int) -> None:
        self.max_bits = max_bits
        self._ids = sorted(_of_split(frames, "holdout").to_pylist())
        held = frames.filter(pc.equal(frames["split"], "holdout")).sort_by("frame_id")
        pairs = zip(held["drive_group"].to_pylist(), held["frame_id"].to_pylist(), strict=True)
        self._groups: dict[str, str] = {}
        for group, frame_id in pairs:
            self._groups.setdefault(group, frame_id)
        known = signals.filter(pc.is_valid(signals["phash64"]))
        self._hashes = dict(zip(known["frame_id"].to_pylist(), known["phash64"].to_pylist(), strict=True))
        self._index = HammingIndex(max_bits)
        for position, frame_id in enumerate(self._ids):
            if frame_id in self._hashes:
                self._index.add(self._hashes[frame_id], position)

    def touch(self, frame_id: str, drive_group: str) -> _Row | None:
        """Return how the frame touches the hold-out, None where it does not."""
        if drive_group in self._groups:
            twin = self._groups[drive_group]
            return _verdict(frame_id, "leak", "drive_group", twin=twin, detail=f"{drive_group} is held out.")
        code = self._hashes.get(frame_id)
        near = None if code is None else self._index.nearest(code)
        if near is None:
            return None
        detail = f"Differs in {near.distance_bits} of 64 bits from a hold-out frame."
        row = _verdict(frame_id, "leak", "near_duplicate", twin=self._ids[near.label], detail=detail)
        return {**row, "score": float(near.distance_bits), "limit": float(self.max_bits)}

    def measured(self, frame_id: str) -> bool:
        """Return whether the frame has a hash, so that a near-duplicate would have been seen."""
        return frame_id in self._hashes


def _decide(frame: Mapping[str, object], firewall: _Firewall) -> _Row:
    frame_id = str(frame["frame_id"])
    if frame["split"] == "holdout":
        return _verdict(frame_id, "holdout", "split", detail="Judges models, so none learns from it.")
    if not frame["annotated_classes"]:
        return _verdict(frame_id, "unlabeled", "annotated_classes", detail="Nobody looked for any class in it.")
    touch = firewall.touch(frame_id, str(frame["drive_group"]))
    return touch or {**_verdict(frame_id, "", "leak"), "verdict": "kept"}


def _verdict(frame_id: str, reason: str, rule: str, *, twin: str | None = None, detail: str = "") -> _Row:
    fixed: _Row = {"frame_id": frame_id, "step": STEP, "verdict": "dropped", "score": None, "limit": None}
    return {**fixed, "rule": rule, "reason": reason, "twin": twin, "detail": detail}


def _frame_rows(frames: pa.Table) -> Iterator[Mapping[str, object]]:
    yield from frames.select(["frame_id", "split", "drive_group", "annotated_classes"]).to_pylist()


def _of_split(frames: pa.Table, split: str) -> pa.ChunkedArray:
    return frames.filter(pc.equal(frames["split"], split))["frame_id"]


def _counts(rows: Iterable[_Row], training: pa.Table) -> dict[str, int]:
    reasons = Counter(str(row["reason"]) for row in rows)
    leaks = Counter(str(row["rule"]) for row in rows if row["reason"] == "leak")
    splits = Counter(training["split"].to_pylist())
    return {
        "frames_in": sum(reasons.values()),
        "train": splits["train"],
        "val": splits["val"],
        "holdout": reasons["holdout"],
        "unlabeled": reasons["unlabeled"],
        "leak": reasons["leak"],
        "withdrawn": reasons[WITHDRAWN],
        **{f"leak_{rule}": number for rule, number in sorted(leaks.items())},
    }
