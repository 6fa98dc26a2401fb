import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.nearest_codes import kth_nearest_bits


def plain(asked: np.ndarray, own: np.ndarray, others: np.ndarray, groups: np.ndarray, nearest: int) -> list[int]:
    """What `kth_nearest_bits` should say."""
    found = []
    for code, group in zip(asked, own, strict=True):
        bits = np.sort(np.bitwise_count(others[groups != group] ^ code))
        found.append(int(bits[nearest - 1]) if len(bits) >= nearest else -1)
    return found


@settings(max_examples=60)
@given(
    seed=st.integers(0, 999),
    count=st.sampled_from([0, 1, 5, 300, 2_500]),
    flips=st.integers(0, 20),
    nearest=st.integers(1, 4),
    groups=st.sampled_from([2, 50, 10_000]),
)
def test_the_kth_nearest_is_as_far_as_the_plain_search_says(seed, count, flips, nearest, groups):
    random = np.random.default_rng(seed)
    scenes = random.integers(0, 2**64, 20, dtype=np.uint64)
    others = scenes[random.integers(0, 20, count)]
    for _ in range(flips):
        others = others ^ (np.uint64(1) << random.integers(0, 64, count, dtype=np.uint64))
    asked = np.append(others[:20], random.integers(0, 2**64, 5, dtype=np.uint64))
    theirs = random.integers(0, groups, count)
    own = np.append(theirs[:20], random.integers(0, groups, 5))

    found = kth_nearest_bits((asked, own), (others, theirs), nearest)

    assert found.tolist() == plain(asked, own, others, theirs, nearest)


@pytest.mark.parametrize("nearest", [1, 3])
def test_equal_codes_are_no_bits_apart_and_a_code_is_not_its_own_neighbour(nearest):
    codes, groups = np.zeros(3, np.uint64), np.arange(3)

    found = kth_nearest_bits((codes, groups), (codes, groups), nearest)

    assert found.tolist() == ([0, 0, 0] if nearest == 1 else [-1, -1, -1])


def test_two_hundred_thousand_kept_frames_are_measured_without_looking_at_every_pair():
    random = np.random.default_rng(1)
    scenes = np.repeat(random.integers(0, 2**64, 2_000, dtype=np.uint64), 100)
    codes = scenes
    for _ in range(4):
        codes = codes ^ (np.uint64(1) << random.integers(0, 64, len(codes), dtype=np.uint64))
    groups = np.arange(len(codes))
    kth_nearest_bits((codes[:9], groups[:9]), (codes[:9], groups[:9]), 1)
    began = time.process_time()

    found = kth_nearest_bits((codes, groups), (codes, groups), 1)

    assert found.max() <= 8
    assert time.process_time() - began < 30
