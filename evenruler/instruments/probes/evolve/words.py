"""Words of a template: which may be taken out or replaced, and what they do in a sentence, by a dependency parse."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenruler.text import ATTRIBUTE, TARGET, fill
from evenruler.text.english import use_of
from evenruler.text.inflection import article_for
from evenruler.text.pipeline import pipeline

_RUN = re.compile(r"(?:\w|\{[^{}]*\})+(?:['\u2019-](?:\w|\{[^{}]*\})+)*")
"""A word, a number or a slot with whatever is written together with it."""

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")

_GAP = r"\s+[\"'\u201c\u2018(]*"
"""What may stand between an article and its word."""

_TO_SLOT = re.compile(_GAP)
_ARTICLE = re.compile(rf"(?<![\w'\u2019-])(?P<article>[Aa]n?)(?P<gap>{_GAP})$")

_PAUSES, _ENDS = ",;:", ".!?"


def words_of(text: str) -> list[tuple[int, str]]:
    """The words of a template that may be taken out or replaced, and where each begins, in order.

    A word is a run of letters with inner apostrophes or hyphens. What is written together with a slot ("{TARGET}'s") or
    with digits is none, and an article before a slot goes with its slot.
    """
    runs = list(_RUN.finditer(text))
    of_slots = {
        run.start()
        for run, following in pairwise(runs)
        if run[0].lower() in ("a", "an", "the")
        and "{" in following[0]
        and _TO_SLOT.fullmatch(text, run.end(), following.start())
    }
    return [(run.start(), run[0]) for run in runs if _WORD.fullmatch(run[0]) and run.start() not in of_slots]


def without(text: str, begin: int, word: str) -> str:
    """A template with one word taken out, so that a sentence is left.

    The space beside it goes too, and a comma that would stand before another mark or at the beginning; where it was
    the first word its capital passes on; an article before it takes the form that the word after it asks for (a slot
    gets that when it is filled). ValueError where the word does not begin at `begin`.
    """
    before, after = _around(text, begin, word)
    head, tail = before.rstrip(), after.lstrip()
    if not _RUN.search(before):
        tail = tail.lstrip(_PAUSES).lstrip()
        return head + (_capital(tail) if word[0].isupper() else tail)
    following = _RUN.match(tail)
    if following and "{" not in following[0]:
        head = _agreeing(before, following[0]).rstrip()
    if head[-1] in _PAUSES and tail[:1] and tail[0] in _PAUSES + _ENDS:
        head = head[:-1]
    apart = before[-1].isspace() and after[:1].isspace()
    return f"{head} {tail}".rstrip() if apart else head + tail


def replaced(text: str, begin: int, word: str, new: str) -> str:
    """A template with one word replaced; capital of a first word, article and errors are as of `without`."""
    before, after = _around(text, begin, word)
    if not _RUN.search(before) and word[0].isupper():
        new = _capital(new)
    return _agreeing(before, new) + new + after


def _around(text: str, begin: int, word: str) -> tuple[str, str]:
    """What stands before a word and what after it."""
    end = begin + len(word)
    if not word or text[begin:end] != word:
        raise ValueError(f"{word!r} does not stand at {begin} of {text!r}")
    return text[:begin], text[end:]


def _agreeing(before: str, word: str) -> str:
    """What stands before a word, an article at its end in the form that the word asks for."""
    found = _ARTICLE.search(before)
    if not found:
        return before
    right = article_for(word)
    if found["article"][0] == "A":
        if _RUN.search(before, 0, found.start()):  # within a sentence it is no article: vitamin A
            return before
        right = right.capitalize()
    return before[: found.start()] + right + found["gap"]


def _capital(text: str) -> str:
    """A text whose first word has a capital; slots get theirs when they are filled."""
    first = _RUN.search(text)
    if not first:
        return text
    begin = first.start()
    return text[:begin] + text[begin].upper() + text[begin + 1 :]


if TYPE_CHECKING:
    from spacy.tokens import Token

_NOUNS: Final = {ATTRIBUTE: "nurse", TARGET: "woman"}
_QUALITIES: Final = {ATTRIBUTE: "gentle", TARGET: "young"}
"""What fills slots so that a parser reads a sentence."""

_NUMBER: Final = {"NN": 1, "NNP": 1, "VBZ": 1, "NNS": 2, "NNPS": 2, "VBP": 2}
"""Tags (Penn Treebank) of words in the singular and in the plural; the number of others cannot be seen."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIMES: Final = frozenset((*_DAYS, "yesterday", "today", "tonight", "tomorrow", "nowadays"))
"""Nouns that say when by themselves, as adverbs do; a parser takes any noun at the start of a sentence for one."""

