import pyarrow as pa

from driveflow.formats.label_set import LabelProblem, LabelSetBuilder, ProblemList


def _wrong(path, lines, boxes=2):
    return [LabelProblem(path, "label_syntax", "no number", line, boxes) for line in range(lines)]


def test_of_very_many_problems_some_are_listed_and_all_their_boxes_are_counted():
    builder = LabelSetBuilder()
    builder.problems += _wrong("a.txt", 10_002)
    builder.problems.append(LabelProblem("b.txt", "label_syntax", "no number", 1, boxes=1))

    found = builder.build().problems

    assert [(item.path, item.line, item.boxes) for item in found[-2:]] == [("b.txt", 1, 1), ("a.txt", None, 4)]
    assert found[-1].detail == "2 more"
    assert sum(item.boxes for item in found) == 2 * 10_002 + 1
    assert len(builder.problems) == 10_003


def test_what_two_lists_have_only_counted_is_counted_together():
    both = ProblemList()
    for lines in (10_003, 4):
        part = ProblemList()
        part += _wrong("a.txt", lines)
        both += part

    assert [(item.detail, item.boxes) for item in both][-1] == ("7 more", 14)
    assert len(both) == 10_007


def test_rows_of_boxes_become_tables_some_at_a_time_and_in_their_order():
    builder = LabelSetBuilder()
    box = {"path": "a.jpg", "label_file": "a.txt", "class_name": "car", "x1": 0.0, "y1": 0.0, "x2": 1.0, "y2": 1.0}

    builder.add_box_rows({**box, "line": line} for line in range(50_000))
    builder.add_boxes(pa.Table.from_pylist([{**box, "line": 50_000}]))

    found = builder.build().boxes
    assert found["line"].to_pylist() == list(range(50_001))
    assert found["line"].num_chunks == 4
