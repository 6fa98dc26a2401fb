"""Take JSON as people write it and give JSON as the standard has it, and values that are sure to be plain."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from driveflow.canonical import Json
from driveflow.formats.json_items import is_balanced, memory_of

_MAX_DEPTH: Final = 20  # of attributes; what is nested deeper is left out
_MARK: Final = b"\xef\xbb\xbf"
_BYTE: Final = re.compile(r"\(byte (\d+)\)")  # where a decoder stopped, in its own words
_SMALL_BYTES: Final = 4 << 20  # of JSON that takes little memory, whatever it is
_LARGE_BYTES: Final = 32 << 20  # of JSON that is not repaired as a whole


class JsonTextError(ValueError):
    """What makes a file no JSON; `line` is where, if that is known."""

    def __init__(self, detail: str, line: int | None = None) -> None:
        """Keep what is wrong and the line."""
        super().__init__(detail)
        self.line = line


def strict_json(data: bytes) -> bytes:
    """Return `data` as it is where it has the form of JSON, else repaired: no NaN, no infinities, only text in UTF-8.

    Raises:
        JsonTextError: it is no JSON that even Python's patient parser takes.
    """
    text = data.removeprefix(_MARK)
    try:
        msgspec.json.decode(text, type=msgspec.Raw)  # looks at all of it and keeps nothing
    except (msgspec.DecodeError, RecursionError) as error:
        if len(text) > _LARGE_BYTES and is_balanced(text):
            return text  # its items are repaired one by one
        if len(text) > _LARGE_BYTES:
            raise JsonTextError(f"no JSON: {error}"[:200], _line_of(error, text)) from None
        return msgspec.json.encode(_repaired(text))
    return text


def _line_of(error: Exception, text: bytes) -> int:
    """Return the line of `text` that a decoder stopped in."""
    stopped = _BYTE.search(str(error))
    return text.count(b"\n", 0, int(stopped[1]) if stopped else len(text)) + 1


def value_of(text: bytes | memoryview, most_bytes: int = 384 << 20) -> object:
    """Return the value that a piece of JSON has, repaired where it is not quite JSON.

    Raises:
        JsonTextError: it is no JSON that even Python's patient parser takes, or it may take more than `most_bytes`.
    """
    if len(text) > _SMALL_BYTES and (needed := memory_of(text)) > most_bytes:
        detail = f"it takes about {needed >> 20:,} MiB of memory, {most_bytes >> 20} MiB are the most"
        raise JsonTextError(detail)
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _repaired(bytes(text))


def _repaired(text: bytes) -> object:
    try:
        return _clean(json.loads(text.decode("utf-8", "backslashreplace")))
    except json.JSONDecodeError as error:
        raise JsonTextError(f"no JSON: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise JsonTextError(f"no JSON: {error}"[:200]) from None


def _clean(value: Any) -> Any:  # noqa: ANN401 any JSON
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def object_of(value: object) -> Mapping[str, object]:
    """Return `value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[object]:
    """Return `value` where it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else ()


def number_of(value: object) -> float | None:
    """Return a finite number, also where it is written as text; None for anything else.

    >>> [number_of(value) for value in (1, "2.5", True, "x", None, float("nan"), 10**400)]
    [1.0, 2.5, None, None, None, None, None]
    """
    if type(value) is float:  # nearly always
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def text_of(value: object) -> str:
    """Return text, or the text of an id that is a number: 7, 7.0 and "7" are one id, as files of one set mix them.

    >>> [text_of(value) for value in (7, 7.0, " 7 ", None, [7])]
    ['7', '7', '7', '', '']
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if abs(value) < 2**64 else ""


def plain(value: object, depth: int = 0) -> Json:
    """Return `value` as JSON that every parser reads alike: no NaN, no number beyond 64 bits, nothing nested deeply."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    return [plain(item, depth + 1) for item in value] if isinstance(value, list | tuple) else None


def plain_object(value: object) -> dict[str, Json]:
    """Return what a JSON object says, without the keys that say nothing (null, empty text)."""
    made = {key: plain(item) for key, item in object_of(value).items()}
    return {key: item for key, item in made.items() if item is not None and item != ""}
