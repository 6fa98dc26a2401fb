"""Run a compiled pipeline under kfp.local, in a process of its own.

Call: `python -m pipelines.local_child RUN_FOLDER EVENTS_FD LOCK_FD`.
"""

import json
import os
import shutil
import sys
import warnings
from pathlib import Path

from driveflow.canonical import Json
from pipelines.forked_step import warm_up
from pipelines.local_shim import StepProcesses, install
from pipelines.sweep import WORKING_FOLDER


def main() -> int:
    """Run the pipeline in the run folder and write events to the given file descriptor; 0 where it succeeded."""
    folder, events, lock = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

    def emit(event: dict[str, Json]) -> None:
        os.write(events, (json.dumps(event) + "\n").encode())

    scratch = folder / WORKING_FOLDER
    os.environ["TMPDIR"] = str(scratch)
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        _run(folder, StepProcesses(folder / "logs", emit, lock))
    except KeyboardInterrupt:
        emit({"event": "finished", "state": "CANCELLED", "error": "stopped"})
        return 130
    except Exception as error:  # noqa: BLE001 KFP raises what it likes; all of it is a failed run
        emit({"event": "finished", "state": "FAILED", "error": str(error)})
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    emit({"event": "finished", "state": "SUCCEEDED", "error": ""})
    return 0


def _run(folder: Path, processes: StepProcesses) -> None:
    warnings.filterwarnings("ignore")
    from kfp import components, local

    install(processes)
    warm_up()
    local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(folder / "artifacts"), raise_on_error=True)
    pipeline = components.load_component_from_file(str(folder / "pipeline.yaml"))
    pipeline(**json.loads((folder / "parameters.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
