"""Rules that turn an item of a scale into a first-person statement with {TERM} in place of the
predicate's content.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenruler.strict import read_yaml
from evenruler.text.english import spacy_pipeline

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
"""Word lists and patterns of English."""


def _split_sides(row: str) -> list[list[str]]:
    """The words on each side of a row of opposites."""
    return [side.strip().split(", ") for side in row.split("|")]


OPPOSITES = [_split_sides(row) for row in WORDS["opposites"]]
"""Near synonyms, and their opposites."""

FEWEST, MOST = 2, 4
"""Limits on the number of terms of each polarity."""

SUBJECTS = ("nsubj", "nsubjpass")
COMPLEMENTS = ("acomp", "attr", "oprd", "prep", "prt", "dobj", "ccomp")
CLAUSES = ("advcl", "ccomp", "relcl", "csubj", "acl")
"""Dependency labels of spaCy's parser."""

QUOTES = str.maketrans("\u2018\u2019", "''", '"\u201c\u201d\u201e')
"""Straightens apostrophes and removes quotation marks."""

CONTRACTED = {
    r"\bcan(no|')t\b": "can not",
    r"\bwon't\b": "will not",
    r"\bshan't\b": "shall not",
    r"n't\b": " not",
}
"""Contractions written out, so that a negation can be separated from its verb."""


def item_to_templates(item: str, since: str = "") -> tuple[dict[str, Any], list[str]]:
    """Premise, hypothesis and terms of an item, and doubts; `since`: the period that the scale asks
    about.

    ValueError, in words, where rules fail.
    """
    doc, hypothesis = to_first_person(item)
    root, subject, aux = _find_predicate(doc)
    whom = _hypothesis_subject(subject)
    verb = aux or root
    state = WORDS["again"].get(verb.lemma_, {}).get("perfect")
    begin, end, terms = _content_span(doc, root, verb, state)
    doubts = list(_wording_doubts(doc, subject))
    after, terms, left_out = _leave_out_rest(doc[end:].text, terms)
    if left_out:
        doubts.append(f"{left_out!r} is left out")
    has_state = bool(state) and begin > verb.i
    perfect = ""
    if since and has_state:
        perfect = f"has {state} " if whom == "It" else f"have {state} "
    if since and not perfect:
        doubts.append(f"{since!r} goes with another tense than that of {verb.text!r}")
    elif whom == "It" and verb.tag_ in ("VB", "VBP") and not perfect:
        doubts.append(f"{verb.text!r} does not agree with its subject")
    negations = [token for token in root.children if token.dep_ == "neg"]
    before = _text_before_term(doc[:begin], root, verb, negations, perfect)
    premise = f"{since} {before}{{TERM}} {after}.".strip()
    premise = re.sub(r" +(?=[.,;—])", "", premise)
    if hypothesis is None:
        again = "do"
        if aux and root.tag_ == "VBN":
            again = "happen"
        elif has_state:
            again = verb.lemma_
        hypothesis = WORDS["again"][again][whom]
    sides, unsure = _terms_by_polarity(terms, root, root.i == begin, bool(negations))
    return {
        "premise": premise[0].upper() + premise[1:],
        "hypothesis": hypothesis,
        "terms": sides,
    }, doubts + unsure


def _find_predicate(doc: "Doc") -> tuple["Token", "Token", "Token | None"]:
    """Root and subject of a statement, and its form of "be", if any; ValueError, in words, where
    rules find no predicate.
    """
    root = next(token for token in doc if token.dep_ == "ROOT")
    subject = _first_subject(root.lefts)
    aux = next((token for token in root.lefts if token.lemma_ == "be"), None)
    if subject is None or not (aux or root.tag_.startswith("VB")):
        raise ValueError("no predicate found")
    helpers = [token for token in root.lefts if token.dep_.startswith("aux")]
    if any(token.i < subject.i for token in helpers):
        raise ValueError("a question that rules cannot turn round")
    return root, subject, aux


def _first_subject(tokens: "Iterable[Token]") -> "Token | None":
    """The first token that the parser takes for a subject of a clause; None without any."""
    subjects = (token for token in tokens if token.dep_ in SUBJECTS)
    return next(subjects, None)


def _hypothesis_subject(subject: "Token") -> str:
    """The pronoun of a hypothesis about what a statement says of its subject."""
    if subject.text == "I":
        return "I"
    return "They" if subject.conjuncts or subject.tag_.endswith("S") else "It"


def _leave_out_rest(after: str, terms: list[str]) -> tuple[str, list[str], str]:
    """The text after the content and the terms, without an alternative ("or ...") or a result
    ("so ... that ..."), and what is left out.
    """
    alternative = re.search(r"^(or|and)\b.*|[—,;] ?(or|and)\b.*", after)
    if alternative:
        return after[: alternative.start()], terms, alternative[0]
    if terms[0].startswith("so "):
        consequence = re.match("that .*", after)
        if consequence:
            return "", [term.removeprefix("so ") for term in terms], consequence[0]
    return after, terms, ""


