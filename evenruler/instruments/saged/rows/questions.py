"""Questions about a text: by rule, or written by a model and checked."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evenruler.instruments.saged.rows import english
from evenruler.instruments.saged.rows.english import WORDS
from evenruler.models.records import Reply
from evenruler.strict import read_yaml
from evenruler.text.whole_words import begins_sentence, find

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_WORDS: Final[dict[str, str]] = read_yaml(Path(__file__).with_name("prompts.yaml"))
INSTRUCTION, EXAMPLES = _WORDS["instruction"], _WORDS["examples"]
PROMPT = INSTRUCTION + "\n\n" + EXAMPLES + "\n\nSentence: {sentence}\nWords: {keyword}\n"
"""What a language model reads; `RETRY` follows for each question that was refused."""

RETRY = 'Refused: "{reply}" ({reason}). Write another.\n'

_SHOWN = 120
"""Characters of a refused reply that a model is shown."""

CUE = "Question:"

FEWEST, MOST = 4, 25
"""Words of a question."""

RULE = "model"
"""The rule of a question that a language model wrote."""

Answer = Callable[[Sequence[str]], Sequence[Reply]]
"""A language model: n texts in, n replies out."""

_STEM = 4
"""Letters by which words are taken for forms of one word."""

_COPIED = 4
"""Words in a row that a question has from the instruction."""

_LABEL = re.compile(r"^(?:[-*#>\s]*)(?:\*\*)?(?:question|q)\s*\d*\s*[:.](?:\*\*)?\s*", re.IGNORECASE)
_QUOTES = "\"'`*_\u201c\u201d\u2018\u2019 "
_ASKING = frozenset(["what", "who", "whom", "whose", "which", "when", "where", "why", "how"])
_NOTHING = re.compile(r"(?:what (?:can|could|may) (?:be|you|we|one) (?:said|say|tell)|what do you know)\b", re.I)
_OF_READER = frozenset(["you", "your", "yours"])
_OF_TEXT = re.compile(r"\b(?:the|this|that) (?:sentence|passage|text|statement|question|words?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Checked:
    """A reply read as a question."""

    question: str
    """Empty where it is refused."""
    reason: str
    """Why it is refused; empty where it is not."""


@dataclass(frozen=True)
class Question:
    """A question that a sentence would answer."""

    text: str
    """Empty where there is none."""
    rule: str
    """Which rule made it; why there is none, where `text` is empty."""
    refused: tuple[tuple[str, str], ...] = ()
    """Replies of a model that were refused before, with the reason of each."""


def checked_question(reply: str, keyword: str, sentence: str) -> Checked:
    """Read a reply as one question about a keyword.

    Args:
        reply: With the label, quotes or lines around the question that models like to write.
        keyword: What the question must mention, as `evenruler.text.whole_words` finds it.
        sentence: What the question must leave something of to answer.

    Returns:
        The question, or why it is refused: no question mark at its end, several sentences, no keyword, too few or too
        many words, no question word (whoever asks whether something is so gives it away), a question for nothing in
        particular, for what the reader thinks or for the wording, a copy of the instruction, a name that the sentence
        does not have, or every longer word of the sentence in it.
    """
    lines = [_bare(line) for line in reply.splitlines()]
    asked = [line for line in lines if line.endswith("?")]
    if not asked:
        return Checked("", "no question mark at the end")
    if len(asked) > 1 or asked[0].count("?") > 1:
        return Checked("", "several questions")
    # Why a question is refused; empty where it is not.
    question = asked[0]
    words = question.split()
    said = set(re.findall(r"\w+", question.casefold()))
    names = {word[:_STEM] for word in re.findall(r"\w+", question)[1:] if word[0].isupper()}
    known = {word[:_STEM] for word in _words(f"{question} {keyword}")}
    # Words in a row, and those of the instruction.
    own, given = (re.findall(r"\w+", text.casefold()) for text in (question, INSTRUCTION))
    runs = {tuple(given[i : i + _COPIED]) for i in range(len(given) - _COPIED + 1)}
    faults = {
        "several sentences": any(
            begins_sentence(question, word.start()) for word in re.finditer(r"(?<=\s)\S", question)
        ),
        f"no {keyword!r} in it": not find(question, [keyword]),
        f"{len(words)} words, not {FEWEST} to {MOST}": not FEWEST <= len(words) <= MOST,
        "no question word": not said & _ASKING,
        "it asks for nothing in particular": bool(_NOTHING.match(question)),
        "it asks the reader": bool(said & _OF_READER),
        "it asks for the wording": bool(_OF_TEXT.search(question)) and not _OF_TEXT.search(sentence),
        "a copy of the instruction": any(tuple(own[i : i + _COPIED]) in runs for i in range(len(own) - _COPIED + 1)),
        "a name that the sentence lacks": not names <= {word[:_STEM] for word in re.findall(r"\w+", sentence)},
        "every word of the sentence is in it": all(word[:_STEM] in known for word in _words(sentence)),
    }
    reason = next((reason for reason, holds in faults.items() if holds), "")
    return Checked("", reason) if reason else Checked(asked[0], "")


def ask(sentences: Sequence[str], keywords: Sequence[str], answer: Answer, tries: int = 3) -> list[Question]:
    """Questions as a language model writes them: of all sentences at once, then of those that were refused.

    Args:
        sentences: n baselines.
        keywords: The keyword of each.
        answer: May give the same reply to the same text: a retry's text names what was refused before. What has no
            reply is not asked again.
        tries: Replies per sentence, at most.

    Returns:
        n questions, in the order of the sentences, with the replies that were refused. Where all were, the text is
        empty and the rule is the last reason.
    """
    prompts = [
        PROMPT.format(keyword=keyword, sentence=sentence, fewest=FEWEST, most=MOST)
        for sentence, keyword in zip(sentences, keywords, strict=True)
    ]
    found = [Question("", "not asked")] * len(prompts)
    waiting = list(range(len(prompts)))
    for _ in range(tries):
        replies = answer([prompts[place] + CUE for place in waiting]) if waiting else []
        for place, reply in zip(list(waiting), replies, strict=True):
            refused, checked = found[place].refused, Checked("", f"no reply: {reply.reason}")
            if reply.text is not None:
                checked = checked_question(reply.text, keywords[place], sentences[place])
            if checked.question:
                found[place] = Question(checked.question, RULE, refused)
            else:
                found[place] = Question("", checked.reason, (*refused, (reply.text or "", checked.reason)))
            if checked.question or reply.text is None:
                waiting.remove(place)
            else:
                said = " ".join(reply.text.split())[:_SHOWN]
                prompts[place] += RETRY.format(reply=said, reason=checked.reason)
    return found


def _bare(line: str) -> str:
    """A line without a label and the quotes around it."""
    line = _LABEL.sub("", line.strip()).strip()
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return line


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) >= _STEM or word.isdecimal()]


NO_RULE = "no rule makes a question of it"

_STRANDED = ("on", "for", "to", "into", "from", "of", "as", "against", "upon", "about")
"""Prepositions that end a question; "with" says how too often ("look ahead with confidence")."""

_GIVING = ("give", "grant", "lend", "offer", "sell", "send")


class _Drafted(NamedTuple):
    text: str
    rule: str
    answer: str
    """What the question asks for, and must not say."""


def questions(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A question for each sentence, by the first rule whose question passes `checked_question` and tells no answer.

    The rules, in the order of the words behind the verb: `what` (or whom), `what to do`, `what is`; failing these
    `what for` (a preposition at the end).

    A keyword is written as it was declared where the sentence begins with it.

    Returns:
        n questions, in the order of the sentences; a text is empty where no rule makes one.
    """
    docs = english.parsed("questions", sentences, keywords)
    return [_question(doc, keyword) for doc, keyword in zip(docs, keywords, strict=True)]


