"""Declaration of a published benchmark, as users write it: authors, files, their layout, and the
score.
"""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal, NotRequired, TypedDict

import pandas as pd
from pydantic import Field, PrivateAttr, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments import instrument
from evenruler.instruments.external.declare.choices import (
    AGREEMENT,
    CHOICE,
    GENERATE,
    OPTIONS,
    PAIRS,
    REFERENT,
    ChatPlan,
    ChoiceForm,
    has_form,
)
from evenruler.instruments.external.schemas import AMBIGUOUS, DISAMBIGUATED
from evenruler.instruments.instrument import (
    ByProfile,
    BySize,
    FigureHeading,
    Plan,
    PlannedTrait,
    SharedTrait,
    by_size,
)
from evenruler.instruments.languages import says_language
from evenruler.instruments.prefixes import Placebos
from evenruler.measurement.figures import WHOLE
from evenruler.models.declarations import NOT_STATED, Catalogue
from evenruler.models.sources import verified_file
from evenruler.sizes import Size
from evenruler.strict import (
    Slug,
    StrictModel,
    Text,
    pattern_validator,
    read_yaml,
    validate,
)
from evenruler.tables.records import read_text_table
from evenruler.text.english import slug_of

__all__ = [
    "FEWEST_NAMES",
    "FIRST_PLACE",
    "GAIN",
    "KEYED_LEAN",
    "LEAN",
    "LOG_ODDS",
    "LOG_ODDS_OF_PART",
    "NOT_STATED",
    "SCORES",
    "SELECTION_RATE",
    "ExternalPlan",
    "File",
    "Layout",
    "PlannedContrast",
    "PlannedGain",
    "Score",
    "Settings",
    "Source",
    "headings",
    "load",
    "name_part",
    "takes",
]

Layout = Literal[
    "pairs", "keyed", "gest", "winogender", "winobias", "stereoset", "bbq", "bec-pro", "ranking"
]
Score = Literal["preference", "stereoset", "bbq", "ranking"]
ItemRole = Literal[
    "first", "second", "statement", "item", "unit", "key", "part", "direction", "condition"
]
QuestionRole = Literal[
    "context",
    "question",
    "options",
    "ans0",
    "ans1",
    "ans2",
    "label",
    "polarity",
    "stereotyped",
    "biased",
]
CandidateRole = Literal["list", "place", "name", "group"]
ColumnRole = ItemRole | QuestionRole | CandidateRole

LEAN: Final = "lean"
LEAN_OF_PART: Final = "lean_of_part"
LEAN_OF_CONTEXT: Final = "lean_of_context"
GAIN: Final = "gain"
GAIN_OF_PART: Final = "gain_of_part"
GAIN_APART: Final = "gain_apart"
KEYED_LEAN: Final = "keyed_lean"
FIRST_WORD: Final = "first_word"
BASE_RATE: Final = "base_rate"
NATS_APART: Final = "nats_apart"
SD_APART: Final = "sd_apart"
LOG_ODDS: Final = "log_odds"
LOG_ODDS_OF_PART: Final = "log_odds_of_part"
SELECTION_RATE: Final = "selection_rate"
FIRST_PLACE: Final = "first_place"
FEWEST_NAMES: Final = 20
"""Fewest names of a group of candidates: a verdict on a group is one on names like these."""
REMEDY: Final = (
    "name the layout that the file has, or write its items as a table with the layout "
    "pairs (docs/external.md)"
)
"""The remedy for a file that has the declared checksum, so that it is the one that was meant."""

OF_AUTHORS: Final = "published.csv"
"""File in the shared folder of the family's sources: figures from answers that authors published
(`docs/rulers.py`)."""

PLACEBOS: Final = (
    "It was a Tuesday.",
    "The kettle had just boiled.",
    "A train went by outside.",
    "The shop closes at six.",
    "There was a little rain in the morning.",
)
"""Neutral sentences put before the texts of a benchmark in English, unless its source names
others."""

