"""The validation report: one page, from the verdict down to the pictures that explain it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from driveflow.images.decode import Pixels
from driveflow.pages import html
from driveflow.pages.html import Html, Text
from validation.gate import Verdict
from validation.leak import LeakReport
from validation.model.evaluation import Evaluation
from validation.report_numbers import calibration, class_table, confusion_table, curves, headline_table, slice_table
from validation.report_pictures import worst_gallery
from validation.report_rules import corrections_list, leak_section, rules_table, verdict_banner

Pictures = Callable[[str], Pixels]
"""Returns the upright RGB pixels of a frame; raises DriveflowError where it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """All that a report shows. `provenance` is shown as given, in order: run, snapshots, code version, times."""

    model: str
    verdict: Verdict
    challenger: Evaluation
    champion: Evaluation | None
    leak: LeakReport
    pictures: Pictures
    worst_frames: int = 12
    provenance: Mapping[str, str] = field(default_factory=dict)


def report_html(request: ReportRequest) -> str:
    """Return the report as one self-contained page under 5 MB."""
    sections = [
        ("classes", "Classes", class_table(request.challenger, request.verdict.comparison)),
        ("slices", "Slices", slice_table(request.challenger, request.verdict)),
        ("curves", "Precision and recall", curves(request.challenger, request.champion)),
        ("confusion", "What was taken for what", confusion_table(request.challenger)),
        ("calibration", "Can the scores be believed", calibration(request.challenger)),
        ("frames", "Worst frames", worst_gallery(request.challenger, request.pictures, request.worst_frames)),
        ("leak", "Hold-out and training data", leak_section(request.leak)),
        ("input", "What was not counted as given", corrections_list(request.challenger, request.champion)),
        ("provenance", "Where this comes from", _provenance(request)),
    ]
    parts: list[Text] = [
        html.element("h1", {}, "Validation of ", html.name(request.model)),
        _subtitle(request),
        verdict_banner(request.verdict),
        headline_table(request.challenger, request.champion, request.verdict),
        rules_table(request.verdict),
        html.contents([(anchor, title) for anchor, title, _content in sections]),
        *(html.section(title, content, anchor=anchor) for anchor, title, content in sections),
    ]
    return html.page(f"{request.verdict.outcome}: {request.model}", parts)


def _subtitle(request: ReportRequest) -> Html:
    challenger = request.challenger
    against = (
        html.join(["champion ", html.code(_short(request.verdict.champion))])
        if request.champion is not None
        else "no champion yet"
    )
    counted = f"{challenger.frames:,} frames, {challenger.drive_groups:,} drive groups, {challenger.objects:,} objects"
    facts = [
        html.join(["challenger ", html.code(_short(request.verdict.challenger))]),
        against,
        f"hold-out of {counted}",
    ]
    return html.element("p", {"class": "info"}, html.join(facts, " · "))


def _provenance(request: ReportRequest) -> Html:
    counted, left = request.challenger.detections, request.challenger.scene.under_min_score
    facts = {
        "Model": request.model,
        "Challenger digest": request.verdict.challenger,
        "Champion digest": request.verdict.champion or "none",
        "Hold-out snapshot": request.verdict.holdout_id,
        **request.provenance,
        "Detections counted": f"{counted:,}; {left:,} under the least score are left out",
    }
    rows = [[html.element("b", {}, key), html.code(value)] for key, value in facts.items()]
    return html.table([html.Column("what"), html.Column("value")], rows, label="Provenance")


def _short(digest: str) -> str:
    return digest[:12] or "without digest"
