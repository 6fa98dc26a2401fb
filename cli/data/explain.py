"""`driveflow data explain`: a frame's story, from where it was found to every decision about it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, as_text, emit

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.canonical import Json
    from driveflow.snapshots import Snapshot

_SHOWN = 5


def explain(
    frame: Annotated[str, typer.Argument(help="Beginning of a frame id, or end of a file's path.", show_default=False)],
    snapshot: Annotated[str, typer.Option("--snapshot", "-s", help="Address or id of a snapshot.")],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Tell a frame's story: where it was found, its labels, and every decision on the way to the snapshot.

    Example:
      driveflow data explain front/000412.jpg --snapshot 3f2a

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.snapshot_argument import find_snapshot, lineage

    story = _story(frame, list(lineage(find_snapshot(snapshot, workspace, profile))))
    emit(story, output, _story_text(story))


def _story(frame: str, snapshots: "list[Snapshot]") -> "dict[str, Json]":
    frame_id = _frame_id(frame, snapshots)
    story: dict[str, Json] = {"frame_id": frame_id, "sources": [], "labels": {}}
    steps: list[Json] = []
    for snapshot in reversed(snapshots):  # oldest first: later tables say more
        frames = _rows(snapshot.frames(), frame_id)
        for row in frames:
            story |= {name: row[name] for name in ("width", "height", "split", "drive_group", "annotated_classes")}
            story["sources"] = [_source(source) for source in _rows(snapshot.sources(), frame_id)]
            story["labels"] = _tally(_table_of(snapshot.boxes(), frame_id)["class_name"])
        step = str(snapshot.made_by().get("step", "")) if snapshot.record_id else ""
        made: dict[str, Json] = {"snapshot": snapshot.snapshot_id[:16], "step": step, "holds_it": bool(frames)}
        steps += [{**made, **_decision(row)} for row in _rows(snapshot.decisions(), frame_id)] or [made]
    return {**story, "steps": steps}


def _story_text(story: "Mapping[str, Json]") -> str:
    """Return the story as lines for a person: what the frame is, where it was found, then step after step."""
    facts = [name for name in story if name not in {"sources", "steps"}]
    sources, steps = story["sources"], story["steps"]
    lines = [as_text({name: story[name] for name in facts}), "found at:"]
    lines += [f"  {as_text(list(source.values()))}".replace("\n", "  ") for source in _mappings(sources)]
    lines.append("decided:")
    for step in _mappings(steps):
        words = [step.get(name) for name in ("verdict", "reason", "detail")]
        twin = f"twin {str(step['twin'])[:16]}" if step.get("twin") else ""
        held = "" if "verdict" in step else "holds it" if step["holds_it"] else "does not hold it"
        told = ", ".join(str(word) for word in (*words, twin, held) if word)
        lines.append(f"  {step['step'] or 'snapshot'} {step['snapshot']}: {told}")
    return "\n".join(lines)


def _mappings(value: "Json") -> "list[Mapping[str, Json]]":
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _frame_id(text: str, snapshots: "list[Snapshot]") -> str:
    """Return the one frame whose id begins with `text`, or whose path ends with it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from driveflow.errors import NotFoundError, UsageError

    sources = pa.concat_tables([snapshot.sources().select(["frame_id", "batch", "path"]) for snapshot in snapshots])
    paths = pc.binary_join_element_wise(sources["batch"], sources["path"], "/")
    ends = pc.or_(pc.equal(paths, text), pc.ends_with(paths, f"/{text}"))
    matching = sources["frame_id"].filter(pc.or_(pc.starts_with(sources["frame_id"], text), ends))
    found = sorted(matching.unique().to_pylist())
    if not found:
        raise NotFoundError(f"No frame of this snapshot or its parents has an id or a path like {text!r}.")
    if len(found) > 1:
        shown = ", ".join(item[:16] for item in found[:_SHOWN])
        raise UsageError(f"{len(found)} frames are like {text!r}: {shown}; write more of it.")
    return str(found[0])


def _table_of(table: "pa.Table", frame_id: str) -> "pa.Table":
    import pyarrow.compute as pc

    return table.filter(pc.equal(table["frame_id"], frame_id))


def _rows(table: "pa.Table", frame_id: str) -> "list[dict[str, Json]]":
    rows: list[dict[str, Json]] = _table_of(table, frame_id).to_pylist()
    return rows


def _source(row: "dict[str, Json]") -> "dict[str, Json]":
    return {name: row[name] for name in ("batch", "path", "drive", "camera", "captured_ns")}


def _decision(row: "dict[str, Json]") -> "dict[str, Json]":
    return {name: row[name] for name in ("verdict", "rule", "reason", "score", "limit", "twin", "detail")}


def _tally(values: "pa.ChunkedArray") -> "dict[str, Json]":
    counts = ((str(item["values"].as_py()), item["counts"].as_py()) for item in values.value_counts())
    return dict(sorted(counts))
