"""Run parameters as a person types them."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from components.work.plan_run import LEAST, given
from driveflow.errors import NotFoundError, UsageError
from driveflow.storage.uris import local_path, to_uri

_DATA_ROOT = "data_root"
_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0")
_LARGEST = 2**53  # KFP keeps numbers as doubles


def with_changes(parameters: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return `parameters` with each "name=value" of `changes` in it, in the type it has.

    >>> with_changes({"seed": -1, "force": False}, ["seed=2", "force=true"])
    {'seed': 2, 'force': True}
    """
    changed = dict(parameters)
    seen: set[str] = set()
    for change in changes:
        name, separator, text = change.partition("=")
        if not separator:
            raise UsageError(f"--set takes name=value, got {change!r}.")
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"No run parameter is called {name!r}.{hint} Known: {', '.join(parameters)}.")
        if name in seen:
            raise UsageError(f"--set names {name!r} twice; once would do.")
        seen.add(name)
        changed[name] = _typed(name, text, parameters[name])
    return changed


def look_for_data(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse a data root that was changed to a folder that is not on this machine; of S3 nothing is asked.

    Raises:
        NotFoundError: there is no such folder.
    """
    root = parameters[_DATA_ROOT]
    folder = None if root == defaults[_DATA_ROOT] else local_path(root)
    if folder is not None and not folder.is_dir():
        raise NotFoundError(f"There is no folder {folder}, which --set {_DATA_ROOT} names.")


def _typed(name: str, text: str, known: Any) -> Any:  # noqa: ANN401 a KFP parameter value
    if isinstance(known, bool):
        if text.lower() not in (*_TRUE, *_FALSE):
            raise UsageError(f"{name} takes true or false, got {text!r}.")
        return text.lower() in _TRUE
    if isinstance(known, int):
        try:
            number = int(text)
        except ValueError:
            raise UsageError(f"{name} takes a whole number, got {text!r}.") from None
        if abs(number) > _LARGEST:
            raise UsageError(f"{name} takes {_LARGEST} at most, got {text}.")
        if name in LEAST:
            given(name, number)
        return number
    return _root(text) if name == _DATA_ROOT else text


def _root(text: str) -> str:
    if not text:
        raise UsageError(f"{_DATA_ROOT} takes a folder or an address, file:///folder or s3://bucket/key; got ''.")
    return to_uri(text)
