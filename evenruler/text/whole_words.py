"""The project's matcher for whole words in texts.

  - Boundaries: "mother" is not in "smother"; "Aurelia" is in "Aurelia's" and "Aurelia-made". Curly
  and straight apostrophes are equal, as are all runs of white space. The longest of overlapping
  words wins, then the first.
  - Case: a word with a capital is a name and must match its case ("us" is not US, "turkey" not
  Turkey); unless it is an abbreviation, it may be all capitals (TURKEY). A word without capitals
  may be capitalised at the beginning of a sentence (Pears) or be all capitals; elsewhere "Baker" is
  a name, not the occupation.
- Longer names do not match: Mexico in "New Mexico", "Gulf of Mexico" and "Mexico City".
  - Regular plurals of lower-case words and of abbreviations match (pears, CEOs), unless given as
  words of their own. Plurals of names (Aurelians) and irregular plurals (women) are separate words.

`doubtful` returns what these rules reject: other case, longer names, plurals of names.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from evenruler.text.english import regular_plural

_TOKEN = re.compile(r"\s+|\w[\w\u0300-\u036f]*|[^\w\s]")
_JOINED_BEFORE = re.compile(r"\w['\u2019]\Z")  # Connor in O'Connor
_JOINED_AFTER = re.compile(r"['\u2019][tT]\b")  # don in don't
_CAPITAL_BEFORE = re.compile(r"(?<!\w)(\w[\w.]*)(\s+of\s+(?:the\s+)?|\s+|-)\Z", re.IGNORECASE)
_NEXT = re.compile(r"(?:\s+|-)(?!I\b)(\w)")

_OPENING = " \t\r\n\f\v\u00a0\"'()[]*-\u00ab\u00bb\u2013\u2014\u2018\u2019\u201c\u201d\u2022"
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Sen|Gov|No|vs|cf|ca|e\.g|i\.e)|\b[A-Z])\.\Z"
)
_NAMING = (
    "new north south east west northern southern eastern western upper lower great nazi soviet "
    "vichy weimar imperial "
    "saint st mr mrs ms dr sir lord lady king queen prince princess emperor president "
)
"""Words that are part of the name that follows, even at the beginning of a sentence."""


FORMS = ""  # key of a node whose path ends a word; its value lists (written form, word) pairs


class Match(NamedTuple):
    """An occurrence of a word: its characters (`end` exclusive), and whether it is the plural."""

    begin: int
    end: int
    word: str  # as given, with single spaces
    plural: bool


def find_words(text: str, words: Iterable[str]) -> list[Match]:
    """All non-overlapping occurrences of words in a text, left to right."""
    return cached_finder(tuple(words)).matches(text)


def collapse_spaces(word: str) -> str:
    """The word with single spaces and none at its ends."""
    return " ".join(word.split())


def begins_sentence(text: str, begin: int) -> bool:
    """Whether a sentence begins at a position, judged by punctuation and known abbreviations."""
    before = text[:begin].rstrip(_OPENING)
    between = text[len(before) : begin]
    if not before or between.count("\n") > 1:
        return True
    return (
        before[-1] in ".!?\u2026"
        and any(map(str.isspace, between))
        and not _ABBREVIATION.search(before[-8:])
    )


class Finder:
    """Finds words with a trie: time grows with the text, not with the number of words.

    `cached_finder` caches instances.

    `plurals`: the words whose plural is searched for too.
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Build the trie of the words and their regular plurals; spaces are collapsed, repeats
        dropped.
        """
        distinct_words = sorted({collapse_spaces(word) for word in words} - {""})
        folded_words = {word.casefold() for word in distinct_words}
        self._root: dict[str, Any] = {}  # a trie over tokens
        self.plurals: list[str] = []
        for word in distinct_words:
            self._add(word, word)
            plural = regular_plural(word)
            if plural and plural.casefold() not in folded_words:
                self._add(plural, word)
                self.plurals.append(word)

    def matches(self, text: str) -> list[Match]:
        """The certain occurrences, as by `find_words`."""
        return [match for match, sure in self._select_matches(text) if sure]

    def doubtful(self, text: str) -> list[Match]:
        """Occurrences in another case, in a longer name, or as the plural of a name."""
        return [match for match, sure in self._select_matches(text) if not sure]

    def all_matches(self, text: str) -> list[Match]:
        """Certain and doubtful occurrences, left to right."""
        return [match for match, _ in self._select_matches(text)]

    def _add(self, written: str, word: str) -> None:
        """Add a form to the trie; `written`: what is searched for, such as a plural; `word`: the
        word it stands for.
        """
        node = self._root
        for token in _TOKEN.findall(written):
            node = node.setdefault(_token_key(token), {})
        node.setdefault(FORMS, []).append((written, word))

    def _select_matches(self, text: str) -> list[tuple[Match, bool]]:
        """All non-overlapping occurrences, and whether each is certain."""

        def longest_first(occurrence: tuple[Match, bool]) -> tuple[int, int, bool]:
            """Sort key: the longest occurrence first, then the leftmost, then a certain one."""
            match, sure = occurrence
            return match.begin - match.end, match.begin, not sure

        seen = sorted(self._find_matches(text), key=longest_first)
        taken = bytearray(len(text))
        occurrences = []
        for match, sure in seen:
            if not any(taken[match.begin : match.end]):
                taken[match.begin : match.end] = b"\1" * (match.end - match.begin)
                occurrences.append((match, sure))
        return sorted(occurrences)

    def _find_matches(self, text: str) -> Iterator[tuple[Match, bool]]:
        """All occurrences, overlapping ones too, and whether each is certain or only doubtful."""
        tokens: list[tuple[int, int, str]] = []
        for match in _TOKEN.finditer(text):
            tokens.append((match.start(), match.end(), _token_key(match[0])))
        for first, (begin, _, _) in enumerate(tokens):
            node = self._root
            for _, end, key in tokens[first:]:
                node = node.get(key, {})
                if not node:
                    break
                for written, word in node.get(FORMS, ()):
                    if not _is_whole(text, begin, end):
                        continue
                    # Abbreviations must match exactly; other words are matched in any case and
                    # judged below.
                    text_form, is_exact = text[begin:end], _is_abbreviation(written)
                    if is_exact and _normalise_form(text_form) != _normalise_form(written):
                        continue
                    is_plural = written != word
                    of_name = is_plural and not word.islower() and not _is_abbreviation(word)
                    sure = (
                        not of_name
                        and _is_cased(text, begin, end, written)
                        and not _in_longer_name(text, begin, end, word)
                    )
                    yield Match(begin, end, word, is_plural), sure


@lru_cache(maxsize=1024)
def cached_finder(words: tuple[str, ...]) -> Finder:
    """The cached finder for a set of words."""
    return Finder(words)


def _token_key(token: str) -> str:
    """The key of a token in the trie: folded in case, all white space as one space."""
    return " " if token.isspace() else _normalise_form(token).casefold()


def _normalise_form(text: str) -> str:
    """A text with composed letters (NFC), straight apostrophes, and single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    return collapse_spaces(text)


