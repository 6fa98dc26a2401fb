"""What a run says at its end."""

from cli.run_result import result_text

SAID = dict.fromkeys(("why", "campaign", "data_verdict", "verdict", "reason", "model_version", "report"))
RUN = {**SAID, "steps": [], "run_id": "r", "state": "SUCCEEDED", "snapshots": {}, "notes": [], "pages": {}}


def test_a_note_that_was_seen_under_its_step_is_not_said_again():
    value = {**RUN, "notes": ["Read as coco.", "Two  spaces."]}

    assert result_text(value).splitlines()[-2:] == ["note: Read as coco.", "note: Two  spaces."]
    assert result_text(value, frozenset({"Two spaces."})).splitlines()[-1] == "note: Read as coco."


def test_the_verdict_stands_with_its_reason_and_every_snapshot_with_the_id_that_other_commands_take():
    told = {"verdict": "NEEDS DATA", "reason": "The hold-out has 0 drive groups; at least 5 are needed."}
    ids = {"merge_batches": "ab" * 32, "filter_frames": "4706" * 16}
    value = {**RUN, **told, "snapshots": ids}

    assert result_text(value).splitlines()[-3:] == [
        "verdict: NEEDS DATA. The hold-out has 0 drive groups; at least 5 are needed.",
        "snapshot: abababababababab (merge_batches)",
        "snapshot: 4706470647064706 (filter_frames)",
    ]
