"""The instrument, which becomes one folder under `benchmarks/`: the settings and the source that
every family has, the plan, and the records that pass between the modules of families and the
stages. `evenruler.instruments.family` has the signatures of these modules.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypedDict, TypeVar, cast, get_args

import pandas as pd
import pyarrow as pa
from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from evenruler.errors import UserError, suggest_nearest
from evenruler.instruments.languages import english_among, is_code_of_english
from evenruler.models.declarations import Catalogue, Operation
from evenruler.sizes import SIZES, STANDARD, Size
from evenruler.strict import Slug, StrictModel, Text, Word, distinct_words_validator
from evenruler.text.english import slug_of

Profile = Literal["quick", "paper"]
"""Which models and instruments the pipeline builds, and how much effort it spends."""

PROFILES: tuple[Profile, ...] = get_args(Profile)


_CaseValidator = Callable[[object, ValidatorFunctionWrapHandler, ValidationInfo], object]


def _case_validator(cases: Sequence[str], case_kind: str) -> _CaseValidator:
    """Validator: picks the value for the current case from a mapping by case; the other values are
    validated too.
    """
    one_per_case = f"one for {' and one for '.join(cases)}"

    def pick_case_value(
        value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        """The value itself, or that of the current case in a mapping with all cases; ValueError if
        cases are missing or unknown, RuntimeError if there is no current case.
        """
        if not isinstance(value, dict):
            return handler(value)
        if not set(value) & set(cases):
            try:
                return handler(value)
            except ValueError:
                raise ValueError(f"found {value}, expected one value, or {one_per_case}") from None
        if set(value) != set(cases):
            raise ValueError(f"found {value}, expected {one_per_case}")
        value_by_case = {case: handler(case_value) for case, case_value in value.items()}
        if info.context is None:
            raise RuntimeError(f"settings by {case_kind} are read without a {case_kind}")
        return value_by_case[info.context.get(case_kind) or SIZE_AT[info.context["profile"]]]

    return pick_case_value


SIZE_AT: Mapping[str, Size] = {"quick": "standard", "paper": "full"}
"""The size that the pipeline asks at each profile."""

Value = TypeVar("Value")

ByProfile = Annotated[Value, WrapValidator(_case_validator(PROFILES, "profile"))]
"""A setting that may differ by profile; validation resolves it to the profile in use. Defaults:
`by_scale`."""

BySize = Annotated[Value, WrapValidator(_case_validator(SIZES, "size"))]
"""A setting that may differ by size. Defaults: `by_size`."""


def by_profile(quick: Value, paper: Value) -> Value:
    """A default that differs by profile."""
    default = Field(default={"quick": quick, "paper": paper}, validate_default=True)
    return cast(Value, default)


def by_size(trial: Value, standard: Value, full: Value) -> Value:
    """A default that differs by size."""
    by_size_default = {"trial": trial, "standard": standard, "full": full}
    return cast(Value, Field(default=by_size_default, validate_default=True))


class Plan(TypedDict, total=False):
    """What is asked about an instrument's rows, and with which tools: JSON, published as
    `plan.json`. Each family adds keys of its own.

    It contains no title or card text, so that changing these does not repeat any requests. Its keys
    describe size `standard`, `sizes` what differs at other sizes, `size` the one that the pipeline
    asks.
    """

    tools: dict[str, dict[str, Any]]
    """Entries of the catalogue, under `models` and `training`."""
    asked: bool
    """False: the pipeline builds the rows without asking any model; `measure` still asks."""
    without_verdict: bool
    """True: by design no figure has a verdict, so that nobody who asks it waits for one."""
    size: Size
    sizes: dict[str, dict[str, Any]]
    """By size: the keys that differ (`asks`), and the effect that it detects (`detects`, and by
    method)."""
    prefixed: int
    """Most units that are also asked after prefixes."""
    prefixes: dict[str, str]
    other_start: bool
    """`evenruler.instruments.prefixes.OTHER_START`."""


Tables = Mapping[str, pd.DataFrame]

SchemasByTable = Mapping[str, pa.Schema]
ColumnsByTable = Mapping[str, tuple[str, ...]]

Evidence = Sequence[Mapping[str, Any]]
"""The figures of one instrument, a row each (`measurement.figures.figure_rows`)."""


def _named_words(value: object) -> object:
    """Convert a list of words to a mapping from slug to word; mappings are returned unchanged."""
    if isinstance(value, str):
        raise ValueError(f"found {value!r}, expected a list: [{value}]")
    if not isinstance(value, list):
        return value
    for word in value:
        if isinstance(word, bool) or not isinstance(word, str | int):
            raise ValueError(f"found {word!r} in the list, expected words")
    by_slug: dict[str, list[str]] = {}
    for word in map(str, value):
        by_slug.setdefault(slug_of(word), []).append(word)
    for slug, same in by_slug.items():
        if len(same) > 1 or not slug:
            problem = f"found the slug {slug!r}, expected one of its own for each"
            raise ValueError(
                f"{', '.join(map(repr, same))}: {problem}; write `slug: word`, the slug in letters "
                "a-z"
            )
    return {slug: word for slug, (word,) in by_slug.items()}


Words = Annotated[
    dict[Slug, Word],
    BeforeValidator(_named_words),
    Field(min_length=1),
    distinct_words_validator("found the word"),
]
"""Distinct words by slug; for a plain list, the slugs are the lower-cased, hyphenated words."""

Keying = Literal[1, -1]
"""1, or -1 for reverse-worded items."""

MEND = "write the file or check the name under `instruments` in params.yaml"
"""The remedy for an instrument without a source."""


SourceT = TypeVar("SourceT", bound="Source")
SettingsT = TypeVar("SettingsT", bound="BaseSettings[Any]")
PlanT = TypeVar("PlanT", bound=Plan)


class BaseSettings(StrictModel, Generic[SourceT]):
    """How an instrument is built and asked. Settings by profile or size are resolved during
    validation (`ByProfile`).
    """

    source_of: Slug | None = None
    """The instrument of the family whose source it has, where only its settings are others, such as
    those of a paper."""

    _size: Size = PrivateAttr(STANDARD)
    _profile: Profile = PrivateAttr("quick")
    _waiting: str = PrivateAttr("")

    @model_validator(mode="after")
    def _remember_context(self, info: ValidationInfo) -> Self:
        """The settings, which know for which profile and size they were read."""
        context = info.context or {}
        self._profile = context["profile"]
        self._size = context.get("size") or SIZE_AT[self._profile]
        return self

    @property
    def size(self) -> Size:
        """The size for which they were read: by default how much the pipeline asks at the
        profile.
        """
        return self._size

    @property
    def third_party(self) -> bool:
        """Whether its rows contain third-party text, which stays out of git, in DVC's cache."""
        return False

    @property
    def is_private(self) -> bool:
        """Whether its text may not be passed on, also not by a remote of DVC."""
        return False

    @property
    def made_by(self) -> Literal["evolve"] | None:
        """The stage that makes its source from that of another instrument, if any."""
        return None

    @property
    def waiting(self) -> str:
        """Which parts are skipped until a model is pinned, and how to do that; may be empty."""
        return self._waiting

    def having(self, catalogue: Catalogue) -> Self:
        """The settings without the parts that need a model that is not pinned, where these are
        optional.
        """
        return self

    def source_name(self, name: str) -> str:
        """Stem of the file under the family's sources that users write for an instrument."""
        return self.source_of or name

    def replies(self, name: str) -> Path:
        """Path below the family's sources of the operator's replies, for an instrument that
        evolves.
        """
        return Path("replies", f"{name}.jsonl")

    def uses(self, source: SourceT) -> "list[ToolUse]":
        """Models that it names apart from the measured ones; the family's `Source` may name
        more.
        """
        return []

    def extra_files(self, name: str, source: SourceT, root: Path) -> dict[str, Path]:
        """Additional files of its source; UnfinishedError if one is missing.

        Where a stage makes tables of the source, they are its, by their key in `active.scrape`.
        """
        return {}

    def warnings(self, source: SourceT) -> list[str]:
        """Warnings of `evenruler check` about a `Source` of the family, one per line."""
        return []

    def detects(self, source: SourceT, method: str | None = None) -> str | None:
        """The effect found with 80% power, in words; `method`: not the usual one. None: no verdict;
        empty: unknown.
        """
        return ""

    def warnings_of(
        self, source: SourceT, lengths: Callable[[Sequence[str]], Sequence[int]]
    ) -> list[str]:
        """Warnings that depend on a model, one per line; `lengths`: token counts of words within a
        sentence.
        """
        return []

    def require_able(
        self, source: SourceT, catalogue: Catalogue, where: Callable[[str], str]
    ) -> None:
        """UserError if a model that it names is not in the catalogue or lacks the operation."""
        for use in self.uses(source):
            if use.model not in catalogue.models:
                remedy = f"check the name ({suggest_nearest(use.model, catalogue.models)})"
                raise UserError(f"no model {use.model!r}", where=where(use.key), remedy=remedy)
            operations = (use.operation,) if isinstance(use.operation, str) else use.operation
            if not any(catalogue.can(use.model, operation) for operation in operations):
                wanted = " or ".join(operations)
                what = f"{use.model!r} (kind {catalogue.kind(use.model)}) cannot {wanted}"
                raise UserError(
                    what, where=where(use.key), remedy=f"name a model that can {wanted}"
                )


