"""Spelling of what a model reads: characters that no reader sees, letters of two alphabets, words
that look alike.

Texts that look alike may have other tokens, and then a model is asked another question than its
author reads. Sources: general categories and normalisation forms of Unicode (UAX 15); look-alikes
(UTS 39, `confusables.yaml`).
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ruamel.yaml import YAML

ALPHABETS: Final = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Alphabets with letters that look alike, as the names of their letters begin; a word has letters
of one alone."""

_LETTERS: Final = re.compile("(?:[^\\W\\d_]|[\u0300-\u036f])+")
"""Letters and accents in a row."""

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef]"
    "|(?<![\u2190-\u2bff\U0001f000-\U0001faff#*0-9])[\ufe00-\ufe0f]"
)
"""Letters, marks and symbols by category that show nothing; those that choose a form belong behind
a pictogram."""

_FORMS: Final = dict.fromkeys(range(0xFE00, 0xFE10))
"""Characters that choose a form of a pictogram: removed by `str.translate`."""

_KINDS: Final = {
    "Cc": "a control character",
    "Cf": "which no reader sees",
    "Cs": "half of a character",
    "Co": "a character without a meaning",
    "Cn": f"which Unicode {unicodedata.unidata_version} does not have",
    "Zl": "a line break",
    "Zp": "a line break",
    "Zs": "another space than the usual one",
}
"""By category of Unicode: what is wrong with a character that is not printable."""


class Flaw(NamedTuple):
    """What is wrong with a text, and how to mend it."""

    what: str
    remedy: str


def invisible_character_flaw(text: str) -> Flaw | None:
    """The first control or format character of a text, but for line breaks and spaces; None without
    one.
    """
    for place in _not_printable(text):
        is_control = unicodedata.category(text[place])[0] == "C"
        if is_control and text[place] != "\n":
            return _character_flaw(text, place)
    return None


def find_flaw(text: str, *, lines: bool = False) -> Flaw | None:
    """What is wrong with the spelling of a text that a model reads; None where nothing is.

    Refused are: control, format, private and unassigned characters; other spaces than the usual
    one; characters that show nothing; letters that are not composed (NFC); a word with letters of
    two `ALPHABETS`. `lines`: whether it may have line breaks.
    """
    for place in _not_printable(text):
        if text[place] != "\n" or not lines:
            return _character_flaw(text, place)
    if text.isascii():
        return None
    blank = _BLANK.search(text)
    if blank:
        excerpt = _quote_excerpt(text, blank.start())
        what = f"{excerpt} holds {_describe_character(blank[0])}, which shows nothing"
        return Flaw(what, "take it out")
    return _decomposed_letter_flaw(text) or _mixed_alphabet_flaw(text)


def _not_printable(text: str) -> Iterator[int]:
    """Positions of characters that Python does not call printable, in order."""
    if not text.isprintable():
        yield from (place for place, character in enumerate(text) if not character.isprintable())


def _character_flaw(text: str, place: int) -> Flaw:
    """The flaw for a forbidden character at a position, with the remedy for its kind."""
    character = text[place]
    kind = _KINDS[unicodedata.category(character)]
    kind = "a line break" if character in "\r\n" else kind
    remedy = (
        "write a usual space"
        if kind in (_KINDS["Zs"], _KINDS["Zl"]) or character == "\t"
        else "take it out"
    )
    excerpt = _quote_excerpt(text, place)
    return Flaw(f"{excerpt} holds {_describe_character(character)}, {kind}", remedy)


def _decomposed_letter_flaw(text: str) -> Flaw | None:
    """The first letter that is not composed, such as an e with its accent as two characters."""
    composed = unicodedata.normalize("NFC", text)
    if composed == text:
        return None
    place = min(len(text), len(composed)) - 1
    for index, (character, composed_character) in enumerate(zip(text, composed, strict=False)):
        if character != composed_character:
            place = index
            break
    points = " ".join(map(_code_point, text[place : place + 2]))
    what = (
        f"{_quote_excerpt(text, place)} is not composed (NFC): {points} in place of "
        f"{_describe_character(composed[place])}"
    )
    return Flaw(what, "type it anew, or save the file in the form NFC")


