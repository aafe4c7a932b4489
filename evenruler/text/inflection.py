"""Indefinite articles and plurals of nouns and names."""

import re
from functools import cache
from typing import Any

_PEOPLE = re.compile(r"(?:sh|ch|ss|ese)\Z")  # British, French, Swiss and Japanese are plurals without an s


@cache
def article_for(word: str) -> str:
    """Return "a" or "an", by the pronunciation of the word (an hour, a university, an MRI)."""
    if re.match(r"(8|11\b|18\b)", word):  # inflect treats digits as consonants
        return "an"
    article: str = _engine().a(word).split(" ", 1)[0]
    return article


@cache
def regular_plural(word: str) -> str:
    """The plural of a word if it is the word plus s, es or ies; otherwise empty.

    Empty for plurals (pears, the United States), pronouns, and words where an s makes another word (new: news).
    """
    last = word.split()[-1]
    if not last.isalpha() or len(last) == 1:
        return ""
    if last.isupper():
        return f"{word}s"
    plural = _plural(word)
    regular = {f"{word}s"} if word[-1] != "s" else set()
    regular |= {f"{word}es", re.sub(r"y\Z", "ies", word)} - {word}
    # The singular of the plural must be the word again: that of "news" is "news".
    return plural if plural in regular and _engine().singular_noun(plural) == word else ""


@cache
def plural_of(word: str) -> str:
    """The plural of a word; the word itself if it is a plural or has none (the United States, the Swiss, the G20)."""
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
    if word.split()[-1][0].isupper() and word[-1] == "o":  # Filipinos; inflect gives Filipinoes
        return f"{word}s"
    plural: str = _engine().plural_noun(word)
    return plural


@cache
def _engine() -> Any:
    import typeguard

    checked = typeguard.typechecked
    # inflect's type checks of itself cost a second at import.
    typeguard.typechecked = lambda each: each  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = checked
    engine = inflect.engine()
    engine.defan("usher")  # inflect mistakes it for "user"
    return engine
