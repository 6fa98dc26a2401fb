"""`driveflow sample`: render synthetic drives, and play the annotators who label them."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli.output import Output, emit, say

_DEFAULT = "render"


class RenderByDefault(TyperGroup):
    """A group in which `driveflow sample DIR` means `driveflow sample render DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 as typer has it
        """Put the name of the command that is meant before its arguments."""
        named = args and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named or not args else [_DEFAULT, *args])


app = typer.Typer(
    cls=RenderByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Render synthetic drives into a folder (driveflow sample DIR), and play the annotators who label them.",
)


@app.command(_DEFAULT)
def render(
    folder: Annotated[Path, typer.Argument(help="An empty or new folder.", show_default=False, file_okay=False)],
    frames: Annotated[int, typer.Option(help="Pictures to render, over all drives.", min=40, max=1_000_000)] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.", min=0)] = 7,
    output: Output = "text",
) -> None:
    """Render drives with exact truth as three batches, and a flow file that runs over them.

    Examples:
      driveflow sample drives
      driveflow sample drives --frames 120 --seed 3

    Exit codes: 0 done, or the same sample is there already, 2 usage, or something else is there.
    """
    from driveflow.storage.uris import require_local
    from sample.generate import SampleSettings, generate

    require_local(folder, "The folder")
    summary = generate(folder, SampleSettings(frames, seed), _tell_tenths())
    files = ", ".join(f"{count} in {name}" for name, count in summary.files.items())
    boxes = ", ".join(f"{count} {name}" for name, count in summary.boxes.items())
    emit(
        asdict(summary),
        output,
        f"{summary.drives} drives, {summary.holdout_drives} of them for the hold-out: {files} files; {boxes}.\n"
        f"Next: driveflow run {folder / 'flow.yaml'} --pipeline curate",
    )


@app.command("annotate")
def annotate_campaign(
    campaign: Annotated[str, typer.Argument(help="Address of a campaign folder.", show_default=False)],
    truth: Annotated[str, typer.Option(help="The truth folder of the sample.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Who overlooks what, and how steady hands are.", min=0)] = 0,
    output: Output = "text",
) -> None:
    """Answer a campaign from the truth, with some frames missing, one unknown and one twice.

    Example:
      driveflow sample annotate .driveflow/store/campaigns/3f2a91c0de --truth drives/truth

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from driveflow.storage.objects import to_uri
    from sample.annotate import annotate

    done = annotate(to_uri(campaign), to_uri(truth), seed)
    emit(
        asdict(done),
        output,
        f"Answered {done.answered} of {done.sent} frames with {done.boxes} boxes in {len(done.files)} files; "
        f"{done.missing} missing, {done.unknown} unknown, {done.twice} twice.",
    )


def _tell_tenths() -> Callable[[int, int, str], None]:
    """Return a progress that speaks once a tenth."""
    told = 0

    def tell(done: int, total: int, what: str) -> None:
        nonlocal told
        if done * 10 // total > told:
            told = done * 10 // total
            say(f"{done}/{total} {what}")

    return tell
