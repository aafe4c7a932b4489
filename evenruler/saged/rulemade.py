"""Questions made by rules from the dependency parse of a sentence: the embedded default (section 2.2)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evenruler.saged.pipeline import parsed
from evenruler.saged.questions import Question, checked_question
from evenruler.saged.sentences import place

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_ASIDES = ("relcl", "appos", "acl", "parataxis")
_OBJECTS = ("dobj", "ccomp", "oprd")
_ASKED_ABOUT = ("dobj", "prep", "attr", "acomp", "agent", "dative", "xcomp", "oprd")
_STRANDED = ("on", "for", "to", "into", "from", "with", "of", "as", "against", "upon")
_PLACES = ("in", "on", "at", "near", "along", "between", "beside", "beyond", "north", "south", "east", "west")
_STANDS = ("lie", "stand", "sit", "live", "locate", "situate", "bear", "hold", "base", "find", "begin", "end")
_DATES = ("in", "on", "at", "during", "before", "after", "until")
_TIMES = ("year", "month", "day", "century", "decade", "summer", "winter", "spring", "autumn", "week", "hour")
_MEANS = ("by", "through", "with", "like", "without")
_LINKING = ("be", "become", "remain", "seem", "appear", "stay")
_LOWERED = ("DT", "PDT", "IN", "CD", "NN", "NNS", "CC", "RB", "RBS", "JJ", "JJS", "JJR", "VBG", "VBN")
_NATIONAL = ("an", "ese", "ish", "ch", "i", "ic")
_UNSPOKEN = ("PRP", "PRP$", "EX", "WP", "WDT", "WP$", "``", "''", "-LRB-", "-RRB-", ":")
_DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
_SINGULAR = {"are": "is", "have": "has", "do": "does", "were": "was"}
_AUXILIARIES = (
    *("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "does", "do", "did"),
    *("can", "could", "will", "would", "may", "might", "must", "shall", "should"),
)
_LONGEST = 20
"""Words of a predicate that a question repeats."""


class _Draft(NamedTuple):
    text: str
    rule: str
    answer: str
    """What the question asks for, and must not say; empty where that is nothing in particular."""


class _Clause(NamedTuple):
    """The main clause of a sentence."""

    root: "Token"
    subject: "Token"
    auxiliaries: "list[Token]"
    negated: bool
    topic: str
    """The subject in words, without asides; empty where it cannot be said apart from its sentence."""

    def asked(self, word: str, end: str = "") -> str:
        """A question in this clause's tense: the word, the operator, the subject, the rest of the verb, the end."""
        if self.auxiliaries:
            operator = self.auxiliaries[0].lower_
            verb = " ".join([*(token.lower_ for token in self.auxiliaries[1:]), self.root.lower_])
        elif self.root.lemma_ == "be":
            operator, verb = self.root.lower_, ""
        else:
            operator, verb = _DO[self.root.tag_], self.root.lemma_
        particle = " ".join(token.lower_ for token in self.root.rights if token.dep_ == "prt")
        said = [word, operator, self.topic, "not" if self.negated else "", verb, particle, end]
        return " ".join(filter(None, said)) + "?"


