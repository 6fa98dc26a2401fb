"""`driveflow data`: bring data in, merge it, look into snapshots, and ask why a frame is in or out."""

import typer

from cli.data.conflicts import conflicts
from cli.data.diff import diff
from cli.data.explain import explain
from cli.data.export import export
from cli.data.import_source import import_source
from cli.data.inspect_source import inspect_source
from cli.data.list import list_data
from cli.data.merge import merge
from cli.data.quarantine import app as quarantine
from cli.data.show import show
from cli.data.split import split
from cli.data.tag import tag
from cli.data.verify import verify
from cli.data.withdraw import withdraw

app = typer.Typer(no_args_is_help=True)


@app.callback()
def data() -> None:
    """Bring data in, merge it, look into snapshots, and ask why a frame is in or out."""


# One line a command, in the order of the help page; what is heavy is imported inside the functions.
app.command("inspect")(inspect_source)
app.command("import")(import_source)
app.command("merge")(merge)
app.command("export")(export)
app.command("list")(list_data)
app.command("show")(show)
app.command("diff")(diff)
app.command("conflicts")(conflicts)
app.command("tag")(tag)
app.add_typer(quarantine, name="quarantine")
app.command("split")(split)
app.command("explain")(explain)
app.command("verify")(verify)
app.command("withdraw")(withdraw)
