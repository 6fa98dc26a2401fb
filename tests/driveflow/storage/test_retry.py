"""The retry policy before a real S3 client: a server in the test answers with faults, then well."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from driveflow.errors import NotFoundError, StorageError, StorageFullError
from driveflow.storage.retry import RetriesSpentError, RetryPolicy, TransientError
from driveflow.storage.s3 import S3Backend

BODY = b"0123456789" * 1000


class FaultServer(ThreadingHTTPServer):
    """Plays the faults of `script`, one a request, then answers well; remembers what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[str] = []
        self.asked: list[str] = []
        self.stalled = threading.Event()
        self.written: dict[str, str] = {}  # path -> the writer's mark

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the interface
        pass

    def do_GET(self) -> None:
        self._play(self._send_body)

    def do_HEAD(self) -> None:
        self._play(self._send_head)

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("If-None-Match") and self.path in self.server.written:
            self.server.asked.append("PUT")
            return self._refuse(412, "PreconditionFailed")
        return self._play(self._store)

    def _play(self, well) -> None:
        self.server.asked.append(self.command)
        fault = self.server.script.pop(0) if self.server.script else ""
        if fault.isdigit():
            self._refuse(
                int(fault), {"503": "SlowDown", "507": "InsufficientStorage", "404": "NoSuchKey"}.get(fault, "X")
            )
        elif fault == "cut":
            self.send_response(200)
            self._describe(len(BODY))
            self.wfile.write(BODY[:100])
            self.close_connection = True
        elif fault == "stall":
            self.send_response(200)
            self._describe(len(BODY))
            self.wfile.write(BODY[:100])
            self.server.stalled.wait(30)  # silent, and never closed: only the reader's patience ends it
            self.close_connection = True
        elif fault == "reset":
            self.close_connection = True
        elif fault == "lost answer":
            self.server.written[self.path] = self.headers.get("x-amz-meta-driveflow-writer", "")
            self.close_connection = True
        else:
            well()

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode())

    def _store(self) -> None:
        self.server.written[self.path] = self.headers.get("x-amz-meta-driveflow-writer", "")
        self._answer(200, b"")

    def _send_body(self) -> None:
        self._answer(200, BODY)

    def _send_head(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.send_header("ETag", '"e"')
        self.send_header("x-amz-meta-driveflow-writer", self.server.written.get(self.path, ""))
        self.end_headers()

    def _describe(self, byte_count: int) -> None:
        self.send_header("Content-Length", str(byte_count))
        self.send_header("ETag", '"e"')
        self.send_header("Last-Modified", "Sun, 01 Nov 2026 12:00:00 GMT")
        self.end_headers()

    def _answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self._describe(len(data))
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with FaultServer() as server:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.stalled.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def backend(pauses: list[float]) -> S3Backend:
    return S3Backend(RetryPolicy(sleep=pauses.append))


def test_ac_o12_six_times_slow_down_a_reset_and_a_body_cut_short_are_survived(
    server: FaultServer, backend: S3Backend, pauses: list[float]
):
    server.script = ["503"] * 6 + ["reset", "cut"]

    assert backend.read_bytes("s3://bucket/key") == BODY

    assert len(server.asked) == 9
    assert len(pauses) == 8
    assert pauses[5] > 4 * pauses[0]


@pytest.mark.parametrize("fault", ["429", "500", "502", "503", "504", "reset", "cut"])
def test_ac_o12_a_fault_that_may_pass_is_tried_again(server: FaultServer, backend: S3Backend, fault: str):
    server.script = [fault]

    assert backend.read_bytes("s3://bucket/key") == BODY


def test_a_store_that_falls_silent_in_the_middle_of_a_body_is_asked_again(
    server: FaultServer, backend: S3Backend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DRIVEFLOW_S3_PATIENCE_S", "1")
    server.script = ["stall", "stall"]

    assert backend.read_bytes("s3://bucket/key") == BODY
    assert len(server.asked) == 3


def test_a_process_forked_from_a_reader_reads_too(server: FaultServer, backend: S3Backend):
    assert backend.read_bytes("s3://bucket/key") == BODY

    child = os.fork()
    if child == 0:
        os._exit(0 if backend.read_bytes("s3://bucket/key") == BODY else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_after_ten_attempts_the_failure_is_told(server: FaultServer, backend: S3Backend):
    server.script = ["503"] * 20

    with pytest.raises(StorageError, match=r"Cannot read s3://bucket/key.*503 SlowDown \(10 attempts\)"):
        backend.read_bytes("s3://bucket/key")

    assert len(server.asked) == 10


@pytest.mark.parametrize(("fault", "kind"), [("404", NotFoundError), ("403", StorageError), ("507", StorageFullError)])
def test_a_fault_that_stays_is_told_at_once(server: FaultServer, backend: S3Backend, fault: str, kind: type[Exception]):
    server.script = [fault]

    with pytest.raises(kind):
        backend.read_bytes("s3://bucket/key")

    assert len(server.asked) == 1


def test_a_conditional_write_whose_answer_was_lost_still_counts_as_ours(server: FaultServer, backend: S3Backend):
    server.script = ["lost answer"]

    assert backend.write_bytes("s3://bucket/key", b"x", if_absent=True)

    assert server.asked == ["PUT", "PUT", "HEAD"]


def test_a_conditional_write_after_another_writer_is_not_ours(server: FaultServer, backend: S3Backend):
    server.written["/bucket/key"] = "somebody else"

    assert not backend.write_bytes("s3://bucket/key", b"x", if_absent=True)


def test_a_store_that_nobody_serves_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch, backend: S3Backend):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(StorageError, match=r"Cannot list s3://bucket/.*\(10 attempts\)"):
        list(backend.list_objects("s3://bucket"))


def test_pauses_double_up_to_the_longest_and_are_never_under_half():
    low = RetryPolicy(draw=lambda: 0.0)
    high = RetryPolicy(draw=lambda: 1.0)

    assert [low.pause_s(number) for number in (0, 1, 5)] == [0.05, 0.1, 1.6]
    assert [high.pause_s(number) for number in (0, 1, 20)] == [0.1, 0.2, 20.0]


def test_the_last_attempt_is_not_followed_by_a_pause():
    pauses: list[float] = []

    def fail() -> None:
        raise TransientError("no")

    with pytest.raises(RetriesSpentError, match=r"no \(3 attempts\)"):
        RetryPolicy(attempts=3, sleep=pauses.append).call(fail)
    assert len(pauses) == 2
