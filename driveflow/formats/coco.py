"""Read COCO detection labels: ids of any kind, gaps, crowds, videos and attributes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from driveflow.canonical import canonical_json
from driveflow.errors import NotFoundError
from driveflow.formats.coco_columns import annotation_columns
from driveflow.formats.coco_records import (
    CocoAnnotation,
    CocoDocument,
    CocoImage,
    decode_coco,
    key_text,
    looks_like_coco,
    plain_json,
)
from driveflow.formats.label_set import LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.path_index import PathIndex, folder_of, plain_path
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_OF_EVERY_BOX = {
    "line": pl.lit(None, pl.Int64),
    "normalised": pl.lit(value=False),
    "annotator": pl.lit(None, pl.String),
}


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
    folders: tuple[str, ...] = ()  # where its pictures may lie
    names: dict[str, str] = field(default_factory=dict)  # category id -> name
    all_names: tuple[str, ...] = ()
    pictures: dict[str, str] = field(default_factory=dict)  # image id -> picture, where that is one
    listings: dict[str, int] = field(default_factory=dict)  # image id -> how many ids before it name that picture
    broken: dict[str, str] = field(default_factory=dict)  # picture -> why
    had: Counter[str] = field(default_factory=Counter)  # picture -> annotations
    kept: Counter[str] = field(default_factory=Counter)
    lost: dict[str, tuple[str, str]] = field(default_factory=dict)  # image id without a picture -> reason and detail
    lost_boxes: Counter[str] = field(default_factory=Counter)

    def read(self) -> None:
        home = folder_of(self.path)
        above = folder_of(home)
        self.folders = (home, f"{home}/images".lstrip("/"), above, f"{above}/images".lstrip("/"))
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
        self._add_images([pair for pair in found if pair[1]], videos, labeled=labeled)

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
        self.all_names = tuple(self.names.values())

    def _find(self, image: CocoImage) -> str:
        """Return the picture that the entry means; nothing where that is none or several."""
        for folder in self.folders:
            direct = f"{folder}/{image.file_name}" if folder else image.file_name
            if direct in self.index:  # nearly always
                return direct
        name = plain_path(image.file_name)
        if not name:
            self.lost[key_text(image.id)] = ("label_syntax", f"image id {key_text(image.id)} has no file_name")
            return ""
        found = self.index.find(self.folders, name)
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
        rows = annotation_columns(annotations)
        pictures = {"image": list(self.pictures), "path": list(self.pictures.values()),
                    "listing": [self.listings[key] for key in self.pictures]}  # fmt: skip
        meant = pl.DataFrame(pictures, schema={"image": pl.String, "path": pl.String, "listing": pl.Int32})
        names = pl.DataFrame(
            list(self.names.items()), schema={"category": pl.String, "class_name": pl.String}, orient="row"
        )
        rows = rows.join(meant, on="image", how="left", maintain_order="left")
        rows = rows.join(names, on="category", how="left", maintain_order="left")
        found = pl.col("path").fill_null("") != ""
        self.lost_boxes.update(_tally(rows.filter(~found), "image"))
        rows = rows.filter(found)
        self.had.update(_tally(rows, "path"))
        good = pl.col("class_name").fill_null("") != ""
        for row in rows.filter(~good | ~pl.col("usable")).select("row", "path", good=good).iter_rows():
            self._report(annotations[row[0]], row[1], has_class=row[2])
        rows = rows.filter(good & pl.col("usable"))
        self.kept.update(_tally(rows, "path"))
        self.builder.add_boxes(rows.with_columns(**_OF_EVERY_BOX, label_file=pl.lit(self.path)).to_arrow())

    def _report(self, annotation: CocoAnnotation, picture: str, *, has_class: bool) -> None:
        if has_class:
            self._report_box(annotation)
        else:
            self._report_class(annotation, picture)

    def _report_class(self, annotation: CocoAnnotation, picture: str) -> None:
        """Report a category that the file does not list."""
        known = f"this file lists {len(self.names)} categories (ids {', '.join(list(self.names)[:5])} ...)"
        detail = f"annotation {key_text(annotation.id)}: category id {key_text(annotation.category_id)}, but {known}"
        self._problem("label_class_out_of_range", detail, 1)
        self.broken.setdefault(picture, f"{self.path}: {detail}")

    def _report_box(self, annotation: CocoAnnotation) -> None:
        shown = [f"{value:g}" for value in annotation.bbox or ()][:6]
        detail = f"annotation {key_text(annotation.id)}: bbox [{', '.join(shown)}] is no x, y, width, height"
        self._problem("label_bad_box", f"{detail} of a box with an area", 1)

    def _add_images(self, found: Sequence[tuple[CocoImage, str]], videos: Mapping[str, str], *, labeled: bool) -> None:
        images, paths = [image for image, _ in found], [path for _, path in found]
        keys = [key_text(image.id) for image in images]
        split = split_of_file_name(self.path)
        self.builder.add_images(
            {
                "path": paths,
                "label_file": [self.path] * len(paths),
                "listing": [self.listings.get(key, 0) for key in keys],
                "class_list": [self._class_list(*pair) if labeled else None for pair in found],
                "width": [_pixels(image.width) for image in images],
                "height": [_pixels(image.height) for image in images],
                "drive": [_drive(image, videos) for image in images],
                "sequence": [self.path if _is_numbered(image) else "" for image in images],
                "camera": [str(image.camera or "") for image in images],
                "captured_ns": [_nanoseconds(image.captured_ns) for image in images],
                "source_split": [split_of_folders(path) or split for path in paths],
                "attributes": [_image_attributes(image) for image in images],
                "broken": [self.broken.get(path, "") for path in paths],
            }
        )

    def _class_list(self, image: CocoImage, picture: str) -> int | None:
        if self.had[picture] > 0 and self.kept[picture] == 0:
            return None  # no example of "nothing to see"
        names = image.annotated_classes if image.annotated_classes is not None else self.all_names
        return self.builder.class_list(names) if names and key_text(image.id) in self.pictures else None


def _drive(image: CocoImage, videos: Mapping[str, str]) -> str:
    if image.drive is None and image.video_id is None:
        return ""
    video = key_text(image.video_id)
    return str(image.drive or videos.get(video, video))


def _is_numbered(image: CocoImage) -> bool:
    return image.frame_id is not None or image.frame_index is not None


def _tally(rows: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(rows[column].value_counts().iter_rows())


def _pixels(value: float | None) -> int | None:
    return int(value) if value is not None and 0 < value < 2**31 else None


def _nanoseconds(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _image_attributes(image: CocoImage) -> str:
    value = plain_json(image.attributes) if image.attributes else None
    return canonical_json(value) if isinstance(value, dict) else "{}"
