"""What a person writes to cut a hold-out along dimensions: one of them, or several by one another."""

from collections.abc import Iterable
from typing import Final, cast, get_args

from driveflow.errors import UsageError
from driveflow.flow.sections import Dimension, SliceSection

DIMENSIONS: Final[tuple[str, ...]] = get_args(Dimension)
_CROSS: Final = "*"
# A frame's attribute or column alone is a slice for each of its values already, whatever its name.
_OF_FRAMES: Final = frozenset(["time_of_day", "weather", "camera"])


def sections_of(words: Iterable[str]) -> tuple[tuple[SliceSection, ...], tuple[str, ...]]:
    """Return the slices along dimensions that `words` mean, and the words that mean something else, in order.

    `size` is a slice for each value, `class*size*time_of_day` one for each combination; commas outside quotes and
    brackets part several words in one text.

    Raises:
        UsageError: something else than dimensions is crossed, or one with itself.
    """
    found: dict[str, SliceSection] = {}
    others = []
    for word in (word for text in words for word in _parts(text)):
        names = [part.strip() for part in word.split(_CROSS)]
        if not _is_cut(word, names):
            others.append(word)
            continue
        name = _CROSS.join(names)
        found[name] = SliceSection(name=name, by=cast("tuple[Dimension, ...]", tuple(names)))
    return tuple(found.values()), tuple(others)


def _is_cut(word: str, names: list[str]) -> bool:
    """Tell whether a word crosses dimensions or is one that is no attribute of frames."""
    if len(names) == 1:
        return word in DIMENSIONS and word not in _OF_FRAMES
    if not all(name.replace("_", "").isalpha() for name in names):
        return False
    if unknown := [name for name in names if name not in DIMENSIONS]:
        raise UsageError(f"{word!r}: {unknown[0]!r} is no dimension. Known: {', '.join(DIMENSIONS)}.")
    if len(set(names)) < len(names):
        raise UsageError(f"{word!r} crosses a dimension with itself.")
    return True


def _parts(text: str) -> list[str]:
    """Return what commas part, but for those in quotes and brackets."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == "'"
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if sign == "," and not quoted and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]