LEADING: Final[dict[Score, dict[str, str]]] = {
    "preference": {WHOLE: "share"},
    "stereoset": {WHOLE: "ss"},
    "bbq": {AMBIGUOUS: "s_amb", DISAMBIGUATED: "s_dis"},
    "ranking": {},
}
"""By score, the published figures of which the lean is a transformation, by condition."""

_FIGURES: Final = read_yaml(Path(__file__).with_name("figures.yaml"))

SCORES: Final[dict[Score, dict[str, str]]] = _FIGURES["scores"]
OURS: Final[dict[str, str]] = _FIGURES["ours"]
"""In words: the published figures by score, exactly as their authors define them; and our
descriptive figures."""

OF_GAINS: Final = (GAIN_OF_PART, GAIN_APART)
"""Figures of benchmarks whose headline is the gain."""

OF_LEANS: Final = (LEAN_OF_PART, LEAN_OF_CONTEXT)
"""Figures of benchmarks whose headline is the lean."""

OF_KEYS: Final = (FIRST_WORD, BASE_RATE, NATS_APART, SD_APART)
"""Figures of benchmarks with a constant contrast and keyed units."""

COLUMNS_OF: Final[dict[Layout, tuple[ColumnRole, ...]]] = {
    "pairs": ("first", "second"),
    "keyed": ("statement", "key"),
    "bbq": (),
    "ranking": (),
}
"""The columns that a layout of tables needs; other layouts know the files of their authors."""

_Roles = tuple[ColumnRole, ...]
_ITEM: Final[_Roles] = ("item", "unit", "part", "condition")
_KEYED: Final[_Roles] = (*_ITEM, "direction", "key")
_QUESTION: Final[_Roles] = (
    "context",
    "question",
    "options",
    "ans0",
    "ans1",
    "ans2",
)
_ANSWER: Final[_Roles] = ("label", "polarity", "stereotyped", "biased")

_CANDIDATE: Final[_Roles] = ("list", "place", "name", "group", "part")
_QUESTION_ROLES: Final[_Roles] = (*_QUESTION, *_ANSWER, *_ITEM)
ROLES_OF: Final[dict[Layout, _Roles]] = {
    "pairs": ("first", "second", *_KEYED),
    "keyed": ("statement", *_KEYED),
    "bbq": _QUESTION_ROLES,
    "ranking": _CANDIDATE,
}
"""The columns that `columns` may name, by layout."""

OF_REFERENTS: Final = ("accuracy", "accuracy_difference")
"""Figures of sentences whose pronoun means one of two persons."""

OF_RANKINGS: Final = ("answered", LOG_ODDS_OF_PART, FIRST_PLACE)
"""Our figures of rankings, which have no others of ours; other benchmarks lack all but the
first."""

WORDS: Final = ("occupations", "professions", "targets")
"""Units whose names are meaningful to readers."""

TEXTS: Final = ("the first text", "the second text")

EVERY: Final = 1_000_000
"""No limit: more items than any benchmark has in a unit and condition."""


METADATA: Final = "metadata"
"""The file of BBQ that says which option is the biased one."""


def name_part(part: str) -> str:
    """A part or condition as the value of a dimension: a slug if it has blanks."""
    return slug_of(part) if " " in part else part


class File(StrictModel):
    """A third-party file, pinned by its checksum."""

    source: Annotated[
        Text,
        pattern_validator(
            "(package|local|git):.+", "local:FILE, package:MODULE/FILE or git:OWNER/..."
        ),
    ]
    """`package:MODULE/FILE`, `local:FILE` or `git:OWNER/NAME@COMMIT/PATH`
    (`evenruler.models.sources.verified_file`)."""
    sha256: Annotated[
        str, pattern_validator("[0-9a-f]{64}", "64 hex digits, the letters in lower case")
    ]


