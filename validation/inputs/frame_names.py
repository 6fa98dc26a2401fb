"""Find the frame of the truth that a name in the predictions means, and say how sure that is."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from driveflow.errors import InvalidInputError
from driveflow.formats.path_index import plain_path
from driveflow.formats.picture_finder import stem_of
from driveflow.formats.source_split import split_of_folders
from validation.inputs.given import Given
from validation.model.scene import Correction

How: TypeAlias = Literal["key", "path", "end", "part", "bare", "name", "upload"]
"""key, path: all of it is the same. end: one name ends with all of the other. part: both end in a folder and a name,
but for folders that every data set has.

bare: the last part alone. name: the same, and the folders of both say something else. upload: but for what Label Studio
does to names.
"""
_SURE: Final[tuple[How, ...]] = ("key", "path", "end", "part", "bare", "name", "upload")
_SHOWN: Final = 3
_UPLOADED: Final = re.compile(r"[0-9a-f]{8}-(.+)", re.DOTALL)
_NOT_STORED: Final = re.compile(r"[^-\w.]")
_SAY_NOTHING: Final = re.compile(
    r"(images?|imgs?|frames|data|jpegimages|pictures|obj_train_data|annotations?|labels?|anns?|detections|dets|predictions"
    r"|preds|results|outputs)"
)
"""Folders of any data set; they do not tell one picture from another."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The frame that a name means, by its row in the truth, and how it was found."""

    row: int
    how: How


def frame_places(truth: Given, found: Given) -> tuple[list[int | None], tuple[Correction, ...]]:
    """Return the truth's frame for each frame of the predictions (None: it has none), and what was joined loosely.

    Raises:
        InvalidInputError: a name may mean several frames, or two names mean one; then no number could be trusted.
    """
    called = [name or key for name, key in found.frames.select("name", "key").iter_rows()]
    own = truth.frames["name"][: truth.known_frames].to_list()
    names = _Names(truth, called, uploads=truth.uploads or found.uploads or _all_uploaded(called) or _all_uploaded(own))
    meant = [names.find(name, found.source) for name in called]
    best: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(meant):
        if item is not None:
            best[item.row].append(number)
    kept: list[int | None] = [None if item is None else item.row for item in meant]
    for row, numbers in best.items():
        for number in _weaker(numbers, meant, called, (found.source, names.called(row))):
            kept[number] = meant[number] = None
    return kept, tuple(_loose(meant, called, names))


def _weaker(
    numbers: Sequence[int], meant: Sequence[Meant | None], called: Sequence[str], told: tuple[str, str]
) -> list[int]:
    """Return those of the frames that mean one frame of the truth which are less sure than the surest of them."""
    ranks = {number: _SURE.index(item.how) for number in numbers if (item := meant[number]) is not None}
    surest = [number for number, rank in ranks.items() if rank == min(ranks.values())]
    if len(surest) > 1:
        first, second = (called[number] for number in surest[:2])
        raise InvalidInputError(
            f"{told[0]}: {first!r} and {second!r} would both be the frame {told[1]!r} of the truth; give them "
            "names with the folders that the truth has."
        )
    return [number for number in numbers if number not in surest]


def _loose(meant: Sequence[Meant | None], called: Sequence[str], names: "_Names") -> list[Correction]:
    words = {
        "name": ("frame_joined_by_name", "counted as one frame: the names are the same, their folders are not"),
        "upload": ("frame_joined_as_upload", "counted as one frame: the name is that of an upload to Label Studio"),
    }
    corrections = []
    for how, (kind, done) in words.items():
        rows = [(number, item.row) for number, item in enumerate(meant) if item is not None and item.how == how]
        if rows:
            examples = tuple(f"{called[number]} as {names.called(row)}" for number, row in rows[:_SHOWN])
            corrections.append(Correction(kind, len(rows), examples, done))
    return corrections


