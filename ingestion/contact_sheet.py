"""A page of pictures of a snapshot with their boxes, for people, who look at pictures before tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.errors import DriveflowError
from driveflow.images.decode import decode_rgb
from driveflow.images.frame_bytes import FrameBytes
from driveflow.pages import html
from driveflow.pages.how_many import how_many
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri
from driveflow.snapshots import Snapshot

MOST_FRAMES = 24
_SIDE_PX, _QUALITY = 420, 75
_COLOURS: tuple[Colour, ...] = (
    (80, 200, 80), (255, 160, 40), (90, 160, 255), (240, 90, 120), (190, 120, 250), (60, 210, 210), (230, 220, 60),
    (170, 130, 90),
)  # fmt: skip
_IGNORED: Colour = (150, 150, 150)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the page says of one frame."""

    frame_id: str
    name: str
    split: str
    boxes: Sequence[Box]


def contact_sheet(snapshot: Snapshot, pixels: FrameBytes, facts: Mapping[str, Any]) -> str:
    """Return a page of up to 24 frames, drawn from all over the snapshot, with `facts` from `describe_snapshot`."""
    cards = [html.Card(name.replace("_", " "), f"{facts[name]:,}") for name in ("frames", "labeled", "drives")]
    boxes = sum(row["boxes"] for row in facts["classes"])
    cards += [html.Card("boxes", f"{boxes:,}"), html.Card("ignore regions", f"{facts['ignored_boxes']:,}")]
    columns = [html.Column("class")] + [
        html.Column(name, numeric=True) for name in ("boxes", "frames", "looked for in")
    ]
    counted = ("boxes", "frames_with", "frames_annotated")
    rows: list[list[html.Cell | html.Text]] = [
        [html.name(row["class_name"]), *(html.number(row[name], 0) for name in counted)] for row in facts["classes"]
    ]
    pictures = list(_pictures(_chosen(snapshot), pixels))
    title = f"Snapshot {snapshot.snapshot_id[:16]}"
    parts: list[html.Text] = [
        html.element("h1", {}, title),
        html.cards(cards),
        html.section(f"{len(pictures)} of {facts['frames']:,} frames", html.gallery(pictures, "frames")),
        html.section("Classes", html.table(columns, rows)),
    ]
    return html.page(title, parts)


def _chosen(snapshot: Snapshot) -> list[_Shown]:
    """Return frames to show, those with boxes first; ids are digests, so their order is a draw without favour."""
    boxes, frames = snapshot.boxes(), snapshot.frames()
    drawn = pc.is_in(frames["frame_id"], value_set=boxes["frame_id"].combine_chunks().unique())
    ids = [*frames["frame_id"].filter(drawn)[:MOST_FRAMES].to_pylist()]
    ids += frames["frame_id"].filter(pc.invert(drawn))[: MOST_FRAMES - len(ids)].to_pylist()
    wanted = pa.array(ids, pa.string())
    sources = snapshot.sources()
    told = sources.filter(pc.is_in(sources["frame_id"], value_set=wanted)).to_pylist()
    names = {row["frame_id"]: f"{row['batch']}/{row['path']}" for row in reversed(told)}
    held = boxes.filter(pc.is_in(boxes["frame_id"], value_set=wanted)).to_pylist()
    splits = dict(zip(frames["frame_id"].to_pylist(), frames["split"].to_pylist(), strict=True))
    return [
        _Shown(key, names[key], splits[key], [_box(row, snapshot.classes) for row in held if row["frame_id"] == key])
        for key in ids
    ]


def _box(row: Mapping[str, Any], classes: Sequence[str]) -> Box:
    colour = _IGNORED if row["ignore"] else _COLOURS[classes.index(row["class_name"]) % len(_COLOURS)]
    label = "ignore" if row["ignore"] else row["class_name"]
    predicted = row["score"] is not None
    return row["x1"], row["y1"], row["x2"], row["y2"], label, colour, predicted


def _pictures(chosen: Sequence[_Shown], pixels: FrameBytes) -> Iterator[html.Picture]:
    for shown in chosen:
        try:
            image = decode_rgb(pixels.read(shown.frame_id))
        except DriveflowError:  # gone or damaged since: the page shows the others
            continue
        count = f"{how_many(len(shown.boxes), 'box', 'boxes')}, {shown.split}"
        caption = html.join([html.path(shown.name), " ", html.code(shown.frame_id[:12]), f" {count}"])
        yield html.Picture(thumbnail_data_uri(image, shown.boxes, _SIDE_PX, _QUALITY), shown.name, caption)
