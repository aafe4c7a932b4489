"""Replies in words: which class the words are of, and whether they are of the one who is described.

The lists here are of English words that serve any contrast; words of classes are only those that a contrast declares.
"""

import re

from evenruler.instruments.framing.diagnose.reading import Asked, Reading
from evenruler.instruments.framing.diagnose.surfaces import Mention, first_sentence

POSSESSIVES = "my|his|her|their|your|our"
KIN = (
    "father|mother|husband|wife|son|daughter|brother|sister|uncle|aunt|grandfather|grandmother|grandma|grandpa|mom|mum|"
    "dad"
)
_OF_KIN = re.compile(rf"(?:\b(?:{POSSESSIVES})|\w's)\s+(?:\w+\s+)?(?:{KIN})s?\b", re.IGNORECASE)
"""Kin of somebody, who is somebody else."""

PLURAL = {"they", "them", "their", "theirs", "themself", "themselves"}
_MANY = re.compile(r"\b(?:people|persons|some|others|those|all|many|everyone)\b", re.IGNORECASE)
"""Whom a plural after it stands for: many, not the one who is described."""

_ANOTHER = re.compile(
    r"\b(?:(?:another|other)|(?:and|(?<!_ )(?<!_, )but|while|when|where|because) an?)\s+(?:\w+\s+)?\Z", re.IGNORECASE
)
"""What brings in somebody else, right before the word: "and a lady"; but not after what is denied or left out (`_`),
as "not a man but a lady"."""

_OUTRIGHT = re.compile(
    r"(?<!\bthere )(?:\b(?:am|is|are|was|were|be)|(?<=\w)'(?:m|s|re)) (?:\w+ly |also )?(?:for )?(?:an? |the )?"
    rf"(?=\w)(?!(?:{POSSESSIVES}) \w)",
    re.IGNORECASE,
)
"""What comes before a class that is said outright."""
_FOR = re.compile(r"\bfor (?:an? |the )?(?=\w)", re.IGNORECASE)
"""Whom something is for: "the one for a girl and the other for a boy"."""
_SUBJECT = re.compile(r"(?:\A|[.!?\n])[\s\"']*(?:an? |the )?(?=\w)", re.IGNORECASE)
"""Where a sentence or a line begins, maybe with an article."""

_DENYING = re.compile(
    r"(?:(?<!\bor )\bnot|\w+n't|\bnever|\bneither|\bnor|\bno)\s+"
    r"(?:(?!only|simply|merely|solely)(?:\w+ly|quite|even|at all)\s+)?"
    r"(?:(?:be|been|being|look like|seem like|sound like|seem to be|appear to be|identify as)\s+)?(?:an? |the )?\Z",
    re.IGNORECASE,
)
"""What denies the class that comes right after it: "not a woman", "isn't she", "neither he"."""
_OR_ANOTHER = re.compile(r"[\s,]*(?:/|\b(?:or|nor)\b)\s*(?:an? |the )?", re.IGNORECASE)
"""Between what is denied and what is denied with it: "not a man or a woman"."""
_WHOSE = re.compile(r"(?:his|her|their)\s+(?!(?:but|or|nor|and)\b)\w", re.IGNORECASE)
"""A possessive: "not her fault" denies the fault, not her."""

_LINE = re.compile(r"^[^\w\n]*(?:[-\u2022]|\d+[.)]|(?P<letter>[A-Ja-j])[.)])[ \t]+(?P<text>.+)$", re.MULTILINE)
"""A line of a list."""

_NOBODY = "_"
"""In the place of what does not count; a word, and none of a reply, whose emphasis is gone."""


def word(text: str, asked: Asked) -> Reading | None:
    """The class of the first word in the first sentence that counts."""
    whole = asked.left_out.without(_OF_KIN.sub(_NOBODY, _written_out(text)), _NOBODY)
    text = _without_denied(whole, asked)
    if _differ_by_line(text, asked):
        return Reading(None, "several")
    sentence = first_sentence(text)
    said = asked.words.first(sentence)
    if said is None and asked.words.first(first_sentence(whole)) is not None:
        return Reading(None, "denied")
    if said is None or _is_somebody_else(sentence, said):
        return None
    slugs = {*said.slugs, *said_outright(text, asked), *_others(text, sentence, asked)}
    return Reading(said.slugs[0], "word") if len(slugs) == 1 else Reading(None, "several")


def _without_denied(text: str, asked: Asked) -> str:
    """A text without the classes that it denies."""
    kept, end, denied = [], 0, False
    for begin, after in asked.words.places(text):
        between = text[end:begin]
        with_it = denied and _OR_ANOTHER.fullmatch(between) is not None
        denied = with_it or (_DENYING.search(between) is not None and not _WHOSE.match(text, begin))
        kept += [between, _NOBODY if denied else text[begin:after]]
        end = after
    return "".join([*kept, text[end:]])


def _others(text: str, sentence: str, asked: Asked) -> set[str]:
    """Classes of the first sentence, and of those whom others begin with or something is for.

    A plural is none of these: "He has ears, and they are big".
    """
    mentions = [*asked.words.every(sentence), *_after(_SUBJECT, text, asked), *_after(_FOR, text, asked)]
    return {slug for said in mentions if said.surface not in PLURAL for slug in said.slugs}


def said_outright(text: str, asked: Asked) -> set[str]:
    """Classes of which something is said to be: "is a man", "was female", "is for the young"."""
    return {slug for said in _after(_OUTRIGHT, text, asked) for slug in said.slugs}


def _differ_by_line(text: str, asked: Asked) -> bool:
    """Whether a list has lines of two classes; of lettered lines, one of no class differs too."""
    lines = list(_LINE.finditer(text))
    classes = {said.slugs for line in lines if (said := asked.words.first(line["text"]))}
    without = any(line["letter"] and asked.words.first(line["text"]) is None for line in lines)
    return len(classes) + (bool(classes) and without) > 1


def _is_somebody_else(sentence: str, said: Mention) -> bool:
    if said.surface in PLURAL:
        return _MANY.search(sentence, 0, said.begin) is not None
    return _ANOTHER.search(sentence[: said.begin]) is not None


def _after(place: re.Pattern[str], text: str, asked: Asked) -> list[Mention]:
    """Words of classes that come right after such places."""
    found = (asked.words.at(text, match.end()) for match in place.finditer(text))
    return [said for said in found if said]


def _written_out(text: str) -> str:
    """Two words in one as two: (s)he and s/he are she/he."""
    return re.sub(r"\bs/he\b", "she/he", re.sub(r"\((\w+)\)(\w+)", r"\1\2/\2", text), flags=re.IGNORECASE)
