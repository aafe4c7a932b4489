"""Distributions over classes of answers, by token probability and by sampled replies, with their
coverage.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.framing.declare.source import LEAST_OF_CHOICES, Mass
from evenruler.instruments.framing.declare.tasks import cues_of
from evenruler.instruments.framing.schemas import CHOICES, CONTINUATIONS, DISTRIBUTIONS, EXCLUSIONS
from evenruler.instruments.methods.choice import WITHHELD, count_replies
from evenruler.measurement.nonresponse import all_equal_reason, validity_of_replies
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.text.replies import LETTERS, ParsedReply, read_reply

TOKEN, CHOICE = "token", "choice"
"""The readouts: probability of words at the decision point, and share of sampled replies."""

EVERY = "all"
"""Value of `factor` in rows over all replies."""

PROMPT_FORMAT = ["benchmark", "model", "lineage", "prompt_format"]
"""Columns that identify one prompt format of one model."""

CELL = [*PROMPT_FORMAT, "task", "framing"]
"""Columns that identify one cell; its coverage is by readout."""

_MODEL = ["model", "lineage", "prompt_format"]
_STIMULUS = ["task", "framing", "stimulus"]
_FILLER = ""


class SharedTokensError(UserError):
    """A tokenizer begins all forms of a class as it begins forms of other classes."""


def token_distributions(
    forms: pd.DataFrame,
    prompts: pd.DataFrame,
    content_free: pd.DataFrame | None,
    outcomes: Mapping[str, Sequence[str]],
    mass: Mass = "words",
) -> pd.DataFrame:
    """Mass and share of every class, by task, framing and stimulus: `schemas.DISTRIBUTIONS`,
    readout `token`.

    The mass of a class is the sum over its distinct surface forms. A letter has the class of the
    option that it stands for; its mass is that of the letter without a word after it plus that with
    the first word of its option. Orders of options are averaged. `forms`, `prompts` (with a column
    `benchmark`) and `content_free` by `schemas`; `outcomes`: surface forms by class.

    Masses of letters are divided by those in `content_free`, with their sum kept (Zhao et al.
    2021); None leaves them unchanged. With `mass` `first_token`, each first token counts once, and
    not at all if it begins forms of several classes; SharedTokensError where a class has none of
    its own.
    """
    if forms.empty:
        return pd.DataFrame(columns=DISTRIBUTIONS.names)
    described = prompts[["id", "benchmark", *_STIMULUS, "order"]]
    lists_options = described["order"].map(len) > 0
    without_words = list(described.loc[lists_options, "id"])
    if content_free is not None:
        without_words += list(content_free["id"])
    weighed = _form_masses(forms, forms["id"].isin(without_words), mass)
    joined = weighed.merge(described, on="id", validate="m:1").assign(readout=TOKEN)
    lettered = joined["order"].map(len).astype(bool)
    # Unless the end is scored (`whole`), the mass of a letter includes its continuations, so these
    # are left out.
    whole = joined[lettered & (joined["by_itself"] | joined["whole"])]
    whole = whole.drop_duplicates([*_MODEL, "id", "letter", "once"])
    key = [*_MODEL, "benchmark", "readout", *_STIMULUS, "id", "order", "letter"]
    whole = whole.assign(order=whole["order"].map(tuple))
    by_letter = whole.groupby(key, sort=True)["mass"].sum().reset_index()
    if content_free is not None:
        by_letter = _calibrate_masses(by_letter, weighed, content_free)
    letters = zip(by_letter["letter"], by_letter["order"], strict=True)
    options = [order[LETTERS.index(letter)] for letter, order in letters]
    chosen = pd.Series(options, by_letter.index, dtype="str")
    by_letter["outcome"] = chosen.where(chosen.isin(list(outcomes)), _FILLER)
    by_form: dict[str, str] = {}
    for outcome, words in outcomes.items():
        for form in words:
            by_form[form.lower()] = outcome
    by_word = joined[~lettered]
    bare_forms = by_word["surface_form"].str.strip().str.lower()
    by_word = by_word.assign(outcome=bare_forms.map(by_form))
    if mass == "first_token":
        by_word = _first_tokens(by_word, outcomes)
    columns = [*_MODEL, "benchmark", "readout", *_STIMULUS, "id", "outcome", "mass"]
    return _by_cell(pd.concat([by_letter[columns], by_word[columns]], ignore_index=True), outcomes)


def _form_masses(forms: pd.DataFrame, lettered: "pd.Series[bool]", mass: Mass) -> pd.DataFrame:
    """Forms with `mass` and `letter`; forms with the same `once` are to be counted a single
    time.
    """
    texts = forms["surface_form"].str.strip()
    by_itself = lettered & (texts.str.len() == 1)
    nats, once = forms["nats"], forms["surface_form"]
    if mass == "words":
        nats = nats + forms["alone"].where(by_itself, forms["ends"])
    elif mass == "first_token":
        nats, once = forms["first_nats"], forms["first_token"]
    form_rows = forms.drop(columns=["framing", "alone"])
    return form_rows.assign(
        mass=np.exp(nats),
        letter=texts.str[0],
        by_itself=by_itself,
        whole=mass == "words",
        once=once,
    )


def _calibrate_masses(
    by_letter: pd.DataFrame, weighed: pd.DataFrame, content_free: pd.DataFrame
) -> pd.DataFrame:
    """Masses divided by each letter's mean share after prompts without content; the sum of a prompt
    is kept.
    """
    letter_rows = weighed[weighed["by_itself"]].drop_duplicates([*_MODEL, "id", "letter", "once"])
    letter_rows = letter_rows.merge(content_free[["id", "task", "framing"]], on="id")
    masses = letter_rows.groupby([*_MODEL, "task", "framing", "id", "letter"])["mass"].sum()
    prompt_levels = list(range(len(_MODEL) + 3))
    shares = masses / masses.groupby(level=prompt_levels).transform("sum")
    cell = [*_MODEL, "task", "framing", "letter"]
    priors = shares.groupby(level=cell).mean().rename("prior").reset_index()
    letters_with_priors = by_letter.merge(priors, on=cell, how="left", validate="m:1")
    if letters_with_priors["prior"].isna().any():
        raise ValueError("a letter was not asked after the prompts without content")
    divided = letters_with_priors["mass"] / letters_with_priors["prior"]
    key = [*_MODEL, "id"]
    totals = (
        letters_with_priors.assign(divided=divided)
        .groupby(key)[["mass", "divided"]]
        .transform("sum")
    )
    return letters_with_priors.assign(mass=divided / totals["divided"] * totals["mass"])


def _first_tokens(joined: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Every first token once, without those that several classes share; SharedTokensError where
    after one prompt a class shares all of its tokens, since its mass there would be 0.
    """
    prompt = ["model", "id", "prompt_format"]
    distinct = joined.drop_duplicates([*prompt, "outcome", "first_token"])
    n_classes = distinct.groupby([*prompt, "first_token"])["outcome"].transform("nunique")
    is_unshared = n_classes == 1
    has_unshared = is_unshared.groupby([distinct[key] for key in (*prompt, "outcome")]).any()
    lacking = set(has_unshared.index[~has_unshared].get_level_values("outcome"))
    for outcome in outcomes:
        if outcome in lacking:
            what = f"every first token of class {outcome} begins forms of another class too"
            raise SharedTokensError(
                what, where=f"contrast {joined['benchmark'].iloc[0]}", remedy="use `mass: words`"
            )
    return distinct[is_unshared]


