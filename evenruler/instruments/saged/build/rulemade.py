"""Questions made by rules from the dependency parse of a sentence: the embedded default (section 2.2)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evenruler.instruments.saged.build import english
from evenruler.instruments.saged.build.clauses import (
    UNSPOKEN,
    Clause,
    is_adjective,
    is_definite,
    is_particle,
    kept,
    main_clause,
    noun_phrase,
    phrase,
)
from evenruler.instruments.saged.build.parsing import parsed
from evenruler.instruments.saged.build.questions import Question, checked_question
from evenruler.instruments.saged.declare.keywords import place

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_ASKED_ABOUT = ("dobj", "prep", "attr", "acomp", "agent", "dative", "xcomp", "oprd")
_STRANDED = ("on", "for", "to", "into", "from", "with", "of", "as", "against", "upon", "about")
_PLACES = ("in", "on", "at", "near", "along", "between", "beside", "beyond", "north", "south", "east", "west")
_STANDS = ("lie", "stand", "sit", "live", "locate", "situate", "bear", "hold", "base", "find", "begin", "end")
_DATES = ("in", "on", "at", "during", "before", "after", "until")
_TIMES = ("year", "month", "day", "century", "decade", "summer", "winter", "spring", "autumn", "week", "hour")
_WHILES = ("time", "while", "period", "generation")
_MEANS = ("by", "through", "like", "without")
_LINKING = ("be", "become", "remain", "seem", "appear", "stay")
_GIVING = ("give", "grant", "lend", "offer", "sell", "send")
_SINGULAR = {"are": "is", "have": "has", "do": "does", "were": "was"}
_NOT_AS = ("such", "well", "as", "far", "long", "soon")
_SHORT = 4
"""Words of an object that a question repeats."""

_LONGEST = 20
"""Words of a predicate that a question repeats."""


class _Draft(NamedTuple):
    text: str
    rule: str
    answer: str
    """What the question asks for, and must not say; empty where that is nothing in particular."""


def questions(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A question for each sentence, by the first rule whose question passes `checked_question` and tells no answer.

    The subject is named where it holds the keyword: `by whom`, `what` (or whom), `what to do`, `what is`, `when`,
    `where`, `how long`, `what for` (a preposition at the end), `described`, `how`. It is asked for where the keyword
    follows it: `who or what`. Failing these, and for sentences that ask themselves: `said about` the subject, or the
    noun phrase of the keyword and the subject, else the noun phrase, else the keyword alone. A rule that could ask
    something that the sentence does not answer leaves it to these.

    Args:
        sentences: n single sentences.
        keywords: The keyword of each, which is written so where the sentence begins with it.

    Returns:
        n questions, in the order of the sentences; a text is empty where the sentence lacks its keyword, or where that
        is an adjective that stands alone ("became communist").
    """
    docs = parsed("questions", sentences, keywords)
    return [_question(doc, keyword) for doc, keyword in zip(docs, keywords, strict=True)]


def _question(doc: "Doc", keyword: str) -> Question:
    found = place(doc.text, keyword)
    if found is None:
        return Question("", f"no {keyword!r} in the sentence")
    named = [token for token in doc if token.idx < found[1] and token.idx + len(token) > found[0]]
    clause = None if doc.text.rstrip().endswith("?") else main_clause(doc, keyword)
    reason = ""
    for draft in _drafts(clause, named, keyword):
        checked = checked_question(draft.text, keyword)
        if checked.question and place(draft.text, draft.answer) is None:
            return Question(checked.question, draft.rule)
        reason = checked.reason or "the answer is in it"
    return Question("", "the keyword is an adjective without its noun" if _is_alone(named) else reason)


def _is_alone(named: "list[Token]") -> bool:
    """Whether a keyword is an adjective that qualifies nothing, and cannot be asked about ("became communist")."""
    return len(named) == len(noun_phrase(named)) == 1 and is_adjective(named[0])


def _drafts(clause: Clause | None, named: "list[Token]", keyword: str) -> Iterator[_Draft]:
    if clause and place(clause.topic, keyword):
        yield from _about_subject(clause)
        yield _said_about(clause.topic)
    elif clause and clause.topic and clause.operator:
        yield from _for_subject(clause, named)
    nouns = noun_phrase(named)
    about = phrase(nouns, keyword)
    if about and clause and is_definite(nouns) and _is_known(clause, named):
        yield _said_about(f"{about} and {clause.topic}")
    if _is_alone(named):
        return
    yield _said_about(about)
    yield _said_about(phrase(named, keyword))
    yield _said_about(keyword)


def _said_about(words: str) -> _Draft:
    return _Draft(f"What can be said about {words}?", "said about", "")


