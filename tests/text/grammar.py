"""Faults of English that a reader sees at once: articles, agreement, doubled words."""

import re
from functools import cache

from evenruler.text.english import article_for

PRONOUNS = "he|she|they|him|them|we"
ARTICLE = re.compile(r"(?<![\w'\u2019.-])(?P<article>[Aa]n?) (?P<word>[\"\u201c\u2018'(]?[\w-]+)")
BEFORE_PRONOUN = re.compile(rf"\b(?:the|an?|every|each) (?:{PRONOUNS})\b(?!/)", re.IGNORECASE)
AGREEMENT = re.compile(
    r"\b(?:they|we|these|those|(?<!of )(?:men|women|people|children)) (?:is|was|has|does)\b"
    r"|(?<!\bdid )(?<!\bdoes )\b(?:he|she) (?:are|were|have|do)\b"
    r"|\bI (?:is|are|has|does)\b"
    r"|\b(?:an?|each|every) (?:men|women|people|children)\b"
    r"|\b(?:these|those|many|several) (?:man|woman|person|child)\b",
    re.IGNORECASE,
)
DOUBLED = re.compile(r"\b(?P<word>[a-z]+) (?P=word)\b", re.IGNORECASE)
MAY_DOUBLE = frozenset({"that", "had", "her", "is", "no", "so", "very", "really", "bye", "blah"})


@cache
def _is_right(article: str, word: str) -> bool:
    """Whether a word takes an article."""
    return article_for(word) == article


def faults_in(text: str) -> list[tuple[str, str]]:
    """The faults of a text: its kind and the words."""
    faults: list[tuple[str, str]] = []
    for match in ARTICLE.finditer(text):
        word = match["word"].lstrip("\"'(\u201c\u2018")
        is_letter = match["article"] == "A" and not word[0].islower()
        if not is_letter and not _is_right(match["article"].lower(), word):
            faults.append(("article", match[0]))
    for pattern in (BEFORE_PRONOUN, AGREEMENT):
        faults += [("agreement", match[0]) for match in pattern.finditer(text)]
    for match in DOUBLED.finditer(text):
        if match["word"].lower() not in MAY_DOUBLE:
            faults.append(("doubled", match[0]))
    return faults