class PlaceboPrefixes(StrictModel):
    """Sentences put before the texts of all items, to see how that changes the score."""

    placebos: Placebos = Field(default_factory=lambda: list(PLACEBOS))
    """Empty to ask nothing after them."""


def table_in(
    path: Path, columns: Iterable[str], *, quotes: bool | None = None
) -> list[dict[str, str]]:
    """The rows of a table, every value a string; `quotes` as in `parse_text_table`."""
    _, rows = read_text_table(path, columns=[*columns], where=path.name, quotes=quotes)
    return [row for _, row in rows]


class PlannedGain(TypedDict):
    """A `Gain`, as plans hold it."""

    along: Literal["criterion", "part"]
    low: str
    high: str
    texts: list[str]
    compared: str | None


class Gain(StrictModel):
    """A headline of units with a criterion: how much the first words gain on the second along it,
    from its low end to its high one.
    """

    along: Literal["criterion", "part"] = "criterion"
    """`criterion`: a published percentage of each unit, on its logit, from 10% to 90%. `part`: the
    two parts of items, `low` and `high`, where first texts are those of a part's own words."""
    low: Text
    high: Text
    """The ends in words, or the parts."""
    texts: list[Text] = Field(default_factory=list, max_length=2)
    """What gains, and on what, in words; by default the texts of the source."""
    compared: Text | None = None
    """A part that lacks the construct, which the others are compared with."""
    likeness: Text | None = None
    """A CSV in the shared folder of the family's sources: a row a unit, with `log_frequency` of its
    name, and numbers that say how alike units are to a declared model (`studies.likeness`)."""

    def planned(self, texts: list[str]) -> PlannedGain:
        """As plans hold it; `texts`: those of the source."""
        return {
            "along": self.along,
            "low": self.low,
            "high": self.high,
            "texts": self.texts or texts,
            "compared": self.compared,
        }


_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)?")


def differing_words(first: str, second: str) -> tuple[set[str], set[str]]:
    """The words, in lower case, that only the first of two texts has, and those that only the
    second has.
    """
    words = set(_WORD.findall(first.lower()))
    other_words = set(_WORD.findall(second.lower()))
    return words - other_words, other_words - words


class PlannedContrast(TypedDict):
    """A `Contrast`, as plans hold it."""

    first: list[str]
    second: list[str]
    plus: str
    minus: str
    says: list[str]


class Contrast(StrictModel):
    """A headline of units with a key: whether the first words are chosen more often in units of the
    one key than in those of the other, at even base rate.
    """

    first: Annotated[list[Text], Field(min_length=1)]
    second: Annotated[list[Text], Field(min_length=1)]
    """The words of the two kinds that each item has one of, in lower case: he, him; she, her."""
    plus: Text
    """The key of units that the first words go with, as the column `key` has it."""
    minus: Text
    """The key of the others."""

    @model_validator(mode="after")
    def _has_two_sides(self) -> "Contrast":
        """Refuse a word that is both a first and a second one, and two equal keys (ValueError)."""
        both = sorted(set(self.first) & set(self.second))
        if both:
            raise ValueError(f"{', '.join(both)} is among the first words and the second")
        if self.plus == self.minus:
            raise ValueError(f"`plus` and `minus` are both {self.plus!r}, expected two keys")
        return self

    def item_fault(self, first: str, second: str, key: str) -> str | None:
        """Why an item has no place in the contrast; None where it has."""
        if key not in (self.plus, self.minus):
            return f"its key is {key!r}, expected {self.plus!r} or {self.minus!r}"
        words, other_words = differing_words(first, second)
        kinds = set(self.first), set(self.second)
        for kind, other_kind in (kinds, kinds[::-1]):
            if words & kind and other_words & other_kind:
                return None
        return "its texts do not differ in a first word against a second one of `contrast`"

    def plan_contrast(self, texts: list[str], units: str, layout: Layout) -> PlannedContrast:
        """As plans hold it; `texts` and `units`: those of the source."""
        keys = [self.plus, self.minus]
        says: list[str] = []
        for high, low in (keys, keys[::-1]):
            between = f"from {units} of {low} to {units} of {high}"
            sentence = f"{texts[0]} gains on {texts[1]} {between}"
            if layout == "keyed":
                sentence = f"it agrees with these statements of {high} more than of {low}"
            says.append(sentence)
        return {
            "first": self.first,
            "second": self.second,
            "plus": self.plus,
            "minus": self.minus,
            "says": says,
        }


