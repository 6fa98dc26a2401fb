"""Say which recording each picture belongs to."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from driveflow.flow.sections import BatchSection
from driveflow.formats.source_split import known_split, split_of_folders

_NUMBER_AT_END = re.compile(r"^(.*?)(\d+)$", re.DOTALL)
_MADE_OF = re.compile(r"^(.+?)(?:_[A-Za-z]{3,4})?\.rf\.[0-9A-Za-z]{8,}$", re.DOTALL)
"""How Roboflow names what it made of a picture: several of one, turned, cut or brightened, and all of one size."""
_OF_A_VIDEO = re.compile(r"_(?:mp4|mov|avi|mkv|webm|m4v|mpe?g)-\d+$|(?:^|[^a-z])frames?[_-]?\d+$", re.IGNORECASE)
_STAMP = re.compile(r"^(?:\d{13}|\d{16}|\d{19})$")  # milliseconds, microseconds or nanoseconds
_MIN_SEQUENCE = 3
_SAME_SIZE_SHARE = 0.9  # one camera makes pictures of one size; numbered stills come in many


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of where one picture comes from; empty: nothing is."""

    place: str
    size: tuple[int, int]  # width and height in pixels
    metadata: str = ""  # drive by the metadata CSV, a name that is the same in every batch
    label: str = ""  # recording by the label file
    sequence: str = ""  # label file that numbers its pictures as frames


def assign_drives(section: BatchSection, pictures: Sequence[Hints]) -> dict[str, str]:
    """Return the drive of each place.

    What is stated wins: the section's drive, then the metadata's. With `auto`, a video named by the labels is a drive,
    then three or more files of one folder that differ in a number at their end and have one size, then pictures that
    the labels number as frames, then what Roboflow made of one photo; everything else is a still, a drive of its own.
    A sequence that was dealt out to folders of several splits, as cards are, is one. Only stated names are the same
    drive in two batches; the others begin with the batch's name.
    """
    found = {}
    guessed = _guess(section, [hints for hints in pictures if not section.drive and not hints.metadata])
    for hints in pictures:
        found[hints.place] = section.drive or hints.metadata or f"{section.name}{guessed[hints.place]}"
    return found


def _guess(section: BatchSection, pictures: Sequence[Hints]) -> dict[str, str]:
    """Return what follows the batch's name in the drive of each place."""
    if section.drives == "batch":
        return {hints.place: "" for hints in pictures}
    if section.drives == "folder":
        return {hints.place: _below(_folder(hints.place)) for hints in pictures}
    if section.drives == "stills":
        return {hints.place: _below(hints.place) for hints in pictures}
    unlabeled = [hints for hints in pictures if not hints.label]
    sequences, photos = _sequences(unlabeled), _photos(pictures)
    return {
        hints.place: _below(hints.label or sequences.get(hints.place) or hints.sequence or photos[hints.place])
        for hints in pictures
    }


def across_splits(drives: Mapping[str, str]) -> list[str]:
    """Return the drives, of those of each place, whose pictures lie in folders of several splits, sorted.

    >>> across_splits({"train/a1.jpg": "b/a", "valid/a2.jpg": "b/a", "valid/c.jpg": "b/valid/c.jpg"})
    ['b/a']
    """
    splits: dict[str, set[str]] = defaultdict(set)
    for place, drive in drives.items():
        splits[drive].add(split_of_folders(place))
    return sorted(drive for drive, found in splits.items() if len(found - {""}) > 1)


def _below(name: str) -> str:
    return f"/{name}" if name else ""


def _sequences(pictures: Sequence[Hints]) -> dict[str, str]:
    """Return "folder/stem" of the places that are part of a numbered sequence."""
    groups: dict[tuple[str, str], list[tuple[Hints, int]]] = defaultdict(list)
    for hints in pictures:
        numbered = _numbered(hints.place)
        if numbered is not None:
            groups[_folder(hints.place), numbered[0]].append((hints, numbered[1]))
    found: dict[str, str] = {}
    for (folder, stem), members in _reunited(groups).items():
        if len(members) >= _MIN_SEQUENCE and _is_one_camera(members):
            name = "/".join(part for part in (folder, stem.rstrip("_-. ")) if part)
            found |= {hints.place: name or "numbered" for hints in members}
    return found


def _photos(pictures: Sequence[Hints]) -> dict[str, str]:
    """Return each place itself, or "folder/photo" where several were made of one photo."""
    made: dict[str, list[str]] = defaultdict(list)
    for hints in pictures:
        match = _MADE_OF.match(_stem(hints.place))
        photo = (_home(_folder(hints.place)), match[1]) if match else (hints.place,)
        made["/".join(part for part in photo if part)].append(hints.place)
    return {place: photo if len(places) > 1 else place for photo, places in made.items() for place in places}


def _reunited(groups: Mapping[tuple[str, str], list[tuple[Hints, int]]]) -> dict[tuple[str, str], list[Hints]]:
    """Return the members of each sequence; one that was dealt out to folders of several splits is whole again.

    It was if its numbers are in one of the folders only, and lie between those of another.
    """
    homes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for folder, stem in groups:
        homes[_home(folder), stem].append(folder)
    found: dict[tuple[str, str], list[Hints]] = {}
    for (home, stem), folders in homes.items():
        parts = [groups[folder, stem] for folder in folders]
        if _are_dealt_out([{number for _, number in part} for part in parts]):
            found[home, stem] = [hints for part in parts for hints, _ in part]
        else:
            found |= {(folder, stem): [hints for hints, _ in groups[folder, stem]] for folder in folders}
    return found


def _are_dealt_out(parts: Sequence[set[int]]) -> bool:
    spans = sorted((min(part), max(part)) for part in parts)
    lies_between = any(start < end for (_, end), (start, _) in pairwise(spans))
    return lies_between and len(set().union(*parts)) == sum(map(len, parts))


def _numbered(place: str) -> tuple[str, int] | None:
    """Return the stem of a file name and the number at its end, None where there is none.

    Of what Roboflow made of a picture only the names of recordings count: photos of any size have one size there.
    """
    stem = _stem(place)
    made = _MADE_OF.match(stem)
    if made is not None:
        stem = made[1]
        if not (_OF_A_VIDEO.search(stem) or _STAMP.match(stem)):
            return None
    match = _NUMBER_AT_END.match(stem)
    return (match[1], int(match[2])) if match else None


def _stem(place: str) -> str:
    """Return a file name without its ending."""
    name = place.rpartition("/")[2]
    return name.rpartition(".")[0] if "." in name else name


def _home(folder: str) -> str:
    """Return a folder without the parts of it that name a split."""
    return "/".join(part for part in folder.split("/") if not known_split(part))


def _is_one_camera(members: Sequence[Hints]) -> bool:
    (_, most), *_ = Counter(hints.size for hints in members).most_common(1)
    return most >= _SAME_SIZE_SHARE * len(members)


def _folder(place: str) -> str:
    return place.rpartition("/")[0]
