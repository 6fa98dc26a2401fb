"""Tell by its name what a file of a batch may be."""

import re
from typing import Final, Literal, TypeAlias

FileKind: TypeAlias = Literal["picture", "archive", "recording", "text", "side", "unknown"]
"""`archive` and `recording` hold files or frames of their own, `text` may hold labels or metadata, `side` never holds
data, `unknown` is to be judged by its content."""

_PICTURES: Final = re.compile(
    r"\.(jpe?g|jpe|jfif|jif|mpo|a?png|bmp|dib|gif|webp|tiff?|p[pgbn]m|avifs?|hei[cf]|jp2|j2k|jpx|jxl|ico)$"
)
_ARCHIVES: Final = re.compile(r"\.(zip|tar|tar\.gz|tgz|tar\.bz2|tbz2|tar\.xz|txz)$")
_RECORDINGS: Final = re.compile(
    r"\.((mcap|db3|bag)(\.zstd?)?|bag\.active|mp4|m4v|mov|mkv|webm|avi|mpe?g|h26[45]|26[45]|hevc)$"
)
_TEXTS: Final = re.compile(r"\.(txt|csv|tsv|jsonl?|ndjson|xml|ya?ml|names|data|md|rst|log|toml|cfg|ini|cache|html?)$")
_SIDE: Final = re.compile(
    r"(\.ds_store|thumbs\.db|desktop\.ini|(sha256|md5|check)sums?|\.gitattributes|\.gitignore"
    r"|(licen[cs]es?|copying|readme|notice|authors|changelog|citation)(\.\w+)?)"
)
_SIDE_FOLDERS: Final = frozenset(["__macosx", ".driveflow", ".git", ".hg", ".svn", ".dvc", ".ipynb_checkpoints"])
"""What tools keep beside the data: copies of pictures and labels among it are no further sources."""


def kind_of(path: str) -> FileKind:
    """Return what the file at `path` ("/" separated) may be.

    >>> [kind_of(p) for p in ("a/b.JPG", "no_extension", "LICENSE", ".git/x.jpg", "x.tar.gz", "labels/a.txt")]
    ['picture', 'unknown', 'side', 'side', 'archive', 'text']
    """
    name = path.rpartition("/")[2].lower()
    if name.startswith("._") or is_in_side_folder(path):
        return "side"  # resource forks of macOS bear the names and extensions of real files
    if _ARCHIVES.search(name):
        return "archive"
    if _RECORDINGS.search(name):
        return "recording"
    if _PICTURES.search(name):
        return "picture"
    if _SIDE.fullmatch(name):
        return "side"
    return "text" if _TEXTS.search(name) else "unknown"


def is_in_side_folder(path: str) -> bool:
    """Tell whether the file at `path` is a tool's own: whatever it holds, the data is elsewhere."""
    return not _SIDE_FOLDERS.isdisjoint(path.lower().split("/")[:-1])


def may_be_picture(path: str) -> bool:
    """Tell whether the file at `path` has to be looked at by content before it is left out as a picture."""
    return kind_of(path) in {"picture", "unknown"}
