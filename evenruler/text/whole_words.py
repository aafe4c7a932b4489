"""Words in texts, as whole words: the one matcher of the house.

- "mother" is not in "smother"; "Aurelia" is in "Aurelia's" and in "Aurelia-made". Apostrophes of both kinds are one,
  and so is any run of white space between the words of one. Of words that overlap the longest counts, of equally long
  ones the first.
- Capitals: a word that has one is a name and stands for itself ("us" is no US, "turkey" no Turkey); a name that is no
  abbreviation may be in capitals throughout (TURKEY). A word without capitals may begin a sentence (Pears) or be in
  capitals; elsewhere "Baker" is a name and no baker.
- A name inside a longer one is another name: Mexico in "New Mexico", "Gulf of Mexico" and "Mexico City".
- The regular plural of a word without capitals and of an abbreviation (pears, CEOs), unless it is a word given; that
  of a name is another word (Aurelians). Irregular plurals (women) are words of their own.

What these rules pass over is `doubtful`: other cases, longer names, plurals of names.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from evenruler.text.inflection import regular_plural

_TOKEN = re.compile(r"\s+|\w[\w\u0300-\u036f]*|[^\w\s]")
_JOINED_BEFORE = re.compile(r"\w['\u2019]\Z")  # the Connor of O'Connor
_JOINED_AFTER = re.compile(r"['\u2019][tT]\b")  # the don of don't
_CAPITAL_BEFORE = re.compile(r"(?<!\w)(\w[\w.]*)(\s+of\s+(?:the\s+)?|\s+|-)\Z", re.IGNORECASE)
_NEXT = re.compile(r"(?:\s+|-)(?!I\b)(\w)")

_OPENING = " \t\r\n\f\v\u00a0\"'()[]*-\u00ab\u00bb\u2013\u2014\u2018\u2019\u201c\u201d\u2022"
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Sen|Gov|No|vs|cf|ca|e\.g|i\.e)|\b[A-Z])\.\Z")
_NAMING = (
    "new north south east west northern southern eastern western upper lower great nazi soviet vichy weimar imperial "
    "saint st mr mrs ms dr sir lord lady king queen prince princess emperor president "
)
"""Words that are part of the name behind them where they begin a sentence, as most words before a name are not."""


FORMS = ""  # in the place of a token: what ends here, how it is written and the word that it is of


class Match(NamedTuple):
    """A word in a text: its place (characters, `end` exclusive), and whether its plural stands there."""

    begin: int
    end: int
    word: str  # as it was given, in single spaces
    plural: bool


def find(text: str, words: Iterable[str]) -> list[Match]:
    """The places of words in a text, left to right, none over another."""
    return finder(tuple(words)).matches(text)


def spaced(word: str) -> str:
    """A word with single spaces, none at its ends."""
    return " ".join(word.split())


def begins_sentence(text: str, begin: int) -> bool:
    """Whether a sentence begins at a place, as far as marks and abbreviations tell."""
    before = text[:begin].rstrip(_OPENING)
    between = text[len(before) : begin]
    if not before or between.count("\n") > 1:
        return True
    return before[-1] in ".!?\u2026" and any(map(str.isspace, between)) and not _ABBREVIATION.search(before[-8:])


class Finder:
    """Finds words in time that grows with the text and not with their number; `finder` keeps those that were made.

    `plurals`: the words whose plural is looked for too.
    """

    def __init__(self, given: Sequence[str]) -> None:
        words = sorted({spaced(word) for word in given} - {""})
        known = {word.casefold() for word in words}
        self._root: dict[str, Any] = {}  # a trie over tokens
        self.plurals: list[str] = []
        for word in words:
            self._add(word, word)
            plural = regular_plural(word)
            if plural and plural.casefold() not in known:
                self._add(plural, word)
                self.plurals.append(word)

    def matches(self, text: str) -> list[Match]:
        """What `find` gives."""
        return [match for match, sure in self._apart(text) if sure]

    def doubtful(self, text: str) -> list[Match]:
        """The places where words stand in another case, in a longer name or as the plural of a name."""
        return [match for match, sure in self._apart(text) if not sure]

    def anywhere(self, text: str) -> list[Match]:
        """Both, left to right."""
        return [match for match, _ in self._apart(text)]

    def _add(self, written: str, word: str) -> None:
        node = self._root
        for token in _TOKEN.findall(written):
            node = node.setdefault(_key(token), {})
        node.setdefault(FORMS, []).append((written, word))

    def _apart(self, text: str) -> list[tuple[Match, bool]]:
        """All that stands there, none over another, and whether it is the word for sure."""
        seen = sorted(self._seen(text), key=lambda one: (one[0].begin - one[0].end, one[0].begin, not one[1]))
        taken = bytearray(len(text))
        kept = []
        for match, sure in seen:
            if not any(taken[match.begin : match.end]):
                taken[match.begin : match.end] = b"\1" * (match.end - match.begin)
                kept.append((match, sure))
        return sorted(kept)

    def _seen(self, text: str) -> Iterator[tuple[Match, bool]]:
        tokens = [(found.start(), found.end(), _key(found[0])) for found in _TOKEN.finditer(text)]
        for first, (begin, _, _) in enumerate(tokens):
            node = self._root
            for _, end, key in tokens[first:]:
                node = node.get(key, {})
                if not node:
                    break
                for written, word in node.get(FORMS, ()):
                    said, short = text[begin:end], _is_abbreviation(written)
                    # Abbreviations are looked for as they are written; of other words any case is of interest.
                    if not _is_whole(text, begin, end) or (short and _one_form(said) != _one_form(written)):
                        continue
                    of_name = written != word and not word.islower() and not _is_abbreviation(word)
                    sure = _is_cased(text, begin, end, written) and not _in_longer_name(text, begin, end, word)
                    yield Match(begin, end, word, written != word), sure and not of_name


@lru_cache(maxsize=1024)
def finder(words: tuple[str, ...]) -> Finder:
    """The finder of words, made once."""
    return Finder(words)


def _key(token: str) -> str:
    return " " if token.isspace() else _one_form(token).casefold()


def _one_form(text: str) -> str:
    return spaced(text if text.isascii() else unicodedata.normalize("NFC", text).replace("\u2019", "'"))


def _is_whole(text: str, begin: int, end: int) -> bool:
    before, after = text[begin - 1 : begin], text[end : end + 1]
    if (_in_word(before) and _in_word(text[begin])) or _in_word(after):
        return False
    return not _JOINED_BEFORE.search(text[max(0, begin - 2) : begin]) and not _JOINED_AFTER.match(text, end)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or "\u0300" <= character <= "\u036f"


def _is_abbreviation(word: str) -> bool:
    return len(word) > 1 and any(map(str.isupper, word)) and not any(map(str.islower, word.removesuffix("s")))


def _is_cased(text: str, begin: int, end: int, word: str) -> bool:
    said, written = _one_form(text[begin:end]), _one_form(word)
    if said == written or (said.isupper() and sum(map(str.isalpha, said)) > 1):
        return True
    return said[1:] == written[1:] and written[0].islower() and begins_sentence(text, begin)


def _in_longer_name(text: str, begin: int, end: int, word: str) -> bool:
    said = text[begin:end]
    if said.islower() or (said.isupper() and not _is_abbreviation(word)):
        return False
    after = _NEXT.match(text, end)
    if after and after[1].isupper():
        return True
    far = max(0, begin - 60)  # as far as is looked for the rest of a name
    before = None if begins_sentence(text, begin) else _CAPITAL_BEFORE.search(text[far:begin])
    if before is None or not before[1][0].isupper() or before[1] == "I":
        return False
    if before[2].isspace() and said[0].islower():  # a name with its own article, the United States
        return False
    if before[2] == "-" or not begins_sentence(text, far + before.start()):
        return True
    return before[2].isspace() and before[1].rstrip(".").lower() in _NAMING.split()
