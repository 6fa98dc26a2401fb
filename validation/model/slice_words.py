"""What a person writes to cut a hold-out into slices: dimensions, dimensions by one another, and conditions."""

from collections.abc import Iterable
from typing import get_args

from driveflow.errors import UsageError
from driveflow.flow.sections import Dimension, SliceSection
from driveflow.where import FRAME_COLUMNS, compile_where

DIMENSIONS: tuple[str, ...] = get_args(Dimension)


def slice_sections(words: Iterable[str]) -> tuple[SliceSection, ...]:
    """Return the slices that `words` mean, in order; what stands twice is one.

    A word is a dimension (`size`), several crossed (`class*size*time_of_day`), or a condition on frames in the words of
    `driveflow.where` (`attributes.weather = 'rain'`), which names its slice. Commas outside quotes and brackets part
    several words in one text.

    Raises:
        UsageError: a word is none of these.
    """
    found = {section.name: section for text in words for word in _parts(text) for section in [_section(word)]}
    return tuple(found.values())


def _section(word: str) -> SliceSection:
    names = tuple(part.strip() for part in word.split("*"))
    if set(names) <= set(DIMENSIONS):
        if len(set(names)) < len(names):
            raise UsageError(f"{word!r} names a dimension twice.")
        return SliceSection(name="*".join(names), by=names)  # type: ignore[arg-type]  # just looked up
    if all(part.replace("_", "").isalnum() for part in names):
        raise UsageError(f"{word!r} is no dimension; those are {', '.join(DIMENSIONS)}, or a condition on frames.")
    compile_where(word, FRAME_COLUMNS)
    return SliceSection(name=word, expression=word)


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
