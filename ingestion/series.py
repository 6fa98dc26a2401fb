"""Bring together recordings that lie in several folders: one for each camera, or one for each split."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from driveflow.formats.path_index import folder_of
from driveflow.formats.source_split import known_split

Series: TypeAlias = tuple[str, str]  # folder, and what names have in common
Numbered: TypeAlias = tuple[str, int]  # place, and its number or time
_CAMERA: Final = re.compile(
    r"image_\d+|cam(?:era)?(?:[_\-= ]\w+|\d+)|(?:ring|stereo)_\w+"
    r"|(?:front|rear|back|side|left|right|cent(?:er|re))(?:[_-]\w+|(?-i:[A-Z])\w*)*",
    re.IGNORECASE,
)
"""How folders of one camera are called: image_02, CAM_FRONT, ring_front_left, rear-left, frontLeft, cam=left."""
_MOMENTS: Final = {"samples", "sweeps"}  # nuScenes puts every sixth picture of a recording into a folder of its own


def reunited(groups: Mapping[Series, Sequence[Numbered]]) -> dict[Series, list[str]]:
    """Return the places of each series, in the folder above its cameras and splits where it lies in several.

    `groups` has place and number (or time) of the pictures of a series in one folder. Folders of cameras, side by side,
    and names that are a camera and a number, are one recording if the numbers of one reach into those of another. A
    recording was dealt out to splits, as cards are, if its numbers are in one of the folders only, and lie between
    those of another.

    >>> reunited({("train", "a"): [("train/a1", 1), ("train/a3", 3)], ("valid", "a"): [("valid/a2", 2)]})
    {('', 'a'): ['train/a1', 'train/a3', 'valid/a2']}
    >>> reunited({("d/left", ""): [("d/left/1", 1)], ("d/right", ""): [("d/right/1", 1)]})
    {('d', ''): ['d/left/1', 'd/right/1']}
    """
    rigs = _of_rigs(groups)
    homes: dict[Series, list[str]] = defaultdict(list)
    for folder, name in rigs:
        homes[without_split(folder), name].append(folder)
    found: dict[Series, list[str]] = {}
    for (home, name), folders in homes.items():
        parts = [rigs[folder, name] for folder in folders]
        if _are_dealt_out([{number for _, number in part} for part in parts]):
            found[home, name] = [place for part in parts for place, _ in part]
        else:
            found |= {(folder, name): [place for place, _ in rigs[folder, name]] for folder in folders}
    return found


def cameras(places: Iterable[str]) -> dict[str, str]:
    """Return the camera of each place that lies in the folder of a camera which has another one beside it.

    >>> cameras(["d/left/1.jpg", "d/right/1.jpg", "left/1.jpg"])
    {'d/left/1.jpg': 'left', 'd/right/1.jpg': 'right'}
    """
    folders: dict[str, list[str]] = defaultdict(list)
    for place in places:
        folders[folder_of(place)].append(place)
    beside: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        rig, camera = _rig(folder)
        beside[rig].add(camera)
    rigs = {rig for rig, found in beside.items() if len(found - {""}) > 1}
    told = {folder: camera for folder in folders for rig, camera in [_rig(folder)] if rig in rigs}
    return {place: camera for folder, camera in told.items() if camera for place in folders[folder]}


def without_split(folder: str) -> str:
    """Return a folder without the parts of it that name a split, archives of one among them.

    >>> without_split("set/train/images"), without_split("val2017.zip!/images")
    ('set/images', 'images')
    """
    return "/".join(part for part in folder.split("/") if not _is_split(part))


def _is_split(part: str) -> bool:
    name = part.partition(".")[0] if part.endswith("!") else part
    return bool(known_split(name)) or name in _MOMENTS


def _rig(folder: str) -> tuple[str, str]:
    """Return the folder without the innermost part that names a camera, and that camera."""
    parts = folder.split("/")
    place = next((number for number in reversed(range(len(parts))) if _CAMERA.fullmatch(parts[number])), None)
    return (folder, "") if place is None else ("/".join(parts[:place] + parts[place + 1 :]), parts[place])


def _of_rigs(groups: Mapping[Series, Sequence[Numbered]]) -> dict[Series, list[Numbered]]:
    """Return what cameras side by side saw together; a name that has the camera's in it is none of its own for that.

    Without folders of cameras a name that says nothing but a camera is that of one: left_0001, 0001_right.
    """
    beside: dict[Series, list[Series]] = defaultdict(list)
    for folder, name in groups:
        rig, camera = _rig(folder)
        word = name.strip("_-. ")
        camera = camera or (word if _CAMERA.fullmatch(word) else "")
        beside[rig, name.replace(camera, "") if camera else name].append((folder, name))
    found: dict[Series, list[Numbered]] = {}
    for rigged, parts in beside.items():
        for together in _overlapping({part: [number for _, number in groups[part]] for part in parts}):
            home = rigged if len(together) > 1 and rigged not in found else together[0]
            found[home] = [member for part in together for member in groups[part]]
    return found


def _overlapping(numbers: Mapping[Series, Sequence[int]]) -> list[list[Series]]:
    """Return the parts whose numbers reach into each other, together."""
    found: list[list[Series]] = []
    end = -1
    for start, last, part in sorted((min(some), max(some), part) for part, some in numbers.items()):
        if found and start <= end:
            found[-1].append(part)
        else:
            found.append([part])
        end = max(end, last)
    return found


def _are_dealt_out(parts: Sequence[set[int]]) -> bool:
    spans = sorted((min(part), max(part)) for part in parts)
    lies_between = any(start < end for (_, end), (start, _) in pairwise(spans))
    return lies_between and len(set().union(*parts)) == sum(map(len, parts))
