"""Sentences of an item about "I" and about other subjects, by rule (docs/questionnaires.md).

A sentence about "I" becomes one about "the tenant" so: the first mention is the noun; later
mentions in the same sentence are a pronoun ("the tenant ... himself"); the second sentence takes
the subject up in its form, as the noun, "he" or "she", or "it"; and a verb in the present gets the
ending of the third person. What the rules cannot put into English is refused and counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from evenruler.instruments.questionnaires.declare.source import (
    INTENSIFIER,
    TERM,
    VARIANT,
    Wording,
)
from evenruler.instruments.questionnaires.declare.subjects import FIRST_PERSON, Subject
from evenruler.text import fill

WORDINGS: Final = ("plain", "premise", "hypothesis")
"""The three wordings of an item: as it stands, or "It is true that" before one of its sentences.

They are put to every subject, so that I and the others share them."""

CONTROL_WORDINGS: Final = ("plain", "hypothesis")
"""Those of the positive control, whose premise has a beginning already."""

ALL_THE_TIME, NEVER = "all the time", "never"
"""What the premise of the positive control says of the source terms; of the inverse terms it says
the other.
"""

N_OF_I: Final = len(WORDINGS) + 2 * len(CONTROL_WORDINGS)
"""Sentences of an item about I, which come first."""

_FRAMES: Final = {
    ALL_THE_TIME: "It is true all the time that",
    NEVER: "It is never true that",
}
_TRUE: Final = "It is true that"

_OF_FIRST_PERSON = re.compile(r"\b(I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")
_REFUSED = re.compile(r"\b(mine|we|us|our|ours|ourselves)\b", re.IGNORECASE)

_HE: Final = {"I": "he", "me": "him", "my": "his", "myself": "himself"}
_SHE: Final = {"I": "she", "me": "her", "my": "her", "myself": "herself"}
_IT: Final = {"I": "it", "me": "it", "my": "its", "myself": "itself"}
_PRONOUNS: Final = {"he": _HE, "she": _SHE, "it": _IT}

_IRREGULAR: Final = {"have": "has", "am": "is", "do": "does", "go": "goes"}
_MODALS: Final = frozenset(
    ["can", "could", "will", "would", "may", "might", "must", "should", "did", "had"]
)
_PAST: Final = frozenset(
    ["was", "felt", "found", "took", "saw", "slept", "kept", "thought", "knew", "said"]
)
"""Past forms without -ed."""
_PRESENT_IN_ED: Final = frozenset(
    ["need", "feed", "succeed", "exceed", "proceed", "speed", "breed", "bleed"]
)

_SUBJECT_AND_VERB = re.compile(
    r"\bI(?P<between> (?:\{INTENSIFIER\} |only just |just |also |still )?)(?P<verb>[a-z]+)\b"
)


class NoSentenceError(ValueError):
    """The rules have no sentence about another subject; the text says why."""


@dataclass(frozen=True)
class Version:
    """Which of an item's sentences: its subject and its wording."""

    number: int
    """From 1, within the item."""
    subject: Subject | None
    """None for I."""
    wording: str
    control: str | None = None
    """What the premise says besides, in the positive control."""

    @property
    def name(self) -> str:
        """The subject's noun, or "I"."""
        return FIRST_PERSON if self.subject is None else self.subject.noun

    @property
    def form(self) -> str:
        """The subject's form, or "I"."""
        return FIRST_PERSON if self.subject is None else self.subject.form


def list_versions(subjects: Sequence[Subject], place: int) -> list[Version]:
    """The sentences of the item in a place of its questionnaire: of I in each wording, of I in the
    positive control, and of every subject in one wording.

    Wordings go round over subjects and items. So each has about as many subjects in every item, and
    no subject or form stands in one wording alone.
    """
    parts: list[tuple[Subject | None, str, str | None]] = []
    parts += [(None, wording, None) for wording in WORDINGS]
    for control in (ALL_THE_TIME, NEVER):
        parts += [(None, wording, control) for wording in CONTROL_WORDINGS]
    for order, subject in enumerate(subjects):
        # Neighbours share a form, so they stand in different wordings.
        parts.append((subject, WORDINGS[(order + place) % len(WORDINGS)], None))
    return [Version(number, *part) for number, part in enumerate(parts, start=1)]


