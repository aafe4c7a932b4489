"""The main clause of a parsed sentence, and its phrases in words that fit into another sentence."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from evenruler.instruments.saged.rows.english import PARTICLES, UNCHANGED, is_national
from evenruler.text.pipeline import pipeline
from evenruler.text.whole_words import find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

UNSPOKEN = ("PRP", "PRP$", "EX", "WP", "WDT", "WP$", "``", "''", "-LRB-", "-RRB-", ":")
"""Tags of words that mean nothing apart from their sentence."""

_ASIDES = ("relcl", "appos", "acl", "parataxis")
_LOWERED = ("DT", "PDT", "IN", "CD", "NN", "NNS", "CC", "RB", "RBS", "JJ", "JJS", "JJR", "VBG", "VBN")
_DASHES = ("-", "\u2013")
_DO = {"VBZ": "does", "VBP": "do", "VB": "do", "VBD": "did"}
_PLURAL = ("NNS", "NNPS")
_AUXILIARIES = (
    *("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "does", "do", "did"),
    *("can", "could", "will", "would", "may", "might", "must", "shall", "should"),
)


class Clause(NamedTuple):
    """The main clause of a sentence."""

    root: "Token"
    subject: "Token"
    auxiliaries: "list[Token]"
    negated: bool
    operator: str
    """What stands before the subject in a question ("does", "has", "is"); empty where the tense is unknown."""
    topic: str
    """The subject in words, without asides; empty where it cannot be said apart from its sentence."""

    def asked(self, word: str, end: str = "") -> str:
        """A question in this clause's tense: the word, the operator, the subject, the rest of the verb, the end."""
        if self.auxiliaries:
            verb = " ".join([*(token.lower_ for token in self.auxiliaries[1:]), self.root.lower_])
        else:
            verb = "" if self.root.lemma_ == "be" else self.root.lemma_
        said = [word, self.operator, self.topic, "not" if self.negated else "", verb, self.particle, end]
        return " ".join(filter(None, said)) + "?"

    @property
    def particle(self) -> str:
        """What belongs to the verb and stands behind it ("up", "together"); may be empty."""
        return " ".join(token.lower_ for token in self.root.rights if is_particle(token))


def main_clause(doc: "Doc", keyword: str) -> Clause | None:
    """The main clause, if it is a statement with a subject before a verb whose form is plain."""
    root = next(token for token in doc if token.head == token)
    subject = next((token for token in root.lefts if token.dep_ in ("nsubj", "nsubjpass")), None)
    auxiliaries = [token for token in root.lefts if token.dep_ in ("aux", "auxpass")]
    if subject is None or any(token.i < subject.i or token.lower_ not in _AUXILIARIES for token in auxiliaries):
        return None
    if (not auxiliaries and root.tag_ not in _DO) or root.lower_.startswith(("'", "\u2019")):
        return None
    if root.lemma_ == "have" and _next_word(root).tag_ == "VBN":
        return None  # a perfect ("have observed birds") that was taken for a possession
    marks = [token for token in doc[subject.i : root.i] if token.text == ","]
    if not auxiliaries and root.tag_ == "VBD" and root.lemma_ != "be" and len(marks) % 2:
        return None  # a participle in an aside ("a mosque, also called a masjid, is")
    negated = any(token.dep_ == "neg" for token in root.children)
    return Clause(
        root, subject, auxiliaries, negated, _operator(root, subject, auxiliaries), phrase(kept(subject), keyword)
    )


def _operator(root: "Token", subject: "Token", auxiliaries: "list[Token]") -> str:
    if auxiliaries:
        return auxiliaries[0].lower_
    if root.lemma_ == "be":
        return root.lower_
    if root.lower_ not in UNCHANGED:
        return _DO[root.tag_]
    return "" if subject.tag_ in _PLURAL or subject.conjuncts else "did"  # of one the present would be "puts"


