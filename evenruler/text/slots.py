"""Templates: sentences with slots, and how a slot is filled."""

import re
from typing import Literal

from evenruler.text.inflection import article_for

ATTRIBUTE, TARGET = "{ATTRIBUTE}", "{TARGET}"
_SLOT = re.compile(r"\{[^{}]*\}")
_FILLING = re.compile(r"(?P<article>\b[Aa]n?\s+)?(?P<slot>\{[A-Z]+\})")
_ARTICLE_BEFORE = re.compile(r"\b[Aa]n?\s+$")
_ARTICLE = re.compile(r"[Aa]n?\s+")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")


def slots(template: str) -> list[str]:
    """Every slot of a template, braces included, in order, repeats kept."""
    return _SLOT.findall(template)


def fill(template: str, words: dict[str, str], article: Literal["agree", "literal"]) -> str:
    """The sentence that a template makes of words, keyed by their slots with braces.

    `agree` turns "a" or "an" before a slot into the form that its word asks for, and gives a sentence that begins with
    a slot its capital; `literal` keeps the template's own text.
    """

    def filled(match: re.Match[str]) -> str:
        word, written = words[match["slot"]], match["article"] or ""
        if not written or article == "literal":
            return written + word
        right = article_for(word)
        return f"{right.capitalize() if written[0] == 'A' else right} {word}"

    sentence = _FILLING.sub(filled, template)
    if article == "agree" and template.startswith("{"):
        sentence = sentence[0].upper() + sentence[1:]
    return sentence


def place(
    template: str, slot: str, others: dict[str, str], article: Literal["agree", "literal"], sentence: str
) -> tuple[int, int]:
    """Beginning and end (exclusive) of one slot's word in a sentence of `fill`, an article before it left out.

    `slot` stands once in the template, braces included; its word need not be known, those of `others` are.
    """
    before, after = template.split(slot)
    written = _ARTICLE_BEFORE.search(before)
    begin = len(fill(before[: written.start()] if written else before, others, article))
    # The article may have changed its form with the word.
    if written and (found := _ARTICLE.match(sentence, begin)):
        begin = found.end()
    return begin, len(sentence) - len(fill(after, others, article))


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, lower-cased, slots left out: runs of letters with inner apostrophes or hyphens."""
    return frozenset(word.lower() for word in _WORD.findall(_SLOT.sub(" ", text)))


def slug_of(word: str) -> str:
    """The slug of a word: lower-cased, everything but letters and digits turned into single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