def _is_known(clause: Clause, named: "list[Token]") -> bool:
    """Whether the subject can be asked about beside the keyword."""
    short = 0 < len(clause.topic.split()) <= _SHORT + 1
    within = clause.subject.is_ancestor(named[0])
    apart = not within or any(token.dep_ == "relcl" for token in named[0].ancestors)
    return short and apart and is_definite(kept(clause.subject)) and clause.root.lemma_ != "be"


def _about_subject(clause: Clause) -> Iterator[_Draft]:
    """Questions that name the subject and ask for what is said of it."""
    after = list(clause.root.rights)
    if clause.operator:
        yield from _about_deed(clause)
        for token in after:
            yield from _about_object(clause, token)
        for token in after if _is_whole(clause) else []:
            if token.dep_ == "prep" or token.lower_ in _PLACES:
                yield from _about_place_or_time(clause, token)
    if clause.root.lemma_ in _LINKING:
        said = [token for token in after if clause.root.lemma_ == "be" or token.dep_ in ("acomp", "attr", "oprd")]
        if said and not any(inner.dep_ == "xcomp" for token in said for inner in token.children):
            yield _Draft(f"How can {clause.topic} be described?", "described", "")
    elif clause.operator and not clause.negated and _is_whole(clause) and _says_how(clause.root):
        yield _Draft(clause.asked("How"), "how", "")


def _is_whole(clause: Clause) -> bool:
    """Whether a verb says something without what follows it: it has no object."""
    return not any(
        token.dep_ in ("dobj", "xcomp") or (token.dep_ == "ccomp" and _is_said(clause.root, token))
        for token in clause.root.rights
    )


def _about_deed(clause: Clause) -> Iterator[_Draft]:
    """What somebody is encouraged to do."""
    root = clause.root
    later = root.doc[root.i + 1 :]
    infinitive = next((token for token in later if token.tag_ == "TO" and token.head.tag_ == "VB"), None)
    if infinitive is not None and root.lemma_ in english.URGING:
        between = root.doc[root.i + 1 : infinitive.i]
        if 0 < len(between) <= _SHORT and all(token.tag_[:2] in ("DT", "JJ", "NN", "CD", "RB") for token in between):
            yield _Draft(clause.asked("What", f"{between.text} to do"), "what to do", infinitive.head.text)


def _about_object(clause: Clause, token: "Token") -> Iterator[_Draft]:
    """Questions for what follows a verb without a preposition."""
    if token.dep_ == "agent":
        yield _by_whom(clause, token)
    elif token.dep_ == "dobj":
        yield from _about_direct_object(clause, token)
    elif token.dep_ == "oprd" or (token.dep_ == "ccomp" and _is_said(clause.root, token)):
        yield _Draft(clause.asked("What"), "what", token.text)
    elif token.dep_ == "xcomp" and token.tag_ == "VB" and "be" not in (token.lemma_, clause.root.lemma_):
        yield _Draft(clause.asked("What", "to do"), "what to do", token.text)
    elif token.dep_ in ("attr", "acomp") and not clause.negated and (_is_name(token) or token.dep_ == "attr"):
        word = english.asks_who(clause.subject.lemma_ if _is_name(token) else token.lemma_)
        yield _Draft(clause.asked(word), "what is", token.text)


def _by_whom(clause: Clause, by: "Token") -> _Draft:
    noun = _noun(by)
    if noun is not None and noun.lower_ in english.TOOLS and not list(noun.lefts):
        return _Draft(clause.asked("How"), "how", noun.text)
    return _Draft(clause.asked("By whom or what"), "by whom", _object(by))


def _about_direct_object(clause: Clause, token: "Token") -> Iterator[_Draft]:
    verb = clause.root.lemma_
    if verb in english.INTRANSITIVE or token.lemma_ in english.VAGUE or token.tag_ == "PRP":
        return
    following = token.nbor() if token.i + 1 < len(token.doc) else token
    if (token.lower_, following.lower_) in english.LIGHT:
        yield _Draft(clause.asked("What", f"{token.lower_} {following.lower_}"), "what for", _object(following))
        return
    taken_as = _taken_as(token) if verb in english.SHOWN_AS else ""
    if verb in english.INCOMPLETE and not taken_as and not clause.particle:
        return
    listener = _listener(clause.root, token)
    word = "What" if verb in _GIVING or listener or taken_as else _whom(token)
    yield _Draft(clause.asked(word, listener or taken_as), "what", "" if listener == token.text else token.text)


def _listener(root: "Token", token: "Token") -> str:
    """To whom something is given or told, where it stands next to the verb: what is asked for is not the object."""
    told = root.lemma_ in english.TELLING and any(other.dep_ == "ccomp" for other in root.rights)
    heard = token if told else next((other for other in root.rights if other.dep_ == "dative"), None)
    words = kept(heard) if heard is not None and heard.tag_.startswith("NN") else []
    near = words and words[0].i == root.i + 1 and len(words) == words[-1].i - root.i <= _SHORT
    return " ".join(word.text for word in words) if near else ""


