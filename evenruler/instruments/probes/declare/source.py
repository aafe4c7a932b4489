"""Sources of probes, `data/sources/probes/*.yaml` or evolved: templates, attributes, targets,
criterion of a domain.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.instrument import Keying, SharedTrait, Source, Words
from evenruler.instruments.methods.next_word import ARTICLE
from evenruler.instruments.prefixes import PrefixSettings
from evenruler.instruments.probes.declare.settings import Evolve, Settings
from evenruler.instruments.probes.schemas import CHOSEN, ELITES, POPULATION
from evenruler.strict import (
    Passage,
    Slug,
    StrictModel,
    Text,
    Word,
    number_of,
    read_yaml,
    require_written,
    validate,
)
from evenruler.tables.records import read_text_table, rename_columns
from evenruler.text.english import ATTRIBUTE, TARGET, slots, slug_of
from evenruler.text.spelling import describe_duplicates, find_duplicates, find_flaw

MATCHES = ("exact", "group", "none")


class CriterionEntry(StrictModel):
    """A published share per attribute, in percent, to validate against."""

    file: Text
    """A table under `data/sources/probes/shared/` with the columns `attribute`, `match` and that
    named by `column`."""
    column: Text
    columns: dict[Literal["attribute", "match"], Text] = Field(default_factory=dict)
    """What the file calls these columns, where it has other names. Without a column `match` every
    figure is that of the attribute itself."""
    ends: list[float] = Field(default=[0, 100], min_length=2, max_length=2)
    """The lowest and the highest figure, which become 0 and 100 percent: [-1, 1] of ratings."""
    complement_of: float | None = None
    """The criterion is this minus the column (100 turns percent of women into percent of men)."""
    label: Text
    """What the resulting criterion counts, for axes and cards."""
    likeness: Text | None = None
    """A CSV in the same folder with a row per `attribute` and numbers that say how alike attributes
    are to a declared model (`studies.likeness`); for models that score no reference set."""

    @field_validator("ends")
    @classmethod
    def _require_rising_ends(cls, ends: list[float]) -> list[float]:
        """Refuse ends that do not rise (ValueError)."""
        if ends[0] >= ends[1]:
            raise ValueError(f"found {list(ends)}, expected the lowest figure, then the highest")
        return ends

    @property
    def columns_by_role(self) -> dict[str, str]:
        """The columns that are read: `attribute`, `figure`, and `match` where the file has it."""
        if not self.columns:
            return {"attribute": "attribute", "match": "match", "figure": self.column}
        named = {str(role): column for role, column in self.columns.items()}
        return {"attribute": "attribute", **named, "figure": self.column}


@dataclass(frozen=True)
class Criterion:
    """A criterion, read and checked against the attributes of its domain."""

    label: str
    values: dict[str, float | None]
    """By attribute slug; None where nothing is published."""
    matches: dict[str, str]
    """By attribute slug: `exact` (one title), `group` (several, weighted) or `none`."""
    likeness: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By attribute slug; empty where no model is declared."""


def _read_criterion(
    entry: CriterionEntry, attributes: Mapping[str, str], folder: Path
) -> Criterion:
    """The criterion of a domain from its CSV in `folder`; `attributes`: words by slug. UserError
    where a row is wrong or stands twice, or an attribute has none.
    """
    path = folder / entry.file
    columns = entry.columns_by_role
    _, numbered_rows = read_text_table(
        path, "put the criterion there or fix `criterion.file`", [*columns.values()]
    )
    rows: dict[str, dict[str, str]] = {}
    for line, row in rename_columns(numbered_rows, columns):
        row.setdefault("match", "exact" if row["figure"] else "none")
        flaw = find_flaw(row["attribute"])
        if flaw:
            raise UserError(flaw.what, where=f"{path}: line {line}", remedy=flaw.remedy)
        slug = slug_of(row["attribute"])
        if slug in rows:
            where = f"{path}: line {line} ({row['attribute']})"
            raise UserError(f"{row['attribute']!r} twice", where=where, remedy="keep one")
        rows[slug] = row
    missing = [word for slug, word in attributes.items() if slug not in rows]
    if missing:
        what = f"no row for {len(missing)} attributes that the set has: {', '.join(missing)}"
        remedy = (
            "add a row for each (with an empty figure and match `none` if nothing is published)"
        )
        raise UserError(what, where=str(path), remedy=remedy)
    values = {slug: _criterion_value(rows[slug], entry, path) for slug in attributes}
    matches = {slug: rows[slug]["match"] for slug in attributes}
    likeness = _read_likeness(folder / entry.likeness) if entry.likeness else {}
    return Criterion(entry.label, values, matches, likeness)


