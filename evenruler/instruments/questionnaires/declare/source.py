"""Source files of questionnaires and scales: `data/sources/questionnaires/*.yaml`, and
`shared/scales/*.yaml` there.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from statistics import mean
from typing import Final, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments import instrument
from evenruler.instruments.instrument import MEND, Keying, Words
from evenruler.instruments.prefixes import PrefixSettings
from evenruler.instruments.questionnaires.declare.shared import (
    MOST_VALENCE,
    licensed_wording,
    valence,
)
from evenruler.strict import (
    WITH_REMEDY,
    Passage,
    Slug,
    StrictModel,
    Text,
    read_yaml,
    require_written,
    validate,
)
from evenruler.tables.ids import row_id
from evenruler.text import fill
from evenruler.text.english import slots
from evenruler.text.spelling import describe_duplicates, find_duplicates, fold_text

FAMILY: Final = "questionnaires"
VARIANT: Final = "agree"
"""The variant of filling in which articles agree with the word in a slot."""


def prompt_id(
    questionnaire: str, item: str, term: str, intensifier: str, framing: str, twin: int = 0
) -> str:
    """The id of a prompt; `framing`: the name of its prefix, `bare` without one; `twin`: number of
    the twin.
    """
    of_prompt = {"benchmark": questionnaire, "item": item, "term": term, "intensifier": intensifier}
    return row_id(family=FAMILY, **of_prompt, variant=VARIANT, framing=framing, **twin_of(twin))


def twin_of(number: int) -> dict[str, str]:
    """The extra part of a twin's row identity; empty for an item (0)."""
    return {"twin": str(number)} if number else {}


TERM, INTENSIFIER = "{TERM}", "{INTENSIFIER}"

THIRD_PERSON = {"he", "she", "it"}
OTHER_PERSONS = {"i", "you", "we", "they"}
OF_ANY_PERSON = {"can", "could", "will", "would", "may", "might", "must", "should", "had", "did"}
THIRD_ONLY = {"is", "has", "does"}
ENDS_LIKE_THIRD = {"focus", "bus", "gas", "bias", "canvas"}
ENDS_LIKE_PAST = {
    "need",
    "feed",
    "succeed",
    "exceed",
    "proceed",
    "speed",
    "breed",
    "bleed",
    "shed",
    "wed",
    "embed",
}
ADVERBS = {"still", "also", "just", "even", "not", "again"}


SOMEBODY = re.compile(
    r"\b(I|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours|yourself|he|him|his|himself|she|her|hers|herself|"
    r"people|persons?|somebody|someone|anybody|anyone|everybody|everyone|nobody|strangers?|others|m[ae]n|wom[ae]n|"
    r"child(?:ren)?|boys?|girls?|mothers?|fathers?|parents?|friends?|neighbou?rs?|nurses?|doctors?|teachers?|workers?)\b",
    flags=re.IGNORECASE,
)
"""Words that refer to a person."""

FEWEST_TWINS = 3
"""Fewest twins per item for a verdict."""


class Level(StrictModel):
    """One level of a scale."""

    weight: float = Field(allow_inf_nan=False)
    words: Words
    """The intensifiers of this level."""


class ResponseScale(StrictModel):
    """The intensifiers that replace the answers of a Likert scale."""

    title: Text
    source: Text
    levels: list[Level] = Field(min_length=2)
    """Lowest first."""

    @model_validator(mode="after")
    def _ordered_and_distinct(self) -> "ResponseScale":
        """Refuse weights that do not rise from level to level, and a word of two levels
        (ValueError).
        """
        weights = [level.weight for level in self.levels]
        if any(b <= a for a, b in pairwise(weights)):
            raise ValueError(f"weights {weights} do not rise from level to level")
        duplicate = find_duplicates(self.intensifiers) or find_duplicates(self.words)
        if duplicate:
            raise ValueError(f"{describe_duplicates(*duplicate)} stands at two levels")
        return self

    @property
    def intensifiers(self) -> list[str]:
        """Slugs of all intensifiers, lowest level first."""
        return list(chain.from_iterable(level.words for level in self.levels))

    @property
    def words(self) -> list[str]:
        """Words of all intensifiers, lowest level first."""
        return list(chain.from_iterable(level.words.values() for level in self.levels))


