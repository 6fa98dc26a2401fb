"""Read YOLO labels: darknet, classes.txt or data.yaml; boxes, oriented boxes and polygons."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from driveflow.canonical import canonical_json
from driveflow.formats.file_kinds import may_be_picture
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.path_index import PathIndex, folder_of
from driveflow.formats.picture_finder import bare_stem, stem_of
from driveflow.formats.plain_text import bad_byte, lines_in, text_lines
from driveflow.formats.yolo_layout import YoloSet, find_sets
from driveflow.formats.yolo_lines import YoloBox, YoloNames, YoloText, are_tracks

_BESIDE = {"images": "labels", "Images": "Labels", "IMAGES": "LABELS"}
_HOMES = re.compile(r"/(labels|obj_\w+_data)/", re.IGNORECASE)
_LINE = re.compile(r"\s*[-+.\de]+(\s+[-+.\de]+){4}", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"\s*([0-9]{1,3})(?:\.0*)?\s")  # of a class, at the beginning of a line


@dataclass(frozen=True, slots=True)
class _Labels:
    """Where the labels of a picture are, and the data set that names their classes."""

    picture: str
    file: str  # empty: the picture is unlabeled
    of: YoloSet


def read_yolo(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the YOLO labels in `files` say, with the classes that `annotations` names where several do.

    An empty label file is a labeled picture without objects; a picture without a label file is unlabeled. A picture
    whose labels use a class that the list does not have is `broken`; other bad lines become problems.
    """
    index = PathIndex(files.paths)
    sets = find_sets(files, index, annotations) or [YoloSet(_numbers(files, index), "")]
    builder = LabelSetBuilder()
    for found in sets:
        builder.files |= found.files
        builder.notes += found.notes
        builder.problems += found.problems
    everywhere = list(_labels_of(files, index, builder, sets))
    for labels in everywhere:
        labels.of.label_files += [labels.file] if labels.file else []
    for labels in everywhere:
        _read_picture(files, builder, labels)
    _note_orphans(files, builder)
    return builder.build()


def _numbers(files: LabelFiles, index: PathIndex) -> YoloNames:
    """Return the numbers that labels use as names: without a list of names the taxonomy maps these."""
    seen: set[int] = set()
    for path in filter(may_be_picture, files.paths):
        if labels := _label_file(index, set(), path) or _label_file_of_set(index, set(), "", path):
            lines = text_lines(files.read(labels))
            seen |= {int(found[1]) for _, line in lines if (found := _NUMBER.match(line))}
    return YoloNames({number: str(number) for number in sorted(seen)}, "nothing")


def _owner(sets: Sequence[YoloSet], picture: str) -> YoloSet:
    """Return the set that names the picture, else the one whose home is nearest above it."""
    naming = [found for found in sets if picture in found.splits]
    above = [found for found in sets if not found.root or picture.startswith(found.root + "/")]
    return max(naming or above or sets, key=lambda found: len(found.root))


def _labels_of(
    files: LabelFiles, index: PathIndex, builder: LabelSetBuilder, sets: Sequence[YoloSet]
) -> Iterator[_Labels]:
    """Yield every picture with its label file; one in `labels` that fits pictures of several folders is of none."""
    lists = {path for of in sets for path in of.files}
    found = {path: _owner(sets, path) for path in files.paths if may_be_picture(path)}
    near = {path: _label_file(index, lists, path) for path in found}
    taken = set(near.values())
    far: dict[str, list[str]] = defaultdict(list)
    for path in (path for path, file in near.items() if not file):
        far[_label_file_of_set(index, lists, found[path].root, path)].append(path)
    for file, pictures in far.items():
        if not file or file in taken or len(set(map(folder_of, pictures))) == 1:
            near |= dict.fromkeys(pictures, "" if file in taken else file)
            continue
        builder.files.add(file)
        lines = lines_in(files.read(file))
        detail = f"may be of {pictures[0]} or {pictures[1]} ({len(pictures)} in all)"
        builder.problems.append(LabelProblem(file, "label_ambiguous_picture", detail, None, lines))
    yield from (_Labels(path, near[path], of) for path, of in found.items())


