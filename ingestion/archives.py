"""Read zip and tar archives member by member; nothing is ever unpacked to a disk."""

import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, BinaryIO

from driveflow.errors import BrokenDataError, DriveflowError
from ingestion.containers import Member, Opener
from ingestion.tar_heads import BoundedEntry

_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, struct.error,
    OSError,  # bz2's and gzip's word for it
    NotImplementedError,  # a version of zip that there is not
    ValueError,
    RecursionError,  # a head behind a head behind a head
)  # fmt: skip
"""What the readers raise on bytes that are no archive."""


_UTF_8 = 0x800  # flag of a member: its name is in UTF-8
_UNICODE_PATH = 0x7075  # the kind of what WinZip and Info-ZIP put beside a name
_ZIP_HEAD_BYTES = 30  # of a member, before its name
_MAX_TAIL_BYTES = 64 << 20  # what is looked at behind the end of a tar


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold; what goes beyond is refused."""

    max_members: int = 500_000
    max_member_bytes: int = 512 << 20
    max_ratio: float = 200.0  # of unpacked to packed bytes; pictures stay near 1, label texts near 20
    free_bytes: int = 1 << 20  # members up to this size may have any ratio


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip or tar as a container."""

    opener: Opener
    packed_bytes: int
    limits: ArchiveLimits

    def members(self) -> list[Member]:
        """Return the files of the archive; see `list_members`."""
        return list_members(self.opener, self.packed_bytes, self.limits)

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the files at `numbers`; see `read_members`."""
        return read_members(self.opener, numbers)


def list_members(opener: Opener, packed_bytes: int, limits: ArchiveLimits) -> list[Member]:
    """Return the files of an archive in their order, those included that must not be read; folders are left out.

    Raises:
        BrokenDataError: archive_broken, where it cannot be read to its end; archive_too_large.
    """
    with _opened(opener) as archive:
        entries = _zip_entries(archive, limits) if isinstance(archive, zipfile.ZipFile) else _tar_entries(archive)
        allowed = None if isinstance(archive, zipfile.ZipFile) else _most_bytes(packed_bytes, limits)
        members: list[Member] = []
        total = 0
        for member in entries:
            members.append(_checked(member, limits) if member.number >= 0 else member)
            total += member.byte_count
            if len(members) > limits.max_members:
                raise BrokenDataError("archive_too_large", f"more than {limits.max_members:,} members")
            if allowed is not None and total > allowed:
                detail = f"more than {allowed:,} bytes from {packed_bytes:,}; at most {limits.max_ratio:g} to 1"
                raise BrokenDataError("archive_ratio", detail)
    return members


def read_members(opener: Opener, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
    """Yield the members at `numbers` in the order of the archive; one that cannot be read comes as its error."""
    wanted = set(numbers)
    with _opened(opener) as archive:
        if isinstance(archive, zipfile.ZipFile):
            for number, info in enumerate(archive.infolist()):
                if number in wanted:
                    yield number, _read_zipped(archive, info)
            return
        for number, entry in enumerate(archive):
            if number in wanted:
                yield number, _read_tarred(archive, entry)


@contextmanager
def _opened(opener: Opener) -> Iterator[zipfile.ZipFile | tarfile.TarFile]:
    with opener() as stream:
        is_zip = stream.read(2) == b"PK"
        stream.seek(0)
        try:
            with zipfile.ZipFile(stream) if is_zip else _opened_tar(stream) as archive:
                yield archive
        except DriveflowError:
            raise
        except _BROKEN as error:
            raise BrokenDataError("archive_broken", _why(error)) from error


def _opened_tar(stream: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=stream, mode="r:*", tarinfo=BoundedEntry)


def _why(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    if len(lines) > 1:  # all that tar tried to take it for
        return "it has no bytes" if "empty file" in str(error) else "it begins as no zip and no tar does"
    return f"cannot be read to its end: {lines[0]}"


def _zip_entries(archive: zipfile.ZipFile, limits: ArchiveLimits) -> Iterator[Member]:
    shared = _overlapping(archive)
    for number, info in enumerate(archive.infolist()):
        if not info.filename.endswith("/"):
            reason, detail = _zip_refusal(info, limits)
            if number in shared:
                reason, detail = (
                    "archive_member_broken",
                    "its bytes are, by what the archive says, those of another too",
                )
            name = info.orig_filename if "\0" in info.orig_filename else _name_of(info)
            yield Member(number, name, info.file_size, reason, detail)
    before = min((info.header_offset for info in archive.infolist()), default=0)
    if before > _ZIP_HEAD_BYTES:
        detail = f"its first {before:,} bytes are of no member that it lists: is this two archives in one file?"
        yield Member(-1, "", before, "archive_stray_bytes", detail)


def _overlapping(archive: zipfile.ZipFile) -> set[int]:
    """Return which members begin where another does, or reach into it: so a small file makes a very large archive."""
    infos = archive.infolist()
    found: set[int] = set()
    end = archive.start_dir
    for number in sorted(range(len(infos)), key=lambda number: infos[number].header_offset, reverse=True):
        start = infos[number].header_offset
        if start + infos[number].compress_size > end:
            found.add(number)
        end = start
    return found


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name of a member: in UTF-8 too where the archive does not say so, as macOS and old tools write it.

    Beside a name in the code page of its machine a packer may have put the same in UTF-8.
    """
    if info.flag_bits & _UTF_8 or info.filename.isascii():
        return info.filename
    try:
        raw = info.filename.encode("cp437")
    except UnicodeError:
        return info.filename
    for name in (_name_beside(info.extra, raw), raw):
        with suppress(UnicodeError):
            return name.decode()
    return info.filename


