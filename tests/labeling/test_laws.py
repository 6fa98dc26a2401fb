"""Laws of collecting: twice is once, no order counts, and everything that came in is accounted for."""

from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.snapshots import snapshot_id
from labeling.collect import CollectRequest, collect
from tests.labeling.made import (
    CLASSES,
    about,
    box,
    box_row,
    campaign,
    frame_row,
    raw,
    return_text,
    sent_box,
    sent_frame,
    tables,
)

NAMES = ("a", "b", "h", "nowhere")
PLACES = st.sampled_from(
    [(1, 1, 9, 9), (20, 20, 30, 30), (20.5, 20, 30, 30), (5, 5, 5, 9), (-7, 1, 9, 9), (9, 9, 1, 1)]
)
IDS = st.sampled_from([None, "p1", "p2", "b1", "theirs"])
SOME_CLASSES = st.lists(st.sampled_from([*CLASSES, "bicycle"]), max_size=2, unique=True)
BOXES = st.builds(box, st.sampled_from([*CLASSES, "bicycle"]), PLACES, IDS) | st.just({"broken": 1})
ANSWERS = st.builds(
    lambda name, boxes, classes: about(name, *boxes, classes=classes),
    st.sampled_from(NAMES),
    st.lists(BOXES, max_size=3),
    SOME_CLASSES,
) | st.just(None)
TIMES = st.sampled_from(["", "2026-01-31T12:00:00Z", "2026-02-01T12:00:00Z"])
FILES = st.builds(
    lambda answers, when, number: (f"c{number}", return_text(*answers, returned_at=when, campaign_id=f"c{number}")),
    st.lists(ANSWERS, max_size=4),
    TIMES,
    st.integers(1, 2),
) | st.just(("c1", b"{"))
RETURNS = st.lists(FILES, max_size=5)
PRELABELS = [sent_box("p1"), sent_box("p2", "truck", (20, 20, 30, 30)), sent_box("b1", origin="batch:b")]
CAMPAIGNS = tuple(
    campaign(
        sent_frame("a", prelabels=PRELABELS),
        sent_frame("b", ["car"], PRELABELS),
        sent_frame("h"),
        campaign_id=f"c{number}",
    )
    for number in (1, 2)
)


@st.composite
def snapshots(draw):
    annotated = st.lists(st.sampled_from(CLASSES), unique=True)
    frames = [frame_row("a", annotated=draw(annotated)), frame_row("b", annotated=draw(annotated))]
    rows = draw(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["b1", "b2", "b3"]), PLACES), max_size=4))
    boxes = {(name, box_id): box_row(name, box_id, corners=place) for name, box_id, place in rows}
    return tables([*frames, frame_row("h", "holdout")], list(boxes.values()))


def gather(made, files):
    returns = tuple(raw(data, f"returns/{number}.json", key) for number, (key, data) in enumerate(files))
    return collect(CollectRequest(made, CAMPAIGNS, returns))


@settings(max_examples=60)
@given(snapshots(), RETURNS)
def test_ac_c4_collecting_twice_is_collecting_once(made, files):
    once = gather(made, files)

    twice = gather(once.tables, files)

    assert snapshot_id(twice.tables) == snapshot_id(once.tables)


@settings(max_examples=60)
@given(snapshots(), RETURNS, st.randoms())
def test_the_order_of_files_changes_nothing(made, files, random):
    shuffled = random.sample(files, len(files))

    one, two = gather(made, files), gather(made, shuffled)

    assert snapshot_id(one.tables) == snapshot_id(two.tables)
    assert one.counts == two.counts


@settings(max_examples=60)
@given(snapshots(), RETURNS)
def test_the_same_files_under_other_names_change_nothing(made, files):
    assert snapshot_id(gather(made, files).tables) == snapshot_id(gather(made, files * 2).tables)


@settings(max_examples=60)
@given(snapshots(), RETURNS)
def test_everything_that_came_in_is_accounted_for(made, files):
    counts = gather(made, files).counts

    def add(prefix, *names):
        return sum(counts[f"{prefix}_{name}"] for name in names)

    assert counts["returns_in"] == len(files) == add("returns", "read", "quarantined")
    assert counts["answers_in"] == add("answers", "taken", "repeated", "superseded", "quarantined", "empty")
    assert counts["boxes_in"] == add("boxes", "taken", "repeated", "superseded", "quarantined")
    assert counts["frames_out"] == add("frames", "answered", "not_returned")
    assert counts["prelabels_answered"] == add("prelabels", "confirmed", "moved", "reclassified", "rejected")


@settings(max_examples=60)
@given(snapshots(), RETURNS)
def test_frames_sources_and_classes_somebody_looked_for_are_never_lost(made, files):
    after = gather(made, files).tables

    assert after.frames["frame_id"].equals(made.frames["frame_id"])
    assert after.sources.equals(made.sources)
    for before, now in zip(made.frames.to_pylist(), after.frames.to_pylist(), strict=True):
        assert set(before["annotated_classes"]) <= set(now["annotated_classes"])


@settings(max_examples=60)
@given(snapshots(), RETURNS, RETURNS)
def test_collecting_what_came_first_and_then_all_is_collecting_all(made, early, late):
    step = gather(gather(made, early).tables, early + late)

    at_once = gather(made, early + late)

    assert snapshot_id(step.tables) == snapshot_id(at_once.tables)
