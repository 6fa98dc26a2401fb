"""Tell how much a decoder may make of a message: a definition of strangers can make a gigabyte of a megabyte."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from rosbags.interfaces import Nodetype

MAX_LISTED_BYTES: Final = 4 << 20
"""Of a message that may hold lists of objects: an object takes a hundred bytes, and may be made of one."""

_MOST_OBJECTS: Final = 1000  # of a message without such lists
Parts = Callable[[str], Iterable[tuple[str, float]]]
"""What a type is made of: types, empty for text, and how often each comes; infinite where the message says it."""


def makes_many(name: str, parts_of: Parts) -> bool:
    """Tell whether a message of type `name` makes many objects, or as many as it likes.

    >>> makes_many("Image", {"Image": [("Header", 1)], "Header": []}.get)
    False
    >>> makes_many("Boxes", {"Boxes": [("Box", math.inf)], "Box": []}.get)
    True
    """
    counts: dict[str, float] = {"": 1}

    def count(wanted: str) -> float:
        if wanted not in counts:
            counts[wanted] = math.inf  # a type that is part of itself
            counts[wanted] = 1 + sum(times * count(part) for part, times in parts_of(wanted))
        return counts[wanted]

    return count(name) > _MOST_OBJECTS


def ros_parts(fields: Iterable[tuple[str, Any]]) -> list[tuple[str, float]]:
    """Return what the fields of a ROS message are made of that are no numbers."""
    parts: list[tuple[str, float]] = []
    for _, (kind, what) in fields:
        is_list = kind in {Nodetype.ARRAY, Nodetype.SEQUENCE}
        item_kind, item = what[0] if is_list else (kind, what)
        times = what[1] if kind == Nodetype.ARRAY else math.inf if is_list else 1
        if item_kind == Nodetype.NAME:
            parts.append((item, times))
        elif is_list and item[0] in {"string", "wstring"}:
            parts.append(("", times))
    return parts


def protobuf_parts(message: Any) -> list[tuple[str, float]]:  # noqa: ANN401 a DescriptorProto
    """Return what a protobuf message is made of; lists of numbers count too: there a byte becomes eight."""
    listed = [field.label == field.LABEL_REPEATED for field in message.field]
    return [
        (field.type_name.removeprefix("."), math.inf if many else 1)
        for field, many in zip(message.field, listed, strict=True)
        if many or field.type in {field.TYPE_MESSAGE, field.TYPE_GROUP}
    ]
