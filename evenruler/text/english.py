"""English or another language, negations, and what slots stand for.

`is_english` uses word lists and works for a single sentence with slots; `in_another` uses a classifier and works for
longer replies in any expected language.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML


def with_capital(words: str) -> str:
    """Capitalise the first letter only."""
    return f"{words[:1].upper()}{words[1:]}"


_LISTS: Mapping[str, str] = YAML(typ="safe").load(Path(__file__).with_name("english.yaml"))


def _set(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


FUNCTION_WORDS: Final = _set("function-words")  # frequent grammatical words, independent of topic

FOREIGN_WORDS: Final = _set("foreign-words")
"""Function words of German, French, Spanish, Italian, Portuguese and Dutch that are not common in English."""

LEAST_SHARE: Final = 0.2  # function words minus foreign ones, as a share of all words; about half in English prose

NEGATIONS: Final = _set("negations")
"""Words that reverse a sentence's meaning or say that something is unusual; "n't" counts too. Not complete ("far
from")."""

_BEFORE_NOUNS = _set("before-nouns")
_BEFORE_QUALITIES = _set("before-qualities")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SLOT = re.compile(r"\{[^{}]*\}")
_MARKS = frozenset("\u2013\u2014\u2026\u00a3\u20ac")  # dashes, ellipsis, currencies; every other mark must be ASCII


def tokens(text: str) -> list[str]:
    """The words of a text, lower-cased, in order with repeats, without slots; apostrophes must be straight."""
    return [word.lower() for word in _WORD.findall(_SLOT.sub(" ", text))]


def is_english(text: str) -> bool:
    """Whether a text is plausibly English.

    Its letters must be Latin, its marks common ones, and function words minus foreign words at least `LEAST_SHARE` of
    its words, slots left out. A text without words is not English.
    """
    others = {character for character in text if not character.isascii()} - _MARKS
    if not all(unicodedata.name(character, "").startswith("LATIN ") for character in others):
        return False
    found = tokens(text)
    share = sum((word in FUNCTION_WORDS) - (word in FOREIGN_WORDS) for word in found)
    return bool(found) and share >= LEAST_SHARE * len(found)


SURE, WORDS_TO_TELL = 0.9, 10
"""Classifier probability and number of words above which a text counts as another language. On short lists of dishes or
names, language identifiers are often wrong with high confidence."""

_COUNTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+")
"""One word; in scripts without spaces, one letter."""


def in_another(texts: Sequence[str], language: str) -> NDArray[np.bool_]:
    """Whether each text, of at least ten words, is in another language, with probability above .9.

    For English, also texts mostly in non-Latin letters. `language`: a two-letter code such as "en"; if the classifier
    does not know it, every value is False.
    Source: py3langid (Barbaresi), of langid.py (Lui & Baldwin, 2012): a naive Bayes classifier of byte n-grams.
    """
    identifier, found = _identifier(), np.zeros(len(texts), dtype=bool)
    for place, text in enumerate(texts if language in identifier.labels else ()):
        if len(_COUNTED.findall(text)) >= WORDS_TO_TELL:
            name, share = identifier.classify(text)
            letters = [character for character in text if character.isalpha()]
            foreign = sum(not unicodedata.name(character, "").startswith("LATIN") for character in letters)
            other_script = language == "en" and 2 * foreign > len(letters)
            found[place] = name != language and (share > SURE or other_script)
    return found


def negations(text: str) -> int:
    """Number of negating words in a text: `NEGATIONS` and contractions with "not"."""
    return sum(word in NEGATIONS or word.endswith("n't") for word in tokens(text))


def use_of(slot: str, text: str) -> Literal["noun", "quality"] | None:
    """Whether a slot stands for a noun or a quality, judged by the adjacent words; None if undecided.

    A noun follows an article or similar, a quality follows "is", "somebody" or similar. None if the next word could be
    the noun itself, as "person" in "a {ATTRIBUTE} person". `slot` includes its braces; its first occurrence counts.
    """
    before, _, after = text.partition(slot)
    following = re.match(r"\s+([^\W\d_]+)", after)
    if following and following[1].lower() not in FUNCTION_WORDS - {"one", "ones"}:
        return None
    last = (before.lower().split() or [""])[-1]
    return "noun" if last in _BEFORE_NOUNS else "quality" if last in _BEFORE_QUALITIES else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # takes a second; imported only when needed

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
