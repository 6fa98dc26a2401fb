"""The pictures of a truth that is files: those of a few frames, brought near in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from driveflow.errors import NotFoundError
from driveflow.formats.picture_finder import PictureFinder, homes, stem_of
from driveflow.images.decode import Pixels, decode_rgb
from validation.inputs.label_files import LocalFiles
from validation.pages.album import Pictures

_REMEDY: Final = "to see frames, name a folder, an archive or a snapshot that holds them too"


@dataclass(frozen=True, slots=True)
class TruthPictures:
    """Opens pictures among the `files` of a truth, or beside it where it is one file of labels.

    `path_of` says under which path the truth knows a frame. What lies in archives or far away is brought to `folder`.
    """

    files: LocalFiles
    path_of: Mapping[str, str]
    folder: Path

    def __call__(self, frame_ids: Sequence[str]) -> Pictures:
        """Return what gives the pixels of any of `frame_ids`.

        Raises:
            NotFoundError: there is no picture of any of them.
        """
        found = self._found(frame_ids)
        if not found:
            example = self.path_of.get(frame_ids[0], frame_ids[0])
            raise NotFoundError(f"No picture of a frame, such as {example!r}, lies with the truth: {_REMEDY}.")
        places = self._brought(sorted(set(found.values())))

        def pixels(frame_id: str) -> Pixels:
            place = places.get(found.get(frame_id, ""))
            if place is None:
                raise NotFoundError(f"no picture of {self.path_of.get(frame_id, frame_id)!r} lies with the truth")
            return decode_rgb(place.read_bytes())

        return pixels

    def _found(self, frame_ids: Sequence[str]) -> dict[str, str]:
        """Return the path of each frame's picture as seen from the folder of the files, where there is one."""
        if len(self.files.paths) == 1 and self.files.elsewhere is None:
            told = {frame_id: self._beside(frame_id) for frame_id in frame_ids}
        else:
            finder = PictureFinder(self.files.paths)
            told = {frame_id: self._among(finder, frame_id) for frame_id in frame_ids}
        return {frame_id: path for frame_id, path in told.items() if path}

    def _among(self, finder: PictureFinder, frame_id: str) -> str:
        name = self.path_of.get(frame_id, frame_id)
        return finder.named("", name).path or finder.stemmed("", stem_of(name)).path

    def _beside(self, frame_id: str) -> str:
        """Return the path of a picture beside the one file of labels, or in the folders where its pictures may lie.

        Of instances_train.json these are also the folders called train.
        """
        name, labels = self.path_of.get(frame_id, frame_id), self.files.paths[0]
        split = stem_of(labels).rpartition("_")[2]
        places = homes(f"{self.files.folder.resolve().name}/{labels}")
        tries = [f"../{home}/{name}" for home in [*places, *(f"{home}/{split}" for home in places)]]
        return next((path for path in tries if name and _is_file(self.files.folder / path)), "")

    def _brought(self, paths: Sequence[str]) -> dict[str, Path]:
        """Return where each picture lies on this machine."""
        here = {path: self.files.folder / path for path in paths}
        places = {path: place for path, place in here.items() if _is_file(place)}
        away = [path for path in paths if path not in places]
        for number, (path, stream) in enumerate(self.files.open_each(away) if away else ()):
            places[path] = self.folder / f"picture-{number}"
            places[path].write_bytes(stream.read())
        return places


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that this machine cannot hold
        return False
