"""What a person should know who promotes a version that was never measured beside the present champion."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from registry.registry import Registry


def tell_never_compared(registry: "Registry", model: str, version: str) -> None:
    """Say on stderr where a candidate's newest judgement was not beside the present champion.

    Raises:
        NotFoundError: there is no such version.
    """
    detail, present = registry.show(model, version), registry.champion(model)
    said = [row.detail.get("champion") for row in detail.decisions if row.model == model]
    if present is None or detail.version.state != "candidate" or not said or said[-1] in {None, present.digest}:
        return
    beside = f"beside champion {str(said[-1])[:12]}" if said[-1] else "without a champion, by floors alone"
    typer.echo(
        f"Version {detail.version.version} of {model} was judged {beside}: it was never compared with version "
        f"{present.version}, the champion.",
        err=True,
    )
