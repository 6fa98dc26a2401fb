"""Read Pascal VOC XML: one file a picture, corners that count from 1 and include the last pixel."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.canonical import canonical_json
from driveflow.formats.box_cap import MOST_BOXES
from driveflow.formats.dataset_meta import listed_classes
from driveflow.formats.label_set import (
    ImageLabels,
    LabelFiles,
    LabelProblem,
    LabelSet,
    LabelSetBuilder,
    ProblemList,
    names_ignore_region,
)
from driveflow.formats.labelme_records import OLD_SIGNS
from driveflow.formats.picture_finder import PictureFinder, bare_stem, stem_of
from driveflow.formats.shapes import Corners, around_turned, has_area, turn_deg, with_turn
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import known_split, split_of_folders
from driveflow.formats.voc_objects import attributes_of, listed
from driveflow.formats.xml_tree import XmlElement, XmlError, iter_xml

_HEADS: Final = frozenset(["filename", "size"])
_OWN: Final = (b"<size", b"<filename", b"<object")
_SIDES: Final = ("xmin", "ymin", "xmax", "ymax")
_MASK_FOLDERS: Final = frozenset(["SegmentationClass", "SegmentationObject"])


def voc_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are VOC annotations, by content."""
    return [path for path in sniffer.ending_in(".xml") if _looks_like_voc(sniffer, path)]


