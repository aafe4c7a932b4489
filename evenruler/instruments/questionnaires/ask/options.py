"""The form `options`: a chat model chooses which of the scale's words fits a gap, shown in several
orders.

Facts are asked in the same way. What a chat model says of a sentence about somebody is no trait of
its own (docs/questionnaires.md).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.instruments.choosing import NEW_TOKENS, WITHHELD, chat_requests, count_replies
from evenruler.instruments.instrument import Plan, RequestBatch, Subject, Tables
from evenruler.instruments.questionnaires.ask.questions import locate_intensifiers
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER
from evenruler.measurement.answered import fitness_of, not_read
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.text.replies import LETTERS, normalised, read_choice

PROMPT: Final = "Which word fits the gap best? Answer with the letter only.\n\n{}\n\n{}"

GAP: Final = "____"

REPLIES, LETTER_MASS = (
    "options",
    "letters",
)  # tables of answers: replies, or probabilities of letters

CHOSEN: Final = ["id", "turn", "known", "rule", "reply", "reason", "mass"]
SHARES: Final = ["id", "turn", "known", "key", "share"]

LEAST_MASS: Final = (
    0.5  # of all letters together: with less, the model would mostly write something else
)
FEWEST_ORDERS: Final = 2  # one from each end of the scale; facts are asked only in these


def option_order(n: int, order: int, orders: int) -> list[int]:
    """Indices of n words in one of `orders`: alternately forward and reversed, and rotated.

    Over a pair of orders each letter has words from both ends, so that always choosing one letter
    has no effect.
    """
    shift = order // 2 * n // max(1, orders // 2)
    turned = [(at + shift) % n for at in range(n)]
    return [n - 1 - at for at in turned] if order % 2 else turned


def questions(tables: Tables, plan: Plan) -> pd.DataFrame:
    """The questions about items, twins and facts; derived, so not published.

    Returns:
        `id, turn, known, keys, words, prompt`: `keys` and `words` in the order of letters; a key is
        the id of the
            prompt with that word, or the word for a fact. `known`: whether it is a fact, whose id
            is its index and term.
    """
    rows = []
    for known, name, text, words in (*_of_prompts(tables), *_of_facts(plan)):
        orders = min(plan["orders"], FEWEST_ORDERS) if known else plan["orders"]
        for turn in range(orders):
            places = option_order(len(words), turn, orders)
            own = [list(words.items())[place] for place in places]
            listed = "\n".join(
                f"{letter}. {word}" for letter, (_, word) in zip(LETTERS, own, strict=False)
            )
            keys, said = zip(*own, strict=True)
            rows.append((name, turn, known, keys, said, PROMPT.format(text, listed)))
    return pd.DataFrame(rows, columns=["id", "turn", "known", "keys", "words", "prompt"]).astype(
        {"turn": "int8"}
    )


def _of_prompts(tables: Tables) -> Iterator[tuple[bool, str, str, dict[str, str]]]:
    """For every term of an item or twin: the sentences with a gap, and the words by the id of their
    prompt.
    """
    parts = locate_intensifiers(tables)
    rows = tables["prompts"].assign(
        **{name: np.array(own, dtype=object) for name, own in parts.items()}
    )
    for _, own in rows.sort_values(["level", "intensifier"]).groupby(
        ["item", "twin", "term"], sort=True
    ):
        first = own.iloc[0]
        words = dict(zip(own["id"], own["word"].str.lower(), strict=True))
        yield False, first["id"], f"{first['before']}{GAP}{first['after']}", words


def _of_facts(plan: Plan) -> Iterator[tuple[bool, str, str, dict[str, str]]]:
    weights = plan["accuracy"].get("words", {})
    words = {word: word for word in sorted(weights, key=lambda word: (weights[word], word))}
    for place, fact in enumerate(plan["accuracy"].get("facts", [])):
        text = fact["template"].replace("{i}", INTENSIFIER)
        for term in ("right", "wrong"):
            yield (
                True,
                f"{place} {term}",
                text.replace("{t}", fact[term]).replace(INTENSIFIER, GAP),
                words,
            )


def requests(tables: Tables, plan: Plan, subject: Subject) -> Iterator[RequestBatch]:
    """Request letter probabilities where the model gives them, else a reply to each question."""
    asked = questions(tables, plan)
    if subject.can("words"):
        rows = asked.loc[asked.index.repeat(asked["keys"].map(len)), ["id", "turn", "prompt"]]
        rows = rows.assign(
            form=[letter for keys in asked["keys"] for letter in LETTERS[: len(keys)]]
        )
        inputs = {name: rows[name].tolist() for name in ("prompt", "form")}
        yield RequestBatch(
            LETTER_MASS, "words", rows[["id", "turn", "form"]], inputs, {"chat": True}
        )
    elif subject.can("generate"):
        yield chat_requests(REPLIES, asked[["id", "turn"]], asked["prompt"].tolist(), NEW_TOKENS)


def parse_option_answers(
    tables: Tables, plan: Plan, answers: Tables
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the answers to all questions that were asked.

    Returns:
        `CHOSEN`, one row per question: the rule by which a reply was read, or the `mass` of all
        letters; and `SHARES`,
            one row per word of answered questions.
    """
    if not len(answers[LETTER_MASS]) and not len(answers[REPLIES]):
        types = {"known": bool, "share": float, "mass": float}
        nothing = pd.DataFrame(columns=[*CHOSEN, "key", "share"]).astype(types)
        return nothing[CHOSEN], nothing[SHARES]
    said = (_by_mass if len(answers[LETTER_MASS]) else _by_reply)(questions(tables, plan), answers)
    own = said[said["shares"].notna()].explode(["keys", "shares"], ignore_index=True)
    shares = own.rename(columns={"keys": "key", "shares": "share"}).astype({"share": "float64"})
    return said[CHOSEN], shares[SHARES]


