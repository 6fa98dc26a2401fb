"""What a run says while it goes on."""

import pytest

from cli import run_progress
from cli.run_progress import RunProgress


@pytest.fixture
def hear(capsys):
    """Hear events where stderr is no terminal, and return what was said."""

    def said(*events):
        with RunProgress() as progress:
            for event in events:
                progress.hear({"step": "train_model", **event})
        return capsys.readouterr().err

    return said


def test_notes_of_a_step_stand_under_it_as_they_are(hear):
    note = {"event": "note", "note": "The data: NEEDS REVIEW. [" + "x" * 200 + "]"}

    lines = hear({"event": "step_started"}, note, {"event": "step_finished", "code": 0, "seconds": 1.0}).splitlines()

    assert lines[0].startswith("  done    train_model")
    assert lines[1].strip() == note["note"]


@pytest.mark.parametrize(("every_s", "told"), [(0.0, 2), (1000.0, 0)])
def test_where_there_is_no_bar_a_line_now_and_then_says_how_far_a_step_is(hear, monkeypatch, every_s, told):
    monkeypatch.setattr(run_progress, "_TOLD_EVERY_S", every_s)
    events = [{"event": "progress", "done": done, "total": 12, "what": "epochs trained"} for done in (1, 2)]

    text = hear({"event": "step_started"}, *events)

    assert text.count("of 12 epochs trained") == told


def test_a_note_is_seen_once_it_stands_under_its_step():
    with RunProgress() as progress:
        progress.hear({"event": "step_started", "step": "merge_batches"})
        progress.hear({"event": "note", "note": "Read as coco."})
        before = progress.seen
        progress.hear({"event": "step_finished", "step": "merge_batches", "code": 0, "seconds": 1.0})

    assert before == frozenset()
    assert progress.seen == {"Read as coco."}
