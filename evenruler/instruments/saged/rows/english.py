"""English sentences as a parser sees them: words, their forms, and the main clause."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evenruler.strict import read_yaml
from evenruler.text.pipeline import BATCH, Purpose, pipeline
from evenruler.text.whole_words import find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in read_yaml(Path(__file__).with_name("words.yaml")).items()
}
"""Lists of words by name; the file says what each is for."""

_OF_PEOPLE = ("ist", "ician", "grapher", "woman", "sman", "maker", "writer")
_NATIONAL = ("ese", "i", "an")
_NATIONS_IN_ARIAN = ("bulgarian", "hungarian", "bavarian")


def is_national(adjective: str) -> bool:
    """Whether an adjective is, by its look, of a place or people and keeps its capital ("Aurelian", "French")."""
    word = adjective.lower()
    if word.endswith("arian") and word not in _NATIONS_IN_ARIAN:
        return False
    return word in WORDS["nations"] or (word.endswith(_NATIONAL) and word not in WORDS["no_nations"])


def asks_whom(nouns: list[str], counted: str = "") -> str:
    """Asks "Whom" of people, "Whom or what" where the first of an object's nouns is one alone, else "What".

    `counted`: what the first one says the number of ("people" in "thousands of people"); nouns are in the singular.
    """
    first = counted if counted and nouns[0] in WORDS["quantities"] else nouns[0]
    people = [_is_person(noun) for noun in (first, *nouns[1:])]
    if not people[0]:
        return "What"
    return "Whom" if all(people) else "Whom or what"


def asks_who(noun: str) -> str:
    """The word that asks who or what somebody is, of whom a noun (in the singular) is said."""
    return "Who" if _is_person(noun) and noun not in WORDS["groups"] else "What"


def _is_person(noun: str) -> bool:
    return noun in WORDS["people"] or (
        noun.endswith(_OF_PEOPLE) and len(noun) > len("twist") and noun not in WORDS["no_people"]
    )


def says_when(noun: str) -> bool:
    """Whether a noun (in the singular), or a year, says when or for how long."""
    return noun in WORDS["times"] or (noun.isdecimal() and len(noun) == 4)


def parsed(purpose: Purpose, sentences: Sequence[str], keywords: Sequence[str]) -> "list[Doc]":
    """Sentences with their dependency parse.

    A name that the model does not know turns the verb behind it into a noun ("Aurelia exports wool"). So where no
    subject of a main verb was found, or a one-word keyword is taken for part of a noun in the plural, the sentence is
    parsed once more with "it" in the keyword's place. That is taken if the keyword is then the subject of the main
    verb, which in the second case must be the very next word.

    Raises:
        UserError: The package with the model is not installed.
    """
    nlp = pipeline(purpose)
    docs = list(nlp.pipe(sentences, batch_size=BATCH))
    doubtful = {
        index: token.i
        for index, (doc, keyword) in enumerate(zip(docs, keywords, strict=True))
        for token in doc[:-1]
        if token.lower_ == keyword.lower() and token.tag_ == "NNP" and token.nbor().is_alpha
        if not _has_main_clause(doc) or (token.dep_ == "compound" and token.nbor().tag_ == "NNS")
    }
    again = nlp.pipe([_with_it(docs[index], place) for index, place in doubtful.items()], batch_size=BATCH)
    for (index, place), read in zip(doubtful.items(), again, strict=True):
        verb = read[place].head
        near = verb.i == place + 1 or not _has_main_clause(docs[index])
        if near and read[place].dep_ == "nsubj" and _is_main_verb(verb):
            # A document with what was read of its likeness; the keyword is a name again.
            doc = docs[index]
            from spacy.tokens import Doc

            lemmas, tags = [token.lemma_ for token in read], [token.tag_ for token in read]
            lemmas[place], tags[place] = doc[place].lemma_, "NNP"
            docs[index] = Doc(
                doc.vocab,
                words=[token.text for token in doc],
                spaces=[bool(token.whitespace_) for token in doc],
                tags=tags,
                lemmas=lemmas,
                heads=[token.head.i for token in read],
                deps=[token.dep_ for token in read],
            )
    return docs


def _has_main_clause(doc: "Doc") -> bool:
    return any(token.dep_ in ("nsubj", "nsubjpass", "expl") and _is_main_verb(token.head) for token in doc)


def _is_main_verb(token: "Token") -> bool:
    return token.head == token and token.tag_.startswith("VB")


def _with_it(doc: "Doc", place: int) -> "Doc":
    from spacy.tokens import Doc

    words = [token.text for token in doc]
    words[place] = "It" if place == 0 else "it"
    return Doc(doc.vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])


UNSPOKEN = ("PRP", "PRP$", "EX", "WP", "WDT", "WP$", "``", "''", "-LRB-", "-RRB-", ":")
"""Tags of words that mean nothing apart from their sentence."""

_ASIDES = ("relcl", "appos", "acl", "parataxis")
_LOWERED = ("DT", "PDT", "IN", "CD", "NN", "NNS", "CC", "RB", "RBS", "JJ", "JJS", "JJR", "VBG", "VBN")
_DASHES = ("-", "\u2013")
_DO = {"VBZ": "does", "VBP": "do", "VB": "do", "VBD": "did"}
_PLURAL = ("NNS", "NNPS")


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
    if subject is None or any(token.i < subject.i or token.lower_ not in WORDS["auxiliaries"] for token in auxiliaries):
        return None
    if (not auxiliaries and root.tag_ not in _DO) or root.lower_.startswith(("'", "\u2019")):
        return None
    behind = next((token for token in doc[root.i + 1 :] if token.tag_ != "RB"), root)
    if root.lemma_ == "have" and behind.tag_ == "VBN":
        return None  # a perfect ("have observed birds") that was taken for a possession
    marks = [token for token in doc[subject.i : root.i] if token.text == ","]
    if not auxiliaries and root.tag_ == "VBD" and root.lemma_ != "be" and len(marks) % 2:
        return None  # a participle in an aside ("a mosque, also called a masjid, is")
    negated, operator = any(token.dep_ == "neg" for token in root.children), _operator(root, subject, auxiliaries)
    return Clause(root, subject, auxiliaries, negated, operator, phrase(kept(subject), keyword))


def _operator(root: "Token", subject: "Token", auxiliaries: "list[Token]") -> str:
    if auxiliaries:
        return auxiliaries[0].lower_
    if root.lemma_ == "be":
        return root.lower_
    if root.lower_ not in WORDS["unchanged"]:
        return _DO[root.tag_]
    return "" if subject.tag_ in _PLURAL or subject.conjuncts else "did"  # of one the present would be "puts"


def is_particle(token: "Token") -> bool:
    """Whether a word behind a verb belongs to it."""
    return token.dep_ == "prt" or (
        token.dep_ == "advmod" and token.lower_ in WORDS["particles"] and token.i == token.head.i + 1
    )


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
    # It may be a name or not ("Park" in "Park rangers", "Ford" in "Ford workers").
    if first.tag_ == "NNP" and _qualifies(first) and first.lower_ in _known("verb") - _known("adj"):
        return ""
    return text[0].lower() + text[1:] if _is_small(first) else text


def _is_small(first: "Token") -> bool:
    """Whether a sentence's first word would be written small elsewhere."""
    if first.tag_ in _LOWERED:
        return first.tag_ != "JJ" or not is_national(first.text)
    # "Young" in "Young Aurelians" is taken for part of a name.
    return _qualifies(first) and not is_national(first.text) and first.lower_ in _known("adj")


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
