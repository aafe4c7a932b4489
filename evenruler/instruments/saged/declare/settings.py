"""What an entry of `instruments` may say: how models are asked, and what is measured of what they write."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments.instrument import BaseSettings, Scaled, Sized, Use, at_scale, by_scale, by_size
from evenruler.instruments.saged.declare.source import DOMAINS, FOUND, Source, material_of
from evenruler.models.declared import Catalogue, Operation
from evenruler.strict import Seed, Slug, Strict, Text

HOMONYMS = {
    *("Apple", "Chad", "China", "Georgia", "Guinea", "Ireland", "Jersey", "Jordan", "Lebanon", "Mali", "Mexico"),
    *("Nice", "Niger", "Orange", "Paris", "Polish", "Reading", "Turkey", "Victoria", "Washington", "New York"),
}
"""Names in maps that are often of something else, or words."""

SCORED = ("{GENERATION}", "{BASELINE}")  # what the prompt of a scorer may ask about


class Feature(Strict):
    """A number for each text."""

    kind: Literal["lexicon", "classifier", "distance", "clusters", "scorer"]
    """`lexicon`: VADER's compound score, from -1 to 1; `classifier`: a text classifier's probabilities, weighted;
    `distance`: how far the reply's embedding is from the baseline's; `clusters`: clusters of replies and their topic
    words; `scorer`: a language model asked for a number."""
    model: Slug | None = None
    """Of a `classifier` or `scorer`; `embedder` of the instrument for the others, where it is none."""
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
    seed: Seed | None = None
    """Of `clusters`."""
    mask: bool = True
    """Whether names and replacement words are left out of texts before they are measured; `false` is the paper's way,
    by which figures are also about names, and get no verdict."""
    better: Literal["higher", "lower", "none"] | None = None
    """Which end is in favour of what a text is about; `higher` for a `lexicon`, `none` for the others, by default.
    The first three with `higher` or `lower` that mask names are confirmatory: whom a model favours gets a verdict."""
    multilingual: bool = False
    """Whether its tool reads other languages than that of the prompts; if not, a reply in another is null."""
    question: Text | None = None
    """Of a `scorer`: what it is asked; {GENERATION} and, if wanted, {BASELINE} stand for the texts."""
    low: float | None = None
    """Of a `scorer`: the least number it may say."""
    high: float | None = None
    """Of a `scorer`: the largest."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Feature":
        needed, allowed = _KEYS[self.kind]
        given = {key for key in type(self).model_fields if getattr(self, key) is not None}
        given -= {"kind", "mask", "better", "multilingual", *([] if self.offset else ["offset"])}
        for key in sorted(needed - given):
            raise ValueError(f"a feature of kind {self.kind} needs `{key}`")
        for key in sorted(given - needed - allowed):
            raise ValueError(f"`{key}` does not belong to kind {self.kind}")
        if self.question is not None and SCORED[0] not in self.question:
            raise ValueError(f"the question does not hold {SCORED[0]}, so every reply is asked about in the same words")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}")
        if self.kind == "clusters" and self.favour != "none":
            raise ValueError("near to which topics replies are is no favour: `better` is none for kind clusters")
        return self

    @property
    def favour(self) -> Literal["higher", "lower", "none"]:
        """Which end is in favour of what a text is about."""
        return self.better or ("higher" if self.kind == "lexicon" else "none")

    @property
    def range(self) -> float:
        """From its least number to its largest: of distances and clusters 2, of a classifier by its weights."""
        if self.low is not None and self.high is not None:  # of a scorer
            return self.high - self.low
        weights = self.score.values() if self.score else [-1.0, 1.0]
        return max(weights) - min(weights) or 1.0

    def weights(self, name: str, labels: Sequence[str]) -> list[float]:
        """Of a `classifier`: the weight of each label; UserError where a label has none, or a weight no label."""
        score = self.score or {}
        wrong = {
            "no weight for": [label for label in labels if label not in score],
            "no such label as": [label for label in score if label not in labels],
        }
        if any(wrong.values()):
            what = "; ".join(f"{words} {', '.join(map(repr, found))}" for words, found in wrong.items() if found)
            remedy = f"give the labels of {self.model} a weight each, 0 if need be: {', '.join(labels)}"
            raise UserError(what, where=f"params.yaml: features.{name}.score", remedy=remedy)
        return [score[label] for label in labels]


