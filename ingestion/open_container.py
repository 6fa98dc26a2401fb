"""Tell which files of a batch are containers, and open them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from driveflow.formats.file_kinds import kind_of
from driveflow.storage.objects import ObjectInfo
from ingestion.archives import Archive, ArchiveLimits
from ingestion.containers import Container
from ingestion.object_stream import open_object


@dataclass(frozen=True, slots=True)
class ContainerRules:
    """What of a container is wanted."""

    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    every_s: float = 0.0  # frames of a video at least so many seconds apart; 0: all
    animations: bool = False  # a GIF of several frames is a recording, not a picture


def open_container(entry: ObjectInfo, rules: ContainerRules) -> Container | None:
    """Return the object `entry` as a container, None where it is a plain file."""
    for ending, opens in _OPENERS:
        if entry.path.lower().endswith(ending):
            return opens(entry, rules)
    return _open_archive(entry, rules) if kind_of(entry.path) == "archive" else None


def _open_archive(entry: ObjectInfo, rules: ContainerRules) -> Archive:
    return Archive(lambda: open_object(entry), entry.size, rules.limits)


_OPENERS: tuple[tuple[str, Callable[[ObjectInfo, ContainerRules], Container | None]], ...] = ()
"""By the end of the file's name, in lower case; what looks into the file and finds something else returns None."""
