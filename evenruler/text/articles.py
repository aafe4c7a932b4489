"""The indefinite article that a word asks for."""

import re
from functools import cache
from typing import Any


@cache
def article_for(word: str) -> str:
    """Either "a" or "an", by the sound of the word (an hour, a university, an MRI)."""
    if re.match(r"(8|11\b|18\b)", word):  # eight, eleven, eighteen: inflect takes digits for consonants
        return "an"
    article: str = _engine().a(word).split(" ", 1)[0]
    return article


@cache
def _engine() -> Any:
    import inflect  # takes more than a second, which everything else need not wait for

    engine = inflect.engine()
    engine.defan("usher")  # taken for "user" otherwise
    return engine
