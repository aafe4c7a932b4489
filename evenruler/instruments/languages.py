"""The language of a source: asked for where its texts are not English, and no English sentence is
put before others.

Placebo sentences, known answers and the prompts of some methods are in English. They say nothing
about texts in another language, so that what takes them is refused, or left out by name.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import BaseModel

from evenruler.errors import UserError
from evenruler.tables.frames import evenly_spread
from evenruler.text.english import is_english, language_of

SAMPLE: Final = 20
"""Most texts of a source, evenly spread, that are looked at."""


def is_code_of_english(language: str) -> bool:
    """Whether a code is that of English, or of one of its varieties (`en-GB`)."""
    return language.lower().replace("_", "-").partition("-")[0] == "en"


def says_language(source: BaseModel) -> bool:
    """Whether a source names its language itself; `en` is only the default."""
    return "language" in source.model_fields_set


def require_language(source: BaseModel, texts: Sequence[str], where: str) -> None:
    """UserError if a source does not say its language, and fewer than half of a sample of its texts
    are English.
    """
    if says_language(source) or not texts:
        return
    sample = evenly_spread(list(texts), SAMPLE)
    foreign_texts = [text for text in sample if not is_english(text)]
    if 2 * len(foreign_texts) > len(sample):
        example = " ".join(foreign_texts[0].split())[:60].strip()
        what = f"{len(foreign_texts)} of {len(sample)} texts are not English, as {example!r}"
        remedy = (
            "write `language:` and the code of their language, such as `language: nl`; "
            "`language: en` if they are"
        )
        raise UserError(what, where=where, remedy=remedy)


def english_among(texts: Iterable[str]) -> str | None:
    """The first English text if most are English; None otherwise."""
    all_texts = list(texts)
    english = [text for text in all_texts if is_english(text)]
    return english[0] if 2 * len(english) > len(all_texts) else None


def guess_language(texts: Sequence[str]) -> str | None:
    """The code of the language of sentences, by a sample; None where it is not clear."""
    sample = evenly_spread(list(texts), SAMPLE)
    english = [text for text in sample if is_english(text)]
    if 2 * len(english) > len(sample):
        return "en"
    code = language_of(" ".join(sample))
    return None if code == "en" else code
