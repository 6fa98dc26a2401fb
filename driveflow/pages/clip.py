"""Text that has to fit into a place."""


def clipped(text: str, longest: int) -> str:
    """Return `text`, or as much of it as leaves room for a mark that there is more.

    >>> clipped("pedestrian", 10), clipped("pedestrian", 5)
    ('pedestrian', 'pede…')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"
