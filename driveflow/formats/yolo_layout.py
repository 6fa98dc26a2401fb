"""Find the YOLO data sets in a batch: what names their classes and which pictures belong to which split."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from driveflow.formats.file_kinds import may_be_picture
from driveflow.formats.label_set import LabelFiles, LabelProblem, ProblemList
from driveflow.formats.path_index import PathIndex, folder_of, plain_path
from driveflow.formats.picture_finder import bare_stem
from driveflow.formats.plain_text import plain_text
from driveflow.formats.source_split import known_split, split_of_folders
from driveflow.formats.yolo_lines import YoloNames

_MAX_SETTINGS_BYTES = 4 * 2**20
_SPLIT_KEYS = ("train", "val", "valid", "validation", "test")
_SETTINGS_NAMES = frozenset(["data.yaml", "data.yml", "dataset.yaml", "dataset.yml"])


class _AsWritten(yaml.SafeLoader):
    """Keeps every value as the text of the file: a class called 030 is not 24, and one called no is not False."""

    yaml_implicit_resolvers = {"<": yaml.SafeLoader.yaml_implicit_resolvers["<"]}  # noqa: RUF012 as its base has it


@dataclass(slots=True)
class YoloSet:
    """One data set: its classes, the folder that is its home, and the splits of its pictures (filled as it is read)."""

    names: YoloNames
    root: str
    splits: dict[str, set[str]] = field(default_factory=dict)  # picture -> splits that name it
    files: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    problems: ProblemList = field(default_factory=ProblemList)
    label_files: list[str] = field(default_factory=list)  # filled by the reader
    knows_tracks: bool = False  # whether it was asked what numbers after boxes are

    def split_of(self, picture: str) -> str:
        """Return the split of `picture`; where several name it, its folder decides, then the first of the file."""
        named = self.splits.get(picture, set())
        by_folder = split_of_folders(picture)
        if by_folder in named or not named:
            return by_folder
        return next(split for split in ("train", "valid", "test") if split in named)


def _settings_of(files: LabelFiles, path: str) -> Mapping[str, Any] | str:
    """Return the content of a YAML file that names classes, or why it is no such thing."""
    data = files.read(path)
    if b"names" not in data.replace(b"\0", b"") and not _is_settings_name(path):
        return "it has no list 'names'"  # spares the thousands of files that tell what each frame was taken with
    if len(data) > _MAX_SETTINGS_BYTES:
        return "it is larger than 4 MiB"
    try:
        settings = yaml.load(data, Loader=_AsWritten)  # noqa: S506 a SafeLoader
    except yaml.MarkedYAMLError as error:
        return f"line {error.problem_mark.line + 1}: {error.problem}" if error.problem_mark else "it is no YAML"
    except (yaml.YAMLError, ValueError, RecursionError):
        return "it is no YAML"
    names = settings.get("names") if isinstance(settings, dict) else None
    return settings if isinstance(names, list | dict) or _said(names) else "it has no list 'names'"


def _said(value: object) -> str:
    """Return the text of a value, empty where there is none."""
    return value.strip() if isinstance(value, str) and value.strip().lower() not in {"", "~", "null"} else ""


def _yaml_files(files: LabelFiles) -> list[str]:
    return [path for path in files.paths if path.lower().endswith((".yaml", ".yml"))]


def find_sets(files: LabelFiles, index: PathIndex, annotations: str = "") -> list[YoloSet]:
    """Return the data sets of a batch; of several with one home those whose files are at `annotations`, if any are.

    Others are noted where they name other classes: which of them is right, only a person can tell.
    """
    rivals: dict[str, list[YoloSet]] = {}
    for found in _all_sets(files, index):
        rivals.setdefault(found.root, []).append(found)
    sets: list[YoloSet] = []
    for all_here in rivals.values():
        stated = [found for found in all_here if any(_is_at(path, annotations) for path in found.files)]
        sets += stated or all_here
        one, *others = stated or all_here
        other = next((found for found in others if found.names.by_number != one.names.by_number), None)
        if other is not None:
            told = f"{one.names.file} and {other.names.file} name the classes of the same pictures, and not alike"
            one.notes.append(f"{told}: what names a picture first counts; `annotations` says which is meant.")
    return sets


def _is_at(path: str, place: str) -> bool:
    return bool(place) and (path == place or path.startswith(f"{place}/"))


def _all_sets(files: LabelFiles, index: PathIndex) -> list[YoloSet]:
    """Return the data sets of a batch; a data.yaml beats obj.data beats a bare list of names in the same folder.

    Where there is nothing else in its folder, a data.yaml that names no classes is one in which no class is known.
    """
    said = {path: _settings_of(files, path) for path in _yaml_files(files)}
    sets = [
        _from_yaml(files, index, path, settings) for path, settings in said.items() if not isinstance(settings, str)
    ]
    sets += [_from_darknet(files, index, path) for path in files.paths if path.lower().endswith(".data")]
    taken = {path for found in sets for path in found.files}
    homes = {found.root for found in sets}
    for path in files.paths:
        home = re.sub(r"(^|/)labels$", "", folder_of(path))  # labelling tools put the list beside the labels
        if is_names_file(path) and path not in taken and home not in homes:
            sets.append(YoloSet(YoloNames({}, path), home, files={path}))
            sets[-1].names = YoloNames(_names_in(files, sets[-1], path), path)
            homes.add(home)
    return sets + [
        YoloSet(YoloNames({}, path, trouble=why), folder_of(path), files={path})
        for path, why in said.items()
        if isinstance(why, str) and _is_settings_name(path) and folder_of(path) not in homes
    ]


def yolo_settings_files(files: LabelFiles) -> list[str]:
    """Return the files that say how a YOLO data set is laid out: a data.yaml by content, an obj.data by name."""
    darknet = [path for path in files.paths if path.lower().endswith("obj.data")]
    said = {path: _settings_of(files, path) for path in _yaml_files(files)}
    whole = {"nc", "path", *_SPLIT_KEYS}
    return sorted([*darknet, *(path for path, settings in said.items()
                               if not isinstance(settings, str) and whole & settings.keys())])  # fmt: skip


def bare_yolo_files(files: LabelFiles) -> list[str]:
    """Return the text files named like pictures where there is a list of class names too, or what should be one."""
    named = any(is_names_file(path) or _is_settings_name(path) for path in files.paths)
    if not named and all(isinstance(_settings_of(files, path), str) for path in _yaml_files(files)):
        return []
    pictures = {bare_stem(path) for path in files.paths if may_be_picture(path)}
    return [path for path in files.paths if path.lower().endswith(".txt") and bare_stem(path) in pictures]


def _is_settings_name(path: str) -> bool:
    return path.rpartition("/")[2].lower() in _SETTINGS_NAMES


def is_names_file(path: str) -> bool:
    """Tell whether `path` bears the name of a list of class names."""
    name = path.rpartition("/")[2].lower()
    return name in {"classes.txt", "_darknet.labels"} or name.endswith(".names")


def _names_in(files: LabelFiles, found: YoloSet, path: str) -> dict[int, str]:
    text, taken_for = plain_text(files.read(path))
    if taken_for:
        found.notes.append(f"{path} is no UTF-8 text and is read as {taken_for}.")
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return {number: line.strip() for number, line in enumerate(lines)}


def _from_yaml(files: LabelFiles, index: PathIndex, path: str, settings: Mapping[str, Any]) -> YoloSet:
    home = folder_of(path)
    found = YoloSet(YoloNames({}, path), home, files={path})
    found.names = YoloNames(_yaml_names(files, index, found, settings["names"]), path, _keypoint_values(settings))
    count = _said(settings.get("nc"))
    if count.isdecimal() and count != str(len(found.names.by_number)):
        found.notes.append(f"{path}: nc says {count} classes, names lists {len(found.names.by_number)}.")
    found.root = _root(index, found, settings.get("path"), home)
    for key in _SPLIT_KEYS:
        for entry in _entries(settings.get(key)):
            _add_split(files, index, found, known_split(key), entry)
    return found


def _yaml_names(files: LabelFiles, index: PathIndex, found: YoloSet, names: Any) -> dict[int, str]:  # noqa: ANN401 YAML
    if isinstance(names, dict):
        swapped = all(_is_number(name) and not _is_number(key) for key, name in names.items())
        pairs = ((name, key) if swapped else (key, name) for key, name in names.items())
        return {int(key): _text(name) for key, name in pairs if _is_number(key) and not _is_nested(name)}
    if isinstance(names, list):
        return {number: _text(name) for number, name in enumerate(names) if not _is_nested(name)}
    matches = index.find([folder_of(found.names.file)], plain_path(str(names)))
    if len(matches) != 1:
        found.notes.append(f"{found.names.file}: names: {names!r} leads to no file of this batch.")
        return {}
    found.files.add(matches[0])
    return _names_in(files, found, matches[0])


def _is_number(key: object) -> bool:
    return not _is_nested(key) and str(key).isdecimal() and len(str(key)) < 10


def _is_nested(name: object) -> bool:
    return isinstance(name, list | dict)  # with anchors a few of them spell out gigabytes


def _text(name: object) -> str:
    """Return a class name as text that UTF-8 can hold."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def _keypoint_values(settings: Mapping[str, Any]) -> int:
    shape = settings.get("kpt_shape")
    if isinstance(shape, list) and len(shape) == 2 and all(_said(size).isdecimal() for size in shape):
        return int(shape[0][:9]) * int(shape[1][:9])
    return 0


