"""Bring together recordings whose pictures were dealt out to the folders of several splits, as cards are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from driveflow.formats.source_split import known_split

Series = tuple[str, str]  # folder, and what names have in common


def reunited(groups: Mapping[Series, Sequence[tuple[str, int]]]) -> dict[Series, list[str]]:
    """Return the places of each series; one that was dealt out is whole again, in the folder above its splits.

    `groups` has place and number (or time) of the pictures of a series in one folder. It was dealt out if its numbers
    are in one of the folders only, and lie between those of another.

    >>> reunited({("train", "a"): [("train/a1", 1), ("train/a3", 3)], ("valid", "a"): [("valid/a2", 2)]})
    {('', 'a'): ['train/a1', 'train/a3', 'valid/a2']}
    """
    homes: dict[Series, list[str]] = defaultdict(list)
    for folder, name in groups:
        homes[without_split(folder), name].append(folder)
    found: dict[Series, list[str]] = {}
    for (home, name), folders in homes.items():
        parts = [groups[folder, name] for folder in folders]
        if _are_dealt_out([{number for _, number in part} for part in parts]):
            found[home, name] = [place for part in parts for place, _ in part]
        else:
            found |= {(folder, name): [place for place, _ in groups[folder, name]] for folder in folders}
    return found


def without_split(folder: str) -> str:
    """Return a folder without the parts of it that name a split.

    >>> without_split("set/train/images")
    'set/images'
    """
    return "/".join(part for part in folder.split("/") if not known_split(part))


def _are_dealt_out(parts: Sequence[set[int]]) -> bool:
    spans = sorted((min(part), max(part)) for part in parts)
    lies_between = any(start < end for (_, end), (start, _) in pairwise(spans))
    return lies_between and len(set().union(*parts)) == sum(map(len, parts))