class Source(StrictModel):
    """The metadata of every instrument's source, for its card; families add the content."""

    title: Text
    construct_: Text = Field(alias="construct")
    """What it measures, without an article."""
    direction: Text
    """What a higher score means."""
    language: Text = "en"
    source: Text
    """The author of its sentences."""
    licence: Text
    warning: Text | None = None
    """A content warning for readers."""
    limits: list[Text] = Field(default_factory=list)
    """What it does not show, one sentence each."""
    citations: list[Text] = Field(default_factory=list)
    """BibTeX entries of its references."""

    @model_validator(mode="before")
    @classmethod
    def _less_family(cls, raw_source: object) -> object:
        """Drop the key `family`, which a file measured on its own needs; in a clone its folder says
        it.
        """
        return (
            {key: content for key, content in raw_source.items() if key != "family"}
            if isinstance(raw_source, dict)
            else raw_source
        )

    @property
    def made_by(self) -> Literal["scrape"] | None:
        """The stage that makes tables of it, which `rows` reads, if any."""
        return None

    @property
    def in_english(self) -> bool:
        """Whether its language is English."""
        return is_code_of_english(self.language)

    @model_validator(mode="after")
    def _prefixes_in_its_language(self) -> "Source":
        """ValueError if a text in another language has an English sentence among its prefixes."""
        prefixes = None if self.in_english else getattr(self, "prefixes", None)
        if prefixes is not None:
            prefix_texts: list[str] = []
            for text_or_texts in dict(prefixes).values():
                if isinstance(text_or_texts, str):
                    prefix_texts.append(text_or_texts)
                else:
                    prefix_texts.extend(text_or_texts)
            english = english_among(prefix_texts)
            if english:
                what = f"prefixes: {english!r} is English, and the texts are in {self.language!r}"
                raise ValueError(f"{what}; write them in this language, or leave them out")
        return self


