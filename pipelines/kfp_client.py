"""Drive a KFP server: publish a compiled pipeline, run it, schedule it, wait for it, stop it."""

import contextlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from driveflow.canonical import digest_bytes
from driveflow.errors import DriveflowError, InvalidInputError, NotFoundError, ServiceUnavailableError
from driveflow.flow.cron import kfp_cron
from driveflow.flow.profile import KfpSection
from pipelines.kfp_connection import connect, explained, web_address

KfpState: TypeAlias = Literal[
    "PENDING", "RUNNING", "PAUSED", "CANCELLING", "SUCCEEDED", "SKIPPED", "FAILED", "CANCELLED"
]
ENDED: frozenset[KfpState] = frozenset({"SUCCEEDED", "SKIPPED", "FAILED", "CANCELLED"})
_STATES: dict[str | None, KfpState] = {
    "PENDING": "PENDING",
    "RUNNING": "RUNNING",
    "PAUSED": "PAUSED",
    "CANCELING": "CANCELLING",
    "SUCCEEDED": "SUCCEEDED",
    "SKIPPED": "SKIPPED",
    "FAILED": "FAILED",
    "CANCELED": "CANCELLED",
}
_VERSION_DIGITS = 32
_PAGE = 100
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a part of an address: nothing that leads elsewhere
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
_PATIENCE = 5  # polls in a row that may fail before waiting is given up


@dataclass(frozen=True, slots=True)
class Published:
    """A pipeline version on the server; `version` is a digest of its YAML, so the same YAML is one version."""

    pipeline: str
    pipeline_id: str
    version: str
    version_id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class KfpRun:
    """A run as the server sees it; `failed` are its failed tasks with what they said."""

    run_id: str
    name: str
    state: KfpState
    url: str
    failed: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Return whether the state can change no more."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Schedule:
    """A recurring run; `replaced` are the ids of those of the same name that it took the place of."""

    schedule_id: str
    name: str
    cron: str  # six fields, seconds first
    version: str
    replaced: tuple[str, ...]


