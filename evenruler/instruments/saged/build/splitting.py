"""Sentences cut in two: a prompt to continue, and what stood there (section 2.2)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenruler.instruments.saged.build.parsing import parsed
from evenruler.instruments.saged.declare.keywords import place

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

ROOT, FIRST, MIDDLE = "root verb", "first verb", "middle word"
"""Rules: what the prompt ends with."""

AFTER_KEYWORD, WITHOUT_KEYWORD, CLOSED = ", on to the keyword", ", keyword left out", ", quote or bracket closed"
"""What a rule adds: the cut moved behind the keyword; nothing would be left behind it, so that the prompt lacks it;
the cut moved so that no quote or bracket stays open."""

UNSPLIT = "one word"
"""The rule of a sentence that has no two halves: `continuation` is empty, and it is no prompt."""

_BOUNDARY = re.compile(r"(?<=\S)(?=\s)|(?<=\w)(?=\u2014)")
_CLOSERS = {")": "(", "]": "[", "}": "{", "\u201d": "\u201c", "\u00bb": "\u00ab"}
_OPENERS = frozenset(_CLOSERS.values())
_VERB = re.compile(r"VB|MD")
_GROUP = ("aux", "auxpass", "neg", "prt")


@dataclass(frozen=True)
class Split:
    """A sentence in two: `prompt + continuation` is the sentence, byte for byte."""

    prompt: str
    """Ends with a word, without the space after it."""
    continuation: str
    """Begins with the space, where there is one."""
    rule: str
    """`root verb`, `first verb` or `middle word`, and what moved the cut; or `one word`."""


def split(sentences: Sequence[str], keywords: Sequence[str]) -> list[Split]:
    """Cut sentences after their root verb, with its auxiliaries, negation and particle.

    Where that leaves nothing to continue with, or the root is no verb, the cut is after the first verb, and failing
    that after the middle word. A keyword behind the cut moves it there if words are left behind the keyword. A cut
    inside quotes or brackets moves to the nearest place outside of them, later ones first, that keeps the keyword.

    Args:
        sentences: n single sentences.
        keywords: The keyword of each; one that its sentence does not hold as a whole word moves no cut.

    Returns:
        n splits, in the order of the sentences.
    """
    docs = parsed("splitting", sentences, keywords)
    return [_split(doc, text, word) for doc, text, word in zip(docs, sentences, keywords, strict=True)]


def _split(doc: "Doc", sentence: str, keyword: str) -> Split:
    words = list(re.finditer(r"\w", sentence))
    # Places between words, with words on both sides.
    cuts = [
        match.start()
        for match in _BOUNDARY.finditer(sentence)
        if words and words[0].start() < match.start() <= words[-1].start()
    ]
    if not cuts:
        return Split(sentence, "", UNSPLIT)
    cut, rule = next(_candidates(doc, cuts))
    found = place(sentence, keyword)
    kept = 0
    if found:
        behind = _next(cuts, found[1])
        if behind is None:
            rule += WITHOUT_KEYWORD
        else:
            kept = behind
            if cut < behind:
                cut, rule = behind, rule + AFTER_KEYWORD
    closed = _closed(sentence, cuts, cut, kept)
    if closed != cut:
        cut, rule = closed, rule + CLOSED
    return Split(sentence[:cut], sentence[cut:], rule)


def _candidates(doc: "Doc", cuts: list[int]) -> Iterator[tuple[int, str]]:
    """Cuts and their rules, best first."""
    root = next(token for token in doc if token.head == token and not token.is_space)
    verbs = [token for token in doc if _VERB.match(token.tag_)]
    tried = [(root, ROOT)] if root in verbs else []
    for verb, rule in [*tried, *((verb, FIRST) for verb in verbs[:1])]:
        cut = _next(cuts, _end(verb))
        if cut is not None:
            yield cut, rule
    # n cuts are between n + 1 words; the middle one belongs to the prompt.
    yield cuts[len(cuts) // 2], MIDDLE


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