class SharedTrait(StrictModel):
    """Maps units to concepts, so that different instruments can be compared unit by unit."""

    unit: Slug
    """The kind of unit: `occupation`. Two instruments share a unit if its word is the same."""
    trait: Text
    """What high values of a unit mean: `men`. Instruments with the same trait should agree; others
    need not."""
    reversed: list[Text] = Field(default_factory=list)
    """Parts of the instrument in which high values mean the opposite."""

    @property
    def as_planned(self) -> "PlannedTrait":
        """Unit, trait and whether it is reversed, as plans hold them."""
        return {"unit": self.unit, "trait": self.trait, "reversed": self.reversed}


class PlannedTrait(TypedDict):
    """A `SharedTrait`, as plans hold it."""

    unit: str
    trait: str
    reversed: list[str]


@dataclass(frozen=True)
class ToolUse:
    """A model that an instrument names apart from the measured one."""

    model: str
    operation: Operation | tuple[Operation, ...]
    """The operation needed; of several, one suffices."""
    key: str
    """Where it is named, for errors: a key of the instrument's settings or of its source."""
    tool: bool = True
    """Whether it answers requests; otherwise it is used to make the source."""


@dataclass(frozen=True)
class Declaration(Generic[SettingsT, SourceT]):
    """An entry of `instruments` with its settings, source and version."""

    name: str
    family: str
    settings: SettingsT
    """The family's `Settings` as the pipeline uses them, resolved by profile and size."""
    source: SourceT
    made_tables: Mapping[str, pa.Table] = field(default_factory=dict)
    """The tables next to a source that a stage made."""
    version: str = "0.1.0"
    sizes: Mapping[Size, SettingsT] = field(default_factory=dict)
    """The settings at every size."""

    @property
    def benchmark(self) -> str:
        """Its folder under `benchmarks/`."""
        return f"{self.family}-{self.name}"


AnySettings = BaseSettings[Source]
"""Settings of any family, as they pass between its modules."""

AnyDeclaration = Declaration[AnySettings, Source]


@dataclass(frozen=True)
class BuiltInstrument:
    """The rows and the plan of an instrument."""

    tables: Mapping[str, pa.Table]
    """By name: published tables, and `rejected` with reasons."""
    plan: Plan
    messages: Sequence[str] = ()
    """Messages for the person who builds it."""


