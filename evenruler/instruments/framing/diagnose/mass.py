"""Mass of the outcome classes at the decision point (framing, section 4.2: token probability)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.framing.declare.settings import Mass
from evenruler.instruments.framing.declare.tasks import LETTERS
from evenruler.instruments.framing.schemas import DISTRIBUTIONS

METRIC = "token"
"""What the metric is called."""

_MODEL = ["model", "lineage", "configuration"]
_CELL = ["task", "framing", "stimulus"]
_FILLER = ""


def token_distributions(
    forms: pd.DataFrame,
    prompts: pd.DataFrame,
    content_free: pd.DataFrame | None,
    outcomes: Mapping[str, Sequence[str]],
    mass: Mass = "words",
) -> pd.DataFrame:
    """Mass and share of every class, by task, framing and stimulus.

    The mass of a class is the sum over its distinct surface forms. A letter has the class of the option that it stands
    for; its mass is that of the letter with no word after it, and of the letter with the first word of its option.
    Orders of options are averaged.

    Args:
        forms: By `schemas.FORMS`.
        prompts: By `schemas.PROMPTS`, with a column `benchmark`.
        content_free: By `schemas.CONTENT_FREE`: masses of letters are divided by those that they have there, their sum
            kept (Zhao et al. 2021). None where they stay as they are.
        outcomes: Surface forms by class.
        mass: `words`: all tokens of a form, and that no letter follows; `forms`: the same whatever follows, as a
            harness has it; `first_token`: its first token alone, each counted once, one that begins forms of several
            classes for none of them.

    Returns:
        By `schemas.DISTRIBUTIONS`, metric `token`.

    Raises:
        UserError: No first token is a class's own.
    """
    if forms.empty:
        return pd.DataFrame(columns=DISTRIBUTIONS.names)
    described = prompts[["id", "benchmark", *_CELL, "order"]]
    without_words = described.loc[described["order"].map(len) > 0, "id"]
    if content_free is not None:
        without_words = pd.concat([without_words, content_free["id"]])
    weighed = _weighed(forms, forms["id"].isin(without_words), mass)
    joined = weighed.merge(described, on="id", validate="m:1").assign(metric=METRIC)
    lettered = joined["order"].map(len).astype(bool)
    by_letter = _letters(joined[lettered])
    if content_free is not None:
        by_letter = _calibrated(by_letter, _priors(weighed, content_free))
    by_letter["outcome"] = [
        order[LETTERS.index(letter)] for letter, order in zip(by_letter["letter"], by_letter["order"], strict=True)
    ]
    by_letter["outcome"] = by_letter["outcome"].where(by_letter["outcome"].isin(list(outcomes)), _FILLER)
    by_word = _words(joined[~lettered], outcomes, mass)
    columns = [*_MODEL, "benchmark", "metric", *_CELL, "id", "outcome", "mass"]
    return _by_cell(pd.concat([by_letter[columns], by_word[columns]], ignore_index=True), outcomes)


def _weighed(forms: pd.DataFrame, lettered: "pd.Series[bool]", mass: Mass) -> pd.DataFrame:
    """Forms with their probability, `mass`, and where letters are read the letter, and whether nothing is after it.

    A letter counts what is the same in `once` a single time.
    """
    texts = forms["form"].str.strip()
    by_itself = lettered & (texts.str.len() == 1)
    if mass == "words":
        nats = forms["nats"] + forms["alone"].where(by_itself, forms["ends"])
    else:
        nats = forms["nats"] if mass == "forms" else forms["first_nats"]
    once = forms["first_token" if mass == "first_token" else "form"]
    kept = forms.drop(columns=["framing", "alone"])
    return kept.assign(mass=np.exp(nats), letter=texts.str[0], by_itself=by_itself, whole=mass == "words", once=once)


def _letters(joined: pd.DataFrame) -> pd.DataFrame:
    """By prompt and letter, with its mass. Without an end a letter holds what goes on after it, so that counts once."""
    counted = joined[joined["by_itself"] | joined["whole"]]
    found = counted.drop_duplicates([*_MODEL, "id", "letter", "once"]).copy()
    found["order"] = found["order"].map(tuple)
    key = [*_MODEL, "benchmark", "metric", *_CELL, "id", "order", "letter"]
    return found.groupby(key, sort=True)["mass"].sum().reset_index()


def _priors(weighed: pd.DataFrame, content_free: pd.DataFrame) -> pd.DataFrame:
    """By model, cell and letter: its share of the letters after prompts without content, mean over these."""
    own = weighed[weighed["by_itself"]].drop_duplicates([*_MODEL, "id", "letter", "once"])
    own = own.merge(content_free[["id", "task", "framing"]], on="id")
    masses = own.groupby([*_MODEL, "task", "framing", "id", "letter"])["mass"].sum()
    shares = masses / masses.groupby(level=[*range(len(_MODEL) + 3)]).transform("sum")
    return shares.groupby(level=[*_MODEL, "task", "framing", "letter"]).mean().rename("prior").reset_index()


def _calibrated(by_letter: pd.DataFrame, priors: pd.DataFrame) -> pd.DataFrame:
    """Masses of letters divided by their priors; what all letters of a prompt have together stays."""
    found = by_letter.merge(priors, on=[*_MODEL, "task", "framing", "letter"], how="left", validate="m:1")
    if found["prior"].isna().any():
        raise ValueError("a letter was not asked after the prompts without content")
    key = [*_MODEL, "id"]
    total = found.groupby(key)["mass"].transform("sum")
    divided = found["mass"] / found["prior"]
    return found.assign(mass=divided / found.assign(mass=divided).groupby(key)["mass"].transform("sum") * total)


def _words(joined: pd.DataFrame, outcomes: Mapping[str, Sequence[str]], mass: Mass) -> pd.DataFrame:
    """Forms with their classes, each counted once."""
    by_form = {form.lower(): outcome for outcome, forms in outcomes.items() for form in forms}
    told = joined.assign(outcome=joined["form"].str.strip().str.lower().map(by_form))
    return _first_tokens(told, outcomes) if mass == "first_token" else told


def _first_tokens(joined: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Every first token once, and only where it is one class's own."""
    prompt = ["model", "id", "configuration"]
    distinct = joined.drop_duplicates([*prompt, "outcome", "first_token"])
    classes = distinct.groupby([*prompt, "first_token"])["outcome"].transform("nunique")
    own = distinct[classes == 1]
    for outcome in outcomes:
        if outcome in set(distinct["outcome"]) and outcome not in set(own["outcome"]):
            raise UserError(
                f"every first token of class {outcome} begins forms of another class too",
                where=f"contrast {joined['benchmark'].iloc[0]}",
                remedy="use `mass: words`",
            )
    return own


def _by_cell(weighed: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Mass, coverage and share by cell, stimulus and class: sums over forms, means over orders."""
    cell = [*_MODEL, "benchmark", "metric", *_CELL]
    by_prompt = weighed.groupby([*cell, "id", "outcome"])["mass"].sum().unstack("outcome")
    by_prompt = by_prompt.reindex(columns=list(outcomes), fill_value=0.0).fillna(0.0)
    cells = by_prompt.groupby(level=cell)
    means = cells.mean()
    long = means.melt(var_name="outcome", value_name="mass", ignore_index=False).reset_index()
    extra = pd.DataFrame({"coverage": means.sum(axis=1), "n": cells.size()}).reset_index()
    found = long.merge(extra, on=cell, validate="m:1")
    return found.assign(share=found["mass"] / found["coverage"].where(found["coverage"] > 0))
