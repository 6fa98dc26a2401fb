"""The classes of formats that have no list of their own, in the file that Datumaro and CVAT put beside such labels."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from driveflow.formats.json_text import JsonTextError, object_of, text_of, value_of
from driveflow.formats.label_set import LabelFiles, names_ignore_region
from driveflow.formats.whole_file import json_text, write_text

_NAME: Final = "dataset_meta.json"
_MOST_BYTES: Final = 2**20


def listed_classes(files: LabelFiles) -> tuple[frozenset[str], frozenset[str]]:
    """Return the classes that files called dataset_meta.json list, and the files."""
    paths = [path for path in files.paths if path.rpartition("/")[2] == _NAME]
    names = {name for path in paths for name in _names(files.read(path))}
    return frozenset(name for name in names if name and not names_ignore_region(name)), frozenset(paths)


def write_class_list(folder: Path, names: Iterable[str]) -> None:
    """Write the classes by number."""
    write_text(folder / _NAME, json_text({"label_map": {str(key): name for key, name in enumerate(names)}}) + "\n")


def _names(data: bytes) -> list[str]:
    if len(data) > _MOST_BYTES:
        return []
    try:
        value = object_of(value_of(data))
    except JsonTextError:
        return []
    return [text_of(name) for name in object_of(value.get("label_map")).values()]
