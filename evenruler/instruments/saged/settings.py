"""How models are asked about domains, and what is measured of what they write: `domains` and `saged` in params.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import Scale
from evenruler.models.declared import Catalogue
from evenruler.models.operations import Operation
from evenruler.strict import Slug, Strict, Text

PROMPT = "{PROMPT}"
"""Where a template takes the prompt."""

SCORED = ("{GENERATION}", "{BASELINE}")
"""What the prompt of a scorer may ask about."""


class DomainSettings(Strict):
    """How much of one domain models are asked; its benchmark is always built whole."""

    text: Literal["ours", "others"] = "ours"
    """Whose its sentences are: a benchmark of text that others wrote stays out of git, in DVC's cache."""
    items: dict[Scale, int] = Field(default={"quick": 6, "paper": 1000})
    """Root items at most, evenly spread; where a domain is not branched, items of each concept."""
    concepts: dict[Scale, int] = Field(default={"quick": 6, "paper": 1000})
    """Concepts at most, evenly spread, roots among them."""
    generations: dict[Scale, int] = Field(default={"quick": 1, "paper": 1})
    """Replies to a prompt."""
    new_tokens: dict[Scale, int] = Field(default={"quick": 24, "paper": 256})
    """At most so many in a reply."""
    seed: int = Field(default=0, ge=0)

    @field_validator("items", "concepts", "generations", "new_tokens")
    @classmethod
    def _for_each_scale(cls, numbers: dict[Scale, int], info: ValidationInfo) -> dict[Scale, int]:
        least = 2 if info.field_name == "concepts" else 1
        if set(numbers) != {"quick", "paper"} or min(numbers.values()) < least:
            raise ValueError(f"found {numbers}, expected numbers from {least} on for quick and for paper")
        return numbers


class Role(Strict):
    """Whom a model is told to be."""

    text: str
    """The system prompt; none where it is empty."""
    scale: Scale | None = None
    """The scale that uses it; every one by default."""


