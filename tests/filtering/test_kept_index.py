from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.by_hand import ByHand
from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.miner_section import ShieldSection
from driveflow.flow.sections import CornerCaseSection, FilterSection, NearDuplicateSection, WhereSection
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.kept_index import KeptFrames, KeptIndex
from filtering.near_duplicates import RULES, Candidates, Twins, thin
from filtering.places import sightings
from filtering.thin_batch import Known, NewFrames, thin_batch
from filtering.verify import Evidence, verify_decisions
from tests.filtering.made import FAR, Made, column, measured, snapshot
from tests.filtering.test_near_duplicates import SECTIONS, drives

SECTION = NearDuplicateSection()


def new(frames: list[Made]) -> NewFrames:
    return NewFrames(
        frame_ids=pa.array([made.name for made in frames], pa.string()),
        phash64=np.array([made.code for made in frames], np.uint64),
        rank=np.array([not made.labeled for made in frames], np.int64),
        shielded=np.zeros(len(frames), np.bool_),
    )


def vectors(frames: list[Made]) -> FrameVectors:
    rows = np.array([made.vector or (0, 0) for made in frames], np.float32).reshape(-1, 2)
    return FrameVectors(pa.array([made.name for made in frames], pa.string()), rows)


def told(twins: Twins, frame_ids: pa.Array) -> dict[str, tuple[str, str, float]]:
    names = frame_ids.to_pylist()
    rows = zip(twins.frame.tolist(), twins.twin.tolist(), twins.rule.tolist(), twins.score.tolist(), strict=True)
    return {names[frame]: (names[twin], RULES[rule], score) for frame, twin, rule, score in rows}


@settings(max_examples=60)
@given(frames=drives(), section=SECTIONS, cuts=st.lists(st.integers(0, 25), max_size=3))
def test_batch_by_batch_the_answer_is_that_of_one_run_in_order_of_arrival(frames, section, cuts):
    ends = sorted({0, len(frames), *(min(cut, len(frames)) for cut in cuts)})
    batches = [frames[start:stop] for start, stop in pairwise(ends)]
    before, found, come = KeptFrames.none(), dict[str, tuple[str, str, float]](), list[Made]()

    for batch in batches:
        come += batch
        outcome = thin_batch(new(batch), before, section, Known(snapshot(come).sources, vectors=vectors(frames)))
        before = KeptFrames(
            pa.concat_arrays([before.frame_ids, outcome.kept.frame_ids]),
            np.concatenate([before.phash64, outcome.kept.phash64]),
        )
        found |= told(outcome.twins, outcome.frame_ids)

    arrival = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    whole = new(frames)
    at_once = Candidates(
        whole.frame_ids,
        whole.phash64,
        sightings(whole.frame_ids, snapshot(frames).sources),
        whole.rank + 2 * arrival.astype(np.int64),
        whole.shielded,
        vectors=vectors(frames),
    )
    assert found == told(thin(at_once, section), whole.frame_ids)


def test_new_frames_are_compared_with_kept_ones_by_vector_too():
    first = [Made("a", FAR[0], degrees=0), Made("b", FAR[1], degrees=60)]
    second = [Made("c", FAR[2], degrees=62), Made("d", FAR[3], degrees=120), Made("e", FAR[4], degrees=122)]
    every = [*first, *second]
    known = Known(snapshot(every).sources, vectors=vectors(every))
    before = thin_batch(new(first), KeptFrames.none(), SECTION, known).kept

    outcome = thin_batch(new(second), before, SECTION, known)

    found = told(outcome.twins, outcome.frame_ids)
    assert {name: (twin, rule) for name, (twin, rule, _) in found.items()} == {
        "c": ("b", "embedding.same_drive"),
        "e": ("d", "embedding.same_drive"),
    }
    assert outcome.kept.frame_ids.to_pylist() == ["d"]


