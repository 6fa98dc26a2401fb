"""The two files that go between driveflow and annotators: a campaign's manifest, and what comes back."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from driveflow.canonical import Json, canonical_json, digest
from driveflow.errors import BrokenDataError

SCHEMA_VERSION: Literal[1] = 1
MAX_BOXES = 5000  # of one frame

Purpose: TypeAlias = Literal["train", "holdout"]
Scalar: TypeAlias = str | int | float | bool | None
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Note = Annotated[str, msgspec.Meta(max_length=200)]
Pixels = Annotated[
    float, msgspec.Meta(description="Pixels of the upright picture, from the corner of the first pixel.")
]
Attributes = Annotated[Mapping[str, Scalar], msgspec.Meta(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBox:
    """A box that annotators start from; it keeps its `box_id` when it comes back moved or under another class."""

    box_id: Text
    class_name: Text
    x1: Pixels
    y1: Pixels
    x2: Pixels
    y2: Pixels
    score: float | None = None
    origin: Text
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFrame:
    """A picture to label: `missing_classes` are what to look for in it; a frame of a video is a still with its time."""

    frame_id: Text
    picture: Annotated[str, msgspec.Meta(description="Path of the picture, relative to this manifest.")]
    width: Annotated[int, msgspec.Meta(ge=1)]
    height: Annotated[int, msgspec.Meta(ge=1)]
    missing_classes: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    prelabels: tuple[SentBox, ...] = ()
    drive: str = ""
    camera: str = ""
    captured_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignManifest:
    """One hand-off of frames to annotators."""

    schema_version: Literal[1] = SCHEMA_VERSION
    campaign_id: Text
    purpose: Purpose
    classes: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    guideline: Note = ""
    aliases: Annotated[Mapping[str, str], msgspec.Meta(description="Other names that mean one of the classes.")] = (
        field(default_factory=dict)
    )
    frames: tuple[SentFrame, ...]

    def __post_init__(self) -> None:
        _refuse_repeats("frame", [frame.frame_id for frame in self.frames])
        for frame in self.frames:
            _refuse_repeats(f"box of frame {frame.frame_id}", [box.box_id for box in frame.prelabels])
            others = set(frame.missing_classes) - set(self.classes)
            if others:
                raise ValueError(f"frame {frame.frame_id} asks for {sorted(others)[:5]}, not classes of the campaign")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedBox:
    """A box as annotators left it.

    `box_id` is that of a box which was sent, and may be left out of a new one; without `attributes` those sent stay.
    """

    box_id: Note | None = None
    class_name: Text
    x1: Pixels
    y1: Pixels
    x2: Pixels
    y2: Pixels
    ignore: bool = False
    attributes: Attributes | None = None

    def __post_init__(self) -> None:
        corners = (self.x1, self.y1, self.x2, self.y2)
        if not all(math.isfinite(value) for value in corners):
            raise ValueError(f"a corner is no number: {corners}")
        _refuse_unwritable(
            self.box_id or "", self.class_name, canonical_json(dict(self.attributes)) if self.attributes else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedFrame:
    """What was found in one frame; a class in `annotated_classes` without a box says that there is none of it.

    Where the size of the picture is stated, it must be that of the one that was sent.
    """

    frame_id: Text
    annotated_classes: Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)]
    boxes: Annotated[tuple[ReturnedBox, ...], msgspec.Meta(max_length=MAX_BOXES)]
    width: Annotated[int, msgspec.Meta(ge=1, description="Of the picture that was labeled.")] | None = None
    height: Annotated[int, msgspec.Meta(ge=1, description="Of the picture that was labeled.")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnFile:
    """Labels of some or all frames of one campaign; of two answers about a frame the later `returned_at` counts."""

    campaign_id: Text
    purpose: Purpose
    annotator: Note = ""
    guideline: Note = ""
    returned_at: Annotated[str, msgspec.Meta(description="RFC 3339 time with its zone; may be empty.")] = ""
    frames: tuple[ReturnedFrame, ...]


def campaign_key(
    purpose: Purpose, classes: tuple[str, ...], guideline: str, missing: Mapping[str, tuple[str, ...]]
) -> str:
    """Return the id of the campaign that asks for the `missing` classes of each frame; no order is in it."""
    frames: Json = [[frame_id, sorted(names)] for frame_id, names in sorted(missing.items())]
    asked: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "purpose": purpose,
        "classes": sorted(classes),
        "guideline": guideline,
        "frames": frames,
    }
    return digest(asked)[:32]


def encode_manifest(manifest: CampaignManifest) -> bytes:
    """Return the bytes of `campaign.json`."""
    value = msgspec.to_builtins(manifest)
    if not manifest.aliases:
        del value["aliases"]  # as campaigns were written before there were any
    return canonical_json(value).encode()


def decode_manifest(data: bytes, where: str) -> CampaignManifest:
    """Return the manifest in `data`; `where` names the file for a person.

    Raises:
        BrokenDataError: it is no campaign manifest of this version.
    """
    try:
        return msgspec.json.decode(data, type=CampaignManifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenDataError("no_manifest", f"{where} is no campaign manifest: {error}") from error


def encode_return(answer: ReturnFile) -> bytes:
    """Return the bytes of a return file."""
    return canonical_json(msgspec.to_builtins(answer)).encode()


def unknown_fields(value: Mapping[str, object], record: type) -> list[str]:
    """Return the keys of `value` that `record` does not have, sorted."""
    return sorted(set(value) - {item.name for item in fields(record)})


def campaign_schema() -> dict[str, Json]:
    """Return the JSON Schema of `campaign.json`; published as campaign.schema.json."""
    return _schema(CampaignManifest, "driveflow labeling campaign")


def returns_schema() -> dict[str, Json]:
    """Return the JSON Schema of a return file; published as returns.schema.json."""
    return _schema(ReturnFile, "driveflow labeling return")


def published_returns_schema() -> bytes:
    """Return the published schema of return files, as it goes into every campaign folder."""
    return Path(__file__).with_name("returns.schema.json").read_bytes()


def _schema(record: type, title: str) -> dict[str, Json]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **msgspec.json.schema(record)}


def _refuse_repeats(what: str, names: list[str]) -> None:
    if len(set(names)) != len(names):
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"{what} {repeated[0]} is there twice ({len(repeated)} such in all)")


def _refuse_unwritable(*texts: str) -> None:
    for text in texts:
        if not text.isascii():
            text.encode()  # a lone surrogate, which JSON can spell, is a ValueError here
