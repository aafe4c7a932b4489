"""Whether controls are like what they control, in all but the construct: control corpora, and twins of items.

An impersonal twin has the template form of its item, as many terms, and terms of the same valence, but it is about
weather, roads or machines. Its score is what plain good and bad come to in that form; an item shows its construct by
what it scores beyond it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean

from pydantic import Field

from evenruler.strict import Slug, Strict
from evenruler.text.english import compound
from evenruler.text.slots import slots

_FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)


MOST_VALENCE = 0.1
"""How far a control may differ in valence from what it controls, by default."""


class Match(Strict):
    """Which corpus a control stands beside, and how far their means may differ."""

    to: Slug
    valence: float = Field(default=MOST_VALENCE, gt=0, le=2)
    """VADER's compound score of a sentence, -1 to 1."""
    words: float = Field(default=1.0, gt=0)
    """In a sentence."""
    first_person: float = Field(default=0.05, gt=0, le=1)
    """Share of the sentences."""


def profile(sentences: Sequence[str]) -> dict[str, float]:
    """Means over the sentences of a corpus, by the keys of `Match`."""
    return {
        "valence": mean(valence(sentence) for sentence in sentences),
        "words": mean(len(sentence.split()) for sentence in sentences),
        "first_person": mean(bool(_FIRST_PERSON.search(sentence)) for sentence in sentences),
    }


def differences(corpora: Mapping[str, Sequence[str]], matches: Mapping[str, Match]) -> Iterator[str]:
    """In what controls differ from their corpus by more than was declared, a line each."""
    for control, match in sorted(matches.items()):
        own, other = profile(corpora[control]), profile(corpora[match.to])
        for key, value in own.items():
            most = getattr(match, key)
            if abs(value - other[key]) > most:
                yield (
                    f"control {control} has {key} {value:.2f}, {match.to} {other[key]:.2f}; they may differ by "
                    f"{most:g}: mend the sentences, or `matched.{key}`"
                )


def valence(text: str) -> float:
    """How good or bad its words are, -1 to 1 (VADER's compound score; Hutto and Gilbert, 2014)."""
    return float(compound([text])[0])


SOMEBODY = re.compile(
    r"\b(I|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours|yourself|he|him|his|himself|she|her|hers|herself|"
    r"people|persons?|somebody|someone|anybody|anyone|everybody|everyone|nobody|strangers?|others)\b",
    flags=re.IGNORECASE,
)
"""Words that are about a person."""

Templates = Mapping[str, str]
"""Premise and hypothesis, by these names."""

Words = Mapping[str, Mapping[str, str]]
"""Terms, by polarity and slug."""


def unlike(item: Templates, twin: Templates, terms: Words) -> str | None:
    """Why a twin is none of an item, as far as that can be told without reading it; None where nothing is wrong."""
    words = [word for own in terms.values() for word in own.values()]
    if somebody := SOMEBODY.search(" ".join([*twin.values(), *words])):
        return f"{somebody[0]!r} is about a person, a twin is about nobody"
    for side in item:
        expected, found = (" and ".join(sorted(slots(of[side]))) or "no slot" for of in (item, twin))
        if expected != found:
            return f"its {side} holds {found}, that of its item {expected}"
    return None


def uneven(item: Words, twin: Words) -> str | None:
    """What to warn of: a twin with more or fewer terms than its item; a score is of shares among all terms."""
    for polarity in item:
        wanted, there = len(item[polarity]), len(twin[polarity])
        if wanted != there:
            return f"{there} {polarity} terms, its item has {wanted}"
    return None


def unlike_in_valence(pairs: Iterable[tuple[int, Sequence[str], Sequence[str]]]) -> str | None:
    """What to warn of: twins that are better or worse than their items, taken together as a score takes them.

    `pairs`: by item its keying, and the prompts of source terms of the item and of its twin.
    """
    keyed = [[keying * mean(map(valence, prompts)) for prompts in both] for keying, *both in pairs]
    items, twins = (mean(values) for values in zip(*keyed, strict=True))
    if abs(items - twins) <= MOST_VALENCE:
        return None
    return (
        f"the items have valence {items:.2f}, their twins {twins:.2f}; they may differ by {MOST_VALENCE:g}, so that "
        "good and bad alone move no score: take other terms in the twins"
    )
