"""Which sentences can be branched to which concepts: the others would be nonsense, and are rejected with a reason."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenruler.instruments.saged.build.english import is_national
from evenruler.instruments.saged.build.parsing import parsed
from evenruler.instruments.saged.declare.replacements import Replacements
from evenruler.text.whole_words import finder

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

NOTHING = "nothing in it is replaced"
OTHER = "a word of another concept stands in it"
DOUBTFUL = "a word of its concept stands in it in another form or in a longer name"
DERIVED = "a word made of a word of its concept stands in it"
LIKENESS = "a word of its concept says what something is like in it"
VERB = "a word of its concept is a verb in it"
ARTICLE = "the replacement does not go with the article or adjective before it"
NOUN = "the replacement does not go with the noun behind it"
TERM = "a word of its concept ends a term in it"
ADJECTIVE = "an adjective of its concept is a noun in it"
LANGUAGE = "an adjective of its concept is a language in it"
"""Why a sentence is not branched; each is followed by the words at fault."""

_OF_LANGUAGES = (
    "alphabet dialect grammar language linguist orthography phrase pronunciation speaker term translation verb word"
)
_ADJECTIVAL = ("ish", "ic", "ese", "ch", "ss")
_STEM = 5
"""Letters from which on a word is looked for inside others."""

_OF_KINDS = ("al", "ic", "il", "ar", "ary")
"""Endings of adjectives that say of what kind a thing is."""

_PLACES = "japan iran sudan oman jordan bhutan taiwan haiti fiji mali malawi brunei"
"""Names of places that look like adjectives."""


def unfit(
    sentence: str, keyword: str, maps: Mapping[str, Replacements], own: Collection[str], others: Collection[str]
) -> dict[str, str]:
    """The branches that a sentence cannot be branched to, and why.

    Args:
        sentence: A single one.
        keyword: The one that it was found by.
        maps: Replacements by branch.
        own: All words of its concept.
        others: All words of other concepts.
    """
    reason = _of_sentence(sentence, own, others)
    if reason:
        return dict.fromkeys(maps, reason)
    doc = parsed("splitting", [sentence], [keyword])[0] if sentence else None
    found = {}
    for branch, replacements in maps.items():
        places = finder(replacements.key).matches(sentence)
        faults = [
            fault
            for place in places
            if doc and (fault := _Place.of(doc, place.begin, place.end).fault(place.word, replacements))
        ]
        if not places or faults:
            found[branch] = faults[0] if faults else NOTHING
    return found


def _of_sentence(sentence: str, own: Collection[str], others: Collection[str]) -> str:
    """What keeps a sentence from all branches: its words stand there as others, or another concept's do."""
    foreign = set(others) - set(own)
    sought = finder(tuple(sorted({*own, *foreign})))
    for match in sought.anywhere(sentence):
        if match.word in foreign:
            return f"{OTHER}: {sentence[match.begin : match.end]!r}"
    for match in sought.doubtful(sentence):
        return f"{DOUBTFUL}: {sentence[match.begin : match.end]!r}"
    derived = _derived(sentence, own)
    return f"{DERIVED}: {derived!r}" if derived else ""


def _derived(sentence: str, own: Collection[str]) -> str:
    """A word in which one of a concept's words is a part ("Islamism"); empty where there is none."""
    long = [word.casefold() for word in own if len(word) >= _STEM and word.isalpha()]
    known = {word.casefold() for word in own} | {f"{word}s" for word in long}
    stems = [word.removesuffix("e") for word in long]  # "nursing"
    words = re.findall(r"\w+", sentence)
    return next(
        (word for word in words if word.casefold() not in known and any(stem in word.casefold() for stem in stems)), ""
    )


