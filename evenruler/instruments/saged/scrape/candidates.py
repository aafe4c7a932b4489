"""Automatic replacement descriptions: which words of the sentences to replace, and by what (SAGED, A.2)."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from evenruler.errors import UserError
from evenruler.text.whole_words import spaced

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""The similarity of a concept to each of n words, from -1 to 1."""

SHOWN = 15
"""Words below a threshold that are judged at a time, the nearest ones (figure 12)."""

Ask = Callable[[str], str]
"""A language model: its reply to a prompt."""

_BELONGS = (
    "Is any of the words in this list associated with {concept!r}?\nWords: {words}\n"
    "For example, 'actress' is associated with 'women'. Answer yes or no."
)
_ANALOGIES = (
    "These words are about {concept!r}. Find the analogous words about {branch!r}.\nWords: {words}\n"
    "For example, 'queen' for 'women' is 'king' for 'men'. "
    'Answer with nothing but JSON: {{"word": "analogous word", ...}}, every word once.'
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019][sS]\Z")


class UnusableReplyError(UserError):
    """A reply that cannot be read, or says what cannot be."""


@dataclass(frozen=True)
class Candidate:
    """A word of the sentences, as it is written most often, and its similarity to the root concept."""

    word: str
    similarity: float


def candidate_words(sentences: Iterable[str], concept: str, similarity: Similarity) -> list[Candidate]:
    """Every distinct word of the sentences, whatever its case, with its similarity to a concept.

    Args:
        sentences: Of the root concept.
        concept: The root concept.
        similarity: Called once, with all words.

    Returns:
        The most similar first, equally similar ones by the alphabet. Possessives are left off, numbers out.
    """
    written: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for found in _WORD.findall(sentence):
            word = _POSSESSIVE.sub("", found)
            written.setdefault(word.casefold(), Counter())[word] += 1
    # Of forms that are equally frequent the one in lower case: a capital may only begin a sentence.
    words = [max(forms, key=lambda form: (forms[form], form)) for _, forms in sorted(written.items())]
    values = similarity(concept, words) if words else []
    candidates = [Candidate(word, float(value)) for word, value in zip(words, values, strict=True)]
    return sorted(candidates, key=lambda candidate: (-candidate.similarity, candidate.word))


def above(candidates: Sequence[Candidate], threshold: float) -> list[str]:
    """The words whose similarity reaches a threshold."""
    return [candidate.word for candidate in candidates if candidate.similarity >= threshold]


def auto_threshold(candidates: Sequence[Candidate], belongs: Callable[[Sequence[str]], bool]) -> float:
    """The highest threshold below which no word belongs to the concept, by binary search.

    Args:
        candidates: The most similar first.
        belongs: Whether any of at most `SHOWN` words, which stand next below a threshold, belongs to the concept. It
            is asked once for about every halving of the distinct similarities.

    Returns:
        The similarity of the last word that belongs; infinity where none does.
    """
    levels = sorted({candidate.similarity for candidate in candidates}, reverse=True)
    kept, most = 0, len(levels)  # levels that surely belong, and that may
    while kept < most:
        middle = (kept + most) // 2
        below = [candidate.word for candidate in candidates if candidate.similarity <= levels[middle]]
        if belongs(below[:SHOWN]):
            kept = middle + 1
        else:
            most = middle
    return levels[kept - 1] if kept else inf


def judged_by(ask: Ask, concept: str) -> Callable[[Sequence[str]], bool]:
    """A `belongs` for `auto_threshold` that asks a language model (figure 12).

    Raises (when called):
        UnusableReplyError: The reply is neither yes nor no.
    """

    def belongs(words: Sequence[str]) -> bool:
        reply = ask(_BELONGS.format(concept=concept, words=json.dumps(words, ensure_ascii=False)))
        said = re.match(r"\W*(yes|no)\b", reply, re.IGNORECASE)
        if not said:
            what = f"neither yes nor no in the reply {reply[:80]!r}"
            raise UnusableReplyError(
                what, where=f"words about {concept!r}", remedy="write a threshold, or ask another model"
            )
        return said[1].lower() == "yes"

    return belongs


def analogies(words: Sequence[str], concept: str, branch: str) -> str:
    """What a language model is asked to replace words about a root concept for a branch concept (figure 13)."""
    return _ANALOGIES.format(concept=concept, branch=branch, words=json.dumps(words, ensure_ascii=False))


def proposed(reply: str, words: Sequence[str], concept: str, branch: str) -> dict[str, str]:
    """What a language model replaces words by, for `declare.replacements.checked`.

    Args:
        reply: To `analogies`: it holds a JSON object; what stands around it is passed over, and so are words not asked
            for.
        words: About the root concept.
        concept: The root concept.
        branch: The branch concept.

    Returns:
        Replacement by word, for every word.

    Raises:
        UnusableReplyError: The reply holds no JSON object of texts, or leaves a word out.
    """
    where, remedy = f"words of {branch!r} for {concept!r}", "ask again, or write the replacements by hand"
    try:
        found: Any = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UnusableReplyError(f"no JSON object of words in the reply {reply[:80]!r}", where=where, remedy=remedy)
    known = {spaced(word).casefold(): spaced(replacement) for word, replacement in found.items()}
    missing = [word for word in words if not known.get(word.casefold())]
    if missing:
        raise UnusableReplyError(f"no replacement of {', '.join(map(repr, missing))}", where=where, remedy=remedy)
    return {word: known[word.casefold()] for word in words}