def _name_beside(extra: bytes, raw: bytes) -> bytes:
    """Return the name in UTF-8 that is put beside the name `raw`, else `raw`; one of another check sum is none."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        said = extra[at + 4 : at + 4 + size]
        if kind == _UNICODE_PATH and said[:5] == b"\1" + zlib.crc32(raw).to_bytes(4, "little") and said[5:]:
            return said[5:]
        at += 4 + size
    return raw


def _zip_refusal(info: zipfile.ZipInfo, limits: ArchiveLimits) -> tuple[str, str]:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "archive_link", "a symbolic link; links are not followed"
    if kind not in {0, stat.S_IFREG}:
        return "archive_special", "no regular file"
    if info.flag_bits & 1:
        return "archive_encrypted", "the member is encrypted"
    ratio = info.file_size / max(info.compress_size, 1)
    if ratio > limits.max_ratio and info.file_size > limits.free_bytes:
        detail = (
            f"{info.file_size:,} bytes from {info.compress_size:,}, ratio {ratio:,.0f}; at most {limits.max_ratio:g}"
        )
        return "archive_ratio", detail
    return "", ""


def _tar_entries(archive: tarfile.TarFile) -> Iterator[Member]:
    for number, entry in enumerate(archive):
        if entry.isdir():
            continue
        reason = detail = ""
        if entry.issym() or entry.islnk():
            reason, detail = "archive_link", f"a link to {entry.linkname!r}; links are not followed"
        elif not entry.isfile():
            reason, detail = "archive_special", "no regular file"
        yield Member(number, entry.name, entry.size, reason, detail)
    yield from _tail(archive)


def _tail(archive: tarfile.TarFile) -> Iterator[Member]:
    """Yield what stands behind the end of a tar as lost: zeros do not count, a check sum that is wrong does.

    Raises:
        tarfile.ReadError: reading ended at a header that makes no sense: the module takes that for the end.
    """
    stream = archive.fileobj
    if stream is None:
        return
    stream.seek(archive.offset)
    if any(stream.read(tarfile.BLOCKSIZE)):
        raise tarfile.ReadError(f"the header at byte {archive.offset:,} is broken")
    try:
        for _ in range(_MAX_TAIL_BYTES >> 20):
            piece = stream.read(1 << 20)
            if piece.strip(b"\0"):
                detail = (
                    f"what is behind its end, from byte {archive.offset:,} on, is not read: are these two in one file?"
                )
                yield Member(-1, "", 0, "archive_stray_bytes", detail)
            if not piece or piece.strip(b"\0"):
                return
    except _BROKEN as error:
        yield Member(-1, "", 0, "archive_stray_bytes", f"behind its end it is damaged: {error}")


def _most_bytes(packed_bytes: int, limits: ArchiveLimits) -> int:
    """Return how much may come out of a tar; its members tell no ratio of their own, so the whole is judged."""
    return max(limits.free_bytes, int(limits.max_ratio * packed_bytes))


def _checked(member: Member, limits: ArchiveLimits) -> Member:
    """Return `member` with a plain name; one that leads out of the archive, or is too large, is refused."""
    name = member.name.replace("\\", "/")
    parts = name.split("/")
    drive = len(parts[0]) == 2 and parts[0].endswith(":")
    if name.startswith("/") or ".." in parts or drive or "\0" in name:
        return replace(member, refused="archive_path_escape", detail="the name leads out of the archive")
    member = replace(member, name="/".join(part for part in parts if part not in {"", "."}))
    if not member.name:
        return replace(member, refused="archive_member_broken", detail="the member has no name")
    if member.refused or member.byte_count <= limits.max_member_bytes:
        return member
    detail = f"{member.byte_count:,} bytes; at most {limits.max_member_bytes:,}"
    return replace(member, refused="too_large", detail=detail)


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes | BrokenDataError:
    # only deflate bounds what one read unpacks; the others are fed little at a time, for a size that lies
    piece = 1 << 20 if info.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} else 1 << 12
    try:
        with archive.open(info) as stream:
            return _read_all(stream, info.file_size, piece)
    except (*_BROKEN, RuntimeError) as error:
        return BrokenDataError("archive_member_broken", f"cannot be read: {error}")


def _read_tarred(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes | BrokenDataError:
    stream = archive.extractfile(entry)
    if stream is None:
        return BrokenDataError("archive_member_broken", "no regular file")
    return _read_all(stream, entry.size, 1 << 20)


def _read_all(stream: IO[bytes], byte_count: int, piece_bytes: int) -> bytes:
    pieces: list[bytes] = []
    read = 0
    while read <= byte_count and (piece := stream.read(piece_bytes)):
        pieces.append(piece)
        read += len(piece)
    if read != byte_count:
        raise ValueError(f"{read:,} bytes where the archive says {byte_count:,}")
    return b"".join(pieces)