def _root(index: PathIndex, found: YoloSet, stated: object, home: str) -> str:
    """Return the folder that `path:` means; one that leads nowhere is said and ignored."""
    text = _said(stated)
    if not text:
        return home
    root = index.find_folder([home, ""], plain_path(text))
    if root is not None:
        return root
    found.notes.append(f"{found.names.file}: path: {text!r} leads nowhere in this batch and is ignored.")
    return home


def _entries(value: object) -> Iterator[str]:
    entries = value if isinstance(value, list) else [value]
    yield from filter(None, map(_said, entries))


def _add_split(files: LabelFiles, index: PathIndex, found: YoloSet, split: str, entry: str) -> None:
    """Add the pictures of one entry: a folder, or a text file that lists pictures."""
    path, homes = plain_path(entry), [found.root, folder_of(found.names.file)]
    if path.lower().endswith(".txt"):
        lists = index.find(homes, path)
        if len(lists) == 1:
            _add_list(files, index, found, split, lists[0])
            return
    # exporters write "../train/images" although the folder lies beside the file
    folder = index.find_folder(homes, path) or index.find_folder(homes, path.replace("../", ""))
    if folder is None:
        found.notes.append(f"{found.names.file}: {split}: {entry!r} leads to no file of this batch.")
        return
    for picture in index.files_under(folder):
        found.splits.setdefault(picture, set()).add(split)