class ItemTerms(StrictModel):
    """Terms for the construct of an item."""

    source: Words
    """Terms that keep the stance of the original question."""
    inverse: Words
    """Terms that reverse it."""

    @model_validator(mode="after")
    def _require_distinct_terms(self) -> "ItemTerms":
        """Refuse a term that stands twice, above all as source and as inverse term (ValueError)."""
        duplicate = find_duplicates(self.words)
        slugs = sorted(self.source.keys() & self.inverse.keys())
        if duplicate is None and slugs:
            duplicate = (slugs[0], slugs[0])
        if duplicate:
            raise ValueError(
                f"{describe_duplicates(*duplicate)} is both a source and an inverse term"
            )
        return self

    @property
    def by_polarity(self) -> dict[str, dict[str, str]]:
        """Words by polarity and slug, the source terms first."""
        return {"source": self.source, "inverse": self.inverse}

    @property
    def words(self) -> list[str]:
        """Words of both polarities."""
        return [*self.source.values(), *self.inverse.values()]


class Wording(StrictModel):
    """A premise and a hypothesis that together hold one {TERM} and one {INTENSIFIER}, and the
    terms.
    """

    premise: Passage
    hypothesis: Passage
    terms: ItemTerms

    @property
    def templates(self) -> dict[str, str]:
        """The templates of premise and hypothesis."""
        return {"premise": self.premise, "hypothesis": self.hypothesis}

    def valence_of(self, polarity: str) -> float:
        """Mean valence of its prompts with the terms of one polarity, without intensifiers, -1 to
        1.
        """
        text = f"{self.premise} {self.hypothesis}"
        valences: list[float] = []
        for term in self.terms.by_polarity[polarity].values():
            prompt = fill(text, {TERM: term, INTENSIFIER: ""}, "literal")
            valences.append(valence(prompt))
        return mean(valences)

    @model_validator(mode="after")
    def _require_slots_and_verbs(self) -> "Wording":
        """Refuse slots other than one {TERM} and one {INTENSIFIER}, a term in a template, and a
        verb in the wrong form (ValueError).
        """
        text = f"{self.premise} {self.hypothesis}"
        slot_counts = Counter(slots(text))
        for slot in sorted(set(slot_counts) - {TERM, INTENSIFIER}):
            raise ValueError(f"unknown slot {slot}; {suggest_nearest(slot, [TERM, INTENSIFIER])}")
        for slot in (TERM, INTENSIFIER):
            if slot_counts[slot] != 1:
                raise ValueError(
                    f"premise and hypothesis hold {slot} {slot_counts[slot]} times together, "
                    "expected once"
                )
        if text.count("{") + text.count("}") != 4:
            raise ValueError("a brace belongs to no slot")
        for word in self.terms.words:
            if _word_pattern(word).search(text):
                raise ValueError(f"the term {word!r} stands in a template, which should be neutral")
        for template in self.templates.values():
            complaint = verb_error(template)
            if complaint:
                raise ValueError(complaint)
        return self


@cache
def _word_pattern(word: str) -> re.Pattern[str]:
    """A word in any case; `re` remembers fewer patterns than questionnaires have terms."""
    return re.compile(rf"\b{re.escape(word)}\b", flags=re.IGNORECASE)


def placebo_mismatch(item: Wording, twin: Wording) -> str | None:
    """Why a twin does not fit its item, by automatic checks; None where they pass."""
    text = " ".join([*twin.templates.values(), *twin.terms.words])
    if somebody := SOMEBODY.search(text):
        return f"{somebody[0]!r} is about a person, but a twin is about none"
    for side, template in twin.templates.items():
        item_slots = _list_slots(item.templates[side])
        twin_slots = _list_slots(template)
        if item_slots != twin_slots:
            return f"its {side} holds {twin_slots}, that of its item {item_slots}"
    return None


def _list_slots(template: str) -> str:
    """The slots of a template in words: "{TERM} and {INTENSIFIER}"."""
    return " and ".join(sorted(slots(template))) or "no slot"


def placebo_warnings(item: Wording, twins: Sequence[Wording]) -> Iterator[str]:
    """Warnings on too few twins, or twins with another number of terms, on which shares depend."""
    n_twins = len(twins)
    if n_twins < FEWEST_TWINS:
        twin_noun = "twins" if n_twins > 1 else "twin"
        yield f"{n_twins} {twin_noun} (at least {FEWEST_TWINS} needed): their mean says little"
    for number, twin in enumerate(twins, start=1):
        for polarity, wanted in item.terms.by_polarity.items():
            n_terms = len(twin.terms.by_polarity[polarity])
            n_wanted = len(wanted)
            if n_terms != n_wanted:
                yield f"twin {number} has {n_terms} {polarity} terms, the item {n_wanted}"


