"""The instrument: one thing that gets a folder under `benchmarks/`, and the doors that every family of them has.

A family is a package of `evenruler.instruments` with a room for each stage, and the same doors in every room:

    declare   Settings                                          of an entry of `instruments`, a `BaseSettings`
              load(path, settings, shared) -> Source            what users write, checked
              takes(catalogue, model) -> bool                   whether a model of the catalogue is asked
              headings(plan) -> [Column]                        the figures that people are shown, in words
    build     build(declaration, catalogue) -> Built            rows, what was rejected, plan
    ask       ANSWERS: {table: schema}                          what is kept of answers
              FORMS: {name: Form}                               ways of asking, the best first
              READS: {table: columns}, PLANNED: keys            what this room and `diagnose` read of what is published
              requests(tables, plan, answers, subject)          -> what to ask next: Requests; none where all is there
              scores(tables, plan, answers, subject) -> Tables  numbers made of answers
              limited(tables, plan, n) -> tables, plan          the same of n units
    diagnose  TABLES: {table: schema}                           what `figures` and `across` give together
              figures(name, tables, plan, scores, subject, resampling) -> Tables     one instrument, one model
              across(records, resampling) -> Tables             many
              contrast(first, second, smallest) -> Confirmatory a headline of two models, of their `HEADLINES`
              evidence(tables) -> {instrument: {part: {model: {figure: values}}}}    what a card shows
    card      card(declaration, tables, plan, evidence) -> Card words; `evidence` is what `diagnose` gave of this one
    report    sections(shown) -> [Section]                      words and pictures

Frames that `TABLES` does not name are for `across` alone. `schemas.py` holds columns, `starter/` what `evenruler new`
writes. A room imports of its family only `declare`, `schemas` and itself, and `diagnose` also `ask`. What `ask` and
`diagnose` are given is published: tables and plan. So a benchmark can be measured wherever it lies.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import pandas as pd
import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationInfo, WrapValidator, model_validator

from evenruler.errors import UserError, nearest
from evenruler.measurement.checks import Resampling
from evenruler.models.declared import Catalogue, Operation
from evenruler.strict import Slug, Strict, Text
from evenruler.tables import stacked
from evenruler.text.slots import slug_of

Scale = Literal["quick", "paper"]
"""Which models and instruments the pipeline builds, and with how much effort."""

Size = Literal["trial", "standard", "paper"]
"""How much of an instrument is asked: a first look; what finds the effect that its plan states; all rows."""

SCALES: tuple[Scale, ...] = get_args(Scale)
SIZES: tuple[Size, ...] = get_args(Size)

STANDARD: Size = "standard"
"""What `measure` asks unless told, and what the keys of a plan say."""


def _among(cases: Sequence[str], of: str) -> Callable[..., Any]:
    """The value of the case that is read; the others are checked as well."""
    each = f"one for {' and one for '.join(cases)}"

    def of_case(value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return handler(value)
        if not set(value) & set(cases):
            try:
                return handler(value)
            except ValueError:
                raise ValueError(f"found {value}, expected one value, or {each}") from None
        if set(value) != set(cases):
            raise ValueError(f"found {value}, expected {each}")
        found = {case: handler(own) for case, own in value.items()}
        if info.context is None:
            raise RuntimeError(f"settings by {of} are read without a {of}")
        return found[info.context.get(of) or SIZE_AT[info.context["scale"]]]

    return of_case


SIZE_AT: Mapping[str, Size] = {"quick": "trial", "paper": "paper"}
"""The size that the pipeline asks at a scale unless told."""

Value = TypeVar("Value")

Scaled = Annotated[Value, WrapValidator(_among(SCALES, "scale"))]
"""A setting that may differ by scale; the model that is read holds that of the scale in use. Defaults: `by_scale`."""

Sized = Annotated[Value, WrapValidator(_among(SIZES, "size"))]
"""The same by size. Defaults: `by_size`."""


def by_scale(quick: Any, paper: Any) -> Any:
    """A default that differs by scale."""
    return Field(default={"quick": quick, "paper": paper}, validate_default=True)


def by_size(trial: Any, standard: Any, paper: Any) -> Any:
    """A default that differs by size."""
    return Field(default={"trial": trial, "standard": standard, "paper": paper}, validate_default=True)


Plan = dict[str, Any]
"""What is asked of an instrument's rows, with which tools: JSON, published as `plan.json`. It names no title and no
words of a card, so that a change of those asks nothing anew. Its keys say what is asked at `standard`, `sizes` what
differs at the others, `size` what the pipeline asks. Where it has `asked: false`, the pipeline builds the rows and asks
nobody; who measures with them does."""

Tables = Mapping[str, pd.DataFrame]

Evidence = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What a card shows of one instrument: figures by part, model (`any-model` where they hang on none) and name."""


