"""Look at every file that may be a picture: read it, digest it, check that it is whole."""

import os
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from PIL import Image

from driveflow.canonical import digest_bytes
from driveflow.errors import BrokenDataError
from driveflow.images.exif import Exif, read_exif
from driveflow.images.probe import Probe, open_picture, orientation, probe
from driveflow.images.quiet import quiet
from ingestion.batch_files import BatchFile, Refusal, read_file
from ingestion.containers import Container as FileContainer
from ingestion.open_container import ContainerRules, open_container
from ingestion.time_of_day import brightness_of
from ingestion.xmp_place import read_xmp_place

_AHEAD_PER_THREAD = 4  # pictures that may wait in memory for their turn
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Looked:
    """A file that is a usable picture; `turned` is its EXIF orientation where that swaps the sides (5 to 8), else 1.

    `brightness` is there where it was asked for.
    """

    file: BatchFile
    frame_id: str
    probe: Probe
    turned: int
    brightness: float | None = None
    exif: Exif = field(default_factory=Exif)


def look_at_objects(files: Iterable[BatchFile], bright: Container[str] = ()) -> Iterator[Looked | Refusal]:
    """Look at files that are objects of their own, on all processors, and yield what they are in the order given.

    Of those whose place is in `bright` the brightness is measured too.
    """
    return _in_order(lambda file: _look(file, read_file(file), bright), files)


def look_at_members(
    files: Sequence[BatchFile], bright: Container[str] = ()
) -> Iterator[tuple[Looked | Refusal, bytes]]:
    """Look at members of containers and yield what they are with their bytes, container by container."""
    return _in_order(
        lambda pair: (_look(*pair, bright), pair[1] if isinstance(pair[1], bytes) else b""), _members(files)
    )


def _members(files: Sequence[BatchFile]) -> Iterator[tuple[BatchFile, bytes | BrokenDataError]]:
    for _, group in groupby(sorted(files, key=lambda file: file.entry.path), key=lambda file: file.entry.uri):
        by_number = {file.member: file for file in group}
        container = open_container(next(iter(by_number.values())).entry, ContainerRules(animations=True))
        if container is not None:
            yield from _read(container, by_number)


def _read(
    container: FileContainer, by_number: dict[int | None, BatchFile]
) -> Iterator[tuple[BatchFile, bytes | BrokenDataError]]:
    """Yield each member with its bytes; where reading ends early, those that are left come with the reason."""
    error = BrokenDataError("vanished", "it was there when the container was listed")
    try:
        for number, data in container.read({number for number in by_number if number is not None}):
            yield by_number.pop(number), data
    except BrokenDataError as broken:
        error = broken
    yield from ((file, error) for file in by_number.values())


def _in_order(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield `work` of each item in order, some of it done ahead; never more than a bounded number is in memory."""
    threads = os.cpu_count() or 1
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads * _AHEAD_PER_THREAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _look(file: BatchFile, data: bytes | BrokenDataError, bright: Container[str]) -> Looked | Refusal:
    try:
        if isinstance(data, BrokenDataError):
            raise data
        found = probe(data)
        if file.frame_id:  # decoded pixels: how they were encoded again must not show in the frame
            file = replace(file, byte_count=3 * found.width * found.height)
        brightness = brightness_of(data) if file.place in bright else None
        with quiet(), open_picture(data) as image:
            turn, exif = orientation(image), _with_place(read_exif(image), image)
        turned = turn if turn >= 5 else 1
        return Looked(file, file.frame_id or digest_bytes(data), found, turned, brightness, exif)
    except BrokenDataError as error:
        return Refusal(file.name, error.code, error.detail, file.byte_count)


def _with_place(exif: Exif, image: Image.Image) -> Exif:
    """Return what EXIF says, with the place of XMP where EXIF has none."""
    place = read_xmp_place(image) if exif.lat is None else None
    return replace(exif, lat=place[0], lon=place[1]) if place else exif
