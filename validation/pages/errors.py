"""The part of the report that says what kinds of mistakes there are, and what each costs."""

import math
from typing import Final

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from driveflow.pages.stacked import Stack, stacked_bars
from validation.model.errors import KINDS, ErrorKind
from validation.model.evaluation import Evaluation
from validation.pages.words import MOST_ROWS, left_out, named_models

_WORDS: Final[dict[ErrorKind, tuple[str, str]]] = {
    "Cls": ("wrong class", "well placed on an object of another class"),
    "Loc": ("loose box", "on an object of its class, overlapping it by 0.1 to 0.5"),
    "Both": ("wrong class and loose", "near an object of another class, overlapping it by 0.1 to 0.5"),
    "Dupe": ("second box", "on an object that another detection has"),
    "Bkg": ("background", "on nothing that is labeled"),
    "Miss": ("missed", "an object that no detection speaks of"),
}


def error_section(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return bars of each kind for both models, what mending each kind would add, and a row a class."""
    models = named_models(challenger, champion)
    stacks = [
        Stack(name, [model.errors.shown.of(kind) for kind in KINDS])
        for name, model in models
        if model.errors is not None
    ]
    if not stacks or challenger.errors is None:
        return html.empty("Kinds of mistakes were not measured.")
    if not any(sum(stack.values) for stack in stacks):
        return html.empty("No mistake at the operating scores: every object is found and nothing else.")
    note = "At IoU 0.5 and each class's cut. A mistake is of one kind only; all come from the matching that gives AP."
    bars = stacked_bars("Mistakes by kind", [f"{kind}: {_WORDS[kind][0]}" for kind in KINDS], stacks)
    costs = html.element("div", {"class": "narrow"}, _costs(challenger, champion))
    by_class = html.folded("By class", _by_class(challenger))
    return html.join([html.paragraph(note, tone="info"), bars, costs, by_class])


def _costs(challenger: Evaluation, champion: Evaluation | None) -> Html:
    compared = champion is not None
    columns = [
        Column("kind"),
        Column("what it is"),
        Column("challenger" if compared else "count", numeric=True, hint="how often, at the operating scores"),
        *([Column("champion", numeric=True)] if compared else []),
        Column("costs AP50", numeric=True, hint="what AP50 would gain if there were no mistake of this kind"),
        *([Column("costs the champion", numeric=True)] if compared else []),
    ]
    return html.table(columns, [_cost_row(kind, challenger, champion) for kind in KINDS], label="Kinds of mistakes")


def _cost_row(kind: ErrorKind, challenger: Evaluation, champion: Evaluation | None) -> list[Cell | Text]:
    title, words = _WORDS[kind]
    models = [challenger, *([champion] if champion is not None else [])]
    counts = [html.number(model.errors.shown.of(kind) if model.errors is not None else None, 0) for model in models]
    costs = [html.number(model.delta_ap.of(kind) if model.delta_ap is not None else None, 3) for model in models]
    named = html.join([html.element("b", {}, kind), html.element("small", {}, title)])
    return [Cell(named, order=kind), words, *counts, *costs]


def _by_class(challenger: Evaluation) -> Html:
    if challenger.errors is None:
        return Html("")
    counts, costs = challenger.errors.shown.counts, challenger.delta_ap
    columns = [Column("class"), *(Column(kind, numeric=True, hint=_WORDS[kind][1]) for kind in KINDS)]
    columns += [Column("costs most", hint="the kind whose mending would add most to the class's AP50")]
    rows: list[list[Cell | Text]] = []
    for label, part in enumerate(challenger.per_class[:MOST_ROWS]):
        numbers = [html.number(int(count), 0) for count in counts[:, label]]
        column = costs.by_class[:, label].tolist() if costs is not None else []
        rows.append([html.name(part.class_name), *numbers, _costliest(column)])
    table = html.table(columns, rows, label="Kinds of mistakes by class")
    return html.join([table, left_out(len(challenger.per_class) - MOST_ROWS, "classes")])


def _costliest(costs: list[float]) -> Cell:
    found = [(cost, kind) for cost, kind in zip(costs, KINDS, strict=False) if math.isfinite(cost) and cost > 0]
    if not found:
        return Cell("–", order="~")
    cost, kind = max(found)
    return Cell(f"{kind} ({cost:+.3f})", order=kind)
