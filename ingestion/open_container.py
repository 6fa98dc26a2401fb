"""Tell which files of a batch are containers, and open them."""

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.errors import BrokenDataError
from driveflow.flow.sections import BatchSection
from driveflow.formats.file_kinds import kind_of
from driveflow.storage.objects import ObjectInfo
from ingestion.archives import Archive, ArchiveLimits
from ingestion.containers import Container, Member, Opener
from ingestion.nested import ArchiveOfContainers
from ingestion.object_stream import open_object
from ingestion.recordings.animation import AnimationContainer, is_animation
from ingestion.recordings.bag1_log import Bag1Log
from ingestion.recordings.log_container import LogContainer
from ingestion.recordings.mcap_log import McapLog
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
    return open_file(entry.path, lambda: open_object(entry), entry.size, rules)


def open_file(name: str, opener: Opener, byte_count: int, rules: ContainerRules) -> Container | None:
    """Return the file called `name` as a container, None where it is a plain file."""
    file = _File(opener, byte_count, rules)
    if kind_of(name) == "archive":
        archive = Archive(file.opener, file.byte_count, rules.limits)
        return ArchiveOfContainers(archive, lambda inside: _opens(inside, rules) is not None, file.open_inside)
    opens = _opens(name, rules)
    return opens(file) if opens else None


@dataclass(frozen=True, slots=True)
class _File:
    """A file that may be a container."""

    opener: Opener
    byte_count: int
    rules: ContainerRules

    def open_inside(self, data: bytes) -> Container | None:
        """Return the bytes of a member as a container, by what they begin with: its name is not at hand any more."""
        opens = next((opens for begin, opens in _BEGINNINGS.items() if data.startswith(begin)), _open_video)
        return opens(_File(lambda: io.BytesIO(data), len(data), self.rules))


def _opens(name: str, rules: ContainerRules) -> "_Opens | None":
    """Return what opens files called `name`; None where they are plain files or archives."""
    if name.lower().endswith(".gif") and not rules.animations:
        return None
    return next((opens for endings, opens in _ENDINGS if name.lower().endswith(endings)), None)


class PackedWhole:
    """A recording that was packed as one piece: to find anything in it, all of it would have to be unpacked."""

    def members(self) -> Sequence[Member]:
        """Refuse it.

        Raises:
            BrokenDataError: unsupported.
        """
        raise BrokenDataError("unsupported", "a recording that is packed as a whole; unpack it first: zstd -d")

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield that none of `numbers` is there."""
        yield from ((number, BrokenDataError("unsupported", "packed as a whole")) for number in numbers)


def _open_mcap(file: _File) -> LogContainer:
    return LogContainer(McapLog(file.opener, file.byte_count), file.rules.limits.max_members)


def _open_bag(file: _File) -> LogContainer:
    return LogContainer(Bag1Log(file.opener, file.byte_count), file.rules.limits.max_members)


def _open_db3(file: _File) -> LogContainer:
    return LogContainer(SqliteLog(file.opener, file.byte_count), file.rules.limits.max_members)


def _open_parquet(file: _File) -> WaymoTable | None:
    return open_waymo(file.opener, file.byte_count, file.rules.limits)


def _open_video(file: _File) -> VideoContainer:
    return VideoContainer(file.opener, file.rules.every_s, file.rules.limits.max_members)


def _open_gif(file: _File) -> AnimationContainer | None:
    if not is_animation(file.opener):
        return None
    return AnimationContainer(file.opener, file.rules.every_s, file.rules.limits.max_members)


_Opens = Callable[[_File], Container | None]
_VIDEOS = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".h264", ".h265", ".264", ".265", ".hevc")
_ENDINGS: tuple[tuple[str | tuple[str, ...], _Opens], ...] = (
    (".mcap", _open_mcap),
    ((".bag", ".bag.active"), _open_bag),
    (".db3", _open_db3),
    ((".mcap.zst", ".mcap.zstd", ".db3.zst", ".db3.zstd", ".bag.zst", ".bag.zstd"), lambda _: PackedWhole()),
    (_VIDEOS, _open_video),
    (".gif", _open_gif),
    (".parquet", _open_parquet),
)
"""By the end of the file's name, in lower case; what looks into the file and finds something else returns None."""

_BEGINNINGS: Mapping[bytes, _Opens] = {
    b"\x89MCAP0": _open_mcap,
    b"#ROSBAG": _open_bag,
    b"SQLite format 3": _open_db3,
    b"GIF8": _open_gif,
    b"PAR1": _open_parquet,
    b"\x28\xb5\x2f\xfd": lambda _: PackedWhole(),
}
