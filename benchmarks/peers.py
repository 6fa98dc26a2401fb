"""Where the peers live: environments of their own, so that what they pin never touches ours; they run as processes.

`make peers` makes all of them under `.peers/`, or `python -m benchmarks.peers NAME...` some. An environment that was
made by hand is named by a variable: DRIVEFLOW_PEER_DATUMARO is the python of one that has datumaro. imagededup is found
that way only: it needs torchvision, which `make peers` does not draw because it must fit the torch of the machine. One
that does not will do where its `__init__.py` is kept from importing `_meta_registrations`, which looks for operators
that imagededup does not use.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).parents[1] / ".peers"
LOCKS = Path(__file__).parent / "peer_locks"


def names() -> list[str]:
    """Return the peers that have a lock of their own."""
    return sorted(lock.stem for lock in LOCKS.glob("*.txt"))


def python_of(peer: str) -> str:
    """Return the python of the peer's environment, or "" where there is none."""
    made = HOME / peer / "bin" / "python"
    return os.environ.get(variable(peer), "") or (str(made) if (HOME / peer / "made").exists() else "")


def variable(peer: str) -> str:
    """Return the name of the variable that names the peer's python."""
    return f"DRIVEFLOW_PEER_{peer.upper().replace('-', '_')}"


def how_to(peer: str) -> str:
    """Return one sentence on how to get the peer."""
    return f"{peer} is not here: `make peers` makes its environment, or {variable(peer)} names a python that has it"


def make(peer: str) -> str:
    """Make the peer's environment and return its python; one that is there is left as it is."""
    if found := python_of(peer):
        return found
    venv.create(HOME / peer, with_pip=True, clear=True)
    python = HOME / peer / "bin" / "python"
    lock = LOCKS / f"{peer}.txt"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", lock], check=True)
    (HOME / peer / "made").touch()
    return str(python)


if __name__ == "__main__":
    for name in sys.argv[1:] or names():
        print(f"{name:20}{make(name)}", flush=True)
