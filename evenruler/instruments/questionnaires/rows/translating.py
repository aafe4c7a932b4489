"""Items x terms x intensifiers, written out as premise and hypothesis (EMPALC, section 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evenruler.instruments.questionnaires.declare.identity import FAMILY, VARIANT, prompt_id
from evenruler.instruments.questionnaires.declare.source import (
    INTENSIFIER,
    TERM,
    Item,
    QuestionnaireSource,
    Scale,
    Wording,
)
from evenruler.tables.ids import content_sha256, row_id
from evenruler.tables.schemas import BARE
from evenruler.text import fill

Row = dict[str, Any]


@dataclass(frozen=True)
class Translated:
    """The tables of one questionnaire, by their schemas in `schemas`."""

    items: list[Row]
    terms: list[Row]
    prompts: list[Row]
    rejected: list[Row]


def translate(name: str, source: QuestionnaireSource, scale: Scale) -> Translated:
    """Fill every item, and every twin, with every term and intensifier.

    A prompt that an earlier row already has is rejected, not repeated.

    Args:
        name: Slug of the questionnaire.
        source: What the user wrote.
        scale: Its intensifiers.

    Returns:
        Rows of the four tables.
    """
    prompts: list[Row] = []
    rejected: list[Row] = []
    seen: dict[tuple[str, str], str] = {}
    for row in _prompts(name, source, scale):
        first = seen.setdefault((row["premise"], row["hypothesis"]), row["id"])
        if first == row["id"]:
            prompts.append(row)
        else:
            rejected.append({**row, "reason": f"same prompt as {first}"})
    return Translated(list(_items(name, source)), list(_terms(name, source)), prompts, rejected)


def _common(source: QuestionnaireSource, row: str, *content: object) -> Row:
    return {
        "id": row,
        "content_sha256": content_sha256(*content),
        "variant": VARIANT,
        "framing": BARE,
        "source": source.source,
        "licence": source.licence,
    }


def _items(name: str, source: QuestionnaireSource) -> Iterator[Row]:
    for slug, item, asked in source.worded:
        original = _question(source, item) if asked is item else None
        content = (original, item.subscale, item.keying, asked.premise, asked.hypothesis)
        yield {
            **_common(source, row_id(family=FAMILY, benchmark=name, item=slug, **_twin_of(item, asked)), *content),
            **(_rights(source) if asked is item else {}),
            "item": slug,
            "twin": asked is not item,
            "subscale": item.subscale,
            "keying": item.keying,
            "original": original,
            "wording": source.original.wording if asked is item else None,
            "premise": asked.premise,
            "hypothesis": asked.hypothesis,
        }


def _twin_of(item: Item, asked: Wording) -> dict[str, str]:
    """What the identity of a twin's row says that its item's does not."""
    return {} if asked is item else {"twin": "impersonal"}


def _rights(source: QuestionnaireSource) -> Row:
    """Source and licence of a row that holds published wording beside templates of ours: both, and whose is which."""
    original = source.original
    if original.wording != "held":
        return {}
    own, theirs = source.licence, original.licence
    return {
        "source": f"{source.source}; wording: {original.name} ({original.reference})",
        "licence": own if own == theirs else f"{own}; wording: {theirs}",
    }


def _question(source: QuestionnaireSource, item: Item) -> str:
    """The whole question: what the questionnaire begins every item with, and the item."""
    return f"{source.original.stem} {item.original}" if source.original.stem else item.original


def _terms(name: str, source: QuestionnaireSource) -> Iterator[Row]:
    for slug, item, asked in source.worded:
        for term, word, polarity in _words(asked):
            own = row_id(family=FAMILY, benchmark=name, item=slug, term=term, **_twin_of(item, asked))
            yield {
                **_common(source, own, word, polarity),
                "item": slug,
                "twin": asked is not item,
                "term": term,
                "word": word,
                "polarity": polarity,
            }


def _words(item: Wording) -> Iterator[tuple[str, str, str]]:
    for polarity, words in (("source", item.terms.source), ("inverse", item.terms.inverse)):
        for term, word in words.items():
            yield term, word, polarity


def _prompts(name: str, source: QuestionnaireSource, scale: Scale) -> Iterator[Row]:
    for slug, item, asked in source.worded:
        for term, word, polarity in _words(asked):
            for number, level in enumerate(scale.levels, start=1):
                for intensifier, how_often in level.words.items():
                    filling = {TERM: word, INTENSIFIER: how_often}
                    premise = fill(asked.premise, filling, VARIANT)
                    hypothesis = fill(asked.hypothesis, filling, VARIANT)
                    content = (premise, hypothesis, polarity, number, level.weight, item.keying)
                    identity = prompt_id(name, slug, term, intensifier, BARE, **_twin_of(item, asked))
                    yield {
                        **_common(source, identity, *content),
                        "questionnaire": name,
                        "subscale": item.subscale,
                        "item": slug,
                        "twin": asked is not item,
                        "keying": item.keying,
                        "term": term,
                        "polarity": polarity,
                        "intensifier": intensifier,
                        "level": number,
                        "weight": level.weight,
                        "premise": premise,
                        "hypothesis": hypothesis,
                    }
