"""Find the pictures of a video by the numbers of their frames."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.formats.file_kinds import kind_of
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import PictureFinder, bare_stem, homes

_DIGITS: Final = re.compile(r"(\d+)", re.ASCII)


def natural_key(path: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts 9.jpg before 10.jpg.

    >>> sorted(["a/10.jpg", "a/9.jpg"], key=natural_key)
    ['a/9.jpg', 'a/10.jpg']
    """
    parts = enumerate(_DIGITS.split(path))
    return tuple((int(part[:18]), part) if number % 2 else (-1, part) for number, part in parts)


def is_in_recording(path: str) -> bool:
    """Tell whether the picture at `path` is a frame of a video or a recording, and no file or member of an archive.

    >>> [is_in_recording(path) for path in ("a.jpg", "x.zip!/a.jpg", "clip.mp4!/video/40.jpg")]
    [False, False, True]
    """
    container, inside, _ = path.rpartition("!/")
    return bool(inside) and kind_of(container) != "archive"


def by_number(pictures: Sequence[str], name: re.Pattern[str]) -> Mapping[int, str]:
    r"""Return the pictures whose names, without extension, match `name`, by the number in its group 1.

    >>> by_number(["a/frame_000007.png", "a/b.png"], re.compile(r"frame_(\d+)"))
    {7: 'a/frame_000007.png'}
    """
    found = ((name.fullmatch(bare_stem(path)), path) for path in pictures)
    return {int(match[1]): path for match, path in found if match}


@dataclass(frozen=True, slots=True)
class VideoLabels:
    """What a label file says of its video, and where the label files of other videos lie."""

    file: str
    video: str = ""  # the name of the video's file
    count: int = 0  # of frames
    other_homes: frozenset[str] = frozenset()


def pictures_of_video(finder: PictureFinder, labels: VideoLabels) -> Sequence[str]:
    """Return the pictures of the video that `labels` speak of, in order; none where that may be several.

    They are in one folder: in the container called as the video, else beside the label file, else in the nearest folder
    above it that has pictures below it, those beside other label files left out. Of several there, the one with as many
    pictures as frames is meant.
    """
    folders = {folder_of(picture) for picture in finder.pictures}
    name = labels.video.replace("\\", "/").rpartition("/")[2]
    named = [folder for folder in folders if name and f"/{name}!/" in f"/{folder}/"]
    beside = [folder for folder in homes(labels.file) if folder in folders][:1]
    own = folder_of(labels.file)
    others = [home for home in labels.other_homes if home and not _is_below(own, home)]
    free = {folder for folder in folders if not any(_is_below(folder, home) for home in others)}
    for candidates in (named, beside, _below_the_nearest(free, own)):
        fitting = [folder for folder in candidates if len(finder.under(folder)) == labels.count]
        chosen = candidates if len(candidates) == 1 else fitting
        plain = [folder for folder in chosen if not is_in_recording(f"{folder}/")]
        for choice in (chosen, plain):
            if len(choice) == 1:
                return sorted(finder.under(choice[0]), key=natural_key)
    return ()


def _below_the_nearest(folders: set[str], start: str) -> list[str]:
    near = start
    while near:
        below = [folder for folder in folders if _is_below(folder, near)]
        if below:
            return below
        near = folder_of(near)
    return list(folders)


def _is_below(folder: str, home: str) -> bool:
    return f"{folder}/".startswith(f"{home}/")
