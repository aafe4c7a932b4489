"""The page of the commands, from what they say of themselves: a hook of mkdocs adds it when the
site is built.
"""

from collections.abc import Iterator

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.testing import CliRunner

from evenruler.cli import FamilyCommand, app

PAGE = "reference/commands.md"
WIDTH = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


def named(command: object, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The commands of a group and of the groups in it, by the words that call them."""
    for name, listed in sorted(getattr(command, "commands", {}).items()):
        one = listed.resolve_command() if isinstance(listed, FamilyCommand) else listed
        if hasattr(one, "commands"):
            yield from named(one, (*words, name))
        else:
            yield (*words, name)


def page() -> str:
    """The page, as Markdown."""
    lines = ["# Commands", "What `evenruler COMMAND --help` says.", ""]
    for words in named(typer.main.get_command(app)):
        said = CliRunner().invoke(app, [*words, "--help"], prog_name="evenruler", env=WIDTH).stdout
        lines += [
            f"## {' '.join(words)}",
            "```text",
            *(line.rstrip() for line in said.strip().splitlines()),
            "```",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those of the site; mkdocs calls this."""
    files.append(File.generated(config, PAGE, content=page()))
    return files
