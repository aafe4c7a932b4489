"""Words of a template: which may be taken out or replaced, and their grammatical role, by a
dependency parse.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenruler.text import ATTRIBUTE, TARGET, fill
from evenruler.text.english import article_for, slot_word_class, spacy_pipeline

_RUN = re.compile(r"(?:\w|\{[^{}]*\})+(?:['\u2019-](?:\w|\{[^{}]*\})+)*")
"""A word, a number or a slot, with whatever is attached to it."""

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")

_GAP = r"\s+[\"'\u201c\u2018(]*"
"""What may stand between an article and its word."""

_TO_SLOT = re.compile(_GAP)
_ARTICLE = re.compile(rf"(?<![\w'\u2019-])(?P<article>[Aa]n?)(?P<gap>{_GAP})$")

_PAUSES, _ENDS = ",;:", ".!?"


def words_of(text: str) -> list[tuple[int, str]]:
    """The words of a template that may be taken out or replaced, and where each begins, in order.

    A word is a run of letters with inner apostrophes or hyphens. What is attached to a slot
    ("{TARGET}'s") or to digits is left out, and so is an article before a slot.
    """
    runs = list(_RUN.finditer(text))
    of_slots: set[int] = set()
    for run, following in pairwise(runs):
        is_article = run[0].lower() in ("a", "an", "the")
        if is_article and "{" in following[0]:
            gap = _TO_SLOT.fullmatch(text, run.end(), following.start())
            if gap:
                of_slots.add(run.start())
    return [
        (run.start(), run[0])
        for run in runs
        if _WORD.fullmatch(run[0]) and run.start() not in of_slots
    ]


def remove_word(text: str, begin: int, word: str) -> str:
    """A template with one word taken out, so that a sentence is left.

    An adjacent space is removed too, and a comma left before another mark or at the beginning. A
    capital of the first word passes to the next one; an article before the word agrees with the
    word after it (before a slot, when that is filled). ValueError where the word does not begin at
    `begin`.
    """
    before, after = _split_at_word(text, begin, word)
    head, tail = before.rstrip(), after.lstrip()
    if not _RUN.search(before):
        tail = tail.lstrip(_PAUSES).lstrip()
        return head + (_capitalise_first_word(tail) if word[0].isupper() else tail)
    following = _RUN.match(tail)
    if following and "{" not in following[0]:
        head = _agree_article(before, following[0]).rstrip()
    is_mark_next = tail != "" and tail[0] in _PAUSES + _ENDS
    if head[-1] in _PAUSES and is_mark_next:
        head = head[:-1]
    apart = before[-1].isspace() and after[:1].isspace()
    return f"{head} {tail}".rstrip() if apart else head + tail


def replace_word(text: str, begin: int, word: str, new: str) -> str:
    """A template with one word replaced; capital of a first word, article and errors as in
    `remove_word`.
    """
    before, after = _split_at_word(text, begin, word)
    if not _RUN.search(before) and word[0].isupper():
        new = _capitalise_first_word(new)
    return _agree_article(before, new) + new + after


def _split_at_word(text: str, begin: int, word: str) -> tuple[str, str]:
    """The text before a word, and the text after it."""
    end = begin + len(word)
    if not word or text[begin:end] != word:
        raise ValueError(f"{word!r} does not stand at {begin} of {text!r}")
    return text[:begin], text[end:]


def _agree_article(before: str, word: str) -> str:
    """The text before a word, with an article at its end that agrees with the word."""
    article = _ARTICLE.search(before)
    if not article:
        return before
    right = article_for(word)
    if article["article"][0] == "A":
        if _RUN.search(before, 0, article.start()):  # within a sentence it is no article: vitamin A
            return before
        right = right.capitalize()
    return before[: article.start()] + right + article["gap"]


def _capitalise_first_word(text: str) -> str:
    """A text whose first word has a capital; slots get theirs when they are filled."""
    first = _RUN.search(text)
    if not first:
        return text
    begin = first.start()
    capital = text[begin].upper()
    return text[:begin] + capital + text[begin + 1 :]


if TYPE_CHECKING:
    from spacy.tokens import Token

_NOUNS: Final = {ATTRIBUTE: "nurse", TARGET: "woman"}
_QUALITIES: Final = {ATTRIBUTE: "gentle", TARGET: "young"}
"""Fillers of slots, so that the parser reads a sentence."""

_NUMBER: Final = {"NN": 1, "NNP": 1, "VBZ": 1, "NNS": 2, "NNPS": 2, "VBP": 2}
"""1 for tags (Penn Treebank) of the singular, 2 for the plural; others do not show the number."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIMES: Final = frozenset((*_DAYS, "yesterday", "today", "tonight", "tomorrow", "nowadays"))
"""Nouns used as adverbs of time; listed, since the parser takes any noun at the start of a sentence
for one."""