def _question(doc: "Doc", keyword: str) -> Question:
    clause = None if doc.text.rstrip().endswith("?") else english.main_clause(doc, keyword)
    reason = NO_RULE
    for draft in _drafts(clause) if clause and clause.operator and find(clause.topic, [keyword]) else []:
        checked = checked_question(draft.text, keyword, doc.text)
        if checked.question and not find(draft.text, [draft.answer]):
            return Question(checked.question, draft.rule)
        reason = checked.reason or "the answer is in it"
    return Question("", reason)


def _drafts(clause: english.Clause) -> Iterator[_Drafted]:
    after = list(clause.root.rights)
    objects = [token for token in after if token.dep_ in ("dobj", "xcomp", "ccomp")]
    for token in objects[:1]:  # what follows belongs to it ("show children how plants grow")
        yield from _about_object(clause, token, alone=len(objects) == 1)
    for token in after if not objects else []:
        is_name = token.tag_ == "NNP"
        if (token.dep_ == "attr" or (token.dep_ == "acomp" and is_name)) and not clause.negated:
            word = english.asks_who(clause.subject.lemma_ if is_name else token.lemma_)
            yield _Drafted(clause.asked(word), "what is", token.text)
        if token.dep_ == "prep":
            yield from _about_preposition(clause, token)


def _about_object(clause: english.Clause, token: "Token", alone: bool) -> Iterator[_Drafted]:
    """Questions for what follows a verb without a preposition. `alone`: nothing more does."""
    verb = clause.root
    if token.dep_ == "xcomp" and verb.nbor().tag_ == "TO" and not {"be", "have"} & {verb.lemma_, token.lemma_}:
        yield _Drafted(clause.asked("What", "to do"), "what to do", token.text)
    if (
        token.dep_ != "dobj"
        or verb.lemma_ in WORDS["no_object"]
        or token.lemma_ in WORDS["vague"]
        or token.tag_ == "PRP"
    ):
        return
    following = token.nbor() if token.i + 1 < len(token.doc) else token
    noun = _noun(following)
    if f"{token.lower_}-{following.lower_}" in WORDS["light"]:
        question = clause.asked("What", f"{token.lower_} {following.lower_}")
        yield _Drafted(question, "what for", noun.text if noun else "")
    elif clause.particle or not (verb.lemma_ in WORDS["incomplete"] or (verb.lemma_ in WORDS["telling"] and not alone)):
        yield _Drafted(clause.asked("What" if verb.lemma_ in _GIVING else _whom(token)), "what", token.text)


def _about_preposition(clause: english.Clause, preposition: "Token") -> Iterator[_Drafted]:
    """Questions that end in a preposition, where it is next to its verb and says neither when nor how."""
    word, verb, noun = preposition.lower_, clause.root, _noun(preposition)
    between = verb.doc[verb.i + 1 : preposition.i]
    if noun is None or word not in _STRANDED or verb.lemma_ in WORDS["somewhere"] or english.says_when(noun.lemma_):
        return
    if all(english.is_particle(token) for token in between):
        yield _Drafted(clause.asked("What" if word == "as" else _whom(noun), word), "what for", noun.text)


def _whom(token: "Token") -> str:
    counted = next((_noun(inner) for inner in token.rights if inner.lower_ == "of"), None)
    nouns = [other.lemma_.lower() for other in (token, *token.conjuncts)]
    return english.asks_whom(nouns, counted.lemma_.lower() if counted else "")


def _noun(preposition: "Token") -> "Token | None":
    return next((token for token in preposition.rights if token.dep_ in ("pobj", "pcomp")), None)
