"""Call `driveflow` many times without starting an interpreter for each."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def calls(*plan, together=False):
    """Do calls of (words, kill_at) in processes that are forked from one."""
    order = {"plan": [{"words": list(map(str, words)), "kill_at": at} for words, at in plan], "together": together}
    done = subprocess.run(
        [sys.executable, "-m", "tests.ingestion.killing", json.dumps(order)],
        capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
