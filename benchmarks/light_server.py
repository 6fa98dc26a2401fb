"""A server that hands out files for next to nothing, as a store on other machines does: it costs our cores no work.

It speaks as much of S3 as reading takes (GET of whole objects), so that what is measured beside it are the readers.
"""

import os
import socketserver
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

_HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n"
    'ETag: "0"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n'
)
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class _Reader(socketserver.StreamRequestHandler):
    root = Path()

    def handle(self) -> None:
        """Answer the requests of one connection until it closes."""
        while request := self.rfile.readline():
            while self.rfile.readline().strip():  # headers say nothing that matters here
                pass
            self._answer(self.root / unquote(urlsplit(request.split()[1].decode()).path).lstrip("/"))

    def _answer(self, path: Path) -> None:
        if not path.is_file():
            self.wfile.write(_MISSING)
            return
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.wfile.write(_HEAD.format(size).encode())
            sent = 0
            while sent < size:
                sent += os.sendfile(self.connection.fileno(), file.fileno(), sent, size - sent)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve the files under the folder named first; print the address; end when stdin closes."""
    _Reader.root = Path(sys.argv[1])
    with _Server(("127.0.0.1", 0), _Reader) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
