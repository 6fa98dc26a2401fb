"""Say which recording each picture belongs to."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driveflow.flow.sections import BatchSection

_NUMBER_AT_END = re.compile(r"^(.*?)\d+$", re.DOTALL)
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
    the labels number as frames; everything else is a still, a drive of its own. Only stated names are the same drive
    in two batches; the others begin with the batch's name.
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
    sequences = _sequences([hints for hints in pictures if not hints.label])
    return {hints.place: _below(_recording(hints, sequences)) for hints in pictures}


def _recording(hints: Hints, sequences: Mapping[str, str]) -> str:
    return hints.label or sequences.get(hints.place) or hints.sequence or hints.place


def _below(name: str) -> str:
    return f"/{name}" if name else ""


def _sequences(pictures: Sequence[Hints]) -> dict[str, str]:
    """Return "folder/stem" of the places that are part of a numbered sequence."""
    groups: dict[tuple[str, str], list[Hints]] = defaultdict(list)
    for hints in pictures:
        stem = _pattern(hints.place)
        if stem is not None:
            groups[_folder(hints.place), stem].append(hints)
    found: dict[str, str] = {}
    for (folder, stem), members in groups.items():
        if len(members) >= _MIN_SEQUENCE and _is_one_camera(members):
            name = "/".join(part for part in (folder, stem.rstrip("_-. ")) if part)
            found |= {hints.place: name or "numbered" for hints in members}
    return found


def _pattern(place: str) -> str | None:
    """Return the stem of a file name without the number at its end, None where there is no number."""
    name = place.rpartition("/")[2]
    match = _NUMBER_AT_END.match(name.rpartition(".")[0] if "." in name else name)
    return match[1] if match else None


def _is_one_camera(members: Sequence[Hints]) -> bool:
    (_, most), *_ = Counter(hints.size for hints in members).most_common(1)
    return most >= _SAME_SIZE_SHARE * len(members)


def _folder(place: str) -> str:
    return place.rpartition("/")[0]
