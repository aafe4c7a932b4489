"""What users write of a published benchmark: whose it is, where its files lie, how they are laid out and scored."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pandas as pd
from pydantic import Field, PrivateAttr, StringConstraints, field_validator, model_validator

from evenruler.instruments import instrument
from evenruler.instruments.fixed.schemas import AMBIGUOUS, DISAMBIGUATED
from evenruler.instruments.instrument import Column, Concept, Plan, Scaled, Sized, by_size
from evenruler.instruments.prefixes import FEWEST_PLACEBOS
from evenruler.models.declared import NOT_STATED, Catalogue
from evenruler.models.sources import pinned
from evenruler.strict import Slug, Strict, Text, read_yaml, validate
from evenruler.tables.schemas import WHOLE

__all__ = ["LEAN", "NOT_STATED", "SCORES", "File", "Layout", "Score", "Settings", "Source", "headings", "load", "takes"]

Layout = Literal["pairs", "winogender", "winobias", "stereoset", "bbq", "bec-pro"]
Score = Literal["preference", "stereoset", "bbq"]

LEAN: Final = "lean"

OF_AUTHORS: Final = "published.csv"
"""In the folder that the family's sources share: figures of answers that authors published (`docs/rulers.py`)."""

PLACEBOS: Final = (
    "It was a Tuesday.",
    "The kettle had just boiled.",
    "A train went by outside.",
    "The shop closes at six.",
    "There was a little rain in the morning.",
)
"""Sentences that say nothing of anybody, put before the texts of a benchmark in English that names no others."""

LEADING: Final[dict[Score, dict[str, str]]] = {
    "preference": {WHOLE: "share"},
    "stereoset": {WHOLE: "ss"},
    "bbq": {AMBIGUOUS: "s_amb", DISAMBIGUATED: "s_dis"},
}
"""By score, the part and the name of the published figure that the lean is another form of."""

_FIGURES: Final = read_yaml(Path(__file__).with_name("figures.yaml"))

SCORES: Final[dict[Score, dict[str, str]]] = _FIGURES["scores"]
OURS: Final[dict[str, str]] = _FIGURES["ours"]
"""The published figures by score, exactly as their authors define them, in words; and what describes a benchmark."""

WORDS: Final = ("occupations", "professions", "targets")
"""Units whose names say what they are."""

TEXTS: Final = ("the first text", "the second text")

EVERY: Final = 1_000_000
"""Items of a unit and condition that no benchmark has."""


class File(Strict):
    """A file of others, pinned by its bytes."""

    source: Annotated[Text, StringConstraints(pattern="^(package|local|git):.")]
    """`package:MODULE/FILE`, `local:FILE` or `git:OWNER/NAME@COMMIT/PATH` (`evenruler.models.sources.pinned`)."""
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Framings(Strict):
    """What stands before the texts of all items, to see what that does."""

    placebos: list[Text] = Field(default_factory=lambda: list(PLACEBOS))
    """Sentences that have nothing to do with the benchmark; none where nothing is to be asked after them."""

    @field_validator("placebos")
    @classmethod
    def _enough(cls, placebos: list[str]) -> list[str]:
        if 0 < len(placebos) < FEWEST_PLACEBOS:
            raise ValueError(f"found {len(placebos)}, expected {FEWEST_PLACEBOS} at least, or none")
        if len({text.lower() for text in placebos}) < len(placebos):
            raise ValueError("a placebo stands in it twice")
        return placebos


class Settings(instrument.BaseSettings):
    """How a published benchmark is asked."""

    asked: Scaled[bool] = True
    """Whether the pipeline asks models; else it builds the rows, and who measures with them asks."""
    most: Sized[Annotated[int, Field(ge=1)]] = by_size(10, EVERY, EVERY)
    """At most so many items of a unit in a condition, evenly spread; intervals hang on units, so few often do."""
    prefixed: Sized[Annotated[int, Field(ge=0)]] = by_size(0, 500, 5_000)
    """Of so many items at most, evenly spread, texts are asked again after placebo sentences."""
    most_placebos: Sized[Annotated[int, Field(ge=1)]] = by_size(3, 3, 1_000)
    """After at most so many of these."""
    smallest: float = Field(default=0.1, gt=0, lt=1)
    """Lean worth naming; .1 are 5 points of the share."""

    @property
    def of_others(self) -> bool:
        """All of its rows are text of others."""
        return True

    def beside(self, name: str, source: Any, root: Path) -> dict[str, Path]:
        """Nothing; but UnfinishedError or UserError where a file that it names is not there, or has other bytes."""
        for key, file in [*source.files.items(), ("frequencies", source.frequencies)]:
            if file is not None:
                pinned(file.source, file.sha256, f"{name}: {key}")
        return {}

    def detects(self, source: Any, form: str | None = None) -> str | None:
        """The lean that its source says, where all items are asked; empty where it says none."""
        told = ", ".join(f"a lean of {lean:.2f} ({part})" for part, lean in source.detects.items())
        return told if self.most >= EVERY else None

    def warnings(self, source: Any) -> list[str]:
        """What a reader of its figures should know."""
        found = [] if source.passed_on else ["its text may not be passed on: its rows stay out of what is published"]
        return found + ([] if source.frequencies else ["no corpus: the lean at equal frequency of words is not known"])


