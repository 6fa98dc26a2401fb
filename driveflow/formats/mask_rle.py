"""The box around a mask in COCO's run-length encoding, without drawing the mask."""

from collections.abc import Iterator, Sequence
from typing import Final

from driveflow.formats.shapes import Corners

_MAX_SIDE: Final = 1 << 20


def around_rle(counts: str | Sequence[object], size: Sequence[object]) -> Corners | None:
    """Return the box around the pixels of a mask of `size` (height, width); None where there are none or it lies.

    Runs of nothing and something take turns, down the columns; `counts` is the list or COCO's compressed text.

    >>> around_rle([5, 2, 7], (4, 4)), around_rle("527", (4, 4)), around_rle([0, 99], (4, 4))
    ((1.0, 1.0, 2.0, 3.0), (1.0, 1.0, 2.0, 3.0), None)
    """
    sides = [side for side in size if isinstance(side, int) and not isinstance(side, bool) and 0 < side < _MAX_SIDE]
    if len(sides) != 2 or len(size) != 2:
        return None
    height, width = sides
    box: tuple[int, int, int, int] | None = None
    place = 0
    for number, run in enumerate(_compressed(counts) if isinstance(counts, str) else _listed(counts)):
        if run < 0 or place + run > height * width:
            return None
        if number % 2 and run:
            found = _around_run(place, place + run - 1, height)
            box = found if box is None else _union(box, found)
        place += run
    return None if box is None else (float(box[0]), float(box[1]), float(box[2] + 1), float(box[3] + 1))


def _around_run(first: int, last: int, height: int) -> tuple[int, int, int, int]:
    left, right = first // height, last // height
    if left == right:
        return left, first % height, right, last % height
    return left, 0, right, height - 1  # it goes over the end of a column


def _union(one: tuple[int, int, int, int], two: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return min(one[0], two[0]), min(one[1], two[1]), max(one[2], two[2]), max(one[3], two[3])


def _listed(counts: Sequence[object]) -> Iterator[int]:
    for count in counts:
        yield count if isinstance(count, int) and not isinstance(count, bool) else -1


def _compressed(text: str) -> Iterator[int]:
    """Yield the runs: five bits a character, lowest first; from the fourth on as the change from two before."""
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 60:
            yield -1
            return
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        yield runs[-1]
        value = shift = 0
