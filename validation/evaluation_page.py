"""One evaluation as a page: what was measured of one model, without a verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from driveflow.errors import NotFoundError
from driveflow.flow.sections import Metric
from driveflow.pages import html
from driveflow.pages.html import Html
from validation.model.compare import Comparison, Draws, Estimate, compare
from validation.model.evaluation import Evaluation
from validation.model.scored import scored_of
from validation.pages.album import NAMED, Pictures
from validation.pages.banner import counted
from validation.pages.findings import Findings, find
from validation.pages.frames import Galleries
from validation.pages.measured import Measured, Section, measured_sections
from validation.pages.origin import detections_counted, provenance_table
from validation.pages.words import span
from validation.report import frames_section, laid_out, within_bounds

OpenPictures: TypeAlias = Callable[[Sequence[str]], Pictures]
"""Returns what gives the pixels of some frames, by their ids; raises NotFoundError where there is no picture of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPage:
    """What the page shows; without `pictures` the worst frames are listed. `provenance` is shown as given."""

    title: str
    evaluation: Evaluation
    metric: Metric = "AP"
    draws: Draws = field(default_factory=Draws)
    pictures: OpenPictures | None = None
    worst_frames: int = 12
    provenance: Mapping[str, str] = field(default_factory=dict)


def evaluation_html(request: EvaluationPage) -> str:
    """Return the evaluation as one self-contained page under 5 MB."""
    model = request.evaluation
    measured = Measured(model, None, _comparison(request))
    found = find(model, None, measured.comparison, request.worst_frames)
    pictures, without = _opened(request, found)

    def build(shown: Galleries) -> str:
        notes = [note.replace(NAMED, "") for note in shown.notes]  # there is no report.json of one model
        shown = replace(shown, notes=(*without, *notes))
        *numbers, given = measured_sections(measured)
        facts = provenance_table(_provenance(request))
        origin = Section("provenance", "Provenance", "Where this comes from", facts)
        sections = [*numbers, frames_section(found, shown), given, origin]
        return html.page(f"Evaluation of {request.title}", [*_first_screen(request, found), *laid_out(sections)])

    return within_bounds(build, found, pictures)


def _opened(request: EvaluationPage, found: Findings) -> tuple[Pictures | None, tuple[str, ...]]:
    """Return what gives the pictures of the worst frames; where it cannot be had, why."""
    if request.pictures is None or not found.worst:
        return None, ()
    try:
        return request.pictures([frame.frame_id for frame in found.worst]), ()
    except NotFoundError as error:
        return None, (str(error),)


def _comparison(request: EvaluationPage) -> Comparison:
    """Return the metric with intervals; AP50 where AP was measured over other overlaps than COCO's."""
    scored = scored_of(request.evaluation)
    found = compare(scored, None, request.metric, request.draws)
    if found.overall.agrees(request.evaluation.numbers.get(request.metric)):
        return found
    return compare(scored, None, "AP50", request.draws)


def _first_screen(request: EvaluationPage, found: Findings) -> list[Html]:
    model = request.evaluation
    estimates = {part.name: part for part in found.headline}
    cards = [_card(name, model.numbers.get(name), estimates[name]) for name in ("AP", "AP50", "AP75", "AR100")]
    note = "Below each number its 95 % interval: what other drives might have shown."
    asked = ", ".join(model.by_threshold)
    return [
        html.element("h1", {}, "Evaluation of ", html.name(request.title)),
        html.element("p", {"class": "info facts"}, counted(model), f" · mode {model.mode}"),
        html.cards([card for card in cards if card is not None]),
        html.paragraph(note, f" AP is the mean over IoU {asked}." if asked else "", tone="info"),
    ]


def _card(name: str, value: float | None, found: Estimate) -> html.Card | None:
    """Return a number with its interval; where other overlaps were asked for, the number has none."""
    if value is None:
        return None if found.value is not None else html.Card(name, "–", "no object")
    return html.Card(name, f"{value:.3f}", span(found.interval) if found.agrees(value) else "")


def _provenance(request: EvaluationPage) -> list[tuple[str, str]]:
    model = request.evaluation
    known = [("Model digest", model.model_digest), ("Hold-out", model.holdout_id)]
    return [*(pair for pair in known if pair[1]), *request.provenance.items(), detections_counted(model)]
