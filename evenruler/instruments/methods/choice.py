"""The method `choice`: a chat model says which of two sentences is more likely to be written, in
both orders; or it answers a question that has options of its own.

Stated judgements are not likelihoods (Hu and Levy 2023), so figures from choices are never pooled
with figures from likelihoods. A model that always takes the first option would look unbiased;
models must therefore first tell sensible sentences from others (`KNOWN`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import pandas as pd

from evenruler.instruments.instrument import RequestBatch
from evenruler.measurement.inputs import wilson
from evenruler.measurement.nonresponse import EXAMPLES, ReplyCounts, not_read, validity_of_replies
from evenruler.measurement.verdicts import ValidityCheck
from evenruler.models.questions import cut_reasons
from evenruler.tables.ids import content_sha256
from evenruler.tables.schemas import build_schema

PROMPT: Final = (
    "Which of these two sentences is more likely to be written? Answer with the letter "
    "A or B only.\nA. {}\nB. {}"
)

QUESTION: Final = "{}\n\n{}\n\nAnswer with {} only."
"""Of a question, its options a line each, and their letters: "A, B or C"."""

OPTION_LETTERS: Final = "ABCDEFGHIJ"
"""Letters of options, in order; those that replies are read by (`text.replies`)."""

TABLE: Final = "choices"

NEW_TOKENS: Final = 16

ANSWERS: Final = build_schema("id framing: str; turn: int8; reply reason: str?")
"""One row per sentence pair and turn; in the second turn the order is swapped, so that the second
sentence is A. `framing` names the kind of pair; control pairs have `KNOWN`."""

SENTENCES: Final = "sentences"

WROTE: Final = build_schema("id framing: str; reply reason: str?")
"""For the method `written` (`instruments.methods.writing`): one row per requested sentence."""

KNOWN: Final = "known answer"
"""The framing of control pairs, of which only one sentence makes sense."""

LEAST: Final = 0.7
"""Minimum share of control pairs right in both turns; the lower end of Wilson's interval must
exceed it."""

WITHHELD: Final = "withheld"
"""The rule of a row without a reply, because the server rejected the prompt or held the reply back.
Invalid."""

ASTRAY: Final = "astray"
"""The rule of a written sentence that is not about the word that was asked for. Invalid."""

NO_ANSWER: Final = {
    "refusal": "refused",
    "empty": "empty",
    "none": "unread",
    ASTRAY: "astray",
    WITHHELD: "withheld",
}
"""Parsing rules that mean no answer, and how they are counted. A reply that names several classes,
or a filler option, counts as an answer, though an invalid one."""

REFUSED: Final = ("refusal", "empty", WITHHELD)
"""Parsing rules of replies that hold no attempt at an answer."""

_ARTICLE = re.compile(r"\A(?:the|an?) ")

_BEGINNING = 8
"""Letters of an option by which a reply that was cut off may name it."""

FIRST, SECOND = "first", "second"

Options = tuple[tuple[str, str], ...]
"""Names and texts of options, in the order of their letters."""


def count_replies(replies: pd.DataFrame) -> ReplyCounts:
    """Count answered and unanswered replies; uses the columns `rule`, `reply` and `reason`."""
    lacking = replies["rule"].map(NO_ANSWER)
    counts = {kind: int((lacking == kind).sum()) for kind in NO_ANSWER.values()}
    distinct = replies["reply"].dropna().astype(str).str.strip().nunique()
    cut = cut_reasons(replies["reason"])
    unread = replies.loc[lacking == "unread", "reply"].astype(str)
    some = tuple(unread.unique()[:EXAMPLES])
    return ReplyCounts(
        len(replies), **counts, examples=some, distinct=distinct, free=False, cut=cut
    )


def known_pairs(pairs: Sequence[Sequence[str]]) -> pd.DataFrame:
    """A plan's control pairs as questions: `id, framing, first, second`."""
    rows = [(content_sha256(KNOWN, *pair), KNOWN, *pair) for pair in pairs]
    return pd.DataFrame(rows, columns=["id", "framing", FIRST, SECOND])