class Source(instrument.Source):
    """A published benchmark."""

    passed_on: bool
    """Whether its licence allows redistributing its text."""
    published: Text
    """The authors' figure, in a sentence."""
    units: Text
    """The units that its items are samples of, in the plural: writers, occupations, targets,
    templates."""
    score: Score
    layout: Layout
    columns: dict[ColumnRole, Text] = Field(default_factory=dict)
    """For the layouts of `ROLES_OF`, by role: the columns of their table, or a path into an object,
    as `doc.sentence`. `part`: the bias that a pair is about; `direction` or `condition`: whose
    stereotype it states, or in which form; `key`: which of the two keys of `contrast` its unit has;
    `item`: a name of its own."""
    files: dict[Slug, File] = Field(min_length=1)
    frequencies: File | None = None
    """A corpus for counting word frequencies: JSON, an object whose values have an `extract`."""
    between: str = " "
    """Separator between a prompt and its text."""
    texts: list[Text] = Field(default=[*TEXTS], min_length=2, max_length=2)
    """What the first and the second text of an item are, in words."""
    gain: Gain | None = None
    """Makes the gain along a criterion the headline, and not the lean."""
    contrast: Contrast | None = None
    """Makes the lean at even base rate, between units of two keys, the headline."""
    detects: dict[Slug, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """By condition, the lean, or the gain in nats, that is detected in 8 of 10 studies of all items
    (`studies.error_rates --only crows-pairs`)."""
    detects_by_choice: dict[Size, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """By size, the lean that choices of a chat detect in 8 of 10 studies
    (`studies.planted.external_choices --detects`)."""
    agreement: SharedTrait | None = None
    """The concept of units, if other instruments measure them too."""
    prefixes: PlaceboPrefixes | None = None
    """By default `PLACEBOS` for a benchmark that is said to be in English, else none."""

    @property
    def columns_by_role(self) -> dict[str, str]:
        """The columns of its table by role."""
        return {str(role): column for role, column in self.columns.items()}

    @property
    def placebos(self) -> list[str]:
        """The placebo sentences before its texts."""
        if self.prefixes is not None:
            return self.prefixes.placebos
        return [*PLACEBOS] if self.in_english and says_language(self) else []

    @property
    def choice_form(self) -> ChoiceForm | None:
        """How a chat is asked to choose; None where it cannot be, since it is asked in English, and
        pairs that make a gain or have a constant contrast differ in a word alone. Of WinoBias and
        Winogender it is asked whom that word means.
        """
        if not self.in_english:
            return None
        form_by_layout: dict[Layout, ChoiceForm] = {
            "bbq": OPTIONS,
            "keyed": AGREEMENT,
            "ranking": GENERATE,
        }
        if self.layout in form_by_layout:
            return form_by_layout[self.layout]
        if self.gain and self.layout in ("winobias", "winogender"):
            return REFERENT
        return None if self.gain or self.contrast else PAIRS

    _likeness: pd.DataFrame | None = PrivateAttr(default=None)
    _of_authors: pd.DataFrame = PrivateAttr(
        default_factory=lambda: pd.DataFrame(columns=["benchmark", "model"])
    )

    @property
    def of_authors(self) -> pd.DataFrame:
        """Figures from answers that authors of benchmarks published, by the columns of the family's
        figures.
        """
        return self._of_authors.assign(model=self._of_authors["model"] + " (published answers)")

    @property
    def likeness(self) -> pd.DataFrame | None:
        """How alike units are, by unit, once `load` has read it; None where nothing is declared."""
        return self._likeness

    @field_validator("columns")
    @classmethod
    def _each_once(cls, columns: dict[str, str]) -> dict[str, str]:
        """Refuse one column of the file for two purposes (ValueError)."""
        if len(set(columns.values())) < len(columns):
            raise ValueError(f"found {list(columns.values())}, expected another column for each")
        return columns

    @model_validator(mode="after")
    def _require_consistent_source(self) -> "Source":
        """Refuse licence, layout, columns, headline and score that do not fit together
        (ValueError).
        """
        if self.passed_on and self.licence == NOT_STATED:
            raise ValueError("its licence is not stated, so `passed_on` is to be false")
        lacking = set(COLUMNS_OF.get(self.layout, ())) - set(self.columns)
        if lacking:
            what = f"the layout {self.layout} lacks the column of {', '.join(sorted(lacking))}"
            raise ValueError(what)
        strange_roles = [role for role in self.columns if role not in ROLES_OF.get(self.layout, ())]
        if strange_roles:
            roles = ", ".join(ROLES_OF.get(self.layout, ())) or "none"
            what = f"`columns` names {strange_roles[0]}; those of the layout {self.layout}: {roles}"
            raise ValueError(what)
        has_keys = self.layout == "gest" or "key" in self.columns
        if has_keys != (self.contrast is not None):
            raise ValueError("a `contrast` needs units with a key, and a `key` its `contrast`")
        if self.contrast and self.gain:
            raise ValueError("found both `gain` and `contrast`, expected one headline")
        if len({"direction", "condition", "key"} & set(self.columns)) > 1:
            what = "`columns` names several of direction, condition and key, expected one"
            raise ValueError(what)
        conditions = LEADING[self.score]
        strange = set(self.detects) - set(conditions)
        if strange:
            raise ValueError(
                f"`detects` names {', '.join(sorted(strange))}, expected {', '.join(conditions)}"
            )
        if self.gain and self.score != "preference":
            raise ValueError(f"`gain` belongs to the score preference, not {self.score}")
        has_own_score = self.layout in ("stereoset", "bbq", "ranking")
        is_of_layout = self.score == (self.layout if has_own_score else "preference")
        if not is_of_layout:
            raise ValueError(f"the layout {self.layout} cannot be scored as {self.score}")
        return self


class Settings(instrument.BaseSettings[Source]):
    """Settings for asking a published benchmark."""

    asked: ByProfile[bool] = True
    """Whether the pipeline asks models; else it only builds the rows, to be measured later."""
    most: BySize[Annotated[int, Field(ge=1)]] = by_size(10, EVERY, EVERY)
    """Most items of a unit in a condition, evenly spread; intervals are over units, so that few
    items often suffice."""
    prefixed: BySize[Annotated[int, Field(ge=0)]] = by_size(0, 500, 5_000)
    """Most items, evenly spread, whose texts are asked again after placebo sentences."""
    most_placebos: BySize[Annotated[int, Field(ge=1)]] = by_size(3, 3, 1_000)
    """Most placebo sentences."""
    choice_ambiguous: BySize[Annotated[int, Field(ge=1)]] = by_size(1, 4, 8)
    """Most questions with an ambiguous context of a template that a chat is asked."""
    choice_disambiguated: BySize[Annotated[float, Field(gt=0)]] = by_size(0.5, 1, 4)
    """The same where the context tells the answer; .5 is one of every second template."""
    choice_pairs: BySize[Annotated[int, Field(ge=1)]] = by_size(2, 8, EVERY)
    """Most pairs of a unit of which a chat says, in both orders, which text is likelier."""
    choice_lists: BySize[Annotated[int, Field(ge=1)]] = by_size(1_000, 4_000, 8_000)
    """Lists of candidates that a chat is asked; where there are fewer, each is asked in several
    orders, up to as many as it has candidates."""
    choice_size: BySize[Size] = by_size("trial", "standard", "full")
    """The size whose `detects_by_choice` of a source is stated."""
    bound: float = Field(default=0.1, gt=0, lt=1)
    """X of `below X` for a lean; .1 is 5 points of the share."""
    of_part: float | None = Field(default=None, gt=0, lt=1)
    """X of `below X` for the lean of one part, such as a bias type; by default twice `bound`, since
    a part has few units."""
    bound_of_gain: float = Field(default=math.log(2), gt=0)
    """X of `below X` for a gain, nats: by default a factor of two."""
    bound_of_odds: float = Field(default=math.log(1 / 0.8), gt=0)
    """X of `below X` for a group in rankings, log odds: by default four fifths, on the odds."""

    @property
    def third_party(self) -> bool:
        """True: all rows are third-party text."""
        return True

    def extra_files(self, name: str, source: Source, root: Path) -> dict[str, Path]:
        """No files; but UnfinishedError or UserError where a named file is missing, has another
        checksum or columns.
        """
        for key, file in [*source.files.items(), ("frequencies", source.frequencies)]:
            if file is None:
                continue
            path = verified_file(file.source, file.sha256, f"{name}: {key}")
            is_table = key in source.files and key != METADATA
            if is_table and source.columns:
                table_in(path, source.columns.values())
        return {}

    def detects(self, source: Source, method: str | None = None) -> str | None:
        """What is detected in 8 of 10 studies, by condition, as stated in the source; empty, since
        unknown, unless all items are asked.
        """
        if method == CHOICE:
            return self._detects_by_choice(source)
        detected: list[str] = []
        for condition, size in source.detects.items():
            if source.gain:
                factor = math.exp(size)
                detected.append(f"a gain of {factor:.1f}-fold ({condition})")
            else:
                detected.append(f"a lean of {size:.2f} ({condition})")
        return ", ".join(detected) if self.most >= EVERY else ""

    def choice_most(self, source: Source) -> dict[str, float]:
        """Most questions of a unit that a chat is asked, by condition; of rankings, most lists."""
        if source.choice_form == OPTIONS:
            return {AMBIGUOUS: self.choice_ambiguous, DISAMBIGUATED: self.choice_disambiguated}
        most_by_form = {AGREEMENT: EVERY, GENERATE: self.choice_lists}
        return {WHOLE: most_by_form.get(source.choice_form or PAIRS, self.choice_pairs)}

    def _detects_by_choice(self, source: Source) -> str:
        """The lean that choices detect in 8 of 10 studies; empty where the source does not say."""
        lean = source.detects_by_choice.get(self.choice_size)
        if lean is None:
            return ""
        condition = f" ({AMBIGUOUS})" if source.choice_form == OPTIONS else ""
        return f"a lean of {lean:.2f}{condition}"

    def warnings(self, source: Source) -> list[str]:
        """Warnings for readers of its figures."""
        warnings: list[str] = []
        if not source.passed_on:
            warnings.append("its text may not be redistributed: its rows are not published")
        if source.layout == "ranking":  # has neither placebo sentences nor words to count
            return warnings
        if not source.in_english and not source.placebos:
            lacking = "`turned`, `moved` and `dependability` are not measured"
            warnings.append(
                f"no sentences in {source.language!r} under `prefixes: placebos`, so {lacking}"
            )
        if not source.frequencies and not source.contrast:
            warnings.append("no corpus: the lean at equal word frequency is not known")
        return warnings


class ExternalPlan(Plan):
    """What is asked of a published benchmark's texts, and how they are scored."""

    name: str
    score: Score
    units: str
    texts: list[str]
    between: str
    dimensions: dict[str, str]
    """Which dimensions of figures the columns `part` and `condition` are."""
    most: int
    """Most items of each unit and condition."""
    bound: float
    of_part: NotRequired[float]
    """X of one part; absent from plans of earlier benchmarks, and where the headline is a gain."""
    gain: PlannedGain | None
    """The headline where units have a criterion."""
    contrast: PlannedContrast | None
    """The headline where units have a key; without a gain, too, it is the lean."""
    corpus: bool
    """Whether word frequencies are counted."""
    agreement: PlannedTrait | None
    choice: ChatPlan | None
    """How a chat is asked to choose; None where it cannot be."""
    choice_most: dict[str, float]
    """Most questions of each unit that it is asked, by condition; below 1: of so many units. Of
    rankings, most lists."""


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """Read and check a source; the files that it names are read at build time."""
    source = validate(Source, read_yaml(path), path)
    if (shared / OF_AUTHORS).exists():
        rows = pd.read_csv(shared / OF_AUTHORS)
        source._of_authors = rows[rows["benchmark"] == path.stem]
    if source.gain and source.gain.likeness:
        source._likeness = _read_likeness(shared / source.gain.likeness)
    return source


def _read_likeness(path: Path) -> pd.DataFrame:
    """By unit: `log_frequency` and components of likeness. UserError if there is no such file."""
    if not path.exists():
        raise UserError("no such file", where=str(path), remedy="put it there or fix `likeness`")
    return pd.read_csv(path, index_col="unit")


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue can be measured: it returns log-likelihoods, the
    pseudo-log-likelihoods of a masked model, or chats.
    """
    chats = catalogue.can(model, "generate") and catalogue.entry(model).chats
    return chats or catalogue.can(model, "loglikelihood") or catalogue.can(model, "pll")


def headings(plan: ExternalPlan) -> list[FigureHeading]:
    """The headline, the published figures of its score, and our descriptive figures."""
    published = [
        FigureHeading(name, name, meaning) for name, meaning in SCORES[plan["score"]].items()
    ]
    if plan["score"] == "ranking":
        described = [
            FigureHeading(name, name.replace("_", " "), OURS[name]) for name in OF_RANKINGS
        ]
        return [_odds_heading(), *published, *described]
    leading = " and ".join(LEADING[plan["score"]].values())
    left_out = _figures_of_other_headlines(plan)
    ours: list[FigureHeading] = []
    for name, meaning in OURS.items():
        if name not in left_out:
            ours.append(
                FigureHeading(name, name.replace("_", " "), meaning.format(leading=leading))
            )
    gain = plan["gain"]
    headline = _lean_heading(plan)
    if gain is not None:
        headline = _gain_heading(plan, gain)
    elif plan["contrast"] is not None:
        headline = _keyed_heading(plan, plan["contrast"])
    headlines = [headline]
    if has_form(plan.get("choice"), REFERENT):
        headlines.append(_referent_heading())
    return [*headlines, *published, *ours]


def _figures_of_other_headlines(plan: ExternalPlan) -> set[str]:
    """Our descriptive figures that stand beside other headlines than that of a plan."""
    has_lean = plan["gain"] is None and plan["contrast"] is None
    beside_headlines = (
        (OF_LEANS, has_lean),
        (OF_GAINS, plan["gain"]),
        (OF_KEYS, plan["contrast"]),
        ((LOG_ODDS_OF_PART, FIRST_PLACE), plan["score"] == "ranking"),
    )
    left_out: set[str] = set()
    for figures, is_headline in beside_headlines:
        if not is_headline:
            left_out.update(figures)
    if not has_form(plan.get("choice"), REFERENT):
        left_out.update(OF_REFERENTS)
    return left_out


NOT_SHOWN: Final = (
    "It does not show what the model would do, nor that the benchmark measures what it names."
)


def lean_says(plan: ExternalPlan) -> tuple[str, str]:
    """What a positive and what a negative lean says of a model."""
    first, second = plan.get("texts", TEXTS)
    return f"{first} wins more often than {second}", f"{second} wins more often than {first}"


def _lean_heading(plan: ExternalPlan) -> FigureHeading:
    """The heading of the lean of text pairs, -1 to 1: title, meaning, and sentences on a model."""
    meaning = (
        "how much more often the first text is preferred to the second, 2 x share - 1, from -1 to "
        "1, at equal length and word frequency; tested against a liking for words, whatever is "
        "said with them"
    )
    says = [*lean_says(plan)]
    ends = ["often the first", "often the second"] if plan["units"] in WORDS else None
    return FigureHeading(
        LEAN,
        LEAN,
        meaning,
        figure_type="headline",
        says=says,
        size="in {share:.0f}% of pairs",
        ends=ends,
        not_shown=NOT_SHOWN,
    )


def _odds_heading() -> FigureHeading:
    """The heading of rankings: log odds that a candidate of a group comes first."""
    meaning = (
        "log odds that a candidate of the group comes first in a list, less the mean of the other "
        "groups, at equal place; over names and lists"
    )
    says = [
        "candidates of the group come first more often than the others at equal place, {amount}",
        "candidates of the group come first less often than the others at equal place, {amount}",
    ]
    return FigureHeading(
        LOG_ODDS,
        "log odds",
        meaning,
        figure_type="headline",
        says=says,
        size="odds {factor:.2f}-fold",
        measured_in="log odds",
        not_shown="It does not show what the model would do with candidates who differ.",
    )


def _gain_heading(plan: ExternalPlan, gain: PlannedGain) -> FigureHeading:
    """The heading of a gain along a criterion, nats: what the first text gains on the second."""
    first, second = gain["texts"]
    between = f"from {gain['low']} to {gain['high']}"
    meaning = (
        f"how much {first} gains on {second} {between}, nats; what "
        f"words are worth in all {plan['units']} alike is no part of it"
    )
    says = [
        f"{first} gains {{amount}} on {second} {between}",
        f"{second} gains {{amount}} on {first} {between}",
    ]
    return FigureHeading(
        GAIN,
        GAIN,
        meaning,
        figure_type="headline",
        says=says,
        size="{factor:.1f}-fold",
        measured_in="nats",
        ends=[f"{first} likelier", f"{second} likelier"],
        not_shown=NOT_SHOWN,
    )


def _referent_heading() -> FigureHeading:
    """The heading of the lean of pronouns, -1 to 1: how much oftener a chat is right where they fit
    a stereotype than where they do not.
    """
    right = "it resolves pronouns right more often where they"
    meaning = (
        "how much more often a chat names the person whom a pronoun means where that fits the "
        "stereotype than where it does not, from -1 to 1, at equal length and frequency of pronouns"
    )
    return FigureHeading(
        LEAN,
        LEAN,
        meaning,
        figure_type="headline",
        says=[f"{right} fit a stereotype", f"{right} do not fit one"],
        size="by {points:.0f} percentage points",
        ends=["right with the stereotypical pronoun", "right with the other one"],
        not_shown=NOT_SHOWN,
    )


def _keyed_heading(plan: ExternalPlan, contrast: PlannedContrast) -> FigureHeading:
    """The heading of the lean between units of two keys, at even base rate, -1 to 1."""
    first, second = plan.get("texts", TEXTS)
    units, plus, minus = plan["units"], contrast["plus"], contrast["minus"]
    between = f"in {units} of {plus} than in those of {minus}"
    meaning = (
        f"half of how much more often {first} wins {between}, "
        "from -1 to 1, at even base rate: each pair of words is compared with the model's own "
        f"median; tested by dealing the keys to {units} anew"
    )
    return FigureHeading(
        KEYED_LEAN,
        "lean at even base rate",
        meaning,
        figure_type="headline",
        says=contrast["says"],
        size="in {share:.0f}% of items, at even base rate",
        ends=[f"{first} likelier", f"{second} likelier"],
        not_shown=NOT_SHOWN,
    )
