"""The `evenruler` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenruler.declaration import checking
from evenruler.errors import UserError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Declare, build, score and check bias benchmarks for language models.",
)


@app.callback()
def _group() -> None:
    """Keeps subcommands even while there is one."""


@app.command()
def check() -> None:
    """Check params.yaml and everything under data/sources, and remove what is no longer declared."""
    for line in checking.check(Path()):
        typer.echo(line)


@app.command()
def scale(name: Annotated[str, typer.Argument(metavar="quick|paper")]) -> None:
    """Set the scale: write into params.yaml which models are in use."""
    for line in checking.set_scale(Path(), name):
        typer.echo(line)


def main() -> None:
    """Run the command; a mistake of the user is one line and status 2."""
    try:
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