def _by_cell(weighed: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Mass, coverage and share by cell, stimulus and class: sums over forms, means over orders."""
    cell = [*_MODEL, "benchmark", "readout", *_STIMULUS]
    masses = weighed.groupby([*cell, "id", "outcome"])["mass"].sum()
    by_prompt = masses.unstack("outcome")
    by_prompt = by_prompt.reindex(columns=list(outcomes), fill_value=0.0).fillna(0.0)
    cells = by_prompt.groupby(level=cell)
    means = cells.mean()
    long = means.melt(var_name="outcome", value_name="mass", ignore_index=False).reset_index()
    extra = pd.DataFrame({"coverage": means.sum(axis=1), "n": cells.size()})
    class_masses = long.merge(extra.reset_index(), on=cell, validate="m:1")
    coverage = class_masses["coverage"]
    return class_masses.assign(share=class_masses["mass"] / coverage.where(coverage > 0))


def read_replies(
    replies: pd.DataFrame,
    prompts: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    options: Mapping[str, Sequence[tuple[str, str]]],
    left_out: Sequence[str] = (),
) -> pd.DataFrame:
    """Every reply to these prompts, classified by `evenruler.text.replies.RULES`, by `CHOICES`.

    A row without a reply is invalid, by the rule `WITHHELD`. `replies` by `schemas.REPLIES`,
    `prompts` by `PROMPTS` with a column `benchmark`; `outcomes`: words by class, its surface forms
    and its terms; `options`: by `ask.options_by_prompt`, optional for prompts without options,
    ValueError where they differ from `order`; `left_out`: phrases in which a word does not count.
    """
    for identifier, order in zip(prompts["id"], prompts["order"], strict=True):
        option_slugs = [slug for slug, _ in options.get(identifier, ())]
        if option_slugs != list(order):
            raise ValueError(
                f"{identifier}: options {option_slugs}, but the prompt lists {list(order)}"
            )
    prompt_columns = prompts[["id", "benchmark", "task", "stimulus", "prompt"]]
    rows = []
    for row in replies.merge(prompt_columns, on="id", validate="m:1").to_dict("records"):
        reading = ParsedReply(None, WITHHELD)
        if not pd.isna(row["reply"]):
            reading = read_reply(
                row["reply"], outcomes, options.get(row["id"], ()), left_out, row["prompt"]
            )
        rows.append({**row, "outcome": reading.outcome, "rule": reading.rule})
    return pd.DataFrame(rows, columns=CHOICES.names)


def choice_distributions(
    choices: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """How often each class was chosen, by cell and stimulus: `schemas.DISTRIBUTIONS`, readout
    `choice`.

    `mass`: share of all replies, `share`: share of the valid ones (null where none is).
    """
    chose = pd.DataFrame(
        {outcome: choices["outcome"] == outcome for outcome in outcomes}, index=choices.index
    )
    cells = chose.groupby([choices[column] for column in (*CELL, "stimulus")], sort=True)
    n = cells.size()
    counts = cells.sum().rename_axis(columns="outcome")
    valid = counts.sum(axis=1)
    of_all = counts.div(n, axis=0)
    of_valid = counts.div(valid.where(valid > 0), axis=0)
    long = pd.DataFrame({"mass": of_all.stack(), "share": of_valid.stack()}).reset_index()
    of_cell = pd.DataFrame({"n": n, "coverage": valid / n, "readout": CHOICE}).reset_index()
    return long.merge(of_cell, on=[*CELL, "stimulus"])[[*DISTRIBUTIONS.names]]


def count_continuations(
    choices: pd.DataFrame, factors: Sequence[str], neutral: str, keywords: Sequence[str]
) -> pd.DataFrame:
    """How many replies of the neutral class hold a keyword, and so may name another class (appendix
    A.3).

    The paper checked each of them by hand, which is not done here, so the share is an upper bound.
    By `CONTINUATIONS`: all replies of a model first, then those without and with the cue of each
    factor.
    """
    alternatives = "|".join(map(re.escape, keywords))
    words = re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)
    rows = []
    for key, of_model in choices.groupby(PROMPT_FORMAT, sort=True):
        replies = of_model[of_model["outcome"] == neutral]
        has_keyword = replies["reply"].map(lambda reply: words.search(reply) is not None)
        names = has_keyword.astype(bool)
        cues = replies["framing"].map(cues_of)
        for factor, cue in [(EVERY, False), *product(factors, (False, True))]:
            is_counted = [factor == EVERY or (factor in reply_cues) == cue for reply_cues in cues]
            part = names[is_counted]
            share = part.mean() if len(part) else math.nan
            n_named = int(part.sum())
            rows.append((*key, factor, cue, len(part), n_named, share))
    return pd.DataFrame(rows, columns=CONTINUATIONS.names)


def compute_exclusions(distributions: pd.DataFrame, least: float) -> pd.DataFrame:
    """Coverage of every cell, the share of its answers that name an option, and whether it is too
    low; by `EXCLUSIONS`.

    `least`: for the readout `token`; for `choice` it is `LEAST_OF_CHOICES`.
    """
    one_class = distributions.drop_duplicates([*CELL, "readout", "stimulus"])
    rows = []
    for key, group in one_class.groupby([*CELL, "readout"], sort=True):
        floor = LEAST_OF_CHOICES if key[-1] == CHOICE else least
        covered = float(np.average(group["coverage"], weights=group["n"]))
        low = covered < floor - 1e-12  # tolerance, so that rounding of the mean excludes no cell
        n = int(group["n"].sum())
        rows.append((*key, covered, floor, n, low))
    columns = [*CELL, "readout", "coverage", "least", "n", "excluded"]
    return pd.DataFrame(rows, columns=columns).reindex(columns=EXCLUSIONS.names)


def without_excluded(
    distributions: pd.DataFrame, exclusions: pd.DataFrame, readouts: Collection[str]
) -> pd.DataFrame:
    """Distributions without excluded cells of `readouts`; those of other readouts stay."""
    is_of_metrics = exclusions["readout"].isin(list(readouts))
    is_out = exclusions["excluded"].astype(bool) & is_of_metrics
    out = exclusions[is_out]
    gone = set(out[[*CELL, "readout"]].itertuples(index=False, name=None))
    cells = distributions[[*CELL, "readout"]].itertuples(index=False, name=None)
    stays = [cell not in gone for cell in cells]
    # An empty list would select columns.
    return distributions[np.array(stays, dtype=bool)].reset_index(drop=True)


def validity_of_part(measured: pd.DataFrame, replies: pd.DataFrame) -> ValidityCheck:
    """Unfit where answers in one part (prompt format and readout) measure nothing; in doubt where
    they were not read.

    `measured`: by `schemas.DISTRIBUTIONS`. `replies`: by `schemas.CHOICES`; only used for the
    readout `choice`.
    """
    if measured["readout"].iloc[0] == CHOICE:
        validity = validity_of_replies(count_replies(replies))
        if validity != ValidityCheck():
            return validity
    cells = measured.pivot(
        index=["framing", "stimulus"], columns=["task", "outcome"], values="share"
    )
    return ValidityCheck(failure=all_equal_reason(cells, "cells (cues and stimuli)"))
