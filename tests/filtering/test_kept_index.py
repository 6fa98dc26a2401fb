from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.errors import NotFoundError
from driveflow.flow.sections import NearDuplicateSection
from filtering.kept_index import KeptFrames, KeptIndex, Known, NewFrames, thin_batch
from filtering.near_duplicates import RULES, Candidates, Twins, thin
from filtering.places import sightings
from tests.filtering.made import FAR, Made, snapshot
from tests.filtering.test_near_duplicates import SECTIONS, drives

SECTION = NearDuplicateSection()


def new(frames: list[Made]) -> NewFrames:
    return NewFrames(
        frame_ids=pa.array([made.name for made in frames], pa.string()),
        phash64=np.array([made.code for made in frames], np.uint64),
        sources=snapshot(frames).sources,
        rank=np.array([not made.labeled for made in frames], np.int64),
        shielded=np.zeros(len(frames), np.bool_),
    )


def told(twins: Twins, frame_ids: pa.Array) -> dict[str, tuple[str, str, float]]:
    names = frame_ids.to_pylist()
    rows = zip(twins.frame.tolist(), twins.twin.tolist(), twins.rule.tolist(), twins.score.tolist(), strict=True)
    return {names[frame]: (names[twin], RULES[rule], score) for frame, twin, rule, score in rows}


@settings(max_examples=100, deadline=None)
@given(frames=drives(), section=SECTIONS, cuts=st.lists(st.integers(0, 25), max_size=3))
def test_batch_by_batch_the_answer_is_that_of_one_run_in_order_of_arrival(tmp_path_factory, frames, section, cuts):
    ends = sorted({0, len(frames), *(min(cut, len(frames)) for cut in cuts)})
    batches = [frames[start:stop] for start, stop in pairwise(ends)]
    index = KeptIndex(tmp_path_factory.mktemp("kept").as_uri(), "rules")
    found: dict[str, tuple[str, str, float]] = {}

    for number, batch in enumerate(batches):
        before = index.load([f"batch {earlier}" for earlier in range(number)])
        outcome = thin_batch(new(batch), before, section)
        index.keep(f"batch {number}", outcome.kept)
        found |= told(outcome.twins, outcome.frame_ids)

    arrival = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    whole = new(frames)
    at_once = Candidates(
        whole.frame_ids,
        whole.phash64,
        sightings(whole.frame_ids, whole.sources),
        whole.rank + 2 * arrival.astype(np.int64),
        whole.shielded,
    )
    assert found == told(thin(at_once, section), whole.frame_ids)


def test_new_frames_are_compared_with_kept_ones_by_vector_too():
    first = [Made("a", FAR[0], degrees=0), Made("b", FAR[1], degrees=60)]
    second = [Made("c", FAR[2], degrees=62), Made("d", FAR[3], degrees=120), Made("e", FAR[4], degrees=122)]
    before = thin_batch(new(first), KeptFrames.none(), SECTION).kept
    vectors = np.array([made.vector for made in (*first, *second)], np.float32)

    outcome = thin_batch(new(second), before, SECTION, Known(vectors=vectors))

    found = told(outcome.twins, outcome.frame_ids)
    assert {name: (twin, rule) for name, (twin, rule, _) in found.items()} == {
        "c": ("b", "embedding.same_drive"),
        "e": ("d", "embedding.same_drive"),
    }
    assert outcome.kept.frame_ids.to_pylist() == ["d"]


def test_a_batch_judged_again_changes_nothing(tmp_path):
    index = KeptIndex(tmp_path.as_uri(), "rules")
    first = thin_batch(new([Made("a"), Made("b", 0xFFFF)]), KeptFrames.none(), SECTION).kept

    for _ in range(2):
        index.keep("one", first)
        outcome = thin_batch(new([Made("c", 1), Made("d", 0xFF00FF)]), index.load(["one"]), SECTION)
        index.keep("two", outcome.kept)

    assert index.load(["one", "two"]).frame_ids.to_pylist() == ["a", "b", "d"]


def test_a_batch_that_was_not_judged_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="what batch 'one' kept"):
        KeptIndex(tmp_path.as_uri(), "rules").load(["one"])


def test_ac_a2_a_thousand_frames_are_added_to_many_without_asking_the_many_again(tmp_path):
    random = np.random.default_rng(5)
    old = random.integers(0, 2**63, 20_000, dtype=np.uint64)
    before = thin_batch(_batch("old", old, 0), KeptFrames.none(), SECTION).kept
    near = old[:1_000] ^ np.uint64(3)

    outcome = thin_batch(_batch("new", near, 1), before, SECTION)

    assert len(before.frame_ids) == 20_000
    assert sorted(told(outcome.twins, outcome.frame_ids)) == [f"new{number:06d}" for number in range(1_000)]


def _batch(name: str, codes: np.ndarray, drive: int) -> NewFrames:
    ids = pa.array([f"{name}{number:06d}" for number in range(len(codes))])
    count = len(ids)
    same = {"batch": pa.array(["b"] * count), "drive": pa.array([f"d{drive}"] * count)}
    nowhere = pa.nulls(count, pa.float64())
    sources = pa.table(
        {
            "frame_id": ids,
            "path": ids,
            "camera": pa.array(["front"] * count),
            "captured_ns": pa.array(range(count), pa.int64()),
            "lat": nowhere,
            "lon": nowhere,
            **same,
        }
    )
    return NewFrames(ids, codes, sources, np.zeros(count, np.int64), np.zeros(count, np.bool_))