def request_of(questions: pd.DataFrame) -> RequestBatch:
    """Both turns of every question (`id, framing, first, second`), each with its own seed."""
    turns = [questions.assign(turn=turn) for turn in (0, 1)]
    rows = pd.concat(turns, ignore_index=True).astype({"turn": "int8"})
    prompts: list[str] = []
    for question in rows.to_dict("records"):
        first, second = question[FIRST], question[SECOND]
        if question["turn"] != 0:
            first, second = second, first
        prompts.append(PROMPT.format(first, second))
    return chat_requests(TABLE, rows[["id", "framing", "turn"]], prompts, NEW_TOKENS)


def question_with_options(question: str, texts: Sequence[str]) -> str:
    """A question with its options by letter, in this order, and what to answer with."""
    letters = OPTION_LETTERS[: len(texts)]
    lettered = zip(letters, texts, strict=True)
    lines = [f"{letter}. {text}" for letter, text in lettered]
    listed = ", ".join(letters[:-1])
    return QUESTION.format(question, "\n".join(lines), f"{listed} or {letters[-1]}")


def request_prompts(questions: pd.DataFrame, new_tokens: int = NEW_TOKENS) -> RequestBatch:
    """Every question (`id, framing, turn, prompt`), each with its own seed."""
    keys = questions[["id", "framing", "turn"]].astype({"turn": "int8"})
    return chat_requests(TABLE, keys, questions["prompt"].tolist(), new_tokens)


def chat_requests(
    table: str, rows: pd.DataFrame, prompts: Sequence[str], new_tokens: int
) -> RequestBatch:
    """Request one reply to each prompt, with a seed made of the columns of `rows` that identify
    it.
    """
    keys = zip(*(rows[name] for name in rows.columns), strict=True)
    hashes = (content_sha256(*map(str, key)) for key in keys)
    seeds = [int(key_hash[:15], 16) for key_hash in hashes]
    inputs: dict[str, Sequence[Any]] = {"prompt": prompts, "seed": seeds}
    return RequestBatch(table, "generate", rows, inputs, {"new_tokens": new_tokens, "chat": True})


