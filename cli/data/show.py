"""`driveflow data show`: what a snapshot holds, in figures and in pictures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Output, ProfileHere, Workspace, emit, say

_LARGEST = 8


def show(  # noqa: PLR0913, PLR0917 one parameter an option
    snapshot: AnySnapshot,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page of up to 24 frames with their boxes.", dir_okay=False)
    ] = None,
    leaks: Annotated[bool, typer.Option("--leaks", help="Say what train shares with val and hold-out.")] = False,
    against: Annotated[
        str, typer.Option(metavar="SNAPSHOT", help="With --leaks: also what train shares with this snapshot.")
    ] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say what a snapshot holds: classes, batches, drives, cameras, times, sizes, and what was decided to make it.

    Examples:
      driveflow data show may
      driveflow data show may@2026-11-29 -o json
      driveflow data show 3f2a --html may.html

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.errors import UsageError
    from driveflow.withdrawn import withdrawn_among, withdrawn_for
    from ingestion.describe import describe_snapshot

    if against and not leaks:
        raise UsageError(f"--against {against} says what train shares with it, which is told with --leaks; give both.")
    found = find_snapshot(snapshot, workspace, profile)
    place = place_from(workspace, profile)
    gone = withdrawn_among(found.frames()["frame_id"], withdrawn_for(place.store, found))
    facts = {**describe_snapshot(found), "withdrawn": len(gone)}
    if html is not None:
        from driveflow.flow.part import write_text
        from driveflow.images.pixels import open_pixels
        from ingestion.contact_sheet import contact_sheet

        page = contact_sheet(found, open_pixels(found, place), facts)
        write_text(html, page)
        say(f"Wrote {html}")
    if not leaks:
        emit(facts, output, _text(facts))
        return
    from cli.data.leaks import leaks_of

    other = find_snapshot(against, workspace, profile) if against else None
    report = leaks_of(found, place, against=other)
    emit({**facts, "leaks": report.to_json()}, output, "\n".join([_text(facts), *report.lines()]))


def _text(facts: Mapping[str, Any]) -> str:
    from cli.data.tell_import import counted, drawn, joined
    from driveflow.pages.how_many import how_many

    classes = [(row["class_name"], *(f"{row[name]:,}" for name in _OF_A_CLASS)) for row in facts["classes"]]
    groups = [
        (name, row["name"], f"{row['frames']:,}", f"{row['boxes']:,}")
        for name in ("batch", "camera", "drive")
        for row in facts[f"by_{name}"]["largest"][:_LARGEST]
    ]
    spans = [_span(clock, span) for clock, span in facts["time"].items() if clock != "untimed"]
    sizes = [f"{row['width']}x{row['height']} ({row['frames']:,})" for row in facts["sizes"][:_LARGEST]]
    return joined(
        f"{facts['snapshot']}",
        f"made by {facts['made_by'] or 'nobody said whom'} {facts['written_at'][:19]}",
        f"frames {facts['frames']:,}  labeled {facts['labeled']:,}  sources {facts['sources']:,}  "
        f"drives {facts['drives']:,} in {how_many(facts['drive_groups'], 'group')}  {facts['bytes']:,} bytes",
        drawn(("class", "boxes", "ignored", "frames with", "frames looked at"), classes) if classes else "",
        drawn(("of", "name", "frames", "boxes"), groups),
        counted("split", "frames", facts["splits"]),
        f"sizes: {', '.join(sizes)}",
        f"times: {', '.join(spans) or 'none'}; without one: {how_many(facts['time']['untimed'], 'source')}",
        counted("decision", "frames", facts["decisions"]),
        counted("quarantined for", "times", facts["quarantine"]),
        counted("conflict over", "times", facts["conflicts"]),
        f"withdrawn: {facts['withdrawn']:,} of its frames; merges and training sets leave them out"
        if facts["withdrawn"]
        else "",
    )


def _span(clock: str, span: Mapping[str, Any]) -> str:
    """Return from when to when a clock times sources, with how long that is; in seconds where it tells no date."""
    first, last = (span[name] / 1e9 for name in ("first_ns", "last_ns"))
    if "first" not in span:
        return f"{clock} {first:,.3f} s to {last:,.3f} s"
    return f"{clock} {span['first']} to {span['last']} ({last - first:,.3f} s)"


_OF_A_CLASS = ("boxes", "ignored", "frames_with", "frames_annotated")