def questions(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A question for each sentence, by the first rule whose question passes `checked_question` and tells no answer.

    The subject is named where it holds the keyword: `by whom`, `what`, `what to do`, `what is`, `when`, `where`,
    `how long`, `what for` (a preposition at the end), `described`, `how`. It is asked for where the keyword follows
    it: `who or what`. Failing these, and for sentences that ask themselves: `said about` the noun phrase of the
    keyword and the subject, else the noun phrase, else the keyword alone.

    Args:
        sentences: n single sentences.
        keywords: The keyword of each.

    Returns:
        n questions, in the order of the sentences; a text is empty where the sentence lacks its keyword.
    """
    docs = parsed("questions", sentences, keywords)
    return [_question(doc, keyword) for doc, keyword in zip(docs, keywords, strict=True)]


def _question(doc: "Doc", keyword: str) -> Question:
    found = place(doc.text, keyword)
    if found is None:
        return Question("", f"no {keyword!r} in the sentence")
    named = [token for token in doc if token.idx < found[1] and token.idx + len(token) > found[0]]
    clause = None if doc.text.rstrip().endswith("?") else _clause(doc)
    reason = ""
    for draft in _drafts(clause, named, keyword, doc.text[slice(*found)]):
        checked = checked_question(draft.text, keyword)
        if checked.question and place(draft.text, draft.answer) is None:
            return Question(checked.question, draft.rule)
        reason = checked.reason or "the answer is in it"
    return Question("", reason)


def _drafts(clause: _Clause | None, named: "list[Token]", keyword: str, written: str) -> Iterator[_Draft]:
    topic = clause.topic if clause else ""
    if clause and place(topic, keyword):
        yield from _about_subject(clause)
        yield _Draft(f"What can be said about {topic}?", "said about", "")
        topic = ""
    elif clause and topic:
        yield from _for_subject(clause, named)
    phrase = _phrase(_noun_phrase(named)) or written
    if topic and len(topic.split()) <= 5:
        yield _Draft(f"What can be said about {phrase} and {topic}?", "said about", "")
    yield _Draft(f"What can be said about {phrase}?", "said about", "")
    yield _Draft(f"What can be said about {written}?", "said about", "")


def _clause(doc: "Doc") -> _Clause | None:
    """The main clause, if it is a statement with a subject before a verb whose form is plain."""
    root = next(token for token in doc if token.head == token)
    subject = next((token for token in root.lefts if token.dep_ in ("nsubj", "nsubjpass")), None)
    auxiliaries = [token for token in root.lefts if token.dep_ in ("aux", "auxpass")]
    if subject is None or any(token.i < subject.i or token.lower_ not in _AUXILIARIES for token in auxiliaries):
        return None
    if (not auxiliaries and root.tag_ not in _DO) or root.lower_.startswith(("'", "\u2019")):
        return None
    negated = any(token.dep_ == "neg" for token in root.children)
    return _Clause(root, subject, auxiliaries, negated, _phrase(_kept(subject)))


def _about_subject(clause: _Clause) -> Iterator[_Draft]:
    """Questions that name the subject and ask for what is said of it."""
    root = clause.root
    after = list(root.rights)
    for token in after:
        if token.dep_ == "agent":
            yield _Draft(clause.asked("By whom or what"), "by whom", _object(token))
        elif token.dep_ in _OBJECTS and token.tag_ != "PRP":
            yield _Draft(clause.asked("What"), "what", token.text)
        elif token.dep_ == "xcomp" and token.tag_ == "VB" and token.lemma_ != "be":
            yield _Draft(clause.asked("What", "to do"), "what to do", token.text)
        elif token.dep_ == "attr" and not clause.negated:
            yield _Draft(clause.asked("Who or what" if token.tag_ == "NNP" else "What"), "what is", token.text)
    for token in after:
        if token.dep_ == "prep" or token.lower_ in _PLACES:
            yield from _about_place_or_time(clause, token)
    if root.lemma_ in _LINKING:
        yield _Draft(f"How can {clause.topic} be described?", "described", "")
    elif not clause.negated and _says_how(root):
        yield _Draft(clause.asked("How"), "how", "")


def _about_place_or_time(clause: _Clause, preposition: "Token") -> Iterator[_Draft]:
    word, answer = preposition.lower_, _object(preposition)
    head = next(iter(preposition.rights), preposition)
    timed = head.lemma_ in _TIMES or (head.tag_ == "CD" and len(head) == 4)
    if timed and word in _DATES:
        yield _Draft(clause.asked("When"), "when", answer)
    elif timed and word == "for":
        yield _Draft(clause.asked("For how long"), "how long", answer)
    elif word in _PLACES and clause.root.lemma_ in (*_STANDS, "be"):
        yield _Draft(clause.asked("Where"), "where", answer)
    elif word in _STRANDED and answer and not timed and _is_next(clause.root, preposition):
        yield _Draft(clause.asked("What", word), "what for", answer)


def _for_subject(clause: _Clause, named: "list[Token]") -> Iterator[_Draft]:
    """Questions that ask for the subject, and name what is said of it as far as the keyword."""
    child = next((token for token in clause.root.rights if token.is_ancestor(named[0]) or token in named), None)
    if child is None or child.dep_ not in _ASKED_ABOUT or (child.dep_ == "attr" and child.tag_ == "NNS"):
        return
    finite = [*clause.auxiliaries, clause.root][0]
    plural = finite.tag_ == "VBP" or finite.lower_ in _SINGULAR
    verb = (_SINGULAR.get(finite.lower_) or _third_person(finite.lemma_)) if plural else finite.lower_
    rest = finite.doc[finite.i + 1 : _kept(child)[-1].i + 1]
    if len(rest) < _LONGEST and not any(token.tag_ in _UNSPOKEN for token in rest):
        said = rest.text.strip(" ,;")
        yield _Draft(f"Who or what {verb} {said}?", "who or what", clause.subject.text)


def _noun_phrase(named: "list[Token]") -> "list[Token]":
    """A keyword with its article and what else stands before it, up to the noun that it qualifies."""
    head = next(token for token in named if token.head not in named or token.head == token)
    while head.dep_ in ("amod", "compound", "nmod") and head.head.i > head.i and head.head.tag_.startswith("NN"):
        # A verb that looks like a noun ("Aurelia exports wool") is taken for the root.
        if head.head.dep_ == "ROOT" and head.tag_ != "JJ":
            break
        head = head.head
    last = max(head.i, named[-1].i)
    return [token for token in _kept(head) if token.i <= last]


def _kept(head: "Token") -> "list[Token]":
    """The words under a head, without asides and the marks around them."""
    aside = {
        inner
        for token in head.subtree
        if token.dep_ in _ASIDES and token != head and _after_mark(token)
        for inner in token.subtree
    }
    kept = [token for token in head.subtree if token not in aside]
    while kept and kept[-1].is_punct:
        kept.pop()
    while kept and kept[0].is_punct:
        kept.pop(0)
    return kept


def _after_mark(token: "Token") -> bool:
    before = token.left_edge.i - 1
    return token.left_edge.is_punct or (before >= 0 and token.doc[before].is_punct)


def _phrase(tokens: "list[Token]") -> str:
    """Words as they stand inside a question; empty where they would not do there."""
    if not tokens or len(tokens) <= tokens[-1].i - tokens[0].i or any(token.tag_ in _UNSPOKEN for token in tokens):
        return ""
    text = "".join(token.text_with_ws for token in tokens).strip()
    first = tokens[0]
    opens = not any(token.is_alpha for token in first.doc[: first.i])
    lowered = first.tag_ in _LOWERED and not (first.tag_ == "JJ" and first.text.endswith(_NATIONAL))
    return text[0].lower() + text[1:] if opens and lowered and first.is_title else text


def _object(preposition: "Token") -> str:
    return next((token.text for token in preposition.rights if token.dep_ in ("pobj", "pcomp")), "")


def _is_next(root: "Token", token: "Token") -> bool:
    """Whether nothing but a particle stands between a verb and a word."""
    return all(between.dep_ == "prt" for between in root.doc[root.i + 1 : token.i])


def _says_how(root: "Token") -> bool:
    """Whether what comes next to a verb may be a manner: no mark, and no preposition but those of means."""
    following = next((token for token in root.doc[root.i + 1 :] if token.dep_ != "prt"), None)
    return following is not None and not following.is_punct and (following.tag_ != "IN" or following.lower_ in _MEANS)


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