def parse_choices(answers: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """`ANSWERS` plus the parsing `rule` and `said`: `FIRST`, `SECOND`, or None if the reply is
    invalid.
    """
    rows = answers.merge(
        questions[["id", "framing", FIRST, SECOND]], on=["id", "framing"], validate="m:1"
    )
    option_lists: list[Options] = []
    for row in rows.to_dict("records"):
        options = ((FIRST, row[FIRST]), (SECOND, row[SECOND]))
        option_lists.append(options if row["turn"] == 0 else options[::-1])
    return _parse_replies(rows, option_lists, [""] * len(rows))


def parse_options(answers: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """`ANSWERS` plus the parsing `rule` and `said`, the name of an option, or None if the reply is
    invalid.

    `questions`: `id, framing, turn, prompt` and `options`, names and texts in the order of their
    letters.
    """
    keys = ["id", "framing", "turn"]
    rows = answers.merge(questions[[*keys, "prompt", "options"]], on=keys, validate="1:1")
    return _parse_replies(rows, rows["options"].tolist(), rows["prompt"].tolist())


def _parse_replies(
    rows: pd.DataFrame, option_lists: Sequence[Options], prompts: Sequence[str]
) -> pd.DataFrame:
    """Replies with the option that each chose, by the options that it had and what it was asked."""
    readings: list[tuple[str | None, str]] = []
    for reply, options, prompt in zip(rows["reply"], option_lists, prompts, strict=True):
        if pd.isna(reply):
            readings.append((None, WITHHELD))
        else:
            readings.append(_parse_choice(reply, options, prompt))
    return rows[[*ANSWERS.names]].join(pd.DataFrame(readings, columns=["said", "rule"]))


def _parse_choice(reply: str, options: Options, prompt: str = "") -> tuple[str | None, str]:
    """The option that a reply chose, and the rule. Replies that contain the beginning of none of
    their texts are parsed once and cached, whatever was asked.
    """
    from evenruler.text.replies import normalise_surface  # compiles patterns that only replies need

    normalised_reply = normalise_surface(reply)
    texts = [_ARTICLE.sub("", normalise_surface(text)) for _, text in options]
    beginnings = [text[:_BEGINNING] for text in texts]
    if not any(beginning in normalised_reply for beginning in beginnings):
        options, prompt = tuple((slug, "") for slug, _ in options), ""
    return _parse_cached_choice(reply, options, prompt)


@lru_cache(maxsize=1024)
def _parse_cached_choice(reply: str, options: Options, prompt: str) -> tuple[str | None, str]:
    """The slug of the option that a reply chose (None if invalid) and the parsing rule; cached,
    since replies repeat.
    """
    from evenruler.text.replies import read_reply

    names = [name for name, _ in options]
    reading = read_reply(reply, dict.fromkeys(names, ()), options, prompt=prompt)
    return reading.outcome, reading.rule


def choice_shares(choices: pd.DataFrame) -> pd.DataFrame:
    """The choice for each pair (`id, framing`) over both turns.

    `share`: share of turns that chose the first sentence, NaN unless both were answered;
    `unanswered`: share of turns without a valid answer.
    """
    chose = choices["said"].map({FIRST: 1.0, SECOND: 0.0})
    by_pair = choices.assign(chose=chose, unanswered=chose.isna()).groupby(
        ["id", "framing"], sort=True
    )
    shares = by_pair.agg(share=("chose", "mean"), unanswered=("unanswered", "mean")).reset_index()
    return shares.assign(share=shares["share"].where(shares["unanswered"] == 0))


def check_known_answers(
    parsed_replies: pd.DataFrame,
    known_counts: tuple[int, int],
    control_label: str = "control pairs are right in both orders",
) -> ValidityCheck:
    """Whether a model answers, and enough known answers are right.

    `parsed_replies`: from `parse_choices`, or `parse_sentences` in `writing`, with control rows;
    `known_counts`: from `known_right` of the same module; `control_label`: what is counted, in
    words.
    """
    control = parsed_replies[parsed_replies["framing"] == KNOWN]
    other_replies = parsed_replies[parsed_replies["framing"] != KNOWN]
    answered = validity_of_replies(count_replies(other_replies))
    if answered != ValidityCheck():
        return answered
    if control.empty:
        return ValidityCheck(doubt="no known answers were asked")
    right, n = known_counts
    if n and wilson(right / n, n)[0] > LEAST:
        return ValidityCheck()
    why = not_read(count_replies(control))  # these may hold the right answers
    if why:
        return ValidityCheck(doubt=f"{why} (control pairs)")
    is_refused = control["rule"].isin(REFUSED).groupby(control["id"]).any()
    n_replied = int((~is_refused).sum())
    could_pass = n_replied and wilson(1.0, n_replied)[0] > LEAST
    if not could_pass:
        few = f"only {n_replied} of {len(is_refused)} known answers were given"
        return ValidityCheck(doubt=few)
    unread = control.loc[control["rule"] == "none", "id"].nunique()
    unread_label = f" (no answer is found in replies to {unread})" if unread else ""
    score_text = f"{right} of {n} {control_label}{unread_label}"
    return ValidityCheck(failure=f"{score_text}; the lower 95% bound must exceed {LEAST:.0%}")


def known_right(choices: pd.DataFrame) -> tuple[int, int]:
    """Number of control pairs right in both turns, and number of those with a reply in both.

    A refusal shows nothing of what a model can tell apart.
    """
    control_rows = choices[choices["framing"] == KNOWN]
    is_refused = control_rows["rule"].isin(REFUSED).groupby(control_rows["id"]).any()
    right = (control_rows["said"] == FIRST).groupby(control_rows["id"]).all()
    return int(right.sum()), int((~is_refused).sum())
