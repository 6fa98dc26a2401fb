"""Bulk reads from S3: ours beside boto3 threads and a bare HTTP client, and the warm cache beside local files."""

import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

OBJECTS = 400
OBJECT_BYTES = 372_000  # a camera picture
THREADS = 16
ROUNDS = 10
BUCKET, KEYS = "BENCH_BUCKET", "bench"


def main() -> None:
    """Print objects a second of each; every contender reads the same objects of one local server."""
    print(f"Reading {OBJECTS} objects of {OBJECT_BYTES // 1000} kB; best of {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as folder:
        with light_server(Path(folder)) as environment:
            fill_files(Path(folder))
            table("a server that costs our cores nothing, as a store elsewhere", FAR, environment, folder)
        with server() as environment:
            fill_store(environment)
            table("SeaweedFS, which takes most of these cores", FAR, environment, folder)
        table("this machine's disk", NEAR, {}, folder)


def table(title: str, contenders: "Contenders", environment: dict[str, str], folder: str) -> None:
    """Measure the contenders and print each beside the peer among them."""
    rates = {name: measured(name, {**environment, "BENCH_FOLDER": folder}) for name in contenders}
    beside = rates[next(name for name in PEERS if name in rates)]
    print(f"{title:52}{'objects/s':>11}{'ratio':>7}{'per CPU s of the reader':>25}{'ratio':>7}")
    for name, (rate, per_cpu) in rates.items():
        print(f"  {name:50}{rate:11.0f}{rate / beside[0]:7.2f}{per_cpu:25.0f}{per_cpu / beside[1]:7.2f}")


@contextmanager
def light_server(folder: Path) -> Iterator[dict[str, str]]:
    """Serve `folder` from a process of its own."""
    arguments = [sys.executable, "-m", "benchmarks.light_server", str(folder)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield {
            "AWS_ENDPOINT_URL": process.stdout.readline().strip(),
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "us-east-1",
            "NO_PROXY": "127.0.0.1,localhost",
            BUCKET: "files",
        }
        process.stdin.close()


@contextmanager
def server() -> Iterator[dict[str, str]]:
    from tests.servers import running_s3

    with running_s3() as s3:
        yield {**s3.environment(), BUCKET: s3.bucket}


def fill_files(folder: Path) -> None:
    """Put the objects into files, where the light server finds them too, and into a cache."""
    from driveflow.storage.cache import Cache

    cache = Cache(folder / "cache", 2 * OBJECTS * OBJECT_BYTES)
    (folder / "files" / KEYS).mkdir(parents=True)
    for number in range(OBJECTS):
        data = content(number)
        (folder / "files" / KEYS / str(number)).write_bytes(data)
        cache.put(hashlib.sha256(data).hexdigest(), data)


def fill_store(environment: dict[str, str]) -> None:
    """Put the same objects on the server."""
    os.environ.update(environment)
    from driveflow.storage.objects import write_bytes

    for number in range(OBJECTS):
        write_bytes(f"s3://{environment[BUCKET]}/{KEYS}/{number}", content(number))


def content(number: int) -> bytes:
    """Return bytes that no compression makes smaller."""
    return hashlib.shake_128(str(number).encode()).digest(OBJECT_BYTES)


def in_threads(read: Callable[[int], bytes]) -> Callable[[], int]:
    def work() -> int:
        with ThreadPoolExecutor(THREADS) as pool:
            return sum(len(data) for data in pool.map(read, range(OBJECTS)))

    return work


def ours() -> Callable[[], int]:
    from driveflow.storage.objects import read_bytes

    return in_threads(lambda number: read_bytes(f"s3://{os.environ[BUCKET]}/{KEYS}/{number}"))


def boto3_threads() -> Callable[[], int]:
    import boto3
    from botocore.config import Config

    client = boto3.client("s3", config=Config(max_pool_connections=64))
    bucket = os.environ[BUCKET]
    return in_threads(lambda number: client.get_object(Bucket=bucket, Key=f"{KEYS}/{number}")["Body"].read())


def bare_http() -> Callable[[], int]:
    import threading

    import boto3

    client, bucket, local = boto3.client("s3"), os.environ[BUCKET], threading.local()
    urls = [
        urlsplit(client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": f"{KEYS}/{number}"}))
        for number in range(OBJECTS)
    ]

    def read(number: int) -> bytes:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(urls[number].netloc)
        local.connection.request("GET", f"{urls[number].path}?{urls[number].query}")
        return local.connection.getresponse().read()

    return in_threads(read)


def warm_cache() -> Callable[[], int]:
    from driveflow.storage.cache import Cache

    cache = Cache(Path(os.environ["BENCH_FOLDER"]) / "cache", 2 * OBJECTS * OBJECT_BYTES)
    digests = [hashlib.sha256(content(number)).hexdigest() for number in range(OBJECTS)]
    return lambda: sum(len(cache.get(digest) or b"") for digest in digests)


def local_files() -> Callable[[], int]:
    files = Path(os.environ["BENCH_FOLDER"]) / "files" / KEYS

    def read(number: int) -> bytes:
        data = (files / str(number)).read_bytes()
        hashlib.sha256(data).hexdigest()  # ours checks every picture it hands out; so does a careful script
        return data

    return lambda: sum(len(read(number)) for number in range(OBJECTS))


Contenders: TypeAlias = dict[str, Callable[[], Callable[[], int]]]
FAR: Contenders = {
    "driveflow read_bytes, 16 threads": ours,
    "boto3, 16 threads": boto3_threads,
    "bare http.client, 16 threads": bare_http,
}
NEAR: Contenders = {"driveflow cache, warm": warm_cache, "local files, read and digested": local_files}
CONTENDERS = FAR | NEAR
PEERS = ("boto3, 16 threads", "local files, read and digested")


def measured(name: str, environment: dict[str, str]) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_storage", name],
        check=True, capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip
    found = json.loads(done.stdout)
    return found["rate"], found["per_cpu"]


def contend(name: str) -> None:
    work = CONTENDERS[name]()
    best = per_cpu = 0.0
    for _ in range(ROUNDS):
        start, cpu = time.perf_counter(), time.process_time()
        assert work() == OBJECTS * OBJECT_BYTES
        best = max(best, OBJECTS / (time.perf_counter() - start))
        per_cpu = max(per_cpu, OBJECTS / (time.process_time() - cpu))
    print(json.dumps({"rate": best, "per_cpu": per_cpu}))


if __name__ == "__main__":
    contend(sys.argv[1]) if len(sys.argv) > 1 else main()
