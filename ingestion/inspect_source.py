"""Look at a batch without importing it: what is there, what labels say, what is wrong with them."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driveflow.canonical import Json
from driveflow.errors import InvalidInputError
from driveflow.flow.sections import BatchSection
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.label_set import LabelProblem, LabelSet, names_ignore_region
from ingestion.batch_files import BatchFiles, open_files
from ingestion.find_metadata import find_metadata
from ingestion.open_container import rules_of
from ingestion.read_labels import BatchLabels, read_batch_labels
from ingestion.sort_files import sort_files
from ingestion.source import list_source
from ingestion.taxonomy import box_counts

_MISSING = frozenset(["label_missing_picture", "label_ambiguous_picture"])
_MAX_ROWS = 100
_MAP_HEAD = """\
# The classes of this batch as they were found. Keep under classes what the project wants.
# aliases: "foreign name": class          drop: names whose boxes are not wanted
# ignore: names whose boxes become ignore regions of every class
"""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an import would read, before any picture is looked at."""

    report: dict[str, Json]
    classes: Mapping[str, int]  # as they are spelled -> boxes


def inspect_source(uri: str, section: BatchSection) -> Inspection:
    """Return what lies at `uri`; nothing is written, and no picture is decoded.

    Raises:
        NotFoundError: nothing is there, or nothing of the format that `section` states.
        EmptyBatchError: an empty folder is.
    """
    source = list_source(uri)
    annotated = section if section.annotations or not source.annotations else _reading(section, source.annotations)
    files = open_files(source.objects, rules_of(annotated))
    read = read_batch_labels(files, annotated)
    metadata = find_metadata(files, annotated)
    classes = dict(sorted(box_counts(read.labels).items()))
    ordered = sort_files(files, read.labels.files, metadata.files)
    report: dict[str, Json] = {
        "uri": uri,
        **_formats(read, files),
        **_files(files, len(ordered.pictures)),
        "metadata": ", ".join(metadata.files),
        **_labels(read.labels, classes),
        "problems": _problems([*read.labels.problems, *metadata.problems], files),
        "notes": [note for note in (read.note, *read.labels.notes, metadata.note, *ordered.notes) if note],
    }
    return Inspection(report, classes)


def starting_map(classes: Mapping[str, int]) -> str:
    """Return a map of classes to start from: every name as a class, and what is plainly no class where it belongs.

    Raises:
        InvalidInputError: there is no class to map.
    """
    kept, aliases = _spellings({name: n for name, n in classes.items() if not _is_no_class(name)})
    if not kept:
        raise InvalidInputError("There are no classes in this batch, so there is nothing to map.")
    ignore = [name for name in classes if names_ignore_region(name)]
    drop = [name for name in classes if _is_no_class(name) and name not in ignore]
    lines = ["classes:", *(_entry(name, classes[name]) for name in kept)]
    lines += ["aliases:", *(f"  {_quoted(name)}: {_quoted(to)}" for name, to in aliases.items())] if aliases else []
    for key, names in (("drop", drop), ("ignore", ignore)):
        lines += [f"{key}:", *(_entry(name, classes[name]) for name in names)] if names else []
    return _MAP_HEAD + "\n".join(lines) + "\n"


def _reading(section: BatchSection, annotations: str) -> BatchSection:
    return BatchSection(name=section.name, path=section.path, format=section.format, annotations=annotations,
                        metadata=section.metadata)  # fmt: skip


def _formats(read: BatchLabels, files: BatchFiles) -> dict[str, Json]:
    names = sorted(files.name_of(place) for place in read.labels.files)
    return {
        "format": read.label_format,
        "formats_found": [read.label_format, *read.others],
        "label_files": {"total": len(names), "first": list(names[:_MAX_ROWS])},
    }


def _files(files: BatchFiles, pictures: int) -> dict[str, Json]:
    kinds = Counter(kind_of(file.place) for file in files.files)
    return {
        "files": len(files.files) + len(files.refused),
        "files_by_kind": dict(sorted(kinds.items())),
        "archives": files.archives,
        "refused": dict(sorted(Counter(item.reason for item in files.refused).items())),
        "pictures": pictures,
    }


def _labels(labels: LabelSet, classes: Mapping[str, int]) -> dict[str, Json]:
    found = len(set(labels.images["path"].to_pylist()))
    missing = sum(1 for item in labels.problems if item.reason in _MISSING)
    return {
        "pictures_listed": found + missing,
        "pictures_found": found,
        "pictures_missing": missing,
        "boxes": labels.boxes_read,
        "ignored_boxes": sum(labels.boxes["ignore"].to_pylist()),
        "classes": dict(classes),
    }


def _problems(problems: Sequence[LabelProblem], files: BatchFiles) -> dict[str, Json]:
    rows: list[Json] = [
        {"path": files.name_of(item.path), "line": item.line, "reason": item.reason, "detail": item.detail}
        for item in problems[:_MAX_ROWS]
    ]
    return {
        "total": len(problems),
        "boxes_lost": sum(item.boxes for item in problems),
        "reasons": dict(sorted(Counter(item.reason for item in problems).items())),
        "rows": rows,
    }


def _is_no_class(name: str) -> bool:
    return names_ignore_region(name) or not name.strip() or not name.isprintable()


def _spellings(classes: Mapping[str, int]) -> tuple[list[str], dict[str, str]]:
    """Return the names to keep as classes, and the other spellings of each: Car beside car."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(classes, key=lambda name: (-classes[name], name)):
        alike[name.strip().casefold()].append(name)
    return [names[0] for names in alike.values()], {name: names[0] for names in alike.values() for name in names[1:]}


def _entry(name: str, boxes: int) -> str:
    return f"  - {_quoted(name)}".ljust(34) + f"  # {boxes:,} boxes"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
