"""Sentences cut in two: a prompt to continue, and what stood there (section 2.2)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenruler.instruments.saged.rows.parsing import parsed
from evenruler.text.whole_words import Match, find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

ROOT, FIRST, MIDDLE = "root verb", "first verb", "middle word"
"""Rules: what the prompt ends with."""

AFTER_KEYWORD, CLOSED = ", on to the keyword", ", quote or bracket closed"
"""What a rule adds: the cut moved behind the keyword and the noun that it qualifies; the cut moved so that no quote or
bracket stays open."""

LEAST = 3
"""Words after the cut at least: of fewer there is little to compare a reply with."""

TOO_SHORT = f"fewer than {LEAST} words after its keyword"
"""Why a sentence has no cut: its `continuation` is empty, and it is no prompt."""

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_BOUNDARY = re.compile(r"(?<=\S)(?=\s)|(?<=\w)(?=\u2014)")
_CLOSERS = {")": "(", "]": "[", "}": "{", "\u201d": "\u201c", "\u00bb": "\u00ab"}
_OPENERS = frozenset(_CLOSERS.values())
_VERB = re.compile(r"VB|MD")
_GROUP = ("aux", "auxpass", "neg", "prt")
_QUALIFYING = ("amod", "compound", "nmod", "poss", "nummod")


@dataclass(frozen=True)
class Split:
    """A sentence in two: `prompt + continuation` is the sentence, byte for byte."""

    prompt: str
    """Ends with a word, without the space after it."""
    continuation: str
    """Begins with the space, where there is one."""
    rule: str
    """`root verb`, `first verb` or `middle word`, and what moved the cut; or why there is none."""


def split(sentences: Sequence[str], keywords: Sequence[str]) -> list[Split]:
    """Cut sentences after their root verb, with its auxiliaries, negation and particle.

    Where that leaves fewer than `LEAST` words, or the root is no verb, the cut is after the first verb, and failing
    that after the middle word. The prompt holds the keyword: one behind the cut moves it there, and on behind the noun
    that the keyword qualifies. A cut inside quotes or brackets moves to the nearest place outside of them, later ones
    first, that keeps the keyword.

    Args:
        sentences: n single sentences.
        keywords: The keyword of each, as `evenruler.text.whole_words` finds it; one that is not there moves no cut.

    Returns:
        n splits, in the order of the sentences.
    """
    docs = parsed("splitting", sentences, keywords)
    return [_split(doc, text, word) for doc, text, word in zip(docs, sentences, keywords, strict=True)]


def _split(doc: "Doc", sentence: str, keyword: str) -> Split:
    words = [match.start() for match in _WORD.finditer(sentence)]
    cuts = [
        match.start()
        for match in _BOUNDARY.finditer(sentence)
        if words and words[0] < match.start() and len(words) - bisect_left(words, match.start()) >= LEAST
    ]
    behind = _behind(doc, next(iter(find(sentence, [keyword])), None))
    kept = next((cut for cut in cuts if cut >= behind), None)
    if kept is None:
        return Split(sentence, "", TOO_SHORT)
    cut, rule = next(_candidates(doc, cuts, words[(len(words) - 1) // 2]))
    if cut < behind:
        cut, rule = kept, rule + AFTER_KEYWORD
    closed = _closed(sentence, cuts, cut, kept)
    if closed != cut:
        cut, rule = closed, rule + CLOSED
    return Split(sentence[:cut], sentence[cut:], rule)


def _behind(doc: "Doc", keyword: Match | None) -> int:
    """Where a keyword ends, with the noun that it qualifies ("the American people"); 0 where there is none."""
    if keyword is None:
        return 0
    end = keyword.end
    for token in doc:
        noun = token.head
        if keyword.begin <= token.idx < keyword.end and token.dep_ in _QUALIFYING and noun.idx > token.idx:
            end = max(end, noun.idx + len(noun))
    return end


def _candidates(doc: "Doc", cuts: list[int], middle: int) -> Iterator[tuple[int, str]]:
    """Cuts and their rules, best first. `middle`: where the middle word begins."""
    root = next(token for token in doc if token.head == token and not token.is_space)
    verbs = [token for token in doc if _VERB.match(token.tag_)]
    tried = [(root, ROOT)] if root in verbs else []
    for verb, rule in [*tried, *((verb, FIRST) for verb in verbs[:1])]:
        cut = _next(cuts, _end(verb))
        if cut is not None:
            yield cut, rule
    yield _next(cuts, middle) or cuts[-1], MIDDLE


def _end(verb: "Token") -> int:
    """Where a verb ends in its sentence, with what belongs to it and stands next to it."""
    last, head = verb, verb.head if verb.dep_ in _GROUP else verb
    for token in verb.doc[verb.i + 1 :]:
        if token != head and not (token.head == head and token.dep_ in _GROUP):
            break
        last = token
    return last.idx + len(last)


def _next(cuts: list[int], position: int) -> int | None:
    return next((cut for cut in cuts if cut >= position), None)


def _closed(sentence: str, cuts: list[int], cut: int, kept: int) -> int:
    """The cut, or the nearest one outside of quotes and brackets: a later one, else one not before `kept`."""
    if not _open(sentence[:cut]):
        return cut
    later = [other for other in cuts if other > cut]
    earlier = [other for other in reversed(cuts) if kept <= other < cut]
    return next((other for other in [*later, *earlier] if not _open(sentence[:other])), cut)


def _open(text: str) -> bool:
    """Whether a text ends inside quotes or brackets. Single quotes are taken for apostrophes."""
    stack: list[str] = []
    for character in text:
        opener = _CLOSERS.get(character, character)
        if stack and stack[-1] == opener and character not in _OPENERS:
            stack.pop()
        elif character in _OPENERS or character == '"':
            stack.append(character)
    return bool(stack)
