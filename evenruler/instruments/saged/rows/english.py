"""English sentences: their dependency parse, and their split into two parts."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evenruler.text.english import BATCH, pipeline
from evenruler.text.whole_words import Match, find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


def parsed(sentences: Sequence[str], keywords: Sequence[str]) -> "list[Doc]":
    """Sentences with their dependency parse.

    A name that the model does not know turns the verb after it into a noun ("Aurelia exports wool"). So where no
    subject of a main verb was found, or a one-word keyword is parsed as part of a plural noun, the sentence is parsed
    again with "it" in place of the keyword. That parse is used if the keyword is then the subject of the main verb,
    which in the second case must be the very next word. UserError where the model is not installed.
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
            seen = read.to_array(["TAG", "HEAD", "DEP"])
            docs[index].from_array(["TAG", "HEAD", "DEP"], seen)  # type: ignore[arg-type]
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


LEAST = 3  # fewest words after the cut: with fewer there is little to compare a reply with

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_BOUNDARY = re.compile(r"(?<=\S)(?=\s)|(?<=\w)(?=\u2014)")
_CLOSERS = {'"': '"', ")": "(", "]": "[", "}": "{", "\u201d": "\u201c", "\u00bb": "\u00ab"}
_GROUP = ("aux", "auxpass", "neg", "prt")
_QUALIFYING = ("amod", "compound", "nmod", "poss", "nummod")


def split(sentences: Sequence[str], keywords: Sequence[str]) -> list[str]:
    """The beginnings of sentences, up to the root verb with its auxiliaries, negation and particle.

    Where that leaves fewer than `LEAST` words, or the root is no verb, the cut is after the first verb, and failing
    that after the middle word. The beginning contains the keyword: a cut before it moves behind it, and behind the noun
    that it qualifies. A cut inside quotes or brackets moves to the nearest place outside them that keeps the keyword,
    later ones first. Beginnings have no trailing space; they are empty where no cut is possible.
    """
    docs = parsed(sentences, keywords)
    return [text[: _cut(doc, text, word)] for doc, text, word in zip(docs, sentences, keywords, strict=True)]


def _cut(doc: "Doc", sentence: str, keyword: str) -> int:
    words = [match.start() for match in _WORD.finditer(sentence)]
    if len(words) <= LEAST:
        return 0
    places = (match.start() for match in _BOUNDARY.finditer(sentence))
    behind = max(words[0] + 1, _end_of(doc, next(iter(find(sentence, [keyword])), None)))
    cuts = [place for place in places if behind <= place <= words[-LEAST]]
    if not cuts:
        return 0
    wanted = next((end for end in _ends_of_verbs(doc) if end <= cuts[-1]), words[(len(words) - 1) // 2])
    outside = [cut for cut in cuts if not _open(sentence[:cut])] or cuts
    return next((cut for cut in outside if cut >= wanted), outside[-1])


def _end_of(doc: "Doc", keyword: Match | None) -> int:
    """Where a keyword ends, with the noun that it qualifies ("the American people"); 0 where there is none."""
    if keyword is None:
        return 0
    qualifying = (token for token in doc if keyword.begin <= token.idx < keyword.end and token.dep_ in _QUALIFYING)
    nouns = (token.head for token in qualifying if token.head.idx > token.idx)
    return max([keyword.end, *(noun.idx + len(noun) for noun in nouns)])


def _ends_of_verbs(doc: "Doc") -> Iterator[int]:
    """Ends of the root, if a verb, and of the first verb, each with adjacent auxiliaries, negation and particle."""
    verbs = [token for token in doc if token.tag_.startswith(("VB", "MD"))]
    root = next(token for token in doc if token.head == token and not token.is_space)
    for verb in [*([root] if root in verbs else []), *verbs[:1]]:
        last, head = verb, verb.head if verb.dep_ in _GROUP else verb
        for token in doc[verb.i + 1 :]:
            if token != head and not (token.head == head and token.dep_ in _GROUP):
                break
            last = token
        yield last.idx + len(last)


def _open(text: str) -> bool:
    """Whether a text ends inside quotes or brackets. Single quotes are taken for apostrophes."""
    stack: list[str] = []
    for character in text:
        if stack and stack[-1] == _CLOSERS.get(character):
            stack.pop()
        elif character in _CLOSERS.values():
            stack.append(character)
    return bool(stack)
