"""`driveflow filter`: check what the filters decided."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli.filter.batches import batches
from cli.filter.dropped import dropped
from cli.filter.preview import preview
from cli.filter.relations import relations
from cli.filter.review import review
from cli.filter.undo import not_duplicate, undo
from cli.output import DEFAULT_WORKSPACE, Format, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from driveflow.canonical import Json
    from driveflow.embeddings.vector_store import FrameVectors
    from driveflow.flow.sections import FilterSection
    from driveflow.place import Place
    from driveflow.snapshots import Snapshot
    from filtering.verify import Finding, VerifyReport

app = typer.Typer(no_args_is_help=True)
app.command("preview")(preview)
app.command("dropped")(dropped)
app.command("batches")(batches)
app.command("relations")(relations)
app.command("review")(review)
app.command("undo")(undo)
app.command("not-duplicate")(not_duplicate)
_SHOWN = 5


@app.callback()
def filter_() -> None:
    """Look at what the filters decide, check it, and tell them where they are wrong."""


@app.command()
def verify(
    snapshot: Annotated[str, typer.Argument(help="Address or id of a filtered snapshot.", show_default=False)],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Check again, from what is stored, that every dropped frame has a kept twin within its limit.

    Hashes, times and places are compared, pairs of equal pixels decoded, and distances between vectors measured again.

    Example:
      driveflow filter verify 3f2a

    Exit codes: 0 every pair holds, 1 a pair does not, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot

    report = _verify(find_snapshot(snapshot, workspace, profile, "filter_frames"), place_from(workspace, profile))
    _print(report, output)
    if not report.sound:
        raise typer.Exit(1)


def _verify(snapshot: "Snapshot", place: "Place") -> "VerifyReport":
    import pyarrow as pa

    from cli.snapshot_argument import lineage
    from driveflow.errors import UsageError
    from driveflow.images.pixels import open_pixels
    from filtering.verify import Evidence, verify_decisions

    decisions = snapshot.decisions()
    if not decisions.num_rows or snapshot.made_by().get("step") != "filter_frames":
        raise UsageError(
            f"{snapshot.uri} holds no decisions of the filters; name the snapshot that `filter_frames` made."
        )
    signals = _signals(snapshot, snapshot.store)
    sources = pa.concat_tables([item.sources() for item in lineage(snapshot)])
    filters = _filters(snapshot)
    vectors = _vectors(decisions, filters, place.store)
    arrival = tuple(cast("Sequence[str]", snapshot.made_by().get("arrival", ())))
    pixels = open_pixels(snapshot, place)
    return verify_decisions(decisions, Evidence(signals, sources, filters, pixels, vectors, arrival))


def _signals(snapshot: "Snapshot", store: str) -> "pa.Table":
    """Return what the step measured by, and where that is not told or gone, what is known of the frames now."""
    from components.work.table_objects import read_table
    from driveflow.errors import IntegrityError, NotFoundError
    from driveflow.signal_store import SignalStore
    from driveflow.storage.objects import join

    try:
        return read_table(join(store, "objects", str(snapshot.made_by()["signals"])))
    except (KeyError, NotFoundError, IntegrityError):
        return SignalStore(store).load(snapshot.decisions()["frame_id"])


def _vectors(decisions: "pa.Table", filters: "FilterSection", store: str) -> "FrameVectors | None":
    """Return the vectors of the frames that were dropped by them and of their twins; None where none was."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from driveflow.embeddings.catalog import load_embedder
    from driveflow.embeddings.vector_store import VectorStore
    from filtering.near_duplicates import BY_VECTOR

    pairs = decisions.filter(pc.is_in(decisions["rule"], value_set=pa.array(BY_VECTOR)))
    if not pairs.num_rows:
        return None
    embedder = load_embedder(filters.near_duplicates.embedding)
    wanted = pa.chunked_array([*pairs["frame_id"].chunks, *pairs["twin"].chunks])
    return VectorStore(store, embedder.digest, embedder.dimensions).load(wanted)


def _filters(snapshot: "Snapshot") -> "FilterSection":
    from pydantic import TypeAdapter

    from driveflow.flow.sections import FilterSection

    return TypeAdapter(FilterSection).validate_python(snapshot.made_by().get("settings", {}))


def _print(report: "VerifyReport", output: Format) -> None:
    value: dict[str, Json] = {
        "frames": report.frames,
        "pairs": report.pairs,
        "orphans": len(report.orphans),
        "wrong": len(report.wrong),
        "examples": [_finding(item) for item in (*report.orphans, *report.wrong)[:_SHOWN]],
    }
    lines = [f"{name}: {value[name]}" for name in ("frames", "pairs", "orphans", "wrong")]
    lines += [f"  {item.frame_id[:16]} {item.why}" for item in (*report.orphans, *report.wrong)[:_SHOWN]]
    emit(value, output, "\n".join(lines))


def _finding(item: "Finding") -> "Json":
    return {"frame_id": item.frame_id, "twin": item.twin, "why": item.why}
