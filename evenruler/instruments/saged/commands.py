"""The commands of SAGED: `evenruler refresh`, `find` and `power`."""

from pathlib import Path
from typing import Annotated

import typer

from evenruler import repository
from evenruler.terminal import say

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Domain = Annotated[str, typer.Argument(help="An instrument of the family saged in params.yaml.")]


@app.command()
def refresh(domain: Domain) -> None:
    """Fetch the pages of a domain from its wiki: data/snapshots/DOMAIN. An interrupted run
    resumes.
    """
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.instruments.saged.scrape.fetching import refresh_pages as fetch

    repository.enter_repository()
    for line in fetch(Path(), domain, ParamsFile().settings(domain, "saged")):
        say(line)


@app.command()
def find(domain: Domain) -> None:
    """Find keywords and replacements, as a domain's `find` says.

    They are written to data/sources/saged/found/DOMAIN.yaml.
    """
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.instruments.saged.scrape.fetching import search_for_domain as look

    repository.enter_repository()
    declared = ParamsFile()
    for line in look(Path(), domain, declared.settings(domain, "saged"), declared.catalogue):
        say(line)


@app.command("power")
def plan_power(
    domain: Domain,
    difference: Annotated[
        list[float] | None,
        typer.Option(
            min=0.01,
            metavar="SD",
            help="In SD of a reply; may be repeated. .2, .3, .5 and .8 by default.",
        ),
    ] = None,
) -> None:
    """Say how small a difference between concepts a domain can detect, and how many root items a
    wanted one takes.
    """
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.instruments.saged import design

    repository.enter_repository()
    for line in design.plan_lines(Path(), domain, ParamsFile(), difference or design.WANTED):
        say(line)
