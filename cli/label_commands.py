"""`driveflow label`: labeling campaigns, how far they are, and what came back."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, as_text, emit, place_from, say, table
from cli.who import signed

if TYPE_CHECKING:
    from labeling.status import CampaignStatus
    from labeling.take_in import TakenIn

app = typer.Typer(no_args_is_help=True)

CampaignName = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="Beginning of a campaign's id.", show_default=False)
]
_ID_LETTERS = 12
_SHOWN = 5


@app.callback()
def label() -> None:
    """Look at labeling campaigns and collect what came back."""


@app.command("list")
def list_all(workspace: Workspace = DEFAULT_WORKSPACE, profile: ProfileHere = "local", output: Output = "text") -> None:
    """List the campaigns, and how far each is.

    Example:
      driveflow label list

    Exit codes: 0 done, 2 usage.
    """
    from labeling.campaigns import list_campaigns, open_those_there
    from labeling.status import broken_status, campaign_status

    store = place_from(workspace, profile).store
    manifests, broken = open_those_there(store, list_campaigns(store))
    found = [campaign_status(store, manifest.campaign_id) for manifest in manifests]
    rows = [_value(status) for status in [*found, *map(broken_status, broken)]]
    for lost in broken:
        say(str(lost))
    columns = ("campaign_id", "purpose", "state", "frames", "answered", "partial", "not_returned", "refused")
    emit(rows, output, table(rows, columns) if rows else f"There is no campaign in {store}.")


@app.command()
def show(
    campaign: CampaignName,
    box: Annotated[str, typer.Option("--box", help="Only the frames that this sent box belongs to.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Show what a campaign asks for, frame by frame; or which frame a box id belongs to.

    Examples:
      driveflow label show 3f2a
      driveflow label show 3f2a --box 91c0de

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from driveflow.errors import NotFoundError
    from labeling.campaigns import campaign_uri, find_campaign, open_manifest
    from labeling.status import frames_of_box

    store = place_from(workspace, profile).store
    manifest = open_manifest(store, find_campaign(store, campaign))
    wanted = frames_of_box(manifest, box) if box else None
    if wanted == ():
        raise NotFoundError(f"Campaign {manifest.campaign_id[:_ID_LETTERS]} sent no box with the id {box!r}.")
    rows: list[Any] = [
        {
            "frame_id": frame.frame_id,
            "picture": frame.picture,
            "missing_classes": list(frame.missing_classes),
            "prelabels": len(frame.prelabels),
        }
        for frame in manifest.frames
        if wanted is None or frame.frame_id in wanted
    ]
    head: dict[str, Any] = {
        "campaign_id": manifest.campaign_id,
        "uri": campaign_uri(store, manifest.campaign_id),
        "purpose": manifest.purpose,
        "guideline": manifest.guideline,
        "classes": list(manifest.classes),
    }
    emit({**head, "frames": rows}, output, f"{as_text(head)}\n\n{table(rows)}")


@app.command()
def status(
    campaign: CampaignName,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say how far a campaign is: frames answered and not returned, and what could not be used.

    Example:
      driveflow label status 3f2a

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.output import visible
    from labeling.campaigns import find_campaign
    from labeling.status import campaign_status

    store = place_from(workspace, profile).store
    value = _value(campaign_status(store, find_campaign(store, campaign)))
    facts = {name: item for name, item in value.items() if name != "problems"}
    emit(value, output, "\n".join([as_text(facts), *(f"problem: {visible(text)}" for text in value["problems"])]))


@app.command()
def collect(
    campaign: CampaignName,
    source: Annotated[
        Path, typer.Option("--from", help="A return file from the annotators.", show_default=False, dir_okay=False)
    ],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Check a return file and put it with its campaign, where the next run finds it; twice is once.

    What in it cannot be used is named; a file of no use at all is refused and not taken.

    Example:
      driveflow label collect 3f2a --from answers.json

    Exit codes: 0 done, 1 the file is of no use, 2 usage, 3 not found.
    """
    from cli.output import visible
    from labeling.campaigns import find_campaign
    from labeling.take_in import take_in

    store = place_from(workspace, profile).store
    taken = take_in(store, find_campaign(store, campaign), source)
    value: Any = asdict(taken)
    for line in _not_used(taken):
        say(f"not used: {visible(line)}")
    verb = "is there" if taken.is_new else "was there already"
    emit(value, output, f"{taken.path} {verb}: {taken.frames} frames, {taken.boxes} boxes.")


@app.command()
def close(
    campaign: CampaignName,
    why: Annotated[str, typer.Option("--why", help="The reason, kept with the campaign.", show_default=False)],
    who: Annotated[str, typer.Option("--who", help="Your name; empty: the one you are logged in by.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say that nothing more is awaited of a campaign, so that its unanswered frames may be sent again.

    Example:
      driveflow label close 3f2a --why "the vendor lost it"

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from labeling.campaigns import close_campaign, find_campaign
    from labeling.status import campaign_status

    store = place_from(workspace, profile).store
    campaign_id = find_campaign(store, campaign)
    close_campaign(store, campaign_id, signed(who), why)
    emit(_value(campaign_status(store, campaign_id)), output, f"Campaign {campaign_id} is closed.")


def _not_used(taken: "TakenIn") -> list[str]:
    """Return a line for each reason, with its first example and how often it occurs, and the first few notes."""
    lines = []
    for reason, count in sorted(taken.refused.items(), key=lambda item: (item[0] == "incomplete_class", item)):
        example = next(text for text in taken.problems if text.startswith(f"{reason}: "))
        lines.append(example if count == 1 else f"{example} (and {count - 1} more)")
    notes = taken.problems[sum(taken.refused.values()) :]
    more = [f"{len(notes) - _SHOWN} more"] if len(notes) > _SHOWN else []
    return [*lines, *notes[:_SHOWN], *more]


def _value(status: "CampaignStatus") -> dict[str, Any]:
    return {**asdict(status), "problems": list(status.problems)}
