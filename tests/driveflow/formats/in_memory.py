"""Files of a batch that exist in memory only, for the readers of labels."""

from dataclasses import dataclass


@dataclass
class InMemory:
    """Files by path; text is UTF-8."""

    files: dict

    @property
    def paths(self):
        return sorted(self.files)

    def read(self, path):
        content = self.files[path]
        return content if isinstance(content, bytes) else content.encode()


def pictures(*names):
    """Return empty files of these names, to stand for pictures."""
    return dict.fromkeys(names, b"")


def boxes(labels):
    """Return path, class and rounded corners of every box, sorted."""
    return sorted(
        (row["path"], row["class_name"], *(round(row[name], 6) for name in ("x1", "y1", "x2", "y2")))
        for row in labels.boxes.to_pylist()
    )


def problems(labels):
    """Return path, line and reason of everything that was wrong."""
    return [(problem.path, problem.line, problem.reason) for problem in labels.problems]


def looked_for(labels):
    """Return the classes looked for in each labeled picture."""
    return {
        row["path"]: labels.class_lists[row["class_list"]]
        for row in labels.images.to_pylist()
        if row["class_list"] is not None
    }
