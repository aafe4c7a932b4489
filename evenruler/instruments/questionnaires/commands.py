"""The command of questionnaires: `evenruler translate`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from evenruler import repository
from evenruler.errors import UserError
from evenruler.terminal import say

SCALE: Final = "scales/frequency.yaml"
"""The words of frequency, below what questionnaires share."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("translate")
def translate_scale(
    scale: Annotated[
        Path,
        typer.Argument(metavar="FILE.csv", help="A row an item; docs/adding-a-questionnaire.md."),
    ],
) -> None:
    """Make a source of a Likert scale: items for chats, or drafts of sentences.

    A scale of frequencies becomes NAME.draft.yaml, sentences for you to read and to fill; any other
    NAME.yaml, items that a chat is asked as they stand.
    """
    from evenruler.instruments.item_table import read_items
    from evenruler.instruments.questionnaires.translate import says_how_often

    content = read_items(scale)
    if says_how_often(content):
        _write_draft(scale)
    else:
        _write_items(scale, content)


def _write_draft(scale: Path) -> None:
    """Write the items of a scale of frequencies as sentences, and say what is doubtful."""
    from evenruler.instruments.questionnaires.declare.source import load_scale
    from evenruler.instruments.questionnaires.translate import (
        as_yaml,
        draft_items,
        in_words,
        read_scale,
    )

    out = Path(f"{scale.stem}.draft.yaml")
    facts, rows = read_scale(scale)
    words = load_scale(repository.shipped_shared("questionnaires") / SCALE)
    drafts = draft_items(facts, rows, words)
    _write_new(out, as_yaml(facts, drafts))
    say(in_words(facts, drafts, scale, out), end="")


def _write_items(scale: Path, content: dict[str, object]) -> None:
    """Write the items of a scale as they stand, for chats."""
    from evenruler.instruments.questionnaires.translate import items_as_yaml

    out = Path(f"{scale.stem}.yaml")
    _write_new(out, items_as_yaml(content))
    say(f"{out}: items for chats, as they stand: `evenruler measure endpoint:NAME --with {out}`")


def _write_new(path: Path, text: str) -> None:
    """Write a file; UserError where there is one, which may have been edited."""
    from evenruler.files import write_text_atomically

    if path.exists():
        raise UserError(
            "it is there already", where=str(path), remedy="name the table otherwise, or move it"
        )
    write_text_atomically(path, text)
