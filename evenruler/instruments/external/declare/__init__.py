"""Declaration of a published benchmark, as users write it: authors, files, their layout, and the
score.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict

import pandas as pd
from pydantic import Field, PrivateAttr, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments import instrument
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
from evenruler.strict import (
    Slug,
    StrictModel,
    Text,
    csv_of,
    pattern_validator,
    read_text,
    read_yaml,
    validate,
)
from evenruler.text.english import slug_of

__all__ = [
    "GAIN",
    "LEAN",
    "NOT_STATED",
    "SCORES",
    "ExternalPlan",
    "File",
    "Layout",
    "PlannedGain",
    "Score",
    "Settings",
    "Source",
    "headings",
    "load",
    "name_part",
    "takes",
]

Layout = Literal["pairs", "winogender", "winobias", "stereoset", "bbq", "bec-pro"]
Score = Literal["preference", "stereoset", "bbq"]
ColumnRole = Literal["first", "second", "unit", "part", "direction", "condition"]

LEAN: Final = "lean"
GAIN: Final = "gain"
GAIN_OF_PART: Final = "gain_of_part"
GAIN_APART: Final = "gain_apart"
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
}
"""By score, the published figures of which the lean is a transformation, by condition."""

_FIGURES: Final = read_yaml(Path(__file__).with_name("figures.yaml"))

SCORES: Final[dict[Score, dict[str, str]]] = _FIGURES["scores"]
OURS: Final[dict[str, str]] = _FIGURES["ours"]
"""In words: the published figures by score, exactly as their authors define them; and our
descriptive figures."""

OF_GAINS: Final = (GAIN_OF_PART, GAIN_APART)
"""Figures of benchmarks whose headline is the gain."""

WORDS: Final = ("occupations", "professions", "targets")
"""Units whose names are meaningful to readers."""

TEXTS: Final = ("the first text", "the second text")

EVERY: Final = 1_000_000
"""No limit: more items than any benchmark has in a unit and condition."""


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


def table_in(path: Path, separator: str, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a text table, every value a string; quotes are parsed with commas, not with
    tabs.
    """
    _, rows = csv_of(read_text(path), path.name, [*columns], separator)
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
    """For the layout `pairs`, by role: the columns of its table. `part`: the bias that a pair is
    about; `direction` or `condition`: whose stereotype it states, or in which form."""
    files: dict[Slug, File] = Field(min_length=1)
    frequencies: File | None = None
    """A corpus for counting word frequencies: JSON, an object whose values have an `extract`."""
    between: str = " "
    """Separator between a prompt and its text."""
    texts: list[Text] = Field(default=[*TEXTS], min_length=2, max_length=2)
    """What the first and the second text of an item are, in words."""
    gain: Gain | None = None
    """Makes the gain along a criterion the headline, and not the lean."""
    detects: dict[Slug, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """By condition, the lean, or the gain in nats, that is detected in 8 of 10 studies of all items
    (`studies.error_rates --only crows-pairs`)."""
    agreement: SharedTrait | None = None
    """The concept of units, if other instruments measure them too."""
    prefixes: PlaceboPrefixes | None = None
    """By default `PLACEBOS` for a benchmark that is said to be in English, else none."""

    @property
    def placebos(self) -> list[str]:
        """The placebo sentences before its texts."""
        if self.prefixes is not None:
            return self.prefixes.placebos
        return [*PLACEBOS] if self.in_english and says_language(self) else []

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
        if len(set(columns.values())) < len(columns):
            raise ValueError(f"found {list(columns.values())}, expected another column for each")
        return columns

    @model_validator(mode="after")
    def _fits(self) -> "Source":
        if self.passed_on and self.licence == NOT_STATED:
            raise ValueError("its licence is not stated, so `passed_on` is to be false")
        lacking = {"first", "second", "unit"} - set(self.columns)
        if self.layout == "pairs" and lacking:
            raise ValueError(f"the layout pairs lacks the column of {', '.join(sorted(lacking))}")
        if self.layout != "pairs" and self.columns:
            raise ValueError("`columns` belongs to the layout pairs")
        if {"direction", "condition"} <= set(self.columns):
            raise ValueError("`columns` names both a direction and a condition, expected one")
        conditions = LEADING[self.score]
        strange = set(self.detects) - set(conditions)
        if strange:
            raise ValueError(
                f"`detects` names {', '.join(sorted(strange))}, expected {', '.join(conditions)}"
            )
        if self.gain and self.score != "preference":
            raise ValueError(f"`gain` belongs to the score preference, not {self.score}")
        has_own_score = self.layout in ("stereoset", "bbq")
        if (self.score == "preference") == has_own_score:
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
    bound: float = Field(default=0.1, gt=0, lt=1)
    """X of `below X` for a lean; .1 is 5 points of the share."""
    bound_of_gain: float = Field(default=math.log(2), gt=0)
    """X of `below X` for a gain, nats: by default a factor of two."""

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
            if key in source.files and source.columns:
                table_in(path, ",", source.columns.values())
        return {}

    def detects(self, source: Source, method: str | None = None) -> str | None:
        """What is detected in 8 of 10 studies, by condition, as stated in the source; None unless
        all items are asked.
        """
        detected: list[str] = []
        for condition, size in source.detects.items():
            if source.gain:
                factor = math.exp(size)
                detected.append(f"a gain of {factor:.1f}-fold ({condition})")
            else:
                detected.append(f"a lean of {size:.2f} ({condition})")
        return ", ".join(detected) if self.most >= EVERY else None

    def warnings(self, source: Source) -> list[str]:
        """Warnings for readers of its figures."""
        warnings: list[str] = []
        if not source.passed_on:
            warnings.append("its text may not be redistributed: its rows are not published")
        if not source.in_english and not source.placebos:
            lacking = "`turned`, `moved` and `dependability` are not measured"
            warnings.append(
                f"no sentences in {source.language!r} under `prefixes: placebos`, so {lacking}"
            )
        if not source.frequencies:
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
    gain: PlannedGain | None
    """The headline where units have a criterion; else it is the lean."""
    corpus: bool
    """Whether word frequencies are counted."""
    agreement: PlannedTrait | None


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
    """Whether a model of the catalogue can be measured: it returns log-likelihoods."""
    return catalogue.can(model, "loglikelihood")


def headings(plan: ExternalPlan) -> list[FigureHeading]:
    """The headline, the published figures of its score, and our descriptive figures."""
    published = [
        FigureHeading(name, name, meaning) for name, meaning in SCORES[plan["score"]].items()
    ]
    leading = " and ".join(LEADING[plan["score"]].values())
    ours: list[FigureHeading] = []
    for name, meaning in OURS.items():
        if name not in OF_GAINS or plan["gain"]:
            ours.append(
                FigureHeading(name, name.replace("_", " "), meaning.format(leading=leading))
            )
    gain = plan["gain"]
    headline = _lean_heading(plan) if gain is None else _gain_heading(plan, gain)
    return [headline, *published, *ours]


NOT_SHOWN: Final = (
    "It does not show what the model would do, nor that the benchmark measures what it names."
)


def _lean_heading(plan: ExternalPlan) -> FigureHeading:
    meaning = (
        "how much more often the first text is preferred to the second, 2 x share - 1, from -1 to "
        "1, at equal length and word frequency; tested against a liking for words, whatever is "
        "said with them"
    )
    first, second = plan.get("texts", TEXTS)
    says = [f"{first} wins more often than {second}", f"{second} wins more often than {first}"]
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


def _gain_heading(plan: ExternalPlan, gain: PlannedGain) -> FigureHeading:
    first, second = gain["texts"]
    between = f"from {gain['low']} to {gain['high']}"
    meaning = (
        f"how much {first} gains on {second} {between}, nats; what "
        f"words are worth in all {plan['units']} alike is no part of it"
    )
    says = [
        f"{first} gains on {second} {between}",
        f"{second} gains on {first} {between}",
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
