"""Find the items of a large JSON list or object without decoding it: junk may have a hundred million of them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

_CHUNK_BYTES: Final = 1 << 20
_WEIGHTS: Final = {b",": 40, b"[": 64, b"{": 184, b'"': 30}  # bytes that a value, a list, an object and text take
_MAX_KEY_BYTES: Final = 64 << 10
_MOST_NAMES: Final = 10_000
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_KEY: Final = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:', re.DOTALL)
_QUOTE, _COMMA, _BACKSLASH = b'",\\'
_IS_SIGN: Final = np.isin(np.arange(256), list(b",{}[]"))
_STEP: Final = np.select([np.isin(np.arange(256), list(b"{[")), np.isin(np.arange(256), list(b"}]"))], [1, -1], 0)

Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class JsonItems:
    """The items of the list or object that `text` is; each pass goes through the text again and keeps nothing."""

    text: memoryview

    def __iter__(self) -> Iterator[memoryview]:
        """Yield each item; of an object, each member with its name."""
        begin = _begin(self.text) + 1
        for end in _ends(self.text):
            item = self.text[begin:end]
            if end - begin > _CHUNK_BYTES or bytes(item).strip():
                yield item
            begin = end + 1

    def head(self, count: int) -> list[memoryview]:
        """Return the first items, `count` at most."""
        return list(islice(self, count))

    def values(self) -> Iterator[memoryview]:
        """Yield the items of a list, the values of an object."""
        is_object = bytes(self.text[_begin(self.text) :][:1]) == b"{"
        yield from (value for _, value in self.members()) if is_object else self

    def members(self) -> Iterator[tuple[bytes, memoryview]]:
        """Yield the names of an object, as JSON, and their values."""
        for item in self:
            if found := _KEY.match(bytes(item[:_MAX_KEY_BYTES])):
                yield found[1], item[found.end() :]


def names_in(text: Bytes) -> frozenset[str]:
    """Return the first names of an object, more than any label document has; none where `text` is no object."""
    if not bytes(text[:_CHUNK_BYTES]).lstrip().startswith(b"{"):
        return frozenset()
    members = islice(JsonItems(memoryview(text)).members(), _MOST_NAMES)
    return frozenset(name for key, _ in members if (name := _text(key)) is not None)


def members_named(text: Bytes, names: Collection[str]) -> dict[str, memoryview]:
    """Return the members of an object that have one of these names, of equal ones the last."""
    if not bytes(text[:_CHUNK_BYTES]).lstrip().startswith(b"{"):
        return {}
    members = ((_text(key), value) for key, value in JsonItems(memoryview(text)).members())
    return {name: value for name, value in members if name in names and name is not None}


def _text(key: bytes) -> str | None:
    try:
        return msgspec.json.decode(key, type=str)
    except msgspec.DecodeError:
        return None


def is_balanced(text: Bytes) -> bool:
    """Tell whether what is opened at the beginning is closed at the end, and nothing follows."""
    last = None
    for last in _ends(memoryview(text)):  # noqa: B007 the last of them counts
        pass
    return last is not None and bytes(text[last : last + 1]) in {b"]", b"}"} and not bytes(text[last + 1 :]).strip()


def _begin(text: memoryview) -> int:
    head = bytes(text[:_CHUNK_BYTES])
    return len(head) - len(head.lstrip())


def _ends(text: memoryview) -> Iterator[int]:
    """Yield where each item of the outermost list or object ends; the last is where that is closed."""
    depth, is_inside, start = 0, 0, _begin(text)
    while start < len(text):
        chunk = _without_escapes(text, start)
        raw = np.frombuffer(chunk, np.uint8)
        inside = (np.cumsum(raw == _QUOTE, dtype=np.int32) + is_inside) & 1
        places = np.flatnonzero(_IS_SIGN[raw] & (inside == 0))
        signs = raw[places]
        depths = depth + np.cumsum(_STEP[signs])
        found: npt.NDArray[np.bool_] = ((signs == _COMMA) & (depths == 1)) | (depths == 0)
        for at in np.flatnonzero(found).tolist():
            yield start + int(places[at])
            if depths[at] == 0:
                return
        depth = int(depths[-1]) if len(depths) else depth
        is_inside = int(inside[-1])
        start += len(chunk)


def _without_escapes(text: memoryview, start: int) -> bytes:
    """Return a chunk from `start` on with blanks for what is escaped; an escape is not cut."""
    chunk = bytes(text[start : start + _CHUNK_BYTES])
    if _BACKSLASH not in chunk:
        return chunk
    if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
        chunk += bytes(text[start + len(chunk) : start + len(chunk) + 1])
    return _ESCAPE.sub(b"  ", chunk)


def memory_of(text: Bytes) -> int:
    """Return about how many bytes the decoded text takes, rather more than less."""
    view = memoryview(text)
    chunks = (bytes(view[start : start + _CHUNK_BYTES]) for start in range(0, len(view), _CHUNK_BYTES))
    return len(view) + sum(each * chunk.count(mark) for chunk in chunks for mark, each in _WEIGHTS.items())