def _role(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class Feature(Strict):
    """A number for each text."""

    kind: Literal["lexicon", "classifier", "distance", "clusters", "scorer"]
    """`lexicon`: VADER's compound score, from -1 to 1; `classifier`: a text classifier's probabilities, weighted;
    `distance`: how far the reply's embedding is from the baseline's; `clusters`: clusters of replies and their topic
    words; `scorer`: a language model asked for a number."""
    model: Slug | None = None
    """Of a `classifier` or `scorer`; the embedder of `diagnosis` for the others, where it is none."""
    score: dict[Text, float] | None = None
    """Of a `classifier`: the weight of each label's probability."""
    offset: float = 0.0
    """Of a `classifier`: added to the weighted sum."""
    metric: Literal["cosine", "l2"] | None = None
    """Of `distance` and `clusters`."""
    form: Literal["label", "sort", "distance"] | None = None
    """Of `clusters`: in its cluster or not (1 or 0); how near its topic is among all (1 the nearest); how far."""
    by: list[Literal["concept", "role", "template"]] | None = None
    """Of `clusters`: replies are clustered within these; within the domain and the model in any case."""
    k: int | None = Field(default=None, ge=2)
    """Of `clusters`: how many."""
    seed: int | None = Field(default=None, ge=0)
    """Of `clusters`."""
    question: Text | None = None
    """Of a `scorer`: what it is asked; {GENERATION} and, if wanted, {BASELINE} stand for the texts."""
    low: float | None = None
    """Of a `scorer`: the least number it may say."""
    high: float | None = None
    """Of a `scorer`: the largest."""
    scale: Scale | None = None
    """The scale that uses it; every one by default."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Feature":
        needed, allowed = _KEYS[self.kind]
        given = {key for key in type(self).model_fields if getattr(self, key) is not None} - {"kind", "scale"}
        given -= {"offset"} if not self.offset else set()
        for key in sorted(needed - given):
            raise ValueError(f"a feature of kind {self.kind} needs `{key}`")
        for key in sorted(given - needed - allowed):
            raise ValueError(f"`{key}` does not belong to kind {self.kind}")
        if self.question is not None and SCORED[0] not in self.question:
            raise ValueError(f"the question does not hold {SCORED[0]}, so every reply is asked about in the same words")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}")
        return self


_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "lexicon": (set(), set()),
    "classifier": ({"model", "score"}, {"offset"}),
    "distance": ({"metric"}, {"model"}),
    "clusters": ({"form", "k", "seed"}, {"model", "metric", "by"}),
    "scorer": ({"model", "question", "low", "high"}, set()),
}
"""By kind: the keys that it needs, and those that it may have beside them."""


class Statistic(Strict):
    """A summary of the numbers of a group."""

    kind: Text
    """A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a function of yours, as
    mypackage.module.function: it takes an array and gives a number."""
    options: dict[Text, float | str] = Field(default_factory=dict)
    """Of the statistic, as `tolerance` or `standard`."""


class Disparities(Strict):
    """How figures of groups are compared, and how sure that is."""

    grouping: list[list[Literal["concept", "keyword", "section"]]] = Field(default=[["concept"]], min_length=1)
    """Each a way to group: the values of these columns, crossed; always within domain, model, role and template."""
    statistics: dict[Slug, Statistic] = Field(
        default={
            "mean": Statistic(kind="mean"),
            "median": Statistic(kind="median"),
            "std": Statistic(kind="std"),
            "selection-rate": Statistic(kind="selection_rate", options={"standard": "mean", "method": "larger"}),
            "correlation": Statistic(kind="correlation"),
            "kl": Statistic(kind="kl_divergence"),
            "precision": Statistic(kind="precision"),
        }
    )
    """By the name that tables have them under."""
    metrics: list[str] = Field(
        default=["range", "min_max_ratio", "min_impact_ratio", "std", "max_z", "min_z", "dixon_high", "dixon_low"],
        min_length=1,
    )
    """Names of `evenruler.instruments.saged.METRICS`."""
    headline: Slug = "mean"
    """The statistic of the headline rows: more permutations, a verdict, figures on the card."""
    permutations: dict[Scale, int] = Field(default={"quick": 200, "paper": 1000})
    headline_permutations: dict[Scale, int] = Field(default={"quick": 1000, "paper": 10000})
    resamples: dict[Scale, int] = Field(default={"quick": 200, "paper": 1000})
    """Of root items, for intervals."""

    @field_validator("permutations", "headline_permutations", "resamples")
    @classmethod
    def _for_each_scale(cls, numbers: dict[Scale, int]) -> dict[Scale, int]:
        if set(numbers) != {"quick", "paper"} or min(numbers.values()) < 1:
            raise ValueError(f"found {numbers}, expected numbers from 1 on for quick and for paper")
        return numbers

    @model_validator(mode="after")
    def _headline_is_there(self) -> "Disparities":
        if self.headline not in self.statistics:
            raise ValueError(f"headline names {self.headline!r}, which is not under `statistics`")
        return self


class SagedSettings(Strict):
    """Who asks wikis, whom models are told to be, what is measured, and how groups are compared."""

    contact: Text | None = None
    """Mail or web address that `evenruler refresh` and `evenruler find` give to the wikis they ask."""
    roles: dict[Slug, Annotated[Role, BeforeValidator(_role)]] = Field(default={"no-role": Role(text="")})
    templates: dict[Slug, Text] = Field(default={"plain": PROMPT})
    """What a prompt is put into."""
    features: dict[Slug, Feature] = Field(default={"vader": Feature(kind="lexicon")})
    disparities: Disparities = Field(default_factory=Disparities)

    @field_validator("templates")
    @classmethod
    def _take_the_prompt(cls, templates: dict[str, str]) -> dict[str, str]:
        for name, text in templates.items():
            if text.count(PROMPT) != 1 or text.count("{") != 1:
                raise ValueError(f"the template {name!r} does not hold {PROMPT} once, and no other brace")
        return templates

    def roles_at(self, scale: Scale) -> dict[str, str]:
        """The system prompts of a scale, by role."""
        return {name: role.text for name, role in self.roles.items() if role.scale in (None, scale)}

    def features_at(self, scale: Scale) -> dict[str, Feature]:
        """The features of a scale."""
        return {name: feature for name, feature in self.features.items() if feature.scale in (None, scale)}


def require_measuring(features: Mapping[str, Feature], catalogue: Catalogue, path: Path) -> None:
    """Every feature names a model that can measure it.

    Args:
        features: By name.
        catalogue: The models.
        path: The file of the declaration.

    Raises:
        UserError: There is no such model, or it cannot.
    """
    needed: dict[str, Operation] = {"classifier": "classify", "scorer": "generate"}
    for name, feature in features.items():
        if feature.model is None:
            continue
        operation = needed.get(feature.kind, "embed")
        where = f"{path}: saged.features.{name}.model"
        if feature.model not in catalogue.models:
            remedy = f"mend the name ({nearest(feature.model, catalogue.models)})"
            raise UserError(f"no model {feature.model!r}", where=where, remedy=remedy)
        if not catalogue.can(feature.model, operation):
            what = f"{feature.model!r} (kind {catalogue.kind(feature.model)}) cannot {operation}"
            raise UserError(what, where=where, remedy=f"name a model that can {operation}")
