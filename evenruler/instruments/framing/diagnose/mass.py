"""Mass of the outcome classes at the decision point (framing, section 4.2: token probability)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.framing.declare.settings import Mass
from evenruler.instruments.framing.declare.source import LETTERS

PROMPT = ["id", "configuration"]
MODEL = ["model", "lineage", "configuration"]
CELL = ["task", "framing", "stimulus"]
FILLER = ""


def token_distributions(
    forms: pd.DataFrame,
    prompts: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    mass: Mass = "words",
) -> pd.DataFrame:
    """Mass and share of every class, by task, framing and stimulus.

    The mass of a class is the sum over its distinct surface forms; a letter has the class of the option that it
    stands for; orders of options are averaged.

    Args:
        forms: By `schemas.FORMS`.
        prompts: By `schemas.PROMPTS`, with a column `benchmark`.
        outcomes: Surface forms by class.
        mass: `words`: all tokens of a form, and that no letter follows; `first_token`: its first token alone, each
            counted once, one that begins forms of several classes for none of them.

    Returns:
        By `schemas.DISTRIBUTIONS`, metric `token`.

    Raises:
        UserError: No first token is a class's own.
    """
    described = prompts[["id", "benchmark", "task", "stimulus", "order"]]
    joined = forms.merge(described, on="id", validate="m:1").assign(metric="token")
    joined["outcome"] = _outcome_of(joined, outcomes)
    weighed = _whole_words(joined) if mass == "words" else _first_tokens(joined, outcomes)
    by_prompt = (
        weighed.groupby([*MODEL, "benchmark", "metric", *CELL, "id", "outcome"])["mass"].sum().unstack("outcome")
    )
    by_prompt = by_prompt.reindex(columns=list(outcomes), fill_value=0.0).fillna(0.0)
    cells = by_prompt.groupby(level=[*MODEL, "benchmark", "metric", *CELL])
    means = cells.mean()
    coverage = means.sum(axis=1)
    long = means.melt(value_name="mass", ignore_index=False).reset_index()
    extra = pd.DataFrame({"coverage": coverage, "n": cells.size()}).reset_index()
    found = long.merge(extra, on=[*MODEL, "benchmark", "metric", *CELL], validate="m:1")
    return found.assign(share=found["mass"] / found["coverage"].where(found["coverage"] > 0))


def _outcome_of(joined: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> list[str]:
    """The class of every form; `FILLER` for the letter of another option."""
    by_form = {form.lower(): outcome for outcome, forms in outcomes.items() for form in forms}
    found = []
    for form, order in zip(joined["form"].str.strip(), joined["order"], strict=True):
        slug = order[LETTERS.index(form)] if len(order) else by_form[form.lower()]
        found.append(slug if slug in outcomes else FILLER)
    return found


def _whole_words(joined: pd.DataFrame) -> pd.DataFrame:
    return joined.assign(mass=np.exp(joined["nats"] + joined["ends"]))


def _first_tokens(joined: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Every first token once, and only where it is one class's own."""
    distinct = joined.drop_duplicates(["model", *PROMPT, "outcome", "first_token"])
    classes = distinct.groupby(["model", *PROMPT, "first_token"])["outcome"].transform("nunique")
    own = distinct[classes == 1]
    for outcome in outcomes:
        if outcome in set(distinct["outcome"]) and outcome not in set(own["outcome"]):
            raise UserError(
                f"every first token of class {outcome} begins forms of another class too",
                where=f"contrast {joined['benchmark'].iloc[0]}",
                remedy="use `mass: words`",
            )
    return own.assign(mass=np.exp(own["first_nats"]))
