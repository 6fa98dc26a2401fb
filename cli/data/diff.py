"""`driveflow data diff`: what leads from one snapshot to another."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

_LARGEST = 12


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A tag, id or address.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="A tag, id or address.", show_default=False)],
    limit: Annotated[int, typer.Option("--limit", min=0, help="So many examples of each kind.")] = 10,
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
    drives = [
        tuple(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()) for row in largest
    ]
    looked = [(row["class_name"], f"{row['looked_for_now']:,}", f"{row['no_longer']:,}") for row in found["annotated"]]
    moves = [(kind, move, f"{count:,}") for kind in ("splits", "class_changes") for move, count in found[kind].items()]
    parts = {"frames": found["changed"], "boxes": found["boxes_changed"]}
    return joined(
        drawn(("from A to B", *kinds), tables),
        _unchanged_but(found),
        drawn(("class", *kinds[:3]), classes) if classes else "",
        drawn([name.replace("_", " ") for name in largest[0]], drives) if drives else "",
        drawn(("class", "looked for now", "no longer"), looked) if looked else "",
        drawn(("of", "from -> to", "count"), moves) if moves else "",
        "\n".join(line for name, counts in parts.items() if (line := _changed_in(name, counts))),
        *_examples(found["examples"]),
    )


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
    lines = []
    for kind, rows in examples.items():
        for row in rows:
            what = f"{row['before']} -> {row['after']}" if "before" in row else row.get("class_name", "")
            lines.append(f"  {kind.replace('_', ' ')}: {row['name']} {what}")
    return lines