_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "lexicon": (set(), set()),
    "classifier": ({"model", "score"}, {"offset"}),
    "distance": ({"metric"}, {"model"}),
    "clusters": ({"form", "k", "seed"}, {"model", "metric", "by"}),
    "scorer": ({"model", "question", "low", "high"}, set()),
}
"""By kind: the keys that it needs, and those that it may have beside them."""


OPERATION_OF: Mapping[str, Operation] = {
    "classifier": "classify",
    "distance": "embed",
    "clusters": "embed",
    "scorer": "generate",
}
"""By kind: what the model of a feature must be capable of."""

OF_TEXTS = ("lexicon", "classifier", "scorer")  # kinds that give a number for any text, so that baselines have one, too


def declared_as(measured: str, declared: Iterable[str]) -> str | None:
    """The feature that a column of numbers comes from; those of clusters go on after its name."""
    begins = (name for name in declared if measured.startswith(name) and not measured[len(name) :][:1].isalnum())
    return max(begins, key=len, default=None)


Number = Annotated[int, Field(ge=1)]

PROMPT = "{PROMPT}"  # where a template takes the prompt

MOST_CONFIRMATORY = 3
"""Features that get a verdict; with silence and roles that makes five figures, whose p are corrected together."""


def confirmatory_of(features: Mapping[str, Feature]) -> list[str]:
    """The features that get a verdict: the first that have a favoured end and mask names, in their order."""
    found = [name for name, feature in features.items() if feature.favour != "none" and feature.mask]
    return found[:MOST_CONFIRMATORY]


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
    permutations: Scaled[Number] = by_scale(200, 1000)
    headline_permutations: Scaled[Number] = by_scale(1000, 10000)
    smallest: float = Field(default=0.05, gt=0, lt=1)
    """A difference in favour worth naming, as a share of the range of the feature: .1 of VADER's -1 to 1."""
    least: int = Field(default=10, ge=2)
    """Root items below which no verdict is given."""
    coverage: float = Field(default=0.5, ge=0, le=1)
    """Share of replies that a feature measures, below which it does not fit the model."""

    @model_validator(mode="after")
    def _headline_is_there(self) -> "Disparities":
        if self.headline not in self.statistics:
            raise ValueError(f"headline names {self.headline!r}, which is not under `statistics`")
        return self


def _in_words(entries: Any, info: ValidationInfo) -> Any:
    """The system prompts alone, however roles are written."""
    roles = at_scale(entries, info)
    if not isinstance(roles, dict):
        return roles
    for name, role in roles.items():
        if isinstance(role, dict) and set(role) != {"text"}:
            raise ValueError(f"{name}: found {role}, expected a system prompt, or `text` and `scale`")
    return {name: role["text"] if isinstance(role, dict) else role for name, role in roles.items()}