def test_ac_a2_a_thousand_frames_are_added_to_many_without_asking_the_many_again():
    random = np.random.default_rng(5)
    old = random.integers(0, 2**63, 20_000, dtype=np.uint64)
    many, few = _batch("old", old), _batch("new", old[:1_000] ^ np.uint64(3))
    known = Known(_sources(many, few))
    before = thin_batch(many, KeptFrames.none(), SECTION, known).kept

    outcome = thin_batch(few, before, SECTION, known)

    assert len(before.frame_ids) == 20_000
    assert sorted(told(outcome.twins, outcome.frame_ids)) == [f"new{number:06d}" for number in range(1_000)]


def _batch(name: str, codes: np.ndarray) -> NewFrames:
    ids = pa.array([f"{name}{number:06d}" for number in range(len(codes))])
    return NewFrames(ids, codes, np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_))


def _sources(*batches: NewFrames) -> pa.Table:
    ids = pa.concat_arrays([batch.frame_ids for batch in batches])
    drive = pa.array([f"d{number}" for number, batch in enumerate(batches) for _ in range(len(batch.frame_ids))])
    nowhere, camera = pa.nulls(len(ids), pa.float64()), pa.array(["front"] * len(ids))
    columns = {"frame_id": ids, "batch": drive, "path": ids, "drive": drive, "camera": camera}
    return pa.table({**columns, "captured_ns": pa.array(range(len(ids)), pa.int64()), "lat": nowhere, "lon": nowhere})


BATCHES = ("monday", "tuesday", "wednesday")
TAG = CornerCaseSection(name="tagged", where=WhereSection(attributes={"trigger": ("brake",)}), quota_frames=2)


@st.composite
def deliveries(draw) -> list[Made]:
    """Frames of batches, whose drives are named after them; some are found again in a later batch."""
    count = draw(st.integers(0, 24))
    frames = []
    for number in range(count):
        batch = draw(st.sampled_from(BATCHES))
        again = draw(st.sampled_from([(), (), (("tuesday", "front"),), (("wednesday", "left"),)]))
        code = draw(st.sampled_from(FAR)) ^ (1 << draw(st.integers(0, 3))) ^ (1 << draw(st.integers(0, 3)))
        frames.append(
            Made(
                f"f{number:02d}",
                code,
                drive=batch,
                taken_s=draw(st.sampled_from([None, 0.0, 0.4, 1.0, 3.0])),
                split=draw(st.sampled_from(["train", "train", "train", "val"])),
                labeled=draw(st.booleans()),
                attributes=draw(st.sampled_from([{}, {}, {"trigger": "brake"}])),
                also=again,
                error=draw(st.sampled_from([None, None, None, None, "broken"])),
            )
        )
    return frames


def request(frames: list[Made], arrival: tuple[str, ...] = BATCHES, **changes: object) -> FilterRequest:
    section = NearDuplicateSection(min_gap_s=0.5)
    filters = FilterSection(near_duplicates=section, shield=ShieldSection(quota_frames=1))
    return replace(FilterRequest(snapshot(frames), measured(frames), filters, (TAG,), arrival=arrival), **changes)


def delivered(frames: list[Made], batches: tuple[str, ...]) -> list[Made]:
    """What is known of `frames` when only `batches` have come."""
    return [
        replace(made, also=tuple(place for place in made.also if place[0] in batches))
        for made in frames
        if made.drive in batches
    ]


def answers(outcome: FilterOutcome) -> list[dict[str, object]]:
    return outcome.decisions.to_pylist()


@settings(max_examples=60)
@given(frames=deliveries())
def test_runs_as_batches_arrive_decide_as_one_run_over_all_of_them(tmp_path_factory, frames):
    frames = [made for made in frames if made.also != ((made.drive, "front"),)]
    index = KeptIndex(tmp_path_factory.mktemp("kept").as_uri())
    for count in range(1, 4):
        come = delivered([made for made in frames if _first(made) == made.drive], BATCHES[:count])
        last = filter_frames(request(come, BATCHES[:count], index=index))

    whole = request([made for made in frames if _first(made) == made.drive])
    at_once = filter_frames(whole)
    assert answers(last) == answers(at_once)
    report = verify_decisions(
        at_once.decisions, Evidence(whole.signals, whole.tables.sources, whole.filters, arrival=BATCHES)
    )
    assert report.sound, report


