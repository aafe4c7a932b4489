"""Which prompts and labelled pairs are asked: of items or twins, after prefixes, with a place for the intensifier."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments import prefixes
from evenruler.instruments.instrument import Plan, Request, Subject, Tables
from evenruler.instruments.questionnaires.declare.shared import MNLI
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER, TERM, prompt_id
from evenruler.models.declared import LIKELIHOODS
from evenruler.text import place

LOGITS = ["entailment", "neutral", "contradiction"]
"""What a model says of a pair, by these names."""

OF_BOTH = ("items", "terms", "prompts")
"""The published tables that hold both."""


def apart(tables: Tables) -> tuple[Tables, Tables]:
    """The published tables of the items alone, and of their twins alone.

    Args:
        tables: `items`, `terms` and `prompts`, each with `twin`.

    Returns:
        Twice the same tables; those of the twins have no row where a questionnaire has none.
    """
    own = {name: tables[name][~tables[name]["twin"].astype(bool)] for name in OF_BOTH}
    twins = {name: tables[name][tables[name]["twin"].astype(bool)] for name in OF_BOTH}
    return {**tables, **own}, {**tables, **twins}


def prefixed_rows(prompts: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """The prompts of some items after every prefix, by `prefixes.after_prefixes`.

    Args:
        prompts: By `schemas.PROMPTS`.
        plan: Of their questionnaire.
    """

    def identify(row: Mapping[Any, Any], prefix: str) -> str:
        return prompt_id(row["questionnaire"], row["item"], row["term"], row["intensifier"], prefix)

    return prefixes.after_prefixes(prompts, "item", plan, identify)


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


def labelled_requests(plan: Plan, subject: Subject) -> Iterator[Request]:
    """Every labelled pair of the plan, in every form in which the model says what follows from what."""
    if not subject.can("entail"):
        return
    pairs = pairs_of(plan)
    for form in subject.forms:
        if form not in LIKELIHOODS:
            rows = pairs[["set", "label"]].assign(configuration=form, pair=range(len(pairs)))
            yield Request("labelled_pairs", "entail", rows, sides_of(pairs))


def pairs_of(plan: Plan) -> pd.DataFrame:
    """The labelled pairs of a plan: `set`, `label`, `premise`, `hypothesis`."""
    return pd.DataFrame(plan["accuracy"]["pairs"], columns=["set", "label", "premise", "hypothesis"])


def judged_pairs(plan: Plan) -> pd.DataFrame:
    """Those that accuracy is judged by."""
    pairs = pairs_of(plan)
    return pairs[pairs["set"] == MNLI]


def sides_of(pairs: pd.DataFrame) -> dict[str, list[str]]:
    """What is asked of the pairs."""
    return {side: pairs[side].tolist() for side in ("premise", "hypothesis")}
