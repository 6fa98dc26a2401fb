"""The galleries of the report: truth solid, predictions dashed, and what is wrong in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from driveflow.pages import html
from driveflow.pages.html import Column, Html, Picture, Text
from driveflow.pages.pictures import Box, Colour
from validation.model.changed_frames import ChangedFrame
from validation.model.suspects import Suspect
from validation.model.worst_frames import DrawnBox, WorstFrame
from validation.pages.album import Area, Made, Pictures, Wanted, make_pictures
from validation.pages.captions import changed_caption, digest_name, suspect_caption, worst_alt, worst_caption
from validation.pages.findings import Findings

_MOST_SUSPECTS = 12
_FOUND: Colour = (46, 160, 67)
_MISSED: Colour = (255, 176, 0)
_RIGHT: Colour = (64, 156, 255)
_WRONG: Colour = (230, 50, 80)
_CHAMPION: Colour = (178, 102, 255)
_REGION: Colour = (150, 150, 150)
_KEYS: tuple[tuple[Colour, bool, str], ...] = (
    (_FOUND, False, "an object that was found"),
    (_MISSED, False, "an object that was missed"),
    (_RIGHT, True, "a right detection"),
    (_WRONG, True, "a wrong detection"),
    (_CHAMPION, True, "what the champion said"),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    wanted: Wanted
    alt: str
    caption: Html


@dataclass(frozen=True, slots=True)
class Galleries:
    """The pictures of every gallery as parts of a page, and what could not be shown."""

    worst: Html
    broken: Html
    fixed: Html
    suspects: Html
    notes: tuple[str, ...] = field(default=())


def galleries(findings: Findings, pictures: Pictures | None, most_bytes: int) -> Galleries:
    """Return all galleries; together their pictures weigh `most_bytes` at most, the first of each come first."""
    changed = findings.changes
    lists = (
        [_worst(frame) for frame in findings.worst],
        [_changed(frame, broken=True) for frame in changed.broken] if changed is not None else [],
        [_changed(frame, broken=False) for frame in changed.fixed] if changed is not None else [],
        [_suspect(item) for item in findings.suspects[:_MOST_SUSPECTS]],
    )
    places = [
        (k, n) for row in zip_longest(*(range(len(part)) for part in lists)) for k, n in enumerate(row) if n is not None
    ]
    made = Made((None,) * len(places), (), "")
    if pictures is not None:
        made = make_pictures([lists[k][n].wanted for k, n in places], pictures, most_bytes)
    uri_of = dict(zip(places, made.uris, strict=True))
    titles = ("Worst frames", "Newly broken", "Newly fixed", "Labels in doubt")
    parts = [
        _gallery([(entry, uri_of[k, n]) for n, entry in enumerate(part)], titles[k]) for k, part in enumerate(lists)
    ]
    notes = (*((made.note,) if made.note else ()), *(f"Not shown: {reason}" for reason in made.reasons))
    return Galleries(parts[0], parts[1], parts[2], parts[3], notes)


def legend() -> Html:
    """Return what the colours and lines of the pictures mean."""
    return html.element("div", {"class": "legend"}, *(_key(*item) for item in _KEYS))


def drawn(box: DrawnBox) -> Box:
    """Return a box as it is drawn: truth solid, predictions dashed, a label only where there is something to say."""
    if box.ignore:
        return (*box.corners, "not judged", _REGION, False)
    if box.by_champion:
        return (*box.corners, f"{box.class_name} {box.score or 0.0:.2f}", _CHAMPION, True)
    if box.score is None:
        label = box.class_name if box.changed or not box.right else ""
        return (*box.corners, label, _FOUND if box.right else _MISSED, False)
    label = "" if box.right else f"{box.class_name} {box.score:.2f}"
    return (*box.corners, label, _RIGHT if box.right else _WRONG, True)


def _key(colour: Colour, dashed: bool, words: str) -> Html:
    red, green, blue = colour
    kind = {"class": "dashed"} if dashed else {}
    swatch = html.element("i", {**kind, "style": f"color:rgb({red} {green} {blue})", "aria-hidden": "true"})
    return html.element("span", {}, swatch, f"{'dashed' if dashed else 'solid'}: {words}")


def _gallery(entries: Sequence[tuple[_Entry, str | None]], title: str) -> Html:
    """Return the pictures, or where there is none to show, what they would say."""
    shown = [Picture(uri, entry.alt, entry.caption) for entry, uri in entries if uri is not None]
    if shown:
        return html.gallery(shown, title)
    rows: list[list[Text]] = [[digest_name(entry.wanted.frame_id), entry.caption] for entry, _uri in entries]
    return html.table([Column("frame"), Column("what")], rows, label=title) if rows else Html("")


def _worst(frame: WorstFrame) -> _Entry:
    boxes = tuple(drawn(box) for box in _painted_last(frame.boxes))
    return _Entry(Wanted(frame.frame_id, boxes), worst_alt(frame), worst_caption(frame))


def _changed(frame: ChangedFrame, *, broken: bool) -> _Entry:
    boxes = tuple(drawn(box) for box in _painted_last(frame.boxes))
    word = "newly broken" if broken else "newly fixed"
    about = [box.corners for box in frame.boxes if box.changed or box.by_champion]
    alt = f"Frame {frame.frame_id[:12]}: {len(frame.objects)} {word}"
    return _Entry(Wanted(frame.frame_id, boxes, _around(about)), alt, changed_caption(frame, broken=broken))


def _suspect(item: Suspect) -> _Entry:
    box = (*item.corners, f"{item.said} {item.score:.2f}", _WRONG, True)
    return _Entry(Wanted(item.frame_id, (box,), item.corners), f"Label in doubt: {item.said}", suspect_caption(item))


def _around(areas: Sequence[Area]) -> Area | None:
    if not areas:
        return None
    left, top, right, bottom = zip(*areas, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _painted_last(boxes: tuple[DrawnBox, ...]) -> list[DrawnBox]:
    """Order boxes so that what is wrong lies on top."""
    return sorted(
        boxes, key=lambda box: (not box.ignore, not box.right, box.changed or box.by_champion, box.score is not None)
    )
