"""Templates: sentences with slots, and how slots are filled."""

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
    """All slots of a template in order, with braces and repeats."""
    return _SLOT.findall(template)


def fill(template: str, words: dict[str, str], article: Literal["agree", "literal"]) -> str:
    """Fill a template's slots; `words` is keyed by slot, braces included.

    `agree` adapts "a" or "an" before a slot to the word and capitalises a sentence that begins with a slot; `literal`
    keeps the template's own text.
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
    """Begin and end (exclusive) of one slot's word in a sentence made by `fill`, without a preceding article.

    `slot`, with braces, must occur once in the template; its word need not be known, `others` has those of other slots.
    """
    before, after = template.split(slot)
    written = _ARTICLE_BEFORE.search(before)
    begin = len(fill(before[: written.start()] if written else before, others, article))
    # The article may have changed its form, and so its length.
    if written and (found := _ARTICLE.match(sentence, begin)):
        begin = found.end()
    return begin, len(sentence) - len(fill(after, others, article))


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, lower-cased, without slots: runs of letters with inner apostrophes or hyphens."""
    return frozenset(word.lower() for word in _WORD.findall(_SLOT.sub(" ", text)))


def slug_of(word: str) -> str:
    """The slug of a word: lower-cased, with hyphens in place of anything but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
