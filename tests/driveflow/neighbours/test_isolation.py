import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.isolation import Isolation, isolated

CODES = st.lists(st.integers(0, 2**20 - 1), max_size=40)


def plain(codes: list[int], before: list[int], rule: Isolation) -> list[int]:
    """What `isolated` should say where all are wanted."""
    found = []
    for place, code in enumerate(codes):
        others = [(code ^ other).bit_count() for at, other in enumerate(codes) if at != place]
        old = [(code ^ other).bit_count() for other in before]
        near = sum(apart < rule.min_bits for apart in others)
        far = min([apart for apart in (*others, *old) if apart >= rule.min_bits], default=65)
        found.append(far if near <= rule.company and min(old, default=64) >= rule.min_bits else -1)
    return found


def array(codes: list[int]) -> np.ndarray:
    return np.array(codes, np.uint64)


@settings(max_examples=100)
@given(codes=CODES, before=CODES, min_bits=st.integers(1, 12), company=st.integers(0, 4))
def test_a_code_is_as_far_from_others_as_a_plain_search_says(codes, before, min_bits, company):
    rule = Isolation(min_bits, company, 1_000)

    assert isolated(array(codes), array(before), rule).tolist() == plain(codes, before, rule)


@settings(max_examples=50)
@given(codes=CODES, enough=st.integers(1, 10))
def test_where_few_are_wanted_the_farthest_are_told(codes, enough):
    rule = Isolation(6, 2, enough)
    every = plain(codes, [], rule)
    ranked = sorted((bits for bits in every if bits >= 0), reverse=True)
    least = ranked[min(enough, len(ranked)) - 1] if ranked else 0

    found = isolated(array(codes), array([]), rule).tolist()

    assert found == [bits if bits >= least else -1 for bits in every]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_codes_are_right(count):
    found = isolated(array([0, 255][:count]), array([]), Isolation(4, 0, 9))

    assert found.tolist() == [[], [65], [8, 8]][count]


def test_a_hundred_thousand_codes_of_slow_drives_are_quick():
    draw = random.Random(1)
    scenes = [draw.getrandbits(64) for _ in range(500)]
    codes = [scene ^ (1 << draw.randrange(64)) ^ (1 << draw.randrange(64)) for scene in scenes for _ in range(200)]
    rare = [draw.getrandbits(64) for _ in range(20)]
    isolated(array(codes[:100]), array([]), Isolation(16, 7, 800))
    began = time.process_time()

    found = isolated(array([*codes, *rare]), array([]), Isolation(16, 7, 800))

    assert (found[: len(codes)] == -1).all()
    assert sum(found[-20:] >= 16) >= 18
    assert time.process_time() - began < 10
