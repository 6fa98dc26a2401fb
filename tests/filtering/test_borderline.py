import numpy as np
import pyarrow as pa

from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.borderline import judged_frames, near_misses
from filtering.filter_frames import FilterRequest, filter_frames
from tests.filtering.made import Made, measured, snapshot

SIX_BITS, NINE_BITS = 0b111111, 0b111111111


def decided(frames, filters=None):
    request = FilterRequest(snapshot(frames), measured(frames), filters or FilterSection())
    return request, filter_frames(request)


def test_a_pair_one_or_two_bits_beyond_its_limit_is_a_near_miss_and_one_within_it_is_none():
    frames = [Made("a", 0, taken_s=0), Made("b", 7, taken_s=1), Made("c", SIX_BITS << 8, taken_s=2)]
    request, outcome = decided(frames)

    missed = near_misses(request, outcome, 9)

    assert [(item.frame_id, item.twin, item.score, item.limit) for item in missed] == [("c", "a", 6.0, 4.0)]


def test_across_drives_a_miss_is_told_with_the_limit_across_drives():
    frames = [Made("a", 0, drive="one"), Made("b", 0b111, drive="two"), Made("c", NINE_BITS << 20, drive="three")]
    request, outcome = decided(frames)

    assert [(item.frame_id, item.score, item.limit) for item in near_misses(request, outcome, 9)] == [("b", 3.0, 2.0)]


def test_a_miss_by_embedding_is_told_with_the_limit_in_cosine_distance():
    frames = [Made("a", 0, taken_s=0), Made("b", 0xFF, taken_s=1), Made("c", 0xFFFF, taken_s=2)]
    angles = np.arccos(1 - np.array([0.0, 0.06, 0.5]))
    vectors = FrameVectors(pa.array(["a", "b", "c"]), np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32))
    section = NearDuplicateSection(embedding="builtin://efficientnet-lite0")
    request = FilterRequest(snapshot(frames), measured(frames), FilterSection(near_duplicates=section), vectors=vectors)

    missed = near_misses(request, filter_frames(request), 9)

    assert [(item.frame_id, item.twin, item.limit, item.unit) for item in missed] == [
        ("b", "a", 0.05, "in cosine distance")
    ]


def test_where_near_duplicates_are_not_looked_for_nothing_is_missed():
    off = FilterSection(near_duplicates=NearDuplicateSection(enabled=False))
    request, outcome = decided([Made("a", 0), Made("b", SIX_BITS)], off)

    assert near_misses(request, outcome, 9) == []


def test_the_nearest_frames_on_both_sides_of_a_limit_are_named():
    sharp = [2.0, 3.9, 4.0, 5.0, 300.0]
    frames = [Made(f"{at}", 1 << (12 * at), signals={"sharpness": value}) for at, value in enumerate(sharp)]
    request, outcome = decided(frames)
    blur = next(item for item in judged_frames(request, outcome) if item.item.rule == "blur.dead")

    assert [score for _, score in blur.nearest(1, beyond=True)] == [3.9]
    assert [score for _, score in blur.nearest(2, beyond=False)] == [4.0, 5.0]
    assert blur.beyond == 2
    assert not blur.drops_above


def test_frames_of_val_and_frames_that_cannot_be_read_have_no_score():
    frames = [Made("a", 0), Made("b", 1 << 30, split="val"), Made("c", None, error="cut")]
    request, outcome = decided(frames)

    assert {tuple(item.frame_ids) for item in judged_frames(request, outcome)} == {("a",)}


def test_the_direction_of_every_filter_is_found_by_asking_it():
    request, outcome = decided([Made(f"{at:03}", at << 12) for at in range(60)])
    above = {item.item.rule: item.drops_above for item in judged_frames(request, outcome)}

    assert above["exposure.black"]
    assert above["exposure.bright_for_population"]
    assert not above["exposure.dark_for_population"]
    assert not above["blur.relative"]
    for item in judged_frames(request, outcome):
        far = item.item.limit + (1e6 if item.drops_above else -1e6)
        assert not item.item.keep(np.array([far]))[0]
