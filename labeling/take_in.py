"""Take a return file in: check it, and put it with its campaign under a name that is its digest."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from driveflow.canonical import Json, digest_bytes
from driveflow.errors import BrokenDataError, NotFoundError
from driveflow.storage.objects import join, keep_bytes
from labeling.campaigns import MAX_RETURN_BYTES, RawReturn, campaign_uri, open_manifest
from labeling.returns import boxes_that_count, read_returns, refusal_rows

_NOTHING: dict[str, Json] = {"reason": "no_answer", "detail": "it says nothing about any frame"}


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A return file in its campaign; `is_new` is False where it was there already.

    `problems` name what is not used; `refused` says how often each reason is among them.
    """

    campaign_id: str
    path: str
    is_new: bool
    frames: int
    boxes: int
    problems: tuple[str, ...]
    refused: Mapping[str, int]


def take_in(store: str, campaign_id: str, source: Path) -> TakenIn:
    """Put the file `source` into the campaign's returns; the same bytes twice are there once.

    Raises:
        NotFoundError: there is no such file or campaign.
        BrokenDataError: the whole file is of no use, or nothing that it says is; it is not taken.
    """
    manifest = open_manifest(store, campaign_id)
    data = _read(source)
    path = f"returns/{digest_bytes(data)[:32]}.json"
    readings = read_returns([manifest], [RawReturn(campaign_id, path, len(data), data)])
    rows = sorted(refusal_rows(readings.refusals), key=lambda row: row["reason"] == "incomplete_class")
    if not readings.entries:
        rows = rows or [_NOTHING]
        raise BrokenDataError(str(rows[0]["reason"]), f"{source} is no answer to this campaign: {rows[0]['detail']}")
    is_new = keep_bytes(join(campaign_uri(store, campaign_id), path), data)
    return TakenIn(
        campaign_id=campaign_id,
        path=path,
        is_new=is_new,
        frames=len({entry.frame_id for entry in readings.entries}),
        boxes=boxes_that_count(readings),
        problems=(*(f"{row['reason']}: {row['detail']}" for row in rows), *readings.notes()),
        refused=dict(Counter(str(row["reason"]) for row in rows)),
    )


def _read(source: Path) -> bytes:
    try:
        size = source.stat().st_size
        if size > MAX_RETURN_BYTES:
            raise BrokenDataError("too_large", f"{source} has {size} bytes; at most {MAX_RETURN_BYTES}, split it")
        return source.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {source}.") from None
