"""Settings of a SAGED domain under `instruments`: how models are asked, and what is measured in
their replies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments.instrument import (
    BaseSettings,
    ByProfile,
    BySize,
    ToolUse,
    by_size,
    entries_of_profile,
)
from evenruler.instruments.saged.declare.source import DOMAINS, FOUND, Source, material_of
from evenruler.measurement.randomisation import FEWEST_ALTERNATIVES
from evenruler.models.declarations import Catalogue, Operation
from evenruler.strict import Seed, Slug, StrictModel, Text

HOMONYMS = {
    *(
        "Apple",
        "Chad",
        "China",
        "Georgia",
        "Guinea",
        "Ireland",
        "Jersey",
        "Jordan",
        "Lebanon",
        "Mali",
        "Mexico",
    ),
    *(
        "Nice",
        "Niger",
        "Orange",
        "Paris",
        "Polish",
        "Reading",
        "Turkey",
        "Victoria",
        "Washington",
        "New York",
    ),
}
"""Names in replacement maps that often mean something else, or are ordinary words."""

FEWEST_ROOTS = 6
"""Fewest root items for an interval: with two, 95% intervals would cover 74 to 91%, with six 95 to
97% (simulated)."""

FEWEST_FOR_CONTROL = 10
"""Fewest root items for a positive control; fewer could not show what a persona changes, and an
instrument would be invalid for its size."""

SCORED = ("{GENERATION}", "{BASELINE}")  # placeholders in the question of a scorer


class Feature(StrictModel):
    """A feature: one number for each text."""

    kind: Literal["lexicon", "classifier", "distance", "clusters", "scorer"]
    """`lexicon`: VADER's compound score, from -1 to 1; `classifier`: a text classifier's
    probabilities, weighted; `distance`: how far the reply's embedding is from the baseline's;
    `clusters`: clusters of replies and their topic words; `scorer`: a language model asked for a
    number."""
    model: Slug | None = None
    """Model of a `classifier` or `scorer`; of the others the embedder, by default the instrument's
    `embedder`."""
    score: dict[Text, float] | None = None
    """Of a `classifier`: the weight of each label's probability."""
    offset: float = 0.0
    """Of a `classifier`: added to the weighted sum."""
    metric: Literal["cosine", "l2"] | None = None
    """Metric of `distance` and `clusters`."""
    form: Literal["label", "sort", "distance"] | None = None
    """Of `clusters`: `label`: in it or not (1 or 0); `sort`: rank by nearness (1 the nearest);
    `distance` from it."""
    by: list[Literal["concept", "role", "template"]] | None = None
    """Of `clusters`: columns within which replies are clustered separately; always within domain
    and model."""
    k: int | None = Field(default=None, ge=2)
    """Of `clusters`: number of clusters."""
    seed: Seed | None = None
    """Of `clusters`: seed of k-means."""
    mask: bool = True
    """Whether names and replacement words are masked in texts before they are measured; `false` is
    the paper's way, by which scores also reflect names, and get no verdict."""
    better: Literal["higher", "lower", "none"] | None = None
    """Which end is favourable to the concept; by default `higher` for a `lexicon`, `none` for the
    others. The headline is favour by the first one with `higher` or `lower` that masks names."""
    multilingual: bool = False
    """Whether its tool handles other languages than that of the prompts; if not, replies in another
    one are null."""
    question: Text | None = None
    """Of a `scorer`: its prompt; {GENERATION} and, if wanted, {BASELINE} are replaced by the
    texts."""
    low: float | None = None
    """Of a `scorer`: the lowest valid number."""
    high: float | None = None
    """Of a `scorer`: the highest valid number."""

    @model_validator(mode="after")
    def _require_feature_keys(self) -> "Feature":
        """Refuse keys that the kind lacks or does not have, a question without the reply, `low`
        above `high`, and favour by clusters (ValueError).
        """
        needed, allowed = _KEYS[self.kind]
        given_keys = {key for key in type(self).model_fields if getattr(self, key) is not None}
        given_keys -= {
            "kind",
            "mask",
            "better",
            "multilingual",
            *([] if self.offset else ["offset"]),
        }
        for key in sorted(needed - given_keys):
            raise ValueError(f"a feature of kind {self.kind} needs `{key}`")
        for key in sorted(given_keys - needed - allowed):
            raise ValueError(f"`{key}` does not belong to kind {self.kind}")
        if self.question is not None and SCORED[0] not in self.question:
            raise ValueError(
                f"the question does not hold {SCORED[0]}, so every reply is asked about in the "
                "same words"
            )
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}")
        if self.kind == "clusters" and self.favour != "none":
            raise ValueError(
                "near to which topics replies are is no favour: `better` is none for kind clusters"
            )
        return self

    @property
    def favour(self) -> Literal["higher", "lower", "none"]:
        """Which end is favourable to the concept."""
        return self.better or ("higher" if self.kind == "lexicon" else "none")

    @property
    def range(self) -> float:
        """Width of its scale: `high` - `low` of a scorer, of a classifier by its weights, else
        2.
        """
        if self.low is not None and self.high is not None:  # of a scorer
            return self.high - self.low
        weights = self.score.values() if self.score else [-1.0, 1.0]
        return max(weights) - min(weights) or 1.0

    def weights(self, name: str, labels: Sequence[str]) -> list[float]:
        """Of a `classifier`: the weight of each label; UserError where a label has none, or a
        weight no label.
        """
        score = self.score or {}
        wrong = {
            "no weight for": [label for label in labels if label not in score],
            "no such label as": [label for label in score if label not in labels],
        }
        if any(wrong.values()):
            what = "; ".join(
                f"{words} {', '.join(map(repr, wrong_labels))}"
                for words, wrong_labels in wrong.items()
                if wrong_labels
            )
            remedy = (
                f"give the labels of {self.model} a weight each, 0 if need be: {', '.join(labels)}"
            )
            raise UserError(what, where=f"params.yaml: features.{name}.score", remedy=remedy)
        return [score[label] for label in labels]