def is_particle(token: "Token") -> bool:
    """Whether a word behind a verb belongs to it."""
    return token.dep_ == "prt" or (token.dep_ == "advmod" and token.lower_ in PARTICLES and token.i == token.head.i + 1)


def kept(head: "Token") -> "list[Token]":
    """The words under a head, without asides and the marks around them."""
    aside = {
        inner
        for token in head.subtree
        if token.dep_ in _ASIDES and token != head and _after_mark(token)
        for inner in token.subtree
    }
    words = [token for token in head.subtree if token not in aside]
    while words and words[-1].is_punct:
        words.pop()
    while words and words[0].is_punct:
        words.pop(0)
    while words and _is_joined(words[-1]):  # "Marxism" of "Marxism-Leninism"
        end = words[-1].i
        words += [words[-1].doc[end + 1], words[-1].doc[end + 2]]
    return words


def phrase(tokens: "list[Token]", keyword: str) -> str:
    """Words as they stand inside a question; empty where they would not do there.

    The first word of a sentence is written small unless it is a name; a keyword there is written as it was declared.
    """
    if not tokens or len(tokens) <= tokens[-1].i - tokens[0].i or any(map(_is_unspoken, tokens)):
        return ""
    text = "".join(token.text_with_ws for token in tokens).strip()
    first = tokens[0]
    if any(token.is_alpha for token in first.doc[: first.i]):
        return text
    if any(match.begin == first.idx for match in find(first.doc.text, [keyword])):
        return keyword[0] + text[1:] if keyword[0].casefold() == text[0].casefold() else text
    if not first.is_title:
        return text
    if _is_doubtful(first):
        return ""
    return text[0].lower() + text[1:] if _is_small(first) else text


def _is_small(first: "Token") -> bool:
    """Whether a sentence's first word would be written small elsewhere."""
    if first.tag_ in _LOWERED:
        return first.tag_ != "JJ" or not is_national(first.text)
    # "Young" in "Young Aurelians" is taken for part of a name.
    return _qualifies(first) and not is_national(first.text) and first.lower_ in _known("adj")


def _is_doubtful(first: "Token") -> bool:
    """Whether a sentence's first word may be a name or not ("Park" in "Park rangers", "Ford" in "Ford workers")."""
    return first.tag_ == "NNP" and _qualifies(first) and first.lower_ in _known("verb") - _known("adj")


def _qualifies(first: "Token") -> bool:
    return first.i + 1 < len(first.doc) and first.nbor().tag_ in _PLURAL and first.head.i > first.i


@cache
def _known(kind: str) -> frozenset[str]:
    """The adjectives or verbs that the pipeline has a list of; names are among them."""
    lemmatizer = pipeline("questions").get_pipe("lemmatizer")
    return frozenset(lemmatizer.lookups.get_table("lemma_index")[kind])  # type: ignore[attr-defined]


def _is_unspoken(token: "Token") -> bool:
    if token.tag_ in ("WP", "WDT"):
        return not any(word.dep_ == "relcl" for word in token.ancestors)
    return token.tag_ in UNSPOKEN and not (token.i and _is_joined(token.nbor(-1)))


def _is_joined(token: "Token") -> bool:
    """Whether a dash without spaces joins a word and the next one."""
    dash, doc = token.i + 1, token.doc
    joined = dash + 1 < len(doc) and doc[dash].text in _DASHES and doc[dash + 1].is_alpha
    return joined and not token.whitespace_ and not doc[dash].whitespace_


def _after_mark(token: "Token") -> bool:
    before = token.left_edge.i - 1
    if before > 0 and _is_joined(token.doc[before - 1]):
        return False
    return token.left_edge.is_punct or (before >= 0 and token.doc[before].is_punct)


def _next_word(token: "Token") -> "Token":
    """The next word that is no adverb, or the last one."""
    return next((other for other in token.doc[token.i + 1 :] if other.tag_ != "RB"), token)
