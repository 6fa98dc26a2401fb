"""Spell the names that data sets give their splits."""

import functools
import re

_SPELLINGS = {
    "train": "train",
    "training": "train",
    "val": "valid",
    "valid": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}


def spell_split(name: str) -> str:
    """Return the one spelling of the split `name`; a name that is no usual one stays as it is.

    >>> [spell_split(name) for name in ("val", "Validation", "train2017", "night")]
    ['valid', 'valid', 'train', 'night']
    """
    return known_split(name) or name


@functools.lru_cache(maxsize=4096)
def known_split(name: str) -> str:
    """Return train, valid or test where `name` is a usual name of that split, else nothing."""
    return _SPELLINGS.get(re.sub(r"\d{4}$", "", name.strip().lower()), "")


def split_of_folders(path: str) -> str:
    """Return the split that the innermost folder with such a name says, else nothing.

    >>> split_of_folders("batch/valid/images/a.jpg"), split_of_folders("valid.jpg")
    ('valid', '')
    """
    return next((split for name in reversed(path.split("/")[:-1]) if (split := known_split(name))), "")


def split_of_file_name(path: str) -> str:
    """Return the split that the name of a label file says, as instances_val2017.json does, else nothing.

    >>> split_of_file_name("annotations/instances_val2017.json")
    'valid'
    """
    stem = path.rpartition("/")[2].partition(".")[0]
    return next((split for word in reversed(re.split(r"[_\-]", stem)) if (split := known_split(word))), "")
