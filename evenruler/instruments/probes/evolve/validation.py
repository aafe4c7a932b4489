"""Extraction of the template from a reply, and formal rules for joining a population, the same for
every operator.

Replies come from a model that may write anything. They are truncated before any other step, and the
reasons for rejecting them are fixed strings, so that they can be counted.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from evenruler.instruments.probes.evolve.population import RewordingRequest, WordGradient
from evenruler.instruments.probes.evolve.word_roles import replace_word, same_role
from evenruler.text import ATTRIBUTE, TARGET
from evenruler.text.english import count_negations, is_english, slot_word_class, tokens

LONGEST, LONGEST_WORD = 2000, 25
"""Most characters that are read of a reply, and most characters of a word."""

RUN: Final = 3
"""Length in words of a sequence that is a loop if it occurs twice."""

COPY: Final = "a copy"

_TASK = re.compile(
    "assistant|chatbot|instructions?|paraphrased?|placeholders?|prompts?|rephrased?|reword(ed)?|rewrit(e|ten)|templates?"
)
"""Words of a reply that talks about the task, or gives orders, instead of rewording."""

_STRAIGHT = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u02bc`\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
)
_EMPHASIS = re.compile(r"[*#~]+|(?<![^\W_])_+|_+(?![^\W_])|\\(?=[{}])")
_BULLET = re.compile(r"\A(?:[-\u2022>]|\d{1,2}[.)])\s+")
_SAID_TO_BE = (
    "anecdote|answer|hypothesis|observation|output|replacement|reply|result|sentence|synonym|"
    "template|version|word"
)
_LABEL = re.compile(
    rf"\A(?:[A-Za-z'-]{{1,20}} ){{0,6}}(?:{_SAID_TO_BE}|feeling|choice)(?: \d)?: ?", re.IGNORECASE
)
_QUOTED = re.compile(r"\"([^\"]*)\"|'(.*)'\Z")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_LAST_WORD = re.compile(rf"(?:.*[^\w'-])?({_WORD.pattern})\Z")
_WITHIN_WORD = re.compile(r"[\w-]\{|\}[\w{-]")
_SENTENCE_END = re.compile(r"[.!?]+[\"')]*(?=\s)")


def read_reply(wish: RewordingRequest, reply: str) -> tuple[str | None, str | None]:
    """Extract the template from a reply.

    It is the first line with content, skipping announcements ("Here it is:") and fences of code
    blocks; bullets, emphasis, labels and surrounding quotes are removed, spaces and quotes
    normalised. Where one word is to be replaced and the line has no slot, the line is a word or a
    list of words, and the first that is neither the old word nor a form of it replaces it.

    Returns:
        The template and None, or None and the reason, a fixed string.
    """
    text = ""
    for line in reply[:LONGEST].translate(_STRAIGHT).splitlines():
        bare = _strip_markup(line)
        if (
            re.search(r"[\w{\[]", bare)
            and not bare.endswith(":")
            and not line.lstrip().startswith(("```", "'''"))
        ):
            text = bare
            break
    if not text:
        return None, "no text"
    if wish.word is None or "{" in text:
        return text, None
    # The first word of the list that is no form of the old one, else the first word.
    entries = [entry.strip(" .!\"'") for entry in re.split(r"[,;/]", text)]
    single_words = [
        entry if entry == "I" else entry.lower() for entry in entries if _WORD.fullmatch(entry)
    ]
    word = next(
        (other for other in single_words if _stem(other) != _stem(wish.word.word)),
        single_words[0] if single_words else None,
    )
    if word is None:
        return None, "no single word and no template"
    return replace_word(wish.parent.text, wish.word.begin, wish.word.word, word), None


def normalise_text(text: str) -> str:
    """A text without differences of case and space, to detect copies."""
    return " ".join(text.casefold().split())


def rejection_reason(
    text: str, wish: RewordingRequest, taken: Collection[str], max_words: int
) -> str | None:
    """The reason, a fixed string, to reject a `text` of `read_reply`, or None; `taken`: texts by
    `fold`.
    """
    parent, word = wish.parent.text, wish.word
    reason = _form_fault(text, parent, max_words)
    if reason:
        return reason
    if normalise_text(text) == normalise_text(parent):
        return "same as the parent"
    if normalise_text(text) in taken:
        return COPY
    if word is not None:
        reason = _replacement_fault(text, parent, word)
        if reason:
            return reason
    if _has_repetition(text) and not _has_repetition(parent):
        return "it repeats itself"
    if count_negations(text) != count_negations(parent):  # keying is inherited
        return "negation changed"
    if word is None:
        return None
    after = parent[word.begin + len(word.word) :]
    if same_role(parent, text, after):
        return None
    return "the new word has another role in the sentence"


def _strip_markup(line: str) -> str:
    """A line without emphasis, bullet, label and quotes around the template."""
    line = " ".join(_EMPHASIS.sub("", line).split())
    line = _LABEL.sub("", _BULLET.sub("", line))
    quoted = _QUOTED.match(line)
    return ((quoted[1] or quoted[2] or "") if quoted else line).strip()


def _form_fault(text: str, parent: str, max_words: int) -> str | None:
    """What is wrong with the form of a template, or None; some faults are allowed where its parent
    has them.
    """
    if (
        len(text) > LONGEST
        or len(text.split()) > max_words
        or any(len(word) > LONGEST_WORD for word in tokens(text))
    ):
        return "too long"
    uses = [
        {slot_word_class(slot, text), slot_word_class(slot, parent)} for slot in (ATTRIBUTE, TARGET)
    ]
    counts = (text.count(ATTRIBUTE), text.count(TARGET))
    bare = text.replace(ATTRIBUTE, " ").replace(TARGET, " ")
    new_words = set(tokens(text)) - set(tokens(parent))
    has_bracket = any(character in "{}[]<>|\\" for character in bare)
    names_slot = not new_words.isdisjoint({"attribute", "attributes", "target", "targets"})
    slots_within_words = set(_WITHIN_WORD.findall(text))
    joins_slot = not slots_within_words <= set(_WITHIN_WORD.findall(parent))
    end = text.rstrip("\"')")[-1:]
    has_task_word = any(map(_TASK.fullmatch, new_words))
    speaks_of_task = has_task_word or "language model" in normalise_text(text)
    rules = (
        ("another slot, brace or tag", has_bracket),
        ("a slot stands twice", max(counts) > 1),
        ("a slot is missing", min(counts) < 1),
        ("the name of a slot as a word", names_slot),
        ("a slot within a word", joins_slot),
        ("no end of a sentence", end not in {".", "!", parent[-1]}),
        ("several sentences", _SENTENCE_END.search(text) is not None),
        ("it speaks of the task", speaks_of_task),
        ("not English", not is_english(text)),
        ("a slot stands for another kind of word", {"noun", "quality"} in uses),
    )
    return next((reason for reason, holds in rules if holds), None)


def _has_repetition(text: str) -> bool:
    """Whether a word occurs twice in a row ("that" three times), or a sequence of `RUN` words
    twice.
    """
    words = tokens(text)
    shifted_words = [words[i:] for i in range(RUN)]
    runs = list(zip(*shifted_words, strict=False))
    has_doubled_word = any(word == after != "that" for word, after in pairwise(words))
    has_loop = len(set(runs)) < len(runs)
    has_single_word_run = any(len(set(run)) == 1 for run in runs)
    return has_doubled_word or has_loop or has_single_word_run


def _replacement_fault(text: str, parent: str, gone: WordGradient) -> str | None:
    """What is wrong with a template in which one word was to be replaced, or None."""
    begin, word = gone.begin, gone.word
    after = parent[begin + len(word) :]
    before = text[: len(text) - len(after)]
    last = _LAST_WORD.match(before) if text.endswith(after) else None
    if last is not None and replace_word(parent, begin, word, last[1]) == text:
        return "another form of the same word" if _stem(last[1]) == _stem(word) else None
    n_left = tokens(text).count(word.lower())
    is_kept = n_left >= tokens(parent).count(word.lower())
    return "the word was left as it was" if is_kept else "more than one word changed"


def _stem(word: str) -> str:
    """A word without the common endings of inflection."""
    return re.sub(r"(?<=\w{3})(?:'s|s|es|ed|d|ing|ly|e)\Z", "", word.lower())
