"""The pictures that the page of `driveflow evaluate` shows: of a snapshot, or what lies with files of labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driveflow.images.decode import Pixels
    from driveflow.place import Place
    from driveflow.snapshots import Snapshot
    from validation.evaluation_page import OpenPictures
    from validation.inputs.read_inputs import EvaluationInputs
    from validation.model.scene import EvaluationRequest
    from validation.pages.album import Pictures


def pictures_of_snapshot(snapshot: "Snapshot", place: "Place") -> "OpenPictures":
    """Return what opens pictures of a snapshot's frames, wherever their bytes lie."""
    from driveflow.images.decode import decode_rgb
    from driveflow.images.pixels import open_pixels

    def opened(_frame_ids: Sequence[str]) -> "Pictures":
        pixels = open_pixels(snapshot, place)

        def of(frame_id: str) -> "Pixels":
            return decode_rgb(pixels.read(frame_id))

        return of

    return opened


def pictures_of_files(inputs: "EvaluationInputs", request: "EvaluationRequest", folder: Path) -> "OpenPictures | None":
    """Return what opens pictures among the files of a truth; those in archives or far away are brought to `folder`."""
    from validation.inputs.label_files import local_files
    from validation.truth_pictures import TruthPictures

    files = inputs.truth_files or (local_files(inputs.truth) if inputs.truth is not None else None)
    if files is None or request.sources is None:
        return None
    rows = zip(request.sources["frame_id"].to_pylist(), request.sources["path"].to_pylist(), strict=True)
    return TruthPictures(files, {frame_id: path or frame_id for frame_id, path in rows}, folder)
