"""Write text files that are there whole or not at all, a piece at a time."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from driveflow.canonical import Json


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Open a text file for writing that appears under its name once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as stream:
        yield stream
    part.replace(path)


def write_text(path: Path, text: str) -> None:
    """Write a small file whole."""
    with whole_file(path) as stream:
        stream.write(text)


def json_text(value: Json) -> str:
    """Return `value` as JSON on one line, with every letter as itself."""
    return msgspec.json.encode(value).decode()


def json_list(items: Iterable[Json]) -> Iterator[str]:
    """Yield the pieces of a JSON list, an item a line."""
    yield "["
    for number, item in enumerate(items):
        yield f"{',' if number else ''}\n{json_text(item)}"
    yield "\n]"


def json_members(items: Iterable[tuple[str, Json]]) -> Iterator[str]:
    """Yield the pieces of a JSON object, a member a line."""
    yield "{"
    for number, (key, value) in enumerate(items):
        yield f"{',' if number else ''}\n{json_text(key)}: {json_text(value)}"
    yield "\n}"


def pixels(value: float) -> str:
    """Return a length in pixels to a millionth, with two decimals at least, as KITTI has them.

    >>> pixels(12.5), pixels(0.1234567), pixels(-0.0000001)
    ('12.50', '0.123457', '0.00')
    """
    whole, _, share = f"{round(value, 6) + 0.0:.6f}".partition(".")
    return f"{whole}.{share.rstrip('0').ljust(2, '0')}"
