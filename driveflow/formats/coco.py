"""Read COCO detection labels: ids of any kind, gaps, crowds, videos and attributes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import polars as pl

from driveflow.formats.coco_columns import Annotations, annotation_columns, as_ids, key_column, pixels, whole
from driveflow.formats.coco_hints import image_hints, row_notes
from driveflow.formats.coco_looked import looked_for, not_exhaustive
from driveflow.formats.coco_records import (
    AnyDocument,
    CocoAnnotation,
    CocoImage,
    decode_coco,
    key_text,
    looks_like_coco,
)
from driveflow.formats.label_collector import label_files
from driveflow.formats.label_set import LABEL_BOXES, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
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
    """Return what the COCO file `annotations` says, or all COCO files in that folder or in the whole batch.

    A listed picture without annotations is labeled and empty; one that no file lists is unlabeled.
    """
    builder = LabelSetBuilder()
    index = PathIndex(files.paths)
    for path in label_files(files, annotations, coco_files):
        builder.files.add(path)
        decoded = decode_coco(path, files.read(path))
        builder.problems += decoded.problems
        if decoded.document is not None:
            _CocoFile(path, decoded.document, builder, index, decoded.spoiled).read()
    return builder.build()


@dataclass(slots=True)
class _CocoFile:
    """One document on its way into the builder."""

    path: str
    document: AnyDocument
    builder: LabelSetBuilder
    index: PathIndex
    spoiled: Sequence[str] = ()  # image ids with an annotation that is none
    folders: tuple[str, ...] = ()  # where its pictures may lie
    names: dict[str, str] = field(default_factory=dict)  # category id -> name
    all_names: tuple[str, ...] = ()
    pictures: dict[str, str] = field(default_factory=dict)  # image id -> picture, where that is one
    listings: dict[str, int] = field(default_factory=dict)  # image id -> how many ids before it name that picture
    broken: dict[str, str] = field(default_factory=dict)  # picture -> why
    useless: set[str] = field(default_factory=set)  # pictures all of whose annotations are of no use
    lost: dict[str, tuple[str, str]] = field(default_factory=dict)  # image id without a picture -> reason and detail
    lost_boxes: Counter[str] = field(default_factory=Counter)
    drawn: set[str] = field(default_factory=set)  # category ids of boxes
    drawn_in: dict[str, set[str]] = field(default_factory=dict)  # the same by image id, where LVIS asks

    def read(self) -> None:
        home = folder_of(self.path)
        above = folder_of(home)
        self.folders = (home, f"{home}/images".lstrip("/"), above, f"{above}/images".lstrip("/"))
        annotations = self.document.annotations or []
        if annotations and all(annotation.bbox is None for annotation in annotations):
            self.builder.notes.append(f"{self.path} holds no boxes and is not read as labels.")
            return
        if self.document.annotations == [] and self._is_labeled() and not self.spoiled:
            self.builder.notes.append(f"{self.path} has no annotations: its pictures count as looked at and empty.")
        self._read_categories()
        keys = key_column([image.id for image in self.document.images]).to_list()
        found = self._find_all()
        self._read_ids(keys, found)
        self._read_annotations(annotations)
        self._leave_out_placeholder()
        self._report_lost()
        labeled = self._is_labeled()
        videos = {key_text(video.id): str(video.name or key_text(video.id)) for video in self.document.videos}
        self._add_images(keys, found, videos, labeled=labeled)

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

    def _leave_out_placeholder(self) -> None:
        """Look for no class of the one that Roboflow puts above all others, where no box is of it."""
        categories = self.document.categories
        above = categories[0] if len(categories) > 1 else None
        if above is None or above.supercategory != "none" or key_text(above.id) in self.drawn:
            return
        if all(category.supercategory == above.name for category in categories[1:]):
            self.all_names = tuple(name for name in self.all_names if name != above.name.strip())

    def _find_all(self) -> list[str]:
        """Return the picture that each entry means; nothing where that is none or several."""
        home = f"{self.folders[0]}/" if self.folders[0] else ""
        direct = [home + image.file_name for image in self.document.images]  # nearly always
        if self.index.has_all(direct):
            return direct
        return [
            path if path in self.index else self._find(image)
            for path, image in zip(direct, self.document.images, strict=True)
        ]

    def _find(self, image: CocoImage) -> str:
        """Return the picture that the entry means; nothing where that is none or several."""
        for folder in self.folders:
            direct = f"{folder}/{image.file_name}" if folder else image.file_name
            if direct in self.index:
                return direct
        name = plain_path(image.name)
        if not name:
            self.lost[key_text(image.id)] = ("label_syntax", f"image id {key_text(image.id)} has no file_name")
            return ""
        found = self.index.find(self.folders, name)
        if len(found) > 1:
            split = split_of_file_name(self.path) or split_of_folders(self.path)
            found = [path for path in found if split and split_of_folders(path) == split] or found
        if len(found) > 1:
            detail = f"file_name {image.name!r} may be {found[0]} or {found[1]} ({len(found)} in all)"
            self.lost[key_text(image.id)] = ("label_ambiguous_picture", detail)
        if not found:
            detail = f"file_name {image.name!r} is no file of this batch"
            self.lost[key_text(image.id)] = ("label_missing_picture", detail)
        return found[0] if len(found) == 1 else ""

    def _read_ids(self, keys: Sequence[str], found: Sequence[str]) -> None:
        """Fill `pictures`; an id that names two files says nothing about either."""
        self.pictures = dict(zip(keys, found, strict=True))
        if len(self.pictures) < len(keys):
            self._read_repeated_ids(keys, found)
        self.listings = dict.fromkeys(self.pictures, 0)
        if len(set(self.pictures.values())) < len(self.pictures):
            listed: Counter[str] = Counter()
            for key, picture in self.pictures.items():
                self.listings[key] = listed[picture]
                listed[picture] += 1

    def _read_repeated_ids(self, keys: Sequence[str], found: Sequence[str]) -> None:
        meant: dict[str, dict[str, str]] = defaultdict(dict)
        for key, image, picture in zip(keys, self.document.images, found, strict=True):
            meant[key][picture or plain_path(image.name)] = picture
        for key, pictures in meant.items():
            if len(pictures) > 1:
                names = sorted(pictures)
                detail = f"image id {key} is {names[0]} and {names[1]} ({len(names)} files)"
                self.lost[key] = ("label_ambiguous_picture", detail)
        self.pictures = {key: next(iter(pictures.values())) for key, pictures in meant.items() if len(pictures) == 1}

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

    def _read_annotations(self, annotations: Annotations) -> None:
        rows = annotation_columns(annotations)
        meant = pl.DataFrame(
            {"path": list(self.pictures.values()), "listing": list(self.listings.values())},
            schema={"path": pl.String, "listing": pl.Int32},
        ).with_columns(image=as_ids(list(self.pictures), rows["image"].dtype))
        names = pl.DataFrame({"class_name": list(self.names.values())}, schema={"class_name": pl.String})
        names = names.with_columns(category=as_ids(list(self.names), rows["category"].dtype))
        self.drawn = set(rows["category"].unique().cast(pl.String))
        if any(image.neg_category_ids is not None for image in self.document.images):
            texts = rows.select(pl.col("image", "category").cast(pl.String)).unique()
            self.drawn_in = {key: set(ids) for key, ids in texts.group_by("image").agg("category").iter_rows()}
        self.builder.notes += row_notes(rows, self.path)
        rows = rows.join(meant, on="image", how="left", maintain_order="left")
        rows = rows.join(names, on="category", how="left", maintain_order="left")
        found = pl.col("path").fill_null("") != ""
        good = (pl.col("class_name").fill_null("") != "") & pl.col("usable")
        if self.spoiled or not rows.select((found & good).all()).item():
            rows = self._without_bad(annotations, rows, found, good)
        told = rows.with_columns(**_OF_EVERY_BOX, label_file=pl.lit(self.path))
        self.builder.add_boxes(told.select(LABEL_BOXES.names).to_arrow())

    def _without_bad(self, annotations: Annotations, rows: pl.DataFrame, found: pl.Expr, good: pl.Expr) -> pl.DataFrame:
        """Return the rows of boxes that can be used, and report all others."""
        self.lost_boxes.update(_tally(rows.filter(~found).with_columns(pl.col("image").cast(pl.String)), "image"))
        rows = rows.filter(found)
        named = pl.col("class_name").fill_null("") != ""
        for row in rows.filter(~good).select("row", "path", named=named).iter_rows():
            annotation = whole(annotations[row[0]])
            if row[2]:
                self._report_box(annotation)
            else:
                self._report_class(annotation, row[1])
        kept = rows.filter(good)
        spoiled = {self.pictures.get(key, "") for key in self.spoiled}
        self.useless = (spoiled | set(rows["path"].unique())) - set(kept["path"].unique())
        return kept

    def _report_class(self, annotation: CocoAnnotation, picture: str) -> None:
        """Report a category that the file does not list."""
        ids = ", ".join(list(self.names)[:5]) + (" ..." if len(self.names) > 5 else "")
        known = f"this file lists {len(self.names)} categories (ids {ids})" if ids else "this file names no category"
        said = (
            f"category id {key_text(annotation.category_id)}"
            if annotation.category_id is not None
            else "no category id"
        )
        detail = f"annotation {key_text(annotation.id)}: {said}, but {known}"
        self._problem("label_class_out_of_range", detail, 1)
        self.broken.setdefault(picture, f"{self.path}: {detail}")

    def _report_box(self, annotation: CocoAnnotation) -> None:
        shown = [f"{value:g}" for value in annotation.bbox or ()][:6]
        detail = f"annotation {key_text(annotation.id)}: bbox [{', '.join(shown)}] is no x, y, width, height"
        self._problem("label_bad_box", f"{detail} of a box with an area", 1)

    def _add_images(
        self, keys: Sequence[str], found: Sequence[str], videos: Mapping[str, str], *, labeled: bool
    ) -> None:
        images, paths = self.document.images, found
        if not all(found):
            keys, images, paths = list(compress(keys, found)), list(compress(images, found)), list(filter(None, found))
        folders = [path.rpartition("/")[0] for path in paths]
        split = split_of_file_name(self.path)
        splits = {folder: split_of_folders(f"{folder}/") or split for folder in set(folders)}
        self.builder.add_images(
            {
                "path": paths,
                "label_file": self.path,
                "listing": [self.listings.get(key, 0) for key in keys] if any(self.listings.values()) else 0,
                "class_list": self._class_lists(keys, images, paths) if labeled else None,
                "width": pixels([image.width for image in images]),
                "height": pixels([image.height for image in images]),
                "source_split": [splits[folder] for folder in folders] if any(splits.values()) else "",
                "broken": [self.broken.get(path, "") for path in paths] if self.broken else "",
                **image_hints(images, videos, self.path),
            }
        )

    def _class_lists(
        self, keys: Sequence[str], images: Sequence[CocoImage], paths: Sequence[str]
    ) -> Sequence[int | None]:
        """Return which classes were looked for in each picture; useless boxes are no example of "nothing to see"."""
        said = any(image.annotated_classes is not None or image.neg_category_ids is not None for image in images)
        if paths and not self.useless and not self.lost and not said:
            return [self.builder.class_list(self.all_names) if self.all_names else None] * len(paths)
        numbers: dict[tuple[str, ...], int | None] = {(): None}
        found: list[int | None] = []
        unfinished = 0
        for key, image, path in zip(keys, images, paths, strict=True):
            stated = looked_for(image, self.drawn_in.get(key, ()), self.names)
            names = self.all_names if stated is None else tuple(stated)
            if more := not_exhaustive(image, self.names):
                names = tuple(name for name in names if name not in more)
                unfinished += 1
            if path in self.useless or key not in self.pictures:
                found.append(None)
                continue
            if names not in numbers:
                numbers[names] = self.builder.class_list(names)
            found.append(numbers[names])
        if unfinished:
            self.builder.notes.append(
                f"{self.path}: {unfinished} pictures have a class that is not labeled to the end"
                " (not_exhaustive_category_ids); there it counts as not looked for, and its boxes stay."
            )
        return found


def _tally(rows: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(rows[column].value_counts().iter_rows())
