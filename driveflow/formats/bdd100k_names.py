"""The names that BDD100K gives to classes, and how its documents of stills differ from other Scalabel documents."""

from collections.abc import Mapping
from typing import Final

from driveflow.formats.json_text import object_of
from driveflow.formats.scalabel_frames import ScalabelDocument, sample
from driveflow.formats.scalabel_labels import category_of

CLASSES_2018: Final = (
    "bus", "traffic light", "traffic sign", "person", "bike", "truck", "motor", "car", "train", "rider",
)  # fmt: skip
CLASSES_2020: Final = (
    "pedestrian", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "traffic light", "traffic sign",
)  # fmt: skip
IGNORE_AS: Final[Mapping[str, str]] = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
"""Categories of 2020 that BDD100K's own evaluation ignores, with the class that they are ignored for."""

_ONLY_2020: Final = frozenset(["pedestrian", "motorcycle", "bicycle", *IGNORE_AS])
_NO_OBJECTS: Final = ("lane", "area/", "drivable area")
_KNOWN: Final = frozenset([*CLASSES_2018, *CLASSES_2020, *IGNORE_AS, "caravan", "van"])
_OF_A_FRAME: Final = frozenset(["weather", "scene", "timeofday"])


def is_bdd100k(document: ScalabelDocument) -> bool:
    """Tell whether these are labels of BDD100K's stills: its attributes of frames, its classes only, no video.

    BDD100K publishes no list of categories with them; a document that has one, be it empty, speaks for itself.
    """
    if document.states_classes:
        return False
    frames = sample(document)
    names = {category_of(object_of(label)) for frame in frames for label in frame.labels or ()}
    own = all(name in _KNOWN or name.startswith(_NO_OBJECTS) for name in names)
    described = any(len(_OF_A_FRAME & frame.attributes.keys()) > 1 for frame in frames)
    return own and described and not any(frame.video for frame in frames)


def classes_of(seen: frozenset[str], *, by_hand: bool) -> tuple[str, ...]:
    """Return the classes of the edition whose names were `seen`.

    Where those are in both editions, the flags for shapes made by hand, which 2020 dropped, tell.
    """
    if seen & (_ONLY_2020 - set(CLASSES_2018)):
        return CLASSES_2020
    return CLASSES_2018 if by_hand or seen & (set(CLASSES_2018) - set(CLASSES_2020)) else CLASSES_2020
