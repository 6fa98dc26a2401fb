"""Read the labels of BDD100K's stills: the file of 2018, det_20, and one file a picture."""

import re
from typing import Final

from driveflow.formats.bdd100k_names import IGNORE_AS, classes_of, is_bdd100k
from driveflow.formats.json_text import object_of
from driveflow.formats.label_collector import LabelCollector, label_files
from driveflow.formats.label_set import LabelFiles, LabelSet
from driveflow.formats.path_index import folder_of
from driveflow.formats.scalabel import Dialect, ScalabelReader
from driveflow.formats.scalabel_frames import ScalabelDocument, ScalabelFrame, sample, scalabel_documents
from driveflow.formats.sniff import Sniffer

_VIDEO: Final = re.compile(r"([0-9a-f]{8}-[0-9a-f]{8})(\.\w+)?")


def bdd100k_files(sniffer: Sniffer) -> list[str]:
    """Return the files with labels of BDD100K's stills, by content."""
    return [path for path, document in scalabel_documents(sniffer) if is_bdd100k(document)]


def read_bdd100k(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what BDD100K's label files say of the batch, or those at `annotations`.

    Every listed picture was looked at for the ten classes of its edition, also where it has no key `labels`; pictures
    that no file lists are unlabeled, of which there are some in the set of 2018.
    """
    collector = LabelCollector(files)
    folders = {folder_of(path) for path in collector.finder.pictures if "100k" in path.split("/")}
    dialect = Dialect(
        silent_is_empty=True,
        ignore_as=IGNORE_AS,
        folders=tuple(sorted(folders)),  # the set of 10,000 for segmentation repeats names
        drive_of=_drive,
    )
    for path in label_files(files, annotations, bdd100k_files):
        document = ScalabelReader(collector, path, dialect).read(files.read(path))
        if document:
            seen = frozenset(collector.seen[path])
            collector.settle(path, classes_of(seen, by_hand=_says_by_hand(document)))
    collector.note_repeats()
    collector.note_unlisted()
    return collector.build()


def _drive(frame: ScalabelFrame) -> str:
    """Return the video that a still was cut from, which is its name."""
    named = _VIDEO.fullmatch(frame.name)
    return frame.video or (named[1] if named else "")


def _says_by_hand(document: ScalabelDocument) -> bool:
    return any("manualShape" in object_of(label) for frame in sample(document) for label in frame.labels or ())
