"""Files of a batch that lie in a folder, for the readers of labels."""

import re
from pathlib import Path


class OnDisk:
    """The files under `folder`, or those of them that match one of `patterns`."""

    def __init__(self, folder, *patterns):
        self.folder = Path(folder)
        files = [path for pattern in patterns or ("**/*",) for path in self.folder.glob(pattern) if path.is_file()]
        self.paths = sorted({path.relative_to(self.folder).as_posix() for path in files})

    def read(self, path):
        return (self.folder / path).read_bytes()


def count_in(folder, pattern, regex):
    """Count what matches `regex` in the bytes of the files that match `pattern`: a count without any parser."""
    return sum(len(re.findall(regex, path.read_bytes())) for path in Path(folder).glob(pattern))


def truth_rows(truth, names=None, classes=None):
    """Return file name, class and corners of every box of a truth; `names` and `classes` say how a format spells."""
    return sorted(
        ((names or {}).get(image["file"], image["file"]), (classes or {}).get(box["cls"], box["cls"]), *box["box"])
        for image in truth
        for box in image["boxes"]
    )


def found_rows(labels):
    """Return file name, class and corners of every box, sorted."""
    return sorted(
        (row["path"].rpartition("/")[2], row["class_name"], row["x1"], row["y1"], row["x2"], row["y2"])
        for row in labels.boxes.to_pylist()
    )


def assert_same_boxes(found, expected, within_px):
    """Check that both say the same boxes, each corner to within `within_px`."""
    assert len(found) == len(expected)
    rest = list(found)
    for row in expected:
        near = [other for other in rest if other[:2] == row[:2] and _apart(other, row) <= within_px]
        assert near, row
        rest.remove(min(near, key=lambda other: _apart(other, row)))


def _apart(one, other):
    return max(abs(a - b) for a, b in zip(one[2:], other[2:], strict=True))