def plan_with_sizes(
    declaration: Declaration[SettingsT, SourceT],
    plan_of: Callable[[SettingsT], PlanT],
    methods: Sequence[str] = (),
) -> PlanT:
    """A plan with its sizes, if settings differ by size; `methods` with effect sizes of their own
    get a key each.
    """
    if not declaration.sizes:
        return plan_of(declaration.settings)
    plans = {size: plan_of(settings) for size, settings in declaration.sizes.items()}
    base: Mapping[str, object] = plans[STANDARD]
    sizes: dict[str, dict[str, Any]] = {}
    for size, size_plan in plans.items():
        settings = declaration.sizes[size]
        asks = {key: value for key, value in size_plan.items() if value != base[key]}
        detects = settings.detects(declaration.source)
        detects_by_method = {
            method: settings.detects(declaration.source, method) for method in methods
        }
        sizes[size] = {"asks": asks, "detects": detects, **detects_by_method}
    return cast(PlanT, {**base, "size": declaration.settings.size, "sizes": sizes})


def all_rows(tables: Tables, plan: Plan) -> Tables:
    """The tables as they are: `keep_headline_rows` of a family all whose rows make headlines."""
    return tables


def plan_at_size(plan: Plan, size: Size | None = None) -> Plan:
    """What a published plan asks at a size, by default the pipeline's."""
    chosen_size = size or plan.get("size", "")
    size_plan = plan.get("sizes", {}).get(chosen_size, {})
    return cast(Plan, {**plan, **size_plan.get("asks", {})})


@dataclass(frozen=True)
class AskingMethod:
    """A way of asking. Each figure belongs to one method, which is part of its name."""

    needs: tuple[Operation, ...]
    """Operations of which the model must support at least one."""
    chat: bool = False
    """Whether it needs a chat model."""
    instead: bool = False
    """Whether it is used only if a model fits no earlier method, or on request."""
    takes: str = ""
    """What rows must have to be asked in it, in words; empty where all rows can be."""

    def fits(self, subject: "ModelMeta") -> bool:
        """Whether a model can be asked by this method."""
        return any(map(subject.can, self.needs)) and (subject.chats or not self.chat)


AskingMethods = Mapping[str, AskingMethod]
"""By name, the preferred first."""

PlanKeys = tuple[str, ...]


def split_names(names: str) -> tuple[str, ...]:
    """Names of columns or of keys, written with spaces between."""
    return tuple(names.split())


@dataclass(frozen=True)
class ModelMeta:
    """The measured model, as far as requests depend on it."""

    name: str
    kind: str
    lineage: str
    operations: frozenset[Operation]
    chats: bool
    continues: bool
    methods: tuple[str, ...]
    """The ways in which it judges entailment."""
    origin: str
    """Its origin in words, with its licence."""
    adapted: Literal["every", "last"] | None = None
    """Whether it is also asked after adaptation to corpora: after every epoch or the last."""
    method: str | None = None
    """The only method of the family's `METHODS` to use; by default all that are not `instead`."""
    recipe: Mapping[str, Any] | None = None
    """For a model with a head fitted here: how it was fitted."""

    def can(self, operation: Operation) -> bool:
        """Whether it supports an operation."""
        return operation in self.operations

    def uses_method(self, method: str) -> bool:
        """Whether it is to be asked by a method."""
        return self.method in (None, method)


def with_method(
    methods: Mapping[str, AskingMethod], subject: ModelMeta, method: str | None = None
) -> ModelMeta:
    """Set the subject's method: the given one, or a fallback if no usual method fits; UserError if
    it does not fit.
    """
    if method is not None:
        if method not in methods:
            raise UserError(
                f"no method {method!r}",
                where="--method",
                remedy=f"say {' or '.join(methods)}, or leave it out",
            )
        if not methods[method].fits(subject):
            able = [name for name, method in methods.items() if method.fits(subject)]
            remedy = f"say {' or '.join(able)}" if able else "take another model"
            what = f"{subject.name} (kind {subject.kind}) is not asked so"
            raise UserError(what, where=f"--method {method}", remedy=remedy)
        return replace(subject, method=method)
    usual = any(method.fits(subject) for method in methods.values() if not method.instead)
    left = [name for name, method in methods.items() if method.instead and method.fits(subject)]
    return replace(subject, method=left[0]) if left and not usual else subject


