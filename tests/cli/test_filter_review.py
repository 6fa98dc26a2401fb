import csv
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow.by_hand import said_by_hand
from driveflow.ledger.ledger import open_ledger
from driveflow.ledger.rows import RunRow, StepRow
from driveflow.place import sqlite_url
from driveflow.reuse import put_object
from filtering.corner_cases import SELECTION
from tests.cli.calling import call
from tests.cli.test_filter_commands import written

RULE = "near_duplicates.same_drive"


@pytest.fixture
def space(tmp_path: Path) -> tuple[str, ...]:
    written((tmp_path / "store").as_uri())
    return ("--workspace", str(tmp_path))


def rows_of(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(sheet.read_text().splitlines()))


def answered(sheet: Path, word: str) -> None:
    rows = rows_of(sheet)
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows([row | {"answer": word} for row in rows])


def test_a_sample_goes_out_as_page_and_sheet_and_comes_back_as_precision(space, tmp_path, capsys):
    page = tmp_path / "review.html"
    code, before, _ = call(capsys, "filter", "review", RULE, "--html", str(page), *space)
    answered(tmp_path / "review.csv", "no")
    _, after, _ = call(
        capsys,
        "filter",
        "review",
        RULE,
        "--answers",
        str(tmp_path / "review.csv"),
        "--who",
        "ada",
        *space,
        "-o",
        "json",
    )

    assert code == 0
    assert "nobody has judged yet" in before
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(after)["bands"] == [
        {"band": "3", "cases": 1, "judged": 1, "right": 0, "precision": 0.0, "low": 0.0, "high": 0.7935}
    ]
    row = said_by_hand((tmp_path / "store").as_uri())[0]
    assert (row.about, row.rule, row.twin, row.score, row.yes, row.who) == ("review", RULE, "b" * 64, 3.0, False, "ada")


def test_answers_that_stand_in_a_sheet_are_not_written_over(space, tmp_path, capsys):
    page = str(tmp_path / "review.html")
    call(capsys, "filter", "review", RULE, "--html", page, *space)
    answered(tmp_path / "review.csv", "yes")
    call(capsys, "filter", "review", RULE, "--html", page, *space)

    assert [row["answer"] for row in rows_of(tmp_path / "review.csv")] == ["yes"]


def test_a_review_changes_no_decision_and_is_told_in_the_story_of_the_frame(space, tmp_path, capsys):
    before = set((tmp_path / "store" / "snapshots").rglob("*"))
    call(capsys, "filter", "review", RULE, "--html", str(tmp_path / "review.html"), *space)
    answered(tmp_path / "review.csv", "no")
    call(capsys, "filter", "review", RULE, "--answers", str(tmp_path / "review.csv"), *space)

    _, out, _ = call(capsys, "data", "explain", "aaaa", *space, "-o", "json")

    assert set((tmp_path / "store" / "snapshots").rglob("*")) == before
    assert json.loads(out)["by_hand"][0]["said"] == f"{RULE} was wrong"


def test_finds_of_a_corner_case_are_those_of_the_run_that_made_the_snapshot(tmp_path, capsys):
    store = (tmp_path / "store").as_uri()
    filtered = written(store)
    rows = [{"frame_id": "b" * 64, "rank": 0, "reason": "corner_case", "rule": "night"}]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, SELECTION), sink)
    selection = put_object(store, sink.getvalue().to_pybytes(), ".parquet")
    ledger = open_ledger(sqlite_url(tmp_path / "ledger.db"))
    ledger.begin_run(RunRow(run_id="run", flow="city", pipeline="curate", profile="local"))
    done = StepRow(state="SUCCEEDED", started_at="2026-11-29T08:00:00Z")
    ledger.finish_step("run", "filter_frames", replace(done, outputs={"snapshot": filtered.uri}))
    ledger.finish_step("run", "find_corner_cases", replace(done, outputs={"selection": selection}))

    code, out, _ = call(capsys, "filter", "review", "night", "--workspace", str(tmp_path), "-o", "json")
    refused, _, err = call(capsys, "filter", "review", "nights", "--workspace", str(tmp_path))

    assert code == 0
    assert json.loads(out)["bands"][0]["cases"] == 1
    assert refused == 2
    assert f"in {filtered.snapshot_id[:16]}, of flow city. Rules that did: {RULE}, night. --snapshot names" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nothing",), 2, "Rules that did: near_duplicates.same_drive"),
        ((RULE, "--snapshot", "nowhere"), 3, "nowhere"),
        ((RULE, "--answers", "nowhere.csv"), 3, "There is no file"),
    ],
)
def test_what_cannot_be_reviewed_ends_with_its_exit_code(space, capsys, arguments, code, words):
    left, _, err = call(capsys, "filter", "review", *arguments, *space)

    assert left == code
    assert words in err


def test_an_answer_for_a_frame_that_the_rule_did_not_decide_is_refused(space, tmp_path, capsys):
    (tmp_path / "sheet.csv").write_text(f"frame_id,answer\n{'c' * 64},yes\n")

    code, _, err = call(capsys, "filter", "review", RULE, "--answers", str(tmp_path / "sheet.csv"), *space)

    assert code == 2
    assert "did not decide" in err


def test_without_a_filtered_snapshot_there_is_nothing_to_review(tmp_path, capsys):
    code, _, err = call(capsys, "filter", "review", RULE, "--workspace", str(tmp_path))

    assert code == 3
    assert "run a flow" in err


def test_a_sheet_that_a_spreadsheet_wrote_with_semicolons_is_taken(space, tmp_path, capsys):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"frame_id;score;answer\n{'a' * 64};2,5;yes\n", encoding="utf-8-sig")

    code, _, err = call(capsys, "filter", "review", RULE, "--answers", str(sheet), *space)

    assert code == 0
    assert "Took 1 answers" in err


def test_a_sheet_that_is_no_utf_8_is_told_so_in_one_line(space, tmp_path, capsys):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("frame_id,answer\n", encoding="utf-16")

    code, _, err = call(capsys, "filter", "review", RULE, "--answers", str(sheet), *space)

    assert code == 2
    assert "no text in UTF-8" in err
    assert "save it as CSV in UTF-8" in err


def test_answers_that_nobody_gave_back_are_not_written_over(space, tmp_path, capsys):
    page, sheet = tmp_path / "review.html", tmp_path / "review.csv"
    sheet.write_text(f"frame_id,answer\n{'c' * 64},no\n")

    code, _, err = call(capsys, "filter", "review", RULE, "--html", str(page), *space)

    assert code == 2
    assert "1 answers for frames of another sample" in err
    assert sheet.read_text() == f"frame_id,answer\n{'c' * 64},no\n"


def test_a_page_may_not_be_called_as_its_sheet(space, tmp_path, capsys):
    code, _, err = call(capsys, "filter", "review", RULE, "--html", str(tmp_path / "review.csv"), *space)

    assert code == 2
    assert "review.html" in err


def test_a_page_that_cannot_be_written_is_told_in_one_line(space, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    page = tmp_path / "file" / "review.html"

    code, _, err = call(capsys, "filter", "review", RULE, "--html", str(page), *space)

    assert code == 1
    assert "cannot be written" in err
    assert "--html" in err