class Source(instrument.Source):
    """A published benchmark."""

    passed_on: bool
    """Whether its licence allows to publish its text again."""
    published: Text
    """What its authors' figure is, in a sentence."""
    units: Text
    """What its items are samples of, in the plural: writers, occupations, targets, templates."""
    score: Score
    layout: Layout
    columns: dict[Literal["first", "second", "unit", "part", "condition"], Text] = Field(default_factory=dict)
    """Of the layout `pairs`, by role: the columns of its table."""
    files: dict[Slug, File] = Field(min_length=1)
    frequencies: File | None = None
    """A corpus that frequencies of words are counted in: JSON, an object whose values have an `extract`."""
    between: str = " "
    """What stands between a text and its prompt."""
    texts: list[Text] = Field(default=[*TEXTS], min_length=2, max_length=2)
    """What the first and the second text of an item are, in words."""
    detects: dict[Slug, Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=dict)
    """By part, the lean that 80 of 100 studies of all items find (`tests.performance.fixed_lean --detects`)."""
    concept: Concept | None = None
    """What units are, if other instruments measure them, too."""
    framings: Framings | None = None
    """By default `PLACEBOS`, of a benchmark in English."""

    @property
    def placebos(self) -> list[str]:
        """The sentences that its texts are asked after."""
        framings = self.framings or Framings(**({} if self.language == "en" else {"placebos": []}))
        return framings.placebos

    _of_authors: pd.DataFrame = PrivateAttr(default_factory=lambda: pd.DataFrame(columns=["benchmark", "model"]))

    @property
    def of_authors(self) -> pd.DataFrame:
        """Figures of models whose answers their authors published, by the columns of the family's figures."""
        return self._of_authors.assign(model=self._of_authors["model"] + " (published answers)")

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
        if strange := set(self.detects) - set(LEADING[self.score]):
            raise ValueError(f"`detects` names {', '.join(sorted(strange))}, expected {', '.join(LEADING[self.score])}")
        if (self.score == "preference") != (self.layout not in ("stereoset", "bbq")):
            raise ValueError(f"the layout {self.layout} cannot be scored as {self.score}")
        return self


def load(path: Path, settings: Settings, shared: Path) -> Source:
    """What users wrote, checked; the files that it names are read when it is built."""
    source = validate(Source, read_yaml(path), path)
    if (shared / OF_AUTHORS).exists():
        rows = pd.read_csv(shared / OF_AUTHORS)
        source._of_authors = rows[rows["benchmark"] == path.stem]
    return source


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model of the catalogue is asked: one that says how likely texts are."""
    return catalogue.can(model, "loglikelihood")


def headings(plan: Plan) -> list[Column]:
    """The published figures of its score, the lean that has a verdict, and what describes both."""
    lean = (
        "2 x share - 1, from -1 to 1: how much more often the first text wins than the second. Placebo: what "
        "differences in length and in frequency of words give alone; the rest is the lean at equal length and frequency"
    )
    published = [Column(name, name, meaning) for name, meaning in SCORES[plan["score"]].items()]
    leading = " and ".join(LEADING[plan["score"]].values())
    ours = [Column(name, name.replace("_", " "), told.format(leading=leading)) for name, told in OURS.items()]
    first, second = plan.get("texts", TEXTS)
    says = [f"{first} wins more often than {second}", f"{second} wins more often than {first}"]
    ends = ["often the first", "often the second"] if plan["units"] in WORDS else None
    return [Column(LEAN, LEAN, lean, role="headline", says=says, ends=ends), *published, *ours]