def _by_mass(asked: pd.DataFrame, answers: Tables) -> pd.DataFrame:
    letters = answers[LETTER_MASS]
    by_letter = letters.assign(p=np.exp(letters["nats"] + letters["ends"])).pivot(
        index=["id", "turn"], columns="form", values="p"
    )
    of_question = by_letter.apply(lambda row: (row.dropna() / row.sum()).tolist(), axis=1).rename(
        "shares"
    )
    beside = pd.concat([of_question, by_letter.sum(axis=1).rename("mass")], axis=1).reset_index()
    return asked.merge(beside, on=["id", "turn"]).assign(rule="mass", reply=None, reason=None)


def _by_reply(asked: pd.DataFrame, answers: Tables) -> pd.DataFrame:
    rows = asked.merge(answers[REPLIES], on=["id", "turn"])
    found: list[tuple[str, list[float] | None]] = []
    for row in rows.to_dict("records"):
        if pd.isna(row["reply"]):
            found.append((WITHHELD, None))
            continue
        reading = read_choice(row["reply"], row["words"])
        rule, outcome = reading.rule, reading.outcome
        if rule == "none" and (filled := _filled(row["reply"], row)) is not None:
            rule, outcome = "option", filled
        found.append(
            (rule, None if outcome is None else [float(word == outcome) for word in row["words"]])
        )
    told = pd.DataFrame(found, columns=["rule", "shares"], index=rows.index)
    return rows.assign(**told, mass=np.nan)


def _filled(reply: str, row: Mapping[Any, Any]) -> str | None:
    """The word with which a reply repeats the sentence, its gap filled; None if not exactly one."""
    said, text = normalised(reply), row["prompt"].split("\n\n")[1]
    there = [
        word
        for word in row["words"]
        if word in said and said in normalised(text.replace(GAP, word))
    ]
    return there[0] if len(there) == 1 else None


def of_prompts(prompts: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """`id, value`: share of every prompt, mean over orders; items or twins with an unanswered term
    are left out.
    """
    found = shares[~shares["known"]].groupby("key")["share"].mean()
    rows = prompts.assign(value=prompts["id"].map(found))
    whole = rows["value"].notna().groupby([rows["item"], rows["twin"]]).transform("all")
    return rows.loc[whole, ["id", "value"]]


def facts(shares: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """`fact, right`: whether its right term gets the more frequent words; false where one is
    unanswered.
    """
    known = shares[shares["known"]]
    weighed = known["share"] * known["key"].map(plan["accuracy"].get("words", {})).astype("float64")
    by_order = weighed.groupby([known["id"], known["turn"]]).sum().groupby(level="id").mean()
    found = pd.DataFrame({"fact": range(len(plan["accuracy"].get("facts", [])))})
    right, wrong = (
        by_order.reindex(found["fact"].astype(str) + f" {term}").to_numpy()
        for term in ("right", "wrong")
    )
    return found.assign(right=right - wrong > 1e-9)  # tolerance for summation order


def fitness(chosen: pd.DataFrame) -> ValidityCheck:
    """Unfit where the answers on items measure nothing (refused, or not in letters); in doubt where
    they were not read.

    Facts whose replies were not read say nothing of a model's accuracy.
    """
    known = chosen["known"].astype(bool)
    own, facts = chosen[~known], chosen[known]
    if not len(own):
        return ValidityCheck()
    if own["mass"].isna().any():
        found = fitness_of(count_replies(own))
        return (
            ValidityCheck(doubt=not_read(count_replies(facts)))
            if found == ValidityCheck()
            else found
        )
    mass = float(own["mass"].mean())
    told = (
        f"the letters have {mass:.2f} of what it would write; at least {LEAST_MASS:g} is asked for"
    )
    return ValidityCheck(unfit=told if mass < LEAST_MASS else None)


def by_order(shares: pd.DataFrame, prompts: pd.DataFrame) -> "pd.Series[float]":
    """The mean weight of all items and terms, by order of the options."""
    own = shares[~shares["known"]].merge(
        prompts[["id", "weight"]], left_on="key", right_on="id", suffixes=("", "_of")
    )
    weighed = (
        own.assign(points=own["share"] * own["weight"]).groupby(["turn", "id"])["points"].sum()
    )
    return weighed.groupby(level="turn").mean()
