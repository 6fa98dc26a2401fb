"""Measure the pixels of frames once, on all cores, and keep what was measured."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from time import monotonic

import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.errors import BrokenDataError, IntegrityError, NotFoundError
from driveflow.id_places import sorted_ids
from driveflow.images.frame_bytes import FrameBytes
from driveflow.images.signals import Signals, measure
from driveflow.progress import Progress, silent
from driveflow.signal_store import SignalStore

_CHUNK_FRAMES = 1_000  # kept together: what a killed run has to measure again


@dataclass(frozen=True, slots=True)
class FingerprintResult:
    """The signals of all frames asked for, one row a frame sorted by frame, and how many of them were known before.

    `absent` counts those whose bytes were missing or changed, and may be there the next time.
    """

    signals: pa.Table
    measured: int
    reused: int
    absent: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    """Signals of one frame; `lasting` is False where the reason for an error may go away."""

    frame_id: str
    signals: Signals | None
    error: str | None = None
    lasting: bool = True


def fingerprint_frames(
    frame_ids: pa.Array | pa.ChunkedArray | Sequence[str],
    pixels: FrameBytes,
    store: SignalStore,
    progress: Progress = silent,
    workers: int | None = None,
) -> FingerprintResult:
    """Return the signals of `frame_ids`, measuring only those that `store` does not hold yet.

    A frame whose bytes are missing, changed or cannot be decoded gets a row whose `error` says so; missing and changed
    bytes are looked for again at the next run. The result is the same for any order and any number of `workers`
    (threads; by default one a core).

    Raises:
        StorageError: the storage failed; what was measured until then is kept.
    """
    wanted = sorted_ids(frame_ids)
    known = store.load(wanted)
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=known["frame_id"].combine_chunks()))).to_pylist()
    parts = [known]
    absent = 0

    start_s = monotonic()

    def note(done: int) -> None:
        progress(known.num_rows + done, len(wanted), _told(done, monotonic() - start_s))

    note(0)
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)), thread_name_prefix="measure") as pool:
        for rows in _measured(missing, pixels, pool, note):
            store.append(_table([row for row in rows if row.lasting]))
            parts.append(_table(rows))
            absent += sum(not row.lasting for row in rows)
    signals = pa.concat_tables(parts).sort_by("frame_id").combine_chunks()
    return FingerprintResult(signals, measured=len(missing), reused=known.num_rows, absent=absent)


def _told(done: int, seconds: float) -> str:
    """Say what is done and how fast.

    >>> _told(300, 0.5)
    'frames measured, 600 a second'
    """
    return f"frames measured, {done / seconds:,.0f} a second" if done and seconds > 0 else "frames measured"


def _measured(
    frame_ids: Sequence[str], pixels: FrameBytes, pool: ThreadPoolExecutor, note: Callable[[int], None]
) -> Iterator[list[_Row]]:
    done = 0
    for start in range(0, len(frame_ids), _CHUNK_FRAMES):
        rows = []
        for row in pool.map(lambda frame_id: _measure_one(frame_id, pixels), frame_ids[start : start + _CHUNK_FRAMES]):
            rows.append(row)
            done += 1
            note(done)
        yield rows


def _measure_one(frame_id: str, pixels: FrameBytes) -> _Row:
    try:
        return _Row(frame_id, measure(pixels.read(frame_id)))
    except BrokenDataError as error:
        return _Row(frame_id, None, error.detail)
    except (NotFoundError, IntegrityError) as error:
        return _Row(frame_id, None, str(error), lasting=False)


def _table(rows: Sequence[_Row]) -> pa.Table:
    measured = {field.name: [_value(row, field.name) for row in rows] for field in fields(Signals)}
    ids, errors = [row.frame_id for row in rows], [row.error for row in rows]
    return pa.table({"frame_id": ids, **measured, "error": errors}, schema=columns.SIGNALS)


def _value(row: _Row, name: str) -> int | float | bytes | None:
    value: int | float | bytes | None = getattr(row.signals, name, None)
    return value