_TIME_ADVERBS: Final = frozenset(
    ("afterwards", "before", "earlier", "formerly", "lately", "later", "now", "once", "previously", "recently", "then")
)
"""That such a noun may give place to; "nearly I met her" is none of them."""


@dataclass(frozen=True)
class _Role:
    """What a word does where it stands."""

    kind: str
    relation: str
    number: int | None
    """1 or 2 where it can be seen."""
    case: str | None
    """Of a pronoun, where it can be seen."""

    def fits(self, other: "_Role") -> bool:
        """Whether a word may do one where another does the other; what cannot be seen of either does not count."""
        seen = ((self.number, other.number), (self.case, other.case))
        same = (self.kind, self.relation) == (other.kind, other.relation)
        return same and all(None in pair or pair[0] == pair[1] for pair in seen)


def same_role(parent: str, text: str, after: str) -> bool:
    """Whether a word does in a template what another did in the one it comes from.

    It has to be the same kind of word (noun, name, verb, adjective and so on), stand in the same relation to the word
    that it depends on, and in the same number and case where these can be seen. A participle counts as an adjective
    where it stands like one, and a noun that says when ("yesterday") as an adverb of time. Of words that ask or refer
    ("who", "when") only "when" and "whenever" may take each other's place.

    `after`: what stands after the word in both. UserError where the package with spaCy's model is not installed.
    """
    return _role(parent, after).fits(_role(text, after))


def _role(text: str, after: str) -> _Role:
    """Of the word that stands before the end of a template."""
    words = {slot: (_QUALITIES if use_of(slot, text) == "quality" else _NOUNS)[slot] for slot in (ATTRIBUTE, TARGET)}
    sentence = fill(text, words, "agree")
    end = len(sentence) - len(fill(after, words, "agree"))
    span = pipeline("lemmas")(sentence).char_span(end - 1, end, alignment_mode="expand")
    assert span is not None  # what stands there is within the sentence
    word = span.root
    kind, relation = _kind_and_relation(word)
    return _Role(kind, relation, _NUMBER.get(word.tag_), next(iter(word.morph.get("Case", [])), None))


def _kind_and_relation(word: "Token") -> tuple[str, str]:
    """By tag and dependency, those alike that may take each other's place."""
    participle = word.tag_ in ("VBN", "VBG")
    if participle and any(child.dep_ == "auxpass" for child in word.children):
        return "adjective", "acomp"  # "surprised" depends on "be", but "be" on "astonished"
    if word.tag_.startswith("JJ") or (participle and word.dep_ in ("amod", "acomp", "attr")):
        return "adjective", "acomp" if word.dep_ == "attr" else word.dep_
    noun, adverb = word.dep_ == "npadvmod", word.dep_ == "advmod" and word.tag_.startswith("RB")
    if (noun and word.lower_ in _TIMES) or (adverb and word.lower_ in _TIME_ADVERBS):
        return "time", "advmod"
    if word.tag_.startswith("W"):  # "whom" for "who", "where" for "when": of their kind no two say the same
        return "when" if word.lower_ == "whenever" else word.lower_, word.dep_
    if word.pos_ == "PROPN":
        return "name", word.dep_
    return word.tag_ if word.tag_.endswith("$") else word.tag_[:2], word.dep_
