"""A report over rendered pictures, for the tests of the page."""

from collections.abc import Sequence

import numpy as np

from driveflow.flow.sections import FloorSection, GateSection
from tests.validation.drives import NO_LEAK, Drives, evaluate_drives, measure
from validation.gate import JudgeRequest, judge
from validation.model.compare import Draws
from validation.model.evaluation import Evaluation
from validation.report import ReportRequest

GATE = GateSection(floors=(FloorSection(metric="AP50", at_least=0.5),), max_drop=0.1)


def render(frame_id: str) -> np.ndarray:
    """A picture for a frame: a sky, a road, and squares where the objects are."""
    pixels = np.full((120, 200, 3), 120, np.uint8)
    pixels[:60] = (120, 160, 210)
    pixels[:, :: 2 + int(frame_id[1:4]) % 5] += 10
    for number in range(4):
        pixels[0:10, 20 * number : 20 * number + 10] = (200, 40, 40)
    return pixels


def report_request(classes: Sequence[str] = ("bus", "car"), *, first: bool = False, **changes) -> ReportRequest:
    """A challenger beside a champion (none where it is the `first`) over fifteen drives."""
    drives = Drives(groups=15, frames=2, classes=tuple(classes))
    challenger, champion = measure(drives, 0.8, 1), None if first else measure(drives, 0.75, 2)
    verdict = judge(JudgeRequest(challenger, champion, GATE, NO_LEAK, Draws(resamples=60)))
    values = {
        "model": "road-users",
        "verdict": verdict,
        "challenger": challenger,
        "champion": champion,
        "leak": NO_LEAK,
        "pictures": render,
        "provenance": {"Run": "run-1", "Training snapshot": "ab" * 32},
    }
    return ReportRequest(**(values | changes))


def perfect_evaluation() -> Evaluation:
    """A model without a mistake on the same drives."""
    drives = Drives(groups=15, frames=2)
    found = [(*row, 0.9 - number / 1_000) for number, row in enumerate(drives.truth())]
    return evaluate_drives(drives, found, "perfect")
