"""The command of questionnaires: `evenruler translate`."""

from pathlib import Path
from typing import Annotated

import typer

from evenruler import repository
from evenruler.errors import UserError
from evenruler.terminal import say

SCALE = Path("data/sources/questionnaires/shared/scales/frequency.yaml")

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("translate")
def translate_scale(
    scale: Annotated[
        Path,
        typer.Argument(metavar="FILE.csv", help="A row an item; docs/adding-a-questionnaire.md."),
    ],
) -> None:
    """Make items of a Likert scale: NAME.draft.yaml, for you to read and to fill. Nothing else uses
    it.
    """
    from evenruler.files import write_text_atomically
    from evenruler.instruments.questionnaires.declare.source import load_scale
    from evenruler.instruments.questionnaires.translate import (
        as_yaml,
        draft_items,
        in_words,
        read_scale,
    )

    here = repository.enter_repository()
    path = repository.resolve_user_path(scale, here)
    out = here / f"{path.stem}.draft.yaml"
    facts, rows = read_scale(path)
    if out.exists():
        raise UserError(
            "it is there already", where=out.name, remedy="move what you have edited, or remove it"
        )
    drafts = draft_items(facts, rows, load_scale(SCALE))
    write_text_atomically(out, as_yaml(facts, drafts))
    say(in_words(facts, drafts, path, out), end="")
