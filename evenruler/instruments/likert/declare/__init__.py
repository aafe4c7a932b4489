"""Declarations of Likert items: settings, source and plan."""

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from evenruler.instruments import instrument
from evenruler.instruments.instrument import ByProfile, BySize, FigureHeading, Words, by_size
from evenruler.instruments.item_table import TABLES, read_items
from evenruler.instruments.likert.declare.source import LikertSource
from evenruler.models.declarations import Catalogue
from evenruler.strict import read_yaml, validate

__all__ = ["LikertPlan", "LikertSource", "Settings", "headings", "load", "takes"]

MEAN, DIFFERENCE = "mean", "difference"
"""Headlines: the mean in points of the scale, and one group's or persona's less the other's."""

ACQUIESCENCE, ORDER_EFFECT, ALPHA = "acquiescence", "order_effect", "alpha"

NO_OPTION, REFUSED, LETTER_MASS = "no_option", "refused", "letter_mass"
"""Shares of replies that name no option, and of those that refuse; the probability of letters."""

GROUP_MEAN, ITEM_MEAN, ITEM_DIFFERENCE = "group_mean", "item_mean", "item_difference"

BOUND: Final = 0.5
"""Points; of headlines, which are described."""

_HERE: Final = Path(__file__).parent

_FIGURES: Final[list[dict[str, Any]]] = read_yaml(_HERE / "figures.yaml")


Samples = Annotated[int, Field(ge=1, le=60)]


class Settings(instrument.BaseSettings[LikertSource]):
    """How items are asked."""

    asked: ByProfile[bool] = True
    """Whether the pipeline asks models; else it only builds the rows, to be measured later."""
    samples: BySize[Samples] = by_size(1, 5, 20)
    """How often each question is asked in each order of its options; probabilities once."""
    groups: Words | None = None
    """Two words for groups, in place of those of the source."""

    def detects(self, source: LikertSource, method: str | None = None) -> str | None:
        """None: no figure has a verdict (docs/likert.md)."""
        return None


class LikertPlan(instrument.Plan):
    """What is asked of statements."""

    labels: list[str]
    """Options, from the lowest."""
    lowest: int
    question: str
    instruction: str
    stem: str
    samples: int
    groups: list[str]
    """Slugs of two groups, or none."""
    personas: list[str]


def load(path: Path, settings: Settings, shared: Path) -> LikertSource:
    """A source in YAML, or in a table; UserError where it is invalid."""
    content = read_items(path) if path.suffix in TABLES else read_yaml(path)
    source = validate(LikertSource, content, path)
    if settings.groups is not None:
        content_of_groups = {**source.model_dump(by_alias=True), "groups": settings.groups}
        source = validate(LikertSource, content_of_groups, path)
    source.require_groups(path)
    return source


def takes(catalogue: Catalogue, model: str) -> bool:
    """Whether a model is asked: any chat."""
    return catalogue.models[model].chats


def headings(plan: LikertPlan) -> list[FigureHeading]:
    """The figures that readers are shown."""
    n_above = len(plan["labels"]) - 1
    places = {"lowest": plan["lowest"], "highest": plan["lowest"] + n_above}
    shown: list[FigureHeading] = []
    for fields in _FIGURES:
        meaning = fields["meaning"].format(**places)
        shown.append(FigureHeading(**{**fields, "meaning": meaning}))
    return shown
