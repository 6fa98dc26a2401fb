"""A number and what is counted, in words."""


def how_many(count: int, one: str, more: str = "") -> str:
    """Return `count` and what is counted; `more` is the plural of `one` where an s does not make it.

    >>> how_many(1, "box", "boxes"), how_many(2_000, "box", "boxes"), how_many(0, "frame")
    ('1 box', '2,000 boxes', '0 frames')
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def shown_of(count: int, shown: int, one: str, more: str = "") -> str:
    """Return how many there are, and how many of them are shown where these are fewer.

    >>> shown_of(20, 8, "frame"), shown_of(3, 3, "frame")
    ('20 frames, 8 shown', '3 frames')
    """
    return how_many(count, one, more) + (f", {shown:,} shown" if shown < count else "")
