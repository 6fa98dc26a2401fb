import json

import numpy as np

from driveflow.errors import NotFoundError
from tests.validation.data.made import checked, labeled, side
from validation.data.markdown import data_markdown
from validation.data.page import data_page
from validation.data.report_json import data_report_json

HOSTILE = '<script>alert(1)</script> | "quotes"'


def report():
    frames, boxes = labeled(60)
    boxes[0] |= {"x2": 500.0}
    boxes[7] |= {"y2": boxes[7]["y1"]}
    return checked(side(frames, boxes), against=side(*labeled(300, prefix="g"), snapshot_id="before"))[0]


def pixels(_frame_id):
    return np.full((48, 64, 3), 128, np.uint8)


def gone(frame_id):
    raise NotFoundError(f"Frame {frame_id} is gone")


def test_the_page_says_verdict_checks_and_draws_the_suspects_and_runs_nothing_of_others():
    page = data_page(report(), pixels, HOSTILE)

    assert page.count("data:image/jpeg") == 2
    assert "NEEDS REVIEW" in page
    assert "boxes empty" in page
    assert "height of boxes" in page
    assert "<script>alert" not in page
    assert len(page) < 5_000_000


def test_suspects_are_named_by_their_files_with_pictures_and_without():
    found = report()
    path = next(iter(found.paths.values()))

    assert len(found.paths) >= 2
    for page in (data_page(found, pixels), data_page(found, gone)):
        assert f'title="{path}"' in page


def test_a_class_that_was_looked_for_nearly_everywhere_is_not_said_to_be_looked_for_in_all():
    frames, boxes = labeled(3000)
    frames[0]["annotated_classes"] = frames[0]["annotated_classes"][:1]

    checks = {check.name: check for check in checked(side(frames, boxes))[0].checks}

    assert "100" not in checks["classes_looked_for"].reason
    assert "in 99.9%" in checks["classes_looked_for"].reason


def test_frames_that_are_gone_are_listed_without_a_picture():
    page = data_page(report(), gone)

    assert "data:image/jpeg" not in page
    assert "has no area" in page


def test_the_summary_names_what_decided_first():
    lines = data_markdown(report(), HOSTILE).splitlines()

    assert lines[0].startswith("# ⚠️ NEEDS REVIEW")
    assert "<script>" not in lines[0]
    first = next(line for line in lines if line.startswith("| boxes"))
    assert "NEEDS REVIEW" in first


def test_the_json_is_plain_and_has_value_limit_and_examples_of_each_check():
    value = json.loads(json.dumps(data_report_json(report()), allow_nan=False))

    checks = {check["name"]: check for check in value["checks"]}
    assert (value["verdict"], value["snapshot"], value["against"]) == ("NEEDS REVIEW", "now", "before")
    assert {"value", "limit", "block_limit", "n", "found", "reason", "examples"} <= set(checks["boxes_outside"])
    assert checks["boxes_outside"]["examples"][0]["corners"][2] == 500.0
    assert value["drift"][0]["frames"] == {"before": 300, "now": 60}
