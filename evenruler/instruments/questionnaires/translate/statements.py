"""What rules make of the item of a scale: a statement of oneself, with {TERM} in the place of what it says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenruler.strict import read_yaml
from evenruler.text.pipeline import pipeline

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
"""What is known of English."""

OPPOSITES = [[side.strip().split(", ") for side in row.split("|")] for row in WORDS["opposites"]]
"""Words that mean about the same, and their opposites."""

FEWEST, MOST = 2, 4
"""Terms of each side of an item."""

SUBJECTS = ("nsubj", "nsubjpass")
COMPLEMENTS = ("acomp", "attr", "oprd", "prep", "prt", "dobj", "ccomp")
CLAUSES = ("advcl", "ccomp", "relcl", "csubj", "acl")
"""Relations of spaCy's parser."""


def rewrite(item: str, since: str = "") -> tuple[dict[str, Any], list[str]]:
    """Premise, hypothesis and terms of an item, and what is doubtful; `since`: the time that the scale asks of.

    ValueError, in words, where rules fail.
    """
    doc, hypothesis = statement(item)
    root = next(token for token in doc if token.dep_ == "ROOT")
    subject = next((token for token in root.lefts if token.dep_ in SUBJECTS), None)
    if subject is None or not root.tag_.startswith("VB"):
        raise ValueError("no predicate found")
    if any(token.dep_.startswith("aux") and token.i < subject.i for token in root.lefts):
        raise ValueError("a question that rules cannot turn round")
    whom = "I" if subject.text == "I" else "They" if subject.conjuncts or subject.tag_.endswith("S") else "It"
    aux = next((token for token in root.lefts if token.lemma_ == "be"), None)
    verb, state = aux or root, WORDS["states"].get((aux or root).lemma_)
    begin, end, terms = _said(doc, root, verb, state)
    doubts, after = list(_doubts(doc, subject)), doc[end:].text
    if left_out := re.search(r"^(or|and)\b.*|[—,;] ?(or|and)\b.*", after):
        after = after[: left_out.start()]
    elif terms[0].startswith("so ") and (left_out := re.match("that .*", after)):
        terms, after = [term.removeprefix("so ") for term in terms], ""
    doubts += [f"{left_out[0]!r} is left out"] if left_out else []

    negated = [token for token in root.children if token.dep_ == "neg"]
    perfect = f"{'has' if whom == 'It' else 'have'} {state[0]} " if since and state and begin > verb.i else ""
    if since and not perfect:
        doubts.append(f"{since!r} goes with another tense than that of {verb.text!r}")
    dropped = [*negated, *(t for t in root.lefts if t.dep_ == "aux" and t.lemma_ in ("do", "have")[: 1 + bool(perfect)])]
    kept = [token for token in doc[:begin] if token not in dropped]
    before = "".join(perfect if perfect and token == verb else token.text_with_ws for token in kept)
    premise = re.sub(r" +(?=[.,;—])", "", f"{since} {before}{{TERM}} {after}.".strip())
    if hypothesis is None:
        again = "@ ~ do so" if verb.i == begin else state[1] if state else f"@ ~ {root.lemma_} like that"
        hypothesis = _agreeing("This ~ happens" if aux and root.tag_ == "VBN" else again, whom)
    if whom == "It" and verb.tag_ in ("VB", "VBP") and not perfect:
        doubts.append(f"{verb.text!r} does not agree with its subject")
    sides, unsure = _sides(terms, root, begin, bool(negated))
    return {"premise": premise[0].upper() + premise[1:], "hypothesis": hypothesis, "terms": sides}, doubts + unsure


def statement(item: str) -> tuple["Doc", str | None]:
    """An item as one tells it of oneself, and the hypothesis where its beginning says what is so often."""
    text, hypothesis, nlp = item.strip(" .?!"), None, pipeline("lemmas")
    for lead in WORDS["leads"]:
        text, found = re.subn(f"^{lead['pattern']}", lead["as"], text, flags=re.IGNORECASE)
        hypothesis = lead.get("hypothesis", hypothesis) if found else hypothesis
    doc = nlp("".join(_of_oneself(token) + token.whitespace_ for token in nlp(text)))
    first, subject = doc[0], next((token for token in doc if token.dep_ in SUBJECTS), None)
    said = doc.text if first.text == "I" else doc.text[0].lower() + doc.text[1:]
    if subject is not None and subject.left_edge.i == 1 and first.lemma_ in ("be", "do", "have"):  # a question
        end = subject.right_edge.i + 1
        if end == len(doc):  # are my thoughts in a muddle
            end = next((token.i for token in subject.subtree if token.dep_ == "prep"), end)
        said = " ".join([doc[1:end].text, *([] if first.lemma_ == "do" else [first.lower_]), doc[end:].text])
    elif first.tag_ == "VBG" and first.dep_ == "ROOT":
        said = f"I am {said}"
    elif subject is None and first.tag_.startswith("VB"):
        said = f"I {said}"
    elif first.dep_ == "amod" and first.head.dep_ == "ROOT":  # little interest; poor appetite
        noun = doc[1 : first.head.i + 1].text
        said = f"I have {said}" if first.lower_ in WORDS["amounts"] else f"my {noun} is {first.lower_}"
    return nlp(re.sub(r"\bI (are|were)\b", "I am", said)), hypothesis


def _of_oneself(token: "Token") -> str:
    """A word with which a scale speaks to people, as they say it."""
    if token.lower_ == "you":
        return "I" if token.dep_ in SUBJECTS else "me"
    if token.tag_ == "VBG" and any(own.head.head.text == "hard" for own in (token, *token.conjuncts)):
        return token.lemma_  # hard to relaxing: hard to relax
    return str(WORDS["oneself"].get(token.lower_, token.text))


