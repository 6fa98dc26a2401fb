"""Say of scores that they are no probabilities, where the format lets them be anything."""

from collections.abc import Iterable, Iterator


def odd_scores(whose: str, scores: Iterable[object]) -> Iterator[str]:
    """Yield a sentence on scores that leave 0 to 1; what is no float is none.

    >>> list(odd_scores("KITTI", [0.5, 12.0, None])), list(odd_scores("KITTI", [0.5]))
    (['KITTI scores reach from 0.5 to 12: no probabilities.'], [])
    """
    known = [score for score in scores if isinstance(score, float)]
    if known and not 0 <= min(known) <= max(known) <= 1:
        yield f"{whose} scores reach from {min(known):g} to {max(known):g}: no probabilities."