def unlike_in_valence(item: Wording, twins: Sequence[Wording]) -> Iterator[str]:
    """Warnings on twins whose mean valence differs from their item's, for source terms or source
    minus inverse terms.

    The latter is the contrast that the normalisation uses.
    """
    item_source = item.valence_of("source")
    twin_source = mean(twin.valence_of("source") for twin in twins)
    item_contrast = item_source - item.valence_of("inverse")
    twin_contrast = twin_source - mean(twin.valence_of("inverse") for twin in twins)
    for what, item_valence, twin_valence in (
        ("source terms", item_source, twin_source),
        ("source less inverse terms", item_contrast, twin_contrast),
    ):
        if abs(item_valence - twin_valence) > MOST_VALENCE:
            yield (
                f"{what} have valence {item_valence:.2f}, those of its twins {twin_valence:.2f}; "
                f"they may differ by {MOST_VALENCE:g}, "
                "so that good and bad alone move no score: take other terms in the twins"
            )


class QuestionnaireItem(Wording):
    """One question, with its twins as controls."""

    original: Text
    """The question, or our paraphrase where its wording may not be stored."""
    subscale: Slug | None = None
    keying: Keying = 1
    """+1, or -1 where agreeing with the item means less of the construct."""
    twins: list[Wording] = Field(default_factory=list)
    """Impersonal twins: the same form, not about a person's state, with terms of like valence."""

    @model_validator(mode="after")
    def _require_matching_twins(self) -> "QuestionnaireItem":
        """Refuse a twin that fails the automatic checks of `placebo_mismatch` (ValueError)."""
        for number, twin in enumerate(self.twins, start=1):
            complaint = placebo_mismatch(self, twin)
            if complaint:
                raise ValueError(f"twin {number}: {complaint}")
        return self


class PublishedWording(StrictModel):
    """The published questionnaire that this one follows."""

    name: Text
    licence: Text
    reference: Text
    stem: Text | None = None
    """The text that introduces every item."""
    wording: Literal["held", "paraphrased"]
    """`held`: items' `original` is the published wording; `paraphrased`: it is our paraphrase."""
    file: Text | None = None
    """For wording that may not be stored: the user's text file with one line per item, in order. It
    is used to measure the similarity of prompts to the original, and goes into no row, card or
    evidence."""

    @model_validator(mode="after")
    def _refuse_file_with_held_wording(self) -> "PublishedWording":
        """Refuse `file` beside `wording: held` (ValueError): it is for wording not stored here."""
        if self.file is not None and self.wording == "held":
            raise ValueError(
                "`file` is for wording that is not held: say `wording: paraphrased`, or leave it "
                "out"
            )
        return self


