"""Read LabelMe: the JSON of today's tool, and the XML of the old web tool."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.canonical import canonical_json
from driveflow.formats.label_set import (
    ImageLabels,
    LabelFiles,
    LabelProblem,
    LabelSet,
    LabelSetBuilder,
    names_ignore_region,
)
from driveflow.formats.labelme_records import (
    OLD_SIGNS,
    DocumentError,
    LabelMeDocument,
    LabelMeShape,
    decode_json,
    decode_xml,
)
from driveflow.formats.picture_finder import PictureFinder
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import split_of_folders

_JSON_KEYS: Final = frozenset(["shapes", "imagePath"])
_BROKEN_SIGNS: Final = (b'"shapes"', b'"shape_type"', b'"points"')


def labelme_files(sniffer: Sniffer) -> list[str]:
    """Return the files that are LabelMe's, by content."""
    documents = [path for path in sniffer.ending_in(".json") if _is_json(sniffer, path)]
    return sorted([*documents, *(path for path in sniffer.ending_in(".xml") if _is_old(sniffer, path))])


def read_labelme(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the LabelMe files of the batch, or those at `annotations`, say.

    A file without shapes is a labeled picture without objects. The classes looked for are all that shapes with an area
    name; lines and points are no boxes.
    """
    reader = _LabelMe(files, PictureFinder(files.paths), LabelSetBuilder())
    found = labelme_files(Sniffer(within(files, annotations))) or ([annotations] if annotations in files.paths else [])
    for path in found:
        reader.read(path, decode_xml if path.lower().endswith(".xml") else decode_json)
    return reader.finish()


def _is_json(sniffer: Sniffer, path: str) -> bool:
    shape = sniffer.json_shape(path)
    if shape.kind != "none":
        return shape.keys >= _JSON_KEYS
    head = sniffer.head(path)  # what is cut short must be named, not passed over
    return head.lstrip().startswith(b"{") and all(sign in head for sign in _BROKEN_SIGNS)


def _is_old(sniffer: Sniffer, path: str) -> bool:
    head = sniffer.head(path)
    return sniffer.xml_root(path) == "annotation" and b"<bndbox" not in head and any(sign in head for sign in OLD_SIGNS)


@dataclass(slots=True)
class _LabelMe:
    """The files of a data set on their way into the builder."""

    files: LabelFiles
    finder: PictureFinder
    builder: LabelSetBuilder
    images: list[tuple[ImageLabels, bool]] = field(default_factory=list)  # and whether it says anything usable
    seen: set[str] = field(default_factory=set)  # classes of boxes
    others: Counter[str] = field(default_factory=Counter)

    def read(self, path: str, decode: Callable[[str, bytes], LabelMeDocument]) -> None:
        """Read one file."""
        self.builder.files.add(path)
        try:
            document = decode(path, self.files.read(path))
        except DocumentError as error:
            self.builder.problems.append(LabelProblem(path, "label_syntax", str(error), error.line, error.boxes))
            return
        self.others.update(document.others)
        lost = len(document.shapes) + len(document.problems)
        found = self.finder.of(path, document.picture)
        if not found.path:
            self.builder.problems.append(LabelProblem(path, found.reason, found.detail, None, lost))
            return
        self.builder.problems += document.problems
        self.builder.add_box_rows({**_row(shape), "path": found.path, "label_file": path} for shape in document.shapes)
        self.seen |= {shape.label for shape in document.shapes}
        image = ImageLabels(
            path=found.path,
            label_file=path,
            width=document.width,
            height=document.height,
            source_split=split_of_folders(found.path) or split_of_folders(path),
            attributes=document.attributes,
        )
        self.images.append((image, bool(document.shapes) or not document.problems))

    def finish(self) -> LabelSet:
        """Return all that was read; only now the classes of the set are known."""
        number = self.builder.class_list(sorted(name for name in self.seen if not names_ignore_region(name)))
        for image, usable in self.images:
            self.builder.add_image(replace(image, class_list=number if usable else None))
        if self.others:
            counted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.others.items()))
            self.builder.notes.append(f"LabelMe shapes that are no boxes were not read: {counted}.")
        return self.builder.build()


def _row(shape: LabelMeShape) -> dict[str, object]:
    return {
        "line": shape.line,
        "own_id": shape.own_id,
        "class_name": shape.label,
        **dict(zip(("x1", "y1", "x2", "y2"), shape.corners, strict=True)),
        "ignore": names_ignore_region(shape.label),
        "attributes": canonical_json(shape.attributes),
        "score": shape.score,
        "annotator": shape.annotator,
    }
