"""The main job from end to end, as a user would run it: every command is shown, then run.

Sample drives are rendered, three batches are curated, the frames worth money go to (played) annotators, a model is
trained, judged and promoted, and a second one is trained and compared with the first. Run it again and what is there
already is re-used.

    python examples/demo.py [FOLDER] [FRAMES]
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

BLOCKED = 5  # what `driveflow run` ends with where the gate did not pass
DRIVEFLOW = Path(sys.executable).with_name("driveflow")


def driveflow(*arguments: str, allowed: tuple[int, ...] = (0,)) -> dict:
    """Show a driveflow command, run it, and return what it says; end the demo where it fails."""
    print(f"\n$ driveflow {shlex.join(arguments)}", flush=True)
    started = time.monotonic()
    done = subprocess.run([str(DRIVEFLOW), *arguments, "-o", "json"], stdout=subprocess.PIPE, check=False)
    if done.returncode not in allowed:
        print(done.stdout.decode(), file=sys.stderr)
        sys.exit(f"demo: that command ended with {done.returncode}")
    print(f"  done in {time.monotonic() - started:.0f} s", flush=True)
    return json.loads(done.stdout)


def show_run(run: dict) -> None:
    """Print the steps of a run and what came of it."""
    for step in run["steps"]:
        counts = ", ".join(f"{name} {count}" for name, count in step["counts"].items() if count)
        reused = "re-used" if step["reused"] else f"{step['seconds']:.1f} s"
        print(f"  {step['step']:<22} {reused:>8}  {counts}")
    for name in ("why", "campaign", "verdict", "model_version", "report"):
        if run.get(name):
            why = f". {run['reason']}" if name == "verdict" else ""
            print(f"  {name.replace('_', ' ')}: {run[name]}{why}")


def main(folder: Path, frames: int) -> None:
    """Run the demo in `folder`."""
    started = time.monotonic()
    drives, workspace = folder / "drives", str(folder / "workspace")
    flow = str(drives / "flow.yaml")
    sample = driveflow("sample", str(drives), "--frames", str(frames))
    print(f"  {sample['drives']} drives: {sample['files']} files, {sample['boxes']} boxes")

    curated = driveflow("run", flow, "--pipeline", "curate", "--workspace", workspace)
    show_run(curated)
    if curated["campaign"]:
        answers = driveflow("sample", "annotate", curated["campaign"], "--truth", str(drives / "truth"))
        print(f"  {answers['answered']} of {answers['sent']} frames answered with {answers['boxes']} boxes")

    first = driveflow("run", flow, "--pipeline", "retrain", "--workspace", workspace, allowed=(0, BLOCKED))
    show_run(first)
    again = ("--set", "seed=2", "--set", "force=true")
    second = driveflow("run", flow, "--pipeline", "retrain", "--workspace", workspace, *again, allowed=(0, BLOCKED))
    show_run(second)
    driveflow_text("models", "list", "--workspace", workspace)
    print(f"\nThe demo took {time.monotonic() - started:.0f} s. The report of the second model, to open in a browser:")
    print(f"  {second['report']}")
    print("\nWhat to ask next:")
    for words in (
        ("report", "show"),
        ("data", "show", curated["snapshots"]["filter_frames"][:12]),
        ("filter", "verify", curated["snapshots"]["filter_frames"][:12]),
        ("runs", "show", second["run_id"], "--explain"),
    ):
        print(f"  {shlex.join([str(DRIVEFLOW), *words, '--workspace', workspace])}")
    if first["verdict"] != "PASS":
        sys.exit(f"demo: the first model should have passed, the gate says {first['verdict']}")


def driveflow_text(*arguments: str) -> None:
    """Show a driveflow command and run it for a person to read."""
    print(f"\n$ driveflow {shlex.join(arguments)}", flush=True)
    subprocess.run([str(DRIVEFLOW), *arguments], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"), int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