class QuestionnaireSource(instrument.Source):
    """The declaration of one questionnaire."""

    original: PublishedWording
    scale: Slug = "frequency"
    """Name of a file under `shared/scales`."""
    prefixes: PrefixSettings | None = None
    """Prefixes before the question to a causal model, to measure how they shift scores."""
    items: dict[Slug, QuestionnaireItem] = Field(min_length=1)

    read: bool = True
    """Whether a person has read every word; drafts by `evenruler translate` say false."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unread_draft(cls, raw_source: object) -> object:
        """Refuse a draft that nobody has read, before any other check (PydanticCustomError)."""
        if isinstance(raw_source, dict) and raw_source.get("read") is False:
            what = "`read: false` stands in it: a draft by `evenruler translate`"
            remedy = "read every word, fill in what says FILL, then say `read: true`"
            raise PydanticCustomError(WITH_REMEDY, "{what}", {"what": what, "remedy": remedy})
        return raw_source

    @model_validator(mode="after")
    def _require_twins_for_all(self) -> "QuestionnaireSource":
        """Refuse twins of some items but not of all (ValueError)."""
        bare = [slug for slug, item in self.items.items() if not item.twins]
        if bare and len(bare) < len(self.items):
            raise ValueError(f"{bare[0]!r} has no twin: either every item has some or none has")
        return self

    @property
    def all_wordings(self) -> Iterator[tuple[str, QuestionnaireItem, int, Wording]]:
        """Slug, item, number of the twin (0: the item itself) and wording: every item, then every
        twin.
        """
        for slug, item in self.items.items():
            yield slug, item, 0, item
        for slug, item in self.items.items():
            for number, twin in enumerate(item.twins, start=1):
                yield slug, item, number, twin

    @property
    def twins(self) -> int:
        """Number of twins of all items together."""
        return sum(len(item.twins) for item in self.items.values())

    @property
    def subscales(self) -> list[str]:
        """Slugs of subscales, sorted."""
        return sorted({item.subscale for item in self.items.values() if item.subscale})

    @model_validator(mode="after")
    def _distinct_prompts(self) -> "QuestionnaireSource":
        """Refuse two items that ask the same: premise, hypothesis and a term (ValueError)."""
        seen: dict[tuple[str, str, str], str] = {}
        for slug, _, _, item in self.all_wordings:
            for word in item.terms.words:
                prompt = (item.premise, item.hypothesis, fold_text(word))
                first = seen.setdefault(prompt, slug)
                if first != slug:
                    raise ValueError(f"items {first!r} and {slug!r} ask the same of {word!r}")
        return self


def verb_error(template: str) -> str | None:
    """The error in the verb after an {INTENSIFIER}, if any: "it {INTENSIFIER} happen", "it
    {INTENSIFIER} happened".

    Habits need the present tense, and the verb must agree with its subject. Checks only what needs
    no parser: a pronoun that begins the sentence, and verbs that can be recognised by their ending.
    """
    match = re.match(r"([A-Za-z]+) \{INTENSIFIER\} ([A-Za-z]+)\b", template)
    if not match:
        return None
    subject, verb = match[1].lower(), match[2].lower()
    if (
        verb in OF_ANY_PERSON | ADVERBS
        or verb.endswith("ly")
        or subject not in THIRD_PERSON | OTHER_PERSONS
    ):
        return None
    if verb.endswith("ed") and verb not in ENDS_LIKE_PAST:
        return f"{match[0]!r}: a habit is told in the present, not as {match[2]!r}"
    third = verb in THIRD_ONLY or (
        verb.endswith("s") and not verb.endswith("ss") and verb not in ENDS_LIKE_THIRD
    )
    if (subject in THIRD_PERSON) != third:
        return f"{match[0]!r}: subject and verb do not agree"
    return None


def refuse_own_intensifiers(source: QuestionnaireSource, scale: ResponseScale, path: Path) -> None:
    """UserError where a template contains an intensifier of the scale."""
    for slug, _, twin, wording in source.all_wordings:
        word = own_intensifier(wording, scale)
        if word:
            place = f"{slug}, twin {twin}" if twin else slug
            raise UserError(
                f"the intensifier {word!r} stands in a template",
                where=f"{path}: items.{place}",
                remedy="take it out: {INTENSIFIER} says how often",
            )


def own_intensifier(wording: Wording, scale: ResponseScale) -> str | None:
    """The first intensifier of a scale that occurs in a template of an item or twin."""
    templates = f"{wording.premise} {wording.hypothesis}"
    for word in sorted(scale.words):
        if re.search(rf"\b{re.escape(word)}\b", templates, flags=re.IGNORECASE):
            return word
    return None


def load_scale(path: Path) -> ResponseScale:
    """Read and check a scale; UserError where it is missing or invalid."""
    require_written(path, "scale", "fix `scale` or write it")
    return validate(ResponseScale, read_yaml(path), path)


def load_questionnaire(path: Path, scales: Path) -> tuple[QuestionnaireSource, ResponseScale]:
    """Read and check a questionnaire and its scale; UserError where one is missing or invalid."""
    require_written(path, "source for the questionnaire", MEND)
    source = validate(QuestionnaireSource, read_yaml(path), path)
    if not source.in_english:
        what = (
            f"found {source.language!r}, and questionnaires are asked and checked by English "
            "prompts and facts"
        )
        raise UserError(what, where=f"{path}: language", remedy="write items in English")
    scale = load_scale(scales / f"{source.scale}.yaml")
    refuse_own_intensifiers(source, scale, path)
    if source.original.file is not None:
        licensed_wording(source.original.file, list(source.items), f"{path}: original.file")
    return source, scale
