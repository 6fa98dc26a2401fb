"""Regression sets: past failures of models that every later model must keep right, frozen under their digest."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

from driveflow.canonical import Json, canonical_json, digest_bytes
from driveflow.errors import InvalidInputError, NotFoundError

KIND = "driveflow-regressions"
_DIGEST = re.compile(r"[0-9a-f]{64}")

Corners: TypeAlias = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels."""


@dataclass(frozen=True, slots=True, order=True)
class RegressionObject:
    """An object of the hold-out that must be found: its frame, its class and its box."""

    frame_id: str
    class_name: str
    box: Corners

    def told(self) -> str:
        """Return it in words, without its frame."""
        return self.class_name


@dataclass(frozen=True, slots=True, order=True)
class FalseAlarm:
    """A place of a frame where no false detection of the class may be.

    `mistake` is what kind it was (`Bkg`, `Dupe`, ..., or empty). `objects` of the class lay there when it was written
    down: a duplicate has one. Where more lie there later, the label has changed, and nothing can be told.
    """

    frame_id: str
    class_name: str
    box: Corners
    mistake: str = ""
    objects: int = 0

    def told(self) -> str:
        """Return it in words, without its frame."""
        return f"false {self.class_name}"


@dataclass(frozen=True, slots=True, order=True)
class WrongClass:
    """An object that was `said` to be of another class: it must be found, and nothing may say so of it again."""

    frame_id: str
    class_name: str
    box: Corners
    said: str

    def told(self) -> str:
        """Return it in words, without its frame."""
        return f"{self.class_name} taken for {self.said}"


PastFailure: TypeAlias = RegressionObject | FalseAlarm | WrongClass


@dataclass(frozen=True, slots=True)
class RegressionSet:
    """What must stay right, why it was written down, and the digest of the file that says so."""

    name: str
    note: str
    failures: tuple[PastFailure, ...]
    digest: str = ""

    @property
    def objects(self) -> tuple[RegressionObject, ...]:
        """Return the objects that must be found."""
        return tuple(one for one in self.failures if isinstance(one, RegressionObject))

    @property
    def false_alarms(self) -> tuple[FalseAlarm, ...]:
        """Return the places that must stay without a false detection."""
        return tuple(one for one in self.failures if isinstance(one, FalseAlarm))

    @property
    def wrong_classes(self) -> tuple[WrongClass, ...]:
        """Return the objects that must keep their class."""
        return tuple(one for one in self.failures if isinstance(one, WrongClass))


def write_regressions(found: RegressionSet) -> bytes:
    """Return the file of a regression set; the same failures in any order give the same bytes."""
    alarms = [{**_written(one), **_known(one)} for one in sorted(set(found.false_alarms))]
    classes = [{**_written(one), "said": one.said} for one in sorted(set(found.wrong_classes))]
    lists: dict[str, Json] = {
        "objects": [_written(one) for one in sorted(set(found.objects))],
        **({"false_alarms": alarms} if alarms else {}),
        **({"wrong_classes": classes} if classes else {}),
    }
    return canonical_json({"kind": KIND, "name": found.name, "note": found.note, **lists}).encode()


