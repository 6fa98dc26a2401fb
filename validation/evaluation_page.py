"""One evaluation as a page: what was measured of one model, without a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from driveflow.flow.sections import Metric
from driveflow.pages import html
from driveflow.pages.html import Html
from validation.model.compare import Draws, compare
from validation.model.evaluation import Evaluation
from validation.pages.album import Pictures
from validation.pages.banner import counted
from validation.pages.findings import Findings, find
from validation.pages.frames import Galleries
from validation.pages.measured import Measured, Section, measured_sections
from validation.pages.numbers import headline_table
from validation.pages.origin import provenance_table
from validation.report import frames_section, laid_out, within_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPage:
    """What the page shows; without `pictures` the worst frames are listed. `provenance` is shown as given."""

    title: str
    evaluation: Evaluation
    metric: Metric = "AP"
    draws: Draws = field(default_factory=Draws)
    pictures: Pictures | None = None
    worst_frames: int = 12
    provenance: Mapping[str, str] = field(default_factory=dict)


def evaluation_html(request: EvaluationPage) -> str:
    """Return the evaluation as one self-contained page under 5 MB."""
    model = request.evaluation
    measured = Measured(model, None, compare(model, None, request.metric, request.draws))
    found = find(model, None, measured.comparison, request.worst_frames)

    def build(shown: Galleries) -> str:
        *numbers, given = measured_sections(measured)
        facts = provenance_table(_provenance(request))
        origin = Section("provenance", "Provenance", "Where this comes from", facts)
        sections = [*numbers, frames_section(found, shown), given, origin]
        return html.page(f"Evaluation of {request.title}", [*_first_screen(request, found), *laid_out(sections)])

    return within_bounds(build, found, request.pictures)


def _first_screen(request: EvaluationPage, found: Findings) -> list[Html]:
    model = request.evaluation
    shown = ("AP", "AP50", "AP75", "AR100")
    cards = [html.Card(name, "–" if (value := model.numbers.get(name)) is None else f"{value:.3f}") for name in shown]
    return [
        html.element("h1", {}, "Evaluation of ", html.name(request.title)),
        html.element("p", {"class": "info facts"}, counted(model)),
        html.cards(cards),
        html.element("h3", {}, "All classes"),
        headline_table(found.headline, request.metric, None),
    ]


def _provenance(request: EvaluationPage) -> list[tuple[str, str]]:
    model = request.evaluation
    known = [("Model digest", model.model_digest), ("Hold-out", model.holdout_id)]
    counted_ = f"{model.detections:,}; {model.scene.under_min_score:,} under the least score are left out"
    return [*(pair for pair in known if pair[1]), *request.provenance.items(), ("Detections counted", counted_)]
