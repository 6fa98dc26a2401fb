"""A proxy with faults before a real S3 server: what is stored is right, whichever request fails."""

import http.client
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from driveflow.storage import objects
from driveflow.storage.retry import RetryPolicy
from driveflow.storage.s3 import S3Backend
from tests.servers import S3Server

_HOP = {"connection", "keep-alive", "transfer-encoding", "expect"}
FAULTS = ["503", "reset", "lost answer", "cut"]


class FaultProxy(ThreadingHTTPServer):
    """Plays one fault on every request number in `faulty`, and hands the others on."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream.removeprefix("http://")
        self.fault = ""
        self.faulty: set[int] = set()
        self.requests = 0

    def play(self, fault: str, *numbers: int) -> None:
        """Play `fault` on the requests with these numbers, counted from now, from 0."""
        self.fault, self.faulty, self.requests = fault, set(numbers), 0


class _Handler(BaseHTTPRequestHandler):
    server: FaultProxy
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the interface
        pass

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        number = self.server.requests
        self.server.requests += 1
        fault = self.server.fault if number in self.server.faulty else ""
        if fault == "503":
            self._answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
        elif fault == "reset":
            self.close_connection = True
        else:
            self._forward(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 the interface

    def _forward(self, body: bytes, fault: str) -> None:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=30)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        upstream.request(self.command, self.path, body, headers)  # the Host as it came: it is part of the signature
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        if fault:
            self.close_connection = True
        if fault == "lost answer":
            return
        self._answer(answer.status, dict(answer.getheaders()), data, cut=fault == "cut")

    def _answer(self, status: int, headers: dict[str, str], data: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _HOP | {"content-length", "date", "server"}:
                self.send_header(name, value)
        of_head = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", of_head)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if cut else data)


@pytest.fixture
def proxy(s3_server: S3Server, s3_store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3_server.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_address[1]}")
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()


@pytest.fixture
def backend() -> S3Backend:
    return S3Backend(RetryPolicy(sleep=lambda _: None))


@pytest.mark.parametrize("fault", FAULTS)
def test_an_object_is_written_read_listed_and_deleted(proxy: FaultProxy, backend: S3Backend, s3_store: str, fault: str):
    uri = objects.join(s3_store, "a b#c.bin")
    data = os.urandom(1000)

    proxy.play(fault, 0, 1, 2)
    backend.write_bytes(uri, data)
    proxy.play(fault, 0, 1)
    assert backend.read_bytes(uri) == data
    proxy.play(fault, 0)
    assert [info.uri for info in backend.list_objects(s3_store)] == [uri]
    proxy.play(fault, 0)
    backend.delete(uri)
    assert backend.stat(uri) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_conditional_write_knows_whether_it_won(proxy: FaultProxy, backend: S3Backend, s3_store: str, fault: str):
    uri = objects.join(s3_store, "x")

    proxy.play(fault, 0, 1)
    assert backend.write_bytes(uri, b"one", if_absent=True)
    proxy.play(fault, 0, 1)
    assert not backend.write_bytes(uri, b"two", if_absent=True)

    assert backend.read_bytes(uri) == b"one"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_large_file_goes_there_and_back(
    proxy: FaultProxy, backend: S3Backend, s3_store: str, tmp_path: Path, fault: str
):
    uri = objects.join(s3_store, "large.bin")
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom((17 << 20) + 5))

    # Without faults: begin, two parts, complete; head, two pieces. Every one of them fails once.
    proxy.play(fault, 0, 2, 4, 6)
    backend.put_file(source, uri)
    proxy.play(fault, 0, 2, 4)
    backend.fetch_file(uri, target)

    assert target.read_bytes() == source.read_bytes()