def read_regressions(data: bytes, where: str) -> RegressionSet:
    """Return the set that `data`, the file at `where`, holds.

    Raises:
        InvalidInputError: it is no such file.
    """
    try:
        value: Any = json.loads(data)
        kind, name, note = value["kind"], str(value["name"]), str(value.get("note", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f"{where} is no regression set: {error!r}. `driveflow regressions` makes one."
        ) from error
    if kind != KIND:
        raise InvalidInputError(f"{where} is no regression set: its kind is {kind!r}, not {KIND!r}.")
    failures = (
        *_each(value, "objects", where, _object),
        *_each(value, "wrong_classes", where, _wrong_class),
        *_each(value, "false_alarms", where, _false_alarm),
    )
    if not failures:
        raise InvalidInputError(f"{where} is no regression set: it holds nothing that must stay right.")
    return RegressionSet(name, note, failures, digest_bytes(data))


def regressions_schema() -> str:
    """Return the JSON Schema of the file, as text."""
    return (files("validation") / "regressions.schema.json").read_text("utf-8")


def load_regressions(name: str, store: str) -> RegressionSet:
    """Return the set that `name` says: a digest in the store, an address, or a path.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is no regression set, or not the one of its digest.
    """
    return read_regressions(*_bytes_of(name, store))


def keep_regressions(name: str, store: str) -> str:
    """Keep the set that `name` says in the store, and return its digest: a file that changes is another set.

    Raises:
        NotFoundError, InvalidInputError: as `load_regressions`.
    """
    from driveflow.reuse import put_object

    data, where = _bytes_of(name, store)
    found = read_regressions(data, where)
    put_object(store, data, ".json")
    return found.digest


def _bytes_of(name: str, store: str) -> tuple[bytes, str]:
    """Return the file of a set, and how it is called."""
    from driveflow.reuse import read_object
    from driveflow.storage.objects import join, local_path, read_bytes, to_uri

    if _DIGEST.fullmatch(name):
        uri = join(store, "objects", f"{name}.json")
        try:
            return read_object(uri), uri
        except NotFoundError as error:
            raise NotFoundError(f"There is no regression set {name[:12]} in {store}.") from error
    uri = name if "://" in name else to_uri(name)
    path = local_path(uri)
    if path is not None and path.is_dir():
        raise NotFoundError(
            f"There is no regression set {name!r}: a folder is none; a file, or the digest of one, would do."
        )
    try:
        return read_bytes(uri), name
    except NotFoundError as error:
        raise NotFoundError(f"There is no regression set {name!r}: {error}") from error


def _each(
    value: Mapping[str, Any], key: str, where: str, build: Callable[[Any], PastFailure]
) -> tuple[PastFailure, ...]:
    items = value.get(key, [])
    if not isinstance(items, list):
        raise InvalidInputError(f"{where}: {key} is no list. `driveflow regressions` makes such a file.")
    found = []
    for number, item in enumerate(items):
        try:
            found.append(build(item))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InvalidInputError(f"{where}: entry {number} of {key} cannot be read: {error!r}.") from error
    return tuple(found)


def _object(item: Any) -> RegressionObject:  # noqa: ANN401 JSON
    return RegressionObject(*_place(item))


def _false_alarm(item: Any) -> FalseAlarm:  # noqa: ANN401 JSON
    return FalseAlarm(*_place(item), str(item.get("mistake", "")), int(item.get("objects", 0)))


def _wrong_class(item: Any) -> WrongClass:  # noqa: ANN401 JSON
    return WrongClass(*_place(item), str(item["said"]))


def _place(item: Any) -> tuple[str, str, Corners]:  # noqa: ANN401 JSON
    box = item["box"]
    if not isinstance(box, Sequence) or isinstance(box, str) or len(box) != 4:
        raise ValueError(f"box {box!r} has not four numbers")
    x1, y1, x2, y2 = (float(value) for value in box)
    if not all(map(math.isfinite, (x1, y1, x2, y2))) or x2 < x1 or y2 < y1:
        raise ValueError(f"box {box!r} is not x1, y1, x2, y2 in pixels")
    frame_id, class_name = str(item["frame_id"]), str(item["class_name"])
    (frame_id + class_name).encode()  # half a character, which JSON can spell, is a ValueError here
    return frame_id, class_name, (x1, y1, x2, y2)


def _written(one: PastFailure) -> dict[str, Json]:
    return {"frame_id": one.frame_id, "class_name": one.class_name, "box": list(one.box)}


def _known(one: FalseAlarm) -> dict[str, Json]:
    mistake: dict[str, Json] = {"mistake": one.mistake} if one.mistake else {}
    return {**mistake, **({"objects": one.objects} if one.objects else {})}
