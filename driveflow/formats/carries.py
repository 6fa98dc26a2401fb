"""What of a snapshot a format has a place for, and how it spells the names of classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from driveflow.canonical import Json
from driveflow.formats.json_text import plain
from driveflow.formats.label_set import names_ignore_region

Fits = Callable[[Json], bool]


def anything(value: Json) -> bool:  # noqa: ARG001 the face of all
    """Say that every value fits."""
    return True


def nothing(value: Json) -> bool:  # noqa: ARG001 the face of all
    """Say that no value fits."""
    return False


def any_named(name: str, value: Json) -> bool:
    """Tell whether an attribute of a frame has a name and says anything."""
    return bool(name) and something(value)


def something(value: Json) -> bool:
    """Tell whether `value` says anything that readers take: null and empty text do not, nor do numbers beyond 64 bits.

    >>> [something(value) for value in (0, "", None, 2**63 - 1, 2**63, {"id": [2**63]})]
    [True, False, False, True, False, False]
    """
    return value is not None and value != "" and plain(value) == value


def yes_or_no(value: Json) -> bool:
    """Tell whether `value` is true or false."""
    return isinstance(value, bool)


def number(value: Json) -> bool:
    """Tell whether `value` is a number, and not beyond 64 bits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and something(value)


def is_number(word: str) -> bool:
    """Tell whether a word is read as a number, as "7" is and "nan"."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def text(value: Json) -> bool:
    """Tell whether `value` is text that survives a format that trims it."""
    return isinstance(value, str) and bool(value) and value == value.strip()


def plain_name(class_name: str) -> str:
    """Return a class name as every format can spell it: readers trim it, and "DontCare" would not be a class.

    >>> plain_name(" traffic light "), plain_name("ignore")
    ('traffic light', 'ignore class')
    """
    name = class_name.strip()
    return f"{name} class" if names_ignore_region(name) else name


def share(value: Json) -> bool:
    """Tell whether `value` is a yes or no, or a number from 0 to 1."""
    return isinstance(value, bool) or (isinstance(value, int | float) and 0 <= value <= 1)


def label(value: Json) -> bool:
    """Tell whether `value` is text or a whole number that may as well be text, as ids are."""
    return text(value) or (isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True, slots=True, kw_only=True)
class Carries:
    """What a format has a place for; `attributes` are the keys of boxes it has, each with the values that fit.

    `ignore`: not at all, only regions that are ignored for every class, or class by class. `spelled` turns a class
    name into what the format can spell.
    """

    title: str
    ignore: Literal["no", "every class", "yes"] = "no"
    scores: bool = False
    partly: bool = False  # which classes were looked for, frame by frame
    attributes: Mapping[str, Fits] = field(default_factory=dict)
    other_attributes: Fits | None = None  # for keys that `attributes` does not name
    kind: Callable[[str, Json], str] | None = None  # where an attribute is of one kind in all boxes of a class: which
    flags: frozenset[str] = frozenset()  # attributes that make an ignore region of a box
    together: frozenset[str] = frozenset()  # attributes of which all have a place, or none
    keys: Callable[[str], bool] = bool  # names of attributes that the format can spell
    frame_attributes: Callable[[str, Json], bool] | None = None  # no place for them: text goes to metadata.csv
    annotator: bool = False
    beyond_edge: bool = True
    adds: Mapping[str, Json] = field(default_factory=dict)  # attributes that all boxes have there; null: of any value
    spelled: Callable[[str], str] = plain_name

    def fits(self, key: str, value: Json, *, ignored: bool = False) -> bool:
        """Tell whether the attribute of a box comes back as it is."""
        if key in self.flags:
            return ignored and value is True
        if key == "difficult" and value is False:
            return True  # as much as not to say it
        judge = self.attributes.get(key, self.other_attributes)
        return self.keys(key) and judge is not None and judge(value)

    def fitting(self, attributes: Mapping[str, Json], *, ignored: bool = False) -> dict[str, Json]:
        """Return the attributes of a box that come back as they are."""
        found = {key: value for key, value in attributes.items() if self.fits(key, value, ignored=ignored)}
        if self.together <= found.keys():
            return found
        return {key: value for key, value in found.items() if key not in self.together}


def spellings(classes: Sequence[str], spelled: Callable[[str], str]) -> dict[str, str]:
    """Return how each class is written: no two alike, and as it is where the format can spell it.

    >>> spellings(("a b", "a_b"), lambda name: name.replace(" ", "_"))
    {'a b': 'a_b_2', 'a_b': 'a_b'}
    """
    found = {name: name for name in classes if name and spelled(name) == name}
    taken = set(found)
    for name in classes:
        if name not in found:
            wish = spelled(name) or "class"
            words = (f"{wish}_{number}" if number > 1 else wish for number in count(1))
            found[name] = next(word for word in words if word not in taken)
            taken.add(found[name])
    return {name: found[name] for name in classes}
