import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from cli.main import main
from components.work.table_objects import put_table
from driveflow import tables
from driveflow.canonical import Json
from driveflow.flow.sections import FilterSection
from driveflow.signal_store import SignalStore
from driveflow.snapshots import Beside, Snapshot, write_snapshot
from filtering.filter_frames import FilterRequest, filter_frames
from tests.filtering.made import Made, measured, snapshot

FRAMES = [
    Made("a" * 64, 0, drive="one", taken_s=1.0),
    Made("b" * 64, 7, drive="one", taken_s=2.0, labeled=True),
    Made("c" * 64, 0xFFFF00, drive="two"),
    Made("d" * 64, None, drive="two", error="cannot be decoded: cut"),
]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return (tmp_path / "store").as_uri()


def written(store: str, decisions: pa.Table | None = None, settings: Json = None) -> Snapshot:
    """The snapshot that the filter step leaves behind, beside its parent and the signals."""
    built, signals = snapshot(FRAMES), measured(FRAMES)
    SignalStore(store).append(signals)
    merged = write_snapshot(store, built, Beside(), {"step": "merge_batches"})
    outcome = filter_frames(FilterRequest(built, signals, FilterSection()))
    made_by: dict[str, Json] = {"step": "filter_frames", "parents": [merged.uri.rpartition("/")[2]]}
    if settings is not None:
        made_by["settings"] = settings
    beside = Beside(decisions=outcome.decisions if decisions is None else decisions, quarantine=outcome.quarantine)
    return write_snapshot(store, outcome.kept_tables, beside, made_by)


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_verify_says_that_every_pair_holds(store, capsys):
    code, out, _ = call(capsys, "filter", "verify", written(store).uri)

    assert code == 0
    assert out.splitlines() == ["frames: 4", "pairs: 1", "orphans: 0", "wrong: 0"]


def test_dropped_frames_are_listed_with_their_reason_and_their_twin(store, capsys):
    filtered = written(store)

    told = json.loads(call(capsys, "filter", "dropped", filtered.uri, "-o", "json")[1])
    words = call(capsys, "filter", "dropped", filtered.uri, "--limit", "0")[1]
    none = call(capsys, "filter", "dropped", filtered.uri, "--reason", "blurr")[1]

    (row,) = told["rows"]
    assert (told["total"], told["reasons"]) == (1, {"near_duplicate": 1})
    assert (row["frame_id"], row["twin"], row["score"]) == ("a" * 64, "b" * 64, 3.0)
    assert row["path"].endswith("aaaa.jpg")
    assert "... and 1 more; --limit 1 writes out all" in words
    assert none == "Nothing was dropped for 'blurr'; reasons here: near_duplicate.\n"


@pytest.mark.parametrize("gone", [False, True])
def test_verify_goes_by_what_the_step_measured_by_whatever_is_measured_since(store, capsys, gone):
    built, signals = snapshot(FRAMES), measured(FRAMES)
    merged = write_snapshot(store, built, Beside(), {"step": "merge_batches"})
    outcome = filter_frames(FilterRequest(built, signals, FilterSection()))
    named = "gone.parquet" if gone else put_table(store, signals).rpartition("/")[2]
    made_by = {"step": "filter_frames", "parents": [merged.uri.rpartition("/")[2]], "signals": named}
    uri = write_snapshot(store, outcome.kept_tables, Beside(decisions=outcome.decisions), made_by).uri

    code, out, _ = call(capsys, "filter", "verify", uri)

    assert code == (1 if gone else 0)
    assert out.splitlines()[:4] == ["frames: 4", "pairs: 1", "orphans: 0", f"wrong: {int(gone)}"]


def test_verify_finds_a_planted_orphan_and_fails(store, capsys):
    honest = written(store).decisions().to_pylist()
    planted = [row | {"twin": "c" * 64, "score": 2.0} if row["verdict"] == "dropped" else row for row in honest]
    uri = written(store, pa.Table.from_pylist(planted, tables.DECISIONS)).uri

    code, out, _ = call(capsys, "filter", "verify", uri, "-o", "json")

    assert code == 1
    assert json.loads(out)["orphans"] == 1
    assert json.loads(out)["examples"][0]["why"].endswith("bits from its twin, limit 2")


def test_verify_holds_to_the_limits_the_snapshot_was_made_with(store, capsys):
    code, out, _ = call(
        capsys, "filter", "verify", written(store, settings={"near_duplicates": {"same_drive_max_bits": 2}}).uri
    )

    assert code == 1
    assert "3 bits from its twin, limit 2" in out


@pytest.mark.parametrize("command", ["batches", "dropped"])
def test_of_a_snapshot_that_was_not_filtered_nothing_is_told_but_that_one_that_was_is_asked_for(store, capsys, command):
    merged = write_snapshot(store, snapshot(FRAMES), Beside(), {"step": "merge_batches"})

    code, _, err = call(capsys, "filter", command, merged.uri)

    assert code == 2
    assert "was not filtered; name the snapshot that `filter_frames` made" in err


