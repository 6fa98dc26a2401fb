"""Find the pictures of a video by the numbers of their frames."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import PictureFinder, homes, stem_of

_DIGITS: Final = re.compile(r"(\d+)", re.ASCII)


def natural_key(path: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts 9.jpg before 10.jpg.

    >>> sorted(["a/10.jpg", "a/9.jpg"], key=natural_key)
    ['a/9.jpg', 'a/10.jpg']
    """
    parts = enumerate(_DIGITS.split(path))
    return tuple((int(part[:18]), part) if number % 2 else (-1, part) for number, part in parts)


def by_number(pictures: Sequence[str], name: re.Pattern[str]) -> Mapping[int, str]:
    r"""Return the pictures whose names, without extension, match `name`, by the number in its group 1.

    >>> by_number(["a/frame_000007.png", "a/b.png"], re.compile(r"frame_(\d+)"))
    {7: 'a/frame_000007.png'}
    """
    found = ((name.fullmatch(stem_of(path).rpartition("/")[2]), path) for path in pictures)
    return {int(match[1]): path for match, path in found if match}


def pictures_of_video(finder: PictureFinder, label_file: str, video: str = "", count: int = 0) -> Sequence[str]:
    """Return the pictures of the video that `label_file` speaks of, in order; none where that may be several.

    They are in one folder: in the container called `video`, else beside the label file, else in the nearest folder
    above it that has pictures below it. Of several there, the one with `count` pictures is meant.
    """
    folders = {folder_of(picture) for picture in finder.pictures}
    name = video.replace("\\", "/").rpartition("/")[2]
    named = [folder for folder in folders if name and f"/{name}!/" in f"/{folder}/"]
    beside = [folder for folder in homes(label_file) if folder in folders][:1]
    for candidates in (named, beside, _below_the_nearest(folders, folder_of(label_file))):
        fitting = [folder for folder in candidates if len(finder.under(folder)) == count]
        chosen = candidates if len(candidates) == 1 else fitting
        plain = [folder for folder in chosen if "!/" not in f"{folder}/"]
        for choice in (chosen, plain):
            if len(choice) == 1:
                return sorted(finder.under(choice[0]), key=natural_key)
    return ()


def _below_the_nearest(folders: set[str], start: str) -> list[str]:
    near = start
    while near:
        below = [folder for folder in folders if f"{folder}/".startswith(f"{near}/")]
        if below:
            return below
        near = folder_of(near)
    return list(folders)