_TIME_ADVERBS: Final = frozenset(
    (
        "afterwards",
        "before",
        "earlier",
        "formerly",
        "lately",
        "later",
        "now",
        "once",
        "previously",
        "recently",
        "then",
    )
)
"""Adverbs that may replace such a noun; "nearly" in "nearly I met her" may not."""


@dataclass(frozen=True)
class _Role:
    """The grammatical role of a word in its sentence."""

    kind: str
    relation: str
    number: int | None
    """1 (singular) or 2 (plural), where the form shows it."""
    case: str | None
    """Of a pronoun, where the form shows it."""

    def fits(self, other: "_Role") -> bool:
        """Whether words of these roles may replace each other; number and case count only where
        both are known.
        """
        if (self.kind, self.relation) != (other.kind, other.relation):
            return False
        fits_number = None in (self.number, other.number) or self.number == other.number
        fits_case = None in (self.case, other.case) or self.case == other.case
        return fits_number and fits_case


def same_role(parent: str, text: str, after: str) -> bool:
    """Whether a new word has the grammatical role in its template that the old one had in the
    parent.

    It has to be the same kind of word (noun, name, verb, adjective and so on), with the same
    dependency relation, and the same number and case where the form shows them. A participle used
    as an adjective counts as one, and a noun of time ("yesterday") as an adverb of time. Of
    interrogative and relative words ("who", "when") only "when" and "whenever" may replace each
    other.

    `after`: the text after the word in both. UserError where the package with spaCy's model is not
    installed.
    """
    return _word_role(parent, after).fits(_word_role(text, after))


def _word_role(text: str, after: str) -> _Role:
    """The role of the word that stands right before `after`, the end of a template."""
    words: dict[str, str] = {}
    for slot in (ATTRIBUTE, TARGET):
        is_quality = slot_word_class(slot, text) == "quality"
        words[slot] = _QUALITIES[slot] if is_quality else _NOUNS[slot]
    sentence = fill(text, words, "agree")
    end = len(sentence) - len(fill(after, words, "agree"))
    span = spacy_pipeline("lemmas")(sentence).char_span(end - 1, end, alignment_mode="expand")
    assert span is not None  # the range lies within the sentence
    word = span.root
    kind, relation = _kind_and_relation(word)
    case = next(iter(word.morph.get("Case", [])), None)
    return _Role(kind, relation, _NUMBER.get(word.tag_), case)


def _kind_and_relation(word: "Token") -> tuple[str, str]:
    """Kind and relation by tag and dependency, equal for words that may replace each other."""
    participle = word.tag_ in ("VBN", "VBG")
    if participle and any(child.dep_ == "auxpass" for child in word.children):
        return "adjective", "acomp"  # "surprised" depends on "be", but "be" on "astonished"
    if word.tag_.startswith("JJ") or (participle and word.dep_ in ("amod", "acomp", "attr")):
        return "adjective", "acomp" if word.dep_ == "attr" else word.dep_
    is_noun = word.dep_ == "npadvmod"
    is_adverb = word.dep_ == "advmod" and word.tag_.startswith("RB")
    if (is_noun and word.lower_ in _TIMES) or (is_adverb and word.lower_ in _TIME_ADVERBS):
        return "time", "advmod"
    # no two of these mean the same: "whom" and "who", "where" and "when"
    if word.tag_.startswith("W"):
        return "when" if word.lower_ == "whenever" else word.lower_, word.dep_
    if word.pos_ == "PROPN":
        return "name", word.dep_
    kind = word.tag_ if word.tag_.endswith("$") else word.tag_[:2]
    return kind, word.dep_
