"""The `evenruler` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenruler.declaration import checking, starting
from evenruler.errors import UserError, nearest

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Declare, build, score and check bias benchmarks for language models.",
)


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


@app.command()
def new(
    kind: Annotated[str, typer.Argument(metavar="probes")],
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits, single hyphens.")],
) -> None:
    """Start a probe domain: write a commented source that passes the checks, and its line in params.yaml."""
    if kind != "probes":
        raise UserError(f"nothing of the kind {kind!r} can be started", remedy=nearest(kind, ["probes"]))
    for line in starting.new_probes(Path(), name):
        typer.echo(line)


def main() -> None:
    """Run the command; a mistake of the user is one line and status 2."""
    try:
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