def test_batches_tells_what_came_of_each_batch_and_whose_twin_came_before(store, capsys):
    frames = [Made("a" * 64, drive="monday"), Made("b" * 64, 1, drive="tuesday"), Made("c" * 64, 1 << 40, "tuesday")]
    request = FilterRequest(snapshot(frames), measured(frames), FilterSection(), arrival=("monday", "tuesday"))
    merged = write_snapshot(store, request.tables, Beside(), {"step": "merge_batches"})
    outcome = filter_frames(request)
    made_by = {"step": "filter_frames", "arrival": ["monday", "tuesday"], "parents": [merged.uri.rpartition("/")[2]]}
    filtered = write_snapshot(store, outcome.kept_tables, Beside(decisions=outcome.decisions), made_by)

    code, out, _ = call(capsys, "filter", "batches", filtered.uri, "-o", "json")
    refused, _, err = call(capsys, "filter", "batches", written(store).uri)

    assert code == 0
    assert [tuple(row.values()) for row in json.loads(out)["batches"]] == [
        ("monday", 1, 1, 0, 0, 0),
        ("tuesday", 2, 0, 2, 0, 2),
    ]
    assert refused == 2
    assert "by_arrival" in err


def test_batches_that_brought_no_frame_of_their_own_are_named(store, capsys):
    frames = [Made("a" * 64, 0, drive="monday"), Made("b" * 64, 0xFFFF00, drive="monday")]
    built = snapshot(frames)
    again = built.sources.slice(0, 1).set_column(1, "batch", pa.array(["tuesday"]))
    days = ("monday", "tuesday", "friday")
    tables_ = replace(built, sources=pa.concat_tables([built.sources, again]))
    outcome = filter_frames(FilterRequest(tables_, measured(frames), FilterSection(), arrival=days))
    made_by = {"step": "filter_frames", "arrival": list(days)}
    filtered = write_snapshot(store, outcome.kept_tables, Beside(decisions=outcome.decisions), made_by)

    _, words, _ = call(capsys, "filter", "batches", filtered.uri)
    _, out, _ = call(capsys, "filter", "batches", filtered.uri, "-o", "json")

    assert words.splitlines()[2:] == [
        "tuesday: nothing new, its frames came with batches before: 1.",
        "friday: no frame of it came in.",
    ]
    assert json.loads(out)["nothing_new"] == {"tuesday": 1, "friday": 0}


def test_verify_refuses_a_snapshot_without_decisions(store, capsys):
    merged = write_snapshot(store, snapshot(FRAMES), Beside(), {"step": "merge_batches"})

    code, _, err = call(capsys, "filter", "verify", merged.uri)

    assert code == 2
    assert "holds no decisions of the filters" in err


def test_a_snapshot_that_is_not_there_is_not_found(store, capsys):
    code, _, err = call(capsys, "filter", "verify", f"{store}/snapshots/none")

    assert code == 3
    assert "There is no snapshot at" in err


def test_of_a_snapshot_made_in_two_ways_the_record_written_last_counts(store, capsys):
    first = written(store)
    written(store, settings={"near_duplicates": {"same_drive_max_bits": 2}})

    by_folder, _, _ = call(capsys, "filter", "verify", first.folder)
    by_record, _, _ = call(capsys, "filter", "verify", first.uri)

    assert by_folder == 1  # under the limit of the later record one pair does not hold
    assert by_record == 0


def test_show_counts_what_a_snapshot_holds(store, capsys):
    code, out, _ = call(capsys, "data", "show", written(store).uri, "-o", "json")

    shown = json.loads(out)
    assert code == 0
    assert (shown["frames"], shown["labeled"], shown["drives"]) == (2, 1, 2)
    assert shown["decisions"] == {
        "dropped near_duplicate": 1,
        "kept kept": 2,
        "quarantined unreadable": 1,
    }
    assert shown["quarantine"] == {"unreadable": 1}


def test_explain_tells_why_a_frame_that_is_gone_was_dropped(store, capsys):
    code, out, _ = call(capsys, "data", "explain", "aaaa", "--snapshot", written(store).uri, "-o", "json")

    story = json.loads(out)
    assert code == 0
    assert story["sources"][0]["path"] == f"front/{'a' * 64}.jpg"
    assert [step["step"] for step in story["steps"]] == ["merge_batches", "filter_frames"]
    assert story["steps"][1] | {"snapshot": ""} == {
        "snapshot": "",
        "step": "filter_frames",
        "holds_it": False,
        "verdict": "dropped",
        "rule": "near_duplicates.same_drive",
        "reason": "near_duplicate",
        "score": 3.0,
        "limit": 4.0,
        "twin": "b" * 64,
        "twin_path": f"one/front/{'b' * 64}.jpg",
        "detail": "3 bits from the kept frame, limit 4",
    }


def test_explain_takes_the_end_of_a_path(store, capsys):
    code, out, _ = call(capsys, "data", "explain", f"{'c' * 64}.jpg", "--snapshot", written(store).uri, "-o", "json")

    assert code == 0
    assert json.loads(out)["frame_id"] == "c" * 64


@pytest.mark.parametrize(("text", "code", "words"), [("eeee", 3, "No frame"), ("", 2, "4 frames are like")])
def test_explain_needs_a_name_of_exactly_one_frame(store, capsys, text, code, words):
    left, _, err = call(capsys, "data", "explain", text, "--snapshot", written(store).uri)

    assert left == code
    assert words in err


def test_explain_tells_the_story_in_lines(store, capsys):
    code, out, _ = call(capsys, "data", "explain", "aaaa", "--snapshot", written(store).uri)

    assert code == 0
    assert f"frame_id: {'a' * 64}" in out
    assert "  filter_frames " in out
    assert f"dropped, near_duplicate, 3 bits from the kept frame, limit 4, twin {'b' * 16}" in out
