"""Tell which files of a batch are containers, and open them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from driveflow.flow.sections import BatchSection
from driveflow.formats.file_kinds import kind_of
from driveflow.storage.objects import ObjectInfo
from ingestion.archives import Archive, ArchiveLimits
from ingestion.containers import Container, Opener
from ingestion.object_stream import open_object
from ingestion.recordings.animation import AnimationContainer, is_animation
from ingestion.recordings.bag1_log import Bag1Log
from ingestion.recordings.log_container import LogContainer
from ingestion.recordings.mcap_log import McapLog
from ingestion.recordings.messages import MessageLog
from ingestion.recordings.sqlite_log import SqliteLog
from ingestion.recordings.video import VideoContainer
from ingestion.waymo_tables import WaymoTable, open_waymo


@dataclass(frozen=True, slots=True)
class ContainerRules:
    """What of a container is wanted."""

    limits: ArchiveLimits = field(default_factory=ArchiveLimits)
    every_s: float = 0.0  # frames of a video at least so many seconds apart; 0: all
    animations: bool = False  # a GIF of several frames is a recording, not a picture


def rules_of(section: BatchSection) -> ContainerRules:
    """Return what a batch wants of its containers."""
    return ContainerRules(every_s=section.every_s, animations=section.format == "recording")


def open_container(entry: ObjectInfo, rules: ContainerRules) -> Container | None:
    """Return the object `entry` as a container, None where it is a plain file."""
    for endings, opens in _OPENERS:
        if entry.path.lower().endswith(endings):
            return opens(entry, rules)
    return _open_archive(entry, rules) if kind_of(entry.path) == "archive" else None


def _open_archive(entry: ObjectInfo, rules: ContainerRules) -> Archive:
    return Archive(lambda: open_object(entry), entry.size, rules.limits)


def _open_log(entry: ObjectInfo, rules: ContainerRules) -> LogContainer:
    log = _LOGS[entry.path.rpartition(".")[2].lower()]
    return LogContainer(log(lambda: open_object(entry), entry.size), rules.limits.max_members)


def _open_parquet(entry: ObjectInfo, rules: ContainerRules) -> WaymoTable | None:
    return open_waymo(lambda: open_object(entry), entry.size, rules.limits)


def _open_video(entry: ObjectInfo, rules: ContainerRules) -> VideoContainer:
    return VideoContainer(lambda: open_object(entry), rules.every_s, rules.limits.max_members)


def _open_gif(entry: ObjectInfo, rules: ContainerRules) -> AnimationContainer | None:
    def opener() -> BinaryIO:
        return open_object(entry)

    if not rules.animations or not is_animation(opener):
        return None
    return AnimationContainer(opener, rules.every_s, rules.limits.max_members)


_VIDEOS = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".h264", ".h265", ".264", ".265", ".hevc")
_LOGS: Mapping[str, Callable[[Opener, int], MessageLog]] = {"mcap": McapLog, "bag": Bag1Log, "db3": SqliteLog}
_OPENERS: tuple[tuple[tuple[str, ...], Callable[[ObjectInfo, ContainerRules], Container | None]], ...] = (
    ((".mcap", ".bag", ".db3"), _open_log),
    (_VIDEOS, _open_video),
    ((".gif",), _open_gif),
    ((".parquet",), _open_parquet),
)
"""By the end of the file's name, in lower case; what looks into the file and finds something else returns None."""
