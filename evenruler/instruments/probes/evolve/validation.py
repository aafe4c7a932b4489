"""The template in a reply, and whether it may join a population: rules of form, the same for every operator.

Replies come from a model that may write anything. They are cut before anything else looks at them, and what is wrong
with them is said in fixed words, so that reasons can be counted.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from evenruler.instruments.probes.evolve.population import Wish
from evenruler.instruments.probes.evolve.words import replaced, same_role
from evenruler.text import ATTRIBUTE, TARGET
from evenruler.text.english import is_english, negations, tokens, use_of

LONGEST: Final = 2000
"""Characters of a reply that are read."""

LONGEST_WORD: Final = 25
"""Letters of a word."""

RUN: Final = 3
"""So many words in a row that stand twice are a loop."""

NO_TEXT = "no text"
NO_WORD = "no single word and no template"
TOO_LONG = "too long"
UNFINISHED = "no end of a sentence"
SEVERAL = "several sentences"
SLOT_MISSING = "a slot is missing"
SLOT_TWICE = "a slot stands twice"
OTHER_SLOT = "another slot, brace or tag"
SLOT_NAME = "the name of a slot as a word"
SLOT_IN_WORD = "a slot within a word"
OTHER_USE = "a slot stands for another kind of word"
TASK = "it speaks of the task"
NOT_ENGLISH = "not English"
SAME = "same as the parent"
COPY = "a copy"
WORD_STAYS = "the word was left as it was"
MORE_CHANGED = "more than one word changed"
SAME_STEM = "another form of the same word"
OTHER_ROLE = "the new word has another role in the sentence"
NEGATION = "negation changed"
REPEATS = "it repeats itself"

REASONS: Final = (
    *(NO_TEXT, NO_WORD, TOO_LONG, SLOT_MISSING, SLOT_TWICE, OTHER_SLOT, SLOT_NAME, SLOT_IN_WORD, UNFINISHED, SEVERAL),
    *(TASK, NOT_ENGLISH, OTHER_USE, SAME, COPY, WORD_STAYS, MORE_CHANGED, SAME_STEM, NEGATION, REPEATS, OTHER_ROLE),
)
"""All that `read_reply` and `refusal` say."""

TASK_WORDS: Final = frozenset(
    (
        *("assistant", "chatbot", "instruction", "instructions", "paraphrase", "paraphrased", "placeholder"),
        *("placeholders", "prompt", "prompts", "rephrase", "rephrased", "reword", "reworded", "rewrite", "rewritten"),
        *("template", "templates"),
    )
)
"""Words of somebody who speaks of the task, or gives orders, instead of rewording."""

_STRAIGHT = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u02bc`\u00b4", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
)
_EMPHASIS = re.compile(r"[*#~]+|(?<![^\W_])_+|_+(?![^\W_])|\\(?=[{}])")
_BULLET = re.compile(r"(?:[-\u2022>]|\d{1,2}[.)])\s+")
_SAID_TO_BE = (
    "anecdote|answer|hypothesis|observation|output|replacement|reply|result|sentence|synonym|template|version|word"
)
_LABEL = re.compile(rf"(?:[A-Za-z'-]{{1,20}} ){{0,6}}(?:{_SAID_TO_BE}|feeling|choice)(?: \d)?: ?", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]*)\"|'(.*)'\Z")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_LAST_WORD = re.compile(rf"(?:.*[^\w'-])?({_WORD.pattern})\Z")
_NAMES = frozenset({"attribute", "attributes", "target", "targets"})
_SLOTS = re.compile(f"{re.escape(ATTRIBUTE)}|{re.escape(TARGET)}")
SLOTS = (ATTRIBUTE, TARGET)
_WITHIN_WORD = re.compile(r"[\w-]\{|\}[\w{-]")
_SENTENCE_END = re.compile(r"[.!?]+[\"')]*(?=\s)")


def read_reply(wish: Wish, reply: str) -> tuple[str | None, str | None]:
    """The template that a reply holds.

    It is the first line that says something, a line that announces it ("Here it is:") and the fence of a code block
    left out; without bullets, emphasis, labels and quotes around it, single spaces, straight quotes. Where one word is
    to be replaced and there is no slot in the line, the line is one word or a list of words, and the first that is
    neither the old word nor a form of it is put in its place.

    Returns:
        The template and None, or None and why there is none, one of `REASONS`.
    """
    text = ""
    for line in reply[:LONGEST].translate(_STRAIGHT).splitlines():
        bare = _bare(line)
        if re.search(r"[\w{\[]", bare) and not bare.endswith(":") and not line.lstrip().startswith(("```", "'''")):
            text = bare
            break
    if not text:
        return None, NO_TEXT
    if wish.word is None or "{" in text:
        return text, None
    # The first entry of a list that is a word, and another one; the first word where all are forms of the same.
    entries = [entry.strip(" .!\"'") for entry in re.split(r"[,;/]", text)]
    found = [entry if entry == "I" else entry.lower() for entry in entries if _WORD.fullmatch(entry)]
    word = next((other for other in found if _stem(other) != _stem(wish.word.word)), found[0] if found else None)
    return (replaced(wish.parent.text, wish.word.begin, wish.word.word, word), None) if word else (None, NO_WORD)


def fold(text: str) -> str:
    """A text as copies are told: case and space do not count."""
    return " ".join(text.casefold().split())


def refusal(text: str, wish: Wish, taken: Collection[str], max_words: int) -> str | None:
    """The first of `REASONS` why a template may not join the population, None where it may.

    `text`: by `read_reply`; `taken`: texts that it may not repeat, by `fold`; a slot counts as a word of `max_words`.
    """
    reason = _shape(text, wish.parent.text, max_words)
    if reason is None and fold(text) == fold(wish.parent.text):
        reason = SAME
    if reason is None and fold(text) in taken:
        reason = COPY
    if reason is None:
        reason = _rewording(text, wish.parent.text) if wish.word is None else _replacement(text, wish)
    if reason is None and negations(text) != negations(wish.parent.text):
        reason = NEGATION  # keying is inherited
    if reason is None and wish.word is not None:
        after = wish.parent.text[wish.word.begin + len(wish.word.word) :]
        reason = None if same_role(wish.parent.text, text, after) else OTHER_ROLE
    return reason


def _bare(line: str) -> str:
    """A line without what stands around a template."""
    line = " ".join(_EMPHASIS.sub("", line).split())
    line = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
    if label := _LABEL.match(line):
        line = line[label.end() :]
    if quoted := _QUOTED.match(line):
        line = quoted[1] or quoted[2] or ""
    return line.strip()


def _shape(text: str, parent: str, max_words: int) -> str | None:
    """What is wrong with a template as such; what its parent has may stay."""
    if len(text) > LONGEST or len(text.split()) > max_words or any(len(word) > LONGEST_WORD for word in tokens(text)):
        return TOO_LONG
    counts = (text.count(ATTRIBUTE), text.count(TARGET))
    bare = _SLOTS.sub(" ", text)
    own = set(tokens(text)) - set(tokens(parent))
    rules = (
        (OTHER_SLOT, any(character in "{}[]<>|\\" for character in bare)),
        (SLOT_TWICE, max(counts) > 1),
        (SLOT_MISSING, min(counts) < 1),
        (SLOT_NAME, not own.isdisjoint(_NAMES)),
        (SLOT_IN_WORD, not set(_WITHIN_WORD.findall(text)) <= set(_WITHIN_WORD.findall(parent))),
        (UNFINISHED, text.rstrip("\"')")[-1:] not in {".", "!", parent[-1]}),
        (SEVERAL, _SENTENCE_END.search(text) is not None),
        (TASK, "language model" in fold(text) or not own.isdisjoint(TASK_WORDS)),
        (NOT_ENGLISH, not is_english(text)),
        (OTHER_USE, any({use_of(slot, text), use_of(slot, parent)} == {"noun", "quality"} for slot in SLOTS)),
    )
    return next((reason for reason, holds in rules if holds), None)


def _rewording(text: str, parent: str) -> str | None:
    """What is wrong with a whole that was reworded."""
    return REPEATS if _loops(text) and not _loops(parent) else None


def _loops(text: str) -> bool:
    """Whether a word stands twice side by side ("that" thrice), or `RUN` words in a row stand twice."""
    found = tokens(text)
    runs = list(zip(*(found[i:] for i in range(RUN)), strict=False))
    twice = any(word == after != "that" for word, after in pairwise(found))
    return twice or len(set(runs)) < len(runs) or any(len(set(run)) == 1 for run in runs)


def _replacement(text: str, wish: Wish) -> str | None:
    """What is wrong with a template in which one word is to be another."""
    assert wish.word is not None
    parent, begin, word = wish.parent.text, wish.word.begin, wish.word.word
    after = parent[begin + len(word) :]
    last = _LAST_WORD.match(text[: len(text) - len(after)]) if text.endswith(after) else None
    if last is None or replaced(parent, begin, word, last[1]) != text:
        return WORD_STAYS if tokens(text).count(word.lower()) >= tokens(parent).count(word.lower()) else MORE_CHANGED
    return SAME_STEM if _stem(last[1]) == _stem(word) else _rewording(text, parent)


def _stem(word: str) -> str:
    """A word without the common endings of inflection."""
    return re.sub(r"(?<=\w{3})(?:'s|s|es|ed|d|ing|ly|e)\Z", "", word.lower())