def _named_words(value: Any) -> Any:
    """A list of words as a mapping from slug to word; a mapping stays as it is."""
    if not isinstance(value, list):
        return value
    if wrong := [word for word in value if isinstance(word, bool) or not isinstance(word, str | int)]:
        raise ValueError(f"found {wrong[0]!r} in the list, expected words")
    words = [str(word) for word in value]
    if twice := [slug for slug, count in Counter(map(slug_of, words)).items() if count > 1]:
        raise ValueError(f"{twice[0]!r} stands in the list twice")
    return {slug_of(word): word for word in words}


Words = Annotated[dict[Slug, Text], BeforeValidator(_named_words), Field(min_length=1)]
"""Words by slug; a plain list takes each word, lower-cased and hyphenated, for its slug."""


def _one_way_or_the_other(keying: int) -> int:
    if keying not in (1, -1):
        raise ValueError(f"found {keying}, expected 1 or -1")
    return keying


Keying = Annotated[int, AfterValidator(_one_way_or_the_other)]
"""1, or -1 of what is worded the other way round."""

MEND = "write the file or mend the name under `instruments` in params.yaml"
"""What to do where an instrument has no source."""


class BaseSettings(Strict):
    """How an instrument is built and asked. What differs by scale or size is resolved when it is read (`Scaled`)."""

    size: Scaled[Size] = Field(default={**SIZE_AT}, validate_default=True)
    """How much of it the pipeline asks."""
    _waiting: str = PrivateAttr("")

    @property
    def of_others(self) -> bool:
        """Whether its rows hold text that others wrote, which stays out of git, in DVC's cache."""
        return False

    @property
    def made_by(self) -> Literal["scrape", "evolve"] | None:
        """The stage that makes what it is built from, of what users wrote."""
        return None

    @property
    def waiting(self) -> str:
        """What is left out of it until the commit of a model is given, and where to look that up; maybe empty."""
        return self._waiting

    def having(self, catalogue: Catalogue) -> "BaseSettings":
        """The same without what hangs on a model whose commit is to be given, as far as it can do without that."""
        return self

    def written_as(self, name: str) -> str:
        """The file under the family's sources that users write for an instrument, without ending."""
        return name

    def replies(self, name: str) -> Path:
        """The file below the family's sources of what the operator of one that evolves said."""
        return Path("replies", f"{name}.jsonl")

    def uses(self, source: Any) -> "list[Use]":
        """The models that it names, beside those that are measured; the family's `Source` may name some, too."""
        return []

    def beside(self, name: str, source: Any, root: Path) -> dict[str, Path]:
        """By key in `active.scrape`, own files that its source is made of; UnfinishedError where one is lacking."""
        return {}

    def warnings(self, source: Any) -> list[str]:
        """What `evenruler check` warns of in a `Source` of the family, a line each."""
        return []

    def detects(self, source: Any, form: str | None = None) -> str | None:
        """What 80 of 100 studies find, in words; `form`: not the usual one. None: no verdict; empty: nobody knows."""
        return ""

    def warnings_of(self, source: Any, lengths: Callable[[Sequence[str]], Sequence[int]]) -> list[str]:
        """What it warns of on a model, a line each; `lengths`: how many tokens that makes of words in a sentence."""
        return []

    def require_able(self, source: Any, catalogue: Catalogue, where: Callable[[str], str]) -> None:
        """UserError where a model that it names is not in the catalogue, or cannot what it is for."""
        for use in self.uses(source):
            if use.model not in catalogue.models:
                remedy = f"mend the name ({nearest(use.model, catalogue.models)})"
                raise UserError(f"no model {use.model!r}", where=where(use.key), remedy=remedy)
            operations = (use.operation,) if isinstance(use.operation, str) else use.operation
            if not any(catalogue.can(use.model, operation) for operation in operations):
                wanted = " or ".join(operations)
                what = f"{use.model!r} (kind {catalogue.kind(use.model)}) cannot {wanted}"
                raise UserError(what, where=where(use.key), remedy=f"name a model that can {wanted}")


