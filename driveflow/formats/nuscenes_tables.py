"""Read the tables of a nuScenes, nuImages or T4 data set."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from driveflow.formats.json_items import JsonItems, is_balanced
from driveflow.formats.json_text import JsonTextError, value_of
from driveflow.formats.label_set import LabelFiles, LabelProblem, ProblemList
from driveflow.formats.path_index import folder_of
from driveflow.formats.sniff import Sniffer

_Key = str | int | None


class Named(msgspec.Struct):
    """A category, an attribute, a level of visibility or a scene; T4 and nuScenes spell some of them otherwise."""

    token: _Key
    name: str = ""
    level: str = ""
    description: str = ""
    log_token: _Key = None


class Log(msgspec.Struct):
    """The recording that a scene is cut from."""

    token: _Key
    logfile: str = ""
    location: str = ""


class Sensor(msgspec.Struct):
    """A sensor of the car."""

    token: _Key
    channel: str
    modality: str = ""


class CalibratedSensor(msgspec.Struct):
    """Where a sensor sits on the car."""

    token: _Key
    sensor_token: _Key
    translation: list[float] = []
    rotation: list[float] = []
    camera_intrinsic: list[list[float]] = []
    camera_distortion: list[float] | None = None


class EgoPose(msgspec.Struct):
    """Where the car stood when one sensor looked; the last two are of T4."""

    token: _Key
    translation: list[float] = []
    rotation: list[float] = []
    geocoordinate: list[float] | None = None  # latitude, longitude, altitude
    twist: list[float] | None = None  # metres a second along x, y, z, and turns


class Sample(msgspec.Struct):
    """A moment that was labeled; nuImages names its log directly."""

    token: _Key
    scene_token: _Key = None
    log_token: _Key = None


class SampleData(msgspec.Struct):
    """One file of one sensor; `timestamp` is in microseconds."""

    token: _Key
    sample_token: _Key
    calibrated_sensor_token: _Key
    filename: str
    timestamp: int
    ego_pose_token: _Key = None
    is_key_frame: bool = False
    is_valid: bool = True
    width: int | None = None
    height: int | None = None


class Instance(msgspec.Struct):
    """One object through a scene."""

    token: _Key
    category_token: _Key
    instance_name: str = ""


class SampleAnnotation(msgspec.Struct):
    """A 3D box of a sample; `size` is width, length, height."""

    token: _Key
    sample_token: _Key
    instance_token: _Key
    translation: list[float]
    size: list[float]
    rotation: list[float]
    attribute_tokens: list[_Key] = []
    visibility_token: _Key = None
    num_lidar_pts: int | None = None
    num_radar_pts: int | None = None
    automatic_annotation: bool = False


class ObjectAnn(msgspec.Struct):
    """A 2D box of a picture; `bbox` is x1, y1, x2, y2."""

    token: _Key
    sample_data_token: _Key
    category_token: _Key
    bbox: list[float] | None = None
    instance_token: _Key = None
    attribute_tokens: list[_Key] = []
    mask: Any = None
    automatic_annotation: bool = False


class Surface(msgspec.Struct):
    """A mask of a picture that is no object."""

    token: _Key


class MapFile(msgspec.Struct):
    """A map; some are pictures, but none is a frame."""

    token: _Key
    filename: str = ""


TABLES: Final[Mapping[str, type[msgspec.Struct]]] = {
    "attribute": Named, "calibrated_sensor": CalibratedSensor, "category": Named, "ego_pose": EgoPose,
    "instance": Instance, "log": Log, "map": MapFile, "object_ann": ObjectAnn, "sample": Sample,
    "sample_annotation": SampleAnnotation, "sample_data": SampleData, "scene": Named, "sensor": Sensor,
    "surface_ann": Surface, "visibility": Named,
}  # fmt: skip
"""By the name of the file, which the format prescribes: some tables have equal columns."""
_LARGE_BYTES: Final = 32 << 20
_BESIDE: Final = ("vehicle_state", "lidarseg", "panoptic", "keypoint", "image_annotations")
_BOX_TABLES: Final = {"object_ann": "sample_data_token", "sample_annotation": "sample_token"}
"""Tables of boxes, and what names where a box is."""
_SIGNS: Final = {
    "sample_data": {"token", "sample_token", "calibrated_sensor_token", "filename"},
    "calibrated_sensor": {"token", "sensor_token", "camera_intrinsic"},
    "sample_annotation": {"token", "sample_token", "instance_token", "translation", "size"},
    "object_ann": {"token", "sample_data_token", "category_token", "bbox"},
}
_Record = TypeVar("_Record", bound=msgspec.Struct)


@dataclass(slots=True)
class NuscenesTables:
    """The tables of one folder; `files` are their paths and what belongs to them."""

    folder: str
    records: dict[str, list[Any]] = field(default_factory=dict)
    problems: ProblemList = field(default_factory=ProblemList)
    files: set[str] = field(default_factory=set)
    spoiled: set[str] = field(default_factory=set)  # tokens of the pictures and samples of boxes that are none

    def path(self, table: str) -> str:
        """Return where a table is, or should be."""
        return f"{self.folder}/{table}.json".lstrip("/")

    def of(self, table: str, kind: type[_Record]) -> Sequence[_Record]:
        """Return the records of a table, which are of the class `kind`."""
        return [record for record in self.records.get(table, ()) if isinstance(record, kind)]

    def by_token(self, table: str, kind: type[_Record]) -> Mapping[str, _Record]:
        """Return the records of a table by their tokens."""
        return {token(record.token): record for record in self.of(table, kind)}  # type: ignore[attr-defined]

    def report(self, table: str, reason: str, detail: str, boxes: int = 0) -> None:
        """Note what was wrong with a table."""
        self.problems.append(LabelProblem(self.path(table), reason, detail, None, boxes))


def token(key: _Key) -> str:
    """Return a token as text; the visibility of nuScenes is a number in some files."""
    return "" if key is None else str(key)


def table_folders(sniffer: Sniffer) -> list[str]:
    """Return the folders that hold tables: of some of them the first record is looked at."""
    found = set()
    for path in sniffer.ending_in(".json"):
        sign = _SIGNS.get(path.rpartition("/")[2].removesuffix(".json"))
        if sign and folder_of(path) not in found and sign <= sniffer.json_shape(path).keys:
            found.add(folder_of(path))
    return sorted(found)


def read_tables(files: LabelFiles, folder: str) -> NuscenesTables:
    """Return the tables in `folder`; records that make no sense are left out and named."""
    tables = NuscenesTables(folder)
    known = set(files.paths)
    for name, kind in TABLES.items():
        path = tables.path(name)
        if path in known:
            tables.files.add(path)
            tables.records[name] = _read_records(tables, name, files.read(path), kind)
    tables.files |= {tables.path(name) for name in _BESIDE} & known
    if "sample_data" not in tables.records:
        tables.report("sample_data", "label_syntax", "there is no such table: nothing says which pictures there are")
    return tables


def _read_records(tables: NuscenesTables, name: str, data: bytes, kind: type[_Record]) -> list[_Record]:
    try:
        return msgspec.json.decode(data, type=list[kind])  # type: ignore[valid-type]
    except (msgspec.DecodeError, RecursionError):
        if len(data) > _LARGE_BYTES:
            return list(_read_each(tables, name, data, kind))
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        tables.problems.append(LabelProblem(tables.path(name), "label_syntax", f"no JSON: {error}"[:200], line))
        return []
    if not isinstance(value, list):
        tables.report(name, "label_syntax", "no JSON list at the top")
        return []
    return list(_convert(tables, name, value, kind))


def _read_each(tables: NuscenesTables, name: str, data: bytes, kind: type[_Record]) -> Iterator[_Record]:
    """Yield the records of a large table, which is not in memory as a whole where some make no sense."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    if not text[:1024].lstrip().startswith(b"[") or not is_balanced(text):
        tables.report(name, "label_syntax", "no JSON list at the top, or it does not end")
        return
    for number, item in enumerate(JsonItems(memoryview(text))):
        try:
            yield msgspec.json.decode(item, type=kind)
        except (msgspec.DecodeError, RecursionError):
            yield from _convert_text(tables, name, (number, item), kind)


def _convert_text(
    tables: NuscenesTables, name: str, numbered: tuple[int, memoryview], kind: type[_Record]
) -> Iterable[_Record]:
    number, item = numbered
    try:
        value = value_of(item)
    except JsonTextError as error:
        tables.report(name, "label_syntax", f"{name}[{number}]: {error}", int(name in _BOX_TABLES))
        return ()
    return _convert(tables, name, [value], kind, number)


def _convert(
    tables: NuscenesTables, name: str, value: Sequence[Any], kind: type[_Record], start: int = 0
) -> Iterable[_Record]:
    for number, entry in enumerate(value, start):
        try:
            yield msgspec.convert(_writable(entry), kind, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            boxes = 1 if name in _BOX_TABLES else 0
            tables.report(name, "label_syntax", f"{name}[{number}]: {error}", boxes)
            where = entry.get(_BOX_TABLES[name]) if boxes and isinstance(entry, dict) else None
            tables.spoiled |= {str(where)} if isinstance(where, int | str) else set()


def _writable(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return `value` with text that UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return {_writable(key): _writable(item) for key, item in value.items()} if isinstance(value, dict) else value