def _label_file(index: PathIndex, lists: set[str], picture: str) -> str:
    """Return the label file in the place that the picture's own path gives."""
    stem = stem_of(picture)
    found = re.fullmatch(r"(.*/)(images|Images|IMAGES)(/.*)", f"/{stem}", re.DOTALL)
    name = stem.rpartition("/")[2]
    candidates = [f"{found[1]}{_BESIDE[found[2]]}{found[3]}"] if found else []
    candidates += [stem, f"{folder_of(stem)}/labels/{name}"]
    return _first_text(index, lists, candidates)


def _label_file_of_set(index: PathIndex, lists: set[str], root: str, picture: str) -> str:
    """Return the label file of the picture's name in the one folder of labels that its set has."""
    name = bare_stem(picture)
    return _first_text(index, lists, [f"{root}/labels/{name}"])


def _first_text(index: PathIndex, lists: set[str], candidates: Sequence[str]) -> str:
    for candidate in candidates:
        for extension in (".txt", ".TXT"):
            path = candidate.lstrip("/") + extension
            if path in index and path not in lists:
                return path
    return ""


def _read_picture(files: LabelFiles, builder: LabelSetBuilder, labels: _Labels) -> None:
    split = labels.of.split_of(labels.picture)
    data = _read_text(files, builder, labels)
    if data is None:
        builder.add_image(ImageLabels(path=labels.picture, label_file=labels.file, source_split=split))
        return
    names = labels.of.names
    text = YoloText(labels.file, names, None if labels.of.knows_tracks else partial(_names, files, builder, labels.of))
    builder.add_box_rows(_row(labels, box) for box in text.boxes(text_lines(data)))
    builder.problems += text.problems
    hopeless = bool(text.problems) and not text.found  # something was there: no example of "nothing to see"
    known = [names.by_number[key] for key in sorted(names.by_number) if names.by_number[key]]
    number = None if hopeless else builder.class_list(known)
    builder.add_image(
        ImageLabels(
            path=labels.picture,
            label_file=labels.file,
            class_list=number,
            source_split=split,
            broken=text.broken,
        )
    )


def _read_text(files: LabelFiles, builder: LabelSetBuilder, labels: _Labels) -> bytes | None:
    """Return the bytes of the label file; None where there is none, or it is no text."""
    if not labels.file:
        return None
    builder.files.add(labels.file)
    data = files.read(labels.file)
    place = bad_byte(data)
    if place is not None:
        detail = f"no UTF-8 text: byte {place} cannot be read"
        builder.problems.append(LabelProblem(labels.file, "label_syntax", detail))
        return None
    return data


def _names(files: LabelFiles, builder: LabelSetBuilder, of: YoloSet) -> YoloNames:
    """Find out whether the numbers after the boxes of a set are tracks or confidences, which all of its files tell."""
    of.knows_tracks = True
    if are_tracks((line for _, line in text_lines(files.read(path))) for path in of.label_files):
        of.names = replace(of.names, counts_tracks=True)
        builder.notes.append(f"{of.names.file}: whole numbers after its boxes are read as tracks, not as confidences.")
    return of.names


def _row(labels: _Labels, box: YoloBox) -> dict[str, object]:
    return {
        "path": labels.picture,
        "label_file": labels.file,
        "line": box.line,
        "class_name": box.class_name,
        **dict(zip(("x1", "y1", "x2", "y2"), box.corners, strict=True)),
        "normalised": True,
        "attributes": canonical_json({name: value for name, value in box.attributes.items() if name != "confidence"}),
        "score": box.attributes.get("confidence"),
    }


def _note_orphans(files: LabelFiles, builder: LabelSetBuilder) -> None:
    """Report label files that belong to no picture, of whatever folder holds labels."""
    homes = {folder_of(path) for path in builder.files if path.lower().endswith(".txt")}
    for path in files.paths:
        if not path.lower().endswith(".txt") or path in builder.files:
            continue
        if _HOMES.search(f"/{path}") or folder_of(path) in homes:
            data = files.read(path)
            first = next((line for _, line in text_lines(data) if line.strip()), "")
            if not first or _LINE.match(first):
                builder.files.add(path)
                detail = "no picture has its name"
                builder.problems.append(LabelProblem(path, "label_missing_picture", detail, None, lines_in(data)))