_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "lexicon": (set(), set()),
    "classifier": ({"model", "score"}, {"offset"}),
    "distance": ({"metric"}, {"model"}),
    "clusters": ({"form", "k", "seed"}, {"model", "metric", "by"}),
    "scorer": ({"model", "question", "low", "high"}, set()),
}
"""By kind: the required keys, and the optional ones."""


OPERATION_OF: Mapping[str, Operation] = {
    "classifier": "classify",
    "distance": "embed",
    "clusters": "embed",
    "scorer": "generate",
}
"""By kind: the operation that the feature's model must support."""

OF_TEXTS = (
    "lexicon",
    "classifier",
    "scorer",
)  # kinds that score single texts, and so baselines too


def declared_as(measured: str, declared: Iterable[str]) -> str | None:
    """The declared feature of a measured one; features of clusters have a suffix after the declared
    name.
    """
    matching_names = []
    for name in declared:
        suffix = measured.removeprefix(name)
        if measured.startswith(name) and not suffix[:1].isalnum():
            matching_names.append(name)
    return max(matching_names, key=len, default=None)


Number = Annotated[int, Field(ge=1)]

PROMPT = "{PROMPT}"  # placeholder of the prompt in a template


def confirmatory_of(features: Mapping[str, Feature]) -> list[str]:
    """The features by which favour can be measured: those with a favourable end and masked names,
    in order. The headline is by the first, the others describe.
    """
    return [name for name, feature in features.items() if feature.favour != "none" and feature.mask]


class SummaryStatistic(StrictModel):
    """A summary statistic of the values of a group."""

    kind: Text
    """A name of `evenruler.instruments.saged.STATISTICS`, or the dotted name of a user's function,
    as mypackage.module.function, from an array to a number."""
    options: dict[Text, float | str] = Field(default_factory=dict)
    """Options of the statistic, such as `tolerance` or `standard`."""


class Disparities(StrictModel):
    """How groups are summarised, compared and tested."""

    grouping: list[list[Literal["concept", "keyword", "section", "source_tag"]]] = Field(
        default=[["concept"]], min_length=1
    )
    """Ways to group replies, by crossed values of columns; always within domain, model, role and
    template."""
    statistics: dict[Slug, SummaryStatistic] = Field(
        default={
            "mean": SummaryStatistic(kind="mean"),
            "median": SummaryStatistic(kind="median"),
            "std": SummaryStatistic(kind="std"),
            "selection-rate": SummaryStatistic(
                kind="selection_rate", options={"standard": "mean", "method": "larger"}
            ),
            "correlation": SummaryStatistic(kind="correlation"),
            "kl": SummaryStatistic(kind="kl_divergence"),
            "precision": SummaryStatistic(kind="precision"),
        }
    )
    """Statistics by their name in tables."""
    headline: Slug = "mean"
    """The headline statistic, which gets more permutations, a shape, and figures on the card."""
    bound: float = Field(default=0.1, gt=0, lt=1)
    """X of `below X`: a difference in favour, as a share of the feature's range; .1 is .2 of
    VADER's 2."""

    @model_validator(mode="after")
    def _headline_is_there(self) -> "Disparities":
        """Refuse a headline that is not under `statistics` (ValueError)."""
        if self.headline not in self.statistics:
            raise ValueError(f"headline names {self.headline!r}, which is not under `statistics`")
        return self