def _read_likeness(path: Path) -> dict[str, list[float]]:
    """By attribute slug, numbers that say how alike attributes are to a declared model."""
    columns, numbered_rows = read_text_table(
        path, "put it there or fix `criterion.likeness`", ("attribute",)
    )
    numbers: dict[str, list[float]] = {}
    for line, row in numbered_rows:
        try:
            values = [number_of(row[column]) for column in columns if column != "attribute"]
        except ValueError as error:
            where = f"{path}: line {line}"
            raise UserError(str(error), where=where, remedy="write it in digits 0 to 9") from None
        numbers[slug_of(row["attribute"])] = values
    return numbers


def _criterion_value(row: dict[str, str], entry: CriterionEntry, path: Path) -> float | None:
    """The share of one attribute, in percent, after `complement_of`; None where nothing is
    published. UserError where `match` and figure disagree, or it is no number from 0 to 100.
    """
    text, match = row["figure"], row["match"]
    where = f"{path}: {row['attribute']}"
    if match not in MATCHES:
        raise UserError(
            f"match is {match!r}, expected one of {', '.join(MATCHES)}",
            where=where,
            remedy="fix it",
        )
    if (text == "") != (match == "none"):
        raise UserError(
            f"figure {text!r} with match {match!r}",
            where=where,
            remedy="`none` goes with no figure",
        )
    if text == "":
        return None
    try:
        number = number_of(text)
    except ValueError as error:
        raise UserError(
            str(error), where=where, remedy="write it in digits 0 to 9, as 5.5"
        ) from None
    low, high = entry.ends
    if (low, high) != (0, 100):
        number = round(100 * (number - low) / (high - low), 9)
    share = number if entry.complement_of is None else round(entry.complement_of - number, 9)
    if not 0 <= share <= 100:
        raise UserError(
            f"the criterion is {share:g}, expected a share in percent, from 0 to 100",
            where=where,
            remedy="give shares, or declare `keys`",
        )
    return share


SLOTS = (ATTRIBUTE, TARGET)

EVOLVED, DEMONSTRATION = ", evolved", " (demonstration)"
"""Added to the title of an evolved source, the second where the operator was below its bar."""

_OF_WHAT_EVOLVES = re.compile(r"g\d+-\d+")


class TemplateEntry(StrictModel):
    """A sentence with exactly one {ATTRIBUTE} and one {TARGET}."""

    text: Passage
    keying: Keying = 1
    """+1; -1 where a higher likelihood means less association."""
    control: bool = False
    """Whether it is asked and shown but not scored: the baseline of a model that ignores the
    wording of the others."""

    @field_validator("text")
    @classmethod
    def _both_slots_once(cls, text: str) -> str:
        """Refuse a text without {ATTRIBUTE} and {TARGET} once each, or with more braces
        (ValueError).
        """
        slot_counts = Counter(slots(text))
        unknown = sorted(set(slot_counts) - set(SLOTS))
        if unknown:
            raise ValueError(
                f"{text!r} holds the unknown slot {unknown[0]}; "
                f"{suggest_nearest(unknown[0], SLOTS)}"
            )
        for slot in SLOTS:
            if slot_counts[slot] != 1:
                raise ValueError(f"{text!r} holds {slot} {slot_counts[slot]} times, expected once")
        if text.count("{") + text.count("}") != 2 * len(SLOTS):
            raise ValueError(f"{text!r} holds a brace that belongs to no slot")
        return text


