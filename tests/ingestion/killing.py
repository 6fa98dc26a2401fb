"""Call `driveflow` in forked processes that are killed at a write of their choice; run as a program, see `main`."""

import json
import os
import shutil
import signal
import sys

import ingestion.import_source
import ingestion.merge_named
import ingestion.withdraw
from cli.main import main as driveflow

_CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
assert ingestion.import_source
assert ingestion.withdraw
assert ingestion.merge_named  # imported once, before the forks


def main(plan):
    """Do each call of `plan` ({"words", "kill_at"; 0: run to the end}) and return exit code, output and writes.

    The words "copy A B" copy a folder.
    """
    return [_wait(_start(call["words"], call["kill_at"])) for call in plan if not _copied(call["words"])]


def _copied(words):
    return words[0] == "copy" and bool(shutil.copytree(words[1], words[2]))


def together(plan):
    """Do the calls of `plan` all at the same time."""
    return [_wait(started) for started in [_start(call["words"], call["kill_at"]) for call in plan]]


def _start(words, kill_at):
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    os.dup2(writing, 1)
    workspace = words[words.index("-w") + 1]
    seen = [0]

    def hook(event, args):
        is_change = event in _CHANGES or (event == "open" and args[2] & _WRITING)
        is_change = is_change and not isinstance(args[0], int)  # which is a file that is open already
        if is_change and os.fspath(args[0] or "").startswith(workspace):
            seen[0] += 1
            if seen[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    try:
        driveflow(words)
    except SystemExit as left:
        sys.stdout.flush()
        os.write(1, f"\nwrites {seen[0]}".encode())
        os._exit(int(left.code or 0))
    finally:
        os._exit(99)


def _wait(started):
    process, reading = started
    with open(reading, encoding="utf-8") as pipe:  # noqa: PTH123 a descriptor
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text, _, writes = said.rpartition("\nwrites ")
    return {"code": code, "report": json.loads(text) if code == 0 else None, "writes": int(writes) if text else 0}


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    print(json.dumps((together if order["together"] else main)(order["plan"])))  # noqa: T201 what the test reads
