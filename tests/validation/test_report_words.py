"""The pages of a report say where what they leave out is, and have units beside numbers."""

from dataclasses import replace

from driveflow.flow.sections import SliceSection
from tests.validation.reports import report_request
from tests.validation.scenes import simple, square
from validation.evaluation_page import EvaluationPage, evaluation_html
from validation.model.compare import Draws
from validation.model.evaluate import evaluate
from validation.model.scene import Correction
from validation.pages.origin import corrections_list
from validation.pages.rules import rules_table
from validation.report import report_html
from validation.report_markdown import report_markdown
from validation.verdict import RuleResult


def test_a_matrix_too_large_for_a_page_is_said_to_be_in_a_report_only_where_there_is_one():
    request = report_request(tuple(f"class {number}" for number in range(31)))

    alone = evaluation_html(EvaluationPage(title="p", evaluation=request.challenger, draws=Draws(resamples=60)))

    assert "The matrix of 31 classes is too large for a page.<" in alone
    assert "The matrix of 31 classes is too large for a page; it is in report.json.<" in report_html(request)


def test_a_latency_and_a_leak_have_their_unit():
    rules = [RuleResult("latency", "PASS", "Quick.", 12.5, 20.0), RuleResult("leak", "BLOCK", "A leak.", 3.0, 0.0)]

    table = rules_table(rules, "Rules").markup

    assert "12.500<small>ms a frame</small>" in table
    assert "3<small>training frames</small>" in table


def test_an_example_names_a_frame_by_the_beginning_of_its_id():
    frame_id = "0a" * 32
    found = Correction("unknown_class", 1, (f"truck in frame {frame_id}",), "not counted")
    evaluation = replace(report_request().challenger, corrections=(found,))

    listed = corrections_list(evaluation, None).markup

    assert f'title="truck in frame {frame_id}">truck in frame 0a0a0a0a0a0a<' in listed


def test_a_section_with_as_many_slices_as_are_measured_says_that_there_may_be_more(monkeypatch):
    truth = [(f"f{k}", name, square(0, side=20.0)) for k in range(4) for name in ("bus", "car")]
    measured = evaluate(simple(truth, [], slices=(SliceSection(name="class", by=("class",)),)))
    shown = EvaluationPage(title="p", evaluation=measured, draws=Draws(resamples=60))

    few = evaluation_html(shown)
    monkeypatch.setattr("validation.pages.slices.MOST_SLICES", 2)

    assert "slices are measured" not in few
    assert "Of one section at most 2 slices are measured: those with the most objects." in evaluation_html(shown)


def test_markdown_counts_in_whole_numbers_and_has_units():
    request = report_request()
    cost = RuleResult("cost", "NOT JUDGED", "Quick.", 12.5)
    leak = RuleResult("leak", "PASS", "None.", 0.0, 0.0)
    frames = RuleResult("hold-out frames", "PASS", "Enough.", 1177.0, 20.0)

    text = report_markdown("m", replace(request.verdict, rules=(cost, leak, frames)), request.challenger)

    assert "| 12.500 ms a frame | – |" in text
    assert "| 0 training frames | 0 |" in text
    assert "| 1,177 | 20 |" in text
