"""Whether a text is English or in another language, how it negates, how good its words are, what slots stand for.

`is_english` goes by lists of words, and holds of a single sentence with slots; `in_another` by a classifier, and holds
of replies of some length, in whatever language they should be.
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
    """Words as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"


_LISTS: Mapping[str, str] = YAML(typ="safe").load(Path(__file__).with_name("english.yaml"))


def _set(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


FUNCTION_WORDS: Final = _set("function-words")  # words that hold English sentences together, whatever they are about

FOREIGN_WORDS: Final = _set("foreign-words")
"""What holds German, French, Spanish, Italian, Portuguese and Dutch sentences together and is not common in English."""

LEAST_SHARE: Final = 0.2  # of function words, less foreign ones, in an English text; English prose has about half

NEGATIONS: Final = _set("negations")
"""Words that turn what a sentence says into its opposite, or say that it would be out of the ordinary. English has more
("far from"); whatever ends in "n't" counts too."""

_BEFORE_NOUNS = _set("before-nouns")
_BEFORE_QUALITIES = _set("before-qualities")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SLOT = re.compile(r"\{[^{}]*\}")
_MARKS = frozenset("\u2013\u2014\u2026\u00a3\u20ac")  # dashes, an ellipsis, currencies; other marks are those of ASCII


def tokens(text: str) -> list[str]:
    """The words of a text in order, lower-cased, slots left out, repeats kept; apostrophes are straight ones."""
    return [word.lower() for word in _WORD.findall(_SLOT.sub(" ", text))]


def is_english(text: str) -> bool:
    """Whether a text may pass for English.

    Its letters are Latin, its marks common ones, and at least `LEAST_SHARE` of its words, slots left out, are function
    words of English, those of other languages taken off. A text without words is none.
    """
    others = {character for character in text if not character.isascii()} - _MARKS
    if not all(unicodedata.name(character, "").startswith("LATIN ") for character in others):
        return False
    found = tokens(text)
    share = sum((word in FUNCTION_WORDS) - (word in FOREIGN_WORDS) for word in found)
    return bool(found) and share >= LEAST_SHARE * len(found)


SURE, WORDS_TO_TELL = 0.9, 10
"""Probability above which a text is taken to be in another language, and the words that it must have: of lists of
dishes or names an identifier of languages is often wrong, and sure of it."""

_COUNTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+")
"""A word; a letter, in the scripts that write no spaces between words."""


def in_another(texts: Sequence[str], language: str) -> NDArray[np.bool_]:
    """Whether each text is in another language: of ten words at least, and taken for another with more than .9.

    Of English, also what is mostly written in letters that are not Latin. `language`: two letters, as in "en"; where
    the library does not know it, nothing is in another.
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
    """How many words of a text turn it into its opposite: `NEGATIONS`, and contractions with "not"."""
    return sum(word in NEGATIONS or word.endswith("n't") for word in tokens(text))


def use_of(slot: str, text: str) -> Literal["noun", "quality"] | None:
    """What a slot stands for, by the words beside it; None where they do not tell.

    A noun stands after an article or the like, a quality after "is", "somebody" or the like; and neither before a word
    that could be its noun, as "person" in "a {ATTRIBUTE} person". Of a slot, braces included, its first place counts.
    """
    before, _, after = text.partition(slot)
    following = re.match(r"\s+([^\W\d_]+)", after)
    if following and following[1].lower() not in FUNCTION_WORDS - {"one", "ones"}:
        return None
    last = (before.lower().split() or [""])[-1]
    return "noun" if last in _BEFORE_NOUNS else "quality" if last in _BEFORE_QUALITIES else None


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # a second, and nobody else needs it

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
