"""Text that has to fit into a place."""

DIGEST_CHARS = 64
_NAME_CHARS = 60


def clipped(text: str, longest: int) -> str:
    """Return `text`, or as much of it as leaves room for a mark that there is more.

    >>> clipped("pedestrian", 10), clipped("pedestrian", 5)
    ('pedestrian', 'pede…')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def short_name(name: str) -> str:
    """Return the beginning of a digest, of a frame or a model, and of any other name as much as fits into a line.

    >>> short_name("ab" * 32), short_name("day/000123.jpg")
    ('abababababab', 'day/000123.jpg')
    """
    return name[:12] if len(name) == DIGEST_CHARS else clipped(name, _NAME_CHARS)