@dataclass(frozen=True)
class Adaptation:
    """Corpora and fits of an adaptation: (name, sentences) each; (name, epochs, learning rate,
    batch size) each.
    """

    corpora: tuple[tuple[str, tuple[str, ...]], ...]
    recipes: tuple[tuple[str, int, float, int], ...]


@dataclass(frozen=True)
class State:
    """A model after some epochs of a fit to one corpus; epoch 0 is the original model."""

    adaptation: Adaptation
    corpus: str
    fit: int
    """Number of the fit, from 1; fits differ in random draws and in the held-out part."""
    epoch: int


INSTRUMENT, SUBJECT = "instrument", ""
"""The answer column with the instrument's name; and the value of `by` for the measured model."""


@dataclass(frozen=True)
class RequestBatch:
    """A batch of questions of one kind to one model; the answers go to `table` of the family's
    `ANSWERS`.
    """

    table: str
    operation: Operation | Literal["adaptation_progress"]
    rows: pd.DataFrame
    """[n] identifying columns of the questions; kept before the answers in the table."""
    inputs: Mapping[str, Sequence[Any]]
    """By name, [n] inputs of the operation (`evenruler.instruments.asking`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the operation, the same for all rows."""
    by: str = SUBJECT
    """The answering tool, by its name in the plan's `tools`."""
    state: State | None = None
    """State of the subject."""
    part: str = ""
    """Requests of different parts are asked one after the other, so that an interrupted run leaves
    whole parts in the store; within a part, requests that are alike are asked together."""
    of_instrument: bool = False
    """Whether the answers describe only the instrument, independent of the subject: measuring a
    model with a published benchmark skips these, and every function must work without them."""


@dataclass(frozen=True)
class Record(Generic[PlanT]):
    """The diagnosis of one instrument on one model."""

    instrument: str
    subject: ModelMeta
    tables: Tables
    plan: PlanT
    diagnosis: Tables
    """The result of `figures`."""


@dataclass(frozen=True)
class FigureHeading:
    """A figure that is shown to readers."""

    figure: str
    heading: str
    meaning: str
    dimensions: Mapping[str, str | None] = field(default_factory=dict)
    """Dimensions that are part of the heading: it is that of rows which have these; None where a
    row must not have one."""
    figure_type: Literal["headline", "descriptive", "validity"] = "descriptive"
    """A headline is judged, with null, bound and verdict; an amount describes the model, a validity
    figure how well the instrument measures on it."""
    least: float | None = None
    """Values below it suggest that the instrument does not suit the model."""
    least_of: Mapping[str, float] = field(default_factory=dict)
    """`least` for parts that need another, by suffix of the part's name."""
    most: float | None = None
    """Absolute values above it suggest the same."""
    says: Sequence[str] | None = None
    """What a value above 0, and one below, claims of a model: a clause each, with the amount and
    its interval in place of `{amount}`, or at its end."""
    size: str = ""
    """How the absolute value is written, as `{size}`, `{points}` (times 100), `{factor}` (its
    exponential) or `{share}` (of two outcomes whose shares differ by it, in percent)."""
    measured_in: str = ""
    """The unit of the value."""
    alternatives: str = ""
    """What the value is compared with, in the plural: "pairs of other themes"."""
    ends: Sequence[str] | None = None
    """If units are words: what words with high values, and those with low values, mostly are."""
    not_shown: str = ""
    """What even a detected effect does not show, a sentence."""
    warning: str = ""
    """The warning shown then, with the figure as `{value}`, or as `{size}` and `{more}` ("more" or
    "fewer")."""


@dataclass(frozen=True)
class ReportInput(Generic[SettingsT, SourceT]):
    """Input of a family's report, by instrument (except `tables`, those of the diagnosis)."""

    sources: Mapping[str, SourceT]
    settings: Mapping[str, SettingsT]
    tables: Tables
    built: Mapping[str, Tables]
    """Published tables; each is read on access."""


def entries_of_profile(entries: object, info: ValidationInfo) -> object:
    """Validator: keep entries for the profile in use or without `profile`, and drop that key."""
    if not isinstance(entries, dict) or info.context is None:
        return entries
    profile_entries = {}
    for name, entry in entries.items():
        profile = entry.get("profile") if isinstance(entry, dict) else None
        if profile not in (None, *PROFILES):
            raise ValueError(f"{name}: no profile {profile!r}, there are {' and '.join(PROFILES)}")
        if profile in (None, info.context["profile"]):
            profile_entries[name] = (
                {key: value for key, value in entry.items() if key != "profile"}
                if profile
                else entry
            )
    return profile_entries