def _mixed_alphabet_flaw(text: str) -> Flaw | None:
    """The first letter of another alphabet than that of most letters of its word."""
    for word in _LETTERS.finditer(text):
        counts = Counter(filter(None, map(alphabet, word[0])))
        if len(counts) > 1:
            usual = max(counts, key=lambda name: (counts[name], -ALPHABETS.index(name)))
            odd = next(letter for letter in word[0] if alphabet(letter) not in ("", usual))
            what = (
                f"{word[0]!r} has letters of two alphabets: {_describe_character(odd)} in a word that is "
                f"{usual.capitalize()}"
            )
            return Flaw(what, "type the word anew in one of them")
    return None


@cache
def alphabet(letter: str) -> str:
    """The one of `ALPHABETS` that a letter is of; empty for all else."""
    first = unicodedata.name(letter, "").partition(" ")[0]
    return first if first in ALPHABETS and letter.isalpha() else ""


def fold_text(text: str) -> str:
    """A text as texts are compared: compatible forms, forms of pictograms and cases are one (NFKC,
    casefold).
    """
    compatible = unicodedata.normalize("NFKC", text.translate(_FORMS))
    return unicodedata.normalize("NFKC", compatible.casefold())


@cache
def _look_alike_letters() -> dict[int, str]:
    """From code points of look-alike letters to the letter that each looks like."""
    table = YAML(typ="safe").load(Path(__file__).with_name("confusables.yaml"))
    look_alikes: dict[int, str] = {}
    for other, letters in table.items():
        look_alikes |= {ord(letter): other for letter in letters}
    return look_alikes


def _skeleton(text: str) -> str:
    """A text with one letter for all that look alike, in one case."""
    look_alikes = _look_alike_letters()
    looks = unicodedata.normalize("NFKD", text.translate(_FORMS)).translate(look_alikes)
    return unicodedata.normalize("NFKD", looks.casefold().translate(look_alikes))


def _alphabets(text: str) -> frozenset[str]:
    """Names of the alphabets that a text has letters of."""
    return frozenset(filter(None, map(alphabet, text)))


def find_duplicates(texts: Iterable[str]) -> tuple[str, str] | None:
    """The first two of some texts that are one for a reader; None where every one differs.

    Two are one where they differ in case or in compatible forms (`fold_text`) alone, or are spelled
    in letters of two alphabets that look alike. Letters of one alphabet are never taken for
    another.
    """
    by_form: dict[str, str] = {}
    by_look: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        form = fold_text(text)
        if form in by_form:
            return by_form[form], text
        by_form[form] = text
        looks = by_look[_skeleton(text)]
        for look_alike in looks:
            if _alphabets(look_alike) != _alphabets(text):
                return look_alike, text
        looks.append(text)
    return None


def describe_duplicates(text: str, other: str) -> str:
    """Two texts that `find_duplicates` returned, for messages; the second with escapes, unless they
    differ in case alone.
    """
    if text.casefold() == other.casefold():
        return repr(text)
    return f"{text!r} (also written {other!a})"


def with_capital(words: str) -> str:
    """Capitalise the first letter only."""
    return f"{words[:1].upper()}{words[1:]}"


def _quote_excerpt(text: str, place: int) -> str:
    """A text, cut around a place, as Python writes it, so that what is invisible shows."""
    begin, end = max(0, place - 20), place + 20
    before = "..." if begin else ""
    after = "..." if end < len(text) else ""
    return repr(f"{before}{text[begin:end]}{after}")


def _describe_character(character: str) -> str:
    """A character for messages: its code point, itself if it is a letter, and its Unicode name."""
    name = unicodedata.name(character, "")
    is_letter = character.isprintable() and unicodedata.category(character)[0] == "L"
    shown = f" {character!r}" if is_letter else ""
    named = f" ({name})" if name else ""
    return f"{_code_point(character)}{shown}{named}"


def _code_point(character: str) -> str:
    """The code point as Unicode writes it, with four hex digits or more ("U+00AD")."""
    return f"U+{ord(character):04X}"
