"""The method `options`: a chat model chooses which of the scale's words fits a gap, shown in
several orders.

Facts are asked in the same way. What a chat model says of a sentence about somebody is no trait of
its own (docs/questionnaires.md).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import ModelMeta, RequestBatch, Tables
from evenruler.instruments.methods.choice import NEW_TOKENS, WITHHELD, chat_requests, count_replies
from evenruler.instruments.methods.letters import (
    LETTER_MASS,
    check_mass,
    request_letters,
    share_letters,
)
from evenruler.instruments.questionnaires.ask.questions import locate_intensifiers
from evenruler.instruments.questionnaires.declare.plan import QuestionnairePlan
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER
from evenruler.measurement.nonresponse import not_read, validity_of_replies
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.text.replies import LETTERS, normalise_surface, read_choice

PROMPT: Final = "Which word fits the gap best? Answer with the letter only.\n\n{}\n\n{}"

GAP: Final = "____"

REPLIES: Final = "options"
"""The table of answers that are replies; probabilities of letters have another."""

CHOSEN: Final = ["id", "turn", "known", "rule", "reply", "reason", "mass"]
SHARES: Final = ["id", "turn", "known", "key", "share"]

FEWEST_ORDERS: Final = 2  # one from each end of the scale; facts are asked only in these


def option_order(n: int, order: int, orders: int) -> list[int]:
    """Indices of n words in one of `orders`: alternately forward and reversed, and rotated.

    Over a pair of orders each letter has words from both ends, so that always choosing one letter
    has no effect.
    """
    shift = order // 2 * n // max(1, orders // 2)
    turned = [(position + shift) % n for position in range(n)]
    return [n - 1 - index for index in turned] if order % 2 else turned


def option_questions(tables: Tables, plan: QuestionnairePlan) -> pd.DataFrame:
    """The questions about items, twins and facts; derived, so not published.

    Returns:
        `id, turn, known, keys, words, prompt`: `keys` and `words` in the order of letters; a key is
        the id of the
            prompt with that word, or the word for a fact. `known`: whether it is a fact, whose id
            is its index and term.
    """
    rows = []
    for is_fact, name, text, words in (*_prompt_questions(tables), *_fact_questions(plan)):
        orders = min(plan["orders"], FEWEST_ORDERS) if is_fact else plan["orders"]
        keyed_words = list(words.items())
        for turn in range(orders):
            places = option_order(len(words), turn, orders)
            keys, option_words = zip(*[keyed_words[place] for place in places], strict=True)
            lettered = zip(LETTERS, option_words, strict=False)
            listed = "\n".join(f"{letter}. {word}" for letter, word in lettered)
            rows.append((name, turn, is_fact, keys, option_words, PROMPT.format(text, listed)))
    questions = pd.DataFrame(rows, columns=["id", "turn", "known", "keys", "words", "prompt"])
    return questions.astype({"turn": "int8"})


def _prompt_questions(tables: Tables) -> Iterator[tuple[bool, str, str, dict[str, str]]]:
    """For every term of an item or twin: the sentences with a gap, and the words by the id of their
    prompt.
    """
    parts = locate_intensifiers(tables)
    rows = tables["prompts"].assign(
        **{name: np.array(texts, dtype=object) for name, texts in parts.items()}
    )
    for _, group in rows.sort_values(["level", "intensifier"]).groupby(
        ["item", "twin", "term"], sort=True
    ):
        first = group.iloc[0]
        words = dict(zip(group["id"], group["word"].str.lower(), strict=True))
        question = f"{first['before']}{GAP}{first['after']}"
        yield False, first["id"], question, words


def _fact_questions(plan: QuestionnairePlan) -> Iterator[tuple[bool, str, str, dict[str, str]]]:
    """For every fact, with its right and its wrong term: True, a name, the sentence with a gap, and
    the words for the gap, the lowest weight first.
    """
    weights = plan["accuracy"].get("words", {})
    words = {word: word for word in sorted(weights, key=lambda word: (weights[word], word))}
    for place, fact in enumerate(plan["accuracy"].get("facts", [])):
        text = fact["template"].replace("{i}", INTENSIFIER)
        for term in ("right", "wrong"):
            question = text.replace("{t}", fact[term]).replace(INTENSIFIER, GAP)
            yield True, f"{place} {term}", question, words


def requests(tables: Tables, plan: QuestionnairePlan, subject: ModelMeta) -> Iterator[RequestBatch]:
    """Request letter probabilities where the model gives them, else a reply to each question."""
    question_rows = option_questions(tables, plan)
    if subject.can("words"):
        n_options = question_rows["keys"].map(len).tolist()
        yield request_letters(question_rows, n_options, ["id", "turn"])
    elif subject.can("generate"):
        yield chat_requests(
            REPLIES, question_rows[["id", "turn"]], question_rows["prompt"].tolist(), NEW_TOKENS
        )


def parse_option_answers(
    tables: Tables, plan: QuestionnairePlan, answers: Tables
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
    parse = _compute_letter_shares if len(answers[LETTER_MASS]) else _parse_replies
    readings = parse(option_questions(tables, plan), answers)
    word_rows = readings[readings["shares"].notna()].explode(["keys", "shares"], ignore_index=True)
    shares = word_rows.rename(columns={"keys": "key", "shares": "share"})
    return readings[CHOSEN], shares.astype({"share": "float64"})[SHARES]


def _compute_letter_shares(question_rows: pd.DataFrame, answers: Tables) -> pd.DataFrame:
    """The questions with `shares`, by option the probability of its letter over that of all
    letters, and with `mass`, the probability of all letters.
    """
    shares = share_letters(answers[LETTER_MASS], ["id", "turn"])
    rows = question_rows.merge(shares, on=["id", "turn"])
    return rows.assign(rule="mass", reply=None, reason=None)


def _parse_replies(question_rows: pd.DataFrame, answers: Tables) -> pd.DataFrame:
    """The questions with `rule`, by which the reply was read, and `shares`: 1 for the word that it
    names, 0 for the others; None where it names none.
    """
    rows = question_rows.merge(answers[REPLIES], on=["id", "turn"])
    parsed_replies: list[tuple[str, list[float] | None]] = []
    for row in rows.to_dict("records"):
        if pd.isna(row["reply"]):
            parsed_replies.append((WITHHELD, None))
            continue
        reading = read_choice(row["reply"], row["words"])
        rule, outcome = reading.rule, reading.outcome
        if rule == "none":
            gap_word = _find_gap_word(row["reply"], row)
            if gap_word is not None:
                rule, outcome = "option", gap_word
        shares: list[float] | None = None
        if outcome is not None:
            shares = [float(word == outcome) for word in row["words"]]
        parsed_replies.append((rule, shares))
    rules_and_shares = pd.DataFrame(parsed_replies, columns=["rule", "shares"], index=rows.index)
    return rows.assign(**rules_and_shares, mass=np.nan)


def _find_gap_word(reply: str, row: Mapping[Any, Any]) -> str | None:
    """The word with which a reply repeats the sentence, its gap filled; None if not exactly one."""
    normalised_reply = normalise_surface(reply)
    text = row["prompt"].split("\n\n")[1]
    matching_words = [
        word
        for word in row["words"]
        if word in normalised_reply
        and normalised_reply in normalise_surface(text.replace(GAP, word))
    ]
    return matching_words[0] if len(matching_words) == 1 else None


def of_prompts(prompts: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """`id, value`: share of every prompt, mean over orders; items or twins with an unanswered term
    are left out.
    """
    share_by_key = shares[~shares["known"]].groupby("key")["share"].mean()
    rows = prompts.assign(value=prompts["id"].map(share_by_key))
    is_answered = rows["value"].notna()
    whole = is_answered.groupby([rows["item"], rows["twin"]]).transform("all")
    return rows.loc[whole, ["id", "value"]]


def score_facts(shares: pd.DataFrame, plan: QuestionnairePlan) -> pd.DataFrame:
    """`fact, right`: whether its right term gets the more frequent words; false where one is
    unanswered.
    """
    accuracy_plan = plan["accuracy"]
    fact_shares = shares[shares["known"]]
    word_weights = fact_shares["key"].map(accuracy_plan.get("words", {}))
    weighed = fact_shares["share"] * word_weights.astype("float64")
    by_order = weighed.groupby([fact_shares["id"], fact_shares["turn"]]).sum()
    by_term = by_order.groupby(level="id").mean()
    fact_rows = pd.DataFrame({"fact": range(len(accuracy_plan.get("facts", [])))})
    numbers = fact_rows["fact"].astype(str)
    right = by_term.reindex(numbers + " right").to_numpy()
    wrong = by_term.reindex(numbers + " wrong").to_numpy()
    return fact_rows.assign(right=right - wrong > 1e-9)  # tolerance for summation order


def check_option_validity(chosen: pd.DataFrame) -> ValidityCheck:
    """Unfit where the answers on items measure nothing (refused, or not in letters); in doubt where
    they were not read.

    Facts whose replies were not read say nothing of a model's accuracy.
    """
    is_fact = chosen["known"].astype(bool)
    item_answers, fact_answers = chosen[~is_fact], chosen[is_fact]
    if not len(item_answers):
        return ValidityCheck()
    if item_answers["mass"].isna().any():
        item_validity = validity_of_replies(count_replies(item_answers))
        if item_validity != ValidityCheck():
            return item_validity
        return ValidityCheck(doubt=not_read(count_replies(fact_answers)))
    return check_mass(item_answers["mass"])


def by_order(shares: pd.DataFrame, prompts: pd.DataFrame) -> "pd.Series[float]":
    """The mean weight of all items and terms, by order of the options."""
    item_shares = shares[~shares["known"]].merge(
        prompts[["id", "weight"]], left_on="key", right_on="id", suffixes=("", "_of")
    )
    item_shares = item_shares.assign(points=item_shares["share"] * item_shares["weight"])
    weighed = item_shares.groupby(["turn", "id"])["points"].sum()
    return weighed.groupby(level="turn").mean()
