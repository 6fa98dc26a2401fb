"""Build one self-contained HTML page from parts in which every text is escaped."""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

Tone: TypeAlias = Literal["good", "bad", "warn", "info", "plain"]

# Control characters, lone surrogates, and the marks that turn the direction of all that follows.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_PICTURE = re.compile(r"data:image/(?:jpeg|png);base64,[A-Za-z0-9+/]+={0,2}")
_HEATS = 8
_LONG = 40  # rows; a longer table scrolls in a frame of its own, under a head that stays, and says so
_NAME_CHARS = 28  # of a name, which page.css has room for
_TAIL = 16  # characters of a path that are always shown
_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Html:
    """A piece of page whose markup is safe already; a plain str never is."""

    markup: str


Text: TypeAlias = str | Html


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; `hint` is shown when the pointer rests on the title, `axis` is drawn below it."""

    title: str
    numeric: bool = False
    hint: str = ""
    axis: Html | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell; `order` is what its column sorts by: the text itself where it is None, NaN comes last.

    `heat` from 0 to 1 shades it.
    """

    content: Text
    order: float | str | None = None
    tone: Tone = "plain"
    heat: float = 0.0


@dataclass(frozen=True, slots=True)
class Card:
    """One large value with a label above and a note below."""

    label: str
    value: Text
    note: Text = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as a data URI, what it shows in words, and the caption under it."""

    data_uri: str
    alt: str
    caption: Text = ""

    def __post_init__(self) -> None:
        if not _PICTURE.fullmatch(self.data_uri):
            raise ValueError(f"a picture of a page is a base64 data URI of a JPEG or PNG, got {self.data_uri[:40]!r}")


def escape(text: str) -> str:
    """Return `text` so that it is shown as written, in an element and in an attribute."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", text), quote=True)


def render(text: Text) -> str:
    """Return the markup of `text`, escaped unless it is Html."""
    return text.markup if isinstance(text, Html) else escape(text)


def element(tag: str, attributes: Mapping[str, str], *content: Text) -> Html:
    """Return `<tag attributes>content</tag>`; `tag` and attribute names are the caller's own words, never data."""
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return Html(f"<{tag}{written}>{''.join(render(part) for part in content)}</{tag}>")


def join(parts: Iterable[Text], separator: Text = "") -> Html:
    """Return the parts as one, with `separator` between them."""
    return Html(render(separator).join(render(part) for part in parts))


def name(text: str) -> Html:
    """Return a name that came with the data: kept apart from the writing direction around it, clipped where long.

    It is clipped in the middle, since names of one data set often begin alike and differ at their end.
    """
    return path(text) if len(text) > _NAME_CHARS else element("bdi", {"class": "name", "title": text}, text)


def path(text: str) -> Html:
    """Return a path that came with the data: as `name`, with room for its end however short it is."""
    parts = (element("span", {}, part) for part in (text[:-_TAIL], text[-_TAIL:]))
    return element("bdi", {"class": "name path", "title": text}, *parts)


def code(text: str) -> Html:
    """Return an identifier or digest in a fixed-width face."""
    return element("code", {}, text)


def paragraph(*content: Text, tone: Tone = "plain") -> Html:
    """Return a paragraph."""
    return element("p", {"class": tone}, *content)


def empty(*content: Text) -> Html:
    """Return the words that stand where there is nothing to show, so that nobody thinks a part is broken."""
    return element("p", {"class": "empty"}, *content)


def badge(label: str, tone: Tone = "plain") -> Html:
    """Return a short coloured label."""
    return element("span", {"class": f"badge {tone}"}, label)


def bullets(items: Sequence[Text]) -> Html:
    """Return a bullet list."""
    return element("ul", {}, *(element("li", {}, item) for item in items))


def section(title: str, *content: Text, anchor: str = "") -> Html:
    """Return a titled section; `anchor` (lower case, digits, hyphens) makes it a target of `contents`."""
    if anchor and not _ANCHOR.fullmatch(anchor):
        raise ValueError(f"an anchor is lower-case letters, digits and hyphens, got {anchor!r}")
    return element("section", {"id": anchor} if anchor else {}, element("h2", {}, title), *content)


def folded(summary: Text, *content: Text, is_open: bool = False) -> Html:
    """Return content behind a summary that opens it."""
    attributes = {"open": ""} if is_open else {}
    return element("details", attributes, element("summary", {}, summary), *content)


def contents(sections: Sequence[tuple[str, str]]) -> Html:
    """Return links to sections, given as (anchor, title)."""
    links = [element("a", {"href": f"#{anchor}"}, title) for anchor, title in sections]
    return element("nav", {"aria-label": "Contents"}, *links)


