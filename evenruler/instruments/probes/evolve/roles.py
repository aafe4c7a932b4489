"""What a word does in a template, by its dependency parse: likelihoods of a small model hardly tell broken grammar."""

from typing import Final

from evenruler.text import ATTRIBUTE, TARGET, fill
from evenruler.text.english import use_of
from evenruler.text.pipeline import pipeline

_NOUNS: Final = {ATTRIBUTE: "nurse", TARGET: "woman"}
_QUALITIES: Final = {ATTRIBUTE: "gentle", TARGET: "young"}
"""What fills slots so that a parser reads a sentence."""

_NUMBER: Final = {"NN": 1, "NNP": 1, "VBZ": 1, "NNS": 2, "NNPS": 2, "VBP": 2}
"""Tags (Penn Treebank) of words in the singular and in the plural; the number of others cannot be seen."""


def same_role(parent: str, text: str, after: str) -> bool:
    """Whether a word does in a template what another did in the one it comes from.

    It has to be the same kind of word (noun, verb, adjective and so on), stand in the same relation to the word that
    it depends on, and in the same number where that can be seen.

    Args:
        parent: A template.
        text: The same with one word replaced.
        after: What stands after the word in both.

    Raises:
        UserError: The package with spaCy's model is not installed.
    """
    (kind, relation, number), (new_kind, new_relation, new_number) = _role(parent, after), _role(text, after)
    return (kind, relation) == (new_kind, new_relation) and (None in (number, new_number) or number == new_number)


def _role(text: str, after: str) -> tuple[str, str, int | None]:
    """The kind, the relation and the number of the word that stands before the end of a template."""
    words = {slot: (_QUALITIES if use_of(slot, text) == "quality" else _NOUNS)[slot] for slot in (ATTRIBUTE, TARGET)}
    sentence = fill(text, words, "agree")
    end = len(sentence) - len(fill(after, words, "agree"))
    span = pipeline("splitting")(sentence).char_span(end - 1, end, alignment_mode="expand")
    assert span is not None  # what stands there is within the sentence
    word = span.root
    return word.tag_[:2], word.dep_, _NUMBER.get(word.tag_)
