"""Make one list of classes of those of several snapshots."""

from collections.abc import Iterable, Sequence

from driveflow.errors import InvalidInputError, UsageError
from ingestion.merge_rules import NamedSnapshot


def unite_classes(batches: Sequence[NamedSnapshot]) -> tuple[str, ...]:
    """Return the classes of all: as they stand where all have the same, else sorted.

    Raises:
        InvalidInputError: there is no batch, or two names differ in nothing but case or blanks.
    """
    if not batches:
        raise InvalidInputError("There is nothing to merge: no batch was given.")
    lists = {batch.tables.classes for batch in batches}
    if len(lists) == 1:
        return lists.pop()
    _refuse_lookalikes(batches)
    return tuple(sorted({name for names in lists for name in names}))


def check_ruled(ruled: Iterable[str], classes: Sequence[str]) -> None:
    """Refuse a rule of its own for a class that nobody has: it would decide nothing, and nobody would see it.

    Raises:
        UsageError: one of `ruled` is not among `classes`.
    """
    unknown = [name for name in ruled if name not in classes]
    if unknown:
        known = ", ".join(sorted(classes)) or "none"
        raise UsageError(f"merge.per_class: no class is called {unknown[0]!r}; known are {known}.")


def _refuse_lookalikes(batches: Sequence[NamedSnapshot]) -> None:
    known: dict[str, tuple[str, str]] = {}
    for batch in sorted(batches, key=lambda batch: batch.name):
        for name in sorted(batch.tables.classes):
            other, where = known.setdefault("".join(name.casefold().split()), (name, batch.name))
            if other != name:
                raise InvalidInputError(
                    f"Batch {where!r} has the class {other!r}, batch {batch.name!r} has {name!r}: they differ in "
                    "nothing but case or blanks; import both under one taxonomy that maps one to the other "
                    "(`data import --map`)."
                )
