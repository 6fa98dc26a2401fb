"""Frames that had to go: a tombstone for each, under `<store>/withdrawn/`, that outlives every copy of the picture."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json, canonical_json
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.snapshots import Snapshot
from driveflow.storage.objects import join, list_objects, read_bytes, write_bytes

REASON = "withdrawn"
_FOLDER = "withdrawn"
_SUFFIX = ".json"

TraceKind: TypeAlias = Literal["shard", "campaign", "rows", "cache", "training", "source", "archive"]


@dataclass(frozen=True, slots=True, order=True)
class Trace:
    """One place where the frame's bytes, or what was measured of them, lie or lay; `length` 0 is the whole object."""

    kind: TraceKind
    uri: str
    offset: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True, order=True)
class ModelSeen:
    """A model that had to do with the frame, and how: it trained on it, was tuned on it (val) or judged by it."""

    model: str
    digest: str
    version: int | None
    state: str
    how: str
    snapshot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of a withdrawn frame.

    `state` is "begun" while copies may still lie where `purged` says; `remaining` are copies that are not ours to
    remove, `pages` are pages that may show the picture. `digests` are those of its bytes, where its id is another.
    """

    frame_id: str
    reason: str
    who: str
    at: str
    state: Literal["begun", "done"] = "begun"
    digests: tuple[str, ...] = ()
    purged: tuple[Trace, ...] = ()
    remaining: tuple[Trace, ...] = ()
    snapshots: tuple[str, ...] = ()
    models: tuple[ModelSeen, ...] = ()
    pages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the tombstone as JSON."""
        return dict(json.loads(canonical_json(asdict(self))))


def write_tombstone(store: str, tombstone: Tombstone) -> None:
    """Write `tombstone` under the frame's id, and under the digest of its bytes where that is another."""
    data = canonical_json(tombstone.to_json()).encode()
    for name in dict.fromkeys((tombstone.frame_id, *tombstone.digests)):
        write_bytes(_uri(store, name), data)


def read_tombstone(store: str, frame_id: str) -> Tombstone | None:
    """Return the tombstone of a frame, None where it was not withdrawn.

    Raises:
        IntegrityError: there is one, and it cannot be read.
    """
    uri = _uri(store, frame_id)
    try:
        data = read_bytes(uri)
    except NotFoundError:
        return None
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"{uri} is no tombstone: {error}") from error


def list_tombstones(store: str) -> list[Tombstone]:
    """Return the tombstones of `store`, oldest first."""
    read = (read_tombstone(store, name) for name in sorted(withdrawn_ids(store)))
    found = {tombstone.frame_id: tombstone for tombstone in read if tombstone is not None}
    return sorted(found.values(), key=lambda tombstone: (tombstone.at, tombstone.frame_id))


def withdrawn_ids(store: str) -> frozenset[str]:
    """Return the ids of all withdrawn frames, and the digests of their bytes where these are others."""
    try:
        names = [item.path for item in list_objects(join(store, _FOLDER))]
    except NotFoundError:
        return frozenset()
    return frozenset(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def withdrawn_for(store: str, *snapshots: Snapshot) -> frozenset[str]:
    """Return the ids that must not be taken of `snapshots`: withdrawn in the `store` of who asks, or where they lie."""
    stores = {store, *(snapshot.store for snapshot in snapshots)} - {""}
    return frozenset(name for home in stores for name in withdrawn_ids(home))


def withdrawn_among(frame_ids: pa.Array | pa.ChunkedArray, withdrawn: Iterable[str]) -> list[str]:
    """Return which of `frame_ids` are withdrawn, sorted."""
    gone = pa.array(sorted(withdrawn), pa.string())
    found: list[str] = frame_ids.filter(pc.is_in(frame_ids, value_set=gone)).unique().to_pylist()
    return sorted(found)


def withdrawn_decisions(frame_ids: Iterable[str], step: str) -> list[dict[str, object]]:
    """Return the rows of DECISIONS that say why `step` dropped withdrawn frames."""
    detail = "It was withdrawn; its tombstone tells why."
    fixed: dict[str, object] = {"step": step, "rule": REASON, "verdict": "dropped", "reason": REASON, "detail": detail}
    return [{**fixed, "frame_id": frame_id} for frame_id in frame_ids]


def _uri(store: str, name: str) -> str:
    return join(store, _FOLDER, f"{name}{_SUFFIX}")


def _decode(value: Mapping[str, object]) -> Tombstone:
    told = dict(value)
    for name, kind in (("purged", Trace), ("remaining", Trace), ("models", ModelSeen)):
        entries = told[name]
        assert isinstance(entries, list)
        told[name] = tuple(kind(**entry) for entry in entries)
    for name in ("digests", "snapshots", "pages"):
        texts = told[name]
        assert isinstance(texts, list)
        told[name] = tuple(str(text) for text in texts)
    return Tombstone(**told)  # type: ignore[arg-type]  # names and types are checked by what wrote them
