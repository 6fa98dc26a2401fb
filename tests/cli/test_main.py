import errno
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from cli import main as door
from cli.main import COMMANDS, LazyCommand, load_command, main
from driveflow.errors import NotFoundError

HEAVY = (
    "kfp",
    "sklearn",
    "torch",
    "pyarrow",
    "polars",
    "sqlalchemy",
    "boto3",
    "pydantic",
    "cv2",
    "onnxruntime",
    "numpy",
)


@pytest.fixture
def raising(monkeypatch):
    """Put a command called `boom` into the table that raises what the test says."""

    def install(error: BaseException) -> None:
        def boom() -> None:
            raise error

        module = type(sys)("boom_commands")
        module.boom = boom
        monkeypatch.setitem(sys.modules, "boom_commands", module)
        monkeypatch.setitem(COMMANDS, "boom", LazyCommand("boom_commands:boom", "Raise."))

    return install


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_root())

    assert "HEAVY []" in done.stdout
    assert all(name in done.stdout for name in COMMANDS)


def test_help_takes_less_than_half_a_second_of_processor_time():
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "cli.main", "--help"], capture_output=True, check=True, cwd=_root())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


def test_a_driveflow_error_is_one_line_and_its_exit_code(raising, capsys):
    raising(NotFoundError("There is no folder '/data/x'."))

    assert leave("boom") == 3
    assert capsys.readouterr().err == "driveflow: There is no folder '/data/x'.\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_line(raising, capsys, code):
    raising(OSError(code, "full", "/data/out.parquet"))

    assert leave("boom") == 1
    assert capsys.readouterr().err == "driveflow: no space left on the disk: /data/out.parquet\n"


@pytest.mark.parametrize(
    ("code", "exit_code", "says"),
    [(errno.EROFS, 1, "nothing can be written on this disk"), (errno.ENAMETOOLONG, 3, "no file has so long a name")],
)
def test_what_the_machine_cannot_do_is_one_line(raising, capsys, code, exit_code, says):
    raising(OSError(code, "no", "x" * 5000))

    assert leave("boom") == exit_code
    assert capsys.readouterr().err == f"driveflow: {says}: {'x' * 200}...\n"


def test_an_interrupt_ends_with_130(raising):
    raising(KeyboardInterrupt())

    assert leave("boom") == 130


@pytest.mark.parametrize("bug", [ZeroDivisionError("x"), PermissionError(errno.EACCES, "no", "f")])
def test_a_bug_keeps_its_traceback(raising, bug):
    raising(bug)

    with pytest.raises(type(bug)):
        main(["boom"])


def test_an_unknown_command_is_a_usage_error_that_names_the_nearest(capsys):
    assert leave("shedule") == 2
    assert "Did you mean 'schedule'?" in capsys.readouterr().err


def test_an_app_with_one_command_stays_a_group(monkeypatch):
    app = typer.Typer()
    app.command("collect")(lambda: None)
    module = type(sys)("one_commands")
    module.app = app
    monkeypatch.setitem(sys.modules, "one_commands", module)

    group = load_command(LazyCommand("one_commands:app", "One."), "one")

    assert list(group.commands) == ["collect"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists(name):
    module = COMMANDS[name].target.partition(":")[0]

    assert find_spec(module), f"{module} is missing"
    assert load_command(COMMANDS[name], name).get_short_help_str()


def _root() -> Path:
    return Path(door.__file__).parents[1]
