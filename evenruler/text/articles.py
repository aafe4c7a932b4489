"""The indefinite article that a word asks for."""

from functools import cache

import inflect


@cache
def article_for(word: str) -> str:
    """Either "a" or "an", by the sound of the word (an hour, a university, an MRI)."""
    article: str = _engine().a(word).split(" ", 1)[0]
    return article


@cache
def _engine() -> inflect.engine:
    return inflect.engine()