def _text_before_term(
    tokens: "Span", root: "Token", verb: "Token", negations: list["Token"], perfect: str
) -> str:
    """The text before the content without negations and what they need ("do not"); `perfect`:
    replaces the verb and its auxiliaries, where it is not empty.
    """
    helpers = [
        token for token in root.lefts if token.dep_ == "aux" and (token.lemma_ == "do" or perfect)
    ]
    left_out = negations + helpers
    before = ""
    for token in tokens:
        if token == verb:
            before += perfect or token.text_with_ws
        elif token not in left_out:
            before += token.text_with_ws
    return before


def to_first_person(item: str) -> tuple["Doc", str | None]:
    """An item as a first-person statement, and the hypothesis if its beginning determines one."""
    text = item.translate(QUOTES).strip(" .?!")
    hypothesis: str | None = None
    nlp = spacy_pipeline("lemmas")
    for short, long in CONTRACTED.items():
        text = re.sub(short, long, text, flags=re.IGNORECASE)
    for lead in WORDS["leads"]:
        pattern = f"^{lead['pattern']}"
        text, n_matches = re.subn(pattern, lead["as"], text, flags=re.IGNORECASE)
        if n_matches:
            hypothesis = lead.get("hypothesis", hypothesis)
    first_person = [_of_oneself(token) + token.whitespace_ for token in nlp(text)]
    doc = nlp("".join(first_person))
    if not len(doc):
        raise ValueError("nothing is said")
    statement = re.sub(r"\bI (are|is|were)\b", "I am", _to_statement(doc))
    return nlp(statement), hypothesis


def _to_statement(doc: "Doc") -> str:
    """The text of a question or a phrase as a statement; a statement stays as it is."""
    first = doc[0]
    subject = _first_subject(doc)
    statement = doc.text
    if first.text != "I":
        statement = statement[0].lower() + statement[1:]
    starts_with_verb = first.lemma_ in ("be", "do", "have")
    if subject is not None and subject.left_edge.i == 1 and starts_with_verb:
        return _turn_question_round(doc, subject)
    if first.tag_ == "VBG" and first.dep_ == "ROOT":
        return f"I am {statement}"
    if subject is None and first.tag_.startswith("VB"):
        return f"I {statement}"
    if first.dep_ == "amod" and first.head.dep_ == "ROOT":  # little interest; poor appetite
        noun = doc[1 : first.head.i + 1].text
        if first.lower_ in WORDS["amounts"]:
            return f"I have {statement}"
        return f"my {noun} is {first.lower_}"
    return statement


def _turn_question_round(doc: "Doc", subject: "Token") -> str:
    """A question that begins with its verb, with the verb after the subject, and without "do"."""
    first = doc[0]
    end = subject.right_edge.i + 1
    if end == len(doc):  # are my thoughts in a muddle
        end = next((token.i for token in subject.subtree if token.dep_ == "prep"), end)
    verb = [] if first.lemma_ == "do" else [first.lower_]
    subject_text, rest = doc[1:end].text, doc[end:].text
    return " ".join([subject_text, *verb, rest])


def _of_oneself(token: "Token") -> str:
    """A second-person word in the first person."""
    if token.lower_ == "you":
        return "I" if token.dep_ in SUBJECTS else "me"
    if token.tag_ == "VBG":
        conjuncts = (token, *token.conjuncts)
        if any(conjunct.head.head.text == "hard" for conjunct in conjuncts):
            return token.lemma_  # hard to relaxing: hard to relax
    return str(WORDS["oneself"].get(token.lower_, token.text))


def _content_span(
    doc: "Doc", root: "Token", verb: "Token", state: str | None
) -> tuple[int, int, list[str]]:
    """The content of a statement: index of its first token, index after its last, and its terms."""
    manner = [
        token for token in root.rights if token.dep_ == "advmod" and _is_known_term(token.lower_)
    ]
    rights = [
        token
        for token in root.rights
        if token in manner or token.dep_ not in ("neg", "punct", "npadvmod", "advmod")
    ]
    head = rights[0] if rights and state and verb == root else root
    is_complement = head.dep_ in COMPLEMENTS and head.pos_ != "VERB"
    is_wanting = head.dep_ == "prep" and not head.n_rights and not _is_known_term(head.lower_)
    is_object_of_act = head.dep_ == "dobj" and verb.lemma_ != "have"
    if not is_complement or is_wanting or is_object_of_act:
        head = manner[0] if manner and verb == root else root
    if head == root:
        if any(token.dep_ in ("ccomp", "cc") for token in root.rights):
            raise ValueError("more than one verb: which is asked of?")
        ends = (
            token.left_edge.i
            for token in root.rights
            if token.dep_ in (*CLAUSES, "prep", "agent", "mark")
        )
        end = min(ends, default=len(doc))
        return root.i, end, [doc[root.i : end].text]
    heads = [token for token in (head, *head.conjuncts) if _is_quality(token)]
    phrases = [_phrase_span(token) for token in heads]
    if not phrases:
        raise ValueError("what it says is a clause")
    end = phrases[-1].end
    terms = [phrase.text for phrase in phrases]
    complements = (token for token in head.rights if token.dep_ == "xcomp" and token.conjuncts)
    done = next(complements, None)
    if done is not None:  # able to stop or control
        both = (done, *done.conjuncts)
        end = both[-1].i + 1
        terms = [f"{terms[0]} to {token.text}" for token in both]
    if head.dep_ == "dobj" and " " in terms[0]:  # little interest or pleasure
        amount = terms[0].split()[0]
        terms = [term if " " in term else f"{amount} {term}" for term in terms]
    return phrases[0].start, end, terms


