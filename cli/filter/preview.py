"""`driveflow filter preview`: what the filters of a flow would do, before they do it."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileOption, Workspace, as_text, emit, say, table, write_file

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.canonical import Json
    from driveflow.embeddings.vector_store import FrameVectors
    from driveflow.flow.sections import Flow
    from driveflow.images.pixels import PixelReader
    from driveflow.place import Place
    from driveflow.snapshots import SnapshotTables
    from filtering.filter_frames import FilterRequest
    from filtering.preview import Preview
    from filtering.sweeps import Sweep, SweepPoint


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says."""

    flow_file: Path
    sample: int
    seed: int
    html: Path | None
    snapshot: str
    cost_per_frame: float
    workspace: Path
    profile: str


@dataclass(frozen=True, slots=True)
class _Frames:
    """The frames to look at, but those in `withdrawn`, and where their bytes lie; `told` says where they come from."""

    tables: "SnapshotTables"
    locations: "pa.Table"
    withdrawn: frozenset[str]
    told: "Mapping[str, Json]"


def preview(  # noqa: PLR0913, PLR0917 one parameter an option
    flow_file: Annotated[Path, typer.Argument(help="The flow file, whose limits are tried.", show_default=False)],
    sample: Annotated[int, typer.Option(help="Training frames to look at, whole drives; 0: all.", min=0)] = 2_000,
    seed: Annotated[int, typer.Option(help="Draws the sample.")] = 0,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with curves and pictures.", dir_okay=False)
    ] = None,
    snapshot: Annotated[
        str, typer.Option("--snapshot", "-s", help="Look at the frames of this snapshot, not at the flow's batches.")
    ] = "",
    cost_per_frame: Annotated[
        float, typer.Option(help="What labeling a frame costs; 0: what the flow says.", min=0.0, max=1e9)
    ] = 0.0,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileOption = "local",
    output: Output = "text",
) -> None:
    """Show what the filters of a flow would drop and save, what other limits would do, and what lies around each limit.

    Nothing is changed: no snapshot, no decision and no tag is written. What is measured of the frames is kept in the
    workspace, so that a later run need not measure it again.

    Examples:
      driveflow filter preview flow.yaml --html preview.html
      driveflow filter preview flow.yaml --sample 0 --cost-per-frame 0.35 -o json
      driveflow filter preview flow.yaml --snapshot may

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found.
    """
    asked = _Asked(flow_file, sample, seed, html, snapshot, cost_per_frame, workspace, profile)
    with tempfile.TemporaryDirectory(prefix="driveflow-preview-") as scratch:
        told, text = _preview(asked, Path(scratch))
    emit(told, output, text)


def _preview(asked: _Asked, scratch: Path) -> "tuple[dict[str, Json], str]":
    import os

    from driveflow.flow.load import load_flow
    from driveflow.flow.profile import load_profile, place_of, resolve_batch_uri

    flow = load_flow(asked.flow_file)
    profile = load_profile(asked.profile, asked.flow_file.parent)
    os.environ.update(profile.s3_variables())
    place = place_of(profile, asked.workspace)
    addresses = {batch.name: resolve_batch_uri(batch, profile, asked.flow_file.parent) for batch in flow.batches}
    frames = _of_snapshot(asked, place) if asked.snapshot else _of_batches(flow, addresses, place, scratch)
    return _look(asked, flow, place, frames)


def _of_snapshot(asked: _Asked, place: "Place") -> _Frames:
    from cli.snapshot_argument import find_snapshot
    from driveflow.withdrawn import withdrawn_for

    found = find_snapshot(asked.snapshot, asked.workspace, asked.profile)
    gone = withdrawn_for(place.store, found)
    return _Frames(found.tables(), found.locations(), gone, {"snapshot": found.snapshot_id})


def _of_batches(flow: "Flow", addresses: dict[str, str], place: "Place", scratch: Path) -> _Frames:
    from cli.data.progress import shown_progress
    from cli.filter.flow_frames import Reader, flow_frames
    from driveflow.withdrawn import withdrawn_ids

    with shown_progress("read") as progress:
        found = flow_frames(flow, addresses, Reader(place, scratch, progress))
    gone = withdrawn_ids(place.store)
    return _Frames(found.tables, found.locations, gone, {"batches": found.batches, "imported_before": found.reused})