@dataclass(frozen=True)
class _Place:
    """A word to be replaced as the parser sees it."""

    span: "Span"
    head: "Token"
    noun: "Token | None"
    """The noun behind it that it qualifies."""

    @classmethod
    def of(cls, doc: "Doc", begin: int, end: int) -> "_Place":
        span = doc.char_span(begin, end, alignment_mode="expand") or doc[:]  # never the latter
        named = span[1:] if len(span) > 1 and span[0].lower_ == "the" else span
        head = first = named.root
        while first.dep_ == "conj":  # "French and Spanish wines"
            first = first.head
        qualifies = first.dep_ in ("amod", "compound", "nmod") and first.head.i > span.end - 1
        return cls(span, head, first.head if qualifies else None)

    def fault(self, word: str, replacements: Replacements) -> str:
        """Why a word cannot be replaced here; empty where it can."""
        given = replacements.words[word]
        fault = self._of_kind(word, given) or self._of_articles(word, given, replacements)
        return f"{fault}: {self.span.text!r} by {given!r}" if fault else ""

    def _of_kind(self, word: str, given: str) -> str:
        if word.islower() and self.head.tag_.startswith("VB"):
            return VERB
        if (word.islower() or word.endswith("ism")) and self._is_term:
            return TERM
        if word.islower() and self.head.tag_ == "JJ" and self.head.dep_ in ("acomp", "oprd"):
            return LIKENESS
        if _is_adjective(word) and self._is_language:
            return LANGUAGE
        is_noun = self._is_subject or (self.noun is None and not self._joined and not self._is_predicate)
        return ADJECTIVE if is_noun and (_is_adjective(word) or _is_adjective(given)) else ""

    def _of_articles(self, word: str, given: str, replacements: Replacements) -> str:
        if word.islower():
            return ""
        brings, has = _has_the(given), _has_the(word)
        before = self.span[0].nbor(-1).lower_ if self.span.start else ""
        if brings and (self._joined or self._is_described(before)):
            return ARTICLE
        if (has or word.isupper()) and not brings and self.noun is not None:
            return NOUN
        plural = word.endswith("s") and word[:-1] in replacements.words and given.endswith("s")
        bare = before == "the" and self.noun is None and not self._joined
        return ARTICLE if bare and not (brings or has or plural or _is_adjective(word)) else ""

    def _is_described(self, before: str) -> bool:
        """Whether an adjective or "a" keeps "the" from standing here ("modern", "a")."""
        if before == "the":
            return False
        if before in ("a", "an"):
            return self.noun is None
        lefts = [token for token in self.head.lefts if token.i < self.span.start]
        adjective = self.span.start and self.span[0].nbor(-1).tag_ in ("JJ", "JJR", "JJS")
        return bool(adjective) or any(
            token.dep_ in ("amod", "compound", "nmod", "nummod", "poss", "det") for token in lefts
        )

    @property
    def _is_term(self) -> bool:
        """Whether what stands before it says what kind it is of ("audio engineer", "civil engineer")."""
        if not self.span.start:
            return False
        before = self.span[0].nbor(-1)
        kind = before.tag_ == "JJ" and before.text.endswith(_OF_KINDS)
        if before.i == 0:
            return before.tag_ in ("NN", "NNS", "NNP") or kind or before.text.endswith(_OF_KINDS)
        return before.is_lower and (before.tag_ in ("NN", "NNS") or kind)

    @property
    def _joined(self) -> bool:
        """Whether a dash joins it to the word behind it ("Aurelian-made")."""
        doc, end = self.span.doc, self.span.end
        return end < len(doc) and doc[end].text in ("-", "\u2013") and not doc[end - 1].whitespace_

    @property
    def _is_language(self) -> bool:
        doc, end = self.span.doc, self.span.end
        behind = doc[end : end + 2].text.lower()
        if behind.startswith((":", "-spe", "-lan", "\u2013spe")):
            return True
        return self.noun is not None and self.noun.lower_.rstrip("s") in _OF_LANGUAGES.split()

    @property
    def _is_subject(self) -> bool:
        """Whether the verb behind it was taken for a noun ("The French love wool")."""
        before = self.span[0].nbor(-1).lower_ if self.span.start else ""
        return before == "the" and not any(token.tag_.startswith(("VB", "MD")) for token in self.span.doc)

    @property
    def _is_predicate(self) -> bool:
        """Whether it says what something is like ("is Aurelian")."""
        return self.head.tag_ == "JJ" and self.head.dep_ in ("acomp", "oprd", "attr") and not any(self.head.lefts)


def _has_the(name: str) -> bool:
    return name[:4].lower() == "the "


def _is_adjective(word: str) -> bool:
    """Whether a word is, by its look, an adjective of a place, people or religion."""
    last = word.split()[-1]
    if not last[0].isupper() or last.lower() in _PLACES.split() or last.endswith("stan"):
        return False
    return is_national(last) or last.endswith(_ADJECTIVAL)
