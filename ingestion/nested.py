"""Recordings in archives: an archive whose members are containers is one container of all their members."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.errors import BrokenDataError
from driveflow.formats.file_kinds import kind_of
from ingestion.archives import Archive
from ingestion.containers import Container, Member

_STRIDE: Final = 1 << 32  # a member of a member has the number: its own, counted from 1, times this, and its holder's


@dataclass(slots=True)
class ArchiveOfContainers:
    """An archive; of its members `is_container` names by their names, `opens` opens their bytes, None where it cannot.

    A member is in memory as a whole while it is read, so that archive limits bound it. Archives in archives stay shut.
    """

    archive: Archive
    is_container: Callable[[str], bool]
    opens: Callable[[bytes], Container | None]
    max_bytes: int = 256 << 20  # of a member that is a container: unpacking holds it twice for a moment
    _texts: dict[int, bytes] = field(default_factory=dict, repr=False)

    def members(self) -> Sequence[Member]:
        """Return the members of the archive, those that are containers replaced by what they hold.

        Raises:
            BrokenDataError: as the archive does.
        """
        members = self.archive.members()
        found = [member for member in members if not member.refused and self.is_container(member.name)]
        holders = {member.number: member for member in found if member.byte_count <= self.max_bytes}
        held = {member.number: [self._refused(member)] for member in found if member.number not in holders}
        for number, data in self.archive.read(holders) if holders else ():
            held[number] = self._members_of(holders[number], data)
        return [inner for member in members for inner in held.get(member.number, [member])]

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the members at `numbers` in the order of the archive; texts of recordings come last."""
        texts = {number for number in numbers if number in self._texts}
        wanted: dict[int, set[int]] = defaultdict(set)
        for number in set(numbers) - texts:
            wanted[number % _STRIDE].add(number // _STRIDE - 1)
        for holder, data in self.archive.read(wanted) if wanted else ():
            if -1 in wanted[holder]:
                yield holder, data
            else:
                yield from self._read_inside(holder, data, wanted[holder])
        for number in sorted(texts):
            yield number, self._texts[number]

    def _refused(self, holder: Member) -> Member:
        detail = f"{holder.byte_count:,} bytes; in an archive at most {self.max_bytes:,} are read: unpack it"
        return replace(holder, refused="too_large", detail=detail)

    def _members_of(self, holder: Member, data: bytes | BrokenDataError) -> list[Member]:
        """Return what `holder` holds, itself where it is no container after all, or itself refused."""
        try:
            container = self.opens(_whole(data))
            if container is None:
                return [holder]
            members = container.members()
            texts = [member.number for member in members if not member.refused and kind_of(member.name) == "text"]
            for number, text in container.read(texts):
                self._texts[_number(holder.number, number)] = _whole(text)
        except BrokenDataError as error:
            return [replace(holder, refused=error.code, detail=error.detail)]
        return [
            replace(
                member,
                number=-1 if member.refused else _number(holder.number, member.number),
                name=f"{holder.name}!/{member.name}" if member.name else holder.name,
            )
            for member in members
        ]

    def _read_inside(
        self, holder: int, data: bytes | BrokenDataError, wanted: set[int]
    ) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        left = set(wanted)
        error = BrokenDataError("vanished", "it was there when the container was listed")
        try:
            container = self.opens(_whole(data))
            for number, inner in container.read(wanted) if container else ():
                left.discard(number)
                yield _number(holder, number), inner
        except BrokenDataError as broken:
            error = broken
        for number in sorted(left):
            yield _number(holder, number), error


def _number(holder: int, member: int) -> int:
    return (member + 1) * _STRIDE + holder


def _whole(data: bytes | BrokenDataError) -> bytes:
    if isinstance(data, BrokenDataError):
        raise data
    return data
