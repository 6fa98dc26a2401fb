"""Small pipelines for tests of the local runner."""

from pathlib import Path

from kfp import compiler, dsl

IMAGE = "test-python"


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def echo(text: str, folder: str) -> str:
    """Write what arrived into `folder` and hand it on."""
    from pathlib import Path

    with Path(folder, "echo.txt").open("a", encoding="utf-8") as file:
        file.write(text)
    print("echo says hello")  # noqa: T201 the test reads it from the log
    return text


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def remark(text: str) -> str:
    """Say `text` as a note."""
    print(f"driveflow-note: {text}", flush=True)  # noqa: T201 the runner reads it
    return text


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def sleep(folder: str) -> str:
    """Say who runs, then sleep for a minute."""
    import os
    import time
    from pathlib import Path

    from driveflow.processes import die_with_runner

    die_with_runner()
    print("sleep says good night", flush=True)  # noqa: T201 the test reads it from the log
    Path(folder, "pid").write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(60)
    return "slept"


@dsl.pipeline(name="echoing")
def echoing(text: str, folder: str) -> None:
    """Echo once."""
    echo(text=text, folder=folder)


@dsl.pipeline(name="remarking")
def remarking(text: str) -> None:
    """Say one note."""
    remark(text=text)


@dsl.pipeline(name="choosing")
def choosing(text: str, folder: str) -> None:
    """Echo, and choose by what came out."""
    first = echo(text=text, folder=folder)
    with dsl.If(first.output != ""):
        echo(text="chosen", folder=folder)


@dsl.pipeline(name="sleeping")
def sleeping(folder: str) -> None:
    """Sleep."""
    sleep(folder=folder)


def write(pipeline: object, folder: Path) -> None:
    """Compile `pipeline` into a run folder."""
    compiler.Compiler().compile(pipeline, str(folder / "pipeline.yaml"))
