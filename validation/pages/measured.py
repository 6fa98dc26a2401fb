"""The parts of a page about what was measured, with or without a verdict and a champion."""

from collections.abc import Sequence
from dataclasses import dataclass

from driveflow.pages.html import Html
from validation.model.compare import Comparison
from validation.model.evaluation import Evaluation
from validation.pages.confusion import confusion_table
from validation.pages.curves import curves
from validation.pages.errors import error_section
from validation.pages.numbers import class_table
from validation.pages.origin import corrections_list
from validation.pages.other_metrics import dimension_section, other_metrics_section
from validation.pages.scores import calibration
from validation.pages.slices import slice_table
from validation.verdict import RuleResult


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: its anchor, what the link to it says, its title, its content."""

    anchor: str
    link: str
    title: str
    content: Html


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one model, and of a champion beside it; without a gate there are no rules."""

    challenger: Evaluation
    champion: Evaluation | None
    comparison: Comparison
    rules: Sequence[RuleResult] = ()


def measured_sections(found: Measured) -> list[Section]:
    """Return the sections about numbers: slices first, what was not counted as given last."""
    model, champion = found.challenger, found.champion
    confused = confusion_table(model, in_report=bool(found.rules))
    return [
        Section("slices", "Slices", "Slices", slice_table(model, found.comparison, found.rules)),
        Section("classes", "Classes", "Classes", class_table(model, found.comparison)),
        Section("curves", "Curves", "Precision and recall", curves(model, champion)),
        Section("confusion", "Confusion", "What was taken for what", confused),
        Section("errors", "Mistakes", "Kinds of mistakes", error_section(model, champion)),
        Section("calibration", "Scores", "Can the scores be believed", calibration(model, champion)),
        Section("dimensions", "Dimensions", "Along every dimension", dimension_section(model, champion)),
        Section("others", "Other metrics", "VOC, KITTI, false alarms", other_metrics_section(model)),
        Section("input", "Input", "What was not counted as given", corrections_list(model, champion)),
    ]
