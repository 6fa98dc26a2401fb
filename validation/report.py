"""The validation report: one page, from the verdict down to the pictures that explain it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.next_curation import Query
from driveflow.pages import html
from driveflow.pages.html import Html, Text
from validation.cost import Cost
from validation.leak import LeakReport
from validation.model.evaluation import Evaluation
from validation.pages.album import Pictures
from validation.pages.banner import deciding_table, facts, verdict_banner
from validation.pages.changes import changes_section
from validation.pages.findings import Findings, find
from validation.pages.frames import Galleries, galleries, legend
from validation.pages.gate_parts import cost_section, regression_section
from validation.pages.measured import Measured, Section, measured_sections
from validation.pages.numbers import headline_table
from validation.pages.origin import detections_counted, leak_section, provenance_table, suspects_section
from validation.pages.queries import queries_sections
from validation.pages.rules import gravest_first, rules_table
from validation.pages.slices import unjudged_slices
from validation.verdict import Verdict

MAX_PAGE_BYTES: Final = 4_900_000
_SLACK_BYTES: Final = 90_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """All that a report shows. `provenance` is shown as given, in order: run, snapshots, code version, times."""

    model: str
    verdict: Verdict
    challenger: Evaluation
    champion: Evaluation | None
    leak: LeakReport
    pictures: Pictures
    champion_leak: LeakReport | None = None
    cost: Cost | None = None
    worst_frames: int = 12
    queries: Sequence[Query] = ()  # what the next curation searches for
    provenance: Mapping[str, str] = field(default_factory=dict)


def find_for(request: ReportRequest) -> Findings:
    """Return what the report computes beyond the evaluations, for the page and for report.json."""
    return find(request.challenger, request.champion, request.verdict.comparison, request.worst_frames)


def report_html(request: ReportRequest, findings: Findings | None = None) -> str:
    """Return the report as one self-contained page under 5 MB."""
    found = findings if findings is not None else find_for(request)

    def build(shown: Galleries) -> str:
        sections = _sections(request, found, shown)
        first_screen = _first_screen(request, found)
        return html.page(f"{request.verdict.outcome}: {request.model}", [*first_screen, *laid_out(sections)])

    return within_bounds(build, found, request.pictures)


def within_bounds(build: Callable[[Galleries], str], found: Findings, pictures: Pictures | None) -> str:
    """Return the page with as many pictures as it has room for beside its words."""
    words = build(galleries(found, None, 0))
    if pictures is None:
        return words
    room = MAX_PAGE_BYTES - len(words.encode())
    page = build(galleries(found, pictures, room))
    over = len(page.encode()) - MAX_PAGE_BYTES
    if over <= _SLACK_BYTES:
        return page
    return build(galleries(found, pictures, max(room - over, 0)))  # many classes to choose from weigh too


def laid_out(sections: list[Section]) -> list[Text]:
    """Return links to the sections, and the sections."""
    nav = html.contents([(item.anchor, item.link) for item in sections])
    return [nav, *(html.section(item.title, item.content, anchor=item.anchor) for item in sections)]


def frames_section(found: Findings, shown: Galleries) -> Section:
    """Return the frames in which most is wrong."""
    words = "Frames with the most missed objects and false detections first; detections count from their class's cut."
    notes = [html.paragraph(note, tone="warn") for note in shown.notes]
    content = html.join(
        [html.paragraph(words, tone="info"), legend(compared=found.changes is not None), *notes, shown.worst]
    )
    if not found.worst:
        content = html.empty("No frame has a missed object or a false detection.")
    return Section("frames", "Worst frames", "Worst frames", content)


def _first_screen(request: ReportRequest, found: Findings) -> list[Html]:
    headline = next((rule for rule in request.verdict.rules if rule.is_difference and not _of_slice(rule.name)), None)
    margin = -headline.limit if headline is not None and headline.limit is not None else None
    title = "Champion and challenger" if request.champion is not None else "Challenger"
    return [
        html.element("h1", {}, "Validation of ", html.name(request.model)),
        facts(request.challenger, request.champion),
        verdict_banner(request.verdict),
        deciding_table(request.verdict),
        html.element("h3", {}, title),
        headline_table(found.headline, request.verdict.comparison.metric, margin),
    ]


def _sections(request: ReportRequest, found: Findings, shown: Galleries) -> list[Section]:
    verdict, challenger = request.verdict, request.challenger
    every_rule = rules_table(gravest_first(verdict.rules), "All rules of the gate")
    measured = Measured(challenger, request.champion, verdict.comparison, verdict.rules)
    compared = request.champion is not None
    unjudged = unjudged_slices(challenger, verdict.rules)
    slices, *others = measured_sections(measured)
    return [
        Section("rules", "All rules", "All rules", every_rule),
        slices,
        Section("unjudged", "Too little data", "Slices without enough data", unjudged),
        *others[:-1],
        Section("changes", "Broken and fixed", "Newly broken, newly fixed", changes_section(found.changes, shown)),
        frames_section(found, shown),
        Section("labels", "Labels", "Labels in doubt", suspects_section(found.suspects, shown, compared=compared)),
        Section("regressions", "Regressions", "What must stay right", regression_section(verdict.rules)),
        *queries_sections(request.queries),
        Section("cost", "Cost", "What a frame costs", cost_section(request.cost, verdict.rules)),
        Section("leak", "Leak check", "Hold-out and training data", _leaks(request)),
        others[-1],
        Section("provenance", "Provenance", "Where this comes from", provenance_table(_provenance(request))),
    ]


def _leaks(request: ReportRequest) -> Html:
    own = leak_section(request.leak)
    if request.champion is None:
        return own
    titles = [html.element("h3", {}, f"Training data of the {who}") for who in ("challenger", "champion")]
    return html.join([titles[0], own, titles[1], leak_section(request.champion_leak)])


def _of_slice(name: str) -> bool:
    return name.startswith("slice ")


def _provenance(request: ReportRequest) -> list[tuple[str, str]]:
    return [
        ("Model", request.model),
        ("Challenger digest", request.verdict.challenger),
        ("Champion digest", request.verdict.champion or "none"),
        ("Hold-out snapshot", request.verdict.holdout_id),
        *request.provenance.items(),
        detections_counted(request.challenger),
    ]
