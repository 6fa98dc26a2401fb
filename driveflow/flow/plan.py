"""The plan of a flow as a person reads it: every setting with its value, and which of them are defaults."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from driveflow.canonical import Json
from driveflow.flow.document import Key, Node, find
from driveflow.flow.sections import Flow

_COMMENT_COLUMN = 48
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null"}


def plan_text(flow: Flow, root: Node) -> str:
    """Return the flow as YAML with all defaults filled; what `root`, its file, does not state is marked."""
    return "\n".join(_lines(asdict(flow), (), root))


def defaults_taken(flow: Flow, root: Node) -> list[str]:
    """Return the key paths of settings that the file does not state."""
    return [".".join(map(str, path)) for path, _ in _leaves(asdict(flow), ()) if find(root, path) is None]


def _leaves(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], Json]]:  # noqa: ANN401 any JSON
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif _is_block(value):
        for i, item in enumerate(value):
            yield from _leaves(item, (*path, i))
    else:
        yield path, value


def _lines(value: Any, path: tuple[Key, ...], root: Node) -> Iterator[str]:  # noqa: ANN401 any JSON
    indent = "  " * len(path)
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        here = (*path, key)
        lead = f"{indent}{key}:" if isinstance(key, str) else f"{indent}-"
        if isinstance(item, Mapping) and item:
            inner = list(_lines(item, here, root))
            yield from [lead, *inner] if isinstance(key, str) else [f"{indent}- {inner[0].strip()}", *inner[1:]]
        elif _is_block(item):
            yield from [lead, *_lines(item, here, root)]
        else:
            line = f"{lead} {_scalar(item)}"
            yield line if find(root, here) else f"{line.ljust(_COMMENT_COLUMN)} # default"


def _is_block(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(v, Mapping) for v in value)


def _scalar(value: Json) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_scalar, value))}]"
    return value if isinstance(value, str) and _is_plain(value) else json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and text.lower() not in _WORDS
