"""A gallery of which one part is shown at a time, chosen by name, with the pointer or the keyboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driveflow.pages import html
from driveflow.pages.clip import clipped
from driveflow.pages.html import Html, Picture

_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class Ranked:
    """A picture and its places, 0 first: among all (None: not shown there), and in the parts that it is shown in."""

    picture: Picture
    overall: int | None
    places: Mapping[str, int]


def chooser(what: str, every: str, items: Sequence[Ranked], caption: str) -> Html:
    """Return a gallery under a choice of `every` picture that has a place among all, or of one part.

    A picture stands in the page once, in whatever parts it is shown. Without two parts there is no choice, and all
    pictures are shown. `what` names the choice, `every` its first entry, `caption` the gallery.
    """
    counts: dict[str, int] = {}
    for item in items:
        for name in item.places:
            counts[name] = counts.get(name, 0) + 1
    if len(counts) < 2:
        return html.gallery([item.picture for item in items], caption)
    key_of = {name: f"data-c{number}" for number, name in enumerate(sorted(counts))}
    figures = [html.figure(item.picture, _attributes(item, key_of)) for item in items]
    gallery = html.element("div", {"class": "gallery", "role": "group", "aria-label": caption}, *figures)
    shown = sum(item.overall is not None for item in items)
    options = [_option("all", f"{every} ({shown})")]
    for number, name in enumerate(sorted(counts)):
        options.append(_option(f"c{number}", f"{clipped(name, _NAME_CHARS)} ({counts[name]})"))
    select = html.element("select", {"class": "choose", "autocomplete": "off"}, *options)
    said = html.element("output", {"class": "soft"}, f"{shown} shown")
    bar = html.element("div", {"class": "choice"}, html.element("label", {}, f"{what} ", select), said)
    return html.element("div", {"class": "chooser"}, bar, gallery)


def _attributes(item: Ranked, key_of: Mapping[str, str]) -> dict[str, str]:
    places = {key_of[name]: str(place) for name, place in item.places.items()}
    if item.overall is None:
        return {"hidden": "", **places}
    return {"data-all": str(item.overall), **places}


def _option(value: str, words: str) -> Html:
    return html.element("option", {"value": value, "dir": "auto"}, words)
