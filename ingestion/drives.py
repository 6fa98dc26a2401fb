"""Say which recording each picture belongs to."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from driveflow.epoch import NS_OF_DIGITS
from driveflow.flow.sections import BatchSection
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import bare_stem
from driveflow.formats.source_split import split_of_folders
from ingestion.name_times import photo_of
from ingestion.series import Series, reunited, without_split

_WORD = r"[_\-. ](?:[^\W\d]\D*|[^\W\d_][^\W_]*[^\W\d_])"
_NUMBER = re.compile(rf"(?<!\d)(\d+)((?:{_WORD})?)\Z")  # at the end, or before a word: 0001_front
_DIGITS = 40  # of a number that are looked at
_UPLOADED = re.compile(r"\A(?=\d*[a-f])[0-9a-f]{8}-(?![0-9a-f]{8}\Z)")  # Label Studio's, before the name of a file
_OF_A_VIDEO = re.compile(r"_(?:mp4|mov|avi|mkv|webm|m4v|mpe?g)-\d+$|(?:^|[^a-z])frames?[_-]?\d+$", re.IGNORECASE)
_MIN_SEQUENCE = 3
_SAME_SIZE_SHARE = 0.9  # one camera makes pictures of one size; numbered stills come in many
_MOST_APART = 10_000  # numbers of the frames of one recording; ids of photos are farther from each other
_EVEN_SHARE = 0.5  # of the gaps; where more are within a fifth of the usual one, a clock or a counter made them
_MINUTE_OF_DIGITS = {digits: 60 * 10**9 // ns for digits, ns in NS_OF_DIGITS.items() if ns < 10**9}  # of stamps


_Numbered: TypeAlias = tuple[str, int, tuple[int, int]]  # a name without its number, that number, width and height


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of where one picture comes from; empty: nothing is."""

    place: str
    size: tuple[int, int]  # width and height in pixels
    metadata: str = ""  # drive by the metadata CSV, a name that is the same in every batch
    label: str = ""  # recording by the label file
    sequence: str = ""  # label file that numbers its pictures as frames
    timed: str = ""  # folder and name of pictures that are named by their time


def assign_drives(section: BatchSection, pictures: Sequence[Hints]) -> dict[str, str]:
    """Return the drive of each place.

    What is stated wins: the section's drive, then the metadata's. With `auto`, a video named by the labels is a drive,
    then pictures named by their time, then three or more files of one folder that have one size and differ in a number
    at their end, or before the word at their end, where these numbers are near each other, then pictures that the
    labels number as frames, then what Roboflow made of one photo; everything else is a still, a drive of its own.
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
        return {hints.place: _below(folder_of(hints.place)) for hints in pictures}
    if section.drives == "stills":
        return {hints.place: _below(hints.place) for hints in pictures}
    unlabeled = [hints for hints in pictures if not hints.label]
    sequences = _sequences([hints for hints in unlabeled if not hints.timed])
    photos = _photos(pictures)
    return {
        hints.place: _below(
            hints.label or hints.timed or sequences.get(hints.place) or hints.sequence or photos[hints.place]
        )
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
    groups: dict[Series, list[tuple[str, int]]] = defaultdict(list)
    known = {hints.place: (*numbered, hints.size) for hints in pictures if (numbered := _numbered(hints.place))}
    for place, (stem, number, _) in known.items():
        groups[folder_of(place), stem].append((place, number))
    found: dict[str, str] = {}
    for (folder, stem), members in reunited(groups).items():
        parts: dict[Series, list[_Numbered]] = defaultdict(list)
        for place in members:
            parts[folder_of(place), known[place][0]].append(known[place])
        if len(members) >= _MIN_SEQUENCE and _are_of_cameras(parts.values()) and _are_counted(parts.values()):
            name = "/".join(part for part in (folder, stem.rstrip("_-. ")) if part)
            found |= dict.fromkeys(members, name or "numbered")
    return found


def _photos(pictures: Sequence[Hints]) -> dict[str, str]:
    """Return each place itself, or "folder/photo" where several were made of one photo."""
    made: dict[str, list[str]] = defaultdict(list)
    for hints in pictures:
        made_of = photo_of(hints.place)
        photo = (without_split(folder_of(hints.place)), made_of) if made_of else (hints.place,)
        made["/".join(part for part in photo if part)].append(hints.place)
    return {place: photo if len(places) > 1 else place for photo, places in made.items() for place in places}


def _numbered(place: str) -> tuple[str, int] | None:
    """Return a file name without its ending and the number at its end, and that number; None where there is none.

    Of what Roboflow made of a picture only the names of recordings count: photos of any size have one size there.
    """
    made_of = photo_of(place)
    if made_of and not (_OF_A_VIDEO.search(made_of) or (made_of.isdecimal() and len(made_of) in _MINUTE_OF_DIGITS)):
        return None
    stem = _UPLOADED.sub("", made_of or bare_stem(place), count=1)
    match = _NUMBER.search(stem)
    if match is None:
        return None
    return stem[: match.start()] + match[1][:-_DIGITS] + match[2], int(match[1][-_DIGITS:])


def _are_of_cameras(parts: Iterable[Sequence[_Numbered]]) -> bool:
    """Tell whether the pictures of each part, which is that of one folder and camera, are mostly of one size."""
    sizes = [Counter(size for _, _, size in part) for part in parts]
    return all(max(found.values()) >= _SAME_SIZE_SHARE * found.total() for found in sizes)


def _are_counted(parts: Iterable[Sequence[_Numbered]]) -> bool:
    """Tell whether numbers are those of frames, or stamps: ids of photos are far from each other, and unevenly."""
    numbers = [sorted({number for _, number, _ in part}) for part in parts]
    gaps = sorted(after - before for part in numbers for before, after in pairwise(part))
    usual = gaps[len(gaps) // 2] if gaps else 0
    digits = len(str(max(part[-1] for part in numbers)))
    even = sum(abs(gap - usual) * 5 <= usual for gap in gaps)
    return usual <= _MINUTE_OF_DIGITS.get(digits, _MOST_APART) or even > _EVEN_SHARE * len(gaps)
