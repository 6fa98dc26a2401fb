"""The matches of an evaluation as text within its JSON: what the gate needs to compare two models later.

A header of JSON (names, digests, the kind and shape of each array) and the arrays one after the other, little-endian,
compressed with Zstandard, which adds a checksum, and spelled in base64. A detection that comes after the last hit of
its class is left out: no number depends on it; the boxes are those of the truth and of false detections alone. About
five bytes a detection and object.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
import zstandard

from driveflow.errors import InvalidInputError
from validation.model.evaluation import Evaluation
from validation.model.places import Places
from validation.model.scored import Measure, Scored, ScoredSlice, scored_of
from validation.model.sweep import Sweep

KEY = "scored"  # of an evaluation's JSON
_FORM = 5
_MOST_BYTES = 1 << 31
_LEVEL = 9
_UNREADABLE = (
    binascii.Error, zstandard.ZstdError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError,
)  # fmt: skip
_SWEEP = {
    "start": "<i8", "frame": "<i4", "tied": "|u1", "late": "|u1", "right": "<u2", "counted": "<u2",
    "object_frame": "<i4", "object_label": "<i4",
}  # fmt: skip
_OTHERS = {
    "frame_group": "<i4", "annotated": "|u1", "frame_key": "<u8", "object_corners": "<i4", "object_found": "|u1",
    "region_frame": "<i4", "region_label": "<i4", "region_corners": "<i4", "false_frame": "<i4", "false_label": "<i4",
    "false_corners": "<i4", "slice_rows": "<i4",
    "slice_starts": "<i8", "part_starts": "<i8", "part_object_starts": "<i8",
}  # fmt: skip
_PARTS = {f"part_{name}": kind for name, kind in _SWEEP.items()}  # of slices of some objects, one after the other
_KINDS = _SWEEP | _OTHERS | _PARTS


def scored_text(evaluation: Evaluation) -> str:
    """Return what the gate needs of an evaluation, as text for its JSON."""
    return write_scored(scored_of(evaluation))


def write_scored(scored: Scored) -> str:
    """Return `scored` as text; the same evaluation gives the same text."""
    arrays = _arrays(_without_tails(scored))
    header = {
        "form": _FORM,
        "measure": asdict(scored.measure),
        "holdout_id": scored.holdout_id,
        "model_digest": scored.model_digest,
        "min_score": scored.min_score,
        "classes": list(scored.classes),
        "slices": [part.name for part in scored.slices],
        "of_objects": [part.sweep is not None for part in scored.slices],
        "arrays": [[name, list(values.shape)] for name, values in arrays.items()],
    }
    parts = [json.dumps(header, sort_keys=True).encode(), b"\n", *(values.tobytes() for values in arrays.values())]
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    return base64.b64encode(compressor.compress(b"".join(parts))).decode()


def read_scored(text: str, where: str) -> Scored:
    """Return what `write_scored` wrote.

    Raises:
        InvalidInputError: it is damaged, or another program's.
    """
    try:
        packed = base64.b64decode(text, validate=True)
        data = zstandard.ZstdDecompressor().decompress(_bounded(packed))
        line, _, rest = data.partition(b"\n")
        header = json.loads(line)
        found = _scored(header, _read_arrays(header["arrays"], rest))
        _require_checksum(packed)  # which Zstandard has checked, and which was not there before form 5
    except _UNREADABLE as error:
        raise InvalidInputError(f"{where}: its matches cannot be read ({error}); evaluate again.") from error
    _check(found, where)
    return found


def find_scored(value: Any, where: str) -> Scored:  # noqa: ANN401 what a JSON file holds
    """Return the matches in an evaluation's JSON, or of the challenger in a report's.

    Raises:
        InvalidInputError: there are none.
    """
    report = value.get("challenger") if isinstance(value, Mapping) else None
    for place in (value, report):
        if isinstance(place, Mapping) and isinstance(place.get(KEY), str):
            return read_scored(place[KEY], where)
    raise InvalidInputError(
        f"{where} holds no matches, so nothing can be compared; `driveflow evaluate -o json` writes them, and so does "
        "every run (report.json)."
    )


def _bounded(data: bytes) -> bytes:
    size = zstandard.frame_content_size(data)
    if not 0 <= size <= _MOST_BYTES:
        raise ValueError(f"it would take {size} bytes")
    return data


def _require_checksum(packed: bytes) -> None:
    if not zstandard.get_frame_parameters(packed).has_checksum:
        raise ValueError("it has no checksum")


def _arrays(scored: Scored) -> dict[str, "np.ndarray[Any, Any]"]:
    rows = [part.rows for part in scored.slices]
    others = {
        "frame_group": scored.frame_group,
        "annotated": np.packbits(scored.annotated, axis=1),
        "frame_key": scored.frame_key,
        "object_corners": scored.object_corners,
        "object_found": np.packbits(scored.object_found),
        **_place_arrays("region", scored.regions),
        **_place_arrays("false", scored.false),
        "slice_rows": np.concatenate([np.zeros(0, np.int64), *rows]),
        "slice_starts": np.cumsum([0, *(len(part) for part in rows)]),
        **_part_arrays([part.sweep for part in scored.slices if part.sweep is not None]),
    }
    values = {name: getattr(scored.sweep, name) for name in _SWEEP} | others
    return {name: np.ascontiguousarray(values[name].astype(kind)) for name, kind in _KINDS.items()}


def _place_arrays(name: str, found: Places) -> dict[str, "np.ndarray[Any, Any]"]:
    return {f"{name}_frame": found.frame, f"{name}_label": found.label, f"{name}_corners": found.corners}


def _places(name: str, arrays: Mapping[str, "np.ndarray[Any, Any]"]) -> Places:
    return Places(*(arrays[f"{name}_{what}"].astype(np.int32) for what in ("frame", "label", "corners")))


def _part_arrays(parts: Sequence[Sweep]) -> dict[str, "np.ndarray[Any, Any]"]:
    """Return the sweeps of slices of some objects, one after the other."""
    nothing = np.zeros(0, np.int64)
    columns = {name: np.concatenate([nothing, *(getattr(part, name) for part in parts)]) for name in _SWEEP}
    return {
        **{f"part_{name}": values for name, values in columns.items()},
        "part_starts": np.cumsum([0, *(len(part.frame) for part in parts)]),
        "part_object_starts": np.cumsum([0, *(len(part.object_frame) for part in parts)]),
    }


def _slices(header: Any, arrays: Mapping[str, "np.ndarray[Any, Any]"]) -> Iterator[ScoredSlice]:  # noqa: ANN401 JSON
    rows, sweeps = arrays["slice_rows"].astype(np.int64), _parts(arrays, len(header["classes"]) + 1)
    names, bounds = map(str, header["slices"]), pairwise(arrays["slice_starts"])
    for name, (first, last), of_objects in zip(names, bounds, header["of_objects"], strict=True):
        yield ScoredSlice(name, rows[first:last], next(sweeps) if of_objects else None)


def _parts(arrays: Mapping[str, "np.ndarray[Any, Any]"], starts: int) -> Iterator[Sweep]:
    """Yield the sweeps of slices of some objects, each of which has so many `starts`."""
    bounds = pairwise(arrays["part_starts"].tolist()), pairwise(arrays["part_object_starts"].tolist())
    for number, (rows, objects) in enumerate(zip(*bounds, strict=True)):
        of_objects = dict.fromkeys(("object_frame", "object_label"), slice(*objects))
        places = {"start": slice(number * starts, (number + 1) * starts), **of_objects}
        yield _sweep({name: arrays[f"part_{name}"][places.get(name, slice(*rows))] for name in _SWEEP})


def _sweep(arrays: Mapping[str, "np.ndarray[Any, Any]"]) -> Sweep:
    return Sweep(
        start=arrays["start"].astype(np.int64),
        frame=arrays["frame"].astype(np.int32),
        tied=arrays["tied"].astype(bool),
        late=arrays["late"].astype(bool),
        right=arrays["right"].astype(np.uint16),
        counted=arrays["counted"].astype(np.uint16),
        object_frame=arrays["object_frame"].astype(np.int32),
        object_label=arrays["object_label"].astype(np.int32),
    )


def _read_arrays(shapes: list[tuple[str, list[int]]], data: bytes) -> dict[str, "np.ndarray[Any, Any]"]:
    found, at = {}, 0
    for name, shape in shapes:
        kind = np.dtype(_KINDS[name])
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += count * kind.itemsize
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes are left over")
    return found


def _scored(header: Any, arrays: Mapping[str, "np.ndarray[Any, Any]"]) -> Scored:  # noqa: ANN401 JSON
    if header["form"] != _FORM:
        raise ValueError(f"form {header['form']!r}, this driveflow reads {_FORM}")
    classes, objects = tuple(map(str, header["classes"])), len(arrays["object_frame"])
    return Scored(
        measure=Measure(**{name: str(header["measure"][name]) for name in ("holdout", "code", "mode")}),
        holdout_id=str(header["holdout_id"]),
        model_digest=str(header["model_digest"]),
        classes=classes,
        frame_group=arrays["frame_group"].astype(np.int64),
        annotated=np.unpackbits(arrays["annotated"], axis=1, count=len(classes)).astype(bool),
        sweep=_sweep(arrays),
        frame_key=arrays["frame_key"].astype(np.uint64),
        object_corners=arrays["object_corners"].astype(np.int32),
        object_found=np.unpackbits(arrays["object_found"], count=objects).astype(bool),
        regions=_places("region", arrays),
        false=_places("false", arrays),
        min_score=float(header["min_score"]),
        slices=tuple(_slices(header, arrays)),
    )


def _check(found: Scored, where: str) -> None:
    """Refuse rows that point nowhere, so that compiled code need not look."""
    frames, classes = len(found.frame_group), len(found.classes)
    sweeps = [found.sweep, *(part.sweep for part in found.slices if part.sweep is not None)]
    indices: list[tuple[np.ndarray[Any, Any], int]] = [
        (found.frame_group, max(frames, 1)),
        *((part.frame, frames) for part in (found.regions, found.false)),
        *((part.label, classes) for part in (found.regions, found.false)),
        *((part.rows, frames) for part in found.slices),
    ]
    sound = (
        all(_is_sound(sweep, frames, classes) for sweep in sweeps)
        and found.annotated.shape == (frames, classes)
        and len(found.frame_key) == frames
        and all(_aligned(part) for part in (found.objects, found.regions, found.false))
        and all(_within(values, limit) for values, limit in indices)
    )
    if not sound:
        raise InvalidInputError(f"{where}: its matches point nowhere; evaluate again.")


def _is_sound(sweep: Sweep, frames: int, classes: int) -> bool:
    columns = (sweep.tied, sweep.late, sweep.right, sweep.counted)
    indices = [(sweep.frame, frames), (sweep.object_frame, frames), (sweep.object_label, classes)]
    return (
        len(sweep.start) == classes + 1
        and int(sweep.start[0]) == 0
        and int(sweep.start[-1]) == len(sweep.frame)
        and bool((np.diff(sweep.start) >= 0).all())
        and all(len(column) == len(sweep.frame) for column in columns)
        and len(sweep.object_frame) == len(sweep.object_label)
        and all(_within(values, limit) for values, limit in indices)
    )


def _aligned(found: Places) -> bool:
    return found.corners.shape == (len(found.frame), 4) and len(found.label) == len(found.frame)


def _within(values: "np.ndarray[Any, Any]", limit: int) -> bool:
    return not len(values) or (int(values.min()) >= 0 and int(values.max()) < limit)


def _without_tails(scored: Scored) -> Scored:
    slices = tuple(
        part if part.sweep is None else replace(part, sweep=_without_tail(part.sweep)) for part in scored.slices
    )
    return replace(scored, sweep=_without_tail(scored.sweep), slices=slices)


def _without_tail(sweep: Sweep) -> Sweep:
    kept = np.zeros(len(sweep.frame), bool)
    for first, last in pairwise(sweep.start.tolist()):
        hits = np.flatnonzero(sweep.right[first:last])
        end = first + (int(hits[-1]) + 1 if len(hits) else 0)
        while first < end < last and sweep.tied[end]:
            end += 1
        kept[first:end] = True
    start = np.concatenate([[0], np.cumsum(kept)])[sweep.start]
    columns = {name: getattr(sweep, name)[kept] for name in ("frame", "tied", "late", "right", "counted")}
    return replace(sweep, start=start, **columns)
