"""`driveflow data diff`: what leads from one snapshot to another."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

_LARGEST = 12


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A tag, id or address.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="A tag, id or address.", show_default=False)],
    limit: Annotated[
        int, typer.Option("--limit", min=0, max=1_000_000_000, help="So many examples of each kind.")
    ] = 10,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say what was added, removed and changed from snapshot A to B: frames and boxes, by class and by drive.

    Attributes, splits and the classes that were looked for are compared too.

    Examples:
      driveflow data diff may~1 may
      driveflow data diff 3f2a 81c0 --limit 3 -o json

    Exit codes: 0 done (also where they differ), 2 usage, 3 not found.
    """
    from cli.snapshot_argument import find_snapshot
    from ingestion.diff import diff_snapshots

    one, other = (find_snapshot(text, workspace, profile) for text in (first, second))
    found = diff_snapshots(one, other, limit)
    emit(found, output, _text(found))


def _text(found: Mapping[str, Any]) -> str:
    from cli.data.tell_import import drawn, joined

    if found["equal"]:
        return f"Equal: both are {found['first'][:16]}."
    kinds = ("added", "removed", "changed", "unchanged")
    tables = [(name, *(f"{found[name][kind]:,}" for kind in kinds)) for name in ("frames", "sources", "boxes")]
    classes = [(row["class_name"], *(f"{row[kind]:,}" for kind in kinds[:3])) for row in found["by_class"]]
    largest = found["by_drive"]["largest"][:_LARGEST]
    looked = [(row["class_name"], f"{row['looked_for_now']:,}", f"{row['no_longer']:,}") for row in found["annotated"]]
    moves = [(kind, move, f"{count:,}") for kind in ("splits", "class_changes") for move, count in found[kind].items()]
    parts = {"frames": found["changed"], "boxes": found["boxes_changed"]}
    return joined(
        drawn(("from A to B", *kinds), tables),
        _unchanged_but(found),
        drawn(("class", *kinds[:3]), classes) if classes else "",
        _drives(largest) if largest else "",
        drawn(("class", "looked for now", "no longer"), looked) if looked else "",
        drawn(("of", "from -> to", "count"), moves) if moves else "",
        "\n".join(line for name, counts in parts.items() if (line := _changed_in(name, counts))),
        *_examples(found["examples"]),
    )


def _drives(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return changes by drive: columns in which something stands, and the name, which may be long, on one line."""
    from cli.output import visible

    names = [name for name in rows[0] if name != "drive" and any(row[name] for row in rows)]
    told = [
        {name.replace("_", " "): row[name] for name in names} | {"drive": visible(str(row["drive"]))} for row in rows
    ]
    return table(told)


def _changed_in(what: str, counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count)
    return f"{what} changed in: {told}" if told else ""


def _unchanged_but(found: Mapping[str, Any]) -> str:
    """Say what differs in boxes that count as unchanged."""
    rounded = f"corners rounded in another way, by at most {found['most_rounding_px']:.1g} px"
    counts = {"another id": found["boxes_renamed"], "another origin": found["boxes_other_origin"],
              rounded: found["boxes_rounded"]}  # fmt: skip
    told = [f"{count:,} have {what}" for what, count in counts.items() if count]
    return f"Of the unchanged boxes {', '.join(told)}." if told else ""


def _examples(examples: Mapping[str, Any]) -> list[str]:
    from cli.output import visible

    lines = []
    for kind, rows in examples.items():
        for row in rows:
            what = _what_changed(row) if "before" in row else _box(row) if "class_name" in row else ""
            lines.append(visible(f"  {kind.replace('_', ' ')}: {row['name']} {what}".rstrip()))
    return lines


def _what_changed(row: Mapping[str, Any]) -> str:
    before, after = row["before"], row["after"]
    return ", ".join(f"{part.replace('_', ' ')} {_value(before[part])} -> {_value(after[part])}" for part in after)


def _value(value: Any) -> str:  # noqa: ANN401 a cell of a table
    if value is None or value == "":
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _box(row: Mapping[str, Any]) -> str:
    return f"{row['class_name']} at {' '.join(_value(row[corner]) for corner in ('x1', 'y1', 'x2', 'y2'))}"
