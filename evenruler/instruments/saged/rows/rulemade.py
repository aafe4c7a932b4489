"""Questions made by rules from the dependency parse of a sentence: the embedded default (section 2.2).

Only what rules do well is left to them: a plain statement whose subject holds the keyword is asked for its object. What
they cannot ask is no item; a language model asks about any sentence.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evenruler.instruments.saged.rows import english
from evenruler.instruments.saged.rows.clauses import Clause, is_particle, main_clause
from evenruler.instruments.saged.rows.parsing import parsed
from evenruler.instruments.saged.rows.questions import Question, checked_question
from evenruler.text.whole_words import find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NO_RULE = "no rule makes a question of it"

_STRANDED = ("on", "for", "to", "into", "from", "of", "as", "against", "upon", "about")
"""Prepositions that end a question; "with" says how too often ("look ahead with confidence")."""

_GIVING = ("give", "grant", "lend", "offer", "sell", "send")


class _Draft(NamedTuple):
    text: str
    rule: str
    answer: str
    """What the question asks for, and must not say."""


def questions(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A question for each sentence, by the first rule whose question passes `checked_question` and tells no answer.

    The rules, in the order of the words behind the verb: `what` (or whom), `what to do`, `what is`; failing these
    `what for` (a preposition at the end).

    Args:
        sentences: n single sentences.
        keywords: The keyword of each, which is written so where the sentence begins with it.

    Returns:
        n questions, in the order of the sentences; a text is empty where no rule makes one.
    """
    docs = parsed("questions", sentences, keywords)
    return [_question(doc, keyword) for doc, keyword in zip(docs, keywords, strict=True)]


def _question(doc: "Doc", keyword: str) -> Question:
    clause = None if doc.text.rstrip().endswith("?") else main_clause(doc, keyword)
    reason = NO_RULE
    for draft in _drafts(clause) if clause and clause.operator and find(clause.topic, [keyword]) else []:
        checked = checked_question(draft.text, keyword, doc.text)
        if checked.question and not find(draft.text, [draft.answer]):
            return Question(checked.question, draft.rule)
        reason = checked.reason or "the answer is in it"
    return Question("", reason)


def _drafts(clause: Clause) -> Iterator[_Draft]:
    after = list(clause.root.rights)
    objects = [token for token in after if token.dep_ in ("dobj", "xcomp", "ccomp")]
    for token in objects[:1]:  # what follows belongs to it ("show children how plants grow")
        yield from _about_object(clause, token, alone=len(objects) == 1)
    for token in after if not objects else []:
        is_name = token.tag_ == "NNP"
        if (token.dep_ == "attr" or (token.dep_ == "acomp" and is_name)) and not clause.negated:
            word = english.asks_who(clause.subject.lemma_ if is_name else token.lemma_)
            yield _Draft(clause.asked(word), "what is", token.text)
        if token.dep_ == "prep":
            yield from _about_preposition(clause, token)


def _about_object(clause: Clause, token: "Token", alone: bool) -> Iterator[_Draft]:
    """Questions for what follows a verb without a preposition. `alone`: nothing more does."""
    verb = clause.root
    if token.dep_ == "xcomp" and verb.nbor().tag_ == "TO" and not {"be", "have"} & {verb.lemma_, token.lemma_}:
        yield _Draft(clause.asked("What", "to do"), "what to do", token.text)
    if token.dep_ != "dobj" or verb.lemma_ in english.NO_OBJECT or token.lemma_ in english.VAGUE or token.tag_ == "PRP":
        return
    following = token.nbor() if token.i + 1 < len(token.doc) else token
    noun = _noun(following)
    if (token.lower_, following.lower_) in english.LIGHT:
        yield _Draft(clause.asked("What", f"{token.lower_} {following.lower_}"), "what for", noun.text if noun else "")
    elif clause.particle or not (verb.lemma_ in english.INCOMPLETE or (verb.lemma_ in english.TELLING and not alone)):
        yield _Draft(clause.asked("What" if verb.lemma_ in _GIVING else _whom(token)), "what", token.text)


def _about_preposition(clause: Clause, preposition: "Token") -> Iterator[_Draft]:
    """Questions that end in a preposition, where it is next to its verb and says neither when nor how."""
    word, verb, noun = preposition.lower_, clause.root, _noun(preposition)
    between = verb.doc[verb.i + 1 : preposition.i]
    if noun is None or word not in _STRANDED or verb.lemma_ in english.SOMEWHERE or english.says_when(noun.lemma_):
        return
    if all(is_particle(token) for token in between):
        yield _Draft(clause.asked("What" if word == "as" else _whom(noun), word), "what for", noun.text)


def _whom(token: "Token") -> str:
    counted = next((_noun(inner) for inner in token.rights if inner.lower_ == "of"), None)
    return english.asks_whom(
        [other.lemma_.lower() for other in (token, *token.conjuncts)], counted.lemma_.lower() if counted else ""
    )


def _noun(preposition: "Token") -> "Token | None":
    return next((token for token in preposition.rights if token.dep_ in ("pobj", "pcomp")), None)