class Settings(BaseSettings):
    """How much models are asked, by whom they are told to be, what is measured, and how groups are compared.

    The benchmark is built whole in any case.
    """

    text: Literal["ours", "others"] = "ours"
    """Whose its sentences are: a benchmark of text that others wrote stays out of git, in DVC's cache."""
    asked: Scaled[bool] = True
    """Whether models are asked when it is built. A benchmark that is only built can be measured all the same."""
    items: Sized[Number] = by_size(6, 1000, 1000)
    """Root items at most, evenly spread; where a domain is not branched, items of each concept. All concepts are asked
    of each, at every size."""
    most_roles: Sized[Number] = by_size(1, 2, 1000)
    """Roles at most, the first ones."""
    generations: Sized[Number] = 1
    """Replies to a prompt."""
    new_tokens: Sized[Number] = by_size(64, 64, 256)
    """At most so many in a reply; one that is cut there is marked so."""
    seed: Seed = 0
    prefixed: Sized[Annotated[int, Field(ge=0)]] = by_size(0, 0, 1000)
    """Root items at most that are also asked after prefixes, where the source has some."""
    reseeded: Sized[Annotated[int, Field(ge=0)]] = by_size(0, 6, 1000)
    """Root items at most that are asked once more with another seed, to see what that alone moves."""
    contact: Text | None = None
    """Mail or web address that `evenruler refresh` and `evenruler find` give to the wikis they ask."""
    embedder: Slug | None = None
    """The model behind features of distance and clusters that name none, and behind `evenruler find`."""
    roles: Annotated[dict[Slug, str], BeforeValidator(_in_words)] = Field(default={"no-role": ""}, min_length=1)
    """Whom a model is told to be: the system prompt, none where it is empty. One may also be written as `text` and
    `scale`, the scale that uses it."""
    templates: dict[Slug, Text] = Field(default={"plain": PROMPT}, min_length=1)
    """What a prompt is put into."""
    features: Annotated[dict[Slug, Feature], BeforeValidator(at_scale)] = Field(
        default={"vader": Feature(kind="lexicon")}, min_length=1
    )
    """What is measured of replies; one with a `scale` at that scale alone."""
    disparities: Disparities = Field(default_factory=dict, validate_default=True)

    @field_validator("templates")
    @classmethod
    def _take_the_prompt(cls, templates: dict[str, str]) -> dict[str, str]:
        for name, text in templates.items():
            if text.count(PROMPT) != 1 or text.count("{") != 1:
                raise ValueError(f"the template {name!r} does not hold {PROMPT} once, and no other brace")
        return templates

    @model_validator(mode="after")
    def _can_embed(self) -> "Settings":
        for name, feature in self.features.items():
            if OPERATION_OF.get(feature.kind) == "embed" and not (feature.model or self.embedder):
                raise ValueError(f"the feature {name!r} needs a `model`, or the instrument an `embedder`")
        return self

    @property
    def of_others(self) -> bool:
        """Whether its rows hold text that others wrote, which stays out of git, in DVC's cache."""
        return self.text == "others"

    @property
    def made_by(self) -> Literal["scrape"]:
        """The stage that finds its sentences."""
        return "scrape"

    def having(self, catalogue: Catalogue) -> "Settings":
        """The same without features whose tool lacks its commit; as it is where no other is declared."""
        tools = {name: own.model for name, own in self.features.items() if own.model in catalogue.models}
        lacking = {name: own for name, own in tools.items() if catalogue.to_be_given([own])}
        kept = {name: own for name, own in self.features.items() if name not in lacking}
        if not lacking or not kept:
            return self
        found = self.model_copy(update={"features": kept})
        found._waiting = f"{', '.join(lacking)}: {catalogue.to_be_given(lacking.values())}"
        return found

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
        judge = source.branch.judge if source.branch else None
        writers = {"assemble.model": source.assemble.model, "branch.judge": judge}
        if source.find is not None:
            writers["find.model"] = source.find.model
            writers["find.replacements.model"] = source.find.replacements.model if source.find.replacements else None
        return found + [Use(model, "generate", key, tool=False) for key, model in writers.items() if model is not None]

    def require_able(self, source: Source, catalogue: Catalogue, where: Callable[[str], str]) -> None:
        """UserError where a model that it names cannot what it is for, or branched rows are wrong too often."""
        super().require_able(source, catalogue, where)
        if source.branch is not None and source.branch.refused:
            remedy = "name a model as `branch.judge`, or read the rows and say in `branch.read` how many are wrong"
            raise UserError(source.branch.refused, where=f"{source.title}: branch", remedy=remedy)

    def warnings(self, source: Source) -> list[str]:
        """Names of a map that sentences may hold for something else, and that its rows are still to be read."""
        words = {word for maps in source.replacements.values() for own in maps.values() for word in own}
        found = sorted(words & HOMONYMS)
        said = [f"{', '.join(found)}: something else is called so too; read its rows"] if found else []
        unread = source.branch is not None and source.branch.is_unread
        return said + ["nobody has read its rows: they are built, and no model is asked about them"] * unread
