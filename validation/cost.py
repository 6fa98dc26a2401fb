"""What a model costs: how long a frame takes and how many bytes it has, beside the champion on one machine."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ROUNDS = 3
_MOST_S = 20.0


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Median milliseconds a frame, and the bytes of all files."""

    latency_ms: float
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Challenger beside champion, frame by frame in turn, so that a busy machine slows both alike."""

    challenger: ModelCost
    champion: ModelCost | None
    frames: int
    machine: str


@dataclass(frozen=True, slots=True)
class Runner:
    """A model to time: what runs it on one frame, and its bytes."""

    run: Callable[[object], object]
    size_bytes: int


def measure_cost(
    challenger: Runner,
    champion: Runner | None,
    frames: Sequence[object],
    machine: str,
    clock: Callable[[], float] = time.perf_counter,
) -> Cost | None:
    """Return the cost of both: each frame is run by one, then by the other, several rounds after one to warm up."""
    if not frames:
        return None
    runners = [challenger] if champion is None else [challenger, champion]
    taken: list[list[float]] = [[] for _ in runners]
    for runner in runners:
        runner.run(frames[0])
    began_s = clock()
    turns = [(turn, frame) for turn in range(_ROUNDS) for frame in range(len(frames))]
    for turn, frame in turns:
        for number in range(len(runners)):
            one = (number + turn) % len(runners)
            started_s = clock()
            runners[one].run(frames[frame])
            taken[one].append(clock() - started_s)
        if clock() - began_s > _MOST_S:
            break
    costs = [
        ModelCost(1_000 * statistics.median(seconds), runner.size_bytes)
        for runner, seconds in zip(runners, taken, strict=True)
    ]
    timed = min(len(frames), len(taken[0]))
    return Cost(costs[0], costs[1] if champion is not None else None, timed, machine)
