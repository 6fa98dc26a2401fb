"""`driveflow data explain`: a frame's story, from where it was found to every model that saw it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, as_text, emit, say, write_file

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from driveflow.place import Place
    from driveflow.snapshots import Snapshot
    from ingestion.story import Story

_IN_LINES = ("sources", "steps", "conflicts", "quarantine", "campaigns", "models", "by_hand", "withdrawn", "tags")


def explain(
    frame: Annotated[
        str, typer.Argument(help="Beginning of a frame id, end of a file's path, or TAG:PATH.", show_default=False)
    ],
    snapshot: Annotated[
        str, typer.Option("--snapshot", "-s", help="Only how this snapshot came to be; all of them if left out.")
    ] = "",
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with the picture and its boxes.", dir_okay=False)
    ] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Tell a frame's story: where it was found, its labels, all that was decided about it, and the models that saw it.

    What people said of those decisions is told too: undone drops, pairs that are no duplicates, answers to reviews.

    Examples:
      driveflow data explain front/000412.jpg
      driveflow data explain may:front/000412.jpg --html frame.html

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.output import place_from

    place = place_from(workspace, profile)
    story = _story(frame, snapshot, place, (workspace, profile))
    told = {**story.to_json(), **_elsewhere(story, place)}
    if html is not None:
        _write_page(html, story, told, place)
    emit(told, output, _text(told))


def _story(frame: str, snapshot: str, place: "Place", where: "tuple[Path, str]") -> "Story":
    from cli.frame_argument import find_frame, frame_of_store
    from cli.snapshot_argument import find_snapshot, lineage
    from driveflow.errors import NotFoundError
    from driveflow.withdrawn import read_tombstone
    from ingestion.story import records_of_store, tell_story

    if snapshot:
        records = list(lineage(find_snapshot(snapshot, *where)))[::-1]
        return tell_story(find_frame(frame, records), records, all_records=True)
    frame_id = frame_of_store(frame, place.store, *where)
    story = tell_story(frame_id, records_of_store(place.store))
    if not story.held_by and read_tombstone(place.store, frame_id) is None:
        raise NotFoundError(f"No frame of {place.store} has the id {frame_id}.")
    return story


def _elsewhere(story: "Story", place: "Place") -> "dict[str, Json]":
    """Return what lies beside the snapshots: tags, campaigns, models, and whether the frame was withdrawn."""
    from cli.open_ledger import ledger_of
    from driveflow.tags import current_tags
    from driveflow.withdrawn import read_tombstone
    from ingestion.find_traces import FrameTraces, models_that_saw

    store, frame_id = place.store, story.frame_id
    ids = {snapshot.snapshot_id for snapshot in story.held_by}
    ledger = ledger_of(place)
    seen = models_that_saw(ledger, {frame_id: FrameTraces(splits=story.splits)})[frame_id] if ledger else []
    tombstone = read_tombstone(store, frame_id)
    gone = tombstone.to_json() if tombstone else {}
    return {
        "tags": [tag.name for tag in current_tags(store) if tag.snapshot.partition("#")[0] in ids],
        "campaigns": _campaigns(store, frame_id),
        "by_hand": _by_hand(store, frame_id),
        "models": [
            {"model": item.model, "version": item.version, "state": item.state, "how": item.how, "digest": item.digest}
            for item in seen
        ],
        "withdrawn": {name: gone[name] for name in ("reason", "who", "at", "state")} if gone else None,
    }


def _by_hand(store: str, frame_id: str) -> "list[Json]":
    """Return what people said of the frame, oldest first; of a pair, `with` is the other frame."""
    from driveflow.by_hand import said_by_hand

    about = [row for row in said_by_hand(store) if frame_id in {row.frame_id, row.twin}]
    return [
        {
            "at": row.at[:19],
            "who": row.who,
            "said": row.sentence(),
            "with": row.twin if row.frame_id == frame_id else row.frame_id,
            "why": row.why,
        }
        for row in about
    ]


def _campaigns(store: str, frame_id: str) -> "list[Json]":
    from labeling.campaigns import is_closed, list_campaigns, list_returns, open_those_there

    found: list[Json] = []
    for manifest in open_those_there(store, list_campaigns(store))[0]:
        campaign_id = manifest.campaign_id
        for sent in manifest.frames:
            if sent.frame_id == frame_id:
                returns = len(list_returns(store, [campaign_id]))
                state = "closed" if is_closed(store, campaign_id) else "open"
                asked = list(sent.missing_classes)
                told: dict[str, Json] = {"campaign": campaign_id, "purpose": manifest.purpose, "asked_for": asked}
                found.append({**told, "state": state, "files_returned": returns})
    return found


def _write_page(path: Path, story: "Story", told: "Mapping[str, Json]", place: "Place") -> None:
    from ingestion.story_page import Shown, story_page

    data = _bytes_of(story.frame_id, story.held_by[::-1], place)
    named = [str(step["twin"]) for step in _mappings(story.steps) if step.get("twin") in story.twins]
    shown = Shown(data)
    if named:
        twin = story.twins[named[-1]]
        shown = Shown(data, twin.path, _bytes_of(named[-1], [twin.held_by], place))
    write_file(path, story_page(told, story.boxes, shown).encode(), "--html")
    say(f"Wrote {path}")


def _bytes_of(frame_id: str, snapshots: "Sequence[Snapshot]", place: "Place") -> bytes | None:
    from driveflow.errors import DriveflowError
    from driveflow.images.pixels import open_pixels

    for snapshot in snapshots:
        try:
            return open_pixels(snapshot, place).read(frame_id)
        except DriveflowError:
            continue
    return None


def _text(told: "Mapping[str, Json]") -> str:
    """Return the story as lines for a person: what the frame is, where it was found, then step after step."""
    lines = [as_text({name: value for name, value in told.items() if name not in _IN_LINES})]
    tags = told["tags"]
    lines += [f"tags: {', '.join(map(str, tags))}"] if isinstance(tags, list) and tags else []
    lines += ["found at:", *_lines(told["sources"]), "decided:", *map(_step, _mappings(told["steps"]))]
    for name in ("conflicts", "quarantine", "campaigns", "models", "by_hand"):
        found = _lines(told[name])
        lines += [f"{name.replace('_', ' ')}:", *found] if found else []
    gone = told["withdrawn"]
    if isinstance(gone, Mapping):
        lines.append(f"withdrawn {gone['at']} by {gone['who']}: {gone['reason']}")
    return "\n".join(lines)


def _step(step: "Mapping[str, Json]") -> str:
    from ingestion.story_page import told_of

    twin = f", twin {str(step['twin'])[:16]} {step.get('twin_path', '')}".rstrip() if step.get("twin") else ""
    return f"  {step['step'] or 'snapshot'} {step['snapshot']}: {told_of(step)}{twin}"


def _lines(rows: "Json") -> list[str]:
    return [f"  {as_text(list(row.values()))}".replace("\n", "  ") for row in _mappings(rows)]


def _mappings(value: "Json") -> "list[Mapping[str, Json]]":
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
