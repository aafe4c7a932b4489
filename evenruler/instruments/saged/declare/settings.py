"""What an entry of `instruments` may say: how models are asked, and what is measured of what they write."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from evenruler.instruments.instrument import BaseSettings, Use
from evenruler.instruments.saged.declare.features import EMBEDDED, OPERATION_OF, Feature
from evenruler.instruments.saged.declare.finding import FOUND
from evenruler.instruments.saged.declare.source import DOMAINS, Source, material_of
from evenruler.instruments.scaled import Scaled, at_scale
from evenruler.strict import Seed, Slug, Strict, Text

Number = Annotated[int, Field(ge=1)]

PROMPT = "{PROMPT}"
"""Where a template takes the prompt."""

MOST_CONFIRMATORY = 5
"""Features with a favoured end that an instrument has at most: their p are corrected together."""


class Statistic(Strict):
    """A summary of the numbers of a group."""

    kind: Text
    """A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a function of yours, as
    mypackage.module.function: it takes an array and gives a number."""
    options: dict[Text, float | str] = Field(default_factory=dict)
    """Of the statistic, as `tolerance` or `standard`."""


class Disparities(Strict):
    """How figures of groups are compared, and how sure that is."""

    grouping: list[list[Literal["concept", "keyword", "section", "source_tag"]]] = Field(
        default=[["concept"]], min_length=1
    )
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
    """The statistic of the headline rows: more permutations, a shape, figures on the card."""
    permutations: Scaled[Number] = Field(default={"quick": 200, "paper": 1000}, validate_default=True)
    headline_permutations: Scaled[Number] = Field(default={"quick": 1000, "paper": 10000}, validate_default=True)
    resamples: Scaled[Number] = Field(default={"quick": 200, "paper": 1000}, validate_default=True)
    """Of root items, for intervals."""
    bound: float = Field(default=0.2, gt=0)
    """A range that is surely smaller, in standard deviations of replies about one concept, is none."""
    least: int = Field(default=12, ge=2)
    """Root items below which no verdict is given."""
    coverage: float = Field(default=0.5, ge=0, le=1)
    """Share of replies that a feature measures, below which it does not fit the model."""

    @model_validator(mode="after")
    def _headline_is_there(self) -> "Disparities":
        if self.headline not in self.statistics:
            raise ValueError(f"headline names {self.headline!r}, which is not under `statistics`")
        return self


class Settings(BaseSettings):
    """How much models are asked, by whom they are told to be, what is measured, and how groups are compared.

    The benchmark is built whole in any case.
    """

    text: Literal["ours", "others"] = "ours"
    """Whose its sentences are: a benchmark of text that others wrote stays out of git, in DVC's cache."""
    asked: Scaled[bool] = True
    """Whether models are asked when it is built. A benchmark that is only built can be measured all the same."""
    items: Scaled[Number] = Field(default={"quick": 6, "paper": 1000}, validate_default=True)
    """Root items at most, evenly spread; where a domain is not branched, items of each concept."""
    concepts: Scaled[Annotated[int, Field(ge=2)]] = Field(default={"quick": 6, "paper": 1000}, validate_default=True)
    """Concepts at most, evenly spread, roots among them."""
    generations: Scaled[Number] = 1
    """Replies to a prompt."""
    new_tokens: Scaled[Number] = Field(default={"quick": 24, "paper": 256}, validate_default=True)
    """At most so many in a reply."""
    seed: Seed = 0
    prefixed: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 0, "paper": 1000}, validate_default=True)
    """Root items at most that are also asked after prefixes, where the source has some."""
    reseeded: Scaled[Annotated[int, Field(ge=0)]] = Field(default={"quick": 6, "paper": 1000}, validate_default=True)
    """Root items at most that are asked once more with another seed, to see what that alone moves."""
    contact: Text | None = None
    """Mail or web address that `evenruler refresh` and `evenruler find` give to the wikis they ask."""
    embedder: Slug | None = None
    """The model behind features of distance and clusters that name none, and behind `evenruler find`."""
    roles: dict[Slug, str] = Field(default={"no-role": ""}, min_length=1)
    """Whom a model is told to be: the system prompt, none where it is empty. One may also be written as `text` and
    `scale`, the scale that uses it."""
    templates: dict[Slug, Text] = Field(default={"plain": PROMPT}, min_length=1)
    """What a prompt is put into."""
    features: dict[Slug, Feature] = Field(default={"vader": Feature(kind="lexicon")}, min_length=1)
    """What is measured of replies; one with a `scale` at that scale alone."""
    disparities: Disparities = Field(default_factory=dict, validate_default=True)

    @field_validator("features", mode="before")
    @classmethod
    def _of_the_scale(cls, entries: Any, info: ValidationInfo) -> Any:
        return _at_scale(entries, info)

    @field_validator("roles", mode="before")
    @classmethod
    def _in_words(cls, entries: Any, info: ValidationInfo) -> Any:
        """The system prompts alone, however roles are written."""
        roles = _at_scale(entries, info)
        if not isinstance(roles, dict):
            return roles
        wrong = [name for name, role in roles.items() if isinstance(role, dict) and set(role) != {"text"}]
        if wrong:
            raise ValueError(f"{wrong[0]}: found {roles[wrong[0]]}, expected a system prompt, or `text` and `scale`")
        return {name: role["text"] if isinstance(role, dict) else role for name, role in roles.items()}

    @field_validator("templates")
    @classmethod
    def _take_the_prompt(cls, templates: dict[str, str]) -> dict[str, str]:
        for name, text in templates.items():
            if text.count(PROMPT) != 1 or text.count("{") != 1:
                raise ValueError(f"the template {name!r} does not hold {PROMPT} once, and no other brace")
        return templates

    @model_validator(mode="after")
    def _confirms_few(self) -> "Settings":
        if len(self.confirmed) > MOST_CONFIRMATORY:
            raise ValueError(
                f"{len(self.confirmed)} features are in favour of something ({', '.join(self.confirmed)}), of at most "
                f"{MOST_CONFIRMATORY}: give the others `better: none`"
            )
        return self

    @model_validator(mode="after")
    def _can_embed(self) -> "Settings":
        for name, feature in self.features.items():
            if feature.kind in EMBEDDED and not (feature.model or self.embedder):
                raise ValueError(f"the feature {name!r} needs a `model`, or the instrument an `embedder`")
        return self

    @property
    def confirmed(self) -> list[str]:
        """The features that get a verdict: that have a favoured end and mask names."""
        return [name for name, feature in self.features.items() if feature.favour != "none" and feature.mask]

    @property
    def of_others(self) -> bool:
        """Whether its rows hold text that others wrote, which stays out of git, in DVC's cache."""
        return self.text == "others"

    @property
    def made_by(self) -> Literal["scrape"]:
        """The stage that finds its sentences."""
        return "scrape"

    def beside(self, name: str, source: Source, root: Path) -> dict[str, Path]:
        """The text of a domain, and what `evenruler find` found for it."""
        material, found = material_of(name, source, root), DOMAINS / FOUND / f"{name}.yaml"
        return ({"material": material} if material else {}) | ({"found": found} if (root / found).exists() else {})

    def uses(self, source: Source) -> list[Use]:
        """The models that it names: those that measure replies, that write questions, and that find words."""
        found = [Use(self.embedder, "embed", "embedder")] if self.embedder else []
        for name, feature in self.features.items():
            if feature.model is not None:
                found.append(Use(feature.model, OPERATION_OF[feature.kind], f"features.{name}.model"))
        writers = {"assemble.model": source.assemble.model}
        if source.find is not None:
            writers["find.model"] = source.find.model
            writers["find.replacements.model"] = source.find.replacements.model if source.find.replacements else None
        return found + [Use(model, "generate", key, tool=False) for key, model in writers.items() if model is not None]


def _at_scale(entries: Any, info: ValidationInfo) -> Any:
    return entries if info.context is None else at_scale(entries, info.context["scale"])