def _taken_as(token: "Token") -> str:
    """As what an object is taken: "as" and what follows it; empty where nothing does."""
    for word in token.doc[token.i + 1 :]:
        if word.lower_ == "as" and word.dep_ == "prep" and word.nbor(-1).lower_ not in _NOT_AS and _object(word):
            said = kept(word)
            return "" if any(other.tag_ in UNSPOKEN for other in said) else " ".join(other.text for other in said)
    return ""


def _about_place_or_time(clause: Clause, preposition: "Token") -> Iterator[_Draft]:
    word, answer, verb = preposition.lower_, _object(preposition), clause.root.lemma_
    head = next(iter(preposition.rights), preposition)
    timed = head.lemma_ in _TIMES or (head.tag_ == "CD" and len(head) == 4)
    if timed and word in _DATES:
        yield _Draft(clause.asked("When"), "when", answer)
    elif word == "for" and (timed or head.lemma_ in _WHILES):
        yield _Draft(clause.asked("For how long"), "how long", answer)
    elif word in _PLACES and verb in (*_STANDS, "be") and (verb, word) != ("base", "on"):
        yield _Draft(clause.asked("Where"), "where", answer)
    elif answer and not timed and _is_stranded(clause, word):
        between = clause.root.doc[clause.root.i + 1 : preposition.i]
        if all(is_particle(token) or english.says_how(token.lower_) for token in between):
            adverbs = [token.lower_ for token in between if not is_particle(token)]
            asking = "Where" if verb in english.MOVING and word in ("to", "from") else _whom(head)
            end = " ".join([*adverbs, word])
            yield _Draft(clause.asked("What" if word == "as" else asking, end), "what for", answer)


def _is_stranded(clause: Clause, preposition: str) -> bool:
    """Whether a preposition may end a question: not where it says how ("look ahead with confidence")."""
    if preposition == "with" and clause.particle:
        return False
    return preposition in _STRANDED or (clause.root.lemma_, preposition) == ("look", "after")


def _for_subject(clause: Clause, named: "list[Token]") -> Iterator[_Draft]:
    """Questions that ask for the subject, and name what is said of it as far as the keyword."""
    child = next((token for token in clause.root.rights if token.is_ancestor(named[0]) or token in named), None)
    finite = [*clause.auxiliaries, clause.root][0]
    if child is None or child.dep_ not in _ASKED_ABOUT:
        return
    several = child.dep_ in ("attr", "oprd") and finite.lower_ in _SINGULAR
    if several or (child.dep_ == "dobj" and clause.root.lemma_ in english.SHOWN_AS and _taken_as(child)):
        return
    verb = _SINGULAR.get(finite.lower_) or (
        english.third_person(finite.lemma_) if clause.operator == "do" else finite.lower_
    )
    rest = finite.doc[finite.i + 1 : kept(child)[-1].i + 1]
    joined = [token.text for token in rest if token.tag_ in UNSPOKEN and token.text not in ("-", "\u2013")]
    if len(rest) < _LONGEST and not joined:
        said = rest.text.strip(" ,;")
        yield _Draft(f"Who or what {verb} {said}?", "who or what", clause.subject.text)


def _whom(token: "Token") -> str:
    counted = next((_noun(inner) for inner in token.rights if inner.lower_ == "of"), None)
    return english.asks_whom(
        [other.lemma_.lower() for other in (token, *token.conjuncts)], counted.lemma_.lower() if counted else ""
    )


def _noun(preposition: "Token") -> "Token | None":
    return next((token for token in preposition.rights if token.dep_ in ("pobj", "pcomp")), None)


def _object(preposition: "Token") -> str:
    noun = _noun(preposition)
    return noun.text if noun is not None else ""


def _is_said(root: "Token", verb: "Token") -> bool:
    """Whether a clause is what is said or believed: it has a tense, and no preposition stands before it."""
    following = root.nbor()
    finite = any(token.tag_ in ("VBZ", "VBP", "VBD", "MD") for token in (verb, *verb.lefts))
    return finite and (following.tag_ != "IN" or following.dep_ == "mark")


def _is_name(token: "Token") -> bool:
    return token.tag_ == "NNP" or (token.tag_ == "JJ" and token.is_title and not english.is_national(token.text))


def _says_how(root: "Token") -> bool:
    """Whether what comes next to a verb is a manner ("quickly", "step by step") or a preposition of means."""
    after = [token for token in root.doc[root.i + 1 :] if not is_particle(token)]
    if not after:
        return False
    if after[0].tag_ == "IN":
        return after[0].lower_ in _MEANS
    twice = len(after) > 2 and after[0].lower_ == after[2].lower_ and after[1].lower_ == "by"
    return twice or (after[0].tag_.startswith("RB") and english.says_how(after[0].lower_))
