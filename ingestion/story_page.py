"""A frame's story as a page with its picture."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driveflow.canonical import Json
from driveflow.errors import DriveflowError
from driveflow.images.decode import decode_rgb
from driveflow.pages import html
from driveflow.pages.how_many import how_many
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri

_SIDE_PX = 960
_TRUTH: Colour = (80, 200, 80)
_GUESS: Colour = (255, 160, 40)
_IGNORED: Colour = (150, 150, 150)
_LONG_WORD = 24  # characters; what is longer and has no space is shown as a path is
_ID_CHARS = 12  # of a snapshot in a row, enough for any command
_NOTHING: tuple[Json, ...] = (None, "", "{}", [], {})
_SAID_BEFORE = ("frame_id", "steps")
_IN_PIXELS = ("width", "height")
_Row = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Shown:
    """The bytes of the frame and of the twin that its newest decision with one names; None where they cannot be had."""

    frame: bytes | None
    twin_path: str = ""
    twin: bytes | None = None


def story_page(story: _Row, boxes: Sequence[_Row], shown: Shown) -> str:
    """Return the page of a story: pictures and the decisions first, then what the frame is and all else."""
    steps = _rows(story.get("steps"))
    files = [f"{row['batch']}/{row['path']}" for row in _rows(story.get("sources"))]
    parts: list[html.Text] = [
        html.element("h1", {}, f"Frame {str(story['frame_id'])[:16]}"),
        html.paragraph(files[0] if files else "", tone="info"),
        *(html.paragraph(_sentence(step)) for step in [row for row in steps if row.get("verdict") == "dropped"][-1:]),
        _pictures(story, boxes, shown),
        html.section("What was decided, oldest first", _decided(steps)),
    ]
    facts: list[list[html.Cell | html.Text]] = [
        [key.replace("_", " "), _fact(key, value)]
        for key, value in story.items()
        if not _rows(value) and value not in _NOTHING and key not in _SAID_BEFORE
    ]
    facts.insert(0, ["frame id", html.code(str(story["frame_id"]))])
    parts.append(html.section("What it is", html.table([html.Column("fact"), html.Column("value")], facts)))
    for key, value in story.items():
        if _rows(value) and key not in _SAID_BEFORE:
            parts.append(html.section(key.replace("_", " ").capitalize(), _table(_rows(value))))
    return html.page(f"Frame {str(story['frame_id'])[:16]}", parts)


def told_of(step: _Row) -> str:
    """Return what a step decided of the frame and why, no word twice; whether it holds it where it decided nothing."""
    words = [step.get(name) for name in ("verdict", "reason", "detail")]
    held = "" if "verdict" in step else "holds it" if step["holds_it"] else "does not hold it"
    return ", ".join(dict.fromkeys(str(word) for word in (*words, held) if word))


def _sentence(step: _Row) -> html.Html:
    twin = step.get("twin_path") or str(step.get("twin") or "")[:16]
    beside: list[html.Text] = [". Its twin is ", html.code(str(twin))] if twin else []
    return html.join([f"{step['step']} ", html.code(str(step["snapshot"])), f": {told_of(step)}", *beside, "."])


def _pictures(story: _Row, boxes: Sequence[_Row], shown: Shown) -> html.Html:
    if shown.frame is None:
        gone = "The frame was withdrawn: its picture is not shown." if story.get("withdrawn") else ""
        return html.paragraph(gone or "The picture cannot be had.", tone="warn")
    count = f"This frame: {how_many(len(boxes), 'box', 'boxes')}"
    figures = [_picture(shown.frame, [_box(row) for row in boxes], str(story["frame_id"]), count)]
    if shown.twin is not None:
        caption = html.join(["Its twin: ", html.path(shown.twin_path)])
        figures.append(_picture(shown.twin, [], shown.twin_path, caption))
    return html.element("div", {"class": "gallery few"}, *figures)


def _picture(data: bytes, boxes: Sequence[Box], alt: str, caption: html.Text) -> html.Html:
    try:
        uri = thumbnail_data_uri(decode_rgb(data), boxes, _SIDE_PX)
    except DriveflowError as error:  # of the one is no reason not to show the other
        return html.paragraph(f"The picture cannot be shown: {error}", tone="warn")
    return html.figure(html.Picture(uri, alt, caption))


def _box(row: _Row) -> Box:
    corners = [float(str(row[name])) for name in ("x1", "y1", "x2", "y2")]
    score = row.get("score")
    colour = _IGNORED if row["ignore"] else _TRUTH if score is None else _GUESS
    return corners[0], corners[1], corners[2], corners[3], str(row["class_name"]), colour, score is not None


def _decided(steps: Sequence[_Row]) -> html.Html:
    """Return the steps with what each decided beside its name, so that a drop is read without scrolling."""
    columns = [html.Column("step"), html.Column("what"), html.Column("rule")]
    columns += [html.Column(name, numeric=True) for name in ("score", "limit")]
    columns += [html.Column("snapshot"), html.Column("twin")]
    rows: list[list[html.Cell | html.Text]] = [
        [
            str(step["step"] or "snapshot"),
            told_of(step),
            _rule(step),
            _number(step.get("score")),
            _number(step.get("limit")),
            str(step["snapshot"])[:_ID_CHARS],
            _text(step.get("twin_path") or step.get("twin")),
        ]
        for step in steps
    ]
    return html.table(columns, rows, label="Steps")


def _rule(step: _Row) -> html.Text:
    """Return the rule that decided; none where every rule let the frame pass, since a reason is then not given."""
    return "" if step.get("reason") in (None, "", step.get("verdict")) else _text(step.get("rule"))


def _number(value: Json) -> str:
    return "" if value is None else f"{float(str(value)):g}"


def _table(rows: Sequence[_Row]) -> html.Html:
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) for row in rows)]
    cells: list[list[html.Cell | html.Text]] = [[_text(row.get(name)) for name in names] for row in rows]
    return html.table([html.Column(name.replace("_", " ")) for name in names], cells)


def _rows(value: Json) -> list[_Row]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _fact(key: str, value: Json) -> html.Text:
    if key in _IN_PIXELS:
        return f"{_plain(value)} px"
    return _text(json.loads(value) if key == "attributes" and isinstance(value, str) else value)


def _text(value: Json) -> html.Text:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    plain = _plain(value)
    return html.path(plain) if len(plain) > _LONG_WORD and " " not in plain else plain


def _plain(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
