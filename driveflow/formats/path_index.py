"""Find the file that a label format means by a name."""

import posixpath
import re
import unicodedata
import urllib.parse
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from driveflow.formats.near_time import NearTimes, TimedPaths
from driveflow.formats.source_split import split_of_folders

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://[^/]*/", re.IGNORECASE)
_PLAIN_FOLDERS = frozenset(["", "images", "image", "imgs", "img", "frames", "data", "jpegimages", "obj_train_data"])
_DRIVE_LETTER = re.compile(r"^[a-z]:", re.IGNORECASE)


def plain_path(text: str) -> str:
    r"""Return the path that `text` spells, with "/" between its parts and no host, drive letter or leading "./".

    >>> [plain_path(text) for text in ("a\\b.jpg", "./a/../b.jpg", "C:\\x\\b.jpg", "http://host/x/b.jpg")]
    ['a/b.jpg', 'b.jpg', '/x/b.jpg', '/x/b.jpg']
    """
    path = _DRIVE_LETTER.sub("", _SCHEME.sub("/", text.strip().replace("\\", "/")))
    return posixpath.normpath(path) if path else ""


def folder_of(path: str) -> str:
    """Return the folder of `path`, empty for the top."""
    return path.rpartition("/")[0]


def under(folder: str, path: str) -> str:
    """Return `path` as seen from `folder`; what climbs above the top starts with "../"."""
    return posixpath.normpath(posixpath.join(folder, path)) if path else folder


class PathIndex:
    """The files of a batch by name: exact, by folder, by how they end."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Index `paths`, which are "/" separated."""
        self._paths = sorted(paths)
        self._known = set(self._paths)
        self._timed = paths if isinstance(paths, TimedPaths) else None
        self._near = NearTimes(self._paths, self._timed.tolerance_ns if self._timed is not None else 0)
        self._named: dict[str, list[str]] = {}
        self._alike: dict[str, list[str]] = {}
        self._folders: set[str] = set()

    def _by_name(self, name: str) -> list[str]:
        """Return the files called `name`; the table is made when a name is asked for, which is seldom."""
        if not self._named:
            named: dict[str, list[str]] = defaultdict(list)
            for path in self._paths:
                named[_fold(path.rpartition("/")[2])].append(path)
            self._named = dict(named)
        return self._named.get(name, [])

    def __contains__(self, path: str) -> bool:
        """Tell whether there is a file at `path`."""
        return path in self._known

    def has_all(self, paths: Iterable[str]) -> bool:
        """Tell whether there is a file at every one of `paths`."""
        return self._known.issuperset(paths)

    def has_folder(self, folder: str) -> bool:
        """Tell whether any file lies under `folder`."""
        if not self._folders:
            self._folders = {""}
            for above in {folder_of(path) for path in self._paths}:
                spot = above
                while spot and spot not in self._folders:
                    self._folders.add(spot)
                    spot = folder_of(spot)
        return folder in self._folders

    def files_under(self, folder: str) -> list[str]:
        """Return the files under `folder`, in order."""
        if folder in {"", "."}:
            return self._paths
        prefix = folder + "/"
        start = bisect_left(self._paths, prefix)
        return self._paths[start : bisect_left(self._paths, prefix + "\U0010ffff")]

    def ending_in(self, path: str) -> list[str]:
        """Return the files whose last parts are those of `path`; Unicode forms of one name count as one."""
        wanted = "/" + _fold(path.lstrip("/"))
        named = self._by_name(_fold(path.rpartition("/")[2]))
        found = [known for known in named if ("/" + _fold(known)).endswith(wanted)]
        exact = [known for known in found if ("/" + known).endswith("/" + path.lstrip("/"))]
        return exact or found

    def nearly(self, path: str) -> str:
        """Return the one file that is called as `path` but for case, extension or escapes of a URL, else nothing."""
        if not self._alike:
            alike: dict[str, list[str]] = defaultdict(list)
            for known in self._paths:
                alike[_like(known)].append(known)
            self._alike = dict(alike)
        found = self._alike.get(_like(urllib.parse.unquote(path.partition("?")[0])), [])
        return found[0] if len(found) == 1 else ""

    def find(self, folders: Sequence[str], path: str) -> list[str]:
        """Return what `path` may mean: the one file under the first of `folders` that has it, else all that end so.

        Leading parts of `path` that lead nowhere (the folders of another machine) are left out one by one. The bare
        name is only enough where neither side names a drive or a split: train/1.jpg must not find valid/1.jpg. Where
        there is none at all, the file nearest in time counts if the batch allows that: see `TimedPaths`.
        """
        return self._find(folders, path) or self._nearest(folders, path)

    def _nearest(self, folders: Sequence[str], path: str) -> list[str]:
        if self._timed is None:
            return []
        rest = re.sub(r"^(/|\.\./)+", "", path)
        near = [self._near.find(under(folder, rest)) for folder in folders]
        joined = next((item for item in near if item is not None), None) or self._near.ending_in(rest)
        if joined is None:
            return []
        self._timed.joined[joined.wanted] = joined
        return [joined.found]

    def _find(self, folders: Sequence[str], path: str) -> list[str]:
        for folder in folders:
            if not path.startswith("/") and (direct := under(folder, path)) in self._known:
                return [direct]
        rest = re.sub(r"^(/|\.\./)+", "", path)
        bare = "/" not in rest
        while rest:
            found = self.ending_in(rest)
            if "/" not in rest and not bare:
                found = [file for file in found if _is_plain(folder_of(file)) or folder_of(file) in folders]
                return [] if split_of_folders(path) else found
            if found:
                return found
            rest = rest.partition("/")[2]
        return []

    def find_folder(self, folders: Iterable[str], path: str) -> str | None:
        """Return the folder that `path` means, seen from one of `folders`; its leading parts may lead nowhere."""
        starts = list(folders)
        parts = path.lstrip("/").split("/")
        for first in range(len(parts)):
            for start in starts:
                spot = under(start, "/".join(parts[first:])).removeprefix(".")
                if self.has_folder(spot):
                    return spot
        return None


def _is_plain(folder: str) -> bool:
    return folder.rpartition("/")[2].lower() in _PLAIN_FOLDERS


def _like(path: str) -> str:
    name = path.rpartition("/")[2]
    return _fold((name.rpartition(".")[0] or name).casefold())


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text)