class _Names:
    """The truth's frames by key, and by every end of their paths, each without the extension."""

    def __init__(self, truth: Given, others: Sequence[str], *, uploads: bool) -> None:
        listed = truth.frames[: truth.known_frames]
        self._keys = {key: number for number, key in enumerate(listed["key"]) if key}
        pairs = listed.select("name", "key").iter_rows()
        self._called: list[str] = [name.split("\n")[0] or key for name, key in pairs]
        self._whole: dict[str, int | None] = {}
        self._joined = ["/".join(_parts(stem_of(plain_path(name)))) for name in self._called]
        self._ends: dict[str, int | None] = {}
        self._telling: dict[str, int | None] = {}  # ends without the folders that every data set has
        self._uploads: dict[str, int | None] = {}
        self._clashes: dict[str, list[int]] = defaultdict(list)
        self._root, self._other_root = _root(self._called), _root(others)
        for number, names in enumerate(listed["name"]):
            for name in names.split("\n") if names else ():
                path = stem_of(plain_path(name))
                self._enter(self._whole, path, number)
                parts = _parts(path)
                for end in _ends(parts):
                    self._enter(self._ends, end, number)
                for end in _ends(_telling(parts)):
                    self._enter(self._telling, end, number)
                if uploads:
                    self._enter(self._uploads, _as_uploaded(path), number)

    def called(self, row: int) -> str:
        """Return what the truth calls a frame."""
        return self._called[row]

    def find(self, name: str, source: str) -> Meant | None:
        """Return the frame that `name` means, None where there is none.

        Raises:
            InvalidInputError: it may mean several.
        """
        if name in self._keys:
            return Meant(self._keys[name], "key")
        path = stem_of(plain_path(name))
        if self._whole.get(path) is not None:
            return Meant(self._one(self._whole, path, name, source), "path")
        parts = _parts(path)
        for end in _ends(parts):
            row = self._ends.get(end)
            if row is not None and ("/" in end or len(parts) == 1):
                return Meant(row, "end" if end in {"/".join(parts), self._joined[row]} else "part")
        for end in _ends(_telling(parts)):
            if end in self._telling:
                return self._by_telling(self._one(self._telling, end, name, source), parts, end)
        upload = _as_uploaded(path) if self._uploads else ""
        return Meant(self._one(self._uploads, upload, name, source), "upload") if upload in self._uploads else None

    def _by_telling(self, row: int, parts: Sequence[str], end: str) -> Meant | None:
        """Return how sure it is that what ends so is that frame; another split is another frame."""
        own = _parts(self._joined[row])
        if "/" in end:
            return Meant(row, "part")
        splits = split_of_folders("/".join(parts)), split_of_folders(self._joined[row])
        if all(splits) and splits[0] != splits[1]:
            return None
        told = _folders(parts, self._other_root), _folders(own, self._root)
        return Meant(row, "name" if all(told) else "bare")

    def _enter(self, index: dict[str, int | None], name: str, number: int) -> None:
        if index.get(name, number) != number:
            known = index[name]
            self._clashes[name] += [number] if known is None else [known, number]
            index[name] = None
        elif name not in index:
            index[name] = number

    def _one(self, index: dict[str, int | None], end: str, name: str, source: str) -> int:
        row: int | None = index[end]
        if row is None:
            row = self._of_extension(end, name)
        if row is None:
            first, second = (self._called[number] for number in self._clashes[end][:2])
            raise InvalidInputError(
                f"{source}: {name!r} may be the frame {first!r} or {second!r} of the truth; name pictures with their "
                "folders."
            )
        return row

    def _of_extension(self, end: str, name: str) -> int | None:
        """Return the one of several frames called `end` that has the extension of `name` too: a.jpg beside a.png."""
        wanted = _extension(name)
        rows = {row for row in self._clashes[end] if _extension(self._called[row]) == wanted}
        return rows.pop() if len(rows) == 1 and wanted else None


def _extension(name: str) -> str:
    """Return what follows the stem of a name."""
    return name[len(stem_of(name)) :].lower()


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", ".."}]


def _telling(parts: Sequence[str]) -> list[str]:
    """Return a path without the folders that say nothing."""
    return [*(part for part in parts[:-1] if not _SAY_NOTHING.fullmatch(part.lower())), *parts[-1:]]


def _ends(parts: Sequence[str]) -> list[str]:
    """Return a path and its ends, the longest first.

    >>> _ends(["a", "b", "c"])
    ['a/b/c', 'b/c', 'c']
    """
    return ["/".join(parts[number:]) for number in range(len(parts))]


def _root(names: Sequence[str]) -> list[str]:
    """Return the folders that all names lie in."""
    paths = [_parts(plain_path(name))[:-1] for name in names if name]
    shared: list[str] = []
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return shared


def _folders(parts: Sequence[str], root: Sequence[str]) -> list[str]:
    """Return the folders of a path under `root` that say something."""
    folders = list(parts[:-1])
    return _telling([*folders[len(root) :], ""])[:-1] if folders[: len(root)] == list(root) else _telling(parts)[:-1]


def _all_uploaded(names: Sequence[str]) -> bool:
    """Tell whether every picture bears what Label Studio puts before a name, as all of its exports have it."""
    return bool(names) and all(_UPLOADED.fullmatch(plain_path(name).rpartition("/")[2]) for name in names)


def _as_uploaded(path: str) -> str:
    """Return the name of a picture as Label Studio stores it, without what it puts before it.

    >>> _as_uploaded("c829cd87-a_b"), _as_uploaded("set/a b")
    ('a_b', 'a_b')
    """
    name = path.rpartition("/")[2]
    own = _UPLOADED.fullmatch(name)
    return _NOT_STORED.sub("", (own[1] if own else name).strip().replace(" ", "_"))
