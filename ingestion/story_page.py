"""A frame's story as a page with its picture."""

import json
from collections.abc import Mapping, Sequence

from driveflow.canonical import Json
from driveflow.errors import DriveflowError
from driveflow.images.decode import decode_rgb
from driveflow.pages import html
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri

_SIDE_PX = 960
_TRUTH: Colour = (80, 200, 80)
_GUESS: Colour = (255, 160, 40)
_IGNORED: Colour = (150, 150, 150)


def story_page(story: Mapping[str, Json], boxes: Sequence[Mapping[str, Json]], data: bytes | None) -> str:
    """Return the page of a story; `data` are the frame's bytes, None where they cannot be had."""
    title = f"Frame {str(story['frame_id'])[:16]}"
    parts: list[html.Text] = [html.element("h1", {}, title), _picture(story, boxes, data)]
    facts: list[list[html.Cell | html.Text]] = [
        [html.name(key), _text(value)] for key, value in story.items() if not _is_table(value)
    ]
    parts.append(html.section("What it is", html.table([html.Column(""), html.Column("")], facts)))
    for key, value in story.items():
        if isinstance(value, list) and _is_table(value):
            parts.append(html.section(key.replace("_", " ").capitalize(), _table(value)))
    return html.page(title, parts)


def _picture(story: Mapping[str, Json], boxes: Sequence[Mapping[str, Json]], data: bytes | None) -> html.Html:
    if data is None:
        return html.paragraph("The picture cannot be had.", tone="warn")
    try:
        uri = thumbnail_data_uri(decode_rgb(data), [_box(row) for row in boxes], _SIDE_PX)
    except DriveflowError as error:
        return html.paragraph(f"The picture cannot be shown: {error}", tone="warn")
    return html.gallery([html.Picture(uri, str(story["frame_id"]), f"{len(boxes)} boxes")])


def _box(row: Mapping[str, Json]) -> Box:
    corners = [float(str(row[name])) for name in ("x1", "y1", "x2", "y2")]
    score = row.get("score")
    colour = _IGNORED if row["ignore"] else _TRUTH if score is None else _GUESS
    return corners[0], corners[1], corners[2], corners[3], str(row["class_name"]), colour, score is not None


def _is_table(value: Json) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _table(rows: Sequence[Json]) -> html.Html:
    mappings = [row for row in rows if isinstance(row, Mapping)]
    names = list(dict.fromkeys(name for row in mappings for name in row))
    cells: list[list[html.Cell | html.Text]] = [[_text(row.get(name)) for name in names] for row in mappings]
    return html.table([html.Column(name) for name in names], cells)


def _text(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
