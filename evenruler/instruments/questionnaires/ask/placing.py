"""Where the intensifier of a prompt stands, for models that are asked how likely it is there."""

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.instrument import Tables
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER, TERM
from evenruler.text import place


def placed(tables: Tables) -> dict[str, list[str]]:
    """The intensifier of each prompt in its place in premise and hypothesis, which a space parts.

    Args:
        tables: `prompts`, `items` (their templates) and `terms` (their words).

    Returns:
        [prompts] what stands `before` it, the `word`, what stands `after` it.
    """
    terms = tables["terms"][["item", "term", "word"]]
    templates = tables["items"][["item", "premise", "hypothesis"]]
    rows = tables["prompts"].merge(terms, on=["item", "term"], how="left", validate="m:1")
    rows = rows.merge(templates, on="item", how="left", validate="m:1", suffixes=("", "_template"))
    found: dict[str, list[str]] = {"before": [], "word": [], "after": []}
    for row in rows.to_dict("records"):
        first = INTENSIFIER in row["premise_template"]
        side = "premise" if first else "hypothesis"
        sentence = row[side]
        begin, end = place(row[f"{side}_template"], INTENSIFIER, {TERM: row["word"]}, row["variant"], sentence)
        before, after = ("", f" {row['hypothesis']}") if first else (f"{row['premise']} ", "")
        found["before"].append(before + sentence[:begin])
        found["word"].append(sentence[begin:end])
        found["after"].append(sentence[end:] + after)
    return found


def require_order(questionnaire: str, items: pd.DataFrame, model: str) -> None:
    """A model that reads from the left can be asked for an intensifier only after the term.

    Args:
        questionnaire: Its name.
        items: Their templates.
        model: That is asked, for the error.

    Raises:
        UserError: An item has them the other way round.
    """
    for item in items.to_dict("records"):
        text = f"{item['premise']} {item['hypothesis']}"
        if text.index(INTENSIFIER) < text.index(TERM):
            raise UserError(
                f"{INTENSIFIER} stands before {TERM}, so that form clm cannot ask it",
                where=f"{questionnaire}, item {item['item']}",
                remedy=f"put {TERM} first, or take clm out of `forms` of {model} in params.yaml",
            )
