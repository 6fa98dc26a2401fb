"""Regression sets: objects that a model once missed and every later model must find, frozen under their digest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driveflow.canonical import Json, canonical_json, digest_bytes
from driveflow.errors import InvalidInputError
from validation.model.compare import Counts
from validation.model.scored import Scored, object_key
from validation.verdict import RuleResult

KIND = "driveflow-regressions"
_SHOWN = 5
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class RegressionObject:
    """An object of the hold-out: its frame, its class and its box, x1, y1, x2, y2 in pixels."""

    frame_id: str
    class_name: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class RegressionSet:
    """What must be found, why it was written down, and the digest of the file that says so."""

    name: str
    note: str
    objects: tuple[RegressionObject, ...]
    digest: str = ""


def write_regressions(found: RegressionSet) -> bytes:
    """Return the file of a regression set; the same objects in any order give the same bytes."""
    objects: list[Json] = [
        {"frame_id": one.frame_id, "class_name": one.class_name, "box": list(one.box)}
        for one in sorted(set(found.objects))
    ]
    return canonical_json({"kind": KIND, "name": found.name, "note": found.note, "objects": objects}).encode()


def read_regressions(data: bytes, where: str) -> RegressionSet:
    """Return the set that `data`, the file at `where`, holds.

    Raises:
        InvalidInputError: it is no such file.
    """
    try:
        value = json.loads(data)
        objects = tuple(_object(item) for item in value["objects"])
        name, note, kind = str(value["name"]), str(value.get("note", "")), value["kind"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{where} is no regression set: {error!r}. `driveflow regressions` makes one."
        ) from error
    if kind != KIND or not objects:
        raise InvalidInputError(f"{where} is no regression set: kind {kind!r} with {len(objects)} objects.")
    return RegressionSet(name, note, objects, digest_bytes(data))


def load_regressions(name: str, store: str) -> RegressionSet:
    """Return the set that `name` says: a digest in the store, an address, or a path.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is no regression set, or not the one of its digest.
    """
    from driveflow.reuse import read_object
    from driveflow.storage.objects import join, read_bytes, to_uri

    if _DIGEST.fullmatch(name):
        uri = join(store, "objects", f"{name}.json")
        return read_regressions(read_object(uri), uri)
    uri = name if "://" in name else to_uri(name)
    return read_regressions(read_bytes(uri), name)


def regression_rule(challenger: Scored, champion: Scored | None, wanted: RegressionSet) -> RuleResult:
    """Return whether the challenger finds every object of the set."""
    keys = [object_key(one.frame_id, one.class_name, one.box) for one in wanted.objects]
    row_of = {int(key): row for row, key in enumerate(challenger.object_key.tolist())}
    rows = [row_of.get(key) for key in keys]
    there = np.array([row for row in rows if row is not None], np.int64)
    name, counts = f"regression set {wanted.name}", _counts(challenger, there)
    gone = [one for one, row in zip(wanted.objects, rows, strict=True) if row is None]
    if gone:
        reason = f"{len(gone)} of {len(keys)} objects of the set are not in this hold-out: {_told(gone)}."
        return RuleResult(name, "NEEDS DATA", reason, None, 1.0, None, counts)
    missed = [
        one for one, row in zip(wanted.objects, rows, strict=True) if row is None or not challenger.object_found[row]
    ]
    share = 1.0 - len(missed) / len(keys)
    if not missed:
        return RuleResult(name, "PASS", f"All {len(keys)} objects of the set are found.", share, 1.0, None, counts)
    beside = ""
    if champion is not None:
        before = int(champion.object_found[there].sum())
        beside = f" The champion finds {before}."
    reason = f"{len(missed)} of {len(keys)} objects that must stay found are missed: {_told(missed)}.{beside}"
    return RuleResult(name, "BLOCK", reason, share, 1.0, None, counts)


def _object(item: Mapping[str, Json]) -> RegressionObject:
    box = item["box"]
    if not isinstance(box, Sequence) or len(box) != 4:
        raise ValueError(f"box {box!r} has not four numbers")
    x1, y1, x2, y2 = (float(value) for value in box)  # type: ignore[arg-type]
    return RegressionObject(str(item["frame_id"]), str(item["class_name"]), (x1, y1, x2, y2))


def _counts(model: Scored, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Counts:
    frames = np.unique(model.sweep.object_frame[rows])
    return Counts(len(frames), len(np.unique(model.frame_group[frames])), len(rows))


def _told(objects: Sequence[RegressionObject]) -> str:
    shown = ", ".join(f"{one.class_name} in {one.frame_id[:12]}" for one in objects[:_SHOWN])
    return f"{shown} and {len(objects) - _SHOWN} more" if len(objects) > _SHOWN else shown
