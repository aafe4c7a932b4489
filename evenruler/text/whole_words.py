"""Words in texts, as whole words.

- Whatever their case: "mother" is not in "smother", "Aurelian" is in "Aurelian-made" and "Aurelian's". A word written
  in capitals (US, WHO) is an abbreviation and found in capitals only, so that "us" is not one.
- Of words that overlap the longest, of equally long ones the first. Any run of white space may part the words of one.
- The plural of a word, if it is regular and no word itself. Irregular plurals (women) are words of their own.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from evenruler.text.plurals import regular_plural

_BEFORE = r"(?<!\w)(?<!\w['\u2019])"  # no part of a word, nor the Connor of O'Connor
_AFTER = r"(?![\w\u0300-\u036f]|['\u2019][tT]\b)"  # nor the don of don't


class Match(NamedTuple):
    """A word in a text: its place (characters, `end` exclusive), and whether its plural stands there."""

    begin: int
    end: int
    word: str
    plural: bool


def find(text: str, words: Iterable[str]) -> list[Match]:
    """The places of words in a text, left to right, none over another; `word` is as it was given, in single spaces."""
    return finder(tuple(words)).matches(text)


def spaced(word: str) -> str:
    """A word with single spaces, none at its ends."""
    return " ".join(word.split())


class Finder:
    """Finds words by one pattern; `finder` keeps those that were made."""

    def __init__(self, given: Sequence[str]) -> None:
        words = sorted({spaced(word) for word in given})
        known = {word.casefold() for word in words}
        derived = [(plural, word, True) for word in words if (plural := regular_plural(word))]
        forms = [(word, word, False) for word in words]
        forms += [form for form in derived if form[0].casefold() not in known]
        forms.sort(key=lambda form: -len(form[0]))
        bodies = [_body(written, word) for written, word, _ in forms]
        self.forms = [(word, plural) for _, word, plural in forms]
        # Looked at without being consumed, so that words that overlap are all seen.
        groups = "|".join(f"({body})" for body in bodies) or r"(?!)"
        self._any = re.compile(f"{_BEFORE}(?=(?:{groups}){_AFTER})", re.IGNORECASE)
        self._each = [re.compile(f"{_BEFORE}{body}{_AFTER}", re.IGNORECASE) for body in bodies]

    def matches(self, text: str) -> list[Match]:
        """What `find` gives."""
        kept: list[Match] = []
        for seen in self._any.finditer(text):
            number = seen.lastindex or 0  # never none: every alternative is a group
            match = Match(*seen.span(number), *self.forms[number - 1])
            if not kept or kept[-1].end <= match.begin:
                kept.append(match)
            elif kept[-1].end - kept[-1].begin < match.end - match.begin:
                return self._longest(text)
        return kept

    def _longest(self, text: str) -> list[Match]:
        found = [
            Match(*match.span(), *form)
            for pattern, form in zip(self._each, self.forms, strict=True)
            for match in pattern.finditer(text)
        ]
        taken = bytearray(len(text))
        kept = []
        for match in sorted(found, key=lambda match: (match.begin - match.end, match.begin)):
            if not any(taken[match.begin : match.end]):
                taken[match.begin : match.end] = b"\1" * (match.end - match.begin)
                kept.append(match)
        return sorted(kept)


@lru_cache(maxsize=1024)
def finder(words: tuple[str, ...]) -> Finder:
    """The finder of words, made once."""
    return Finder(words)


def _body(written: str, word: str) -> str:
    body = re.sub(r"['\u2019]", r"['\\u2019]", r"\s+".join(re.escape(part) for part in written.split()))
    return f"(?-i:{body})" if len(word) > 1 and word.isupper() else body