class KfpServer:
    """A KFP server; owns the connection."""

    def __init__(self, settings: KfpSection) -> None:
        self._settings = settings
        self._host = web_address(settings)
        self._client = connect(settings)

    def publish(self, name: str, package: str) -> Published:
        """Upload compiled YAML as a version of the pipeline `name`; the same YAML again is the same version."""
        version = digest_bytes(package.encode())[:_VERSION_DIGITS]
        with explained(self._host), _as_file(package) as path:
            pipeline_id = self._pipeline_id(name) or self._upload_pipeline(name, path)
            known = self._version_id(pipeline_id, version)
            version_id = known or self._upload_version(pipeline_id, version, path)
        return Published(name, pipeline_id, version, version_id, is_new=not known)

    def start(self, published: Published, run_name: str, parameters: Mapping[str, Any]) -> KfpRun:
        """Start a run of a published version."""
        with explained(self._host):
            started = self._client.run_pipeline(
                experiment_id=self._experiment_id(), job_name=run_name, **self._pinned(published, parameters)
            )
        return self._run(started)

    def schedule(self, published: Published, name: str, cron: str, parameters: Mapping[str, Any]) -> Schedule:
        """Let the server start a published version by `cron` (five fields), in place of older schedules of that name.

        The new one is made before the old ones go: an error in between leaves two, which the next call makes one.
        """
        six_fields = kfp_cron(cron)
        with explained(self._host):
            before = [found.recurring_run_id for found in self._schedules(name)]
            made = self._client.create_recurring_run(
                experiment_id=self._experiment_id(),
                job_name=name,
                cron_expression=six_fields,
                no_catchup=True,
                max_concurrency=1,
                **self._pinned(published, parameters),
            )
            for schedule_id in before:
                with contextlib.suppress(NotFoundError), explained(self._host):  # somebody else was faster
                    self._client.delete_recurring_run(schedule_id)
        return Schedule(made.recurring_run_id, name, six_fields, published.version, tuple(before))

    def run(self, run_id: str) -> KfpRun:
        """Return a run as it is now.

        Raises:
            NotFoundError: `run_id` is no run, or what cannot be the id of one.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise NotFoundError(f"{run_id!r} is no id of a run; `driveflow submit` says the id of what it starts.")
        with explained(self._host):
            return self._run(self._client.get_run(run_id))

    def cancel(self, run_id: str) -> KfpRun:
        """Ask the server to stop a run, and return the run as it is then; one that has ended is left as it is."""
        run = self.run(run_id)
        if run.has_ended or run.state == "CANCELLING":
            return run
        try:
            with explained(self._host):
                self._client.terminate_run(run_id)
        except DriveflowError:  # the server stops nothing that has ended, and the run may have since we looked
            if not (run := self.run(run_id)).has_ended:
                raise
            return run
        return self.run(run_id)

    def wait(self, run_id: str, on_change: Callable[[KfpRun], None], timeout_s: float = float("inf")) -> KfpRun:
        """Return the run once it has ended, in whatever way; `on_change` hears of every new state.

        It looks often at first and every ten seconds later.

        Raises:
            ServiceUnavailableError: the server stays away, or the run has not ended after `timeout_s`.
        """
        deadline_s, pause_s, last, misses = time.monotonic() + timeout_s, _FIRST_PAUSE_S, "", 0
        while True:
            try:
                run, misses = self.run(run_id), 0
            except ServiceUnavailableError:
                misses += 1
                if misses > _PATIENCE:
                    raise
            else:
                if run.state != last:
                    last = run.state
                    on_change(run)
                if run.has_ended:
                    return run
            if time.monotonic() > deadline_s:
                raise ServiceUnavailableError(
                    f"the run {run_id} has not ended after {timeout_s:g} s: {last or 'unknown'}"
                )
            time.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 1.5)

    def _pinned(self, published: Published, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "pipeline_id": published.pipeline_id,
            "version_id": published.version_id,
            "params": dict(parameters),
            "pipeline_root": self._settings.pipeline_root or None,
            "service_account": self._settings.service_account or None,
        }

    def _experiment_id(self) -> str:
        found = self._client.create_experiment(self._settings.experiment, namespace=self._settings.namespace or None)
        return str(found.experiment_id)

    def _pipeline_id(self, name: str) -> str:
        found = self._client.list_pipelines(
            page_size=_PAGE, filter=_called(name), namespace=self._settings.namespace or None
        ).pipelines
        return next((str(item.pipeline_id) for item in found or [] if name in {item.display_name, item.name}), "")

    def _version_id(self, pipeline_id: str, version: str) -> str:
        found = self._client.list_pipeline_versions(pipeline_id, page_size=_PAGE, filter=_called(version))
        matches = (item for item in found.pipeline_versions or [] if version in {item.display_name, item.name})
        return next((str(item.pipeline_version_id) for item in matches), "")

    def _upload_pipeline(self, name: str, path: str) -> str:
        namespace = self._settings.namespace or None
        try:
            with explained(self._host):
                made = self._client.upload_pipeline(path, pipeline_name=name, namespace=namespace)
        except InvalidInputError:
            there = self._pipeline_id(name)  # somebody else was faster
            if not there:
                raise
            return there
        return str(made.pipeline_id)

    def _upload_version(self, pipeline_id: str, version: str, path: str) -> str:
        try:
            with explained(self._host):
                made = self._client.upload_pipeline_version(path, version, pipeline_id=pipeline_id)
        except InvalidInputError:
            there = self._version_id(pipeline_id, version)  # somebody else was faster
            if not there:
                raise
            return there
        return str(made.pipeline_version_id)

    def _schedules(self, name: str) -> Iterator[Any]:
        token = ""
        while True:
            page = self._client.list_recurring_runs(
                page_token=token, page_size=_PAGE, namespace=self._settings.namespace or None, filter=_called(name)
            )
            yield from (found for found in page.recurring_runs or [] if found.display_name == name)
            token = page.next_page_token or ""
            if not token:
                return

    def _run(self, run: Any) -> KfpRun:  # noqa: ANN401 kfp carries no types
        return KfpRun(
            run_id=str(run.run_id),
            name=str(run.display_name),
            state=_STATES.get(run.state, "PENDING"),
            url=f"{self._host}/#/runs/details/{run.run_id}",
            failed=_failed_tasks(run),
        )


def _failed_tasks(run: Any) -> tuple[str, ...]:  # noqa: ANN401 kfp carries no types
    tasks = (run.run_details.task_details or []) if run.run_details else []
    failed = [task for task in tasks if task.state == "FAILED"]
    said = [f"{task.display_name}: {task.error.message}" if task.error else str(task.display_name) for task in failed]
    return tuple(said or ([run.error.message] if run.error and run.error.message else []))


def _called(name: str) -> str:
    return json.dumps({"predicates": [{"operation": "EQUALS", "key": "display_name", "stringValue": name}]})


@contextlib.contextmanager
def _as_file(package: str) -> Iterator[str]:
    """Hold the compiled YAML as a file, which is what the client uploads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        path.write_text(package, encoding="utf-8")
        yield str(path)
