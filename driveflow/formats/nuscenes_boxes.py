"""Make boxes of pictures out of nuScenes and T4 annotations: 2D ones as they are, 3D ones projected."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from driveflow.canonical import Json, canonical_json
from driveflow.formats.cuboid import Array, Pinhole, Pose, cuboid_corners, project_cuboids, rotation_of
from driveflow.formats.nuscenes_tables import (
    CalibratedSensor,
    EgoPose,
    Instance,
    Named,
    NuscenesTables,
    ObjectAnn,
    SampleAnnotation,
    SampleData,
    token,
)

Row = dict[str, object]
_FAR = 1e9  # metres and pixels that no map and no camera has
_NEVER_BOXED = frozenset([
    "noise", "flat.driveable_surface", "flat.sidewalk", "flat.terrain", "flat.other", "static.manmade",
    "static.vegetation", "static.other", "vehicle.ego",
])  # fmt: skip
"""What nuScenes-lidarseg and nuImages add to the list of categories: of points of the lidar and of surfaces."""


@dataclass(frozen=True, slots=True)
class View:
    """What one camera saw at one moment: `ego` is where the car stood when this camera looked."""

    camera: Pinhole
    ego: Pose
    sensor: Pose

    def of(self, points: Array) -> Array:
        """Return points of the map as seen from the camera."""
        return self.sensor.to_inner(self.ego.to_inner(points))


@dataclass(slots=True)
class PictureBoxes:
    """The boxes of one picture; `unlisted` says of others that the tables do not list their class."""

    rows: list[Row] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Cuboids:
    """The 3D boxes of one sample; `corners` is n x 8 x 3 in the map."""

    annotations: Sequence[SampleAnnotation]
    corners: Array


class AnnotationBoxes:
    """The annotations of one set of tables, by picture and by sample."""

    def __init__(self, tables: NuscenesTables) -> None:
        """Index the annotations of `tables`; those that are no boxes are reported there."""
        self._tables = tables
        self._names = {key: kind.name for key, kind in tables.by_token("category", Named).items()}
        self._attributes = {key: kind.name for key, kind in tables.by_token("attribute", Named).items()}
        self._visibility = {key: kind.level or kind.name for key, kind in tables.by_token("visibility", Named).items()}
        self._instances = tables.by_token("instance", Instance)
        self.flat: dict[str, list[ObjectAnn]] = defaultdict(list)  # by token of the picture
        for box in tables.of("object_ann", ObjectAnn):
            self.flat[token(box.sample_data_token)].append(box)
        self._solid = self._read_solid()
        self.seen: set[str] = set()  # tokens of the 3D boxes that a camera saw

    @property
    def samples(self) -> frozenset[str]:
        """The samples that have 3D boxes."""
        return frozenset(self._solid)

    def classes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the classes looked for in 2D and in 3D: all of the list, but those only ever drawn another way."""
        flat = {token(box.category_token) for boxes in self.flat.values() for box in boxes}
        solid = {self._category(box) for boxes in self._solid.values() for box in boxes.annotations}
        listed = [(key, name) for key, name in self._names.items() if name not in _NEVER_BOXED or key in flat | solid]
        mixed = bool(flat and solid)
        return (
            tuple(dict.fromkeys(name for key, name in listed if not (mixed and key in solid - flat))),
            tuple(dict.fromkeys(name for key, name in listed if not (mixed and key in flat - solid))),
        )

    def flat_boxes(self, picture: str) -> PictureBoxes:
        """Return the 2D boxes drawn in the picture with the token `picture`; those that are none are reported."""
        found = PictureBoxes()
        for box in self.flat.get(picture, ()):
            corners = box.bbox or []
            if len(corners) != 4 or not all(map(math.isfinite, corners)) or not _has_area(corners):
                self._tables.report("object_ann", "label_bad_box", f"{token(box.token)}: bbox {box.bbox}", 1)
                continue
            self._add(found, token(box.token), token(box.category_token), corners, self._flat_attributes(box))
        return found

    def projected_boxes(self, sample: str, view: View) -> PictureBoxes:
        """Return the boxes around what `view` shows of the 3D boxes of a sample."""
        found = PictureBoxes()
        cuboids = self._solid.get(sample)
        if cuboids is None:
            return found
        corners = view.of(cuboids.corners)
        projected = project_cuboids(corners, view.camera)
        ranges_m = np.linalg.norm(corners.mean(axis=1), axis=1)
        for number in np.flatnonzero(~np.isnan(projected.corners[:, 0])).tolist():
            box = cuboids.annotations[number]
            self.seen.add(token(box.token))
            attributes = self._solid_attributes(box)
            attributes["truncated"] = bool(projected.cut[number])
            attributes["range_m"] = round(float(ranges_m[number]), 1)
            self._add(found, token(box.token), self._category(box), projected.corners[number].tolist(), attributes)
        return found

    def count_solid(self) -> int:
        """Return how many 3D boxes there are."""
        return sum(len(cuboids.annotations) for cuboids in self._solid.values())

    def _read_solid(self) -> dict[str, _Cuboids]:
        boxes: dict[str, list[SampleAnnotation]] = defaultdict(list)
        corners: dict[str, list[Array]] = defaultdict(list)
        for box in self._tables.of("sample_annotation", SampleAnnotation):
            try:
                corners[token(box.sample_token)].append(_corners(box))
            except ValueError as error:
                self._tables.report("sample_annotation", "label_bad_box", f"{token(box.token)}: {error}", 1)
            else:
                boxes[token(box.sample_token)].append(box)
        return {sample: _Cuboids(boxes[sample], np.stack(corners[sample])) for sample in boxes}

    def _category(self, box: SampleAnnotation) -> str:
        instance = self._instances.get(token(box.instance_token))
        return token(instance.category_token) if instance else ""

    def _add(
        self, found: PictureBoxes, own_id: str, category: str, corners: Sequence[float], attributes: Mapping[str, Json]
    ) -> None:
        name = self._names.get(category)
        if not name:
            found.unlisted.append(f"box {own_id} has the category {category!r}, which is not listed")
            return
        found.rows.append(
            {
                "own_id": own_id,
                "class_name": name,
                **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)),
                "attributes": canonical_json(attributes),
            }
        )

    def _flat_attributes(self, box: ObjectAnn) -> dict[str, Json]:
        found = self._said(box)
        if box.mask:
            found["shape"] = "mask"
        return found

    def _solid_attributes(self, box: SampleAnnotation) -> dict[str, Json]:
        found = self._said(box) | {"shape": "cuboid"}
        counts = {"num_lidar_pts": box.num_lidar_pts, "num_radar_pts": box.num_radar_pts}
        found |= {name: count for name, count in counts.items() if count is not None}
        visibility = token(box.visibility_token)
        return found | ({"visibility": self._visibility.get(visibility) or visibility} if visibility else {})

    def _said(self, box: ObjectAnn | SampleAnnotation) -> dict[str, Json]:
        """Return what both kinds of boxes have: an attribute "vehicle.parked" is the value parked of vehicle."""
        said: dict[str, list[str]] = defaultdict(list)
        for key in map(token, box.attribute_tokens):
            kind, _, value = self._attributes.get(key, key).rpartition(".")
            said[kind or "attribute"].append(value)
        found: dict[str, Json] = {kind: values[0] if len(values) == 1 else values for kind, values in said.items()}
        instance = token(box.instance_token)
        if instance:
            found["track_id"] = instance
            named = self._instances.get(instance)
            found |= {"instance_name": named.instance_name} if named and named.instance_name else {}
        return found | ({"automatic_annotation": True} if box.automatic_annotation else {})