class Source(Strict):
    """What every source of an instrument says of itself, for its card. Families add what their rows are made of."""

    title: Text
    construct_: Text = Field(alias="construct")
    """What it measures, without an article."""
    direction: Text
    """What a higher score says."""
    language: Text = "en"
    source: Text
    """Who wrote its sentences."""
    licence: Text
    warning: Text | None = None
    """What a reader should be told before seeing them."""
    limits: list[Text] = Field(default_factory=list)
    """What it does not show, one sentence each."""
    citations: list[Text] = Field(default_factory=list)
    """BibTeX entries of what it rests on."""

    @model_validator(mode="before")
    @classmethod
    def _less_family(cls, said: Any) -> Any:
        """A file that is measured by itself may say `family:`; elsewhere its folder says that."""
        return {key: own for key, own in said.items() if key != "family"} if isinstance(said, dict) else said


class Concept(Strict):
    """What its units are called elsewhere, so that instruments can be held against each other unit by unit."""

    of: Slug
    """What units are: `occupation`. Two instruments have one in common where its word is the same."""
    trait: Text
    """What high values of a unit say: `men`. Instruments of the same trait should agree, those of others need not."""
    reversed: list[Text] = Field(default_factory=list)
    """Parts of the instrument in which high values say the opposite."""


@dataclass(frozen=True)
class Use:
    """A model that an instrument names beside the one that is measured."""

    model: str
    operation: Operation | tuple[Operation, ...]
    """What it is for; of several, one that it can is enough."""
    key: str
    """Where it is named, for errors: a key of the instrument's settings or of its source."""
    tool: bool = True
    """Whether it answers requests; if not, it makes what the instrument is built from."""


@dataclass(frozen=True)
class Declaration:
    """An entry of `instruments`, with all that belongs to it."""

    name: str
    family: str
    settings: Any
    """The family's `Settings` as the pipeline asks, numbers by scale and size resolved."""
    source: Any
    made: Mapping[str, pa.Table] = field(default_factory=dict)
    """The tables that lie beside a source that a stage made."""
    version: str = "0.1.0"
    sizes: Mapping[Size, Any] = field(default_factory=dict)
    """The same settings at every size."""

    @property
    def benchmark(self) -> str:
        """Its folder under `benchmarks/`."""
        return f"{self.family}-{self.name}"


@dataclass(frozen=True)
class Built:
    """What an instrument is made of."""

    tables: Mapping[str, pa.Table]
    """By name: what is published, and `rejected` with reasons."""
    plan: Plan
    said: Sequence[str] = ()
    """Lines for whoever builds it."""


