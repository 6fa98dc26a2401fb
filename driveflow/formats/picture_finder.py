"""Find the picture that a label file speaks of, by the name it says or by its own."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from driveflow.formats.file_kinds import may_be_picture
from driveflow.formats.near_time import as_timed
from driveflow.formats.path_index import PathIndex, folder_of, plain_path
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_BESIDE = ("", "images", "JPEGImages", "Images", "image", "imgs")


@dataclass(frozen=True, slots=True)
class Found:
    """The picture, or the reason why there is none and what a person should know."""

    path: str = ""
    reason: str = ""  # label_missing_picture or label_ambiguous_picture
    detail: str = ""


class PictureFinder:
    """The pictures of a batch by name and by name without extension."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Index the files of `paths` that may be pictures."""
        self.pictures = sorted(path for path in paths if may_be_picture(path))
        self._by_path = PathIndex(as_timed(paths, self.pictures))
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        self._by_folder: dict[str, list[str]] = defaultdict(list)
        for path in self.pictures:
            self._by_stem[stem_of(path)].append(path)
            self._by_folder[folder_of(path)].append(path)
        self._stems = PathIndex(as_timed(paths, self._by_stem))

    def named(self, label_file: str, name: str, folders: Sequence[str] = ()) -> Found:
        """Return the picture that `label_file` calls `name`; `folders` are looked into first."""
        path = plain_path(name)
        found = self._by_path.find([*folders, *homes(label_file)], path) if path else []
        return _one(label_file, name, found) if found else self._missing(name)

    def stemmed(self, label_file: str, stem: str, folders: Sequence[str] = ()) -> Found:
        """Return the picture that is called `stem` but for its extension."""
        stems = self._stems.find([*folders, *homes(label_file)], plain_path(stem)) if stem else []
        found = [path for known in stems for path in self._by_stem[known]]
        return _one(label_file, stem, found) if found else self._missing(stem)

    def _missing(self, name: str) -> Found:
        nearly = self._by_path.nearly(plain_path(name))
        hint = f"; {nearly!r} is called nearly so" if nearly else ""
        return Found(reason="label_missing_picture", detail=f"{name!r} is no file of this batch{hint}")

    def at(self, stem: str) -> list[str]:
        """Return the pictures whose whole path without extension is `stem`."""
        return self._by_stem.get(stem, [])

    def of(self, label_file: str, said: str) -> Found:
        """Return the picture of a label file of one picture: one beside it of its own name, else the one it says.

        Names inside of such files go stale when pairs of files are renamed, and may lack the extension.
        """
        stem = bare_stem(label_file)
        beside = next((found for home in homes(label_file) if (found := self.at(f"{home}/{stem}".lstrip("/")))), ())
        if beside:
            called = [path for path in beside if path.rpartition("/")[2] == plain_path(said).rpartition("/")[2]]
            return _one(label_file, stem, called or beside)
        tries = [self.named(label_file, said), self.stemmed(label_file, said), self.stemmed(label_file, stem)]
        lost = sorted(tries, key=lambda found: found.reason != "label_ambiguous_picture")
        return next((found for found in tries if found.path), lost[0])

    def under(self, folder: str) -> list[str]:
        """Return the pictures directly in `folder`."""
        return self._by_folder.get(folder, [])


def bare_stem(path: str) -> str:
    """Return the name of `path` without its folder and its extension.

    >>> bare_stem("a.b/c.d.jpg"), bare_stem("a.b/c")
    ('c.d', 'c')
    """
    return stem_of(path).rpartition("/")[2]


def stem_of(path: str) -> str:
    """Return `path` without the extension of its name.

    >>> stem_of("a.b/c.d.jpg"), stem_of("a.b/c")
    ('a.b/c.d', 'a.b/c')
    """
    folder, slash, name = path.rpartition("/")
    return folder + slash + (name.rpartition(".")[0] or name)


def homes(label_file: str) -> list[str]:
    """Return the folders in which the pictures of `label_file` are looked for first."""
    home = folder_of(label_file)
    places = [home, folder_of(home)]
    head, labels, tail = f"/{home}/".rpartition("/Annotations/")
    if labels and tail:  # Annotations/part/a.xml with JPEGImages/part/a.jpg
        places += [f"{head}/{beside}/{tail}".strip("/") for beside in _BESIDE[1:]]
    return list(dict.fromkeys(f"{place}/{beside}".strip("/") for place in places for beside in _BESIDE))


def _one(label_file: str, name: str, found: Sequence[str]) -> Found:
    """Return the one of `found`, which are some, that is meant: the nearest to the label file, else of its split."""
    if len(found) > 1:
        shared = {path: _shared_folders(label_file, path) for path in found}
        found = [path for path in found if shared[path] == max(shared.values())]
    if len(found) > 1:
        split = split_of_file_name(label_file) or split_of_folders(label_file)
        found = [path for path in found if split and split_of_folders(path) == split] or found
    if len(found) > 1:
        detail = f"{name!r} may be {found[0]} or {found[1]} ({len(found)} in all)"
        return Found(reason="label_ambiguous_picture", detail=detail)
    return Found(found[0])


def _shared_folders(one: str, other: str) -> int:
    pairs = zip(folder_of(one).split("/"), folder_of(other).split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