def _accept_bare_text(value: object) -> object:
    """A template written as bare text, as the fields of `TemplateEntry`; anything else as it is."""
    return {"text": value} if isinstance(value, str) else value


class TemplateSet(StrictModel):
    """A set of templates that are scored together."""

    title: Text
    source: Text | None = None
    """Who wrote the templates; by default the `source` of the file."""
    licence: Text | None = None
    templates: dict[Slug, Annotated[TemplateEntry, BeforeValidator(_accept_bare_text)]] = Field(
        min_length=1
    )

    @model_validator(mode="after")
    def _require_distinct_templates(self) -> "TemplateSet":
        """Refuse a template that stands twice, and a set of controls alone: it has no score
        (ValueError).
        """
        duplicates = find_duplicates(entry.text for entry in self.templates.values())
        if duplicates:
            raise ValueError(
                f"the template {describe_duplicates(*duplicates)} stands in the set twice"
            )
        if all(entry.control for entry in self.templates.values()):
            raise ValueError("every template is a control, so that there is no score")
        return self

    @property
    def scored(self) -> dict[str, TemplateEntry]:
        """The templates that scores are made of."""
        return {slug: entry for slug, entry in self.templates.items() if not entry.control}


class KeyedAttributes(StrictModel):
    """Attributes at the two ends of the construct, where there is no criterion; words as in
    `attributes`.
    """

    high: list[Word] = Field(min_length=1)
    """With a positive gain they are closer to the first group of targets than `low` is."""
    low: list[Word] = Field(min_length=1)

    @property
    def keyed(self) -> dict[str, int]:
        """By word: 1 if high, -1 if low."""
        return {**dict.fromkeys(self.high, 1), **dict.fromkeys(self.low, -1)}


FEWEST_CONTROL_WORDS, FEWEST_SENTENCES, FEWEST_WORD_PAIRS = 6, 4, 6
"""Fewest words of each group in a positive control, sentences that end before a noun, and matched
pairs: below these the interval over them is too wide to say anything."""

FEWEST_KEYED = 8
"""Fewest attributes of each key for a contrast of keys."""


class PositiveControlWords(StrictModel):
    """Words whose group is their meaning, in the same sentences: a model that does not tell these
    apart cannot be measured by them.
    """

    name: Text
    """What is asked, for readers: "brides and monks"."""
    high: list[Word] = Field(min_length=FEWEST_CONTROL_WORDS)
    """Words of the first group."""
    low: list[Word] = Field(min_length=FEWEST_CONTROL_WORDS)


class NextWordSettings(StrictModel):
    """Sentences that end before a noun: a model that gives next-word probabilities scores all nouns
    of the reference set after each in one pass.
    """

    title: Text
    sentences: dict[Slug, Passage] = Field(min_length=FEWEST_SENTENCES)
    """Each with one {ATTRIBUTE}, and "a" at its end; the noun follows after a space."""
    pairs: dict[Word, Word] = Field(min_length=FEWEST_WORD_PAIRS)
    """Matched words of the first and the second group: `man: woman`."""
    control: PositiveControlWords

    @field_validator("sentences")
    @classmethod
    def _hold_an_attribute(cls, sentences: dict[str, str]) -> dict[str, str]:
        """Refuse a sentence with other slots than one {ATTRIBUTE}, or without "a" at its end
        (ValueError).
        """
        for text in sentences.values():
            n_braces = text.count("{") + text.count("}")
            if list(slots(text)) != [ATTRIBUTE] or n_braces != 2:
                raise ValueError(f"{text!r} needs {ATTRIBUTE} once, and no other slot")
            if not text.endswith(f" {ARTICLE}"):
                raise ValueError(f"{text!r} has to end in {ARTICLE!r}: a noun follows")
        return sentences

    @model_validator(mode="after")
    def _distinct_words(self) -> "NextWordSettings":
        """Refuse a word that stands twice among the pairs, or twice in the control (ValueError)."""
        paired = [*self.pairs, *self.pairs.values()]
        duplicates = find_duplicates(paired) or find_duplicates(
            [*self.control.high, *self.control.low]
        )
        if duplicates:
            raise ValueError(f"{describe_duplicates(*duplicates)} stands there twice")
        return self


