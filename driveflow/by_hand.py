"""What people said of the filters' decisions: rows under `<store>/by_hand/` that are added, and never changed."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from driveflow.canonical import Json, canonical_json, digest
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.reuse import put_object, read_object
from driveflow.storage.objects import join, list_objects, read_bytes, write_bytes

_FOLDER: Final = "by_hand"
_SUFFIX: Final = ".json"

About: TypeAlias = Literal["keep", "not_duplicate", "review"]
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing a person said, at a time (ISO, UTC).

    About `keep`: the frame stays whatever a filter says. About `not_duplicate`: frame and twin show different things.
    About `review`: what `rule` did with the frame, at that score and beside that twin, was right. With `yes` false the
    contrary: the first two are taken back.
    """

    about: About
    frame_id: str
    who: str
    at: str
    twin: str = ""
    rule: str = ""
    score: float | None = None
    yes: bool = True
    why: str = ""

    def sentence(self) -> str:
        """Return what was said, in words."""
        words = {
            "keep": ("its drop was undone", "the filters may drop it again"),
            "not_duplicate": ("no duplicates", "may be duplicates again"),
            "review": (f"{self.rule} was right", f"{self.rule} was wrong"),
        }
        return words[self.about][0 if self.yes else 1]

    def to_json(self) -> dict[str, Json]:
        """Return the row as JSON."""
        return dict(json.loads(canonical_json(asdict(self))))


@dataclass(frozen=True, slots=True)
class ByHand:
    """What counts of all that was said: frames that stay, and pairs that are no duplicates, sorted."""

    kept: frozenset[str] = frozenset()
    not_duplicates: tuple[Pair, ...] = ()

    def pairs(self) -> pa.Table:
        """Return the pairs as columns frame_a and frame_b."""
        left, right = ([pair[place] for pair in self.not_duplicates] for place in (0, 1))
        return pa.table({"frame_a": pa.array(left, pa.string()), "frame_b": pa.array(right, pa.string())})


def say_by_hand(store: str, rows: Sequence[Said]) -> None:
    """Add `rows`, as one object; what was said before stays as it is."""
    if not rows:
        return
    value: Json = [row.to_json() for row in rows]
    moment = datetime.fromisoformat(rows[0].at).strftime("%Y%m%dT%H%M%S%f")
    name = f"{moment}-{digest(value)[:16]}{_SUFFIX}"
    write_bytes(join(store, _FOLDER, name), canonical_json(value).encode(), if_absent=True)


def said_by_hand(store: str) -> list[Said]:
    """Return all that was said, oldest first.

    Raises:
        IntegrityError: an object cannot be read.
    """
    folder = join(store, _FOLDER)
    try:
        names = sorted(item.path for item in list_objects(folder) if item.path.endswith(_SUFFIX))
    except NotFoundError:
        return []
    return [row for name in names for row in _read(join(folder, name))]


def kept_by_hand(said: Iterable[Said]) -> frozenset[str]:
    """Return the frames that stay whatever a filter says; of a frame, what was said last counts."""
    last = {row.frame_id: row.yes for row in said if row.about == "keep"}
    return frozenset(frame_id for frame_id, stays in last.items() if stays)


def not_duplicates(said: Iterable[Said]) -> frozenset[Pair]:
    """Return the pairs that were said to show different things, each sorted; of a pair, what was said last counts."""
    last = {pair_of(row.frame_id, row.twin): row.yes for row in said if row.about == "not_duplicate"}
    return frozenset(pair for pair, apart in last.items() if apart)


def by_hand_now(store: str) -> ByHand:
    """Return what now counts of all that was said."""
    said = said_by_hand(store)
    return ByHand(kept_by_hand(said), tuple(sorted(not_duplicates(said))))


def put_by_hand(store: str) -> str:
    """Keep what now counts of all that was said as one object, and return its address; empty where nothing counts."""
    now = by_hand_now(store)
    kept: Json = sorted(now.kept)
    pairs: Json = [list(pair) for pair in now.not_duplicates]
    if not kept and not pairs:
        return ""
    return put_object(store, canonical_json({"kept": kept, "not_duplicates": pairs}).encode(), _SUFFIX)


def read_by_hand(uri: str) -> ByHand:
    """Return what `put_by_hand` kept; nothing counts where `uri` is empty."""
    if not uri:
        return ByHand()
    held = json.loads(read_object(uri))
    pairs = [pair_of(*pair) for pair in held["not_duplicates"]]
    return ByHand(frozenset(held["kept"]), tuple(pairs))


def pair_of(one: str, other: str) -> Pair:
    """Return two frames as a pair without direction."""
    return min(one, other), max(one, other)


def _read(uri: str) -> list[Said]:
    try:
        return [Said(**row) for row in json.loads(read_bytes(uri))]
    except (ValueError, TypeError) as error:
        raise IntegrityError(f"{uri} is not what a person said: {error}") from error