def write_version(
    version: Version, premise: str, hypothesis: str, polarity: str
) -> tuple[str, str]:
    """Premise and hypothesis of an item, which speak of I, as a version has them; slots may stand
    in them.

    `NoSentenceError` where the rules have no form for a word, or the premise does not speak of I.
    """
    if not _OF_FIRST_PERSON.search(premise):
        raise NoSentenceError("its premise does not speak of I")
    if _REFUSED.search(f"{premise} {hypothesis}"):
        raise NoSentenceError("it has a word of the first person that no rule knows")
    if version.subject is not None:
        premise = _name_subject(version.subject, premise, version.subject.noun)
        hypothesis = _name_subject(version.subject, hypothesis, version.subject.taken_up)
    if version.wording == "hypothesis":
        hypothesis = f"{_TRUE} {_lower_first_letter(hypothesis)}"
    if version.control is not None:
        says = version.control
        if polarity == "inverse":
            says = NEVER if says == ALL_THE_TIME else ALL_THE_TIME
        premise = f"{_FRAMES[says]} {_lower_first_letter(premise)}"
    elif version.wording == "premise":
        premise = f"{_TRUE} {_lower_first_letter(premise)}"
    return premise, hypothesis


def refuse_items(items: Mapping[str, Wording], subjects: Sequence[Subject]) -> dict[str, str]:
    """The items that rules cannot put to all subjects, with the reason."""
    refused: dict[str, str] = {}
    for slug, item in items.items():
        for subject, word in product(subjects, item.terms.words):
            version = Version(1, subject, WORDINGS[0])
            try:
                write_version(version, *with_term(item, word), "source")
            except NoSentenceError as error:
                refused[slug] = str(error)
                break
    return refused


def with_term(wording: Wording, word: str) -> tuple[str, str]:
    """Premise and hypothesis with a term; the slot of the intensifier stays."""
    filling = {TERM: word, INTENSIFIER: INTENSIFIER}
    return fill(wording.premise, filling, VARIANT), fill(wording.hypothesis, filling, VARIANT)


def third_person(verb: str) -> str:
    """A verb that stands after "I", as it stands after "she": "have", "has"; "felt", "felt"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    is_past = verb in _PAST or (verb.endswith("ed") and verb not in _PRESENT_IN_ED)
    if verb in _MODALS or is_past:
        return verb
    if re.search(r"(s|sh|ch|x|z|o)$", verb):
        return f"{verb}es"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _name_subject(subject: Subject, sentence: str, first_mention: str) -> str:
    """A sentence about another subject than I; later mentions than the first are pronouns."""
    agreeing = _SUBJECT_AND_VERB.sub(_agree_verb, sentence)
    pronouns = _PRONOUNS[subject.pronoun]
    parts: list[str] = []
    is_mentioned = False
    end = 0
    for match in _OF_FIRST_PERSON.finditer(agreeing):
        word = match[0] if match[0] == FIRST_PERSON else match[0].lower()
        # A reflexive may stand before what it refers to: "drawing attention to herself".
        as_pronoun = is_mentioned or word == "myself" or first_mention == subject.pronoun
        is_mentioned |= word != "myself"
        mention = pronouns[word] if as_pronoun else _as_noun(first_mention, word)
        parts += [agreeing[end : match.start()], mention]
        end = match.end()
    text = "".join([*parts, agreeing[end:]])
    return text[0].upper() + text[1:]


def _as_noun(noun: str, word: str) -> str:
    """The noun as it replaces a word of the first person: possessive for "my", else as it is."""
    return f"{noun}'s" if word == "my" else noun


def _agree_verb(match: re.Match[str]) -> str:
    """The match of "I" and its verb, with the verb in the third person: "I often feels"."""
    return f"I{match['between']}{third_person(match['verb'])}"


def _lower_first_letter(sentence: str) -> str:
    """A sentence as it stands after "that": its first letter is small, unless the word is I."""
    if re.match(r"I\b", sentence):
        return sentence
    return sentence[0].lower() + sentence[1:]