class WritingSettings(StrictModel):
    """Pronouns that assign a sentence of a chat model to a group, and words whose group is
    known.
    """

    pronouns: dict[Slug, list[Word]]
    known: dict[Slug, list[Word]]

    @field_validator("pronouns", "known")
    @classmethod
    def _of_one_group(cls, by_group: dict[str, list[str]]) -> dict[str, list[str]]:
        """Refuse a word that stands twice, in one group or in both (ValueError)."""
        duplicates = find_duplicates(chain.from_iterable(by_group.values()))
        if duplicates:
            raise ValueError(
                f"{describe_duplicates(*duplicates)} stands there twice, and a word tells one group"
            )
        return by_group


class ProbeSource(Source):
    """One domain: its groups of targets, its attributes, its template sets and its criterion."""

    targets: dict[Slug, Words]
    attributes: Words
    criterion: CriterionEntry | None = None
    keys: KeyedAttributes | None = None
    """Used instead of a criterion."""
    next_word: NextWordSettings | None = None
    """The form of the headline, where attributes have a criterion; else the first template set
    is."""
    agreement: SharedTrait | None = None
    """The concept of attributes, if other instruments measure them too; high values are closer to
    the first targets."""
    rivals: KeyedAttributes | None = None
    """Words in place of attributes, off the construct, that differ as the keyed ones do: good and
    bad, say."""
    written: WritingSettings | None = None
    """How sentences that a chat model writes about an attribute are read, where pronouns tell the
    groups apart."""
    prefixes: PrefixSettings | None = None
    """Prefixes after which sentences are asked too, to see how they shift biases."""
    sets: dict[Slug, TemplateSet] = Field(min_length=1)
    _published: Criterion | None = PrivateAttr(default=None)

    @property
    def published(self) -> Criterion | None:
        """The numbers of the criterion, once `load` has read them; None where there is none."""
        return self._published

    @field_validator("targets")
    @classmethod
    def _two_disjoint_groups(cls, targets: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Refuse any number of groups but two, and a word or slug in both of them (ValueError)."""
        if len(targets) != 2:
            raise ValueError(f"found {len(targets)} groups ({', '.join(targets)}), expected two")
        first, second = targets.values()
        duplicates = find_duplicates([*first.values(), *second.values()])
        if duplicates:
            raise ValueError(f"{describe_duplicates(*duplicates)} stands in both groups")
        shared_slugs = sorted(first.keys() & second.keys())
        if shared_slugs:
            raise ValueError(f"the slug {shared_slugs[0]!r} stands in both groups")
        return targets

    @model_validator(mode="after")
    def _require_consistent_keys(self) -> "ProbeSource":
        """Refuse a gain of next words without a criterion, keys beside one, rivals without keys,
        and too few keyed words or words of other groups than the targets' (ValueError).
        """
        if self.next_word is not None and self.criterion is None:
            raise ValueError("next_word: its gain is along a criterion, and there is none")
        if self.written is not None:
            self._require_groups_of_targets(self.written)
        if self.keys is not None:
            if self.criterion is not None:
                raise ValueError("it has keys and a criterion, expected one of them")
            self._require_keyed_attributes(self.keys)
            _require_enough_keyed(self.keys, "attributes")
            if self.rivals is not None:
                _require_enough_keyed(self.rivals, "rivals")
            self._require_distinct_rivals()
        elif self.rivals is not None:
            raise ValueError("rivals go with keys, and it has none")
        return self

    def _require_groups_of_targets(self, written: WritingSettings) -> None:
        """Pronouns and words of the writing settings are of the same groups as the targets."""
        for words_by_group in (written.pronouns, written.known):
            if list(words_by_group) != list(self.targets):
                raise ValueError(
                    f"written: found {', '.join(words_by_group)}, expected the groups "
                    f"{', '.join(self.targets)}"
                )

    def _require_keyed_attributes(self, keys: KeyedAttributes) -> None:
        """Every key is an attribute, with one key."""
        keyed = [*keys.high, *keys.low]
        unknown = sorted(set(keyed) - set(self.attributes.values()))
        if unknown:
            hint = suggest_nearest(unknown[0], self.attributes.values())
            raise ValueError(f"the key {unknown[0]!r} is no attribute; {hint}")
        if find_duplicates(keyed):
            raise ValueError("an attribute has both keys, or one of them twice")

    def _require_distinct_rivals(self) -> None:
        """No rival, if there are any, stands twice or is an attribute."""
        rivals: list[str] = []
        if self.rivals is not None:
            rivals = [*self.rivals.high, *self.rivals.low]
        taken = find_duplicates([*self.attributes.values(), *rivals])
        if taken:
            raise ValueError(
                f"the rival {describe_duplicates(*taken)} stands twice, or is an attribute"
            )


def _require_enough_keyed(keys: KeyedAttributes, what: str) -> None:
    """Both keys have the words that a contrast of keys needs; `what`: what the words are."""
    few = min(len(keys.high), len(keys.low))
    if few < FEWEST_KEYED:
        raise ValueError(f"{few} {what} have one of the keys (at least {FEWEST_KEYED} needed)")


def load(path: Path, settings: Settings, shared: Path) -> ProbeSource:
    """Read a source, written or evolved, with its criterion; check it, also against the
    settings.
    """
    require_written(
        path, "source for the probes", "write the file or check the name in params.yaml"
    )
    source = validate(ProbeSource, read_yaml(path), path)
    is_evolved = path.name == "source.yaml" and set(source.sets) == {CHOSEN, ELITES, POPULATION}
    if not is_evolved:  # users wrote it
        for name in settings.article if isinstance(settings.article, dict) else ():
            if name not in source.sets:
                what = (
                    f"no template set {name!r} for `article`; {suggest_nearest(name, source.sets)}"
                )
                raise UserError(what, where=str(path), remedy="check the name in params.yaml")
        if settings.evolve:
            if not source.in_english:
                what = f"templates evolve by English prompts, and these are in {source.language!r}"
                raise UserError(
                    what, where=f"{path}: language", remedy="take `evolve` out of its entry"
                )
            _require_start(path, source, settings.evolve)
    if source.criterion is not None:
        source._published = _read_criterion(source.criterion, source.attributes, shared)
    return source


def _require_start(path: Path, source: ProbeSource, evolve: Evolve) -> None:
    """Check the starting set: it exists, is large enough to select from, and uses no slugs of
    evolved templates.
    """
    if evolve.start not in source.sets:
        what = (
            f"no template set {evolve.start!r} for `evolve.start`; "
            f"{suggest_nearest(evolve.start, source.sets)}"
        )
        raise UserError(what, where=str(path), remedy="check the name in params.yaml")
    templates = source.sets[evolve.start].scored
    if len(templates) <= max(evolve.elites, 2):
        what = (
            f"{len(templates)} templates of {evolve.start} to start with, of which "
            f"{evolve.elites} are elites"
        )
        raise UserError(
            what, where=str(path), remedy="write more templates, or keep fewer (`evolve.elites`)"
        )
    taken = next(filter(_OF_WHAT_EVOLVES.fullmatch, templates), None)
    if taken:
        what = f"a template of {evolve.start} is called {taken!r}, as those that evolve are"
        raise UserError(what, where=str(path), remedy="rename it")


def without_slots(template: str) -> str:
    """A template as it is embedded: "someone" for each slot."""
    return template.replace(ATTRIBUTE, "someone").replace(TARGET, "someone")
