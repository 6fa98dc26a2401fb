"""Read COCO detection labels: ids of any kind, gaps, crowds, videos and attributes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from driveflow.canonical import Json, canonical_json
from driveflow.errors import NotFoundError
from driveflow.formats.coco_records import (
    CocoAnnotation,
    CocoDocument,
    CocoImage,
    decode_coco,
    key_text,
    looks_like_coco,
    plain_json,
)
from driveflow.formats.label_set import LABEL_BOXES, ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.path_index import PathIndex, folder_of, plain_path
from driveflow.formats.source_split import split_of_file_name, split_of_folders


def coco_files(files: LabelFiles) -> list[str]:
    """Return the files that are COCO documents, by content."""
    return [path for path in files.paths if path.lower().endswith(".json") and looks_like_coco(files.read(path))]


def read_coco(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the COCO file `annotations` says, or all COCO files of the batch where none is named.

    A listed picture without annotations is labeled and empty; one that no file lists is unlabeled.
    """
    if annotations and annotations not in files.paths:
        raise NotFoundError(f"annotations: {annotations!r} is no file of the batch.")
    builder = LabelSetBuilder()
    index = PathIndex(files.paths)
    for path in [annotations] if annotations else coco_files(files):
        builder.files.add(path)
        decoded = decode_coco(path, files.read(path))
        builder.problems += decoded.problems
        if decoded.document is not None:
            _CocoFile(path, decoded.document, builder, index).read()
    return builder.build()


@dataclass(slots=True)
class _CocoFile:
    """One document on its way into the builder."""

    path: str
    document: CocoDocument
    builder: LabelSetBuilder
    index: PathIndex
    names: dict[str, str] = field(default_factory=dict)  # category id -> name
    pictures: dict[str, str] = field(default_factory=dict)  # image id -> picture, where that is one
    listings: dict[str, int] = field(default_factory=dict)  # image id -> how many ids before it name that picture
    broken: dict[str, str] = field(default_factory=dict)  # picture -> why
    had: Counter[str] = field(default_factory=Counter)  # picture -> annotations
    kept: Counter[str] = field(default_factory=Counter)
    lost: dict[str, tuple[str, str]] = field(default_factory=dict)  # image id without a picture -> reason and detail
    lost_boxes: Counter[str] = field(default_factory=Counter)

    def read(self) -> None:
        annotations = self.document.annotations or []
        if annotations and all(annotation.bbox is None for annotation in annotations):
            self.builder.notes.append(f"{self.path} holds no boxes and is not read as labels.")
            return
        if self.document.annotations == [] and self._is_labeled():
            self.builder.notes.append(f"{self.path} has no annotations: its pictures count as looked at and empty.")
        self._read_categories()
        found = [(image, self._find(image)) for image in self.document.images]
        self._read_ids(found)
        self._read_annotations(annotations)
        self._report_lost()
        labeled = self._is_labeled()
        videos = {key_text(video.id): str(video.name or key_text(video.id)) for video in self.document.videos}
        for image, picture in found:
            if picture:
                self._add_image(image, picture, videos, labeled=labeled)

    def _problem(self, reason: str, detail: str, boxes: int = 0) -> None:
        self.builder.problems.append(LabelProblem(self.path, reason, detail, None, boxes))

    def _read_categories(self) -> None:
        spelled: dict[str, set[str]] = defaultdict(set)
        for category in self.document.categories:
            spelled[key_text(category.id)].add(category.name.strip())
        for key, names in spelled.items():
            if len(names) == 1:
                self.names[key] = names.pop()
            else:
                self._problem("label_ambiguous_class", f"category id {key} is each of {sorted(names)}")

    def _find(self, image: CocoImage) -> str:
        """Return the picture that the entry means; nothing where that is none or several."""
        name = plain_path(image.file_name)
        if not name:
            self.lost[key_text(image.id)] = ("label_syntax", f"image id {key_text(image.id)} has no file_name")
            return ""
        home = folder_of(self.path)
        above = folder_of(home)
        found = self.index.find([home, f"{home}/images".lstrip("/"), above, f"{above}/images".lstrip("/")], name)
        if len(found) > 1:
            split = split_of_file_name(self.path) or split_of_folders(self.path)
            found = [path for path in found if split and split_of_folders(path) == split] or found
        if len(found) > 1:
            detail = f"file_name {image.file_name!r} may be {found[0]} or {found[1]} ({len(found)} in all)"
            self.lost[key_text(image.id)] = ("label_ambiguous_picture", detail)
        if not found:
            detail = f"file_name {image.file_name!r} is no file of this batch"
            self.lost[key_text(image.id)] = ("label_missing_picture", detail)
        return found[0] if len(found) == 1 else ""

    def _read_ids(self, found: Sequence[tuple[CocoImage, str]]) -> None:
        """Fill `pictures`; an id that names two files says nothing about either."""
        meant: dict[str, dict[str, str]] = defaultdict(dict)
        for image, picture in found:
            meant[key_text(image.id)][picture or plain_path(image.file_name)] = picture
        listed: Counter[str] = Counter()
        for key, pictures in meant.items():
            if len(pictures) == 1:
                picture = self.pictures[key] = next(iter(pictures.values()))
                self.listings[key] = listed[picture]
                listed[picture] += 1
            else:
                names = sorted(pictures)
                detail = f"image id {key} is {names[0]} and {names[1]} ({len(names)} files)"
                self.lost[key] = ("label_ambiguous_picture", detail)

    def _report_lost(self) -> None:
        """Report, once for each, the images without a picture and the ids that are no image."""
        for key in [*self.lost, *(key for key in self.lost_boxes if key not in self.lost)]:
            reason, detail = self.lost.get(key, ("label_unknown_picture", f"image id {key} is no image of this file"))
            self._problem(reason, detail, self.lost_boxes[key])

    def _is_labeled(self) -> bool:
        """Tell whether pictures without annotations are examples of nothing to see."""
        if self.document.annotations is None or "image_info" in self.path.rpartition("/")[2]:
            return False
        return bool(self.document.categories)

    def _read_annotations(self, annotations: Sequence[CocoAnnotation]) -> None:
        own_ids = [_own_id(annotation) for annotation in annotations]
        times = Counter(own_ids)
        corners = _corners(annotations)
        good = np.isfinite(corners).all(axis=1) & (corners[:, 2] > corners[:, 0]) & (corners[:, 3] > corners[:, 1])
        rows: list[tuple[object, ...]] = []
        for annotation, own, box, usable in zip(annotations, own_ids, corners.tolist(), good.tolist(), strict=True):
            image, category = key_text(annotation.image_id), key_text(annotation.category_id)
            picture = self.pictures.get(image, "")
            if not picture:
                self.lost_boxes[image] += 1
                continue
            self.had[picture] += 1
            name = self.names.get(category, "") or self._report_class(annotation, picture)
            if not name or not self._has_box(annotation, usable=usable):
                continue
            self.kept[picture] += 1
            ignore = bool(annotation.iscrowd or annotation.ignore)
            own_id = own[1] if times[own] == 1 else ""
            known = (picture, self.path, self.listings[image], None, own_id, name)
            rows.append((*known, *box, False, ignore, _attributes(annotation), _score(annotation), None))
        columns = list(zip(*rows, strict=True)) or [()] * len(LABEL_BOXES)
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, LABEL_BOXES, strict=True)]
        self.builder.add_boxes(pa.table(arrays, schema=LABEL_BOXES))

    def _report_class(self, annotation: CocoAnnotation, picture: str) -> str:
        """Report a category that the file does not list, and return no name for it."""
        known = f"this file lists {len(self.names)} categories (ids {', '.join(list(self.names)[:5])} ...)"
        detail = f"annotation {key_text(annotation.id)}: category id {key_text(annotation.category_id)}, but {known}"
        self._problem("label_class_out_of_range", detail, 1)
        self.broken.setdefault(picture, f"{self.path}: {detail}")
        return ""

    def _has_box(self, annotation: CocoAnnotation, *, usable: bool) -> bool:
        if not usable:
            shown = [f"{value:g}" for value in annotation.bbox or ()][:6]
            detail = f"annotation {key_text(annotation.id)}: bbox [{', '.join(shown)}] is no x, y, width, height"
            self._problem("label_bad_box", f"{detail} of a box with an area", 1)
        return usable

    def _add_image(self, image: CocoImage, picture: str, videos: Mapping[str, str], *, labeled: bool) -> None:
        hopeless = self.had[picture] > 0 and self.kept[picture] == 0  # no example of "nothing to see"
        known = key_text(image.id) in self.pictures
        names = image.annotated_classes if image.annotated_classes is not None else self.names.values()
        numbered = image.frame_id is not None or image.frame_index is not None
        video = key_text(image.video_id)
        self.builder.add_image(
            ImageLabels(
                path=picture,
                label_file=self.path,
                listing=self.listings.get(key_text(image.id), 0),
                class_list=self.builder.class_list(names) if labeled and known and names and not hopeless else None,
                width=_pixels(image.width),
                height=_pixels(image.height),
                drive=str(image.drive or videos.get(video, video)),
                sequence=self.path if numbered else "",
                camera=str(image.camera or ""),
                captured_ns=_nanoseconds(image.captured_ns),
                source_split=split_of_folders(picture) or split_of_file_name(self.path),
                attributes=_image_attributes(image),
                broken=self.broken.get(picture, ""),
            )
        )