def _look(asked: _Asked, flow: "Flow", place: "Place", frames: _Frames) -> "tuple[dict[str, Json], str]":
    from cli.data.progress import shown_progress
    from driveflow.images.pixels import PixelReader, place_cache
    from driveflow.signal_store import SignalStore
    from filtering.fingerprint import fingerprint_frames
    from filtering.idle_settings import idle_settings
    from filtering.preview import Price, preview, training_frames
    from filtering.preview_page import preview_page
    from filtering.sampled import sample_drives

    part = sample_drives(frames.tables, asked.sample, asked.seed)
    pixels = PixelReader(frames.locations, place_cache(place), frames.withdrawn)
    with shown_progress("measure") as progress:
        measured = fingerprint_frames(part.frames["frame_id"], pixels, SignalStore(place.store), progress)
    request = _request(flow, part, measured.signals, (pixels, place))
    price = Price(asked.cost_per_frame or flow.labeling.cost_per_frame, flow.labeling.currency)
    seen = preview(request, training_frames(frames.tables), price)
    if asked.html is not None:
        write_file(asked.html, preview_page(seen, pixels).encode(), "--html")
        say(f"Wrote {asked.html}")
    for note in idle_settings(request.filters, request.tables):
        say(f"note: {note}")
    told: dict[str, Json] = {
        "flow": flow.name,
        **frames.told,
        "seed": asked.seed,
        "measured": measured.measured,
        "measured_before": measured.reused,
        **seen.to_json(),
    }
    return told, _text(seen)


def _request(
    flow: "Flow", part: "SnapshotTables", signals: "pa.Table", at: "tuple[PixelReader, Place]"
) -> "FilterRequest":
    """Return what the filters of the flow are asked about the frames."""
    from driveflow.by_hand import by_hand_now
    from filtering.filter_frames import FilterRequest

    pixels, place = at
    return FilterRequest(
        tables=part,
        signals=signals,
        filters=flow.filters,
        corner_cases=flow.corner_cases,
        pixels=pixels,
        by_hand=by_hand_now(place.store),
        vectors=_vectors(flow, part, pixels, place),
        arrival=tuple(batch.name for batch in flow.batches) if flow.filters.by_arrival else (),
    )


def _vectors(flow: "Flow", part: "SnapshotTables", pixels: "PixelReader", place: "Place") -> "FrameVectors | None":
    """Return the vectors of the frames, made where they are lacking; None where the flow compares by hash alone."""
    section = flow.filters.near_duplicates
    if not section.enabled or not section.embedding:
        return None
    from cli.data.progress import shown_progress
    from driveflow.embeddings.catalog import load_embedder
    from driveflow.embeddings.vector_store import VectorStore
    from filtering.embed_frames import embed_frames

    embedder = load_embedder(section.embedding)
    store = VectorStore(place.store, embedder.digest, embedder.dimensions)
    with shown_progress("embed") as progress:
        embed_frames(part.frames["frame_id"], pixels, embedder, store, progress)
    return store.load(part.frames["frame_id"])


def _text(seen: "Preview") -> str:
    """Return what a person wants to know first: what goes, what that saves, and what other limits would do."""
    counts, saved = seen.outcome.counts, seen.of_all(seen.saved)
    money = seen.price.of(saved)
    worth = "" if money is None else f", {money:,.2f} {seen.price.currency}".rstrip()
    lines = [
        as_text({"training frames": seen.all_frames, "looked at": counts["frames_in"], "kept": counts["kept"]}),
        f"saves: {saved:,} labels of {seen.all_frames:,} ({saved / max(seen.all_frames, 1):.1%}){worth}",
    ]
    if not seen.all_frames:
        return f"{lines[0]}\nNo frame is of train, and filters drop no other."
    reasons: list[dict[str, Json]] = [{"reason": name, "frames": count} for name, count in seen.by_reason().items()]
    lines += ["", table(reasons)] if reasons else ["", "Nothing would be dropped."]
    rows: list[dict[str, Json]] = [
        {
            "limit": item.judged.item.rule,
            "now": item.judged.item.limit,
            "beyond": item.judged.beyond,
            "dropped": item.dropped,
            **{f"{share:.1%}": value for share, value in item.limits},
            "in the flow file": item.judged.setting,
        }
        for item in seen.limits
    ]
    lines += ["", "Each limit, and which would drop that share of the frames:", table(rows)] if rows else []
    for sweep in seen.sweeps:
        points: list[dict[str, Json]] = [
            {sweep.unit: point.limit, "kept": point.kept, "share": f"{point.kept_share:.1%}"}
            for point in _telling(sweep)
        ]
        left_out = "other values that keep as many as the one above are left out"
        lines += ["", f"near_duplicates.{sweep.setting}, {sweep.now:g} now; {left_out}:", table(points)]
    return "\n".join(lines)


def _telling(sweep: "Sweep") -> "list[SweepPoint]":
    """Return the first point, the setting as it is, and those that keep another number than the one before."""
    first, *others = sweep.points
    changes = [
        point
        for before, point in zip(sweep.points, others, strict=False)
        if point.kept != before.kept or point.limit == sweep.now
    ]
    return [first, *changes]
