"""The parts of the report that say what it stands on: leak check, input, labels in doubt, provenance."""

import re
from collections.abc import Sequence

from driveflow.pages import html
from driveflow.pages.clip import short_name
from driveflow.pages.html import Cell, Column, Html, Text, Tone
from validation.leak import Leak, LeakReport
from validation.model.evaluation import Evaluation
from validation.model.suspects import LEAST_SCORE, Suspect
from validation.pages.frames import Galleries

_FRAME_ID = re.compile(r"\b[0-9a-f]{64}\b")
_KINDS = {"bytes": "the same bytes", "near_duplicate": "near-duplicate", "drive_group": "same drive group"}


def leak_section(leak: LeakReport | None) -> Html:
    """Return what was compared with the training data and what was found, way by way."""
    if leak is None:
        return html.empty("Training data and hold-out were not compared: nothing here proves that they do not touch.")
    tone: Tone = "good" if leak.is_clean else "bad"
    summary = html.paragraph(html.badge("no leak" if leak.is_clean else "leak", tone), " ", leak.summary())
    checks = html.element("div", {"class": "narrow"}, _checks(leak))
    if leak.is_clean:
        return html.join([summary, checks])
    columns = [Column("kind"), Column("training frame"), Column("hold-out frame"), Column("bits apart", numeric=True)]
    table = html.table([*columns, Column("drive group")], [_leak_row(item) for item in leak.examples], "Examples")
    return html.join([summary, checks, table])


def corrections_list(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return what the evaluator did not count as given, for both models."""
    rows: list[list[Cell | Text]] = []
    for who, model in (("challenger", challenger), ("champion", champion)):
        for item in model.corrections if model is not None else ():
            examples = html.join([_example(example) for example in item.examples], ", ")
            row: list[Cell | Text] = [item.kind.replace("_", " "), html.number(item.count, 0), item.done, examples]
            rows.append([*([who] if champion is not None else []), *row])
    if not rows:
        return html.empty("Everything was counted as given.")
    model_column = [Column("model")] if champion is not None else []
    columns = [*model_column, Column("what"), Column("count", numeric=True), Column("done"), Column("examples")]
    return html.table(columns, rows, label="Corrections")


def _example(text: str) -> Html:
    """Return an example with frame ids by their beginnings, which any command takes."""
    return html.element("bdi", {"title": text}, _FRAME_ID.sub(lambda found: short_name(found[0]), text))


def suspects_section(found: Sequence[Suspect], shown: Galleries, *, compared: bool) -> Html:
    """Return labels of the hold-out that two models doubt."""
    if not compared:
        return html.empty("It takes two models to doubt a label, and there is no champion yet.")
    if not found:
        return html.empty(
            f"Nowhere do both models agree against a label (each with a score of {LEAST_SCORE:g} or more)."
        )
    missing = sum(item.kind == "missing" for item in found)
    words = (
        f"In {len(found):,} places both models agree against the label: {missing:,} where nothing is labeled, "
        f"{len(found) - missing:,} of another class. Look at them before you blame the model; two models may also have "
        "learned the same mistake. All are in report.json."
    )
    return html.join([html.paragraph(words), shown.suspects])


def provenance_table(facts: Sequence[tuple[str, str]]) -> Html:
    """Return where everything comes from, in the order given."""
    rows: list[list[Text]] = [[html.element("b", {}, key), html.code(value or "not known")] for key, value in facts]
    return html.table([Column("what"), Column("value")], rows, label="Provenance")


def detections_counted(model: Evaluation) -> tuple[str, str]:
    """Return the fact how many detections counted, and from which score on."""
    left = f"{model.scene.under_min_score:,} under the least score {model.min_score:g} are left out"
    return "Detections counted", f"{model.detections:,}; {left}"


def _checks(leak: LeakReport) -> Html:
    ways = (
        ("same bytes", leak.equal_bytes),
        (f"near-duplicate, up to {leak.max_bits} of 64 bits apart", leak.near_duplicates),
        ("same drive group", leak.same_drive_group),
    )
    rows: list[list[Cell | Text]] = [
        [words, html.number(count, 0, tone="bad" if count else "good")] for words, count in ways
    ]
    rows.append(["frames without a hash, not compared by picture", html.number(leak.unmeasured, 0)])
    return html.table([Column("checked"), Column("training frames found", numeric=True)], rows, label="Leak check")


def _leak_row(leak: Leak) -> list[Cell | Text]:
    bits = float(leak.distance_bits) if leak.distance_bits is not None else None
    frames = [html.code(frame[:16]) for frame in (leak.training_frame, leak.holdout_frame)]
    return [_KINDS[leak.kind], *frames, html.number(bits, 0), html.name(leak.drive_group)]