def _add_list(files: LabelFiles, index: PathIndex, found: YoloSet, split: str, path: str) -> None:
    found.files.add(path)
    homes = [found.root, folder_of(path), folder_of(folder_of(path))]
    for number, line in enumerate(files.read(path).decode("utf-8-sig", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        matches = index.find(homes, plain_path(line))
        if len(matches) == 1:
            found.splits.setdefault(matches[0], set()).add(split)
        else:
            detail = f"{line.strip()!r} is {'no file' if not matches else f'{len(matches)} files'} of this batch"
            found.problems.append(LabelProblem(path, "label_missing_picture", detail, number))


def _from_darknet(files: LabelFiles, index: PathIndex, path: str) -> YoloSet:
    settings = dict(_assignments(files.read(path).decode("utf-8-sig", "replace").splitlines()))
    home = folder_of(path)
    found = YoloSet(YoloNames({}, path), home, files={path})
    lists = index.find([home, ""], plain_path(settings.get("names", "obj.names")))
    if len(lists) == 1:
        found.names = YoloNames(_names_in(files, found, lists[0]), lists[0])
        found.files.add(lists[0])
    else:
        found.notes.append(f"{path}: names = {settings.get('names')!r} leads to no file of this batch.")
    for key in _SPLIT_KEYS:
        if key in settings:
            _add_split(files, index, found, known_split(key), settings[key])
    return found


def _assignments(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, sign, value = line.partition("=")
        if sign:
            yield key.strip().lower(), value.strip()