def cards(items: Sequence[Card]) -> Html:
    """Return a row of cards."""
    return element("div", {"class": "cards"}, *(_card(item) for item in items))


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell | Text]], caption: str = "", label: str = "") -> Html:
    """Return a table that sorts by any column, with the pointer or the keyboard.

    `caption` is shown above it; `label` is only spoken, for a table whose heading is there already.

    Raises:
        ValueError: a row has not one cell a column.
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of this table has {len(columns)} cells, got {len(row)}")
    head = element("thead", {}, element("tr", {}, *(_head(column) for column in columns)))
    body = element("tbody", {}, *(_row(columns, row) for row in rows))
    title = [element("caption", {}, caption)] if caption else []
    # A region that scrolls must be reachable by keyboard.
    kind = "wide long" if len(rows) > _LONG else "wide"
    attributes = {"class": kind, "tabindex": "0", "role": "region", "aria-label": label or caption or "Table"}
    framed = element("div", attributes, element("table", {}, *title, head, body))
    more = element("p", {"class": "info rows"}, f"{len(rows):,} rows; scroll inside the table to see those below.")
    return join([framed, more]) if len(rows) > _LONG else framed


def number(value: float | None, digits: int = 3, *, sign: bool = False, tone: Tone = "plain", below: str = "") -> Cell:
    """Return a cell with a number, and `below` it a note; None and NaN are shown as a dash and sort last."""
    if value is None or value != value:  # noqa: PLR0124 only NaN differs from itself
        return Cell("–", order=float("nan"))
    shown = f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")
    content = join([shown, element("small", {}, below)]) if below else shown
    return Cell(content, order=float(value), tone=tone)


def stacked(table: Html) -> Html:
    """Return a table whose cells of a row stand below each other, the numbers but the first left out, on a phone."""
    return element("div", {"class": "stack"}, table)


def gallery(pictures: Sequence[Picture], caption: str = "") -> Html:
    """Return pictures side by side; each opens large."""
    label = {"aria-label": caption} if caption else {}
    return element("div", {"class": "gallery", "role": "group", **label}, *(figure(item) for item in pictures))


def figure(item: Picture, attributes: Mapping[str, str] | None = None) -> Html:
    """Return a picture that opens large, over its caption."""
    image = element("button", {"type": "button", "class": "zoom", "aria-label": f"Enlarge: {item.alt}"}, _image(item))
    caption = [element("figcaption", {}, item.caption)] if item.caption else []
    return element("figure", attributes or {}, image, *caption)


def charts(drawings: Sequence[tuple[Text, Html]]) -> Html:
    """Return drawings with their captions side by side; each opens large."""
    return element("div", {"class": "charts"}, *(_chart(caption, drawing) for caption, drawing in drawings))


def page(title: str, parts: Sequence[Text]) -> str:
    """Return a whole page that needs nothing beside itself and may run no script but its own."""
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{_sha256_base64(script)}'; base-uri 'none'; form-action 'none'"
    )
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{style}</style>"
    )
    body = (
        f'<main>{join(parts).markup}</main><dialog id="large" aria-label="Enlarged"></dialog><script>{script}</script>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _card(item: Card) -> Html:
    note = [element("div", {"class": "note"}, item.note)] if item.note else []
    label = element("div", {"class": "label"}, item.label)
    return element("div", {"class": f"card {item.tone}"}, label, element("div", {"class": "value"}, item.value), *note)


def _head(column: Column) -> Html:
    attributes = {"scope": "col", **({"class": "numeric"} if column.numeric else {})}
    hint = {"title": column.hint} if column.hint else {}
    title = element("bdi", {}, column.title)  # a name of the data may be written from right to left
    below = [column.axis] if column.axis is not None else []
    return element("th", attributes, element("button", {"type": "button", **hint}, title), *below)


def _row(columns: Sequence[Column], row: Sequence[Cell | Text]) -> Html:
    cells = [item if isinstance(item, Cell) else Cell(item) for item in row]
    return element("tr", {}, *(_cell(column, item) for column, item in zip(columns, cells, strict=True)))


def _cell(column: Column, cell: Cell) -> Html:
    heat = min(max(round(_HEATS * cell.heat), 1), _HEATS) if cell.heat > 0 else 0
    words = ("numeric" if column.numeric else "", cell.tone if cell.tone != "plain" else "", f"h{heat}" if heat else "")
    classes = " ".join(word for word in words if word)
    attributes = {"class": classes} if classes else {}
    if cell.order is not None:
        attributes["data-order"] = str(cell.order)
    return element("td", attributes, cell.content)


def _chart(caption: Text, drawing: Html) -> Html:
    title = re.sub(r"<[^>]*>", "", render(caption))
    opens = Html(f'<button type="button" class="zoom" aria-label="Enlarge: {title}">{drawing.markup}</button>')
    return element("figure", {}, element("figcaption", {}, caption), opens)


def _image(item: Picture) -> Html:
    return Html(f'<img src="{item.data_uri}" alt="{escape(item.alt)}" decoding="async">')


@cache
def _resource(file_name: str) -> str:
    return (files("driveflow.pages") / file_name).read_text("utf-8")


def _sha256_base64(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
