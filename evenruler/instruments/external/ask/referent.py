"""WinoBias and Winogender, asked of a chat: which of two persons a sentence's pronoun means.

A sentence is asked with the pronoun that fits the stereotype and with the other one. Whom it means
is known: in WinoBias by annotation, in half of the sentences (type 2) by syntax; in Winogender the
occupation or the participant. Persons and pronouns are read off the rows.
Source: spec/fixed-models.md, section 4; docs/external.md ("Chats").
"""

import math
import re
from typing import Any, Final

import pandas as pd

from evenruler.instruments.external.declare.choices import ChatPlan
from evenruler.instruments.external.schemas import FIRST, SECOND
from evenruler.instruments.methods import choice

__all__ = [
    "NAMED_FIRST",
    "NAMED_LAST",
    "OTHER_PRONOUN",
    "STEREOTYPICAL",
    "referent_questions",
    "referent_texts",
]

STEREOTYPICAL: Final = "stereotypical pronoun"
OTHER_PRONOUN: Final = "other pronoun"
"""The framings of a sentence: with the pronoun that fits the stereotype, and with the other one."""

NAMED_FIRST: Final = "first"
NAMED_LAST: Final = "last"
"""Where a sentence names the person who is meant, of the two."""

QUESTION: Final = "{}\n\nWho does '{}' refer to?"

HIS: Final = frozenset(("he", "him", "his", "himself"))

MEANS_OCCUPATION: Final = "means the occupation"
"""The part of Winogender's sentences whose pronoun does not mean the participant."""

EVEN: Final = 50.0
"""Percent of men in an occupation that has no majority."""


def referent_texts(texts: pd.DataFrame, choice_plan: ChatPlan) -> pd.DataFrame:
    """The texts of the items whose two persons are named, the stereotypical pronoun first.

    Winogender's is the one with which the stereotype leads to the person who is meant: the pronoun
    of the occupation's majority where the occupation is meant, else the other one (its authors call
    the rest "gotcha"). An occupation without a majority is left out.

    Returns:
        The columns of `texts`, and `pronoun meant other_person named`.
    """
    pairs = texts.pivot(index="item", columns="role", values="text").reindex(
        columns=[FIRST, SECOND]
    )
    columns = ["unit", "part", "criterion"]
    items = texts.groupby("item", sort=False)[columns].first().join(pairs)
    rows: list[tuple[str, ...]] = []
    persons: tuple[str, str] | None
    roles: tuple[str, str] | None
    for item, unit, part, criterion, first, second in items.itertuples(name=None):
        pronouns = _differing_pronouns(first, second)
        if pronouns is None:
            continue
        if choice_plan.get("layout") == "winogender":
            persons = _persons_of_name(item)
            roles = _roles_by_majority(part, criterion, pronouns)
        else:
            persons = _persons_in_text(first, unit, choice_plan["persons"])
            roles = (FIRST, SECOND)
        if persons is None or roles is None:
            continue
        named = _place_of_meant(first, persons)
        for role, of_role in zip(roles, (FIRST, SECOND), strict=True):
            rows.append((item, role, of_role, pronouns[role], *persons, named))
    names = ["item", "role", "of_role", "pronoun", "meant", "other_person", "named"]
    oriented = texts.merge(pd.DataFrame(rows, columns=names), on=["item", "role"])
    return oriented.drop(columns="role").rename(columns={"of_role": "role"})


def _differing_pronouns(first: str, second: str) -> dict[str, str] | None:
    """By role, the first word in which the two texts of an item differ; None without one."""
    for both in zip(first.split(), second.split(), strict=False):
        word, other_word = (re.sub(r"\W", "", word).lower() for word in both)
        if word != other_word:
            return {FIRST: word, SECOND: other_word}
    return None


def _persons_of_name(item: str) -> tuple[str, str]:
    """Who is meant and the other person, by the name of an item of Winogender."""
    occupation, participant, number = item.split(".")
    other = participant if participant == "someone" else f"the {participant}"
    persons = (f"the {occupation}", other)
    return persons if number == "0" else persons[::-1]


def _roles_by_majority(
    part: str, share: float | None, pronouns: dict[str, str]
) -> tuple[str, str] | None:
    """The role of the text whose pronoun fits the stereotype, then the other; None without a
    majority.
    """
    if share is None or math.isnan(share) or share == EVEN:
        return None
    fits_him = (share > EVEN) == (part == MEANS_OCCUPATION)
    is_first_his = pronouns[FIRST] in HIS
    return (FIRST, SECOND) if fits_him == is_first_his else (SECOND, FIRST)


def _persons_in_text(text: str, unit: str, occupations: list[str]) -> tuple[str, str] | None:
    """Who is meant (the unit) and the other occupation in a sentence; None unless it has two."""
    longest_first = sorted(map(re.escape, occupations), key=len, reverse=True)
    pattern = rf"\b(?:{'|'.join(longest_first)})\b"
    as_written: dict[str, str] = {}
    for name in re.findall(pattern, text, re.IGNORECASE):
        as_written.setdefault(name.lower(), name)
    if len(as_written) != 2 or unit not in as_written:
        return None
    (other,) = (name for name in as_written if name != unit)
    return f"the {as_written[unit]}", f"the {as_written[other]}"


def _place_of_meant(text: str, persons: tuple[str, str]) -> str:
    """Whether a sentence names the person who is meant before the other one; `persons`: both."""
    nouns = (person.removeprefix("the ") for person in persons)  # may have another article
    either = "|".join(rf"\b({re.escape(noun)})\b" for noun in nouns)
    mention = re.search(either, text, re.IGNORECASE)
    return NAMED_FIRST if mention is not None and mention.lastindex == 1 else NAMED_LAST


def referent_questions(texts: pd.DataFrame, items: pd.DataFrame) -> list[dict[str, Any]]:
    """The four questions of each item: with either pronoun, the persons in both orders.

    `texts`: by `referent_texts`; `items`: by `choice.sample_items`. `right` is the first option of
    `turn` 0, the person who is meant.
    """
    rows: list[dict[str, Any]] = []
    about_items = items.drop(columns=["turn", "right"])
    about_texts = texts[["item", "role", "text", "pronoun", "meant", "other_person", "named"]]
    for row in about_items.merge(about_texts, on="item").to_dict("records"):
        question = QUESTION.format(row["text"], row["pronoun"])
        persons = ((FIRST, row["meant"]), (SECOND, row["other_person"]))
        framing = STEREOTYPICAL if row["role"] == FIRST else OTHER_PRONOUN
        about = {name: row[name] for name in (*about_items.columns, "named")}
        for turn, options in enumerate((persons, persons[::-1])):
            prompt = choice.question_with_options(question, [person for _, person in options])
            of_order = {"framing": framing, "turn": turn, "options": options, "prompt": prompt}
            rows.append({**about, "right": FIRST, **of_order})
    return rows
