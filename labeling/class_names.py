"""The class that annotators mean by a name: tools write it in capitals, or with a space too many."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

_LONGEST = 200  # letters; comparing more would take long
_NEAR = 0.85  # "cars" is near "car", "motorcycle" is not near "motorcyclist"


@dataclass(frozen=True, slots=True)
class ClassNames:
    """The classes of a campaign, found by how they are written; `aliases` are other names of them."""

    classes: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> str | None:
        """Return the class that `name` is known for, in capitals or not, with spaces around it or not.

        >>> ClassNames(("car", "Ebike")).find(" CAR")
        'car'
        >>> ClassNames(("car",), {"automobile": "car"}).find("Automobile")
        'car'
        """
        if name in self.classes:
            return name
        known = {**self.aliases, **{name: name for name in self.classes}}
        alike = {meant for other, meant in known.items() if other.strip().casefold() == name.strip().casefold()}
        return alike.pop() if len(alike) == 1 else None

    def nearest(self, name: str) -> str | None:
        """Return the class that an unknown `name` seems to mean; None where it is like none.

        >>> ClassNames(("car", "ebike")).nearest("E-bike")
        'ebike'
        """
        return _nearest(self.classes, name) if len(name) <= _LONGEST else None


@lru_cache(maxsize=1024)
def _nearest(classes: tuple[str, ...], name: str) -> str | None:
    spelled = {_letters(known): known for known in classes}
    found = difflib.get_close_matches(_letters(name), list(spelled), n=1, cutoff=_NEAR)
    return spelled[found[0]] if found else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
