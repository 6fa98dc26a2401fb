"""`driveflow data split`: give a snapshot new splits, and say what the sides have and share."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from driveflow.canonical import Json
    from driveflow.snapshots import Snapshot
    from ingestion.leak_report import LeakReport
    from ingestion.split import SplitRequest

_DEFAULT_HOLDOUT = 0.2


def split(  # noqa: PLR0913, PLR0917 one parameter an option
    snapshot: AnySnapshot,
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Tag of the snapshot that is made.")],
    val_fraction: Annotated[float, typer.Option(min=0.0, max=0.99, help="Share of val in what is not hold-out.")] = 0.1,
    holdout_fraction: Annotated[
        float | None, typer.Option(min=0.0, max=0.99, help="Share of the hold-out; 0.2 where there is none yet.")
    ] = None,
    by: Annotated[
        Literal["drive_group", "place", "day", "place_and_day"], typer.Option(help="What must not be split.")
    ] = "drive_group",
    place_cell_m: Annotated[
        float, typer.Option(min=0.001, max=20_000_000.0, help="Side of the cells that are one place.")
    ] = 200.0,
    place_attribute: Annotated[str, typer.Option(help="A frame attribute that names the place.")] = "",
    balance: Annotated[bool, typer.Option("--balance", help="Give every split its share of every class.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the hash that draws splits.")] = 0,
    redo: Annotated[bool, typer.Option("--redo", help="Draw the hold-out anew too.")] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure frames without a hash, for the leak report.")
    ] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Split a snapshot into train, val and hold-out, and report what the sides share.

    A hold-out that is there stays as it is, unless --redo is given. Drive groups are never taken apart.

    Examples:
      driveflow data split may --as may-split --balance
      driveflow data split may --as by-place --by place_and_day --place-cell-m 500

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.errors import UsageError
    from driveflow.flow.sections import HoldoutSection, SplitSection
    from driveflow.tags import check_tag_name
    from driveflow.withdrawn import withdrawn_for
    from ingestion.split import SplitRequest

    check_tag_name(name)
    if place_attribute and by not in {"place", "place_and_day"}:
        raise UsageError(
            f"--place-attribute {place_attribute} counts with --by place or --by place_and_day; give both."
        )
    found = find_snapshot(snapshot, workspace, profile)
    tables = found.tables()
    has_holdout = not redo and "holdout" in tables.frames["split"].unique().to_pylist()
    share = (0.0 if has_holdout else _DEFAULT_HOLDOUT) if holdout_fraction is None else holdout_fraction
    splits = SplitSection(
        val_fraction=val_fraction,
        seed=seed,
        by=by,
        place_cell_m=place_cell_m,
        place_attribute=place_attribute,
        balance=balance,
    )
    request = SplitRequest(
        tables=tables,
        holdout=HoldoutSection(fraction=share, seed=seed),
        splits=splits,
        redo=redo,
        withdrawn=withdrawn_for(place_from(workspace, profile).store, found),
    )
    report, leaks = _split(found, request, name, (workspace, profile), measure=measure)
    emit({**report, "leaks": leaks.to_json()}, output, "\n".join([*_lines(report), *leaks.lines()]))


def _split(
    found: "Snapshot", request: "SplitRequest", name: str, where: "tuple[Path, str]", *, measure: bool
) -> "tuple[dict[str, Json], LeakReport]":
    from dataclasses import replace

    from cli.data.leaks import leaks_of
    from cli.output import place_from
    from driveflow.code_digest import code_digest
    from driveflow.snapshots import write_snapshot
    from driveflow.storage.sweep import noted_writer
    from driveflow.tags import point_tag
    from ingestion.split import STEP, split_counts, split_snapshot

    made = split_snapshot(request)
    settings: dict[str, Json] = {"holdout": asdict(request.holdout), "splits": asdict(request.splits)}
    made_by: dict[str, Json] = {
        "step": STEP,
        "code": code_digest("ingestion"),
        "parents": [found.uri.rpartition("/")[2]],
        "settings": {**settings, "redo": request.redo},
    }
    place = place_from(*where)
    with noted_writer(place.store):
        written = write_snapshot(place.store, made.tables, replace(found.beside(), decisions=made.decisions), made_by)
        point_tag(place.store, name, written.uri, datetime.now(UTC))
    told: dict[str, Json] = {
        "tag": name,
        "snapshot": written.snapshot_id,
        "uri": written.uri,
        "splits": split_counts(made.tables),
        "left_out": made.decisions.num_rows,
        "untied": made.untied,
    }
    return told, leaks_of(written, place, measure=measure)


def _lines(report: "Mapping[str, Json]") -> "Iterator[str]":
    from cli.output import table

    splits = report["splits"]
    assert isinstance(splits, dict)
    yield f"{report['tag']}: snapshot {str(report['snapshot'])[:16]}"
    yield table([{"split": name, **_flat(counts)} for name, counts in splits.items()])
    if report["left_out"]:
        yield f"{report['left_out']} frames were left out: they hang together with the hold-out, or were withdrawn."
    if report["untied"]:
        yield f"{report['untied']} files have no known place or day and were grouped by their drives alone."


def _flat(counts: "Mapping[str, Json]") -> "dict[str, Json]":
    boxes = counts["boxes"]
    assert isinstance(boxes, dict)
    return {**{key: value for key, value in counts.items() if key != "boxes"}, **boxes}
