"""Find frames and classes by COCO's ids, millions at once."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driveflow.formats.coco_records import Key, key_text
from validation.model.scene import Ints

_LARGEST_TABLE = 50_000_000


class KeyIndex:
    """Ids and the place of each; strangers get places beyond. One reader owns it."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Index ids as `key_text` spells them."""
        self._known = len(keys)
        self._places = {key: place for place, key in reversed(list(enumerate(keys)))}
        self.strangers: list[str] = []
        self._table = _table(self._places)

    def places(self, keys: Sequence[Key]) -> Ints:
        """Return the place of each id: whole numbers, which nearly all are, without a look at each."""
        numbers = whole_numbers(keys)
        if numbers is None or not len(self._table):
            return np.array([self._place(key_text(key)) for key in keys], np.int64)
        inside = (numbers >= 0) & (numbers < len(self._table))
        found: Ints = np.where(inside, self._table[np.where(inside, numbers, 0)], -1)
        for row in np.flatnonzero(found < 0).tolist():
            found[row] = self._place(str(int(numbers[row])))
        return found

    def _place(self, key: str) -> int:
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._known + len(self.strangers)
            self.strangers.append(key)
        return place


def whole_numbers(keys: Sequence[Key]) -> Ints | None:
    """Return ids as numbers, None where any of them is something else."""
    try:
        numbers = pa.array(keys, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    return np.asarray(numbers) if not numbers.null_count else None


def _table(places: dict[str, int]) -> Ints:
    """Return the place of every number that is an id, -1 where it is none; empty where ids are no small numbers."""
    numbers = np.array([int(key) for key in places if key.isdecimal() and str(int(key)) == key], np.int64)
    if not len(numbers) or int(numbers.max()) >= _LARGEST_TABLE:
        return np.zeros(0, np.int64)
    table = np.full(int(numbers.max()) + 1, -1, np.int64)
    table[numbers] = [places[str(number)] for number in numbers.tolist()]
    return table