def read_voc(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the VOC annotations of the batch, or those at `annotations`, say.

    A file without objects is a labeled picture without objects. The classes looked for are all that the files
    or a dataset_meta.json name.
    Files in ImageSets/Main give the splits.
    """
    return _read(files, annotations, as_written=False)


def read_voc_as_written(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the same with the corners as the files spell them: a box of one pixel has no area then."""
    return _read(files, annotations, as_written=True)


def _read(files: LabelFiles, annotations: str, *, as_written: bool) -> LabelSet:
    reader = _Voc(files, PictureFinder(files.paths), LabelSetBuilder(), _splits(files), as_written)
    for path in voc_files(Sniffer(within(files, annotations))) or ([annotations] if annotations in files.paths else []):
        reader.read(path)
    return reader.finish()


def _looks_like_voc(sniffer: Sniffer, path: str) -> bool:
    if sniffer.xml_root(path) != "annotation":
        return False
    head = sniffer.head(path)
    return b"<bndbox" in head or (any(sign in head for sign in _OWN) and not any(sign in head for sign in OLD_SIGNS))


@dataclass(frozen=True, slots=True)
class _Splits:
    """What ImageSets/Main says: of each picture's path without extension its split; `files` are all of ImageSets."""

    files: frozenset[str]
    of: Mapping[str, str]  # "<root>/<name in the list>" -> split
    roots: frozenset[str]


def _splits(files: LabelFiles) -> _Splits:
    texts = [path for path in files.paths if "/ImageSets/" in f"/{path}" and path.lower().endswith(".txt")]
    lists = [path for path in texts if f"/{path}".rpartition("/")[0].endswith("/ImageSets/Main")]
    found: dict[str, str] = {}
    # valid and test before train: nothing that one list holds out is trained on because of another
    for path in sorted(lists, key=_split_of_list, reverse=True):
        if split := _split_of_list(path):
            root = _root_of_list(path)
            lines = files.read(path).decode("utf-8-sig", "replace").splitlines()
            for name in (line.split()[0] for line in lines if line.split()):
                found.setdefault(f"{root}/{name}".lstrip("/"), split)
    return _Splits(frozenset(texts), found, frozenset(map(_root_of_list, lists)))


def _split_of_list(path: str) -> str:
    return known_split(bare_stem(path))


def _root_of_list(path: str) -> str:
    return f"/{path}".rpartition("/ImageSets/Main/")[0].lstrip("/")


@dataclass(slots=True)
class _Sheet:
    """What one file says, as far as it is read; it is of no use where the rest is no XML."""

    heads: dict[str, XmlElement] = field(default_factory=dict)  # the first of each tag
    objects: int = 0
    rows: list[dict[str, object]] = field(default_factory=list)
    problems: ProblemList = field(default_factory=ProblemList)
    at_zero: int = 0

    def text(self, tag: str, *path: str) -> str:
        """Return the text at `path` below the head `tag`, empty where there is none."""
        return self.heads[tag].text_at(*path) if tag in self.heads else ""


@dataclass(slots=True)
class _Voc:
    """The annotations of a data set on their way into the builder."""

    files: LabelFiles
    finder: PictureFinder
    builder: LabelSetBuilder
    splits: _Splits
    as_written: bool  # corners as the files spell them
    images: list[tuple[ImageLabels, bool]] = field(default_factory=list)  # and whether it says anything usable
    seen: set[str] = field(default_factory=set)  # classes of boxes
    at_zero: int = 0
    renamed: int = 0

    def read(self, path: str) -> None:
        """Read one annotation file."""
        self.builder.files.add(path)
        data = self.files.read(path)
        sheet = _Sheet()
        try:
            for element in iter_xml(data):
                self._take(path, sheet, element)
        except XmlError as error:
            lost = data.count(b"<object>")
            self.builder.problems.append(LabelProblem(path, "label_syntax", str(error), error.line, lost))
            return
        said = sheet.text("filename")
        found = self.finder.of(path, said)
        if not found.path:
            self.builder.problems.append(LabelProblem(path, found.reason, found.detail, None, sheet.objects))
            return
        named = self.finder.named(path, said).path if said else ""
        self.renamed += named not in {"", found.path}
        self.at_zero += sheet.at_zero
        self.builder.problems += sheet.problems
        self.builder.add_box_rows({**row, "path": found.path, "label_file": path} for row in sheet.rows)
        self.seen |= {str(row["class_name"]) for row in sheet.rows}
        image = ImageLabels(
            path=found.path,
            label_file=path,
            width=_pixels(sheet.text("size", "width")),
            height=_pixels(sheet.text("size", "height")),
            source_split=self._split(path) or split_of_folders(found.path) or split_of_folders(path),
        )
        self.images.append((image, bool(sheet.rows) or not sheet.objects))

    def _take(self, path: str, sheet: "_Sheet", element: XmlElement) -> None:
        """Add one child of the root to what the file says."""
        if element.tag in _HEADS:
            sheet.heads.setdefault(element.tag, element)
        if element.tag != "object":
            return
        sheet.objects += 1
        if sheet.objects > MOST_BOXES:
            raise XmlError(f"more than {MOST_BOXES:,} objects, which no picture has", element.line)
        row = self._row(path, sheet, element)
        sheet.rows += [] if row is None else [row]

    def finish(self) -> LabelSet:
        """Return all that was read; only now the classes of the set are known."""
        listed, lists = listed_classes(self.files) if self.images else (frozenset(), frozenset())
        self.builder.files |= lists
        known = self.seen | listed
        number = self.builder.class_list(sorted(name for name in known if not names_ignore_region(name)))
        for image, usable in self.images:
            self.builder.add_image(replace(image, class_list=number if usable else None))
        self._list_unlabeled()
        self._claim_masks()
        self._write_notes()
        return self.builder.build()

    def _split(self, path: str) -> str:
        head, _, tail = f"/{stem_of(path)}".rpartition("/Annotations/")
        return self.splits.of.get(f"{head}/{tail}".lstrip("/"), "")

    def _row(self, path: str, sheet: "_Sheet", element: XmlElement) -> dict[str, object] | None:
        name = element.text_at("name")
        corners = self._corners(sheet, element.find("bndbox"))
        if not name or corners is None or not self._is_box(corners):
            detail = "an object without a name" if not name else f"{name}: {_described(element.find('bndbox'))}"
            reason = "label_syntax" if not name else "label_bad_box"
            sheet.problems.append(LabelProblem(path, reason, detail, element.line, 1))
            return None
        said = attributes_of(element)
        rotation_deg = turn_deg(dict(listed(element.find("attributes"))).get("rotation"))  # as CVAT writes it
        if rotation_deg and not self.as_written:
            corners, said = around_turned(corners, rotation_deg), with_turn(said, rotation_deg)
        return {
            "line": element.line,
            "class_name": name,
            **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)),
            "ignore": names_ignore_region(name),
            "attributes": canonical_json(said),
        }

    def _is_box(self, corners: Corners) -> bool:
        x1, y1, x2, y2 = corners
        return has_area((x1, y1, x2 + 1, y2 + 1) if self.as_written else corners)

    def _corners(self, sheet: "_Sheet", box: XmlElement | None) -> Corners | None:
        """Return the corners from 0 and with the last edge exclusive; only the first pixel's number changes.

        Where they are to stay `as_written`, none does.
        """
        if box is None:
            return None
        try:
            x1, y1, x2, y2 = (float(box.text_at(name)) for name in _SIDES)
        except ValueError:
            return None
        if self.as_written:
            return x1, y1, x2, y2
        sheet.at_zero += 0 <= min(x1, y1) < 1
        # a corner at 0 comes from a tool that counts from 0: there is no pixel before the first
        return (x1 - 1 if not 0 <= x1 < 1 else 0.0, y1 - 1 if not 0 <= y1 < 1 else 0.0, x2, y2)

    def _list_unlabeled(self) -> None:
        """List the pictures that ImageSets names and no annotation speaks of."""
        self.builder.files |= self.splits.files
        labeled = {image.path for image, _ in self.images}
        for known, split in sorted(self.splits.of.items()):
            root = next(root for root in self.splits.roots if not root or known.startswith(f"{root}/"))
            name = known.removeprefix(root).lstrip("/")
            found = self.finder.stemmed(f"{root}/Annotations/{name}.xml".lstrip("/"), name).path
            if found and found not in labeled:
                self.builder.add_image(ImageLabels(path=found, label_file="", source_split=split))

    def _claim_masks(self) -> None:
        """Count the pictures of which each pixel says a class or an object as part of the labels."""
        masks = [path for path in self.finder.pictures if not _MASK_FOLDERS.isdisjoint(path.split("/")[:-1])]
        if self.images and masks:
            self.builder.files |= set(masks)
            self.builder.notes.append(
                f"{len(masks)} masks of segmentation are no pictures of a camera and are not read."
            )

    def _write_notes(self) -> None:
        if self.at_zero:
            self.builder.notes.append(
                f"{self.at_zero} VOC boxes begin at 0, where corners that count from 1 never are: "
                "if the tool counts from 0, all boxes begin one pixel early."
            )
        if self.renamed:
            self.builder.notes.append(
                f"{self.renamed} VOC files say another picture's name than their own; their own was believed."
            )


def _described(box: XmlElement | None) -> str:
    """Say what stands where a box with an area should be."""
    if box is None:
        return "no bndbox"
    said = ", ".join(f"{name} {box.text_at(name)[:20] or 'missing'}" for name in _SIDES)
    return f"{said}: no box with an area"


def _pixels(text: str) -> int | None:
    try:
        value = int(float(text))
    except (ValueError, OverflowError):
        return None
    return value if 0 < value < 2**31 else None
