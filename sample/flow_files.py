"""Write the flow file of a sample, and the profiles it runs in."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from driveflow.flow.init import new_texts
from sample.plan import DrivePlan

_MOST_GROUPS, _MOST_FRAMES = 4, 60  # that the gate asks of the hold-out


def write_flow_files(folder: Path, plans: Sequence[DrivePlan]) -> None:
    """Write flow.yaml and profiles/ into `folder`, for a sample of the drives `plans`."""
    texts = {**new_texts("sample"), "flow.yaml": flow_text(plans)}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def flow_text(plans: Sequence[DrivePlan]) -> str:
    """Return the flow file of a sample; a small one asks less of its hold-out."""
    holdout = [plan for plan in plans if plan.holdout]
    text = files("sample").joinpath("new_flow.yaml").read_text("utf-8")
    text = text.replace("HOLDOUT_DRIVES", "\n".join(f"    - {plan.name}" for plan in holdout))
    text = text.replace("MIN_FRAMES", str(min(_MOST_FRAMES, sum(plan.frames for plan in holdout))))
    return text.replace("MIN_DRIVE_GROUPS", str(min(_MOST_GROUPS, len(holdout))))
