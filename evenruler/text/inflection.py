"""The indefinite article that a word asks for, and plurals of nouns and names."""

import re
from functools import cache
from typing import Any

_PEOPLE = re.compile(r"(?:sh|ch|ss|ese)\Z")  # the British, French, Swiss and Japanese are many without an s


@cache
def article_for(word: str) -> str:
    """Either "a" or "an", by the sound of the word (an hour, a university, an MRI)."""
    if re.match(r"(8|11\b|18\b)", word):  # eight, eleven, eighteen: inflect takes digits for consonants
        return "an"
    article: str = _engine().a(word).split(" ", 1)[0]
    return article


@cache
def regular_plural(word: str) -> str:
    """The plural of a word where it is the word with s, es or ies; empty where it is another, or none.

    Empty for plurals (pears, the United States), pronouns, and what an s makes another word (new: news).
    """
    last = word.split()[-1]
    if not last.isalpha() or len(last) == 1:
        return ""
    if last.isupper():
        return f"{word}s"
    plural = _plural(word)
    regular = {f"{word}s"} if word[-1] != "s" else set()
    regular |= {f"{word}es", re.sub(r"y\Z", "ies", word)} - {word}
    # The way back must lead to the word: that of "news" leads to "news".
    return plural if plural in regular and _engine().singular_noun(plural) == word else ""


@cache
def plural_of(word: str) -> str:
    """The plural of a word, the word itself where it is one or has none (the United States, the Swiss, the G20)."""
    last = word.split()[-1]
    if not last.isalpha():
        return word
    if last.isupper():
        return f"{word}s"
    if last[0].isupper() and (last[-1] == "s" or _PEOPLE.search(last)):
        return word
    if _engine().singular_noun(last) and not re.search(r"(?:ss|us|is)\Z", last):
        return word
    return _plural(word)


def _plural(word: str) -> str:
    if word.split()[-1][0].isupper() and word[-1] == "o":  # Filipinos, for which inflect has Filipinoes
        return f"{word}s"
    plural: str = _engine().plural_noun(word)
    return plural


@cache
def _engine() -> Any:
    import inflect  # takes more than a second, which everything else need not wait for

    engine = inflect.engine()
    engine.defan("usher")  # taken for "user" otherwise
    return engine