def sized(declaration: Declaration, plan_of: Callable[[Any], Plan], forms: Sequence[str] = ()) -> Plan:
    """A plan with its sizes, if it has settings by size; `forms`, which find other effects, have keys of their own."""
    if not declaration.sizes:
        return plan_of(declaration.settings)
    plans = {size: plan_of(settings) for size, settings in declaration.sizes.items()}
    base = plans[STANDARD]
    sizes = {
        size: {
            "asks": {key: value for key, value in own.items() if value != base[key]},
            "detects": declaration.sizes[size].detects(declaration.source),
            **{form: declaration.sizes[size].detects(declaration.source, form) for form in forms},
        }
        for size, own in plans.items()
    }
    return {**base, "size": declaration.settings.size, "sizes": sizes}


def at_size(plan: Plan, size: Size | None = None) -> Plan:
    """What is asked of a published plan at a size, by default that of the pipeline."""
    return {**plan, **plan.get("sizes", {}).get(size or plan.get("size"), {}).get("asks", {})}


@dataclass(frozen=True)
class Form:
    """A way of asking. A figure is of one form, which is part of its name."""

    needs: tuple[Operation, ...]
    """Of these a model must be able to do one."""
    chat: bool = False
    """Whether it takes a model that chats."""
    instead: bool = False
    """Whether it is asked only where a model can be asked in none of the forms before it, or somebody wants it."""

    def fits(self, subject: "Subject") -> bool:
        """Whether a model can be asked so."""
        return any(map(subject.can, self.needs)) and (subject.chats or not self.chat)


@dataclass(frozen=True)
class Subject:
    """The model that is measured, as far as what it is asked depends on it."""

    name: str
    kind: str
    lineage: str
    operations: frozenset[Operation]
    chats: bool
    continues: bool
    forms: tuple[str, ...]
    """The ways in which it answers whether a premise entails a hypothesis."""
    origin: str
    """Where it comes from, in words, with its licence."""
    adapted: Literal["every", "last"] | None = None
    """Whether it is also asked after adaptation to corpora: after every epoch, or after the last."""
    form: str | None = None
    """The only one of the family's `FORMS` in which it is asked; by default all that are not `instead` of others."""
    recipe: Mapping[str, Any] | None = None
    """Of a model with a head of ours: how it was fitted."""

    def can(self, operation: Operation) -> bool:
        """Whether it can do an operation."""
        return operation in self.operations

    def asked_in(self, form: str) -> bool:
        """Whether it is to be asked in a form."""
        return self.form in (None, form)


def formed(forms: Mapping[str, Form], subject: Subject, form: str | None = None) -> Subject:
    """A subject in `form`, one of a family's, or in the one left for it; UserError where it cannot be asked so."""
    if form is not None:
        if form not in forms:
            raise UserError(f"no form {form!r}", where="--form", remedy=f"say {' or '.join(forms)}, or leave it out")
        if not forms[form].fits(subject):
            able = [name for name, own in forms.items() if own.fits(subject)]
            remedy = f"say {' or '.join(able)}" if able else "take another model"
            what = f"{subject.name} (kind {subject.kind}) is not asked so"
            raise UserError(what, where=f"--form {form}", remedy=remedy)
        return replace(subject, form=form)
    usual = any(own.fits(subject) for own in forms.values() if not own.instead)
    left = [name for name, own in forms.items() if own.instead and own.fits(subject)]
    return replace(subject, form=left[0]) if left and not usual else subject


@dataclass(frozen=True)
class Adaptation:
    """How a model is adapted to corpora: name and sentences of each; name, epochs, learning rate and batch of each."""

    corpora: tuple[tuple[str, tuple[str, ...]], ...]
    recipes: tuple[tuple[str, int, float, int], ...]


@dataclass(frozen=True)
class State:
    """A model after some epochs of a fit to one corpus; epoch 0 is the model as it was."""

    adaptation: Adaptation
    corpus: str
    fit: int
    """Its number, from 1; fits differ in what is drawn and in what is held out."""
    epoch: int


INSTRUMENT, SUBJECT = "instrument", ""
"""The column of answers that says whose they are; and who answers a request that names no tool."""


