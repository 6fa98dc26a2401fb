"""Digest the code that makes a result, so that changed code never reuses an old one."""

import functools
import hashlib
from importlib import util
from pathlib import Path


@functools.cache
def package_digest(name: str) -> str:
    """Return the sha256 over all Python sources of the package `name`, by relative path."""
    found = util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(name)
    root = Path(next(iter(found.submodule_search_locations)))
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(path.relative_to(root).as_posix().encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def code_digest(*names: str) -> str:
    """Return the digest of several packages together with the ground they stand on."""
    total = hashlib.sha256()
    for name in sorted({*names, "driveflow"}):
        total.update(f"{name}:{package_digest(name)}\n".encode())
    return total.hexdigest()


@functools.cache
def module_digest(*names: str) -> str:
    """Return the sha256 over the sources of the modules `names`, without importing them."""
    total = hashlib.sha256()
    for name in sorted(names):
        found = util.find_spec(name)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(name)
        total.update(f"{name}:{hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
