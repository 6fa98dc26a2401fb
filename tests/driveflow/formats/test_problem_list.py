from driveflow.formats.label_set import LabelProblem
from driveflow.formats.problem_list import ProblemList


def test_of_very_many_problems_some_are_listed_and_all_their_boxes_are_counted():
    problems = ProblemList()
    for line in range(10_002):
        problems.add(LabelProblem("a.txt", "label_syntax", "no number", line, boxes=2))
    problems.add(LabelProblem("b.txt", "label_syntax", "no number", 1, boxes=1))

    found = list(problems)

    assert [(item.path, item.line, item.boxes) for item in found[-2:]] == [("b.txt", 1, 1), ("a.txt", None, 4)]
    assert found[-1].detail == "2 more"
    assert sum(item.boxes for item in found) == 2 * 10_002 + 1