def _said(doc: "Doc", root: "Token", verb: "Token", state: Sequence[str] | None) -> tuple[int, int, list[str]]:
    """What a statement says: the places of its first word and of the one after it, and its terms."""
    manner = [token for token in root.rights if token.dep_ == "advmod" and any(_like(token.lower_, verbal=False))]
    rights = [t for t in root.rights if t in manner or t.dep_ not in ("neg", "punct", "npadvmod", "advmod")]
    head = rights[0] if rights and state and verb == root else root
    if head.dep_ not in COMPLEMENTS or head.pos_ == "VERB" or (head.dep_ == "dobj" and verb.lemma_ != "have"):
        head = manner[0] if manner and verb == root else root
    if head == root:
        if any(token.dep_ in ("ccomp", "cc") for token in root.rights):
            raise ValueError("more than one verb: which is asked of?")
        ends = (token.left_edge.i for token in root.rights if token.dep_ in (*CLAUSES, "prep", "agent", "mark"))
        end = min(ends, default=len(doc))
        return root.i, end, [doc[root.i : end].text]
    phrases = [_phrase(token) for token in (head, *head.conjuncts) if token.pos_ not in ("VERB", "AUX")]
    end, terms = phrases[-1].end, [phrase.text for phrase in phrases]
    done = next((token for token in head.rights if token.dep_ == "xcomp" and token.conjuncts), None)
    if done is not None:  # able to stop or control
        both = (done, *done.conjuncts)
        end, terms = both[-1].i + 1, [f"{terms[0]} to {token.text}" for token in both]
    if head.dep_ == "dobj" and " " in terms[0]:  # little interest or pleasure
        terms = [term if " " in term else f"{terms[0].split()[0]} {term}" for term in terms]
    return phrases[0].start, end, terms


def _phrase(head: "Token") -> "Span":
    """A word with what belongs to it, without what it is coordinated with."""
    own = [token for token in head.rights if token.dep_ == "pobj" or (token.text == "of" and head.pos_ == "NOUN")]
    end = own[-1].right_edge if own and own[-1].text == "of" else own[-1] if own else head
    before = [t.left_edge.i for t in head.lefts if t.dep_ not in ("cc", "punct", "mark", "nsubj")]
    return head.doc[min(before, default=head.i) : end.i + 1]


def _sides(terms: Sequence[str], root: "Token", begin: int, negated: bool) -> tuple[dict[str, list[str]], list[str]]:
    """Source and inverse terms, and what is doubtful about them."""
    verbal = root.i == begin
    like = {term: _like(term, verbal) for term in terms[:MOST]}
    wanted, said = max(FEWEST, len(like)), list(like)
    doubts = [f"no opposite of {term!r} is known" for term, (_, against) in like.items() if not against]
    turns = zip_longest(*(against or [_denied(term, root, verbal)] for term, (_, against) in like.items()))
    opposed = [*dict.fromkeys(term for turn in turns for term in turn if term)][:wanted]
    more = [term for same, _ in like.values() for term in same if term not in said][: wanted - len(said)]
    doubts += [f"not of the item: {term!r}" for term in more]
    if min(len(said + more), len(opposed)) < FEWEST:
        doubts.append(f"fewer than {FEWEST} terms a side")
    source, inverse = (opposed, said + more) if negated else (said + more, opposed)
    return {"source": source, "inverse": inverse}, doubts


def _like(term: str, verbal: bool) -> tuple[list[str], list[str]]:
    """Terms like one, and terms against it: by its longest beginning or end that is known."""
    words = term.lower().split()
    for n in range(len(words), 0, -1):
        start, end = " ".join(words[:n]), " ".join(words[-n:])
        for pair in (row for own in OPPOSITES for row in (own, own[::-1])):
            if start in pair[0]:
                same, against = ([" ".join([other, *words[n:]]) for other in side] for side in pair)
            elif end in pair[0] and (n > 1 or not verbal):  # easily annoyed: patient; worry too much: worry too little
                kept = words[:-n] if n > 1 else []
                same, against = ([" ".join([*kept, other]) for other in side] for side in pair)
            else:
                continue
            return [other for other in same if other != term], against
    return [], []


def _denied(term: str, root: "Token", verbal: bool) -> str:
    """The negation of a term."""
    done = {"VBZ": "does", "VBD": "did", "VBP": "do", "VB": "do"}.get(root.tag_)
    if verbal and done:  # leaves me cold: does not leave me cold
        return " ".join([done, "not", root.lemma_, *term.split()[1:]])
    return f"no {re.sub('^(an?|the) ', '', term)}" if root.lemma_ == "have" else f"not {term}"


def _agreeing(pattern: str, whom: str) -> str:
    """A hypothesis: in its pattern @ is who, ~ how often."""
    text = re.sub(r"\bbe\b", {"I": "am", "They": "are", "It": "is"}[whom], pattern)
    if whom == "It":
        text = re.sub(r"^(@ ~ )(\w+)", lambda found: found[1] + {"do": "does"}.get(found[2], f"{found[2]}s"), text)
    return text.replace("@", whom).replace("~", "{INTENSIFIER}") + "."


def _doubts(doc: "Doc", subject: "Token") -> Iterator[str]:
    if any(t.dep_ in CLAUSES and t.pos_ != "ADJ" and any(own.dep_ in SUBJECTS for own in t.lefts) for t in doc):
        yield "more than one clause"
    if any(token.dep_ == "conj" and token.pos_ in ("VERB", "AUX") for token in doc):
        yield "two verbs in one item"
    if not {"I", "my", "me", "mine"} & {token.text for token in subject.subtree}:
        yield "about others than oneself"
