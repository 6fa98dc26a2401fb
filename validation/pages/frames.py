"""The galleries of the report: truth solid, predictions dashed, and what is wrong in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from driveflow.pages import html
from driveflow.pages.chooser import Ranked, chooser
from driveflow.pages.clip import short_name
from driveflow.pages.html import Column, Html, Picture, Text
from driveflow.pages.pictures import Box, Colour
from validation.model.changed_frames import ChangedFrame
from validation.model.drawn_boxes import DrawnBox
from validation.model.frame_rows import Ranks
from validation.model.suspects import Suspect
from validation.model.worst_frames import WorstFrame
from validation.pages.album import Area, Pictures, Wanted, make_pictures, more_pictures
from validation.pages.captions import changed_caption, digest_name, suspect_caption, worst_alt, worst_caption
from validation.pages.findings import Findings

_MOST_SUSPECTS = 12
_MOST_NOTES = 8
_FIRST_SHARE = 0.6  # of what all pictures may weigh, where single classes have some of their own
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
    ranks: Ranks

    @property
    def weight(self) -> int:
        """Return what the entry weighs without its picture, in bytes at most."""
        return len(self.caption.markup.encode()) + 2 * len(self.alt.encode()) + 12 * len(self.ranks.classes) + 200


@dataclass(frozen=True, slots=True)
class Galleries:
    """The pictures of every gallery as parts of a page, and what could not be shown."""

    worst: Html
    broken: Html
    fixed: Html
    suspects: Html
    notes: tuple[str, ...] = field(default=())


_Place: TypeAlias = tuple[int, int]  # number of a gallery, number of an entry in it


def galleries(findings: Findings, pictures: Pictures | None, most_bytes: int) -> Galleries:
    """Return all galleries; together their pictures weigh `most_bytes` at most, the first of each come first.

    What is shown for single classes alone comes after all that is shown anyway, and smaller.
    """
    changed = findings.changes
    lists = (
        [_worst(frame) for frame in findings.worst],
        [_changed(frame, broken=True) for frame in changed.broken if frame.ranks.is_chosen] if changed else [],
        [_changed(frame, broken=False) for frame in changed.fixed if frame.ranks.is_chosen] if changed else [],
        [_suspect(item) for item in findings.suspects[:_MOST_SUSPECTS]],
    )
    uri_of, notes = _made(lists, pictures, most_bytes) if pictures is not None else ({}, ())
    titles = ("Worst frames", "Newly broken", "Newly fixed", "Labels in doubt")
    parts = [
        _gallery([(entry, uri_of.get((k, n))) for n, entry in enumerate(part)], titles[k])
        for k, part in enumerate(lists)
    ]
    return Galleries(parts[0], parts[1], parts[2], parts[3], notes)


def _made(
    lists: Sequence[Sequence[_Entry]], pictures: Pictures, most_bytes: int
) -> tuple[dict[_Place, str | None], tuple[str, ...]]:
    places: list[_Place] = [
        (k, n) for row in zip_longest(*(range(len(part)) for part in lists)) for k, n in enumerate(row) if n is not None
    ]
    first = [(k, n) for k, n in places if lists[k][n].ranks.overall is not None]
    rest = [(k, n) for k, n in places if lists[k][n].ranks.overall is None]
    room = most_bytes - sum(lists[k][n].weight for k, n in rest)
    made = make_pictures([lists[k][n].wanted for k, n in first], pictures, int(room * (_FIRST_SHARE if rest else 1)))
    room -= sum(len(uri) for uri in made.uris if uri is not None)
    more = more_pictures([lists[k][n].wanted for k, n in rest], pictures, max(room, 0))
    words = [note for note in (made.note, more.note) if note]
    unread = dict.fromkeys(f"Not shown: {reason}" for reason in (*made.reasons, *more.reasons))
    uris = dict(zip([*first, *rest], [*made.uris, *more.uris], strict=True))
    return uris, (*words, *_few(list(unread)))


def _few(notes: list[str]) -> list[str]:
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else [*notes[:_MOST_NOTES], f"Not shown: {more} more frames."]


def legend(*, compared: bool = True) -> Html:
    """Return what the colours and lines of the pictures mean; without a champion nothing is its."""
    shown = [item for item in _KEYS if compared or item[0] != _CHAMPION]
    return html.element("div", {"class": "legend"}, *(_key(*item) for item in shown))


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
    """Return the pictures, to be chosen by class, or where there is none to show, what they would say."""
    shown = [
        Ranked(Picture(uri, entry.alt, entry.caption), entry.ranks.overall, entry.ranks.by_class)
        for entry, uri in entries
        if uri is not None
    ]
    if shown:
        return chooser("Class", "all classes", shown, title)
    told = [entry for entry, _uri in entries if entry.ranks.overall is not None]
    rows: list[list[Text]] = [[digest_name(entry.wanted.frame_id), entry.caption] for entry in told]
    return html.table([Column("frame"), Column("what")], rows, label=title) if rows else Html("")


def _worst(frame: WorstFrame) -> _Entry:
    boxes = tuple(drawn(box) for box in _painted_last(frame.boxes))
    return _Entry(Wanted(frame.frame_id, boxes), worst_alt(frame), worst_caption(frame), frame.ranks)


def _changed(frame: ChangedFrame, *, broken: bool) -> _Entry:
    boxes = tuple(drawn(box) for box in _painted_last(frame.boxes))
    word = "newly broken" if broken else "newly fixed"
    about = [box.corners for box in frame.boxes if box.changed or box.by_champion]
    alt = f"Frame {short_name(frame.frame_id)}: {len(frame.objects)} {word}"
    caption = changed_caption(frame, broken=broken)
    return _Entry(Wanted(frame.frame_id, boxes, _around(about)), alt, caption, frame.ranks)


def _suspect(item: Suspect) -> _Entry:
    box = (*item.corners, f"{item.said} {item.score:.2f}", _WRONG, True)
    wanted = Wanted(item.frame_id, (box,), item.corners)
    return _Entry(wanted, f"Label in doubt: {item.said}", suspect_caption(item), Ranks(0))


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