def view_of(data: SampleData, ego: EgoPose | None, sensor: CalibratedSensor) -> View | None:
    """Return the view of the picture `data`, None where its pose, its calibration or its size is missing or wrong."""
    if ego is None or not data.width or not data.height or data.width < 0 or data.height < 0:
        return None
    try:
        intrinsic = _numbers(sensor.camera_intrinsic, (3, 3))
        return View(
            Pinhole(intrinsic, data.width, data.height),
            _pose(ego.rotation, ego.translation),
            _pose(sensor.rotation, sensor.translation),
        )
    except ValueError:
        return None


def _corners(box: SampleAnnotation) -> Array:
    width, length, height = _numbers(box.size, (3,)).tolist()
    if min(width, length, height) <= 0:
        raise ValueError(f"size {box.size}")
    return cuboid_corners(_pose(box.rotation, box.translation), (length, width, height))


def _pose(rotation: Sequence[float], translation: Sequence[float]) -> Pose:
    return Pose(rotation_of(rotation), _numbers(translation, (3,)))


def _numbers(values: object, shape: tuple[int, ...]) -> Array:
    numbers = np.array(values, dtype=np.float64)  # ragged lists are a ValueError
    if numbers.shape != shape or not (np.abs(numbers) < _FAR).all():
        raise ValueError(f"{values} are not {' x '.join(map(str, shape))} numbers")
    return numbers


def _has_area(corners: Sequence[float]) -> bool:
    return corners[2] > corners[0] and corners[3] > corners[1]
