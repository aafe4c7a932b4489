"""Words of a template that may be taken out or replaced."""

import re
from itertools import pairwise

from evenruler.text.inflection import article_for

_RUN = re.compile(r"(?:\w|\{[^{}]*\})+(?:['\u2019-](?:\w|\{[^{}]*\})+)*")
"""A word, a number or a slot with whatever is written together with it."""

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")

_GAP = r"\s+[\"'\u201c\u2018(]*"
"""What may stand between an article and its word."""

_TO_SLOT = re.compile(_GAP)
_ARTICLE = re.compile(rf"(?<![\w'\u2019-])(?P<article>[Aa]n?)(?P<gap>{_GAP})$")

_PAUSES, _ENDS = ",;:", ".!?"


def words_of(text: str) -> list[tuple[int, str]]:
    """The words of a template that may be taken out or replaced.

    A word is a run of letters with inner apostrophes or hyphens. What is written together with a slot ("{TARGET}'s")
    or with digits is none, and an article before a slot goes with its slot.

    Args:
        text: With its slots.

    Returns:
        Where each begins, and the word, in order.
    """
    runs = list(_RUN.finditer(text))
    of_slots = {
        run.start()
        for run, following in pairwise(runs)
        if run[0].lower() in ("a", "an", "the")
        and "{" in following[0]
        and _TO_SLOT.fullmatch(text, run.end(), following.start())
    }
    return [(run.start(), run[0]) for run in runs if _WORD.fullmatch(run[0]) and run.start() not in of_slots]


def without(text: str, begin: int, word: str) -> str:
    """A template with one word taken out, so that a sentence is left.

    The space beside it goes too, and a comma that would stand before another mark or at the beginning; where it was
    the first word its capital passes on; an article before it takes the form that the word after it asks for (a slot
    gets that when it is filled).

    Args:
        text: With its slots.
        begin: Where the word begins.
        word: The word.

    Raises:
        ValueError: The word does not stand there.
    """
    before, after = _around(text, begin, word)
    head, tail = before.rstrip(), after.lstrip()
    if not _RUN.search(before):
        tail = tail.lstrip(_PAUSES).lstrip()
        return head + (_capital(tail) if word[0].isupper() else tail)
    following = _RUN.match(tail)
    if following and "{" not in following[0]:
        head = _agreeing(before, following[0]).rstrip()
    if head[-1] in _PAUSES and tail[:1] and tail[0] in _PAUSES + _ENDS:
        head = head[:-1]
    apart = before[-1].isspace() and after[:1].isspace()
    return f"{head} {tail}".rstrip() if apart else head + tail


def replaced(text: str, begin: int, word: str, new: str) -> str:
    """A template with one word replaced.

    A first word keeps its capital; an article before the word takes the form that the new one asks for.

    Args:
        text: With its slots.
        begin: Where the word begins.
        word: The word.
        new: What takes its place; as it is, but for the capital.

    Raises:
        ValueError: The word does not stand there.
    """
    before, after = _around(text, begin, word)
    if not _RUN.search(before) and word[0].isupper():
        new = _capital(new)
    return _agreeing(before, new) + new + after


def _around(text: str, begin: int, word: str) -> tuple[str, str]:
    """What stands before a word and what after it."""
    end = begin + len(word)
    if not word or text[begin:end] != word:
        raise ValueError(f"{word!r} does not stand at {begin} of {text!r}")
    return text[:begin], text[end:]


def _agreeing(before: str, word: str) -> str:
    """What stands before a word, an article at its end in the form that the word asks for."""
    found = _ARTICLE.search(before)
    if not found:
        return before
    right = article_for(word)
    if found["article"][0] == "A":
        if _RUN.search(before, 0, found.start()):  # within a sentence it is no article: vitamin A
            return before
        right = right.capitalize()
    return before[: found.start()] + right + found["gap"]


def _capital(text: str) -> str:
    """A text whose first word has a capital; slots get theirs when they are filled."""
    first = _RUN.search(text)
    if not first:
        return text
    begin = first.start()
    return text[:begin] + text[begin].upper() + text[begin + 1 :]
