"""What a run says at its end."""

from cli.run_result import result_text


def test_the_verdict_stands_with_its_reason_and_every_snapshot_with_the_id_that_other_commands_take():
    said = dict.fromkeys(("why", "campaign", "data_verdict", "verdict", "reason", "model_version", "report"))
    told = {"verdict": "NEEDS DATA", "reason": "The hold-out has 0 drive groups; at least 5 are needed."}
    ids = {"merge_batches": "ab" * 32, "filter_frames": "4706" * 16}
    value = {
        **said,
        **told,
        "steps": [],
        "run_id": "r",
        "state": "SUCCEEDED",
        "snapshots": ids,
        "notes": [],
        "pages": {},
    }

    assert result_text(value).splitlines()[-3:] == [
        "verdict: NEEDS DATA. The hold-out has 0 drive groups; at least 5 are needed.",
        "snapshot: abababababababab (merge_batches)",
        "snapshot: 4706470647064706 (filter_frames)",
    ]