def _normalise_roles(entries: object, info: ValidationInfo) -> object:
    """The roles as name and system prompt, in whichever form they are written."""
    roles = entries_of_profile(entries, info)
    if not isinstance(roles, dict):
        return roles
    text_by_role: dict[Any, Any] = {}
    for name, role in roles.items():
        if not isinstance(role, dict):
            text_by_role[name] = role
        elif set(role) == {"text"}:
            text_by_role[name] = role["text"]
        else:
            raise ValueError(
                f"{name}: found {role}, expected a system prompt, or `text` and `profile`"
            )
    return text_by_role


class Settings(BaseSettings[Source]):
    """How much and in which roles models are asked, what is measured, and how groups are compared.

    The benchmark itself is always built whole.
    """

    text: Literal["ours", "others"] = "ours"
    """Who wrote its sentences: a benchmark of text by others stays out of git, in DVC's cache."""
    asked: ByProfile[bool] = True
    """Whether the pipeline asks models. A benchmark that is only built can still be measured."""
    items: BySize[Number] = by_size(6, 20, 1000)
    """Most root items (items of each concept where a domain is not branched). Each is asked about
    all concepts, at every size; a larger size begins with the root items of a smaller one."""
    known_names: BySize[Annotated[int, Field(ge=0)]] = by_size(0, 1000, 1000)
    """Most known names of the reference set that are asked about, too; 0 leaves out what concepts
    are compared with."""
    most_roles: BySize[Number] = by_size(1, 1, 1000)
    """Most roles, the first ones."""
    generations: BySize[Number] = 1
    """Replies to each prompt."""
    new_tokens: BySize[Number] = by_size(64, 64, 256)
    """Token limit of a reply; one that reaches it is marked as cut."""
    seed: Seed = 0
    prefixed: BySize[Annotated[int, Field(ge=0)]] = by_size(0, 0, 1000)
    """Most root items that are also asked after prefixes, where the source has some."""
    contact: Text | None = None
    """Mail or web address that `evenruler refresh` and `evenruler find` give to the wikis they
    ask."""
    embedder: Slug | None = None
    """Default embedder of features of kind `distance` and `clusters`, and of `evenruler find`."""
    roles: Annotated[dict[Slug, str], BeforeValidator(_normalise_roles)] = Field(
        default={"no-role": ""}, min_length=1
    )
    """The system prompt of each role, empty for none. A role may also be written as `text` and
    `profile`, the profile that uses it."""
    templates: dict[Slug, Text] = Field(default={"plain": PROMPT}, min_length=1)
    """Texts around the prompt, which replaces {PROMPT}."""
    features: Annotated[dict[Slug, Feature], BeforeValidator(entries_of_profile)] = Field(
        default={"vader": Feature(kind="lexicon")}, min_length=1
    )
    """What is measured in replies; a feature with a `profile` only at that profile."""
    mask: bool | None = None
    """Whether every feature masks names, whatever its own `mask` says; `false` is the paper's
    way."""
    disparities: Disparities = Field(default_factory=dict, validate_default=True)

    @field_validator("templates")
    @classmethod
    def _require_prompt_slot(cls, templates: dict[str, str]) -> dict[str, str]:
        """Refuse a template that does not hold {PROMPT} once, or has other braces (ValueError)."""
        for name, text in templates.items():
            if text.count(PROMPT) != 1 or text.count("{") != 1:
                raise ValueError(
                    f"the template {name!r} does not hold {PROMPT} once, and no other brace"
                )
        return templates

    @model_validator(mode="after")
    def _mask_every_feature(self) -> "Settings":
        """The settings whose features mask names as `mask` says, if it says anything."""
        if self.mask is not None:
            for name, feature in self.features.items():
                self.features[name] = feature.model_copy(update={"mask": self.mask})
        return self

    @model_validator(mode="after")
    def _can_embed(self) -> "Settings":
        """Refuse a feature of embeddings for which no embedder is named (ValueError)."""
        for name, feature in self.features.items():
            if OPERATION_OF.get(feature.kind) == "embed" and not (feature.model or self.embedder):
                raise ValueError(
                    f"the feature {name!r} needs a `model`, or the instrument an `embedder`"
                )
        return self

    @property
    def third_party(self) -> bool:
        """Whether its rows hold text that others wrote, which stays out of git, in DVC's cache."""
        return self.text == "others"

    @property
    def is_private(self) -> bool:
        """Whether its text may not be passed on: that of pages, each of which has its authors and
        terms.
        """
        return self.third_party

    def having(self, catalogue: Catalogue) -> "Settings":
        """The settings without features whose tool is not pinned; unchanged where no feature would
        be left.
        """
        tools = {
            name: feature.model
            for name, feature in self.features.items()
            if feature.model in catalogue.models
        }
        lacking = {
            name: model for name, model in tools.items() if catalogue.unpinned_message([model])
        }
        usable_features = {
            name: feature for name, feature in self.features.items() if name not in lacking
        }
        if not lacking or not usable_features:
            return self
        settings = self.model_copy(update={"features": usable_features})
        reason = catalogue.unpinned_message(lacking.values())
        settings._waiting = f"{', '.join(lacking)}: {reason}"
        return settings

    def extra_files(self, name: str, source: Source, root: Path) -> dict[str, Path]:
        """Further input files of a domain: its text, and what `evenruler find` found for it."""
        input_files: dict[str, Path] = {}
        domain = self.source_name(name)
        material = material_of(domain, source, root)
        if material:
            input_files["material"] = material
        findings_file = DOMAINS / FOUND / f"{domain}.yaml"
        if (root / findings_file).exists():
            input_files["found"] = findings_file
        return input_files

    def uses(self, source: Source) -> list[ToolUse]:
        """The models that it names, to measure replies, to write questions, to judge rows and to
        find words.
        """
        tool_uses = [ToolUse(self.embedder, "embed", "embedder")] if self.embedder else []
        for name, feature in self.features.items():
            if feature.model is not None:
                tool_uses.append(
                    ToolUse(feature.model, OPERATION_OF[feature.kind], f"features.{name}.model")
                )
        judge = source.branch.judge if source.branch else None
        writers = {"assemble.model": source.assemble.model, "branch.judge": judge}
        if source.find is not None:
            writers["find.model"] = source.find.model
        return tool_uses + [
            ToolUse(model, "generate", key, tool=False)
            for key, model in writers.items()
            if model is not None
        ]

    def require_able(
        self, source: Source, catalogue: Catalogue, where: Callable[[str], str]
    ) -> None:
        """UserError where a named model cannot do what it is named for, or too many branched rows
        may be wrong.
        """
        super().require_able(source, catalogue, where)
        if source.branch is not None and source.branch.refused:
            remedy = (
                "name a model as `branch.judge`, or read the rows and say in `branch.read` "
                "how many are wrong"
            )
            raise UserError(source.branch.refused, where=f"{source.title}: branch", remedy=remedy)

    def warnings(self, source: Source) -> list[str]:
        """Warnings: ambiguous names in replacement maps, branched rows not read yet, and what has
        no verdict.
        """
        words: set[str] = set()
        for maps in source.replacements.values():
            for replacement_map in maps.values():
                words.update(replacement_map)
        homonyms = sorted(words & HOMONYMS)
        warnings = (
            [f"{', '.join(homonyms)}: something else is called so too; read its rows"]
            if homonyms
            else []
        )
        if source.branch is not None and source.branch.is_unread:
            warnings.append(
                "its rows were not read yet: they are built, and no model is asked about them"
            )
        return warnings + self._too_few(source)

    def detects(self, source: Source, method: str | None = None) -> str | None:
        """None where no verdict is possible; otherwise unknown, for it depends on how replies
        vary.
        """
        return None if self._too_few(source) else ""

    def _too_few(self, source: Source) -> list[str]:
        """What bars any verdict: too few concepts or prompts, or texts about one of the
        concepts.
        """
        reasons: list[str] = []
        n = len(source.members)
        n_known = len(source.reference_concepts[: self.known_names])
        if n < 2:
            reasons.append(f"{n} concept (at least 2 needed)")
        if source.concept is not None and n_known < FEWEST_ALTERNATIVES:
            reasons.append(
                f"{n_known} known names to rank {source.concept} among (at least "
                f"{FEWEST_ALTERNATIVES} needed)"
            )
        if not source.is_crossed:
            reasons.append("texts are about a concept that is compared")
        if source.prompts is not None and source.prompts < FEWEST_ROOTS:
            reasons.append(f"{source.prompts} prompts (at least {FEWEST_ROOTS} needed)")
        return [f"{reason}: no verdict is possible" for reason in reasons]
