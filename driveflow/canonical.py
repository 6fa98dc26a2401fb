"""One spelling for every value, so that equal things have equal digests."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]  # noqa: UP007 a string inside


def canonical_json(value: Json) -> str:
    r"""Return `value` as the one JSON text that all machines write for it.

    Keys are sorted, NaN is refused. Text that KFP's local runner would rewrite inside a parameter
    (the word for the interpreter, opening braces of a placeholder) is spelled with an escape.

    >>> canonical_json({"b": 1, "a": [1.5, "x"]})
    '{"a":[1.5,"x"],"b":1}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("python3", "python\\u0033").replace("{{$", "{\\u007b$")


def digest(value: Json) -> str:
    """Return the sha256 of `value` in canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Return the sha256 of `data`, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def draw_share(*parts: str | int) -> float:
    """Return a number from 0 to 1 that looks random, and is the same for `parts` on every machine.

    >>> draw_share("val", 7, "drive 1") == draw_share("val", 7, "drive 1") != draw_share("val", 8, "drive 1")
    True
    """
    return int.from_bytes(hashlib.sha256(":".join(map(str, parts)).encode()).digest()[:8]) / 2**64


def sealed_json(value: Mapping[str, Json]) -> bytes:
    """Return `value`, which has no key "digest", as a record that states its own digest, so that damage is noticed."""
    return canonical_json({**value, "digest": digest(value)}).encode()


def unsealed_json(data: bytes) -> dict[str, Any]:
    """Return what `sealed_json` was given.

    Raises:
        ValueError: it is not what was written.
    """
    try:
        value = json.loads(data)
        stated = value.pop("digest")
        is_whole = digest(value) == stated
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no record with a digest of its own: {error!r}") from error
    if not is_whole:
        raise ValueError("its digest is not that of what it says")
    return dict(value)
