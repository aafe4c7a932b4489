"""Sampled replies as choices, and their shares (section 4.2, appendix A.3)."""

import math
import re
from collections.abc import Mapping, Sequence

import pandas as pd

from evenruler.instruments.framing.declare.framings import cues_of
from evenruler.instruments.framing.diagnose.parsing import read_reply
from evenruler.instruments.framing.schemas import CHOICES, CONTINUATIONS, DISTRIBUTIONS

METRIC = "choice"
"""What the metric is called."""

WITHHELD = "withheld"
"""The rule of a row without a reply: the server would not take the prompt, or held the reply back. Invalid."""

EVERY = "all"
"""The factor of a row that is over all replies."""

CONFIGURATION = ["benchmark", "model", "lineage", "configuration"]
"""What replies are of."""

CELL = [*CONFIGURATION, "task", "framing"]
"""What shares are of."""


def read(
    replies: pd.DataFrame,
    prompts: pd.DataFrame,
    outcomes: Mapping[str, Sequence[str]],
    options: Mapping[str, Sequence[tuple[str, str]]],
    left_out: Sequence[str] = (),
) -> pd.DataFrame:
    """Every reply to these prompts, read by `evenruler.instruments.framing.diagnose.parsing.RULES`.

    Args:
        replies: By `schemas.REPLIES`. Those to other prompts are none of these rows.
        prompts: By `PROMPTS`, with a column `benchmark`.
        outcomes: Words by class: its surface forms and its terms.
        options: By id of a prompt, slug and text of each option in the order of its letters; empty, or not there, where
            words are read.
        left_out: Phrases in which a word does not count.

    Returns:
        By `CHOICES`; a row without a reply is an invalid one, by the rule `WITHHELD`.

    Raises:
        ValueError: The options of a prompt are not those of its `order`.
    """
    for identifier, order in zip(prompts["id"], prompts["order"], strict=True):
        given = [slug for slug, _ in options.get(identifier, ())]
        if given != list(order):
            raise ValueError(f"{identifier}: options {given}, but the prompt lists {list(order)}")
    asked = prompts[["id", "benchmark", "task", "stimulus"]]
    rows = []
    for row in replies.merge(asked, on="id", validate="m:1").to_dict("records"):
        if pd.isna(row["reply"]):
            rows.append({**row, "outcome": None, "rule": WITHHELD})
            continue
        reading = read_reply(row["reply"], outcomes, options.get(row["id"], ()), left_out)
        rows.append({**row, "outcome": reading.outcome, "rule": reading.rule})
    return pd.DataFrame(rows, columns=CHOICES.names)


def distributions(choices: pd.DataFrame, outcomes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """How often each class was chosen, by cell and stimulus.

    Args:
        choices: By `schemas.CHOICES`.
        outcomes: The classes, in their order.

    Returns:
        By `DISTRIBUTIONS`, for the metric `choice`: `mass` of all replies, `share` of the valid ones (null where none
        is).
    """
    rows = []
    for key, replies in choices.groupby([*CELL, "stimulus"], sort=True):
        n, valid = len(replies), int(replies["outcome"].notna().sum())
        for outcome in outcomes:
            count = int((replies["outcome"] == outcome).sum())
            rows.append(
                {
                    **dict(zip([*CELL, "stimulus"], key, strict=True)),
                    "metric": METRIC,
                    "outcome": outcome,
                    "mass": count / n,
                    "share": count / valid if valid else math.nan,
                    "coverage": valid / n,
                    "n": n,
                }
            )
    return pd.DataFrame(rows, columns=DISTRIBUTIONS.names)


def continuations(choices: pd.DataFrame, factors: Sequence[str], neutral: str, keywords: Sequence[str]) -> pd.DataFrame:
    """How many replies of the neutral class name another class after all (appendix A.3).

    The paper looked at each of them by hand besides; nobody does here, so the share is an upper bound.

    Args:
        choices: By `schemas.CHOICES`.
        factors: In the order of the contrast.
        neutral: The class.
        keywords: What names another class, as whole words in any case.

    Returns:
        By `CONTINUATIONS`: all replies of a model first, then those with and without the cue of each factor.
    """
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, keywords))})\b", re.IGNORECASE)
    rows = []
    for key, of_model in choices.groupby(CONFIGURATION, sort=True):
        replies = of_model[of_model["outcome"] == neutral]
        names = replies["reply"].map(lambda reply: words.search(reply) is not None).astype(bool)
        parts = [(EVERY, False, names)]
        for factor in factors:
            cued = replies["framing"].map(lambda framing, cue=factor: cue in cues_of(framing)).astype(bool)
            parts += [(factor, False, names[~cued]), (factor, True, names[cued])]
        for factor, cue, part in parts:
            row = {**dict(zip(CONFIGURATION, key, strict=True)), "factor": factor, "cue": cue}
            share = part.mean() if len(part) else math.nan
            rows.append({**row, "n": len(part), "named": int(part.sum()), "share": share})
    return pd.DataFrame(rows, columns=CONTINUATIONS.names)