def _own_id(annotation: CocoAnnotation) -> tuple[str, str]:
    """Return where the id of an annotation is unique, and the id: ours within its image, COCO's in the whole file."""
    return (key_text(annotation.image_id), annotation.box_id) if annotation.box_id else ("", key_text(annotation.id))


def _corners(annotations: Sequence[CocoAnnotation]) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    missing = [np.nan] * 4
    boxes = [a.bbox if a.bbox is not None and len(a.bbox) == 4 else missing for a in annotations]
    corners = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    corners[:, 2:] += corners[:, :2]
    return corners


def _pixels(value: float | None) -> int | None:
    return int(value) if value is not None and 0 < value < 2**31 else None


def _nanoseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _image_attributes(image: CocoImage) -> Mapping[str, Json]:
    value = plain_json(image.attributes)
    return value if isinstance(value, dict) else {}


def _attributes(annotation: CocoAnnotation) -> str:
    if not (annotation.attributes or annotation.iscrowd) and annotation.track_id is None:
        return "{}"
    found: dict[str, Json] = {}
    value = plain_json(annotation.attributes)
    if isinstance(value, dict):
        found.update(value)
    if annotation.track_id is not None:
        found["track_id"] = plain_json(annotation.track_id)
    if annotation.iscrowd and not annotation.ignore:
        found["iscrowd"] = True
    return canonical_json(found) if found else "{}"


def _score(annotation: CocoAnnotation) -> float | None:
    return float(annotation.score) if isinstance(annotation.score, int | float) else None
