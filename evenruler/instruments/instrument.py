"""What every source of an instrument says of itself, for its card."""

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from evenruler.strict import Slug, Strict, Text
from evenruler.text.slots import slug_of

Scale = Literal["quick", "paper"]
"""How much is built and asked."""


def _named_words(value: Any) -> Any:
    """A list of words as a mapping from slug to word; a mapping stays as it is."""
    if not isinstance(value, list):
        return value
    for word in value:
        if isinstance(word, bool) or not isinstance(word, str | int):
            raise ValueError(f"found {word!r} in the list, expected words")
    words = [str(word) for word in value]
    twice = [slug for slug, count in Counter(map(slug_of, words)).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} stands in the list twice")
    return {slug_of(word): word for word in words}


Words = Annotated[dict[Slug, Text], BeforeValidator(_named_words), Field(min_length=1)]
"""Words by slug; a plain list takes each word, lower-cased and hyphenated, for its slug."""


class Instrument(Strict):
    """A probe domain, a questionnaire, a contrast: whatever becomes a benchmark."""

    title: Text
    construct_: Text = Field(alias="construct")
    """What it measures, as it goes after "Measures the" or "The"."""
    direction: Text
    """What a higher score says."""
    language: Text = "en"
    source: Text
    """Who wrote its sentences."""
    licence: Text
    warning: Text | None = None
    """What a reader should be told before seeing them."""
    limits: list[Text] = Field(default_factory=list)
    """What it does not show, one sentence each."""
    citations: list[Text] = Field(default_factory=list)
    """BibTeX entries of what it rests on."""