def _is_quality(token: "Token") -> bool:
    """Whether a word is not a verb, or is one that describes a quality (worried)."""
    is_verb = token.pos_ in ("VERB", "AUX")
    return not is_verb or token.tag_ == "VBN" or _is_known_term(token.lower_)


def _phrase_span(head: "Token") -> "Span":
    """A word with its modifiers, without coordinated words."""
    end = head
    for token in head.rights:
        if token.text == "of" and (head.pos_ == "NOUN" or token.dep_ == "pobj"):
            end = token.right_edge
        elif token.dep_ == "pobj":
            end = token
    modifiers = [
        token for token in head.lefts if token.dep_ not in ("cc", "punct", "mark", "nsubj")
    ]
    before = [token.left_edge.i for token in modifiers]
    return head.doc[min(before, default=head.i) : end.i + 1]


def _terms_by_polarity(
    terms: Sequence[str], root: "Token", verbal: bool, negated: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """Source and inverse terms, and doubts about them."""
    tag = root.tag_ if verbal else None
    like = {term: _synonyms_and_opposites(term, tag) for term in terms[:MOST]}
    doubts: list[str] = []
    opposed: list[list[str]] = []
    for term, (_, against) in like.items():
        words = ["no" if root.lemma_ == "have" else "not", term]
        if verbal and root.tag_ in WORDS["denied"]:  # leaves me cold: does not leave me cold
            modal = any(token.tag_ == "MD" for token in root.lefts)  # I can relax: I can not relax
            negation = "not" if modal else WORDS["denied"][root.tag_]
            words = [negation, root.lemma_, *term.split()[1:]]
        if not against:
            doubts.append(f"no opposite of {term!r} is known, a negation stands there")
        opposed.append(against or [" ".join(words)])
    wanted = max(FEWEST, len(like))
    synonyms = chain.from_iterable(same for same, _ in like.values())
    more = [term for term in synonyms if term not in like][: wanted - len(like)]
    source = [*like, *more]
    in_turn = chain.from_iterable(zip_longest(*opposed))
    inverse = list(dict.fromkeys(term for term in in_turn if term))[:wanted]
    doubts += [f"not of the item: {term!r}" for term in more]
    if min(len(source), len(inverse)) < FEWEST:
        doubts.append(f"fewer than {FEWEST} terms a side")
    if negated:
        source, inverse = inverse, source
    return {"source": source, "inverse": inverse}, doubts


def _is_known_term(term: str) -> bool:
    """Whether a term has a synonym or an opposite in the word lists."""
    return any(_synonyms_and_opposites(term, None))


def _synonyms_and_opposites(term: str, tag: str | None) -> tuple[list[str], list[str]]:
    """Synonyms and opposites of a term, by its longest known beginning or end; `tag`: of its
    verb.
    """
    words = term.lower().split()
    for n in range(len(words), 0, -1):
        start = " ".join(words[:n])
        end = " ".join(words[-n:])
        may_begin = n == len(words) or tag in (None, "VB", "VBP")
        for like, unlike in _pair_opposites():
            if start in like and may_begin:
                before, after = "", " ".join(words[n:])
            elif end in like and (n > 1 or end.endswith("ly")):  # worry too much: worry too little
                before, after = " ".join(words[:-n]), ""
            elif end in like and tag is None:  # easily annoyed: patient
                before, after = "", ""
            else:
                continue
            same = [f"{before} {other} {after}".strip() for other in like]
            against = [f"{before} {other} {after}".strip() for other in unlike]
            return [other for other in same if other != term.lower()], against
    return [], []


def _pair_opposites() -> Iterator[tuple[list[str], list[str]]]:
    """The near synonyms of each row of `OPPOSITES` with their opposites, and in reverse."""
    for side, other_side in OPPOSITES:
        yield side, other_side
        yield other_side, side


def _wording_doubts(doc: "Doc", subject: "Token") -> Iterator[str]:
    """Doubts, in words: two clauses or verbs in one item, or an item that is not about oneself;
    `subject`: that of the main verb.
    """
    clauses = [token for token in doc if token.dep_ in CLAUSES and token.pos_ != "ADJ"]
    left_of_clauses = chain.from_iterable(clause.lefts for clause in clauses)
    if any(token.dep_ in SUBJECTS for token in left_of_clauses):
        yield "double-barrelled: more than one clause"
    if any(token.dep_ == "conj" and not _is_quality(token) for token in doc):
        yield "double-barrelled: two verbs"
    about = doc if subject.lower_ == "it" else subject.subtree
    if not {"I", "my", "me", "mine"} & {token.text for token in about}:
        yield "about others than oneself"
