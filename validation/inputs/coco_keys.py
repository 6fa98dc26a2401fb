"""Find frames and classes by COCO's ids, millions at once."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from driveflow.formats.coco_columns import as_ids, whole_numbers
from driveflow.formats.coco_records import Key, key_text
from validation.model.scene import Ints

_LARGEST_TABLE = 50_000_000


class KeyIndex:
    """Ids and the place of each; strangers get places beyond. One reader owns it."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Index ids as `key_text` spells them; what has none is found by none."""
        self._known = len(keys)
        self._places = {key: place for place, key in reversed(list(enumerate(keys))) if key}
        self.strangers: list[str] = []
        self._table = _table(self._places)

    def places(self, keys: Sequence[Key] | Ints) -> Ints:
        """Return the place of each id: whole numbers, which nearly all are, without a look at each."""
        numbers = keys if isinstance(keys, np.ndarray) else whole_numbers(keys)
        if numbers is None or not len(self._table):
            return np.array([self._place(key_text(key)) for key in np.asarray(keys, object).tolist()], np.int64)
        found: Ints = self._table[np.clip(numbers, 0, len(self._table) - 1)]
        found[(numbers < 0) | (numbers >= len(self._table))] = -1
        for row in np.flatnonzero(found < 0).tolist():
            found[row] = self._place(str(int(numbers[row])))
        return found

    def _place(self, key: str) -> int:
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._known + len(self.strangers)
            self.strangers.append(key)
        return place


def _table(places: dict[str, int]) -> Ints:
    """Return the place of every number that is an id, -1 where it is none; empty where ids are no small numbers."""
    numbers = as_ids(list(places), pl.Int64())
    known = (numbers >= 0).fill_null(value=False)
    if not known.any() or numbers.max() >= _LARGEST_TABLE:  # type: ignore[operator]
        return np.zeros(0, np.int64)
    whole = numbers.filter(known).to_numpy()
    table = np.full(int(whole.max()) + 1, -1, np.int64)
    table[whole] = np.array(list(places.values()), np.int64)[known.to_numpy()]
    return table
