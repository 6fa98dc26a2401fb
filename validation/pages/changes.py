"""The part of the report that says what a challenger newly breaks and newly fixes."""

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text, Tone
from validation.model.changed_frames import Changes, ClassChange
from validation.pages.frames import Galleries, legend
from validation.pages.words import MOST_ROWS, left_out


def changes_section(found: Changes | None, shown: Galleries) -> Html:
    """Return the sums in words, a row a class, and pictures of both kinds."""
    if found is None:
        return html.empty("There is no champion to compare with.")
    words = in_words(found)
    rows = [_row(part) for part in found.per_class]
    table = html.table(_columns(), rows[:MOST_ROWS], label="Newly broken and fixed")
    parts = [html.paragraph(words), table, left_out(len(rows) - MOST_ROWS, "classes")]
    parts += [legend()] if found.broken or found.fixed else []
    parts += [
        html.element("h3", {}, "Newly broken"),
        shown.broken if found.broken else html.empty("Nothing is newly broken."),
    ]
    parts += [
        html.element("h3", {}, "Newly fixed"),
        shown.fixed if found.fixed else html.empty("Nothing is newly fixed."),
    ]
    return html.join(parts)


def in_words(found: Changes) -> str:
    """Return the sums of what changed, and how each model was cut."""
    broken, fixed = found.total("broken"), found.total("fixed")
    return (
        f"Of {found.total('objects'):,} objects the challenger loses {broken:,} that the champion finds "
        f"(in {found.broken_groups:,} drive groups) and finds {fixed:,} that it misses (in {found.fixed_groups:,}). "
        f"{found.total('new_false'):,} false detections are new, {found.total('gone_false'):,} are gone. "
        "Each model is cut at its own scores with the best F1, IoU 0.5."
    )


def _columns() -> list[Column]:
    return [
        Column("class"),
        Column("objects", numeric=True),
        Column("newly broken", numeric=True, hint="objects that only the champion finds"),
        Column("newly fixed", numeric=True, hint="objects that only the challenger finds"),
        Column("net", numeric=True, hint="fixed less broken"),
        Column("new false", numeric=True, hint="false detections that only the challenger makes"),
        Column("gone false", numeric=True, hint="false detections that only the champion makes"),
    ]


def _row(part: ClassChange) -> list[Cell | Text]:
    net = part.fixed - part.broken
    tone: Tone = "good" if net > 0 else "bad" if net < 0 else "plain"
    counts = [html.number(count, 0) for count in (part.objects, part.broken, part.fixed)]
    false = [html.number(count, 0) for count in (part.new_false, part.gone_false)]
    return [html.name(part.class_name), *counts, html.number(net, 0, sign=True, tone=tone), *false]