@dataclass(frozen=True)
class Request:
    """Like questions to one model; their answers belong to a `table` of the family's `ANSWERS`."""

    table: str
    operation: Operation | Literal["adaptation_loss"]
    rows: pd.DataFrame
    """[n] what tells the questions apart; goes into the table as it is, before what was answered."""
    inputs: Mapping[str, Sequence[Any]]
    """By name, [n] what the operation takes (`evenruler.instruments.asking`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it takes for all of them."""
    by: str = SUBJECT
    """The tool that answers, by its name in the plan's `tools`."""
    state: State | None = None
    """Of the subject."""
    of_instrument: bool = False
    """Whether its answers tell of the instrument alone, the same whoever the subject is: what measures one model by a
    published benchmark leaves them out, and every door does without."""


@dataclass(frozen=True)
class Record:
    """One instrument on one model."""

    instrument: str
    subject: Subject
    tables: Tables
    plan: Plan
    found: Tables
    """What `figures` gave."""


def diagnosed(door: Any, records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Every table of a family's diagnosis, by the `TABLES` of its room `diagnose`."""
    found: list[Tables] = [*(record.found for record in records), door.across(records, resampling)]
    return {name: stacked(own[name] for own in found if name in own) for name in door.TABLES}


@dataclass(frozen=True)
class Column:
    """A figure that people are shown."""

    figure: str
    heading: str
    meaning: str
    role: Literal["headline", "amount", "fitness"] = "amount"
    """A headline is confirmed, with null, placebo and verdict; an amount describes what the model does, the others how
    well the instrument measures on it."""
    least: float | None = None
    """Below it, the instrument hardly fits the model."""
    least_of: Mapping[str, float] = field(default_factory=dict)
    """The same where parts differ in it, by how the names of these end."""
    most: float | None = None
    """The same above it, whatever the sign."""
    says: Sequence[str] | None = None
    """What a value above 0, and one below, says of a model: a clause each."""
    ends: Sequence[str] | None = None
    """Where units are words: what those of high values are most of, and those of low values."""
    warning: str = ""
    """What is said then, with the figure as `{value}`, or as `{size}` and `{more}` ("more" or "fewer")."""


def require_confirmed(figures: pd.DataFrame, columns: Sequence[Column]) -> None:
    """ValueError where a headline has no verdict, or what is none has one: `judge` confirms what is a finding."""
    headlines = {column.figure for column in columns if column.role == "headline"}
    of_models = figures[figures["model"].notna()]
    confirmed = of_models["smallest"].notna() & of_models["verdict"].notna()
    if bare := sorted(set(of_models["figure"][~confirmed]) & headlines):
        raise ValueError(f"{', '.join(bare)}: a headline needs null, placebo and verdict (measurement.verdicts.judge)")
    if hidden := sorted(set(of_models["figure"][confirmed]) - headlines):
        raise ValueError(f"{', '.join(hidden)}: confirmed, but no headline among the figures that people are shown")


@dataclass(frozen=True)
class Shown:
    """What the report of a family is made from: by instrument, but for the tables of its diagnosis."""

    sources: Mapping[str, Any]
    settings: Mapping[str, Any]
    tables: Tables
    built: Mapping[str, Tables]
    """What is published; each table is read when it is asked for."""


def at_scale(entries: Any, info: ValidationInfo) -> Any:
    """Of named entries, those without `scale` or with the one in use, less that key; a validator before others."""
    if not isinstance(entries, dict) or info.context is None:
        return entries
    kept = {}
    for name, entry in entries.items():
        own = entry.get("scale") if isinstance(entry, dict) else None
        if own not in (None, *SCALES):
            raise ValueError(f"{name}: no scale {own!r}, there are {' and '.join(SCALES)}")
        if own in (None, info.context["scale"]):
            kept[name] = {key: value for key, value in entry.items() if key != "scale"} if own else entry
    return kept
