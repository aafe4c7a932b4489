"""What a word does in a template, by its dependency parse: likelihoods of a small model hardly tell broken grammar."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenruler.text import ATTRIBUTE, TARGET, fill
from evenruler.text.english import use_of
from evenruler.text.pipeline import pipeline

if TYPE_CHECKING:
    from spacy.tokens import Token

_NOUNS: Final = {ATTRIBUTE: "nurse", TARGET: "woman"}
_QUALITIES: Final = {ATTRIBUTE: "gentle", TARGET: "young"}
"""What fills slots so that a parser reads a sentence."""

_NUMBER: Final = {"NN": 1, "NNP": 1, "VBZ": 1, "NNS": 2, "NNPS": 2, "VBP": 2}
"""Tags (Penn Treebank) of words in the singular and in the plural; the number of others cannot be seen."""

_TIMES: Final = frozenset(
    (
        *("yesterday", "today", "tonight", "tomorrow", "nowadays"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    )
)
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
        return same and all(None in pair or len(set(pair)) == 1 for pair in seen)


def same_role(parent: str, text: str, after: str) -> bool:
    """Whether a word does in a template what another did in the one it comes from.

    It has to be the same kind of word (noun, name, verb, adjective and so on), stand in the same relation to the word
    that it depends on, and in the same number and case where these can be seen. A participle counts as an adjective
    where it stands like one, and a noun that says when ("yesterday") as an adverb of time. Of words that ask or refer
    ("who", "when") only "when" and "whenever" may take each other's place.

    Args:
        parent: A template.
        text: The same with one word replaced.
        after: What stands after the word in both.

    Raises:
        UserError: The package with spaCy's model is not installed.
    """
    return _role(parent, after).fits(_role(text, after))


def _role(text: str, after: str) -> _Role:
    """Of the word that stands before the end of a template."""
    words = {slot: (_QUALITIES if use_of(slot, text) == "quality" else _NOUNS)[slot] for slot in (ATTRIBUTE, TARGET)}
    sentence = fill(text, words, "agree")
    end = len(sentence) - len(fill(after, words, "agree"))
    span = pipeline("questions")(sentence).char_span(end - 1, end, alignment_mode="expand")
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
