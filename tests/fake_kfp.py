"""A KFP API server that remembers: pipelines, versions, experiments, runs, recurring runs; behind the real kfp client.

It refuses what the real one refuses: unknown ids, names that are taken, parameters that the pipeline does not have or
of another type, schedules that are not six fields, a missing or wrong token.
"""

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import yaml

Record: TypeAlias = dict[str, Any]
API = "/apis/v2beta1"
ENDED = ("SUCCEEDED", "FAILED", "SKIPPED", "CANCELED")
_TYPES: dict[str, Callable[[Any], bool]] = {
    "STRING": lambda value: isinstance(value, str),
    "BOOLEAN": lambda value: isinstance(value, bool),
    "NUMBER_INTEGER": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "NUMBER_DOUBLE": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "LIST": lambda value: isinstance(value, list),
    "STRUCT": lambda value: isinstance(value, dict),
}


class Refusal(Exception):  # noqa: N818 what the server answers instead
    """An answer that is no success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class FakeKfp:
    """The server's memory, open to tests; set `script` to the states that the next runs go through, one a look."""

    url: str = ""
    token: str = ""  # wanted as a bearer token; empty: none
    multi_user: bool = False
    script: tuple[str, ...] = ("PENDING", "RUNNING", "SUCCEEDED")
    pipelines: dict[str, Record] = field(default_factory=dict)
    versions: dict[str, Record] = field(default_factory=dict)
    experiments: dict[str, Record] = field(default_factory=dict)
    runs: dict[str, Record] = field(default_factory=dict)
    recurring_runs: dict[str, Record] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    faults: list[tuple[str, int, Any]] = field(default_factory=list)  # end of a path, status, body; each is told once
    stall_s: float = 0.0  # before every answer

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Return the status and the JSON (or text) that the server answers."""
        time.sleep(self.stall_s)
        with self._lock:
            path = urlsplit(target).path.removeprefix(API)
            self.requests.append(f"{method} {path}")
            for i, (end, status, value) in enumerate(self.faults):
                if path.endswith(end):
                    del self.faults[i]
                    return status, value
            try:
                self._authorize(headers.get("authorization", ""))
                return 200, self._route(method, target, headers, body)
            except Refusal as refusal:
                return refusal.status, {"error": str(refusal), "code": refusal.status, "message": str(refusal)}

    def fire(self, recurring_run_id: str) -> Record:
        """Start a run of a schedule, as its cron would."""
        source = self.recurring_runs[recurring_run_id]
        return self._start_run({**source, "display_name": f"{source['display_name']} run"})

    def _authorize(self, said: str) -> None:
        if self.token and not said:
            raise Refusal(401, "Request header error: there is no user identity header.")
        if self.token and said != f"Bearer {self.token}":
            raise Refusal(403, "User is not authorized to perform this action.")

    def _route(self, method: str, target: str, headers: Any, body: bytes) -> Any:
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        for wanted, pattern, handler in _ROUTES:
            match = re.fullmatch(API + pattern, parts.path)
            if match and wanted == method:
                is_json = body and "json" in headers.get("content-type", "")
                sent = json.loads(body) if is_json else _file(headers, body) if body else None
                return handler(self, query, sent, *match.groups())
        raise Refusal(404, f"no such path: {method} {parts.path}")

    def _id(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers):04d}"

    def _healthz(self, _query: Record, _sent: Any) -> Any:
        return {"multi_user": self.multi_user}

    def _list_pipelines(self, query: Record, _sent: Any) -> Any:
        return _page("pipelines", _in(self.pipelines.values(), "namespace", query), query)

    def _upload_pipeline(self, query: Record, sent: Any) -> Any:
        name, namespace = query["name"], query.get("namespace", "")
        if any((item["display_name"], item["namespace"]) == (name, namespace) for item in self.pipelines.values()):
            raise Refusal(409, f"Already exist error: the name {name} already exists.")
        pipeline = {"pipeline_id": self._id("pipeline"), "display_name": name, "name": name, "namespace": namespace}
        self.pipelines[pipeline["pipeline_id"]] = pipeline
        self._add_version(pipeline["pipeline_id"], name, sent)  # as the real one: a first version of the same name
        return pipeline

    def _upload_version(self, query: Record, sent: Any) -> Any:
        _known(self.pipelines, query["pipelineid"], "Pipeline")
        return self._add_version(query["pipelineid"], query["name"], sent)

    def _add_version(self, pipeline_id: str, name: str, package: bytes) -> Record:
        documents = list(yaml.safe_load_all(package))
        if not documents or "root" not in documents[0]:
            raise Refusal(400, "Failed to parse the pipeline: it has no root")
        of_pipeline = (item for item in self.versions.values() if item["pipeline_id"] == pipeline_id)
        if any(item["display_name"] == name for item in of_pipeline):
            raise Refusal(409, f"Already exist error: the version {name} already exists.")
        version = {"pipeline_id": pipeline_id, "pipeline_version_id": self._id("version"), "display_name": name}
        self.versions[version["pipeline_version_id"]] = {**version, "name": name, "spec": documents[0]}
        return version

    def _list_versions(self, query: Record, _sent: Any, pipeline_id: str) -> Any:
        found = [item for item in self.versions.values() if item["pipeline_id"] == pipeline_id]
        return _page("pipeline_versions", [{k: v for k, v in item.items() if k != "spec"} for item in found], query)

    def _list_experiments(self, query: Record, _sent: Any) -> Any:
        return _page("experiments", _in(self.experiments.values(), "namespace", query), query)

    def _create_experiment(self, _query: Record, sent: Any) -> Any:
        made = {"namespace": "", **sent, "experiment_id": self._id("experiment")}
        self.experiments[made["experiment_id"]] = made
        return made

    def _create_run(self, _query: Record, sent: Any) -> Any:
        return self._start_run(sent)

    def _start_run(self, sent: Record) -> Record:
        self._check_job(sent)
        script = list(self.script)
        run = {**sent, "run_id": self._id("run"), "state": script.pop(0), "script": script}
        self.runs[run["run_id"]] = run
        return _shown(run)

    def _get_run(self, _query: Record, _sent: Any, run_id: str) -> Any:
        run = _known(self.runs, run_id, "Run")
        seen = _shown(run)
        if run["script"] and run["state"] not in ENDED:
            run["state"] = run["script"].pop(0)
        return seen

    def _terminate_run(self, _query: Record, _sent: Any, run_id: str) -> Any:
        run = _known(self.runs, run_id, "Run")
        if run["state"] in ENDED:
            raise Refusal(400, f"Failed to terminate a run: {run_id} has already finished.")
        run.update(state="CANCELING", script=["CANCELED"])
        return {}

    def _list_recurring_runs(self, query: Record, _sent: Any) -> Any:
        return _page("recurringRuns", self.recurring_runs.values(), query)

    def _create_recurring_run(self, _query: Record, sent: Any) -> Any:
        self._check_job(sent)
        cron = sent["trigger"]["cron_schedule"]["cron"]
        if len(cron.split()) != 6:
            raise Refusal(400, f"Schedule cron is not supported (wrong format): {cron}")
        made = {**sent, "recurring_run_id": self._id("schedule"), "status": "ENABLED"}
        self.recurring_runs[made["recurring_run_id"]] = made
        return made

    def _get_recurring_run(self, _query: Record, _sent: Any, recurring_run_id: str) -> Any:
        return _known(self.recurring_runs, recurring_run_id, "RecurringRun")

    def _delete_recurring_run(self, _query: Record, _sent: Any, recurring_run_id: str) -> Any:
        _known(self.recurring_runs, recurring_run_id, "RecurringRun")
        return {"deleted": self.recurring_runs.pop(recurring_run_id)["recurring_run_id"]}

    def _check_job(self, sent: Record) -> None:
        _known(self.experiments, sent["experiment_id"], "Experiment")
        version = _known(self.versions, sent["pipeline_version_reference"]["pipeline_version_id"], "PipelineVersion")
        wanted = version["spec"]["root"].get("inputDefinitions", {}).get("parameters", {})
        given = sent["runtime_config"].get("parameters", {})
        for name, value in given.items():
            if name not in wanted:
                raise Refusal(400, f"parameter {name} is not in the pipeline")
            if not _TYPES[wanted[name]["parameterType"]](value):
                raise Refusal(400, f"parameter {name} must be {wanted[name]['parameterType']}")
        optional = {name for name, item in wanted.items() if item.get("isOptional") or "defaultValue" in item}
        if missing := sorted(set(wanted) - set(given) - optional):
            raise Refusal(400, f"parameters are missing: {', '.join(missing)}")


_ROUTES: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("GET", "/healthz", FakeKfp._healthz),
    ("GET", "/pipelines", FakeKfp._list_pipelines),
    ("POST", "/pipelines/upload", FakeKfp._upload_pipeline),
    ("POST", "/pipelines/upload_version", FakeKfp._upload_version),
    ("GET", "/pipelines/([^/:]+)/versions", FakeKfp._list_versions),
    ("GET", "/experiments", FakeKfp._list_experiments),
    ("POST", "/experiments", FakeKfp._create_experiment),
    ("POST", "/runs", FakeKfp._create_run),
    ("GET", "/runs/([^/:]+)", FakeKfp._get_run),
    ("POST", "/runs/([^/:]+):terminate", FakeKfp._terminate_run),
    ("GET", "/recurringruns", FakeKfp._list_recurring_runs),
    ("POST", "/recurringruns", FakeKfp._create_recurring_run),
    ("GET", "/recurringruns/([^/:]+)", FakeKfp._get_recurring_run),
    ("DELETE", "/recurringruns/([^/:]+)", FakeKfp._delete_recurring_run),
)


@contextmanager
def fake_kfp(**settings: Any) -> Iterator[FakeKfp]:
    """Serve a fake on a port of its own until the block ends."""
    fake = FakeKfp(**settings)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, value = fake.answer(self.command, self.path, self.headers, body)
            data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(value, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 names of http.server

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _known(records: dict[str, Record], key: str, kind: str) -> Record:
    if key not in records:
        raise Refusal(404, f"{kind} {key} not found")
    return records[key]


def _in(records: Any, key: str, query: Record) -> list[Record]:
    return [item for item in records if item.get(key, "") == query.get(key, "")]


def _page(key: str, records: Any, query: Record) -> Record:
    """Return one page of the records that the filter lets through, at most two of them: tests should turn pages."""
    predicates = json.loads(query["filter"])["predicates"] if query.get("filter") else []
    found = [item for item in records if all(item.get(p["key"]) == p["stringValue"] for p in predicates)]
    start = int(query.get("page_token") or 0)
    rest = {"next_page_token": str(start + 2)} if len(found) > start + 2 else {}
    return {key: found[start : start + 2], "total_size": len(found), **rest}


def _shown(run: Record) -> Record:
    shown = {key: value for key, value in run.items() if key != "script"}
    if run["state"] == "FAILED":
        failed = {"display_name": "train_model", "state": "FAILED", "error": {"code": 2, "message": "out of memory"}}
        shown["run_details"] = {"task_details": [{"display_name": "plan_run", "state": "SUCCEEDED"}, failed]}
    return shown


def _file(headers: Any, body: bytes) -> bytes:
    """Return the one file of a multipart body."""
    message = message_from_bytes(b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body)
    payload = message.get_payload()[0].get_payload(decode=True)  # type: ignore[union-attr, index]
    return bytes(payload)  # type: ignore[arg-type]
