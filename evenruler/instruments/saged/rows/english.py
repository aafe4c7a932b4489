"""English sentences as a parser sees them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenruler.text.pipeline import BATCH, pipeline

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


def parsed(sentences: Sequence[str], keywords: Sequence[str]) -> "list[Doc]":
    """Sentences with their dependency parse.

    A name that the model does not know turns the verb behind it into a noun ("Aurelia exports wool"). So where no
    subject of a main verb was found, or a one-word keyword is taken for part of a noun in the plural, the sentence is
    parsed once more with "it" in the keyword's place. That is taken if the keyword is then the subject of the main
    verb, which in the second case must be the very next word.

    Raises:
        UserError: The package with the model is not installed.
    """
    nlp = pipeline("splitting")
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
            docs[index].from_array(["TAG", "HEAD", "DEP"], read.to_array(["TAG", "HEAD", "DEP"]))
            docs[index][place].tag_ = "NNP"  # the keyword is a name again
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
