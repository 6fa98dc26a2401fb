"""Text that came with the data, as Markdown shows it as written."""

import re

from driveflow.pages.clip import clipped

_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~^$:])")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str, longest: int = 60) -> str:
    """Return `text` so that Markdown and the HTML inside it show it as written, clipped where long."""
    shown = clipped(_UNPRINTABLE.sub("\ufffd", text), longest)
    return _MARKS.sub(r"\\\1", shown).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
