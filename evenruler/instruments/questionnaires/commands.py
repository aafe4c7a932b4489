"""The command of questionnaires: `evenruler draft-items`."""

from pathlib import Path
from typing import Annotated

import typer

from evenruler import repository
from evenruler.terminal import say

SOURCES = Path("data/sources/questionnaires")

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("draft-items")
def draft_items(
    scale: Annotated[
        str, typer.Argument(metavar="QUESTIONNAIRE|FILE", help="A questionnaire, or YAML with `title` and `items`.")
    ],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A causal model; by default the first in use that chats.")
    ] = None,
    embedder: Annotated[str, typer.Option(metavar="NAME", help="Says how near items are.")] = "all-minilm-l6-v2",
) -> None:
    """Let a model write items for the questions of a scale: NAME.draft.yaml, for you to read. Nothing else uses it."""
    from evenruler.declared import Declared
    from evenruler.files import replace
    from evenruler.instruments.questionnaires import drafting
    from evenruler.instruments.questionnaires.declare.source import load_questionnaire, load_scale
    from evenruler.models.catalogue import load

    here = repository.enter()
    scales = SOURCES / "shared/scales"
    if scale.endswith((".yaml", ".yml")):
        path, responses = repository.meant(Path(scale), here), load_scale(scales / "frequency.yaml")
        questions = drafting.questions_of(path)
    else:
        path = SOURCES / f"{scale}.yaml"
        written, responses = load_questionnaire(path, scales)
        questions = drafting.questions_of(path, written)
    declared = Declared()
    name = model or drafting.first_that_chats(declared.active.models, declared.catalogue)
    writer, judge = load(name, declared.catalogue), load(embedder, declared.catalogue)
    writer.require("loglikelihood")
    judge.require("embed")
    drafts = drafting.draft(writer, judge, questions, responses)
    out = here / f"{path.stem}.draft.yaml"
    replace(out, drafting.as_yaml(drafts, name))
    passed = sum(found.item is not None for found in drafts.values())
    say(f"{out.name}: {passed} of {len(drafts)} questions have an item that passes the linter; read every word")
