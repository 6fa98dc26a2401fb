from driveflow.flow.document import parse_document
from driveflow.flow.load import build_flow, load_flow_text
from driveflow.flow.plan import defaults_taken, plan_text

TEXT = """\
name: roads
classes: [car, "true", "2", "a: b"]
batches:
  - data/a
  - {path: data/b, attributes: {"x y": "no: 1"}}
corner_cases: [{name: c, where: {classes: car}}]
gate: {max_drop: 0.02}
"""


def test_the_plan_is_itself_a_flow_that_means_the_same():
    root = parse_document(TEXT, "f")
    flow = build_flow(root, "f")

    assert load_flow_text(plan_text(flow, root), "plan") == flow


def test_a_value_that_is_stated_is_no_default_even_where_it_equals_one():
    root = parse_document(TEXT, "f")
    flow = build_flow(root, "f")

    taken, lines = defaults_taken(flow, root), plan_text(flow, root).splitlines()

    assert "gate.max_drop" not in taken
    assert {"gate.metric", "batches.0.format", "holdout.fraction"} <= set(taken)
    assert "  max_drop: 0.02" in lines
    assert lines.count("  metric: AP50".ljust(48) + " # default") == 1