def _is_whole(text: str, begin: int, end: int) -> bool:
    """Whether the characters from `begin` to `end` (exclusive) are a whole word: next to them is no
    letter or digit, nor an apostrophe as in "O'Connor" and "don't".
    """
    before = text[begin - 1 : begin]
    after = text[end : end + 1]
    if (_in_word(before) and _in_word(text[begin])) or _in_word(after):
        return False
    if _JOINED_BEFORE.search(text[max(0, begin - 2) : begin]):
        return False
    return not _JOINED_AFTER.match(text, end)


def _in_word(character: str) -> bool:
    """Whether a character is part of a word: letter, digit, underscore or combining accent."""
    return character.isalnum() or character == "_" or "\u0300" <= character <= "\u036f"


def _is_abbreviation(word: str) -> bool:
    """Whether a word is all capitals but for a plural s, with two characters or more (US, CEOs)."""
    return (
        len(word) > 1
        and any(map(str.isupper, word))
        and not any(map(str.islower, word.removesuffix("s")))
    )


def _is_cased(text: str, begin: int, end: int, word: str) -> bool:
    """Whether the text from `begin` to `end` is in a case that `word` may have there, by the rules
    of this module.
    """
    text_form, written = _normalise_form(text[begin:end]), _normalise_form(word)
    if text_form == written:
        return True
    if text_form.isupper() and sum(map(str.isalpha, text_form)) > 1:
        return True
    differs_in_first = written[0].islower() and text_form[1:] == written[1:]
    return differs_in_first and begins_sentence(text, begin)


def _in_longer_name(text: str, begin: int, end: int, word: str) -> bool:
    """Whether a capitalised word before or after makes the occurrence a part of a longer name ("New
    Mexico").
    """
    text_form = text[begin:end]
    if text_form.islower() or (text_form.isupper() and not _is_abbreviation(word)):
        return False
    after = _NEXT.match(text, end)
    if after and after[1].isupper():
        return True
    far = max(0, begin - 60)  # characters searched for the rest of a name
    before = None if begins_sentence(text, begin) else _CAPITAL_BEFORE.search(text[far:begin])
    if before is None:
        return False
    word_before = before[1]
    if not word_before[0].isupper() or word_before == "I":
        return False
    # A name with its own article, such as the United States.
    if before[2].isspace() and text_form[0].islower():
        return False
    if before[2] == "-" or not begins_sentence(text, far + before.start()):
        return True
    title = word_before.rstrip(".").lower()
    return before[2].isspace() and title in _NAMING.split()
