"""Measure on pairs of a known relation what each limit of a duplicate search finds, and what it finds falsely."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.canonical import Json, digest_bytes
from driveflow.errors import BrokenDataError, UsageError
from driveflow.images.hashes import hamming_bits
from driveflow.images.pixel_digest import pixel_digest
from driveflow.images.signals import measure
from filtering.sheets import open_sheet

Vectors: TypeAlias = npt.NDArray[np.float32]
Embed: TypeAlias = Callable[[Sequence[bytes]], Vectors]
"""Returns a row of length 1 for each encoded picture."""
Method: TypeAlias = Literal["bytes", "pixels", "bits", "cosine"]

DUPLICATES: Final = ("exact_bytes", "same_pixels", "near")  # a search should find them
DIFFERENT: Final = ("mirrored", "hard")  # and these never
_LEFT, _RIGHT, _RELATION = ("base", "a"), ("variant", "b"), "relation"
_UNNAMED_RELATION: Final = "hard"  # a list without relations is one of look-alikes
_EMBEDDED_AT_ONCE: Final = 16
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class NamedPair:
    """Two pictures by name, and how one came from the other."""

    left: str
    right: str
    relation: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A way to find duplicates: a pair is found where it differs by no more than `most` under `method`."""

    method: Method
    most: float = 0.0

    def __str__(self) -> str:
        return self.method if self.method in {"bytes", "pixels"} else f"{self.method} <= {self.most:g}"


@dataclass(frozen=True, slots=True)
class RelationRow:
    """How many pairs of one relation there are, and how many of them each limit finds."""

    relation: str
    pairs: int
    found: tuple[int, ...]

    @property
    def wanted(self) -> bool | None:
        """Whether its pairs should be found; None where that is a matter of taste."""
        return True if self.relation in DUPLICATES else False if self.relation in DIFFERENT else None


@dataclass(frozen=True, slots=True)
class RelationTable:
    """What each of `limits` finds, relation by relation; `unreadable` names pictures that cannot be decoded."""

    limits: tuple[Limit, ...]
    rows: tuple[RelationRow, ...]
    unreadable: tuple[str, ...] = ()

    def false_finds(self, limit: Limit) -> int:
        """Return how many pairs that show different things `limit` finds."""
        place = self.limits.index(limit)
        return sum(row.found[place] for row in self.rows if row.wanted is False)

    def to_json(self) -> dict[str, Json]:
        """Return the table as JSON: recall where pairs should be found, the number of false finds where not."""
        rows: list[Json] = [_row_json(row, self.limits) for row in self.rows]
        false: dict[str, Json] = {str(limit): self.false_finds(limit) for limit in self.limits}
        return {"relations": rows, "false_finds": false, "unreadable": list(self.unreadable)}


@dataclass(frozen=True, slots=True)
class _Signs:
    """What pairs are compared by; None where the picture cannot be decoded."""

    digest: str
    pixels: str | None
    phash64: int | None


def read_pairs(text: str, name: str) -> list[NamedPair]:
    """Return the pairs of a CSV with the columns base, variant (or a, b) and relation; without one they are `hard`.

    Raises:
        UsageError: it has other columns, no row, or one with half a pair.
    """
    reader = open_sheet(text)
    header = reader.fieldnames or []
    left, right = (next((item for item in names if item in header), "") for names in (_LEFT, _RIGHT))
    if not left or not right:
        raise UsageError(f"{name} has the columns {', '.join(header) or 'none'}; wanted are base, variant, relation.")
    pairs = []
    for line, row in enumerate(reader, 2):
        if not row[left] or not row[right]:
            raise UsageError(f"{name}:{line} names one picture; a pair is {left} and {right}.")
        pairs.append(NamedPair(row[left], row[right], row.get(_RELATION) or _UNNAMED_RELATION))
    if not pairs:
        raise UsageError(f"{name} names no pair.")
    return pairs


def relation_table(
    pairs: Sequence[NamedPair], read: Callable[[str], bytes], limits: Sequence[Limit], embed: Embed | None = None
) -> RelationTable:
    """Return what each of `limits` finds among `pairs`; `read` returns the encoded bytes of a picture by its name.

    Limits in cosine distance need `embed`. A picture that cannot be decoded is like another only byte by byte.
    """
    names = sorted({name for pair in pairs for name in (pair.left, pair.right)})
    signs = {name: _signs(read(name)) for name in names}
    readable = [name for name in names if signs[name].phash64 is not None]
    wants_vectors = any(limit.method == "cosine" for limit in limits)
    vectors = _vectors(readable, read, embed) if wants_vectors and embed is not None else {}
    found = {pair: tuple(_is_found(pair, signs, vectors, limit) for limit in limits) for pair in dict.fromkeys(pairs)}
    rows = []
    for relation in sorted({pair.relation for pair in pairs}, key=_order):
        of_it = [pair for pair in pairs if pair.relation == relation]
        counts = tuple(sum(found[pair][place] for pair in of_it) for place in range(len(limits)))
        rows.append(RelationRow(relation, len(of_it), counts))
    return RelationTable(tuple(limits), tuple(rows), tuple(name for name in names if signs[name].phash64 is None))


def _signs(data: bytes) -> _Signs:
    digest = digest_bytes(data)
    try:
        return _Signs(digest, pixel_digest(data), measure(data).phash64)
    except BrokenDataError:
        return _Signs(digest, None, None)


def _vectors(names: Sequence[str], read: Callable[[str], bytes], embed: Embed) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for start in range(0, len(names), _EMBEDDED_AT_ONCE):
        part = names[start : start + _EMBEDDED_AT_ONCE]
        found |= dict(zip(part, embed([read(name) for name in part]), strict=True))
    return found


def _is_found(pair: NamedPair, signs: dict[str, _Signs], vectors: dict[str, Vectors], limit: Limit) -> bool:
    left, right = signs[pair.left], signs[pair.right]
    if limit.method == "bytes" or left.phash64 is None or right.phash64 is None:
        return left.digest == right.digest
    if limit.method == "pixels":
        return left.pixels == right.pixels
    if limit.method == "bits":
        return hamming_bits(left.phash64, right.phash64) <= limit.most
    if pair.left not in vectors:
        return False
    one, other = (vectors[name].astype(np.float64) for name in (pair.left, pair.right))
    return round(1.0 - float(one @ other), _DECIMALS) <= limit.most


def _order(relation: str) -> tuple[int, str]:
    known = (*DUPLICATES, "edited", *DIFFERENT)
    return (known.index(relation), "") if relation in known else (len(known), relation)


def _row_json(row: RelationRow, limits: Sequence[Limit]) -> Json:
    found: dict[str, Json] = {
        str(limit): {"found": count, "share": round(count / row.pairs, 4)}
        for limit, count in zip(limits, row.found, strict=True)
    }
    return {"relation": row.relation, "pairs": row.pairs, "should_be_found": row.wanted, "limits": found}