def _first(made: Made) -> str:
    """The batch with which a frame arrives."""
    return min((made.drive, *(drive for drive, _ in made.also)), key=BATCHES.index)


def test_old_frames_keep_their_verdict_when_new_ones_arrive():
    old = [Made("z", FAR[0], drive="monday"), Made("y", FAR[1], drive="monday")]
    more = [Made("a", FAR[0] ^ 1, drive="tuesday", labeled=True), Made("b", FAR[2], drive="tuesday")]

    outcome = filter_frames(request([*old, *more]))

    assert column(outcome.decisions, "verdict", ["z", "y", "a", "b"]) == ["kept", "kept", "dropped", "kept"]
    assert column(outcome.decisions, "twin", ["a"]) == ["z"]


def test_of_batches_that_were_judged_nothing_is_asked_again(tmp_path):
    index = KeptIndex(tmp_path.as_uri())
    old = [Made(f"a{number}", FAR[number], drive="monday") for number in range(4)]
    filter_frames(request(old, BATCHES[:1], index=index))

    outcome = filter_frames(request([*old, Made("b", FAR[0] ^ 1, drive="tuesday")], BATCHES[:2], index=index))

    assert [(note.batch, note.frames, note.kept, note.known) for note in outcome.batches] == [
        ("monday", 4, 4, True),
        ("tuesday", 1, 0, False),
    ]


def test_a_step_that_is_tried_again_writes_what_it_wrote_before(tmp_path):
    frames = [Made("a", drive="monday"), Made("b", 0xFFFF, drive="tuesday")]
    index = KeptIndex(tmp_path.as_uri())

    first = answers(filter_frames(request(frames, index=index)))
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    second = answers(filter_frames(request(frames, index=index)))

    assert first == second
    assert before == {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("kind", "damage"),
    [("*.parquet", b"{}"), ("*.json", b"{}"), ("*.json", b'{"object":5}'), ("*.json", b"[" * 100_000)],
)
def test_a_damaged_index_is_made_again(tmp_path, kind, damage):
    frames = [Made("a", drive="monday"), Made("b", 1, drive="monday"), Made("c", 2, drive="tuesday")]
    index = KeptIndex(tmp_path.as_uri())
    first = filter_frames(request(frames, index=index))
    for path in tmp_path.rglob(kind):
        path.write_bytes(damage)

    again = filter_frames(request(frames, index=index))

    assert answers(again) == answers(first)
    assert [note.known for note in again.batches] == [False, False]


@pytest.mark.parametrize(
    "change",
    [
        {"by_hand": ByHand(kept=frozenset({"b"}))},
        {"by_hand": ByHand(not_duplicates=(("a", "b"),))},
        {"filters": FilterSection(near_duplicates=NearDuplicateSection(same_drive_max_bits=0))},
        {"corner_cases": ()},
    ],
)
def test_what_decides_a_batch_is_in_its_key(tmp_path, change):
    frames = [Made("a", drive="monday"), Made("b", 7, drive="monday"), Made("c", FAR[3], drive="tuesday")]
    index = KeptIndex(tmp_path.as_uri())
    filter_frames(request(frames, index=index))

    changed = filter_frames(request(frames, index=index, **change))

    assert answers(changed) == answers(filter_frames(request(frames, **change)))
    assert not any(note.known for note in changed.batches)


def test_quotas_of_the_shield_are_what_earlier_batches_left():
    tagged = [
        Made(f"{batch}{number}", drive=batch, attributes={"trigger": "brake"})
        for batch in BATCHES
        for number in range(3)
    ]

    outcome = filter_frames(request(tagged))

    reasons = column(outcome.decisions, "reason", [made.name for made in tagged])
    assert reasons.count("corner_case") == 2
    assert all(reason != "corner_case" for reason in reasons[3:])
