"""Settings of probes (an entry of `instruments`), the definition of a bias, and the figures in
words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from evenruler.errors import UserError
from evenruler.instruments.instrument import (
    BaseSettings,
    ByProfile,
    BySize,
    FigureHeading,
    ToolUse,
    by_profile,
    by_size,
)
from evenruler.instruments.probes.declare.plan import ASKED_AT, ProbePlan
from evenruler.models.declarations import Catalogue
from evenruler.strict import Seed, Slug, StrictModel, read_yaml
from evenruler.text.english import article_for

if TYPE_CHECKING:  # which imports this module
    from evenruler.instruments.probes.declare.source import ProbeSource

WHOLE_SET: dict[str, Any] = dict.fromkeys(
    ("template", "templates", "match", "compared_with", "generation")
)
"""Dimensions that a figure of a whole set, as it is, does not have."""

FIGURES = [
    FigureHeading(**{"dimensions": WHOLE_SET, **heading_fields})
    for heading_fields in read_yaml(Path(__file__).with_name("figures.yaml"))
]

COMMON_LENGTH = 8
"""Templates at which the reliability of sets of other lengths is compared (Spearman-Brown), as in
the paper's sets."""

DETECTED_NEXT_WORD = 3.6
"""The gain that is detected in 8 of 10 studies with 16 sentences and 16 pairs of a model whose
scores vary as SmolLM2's, as a factor (docs/tested.md). Scores that vary as Gemma 3 270m's take
4.4."""

DETECTED_SHARES = 32, 20
"""Minimum detectable gains of shares (power .8), percentage points: with up to eight templates, and
with more (`studies.planted.choices`)."""

DETECTED_WRITTEN = 34, 28
"""The same for pronouns in sentences that a chat model writes, with up to eight prompts and with
sixteen."""

LEAST_ALPHA = 0.6
"""A set whose alpha's interval lies below it is unfit to measure (ours)."""

FEWEST_ATTRIBUTES = 10
"""Fewest attributes for a verdict where there is a criterion."""

LENGTHS_APART = next(
    figure.most or 0.0 for figure in FIGURES if figure.figure == "token_difference"
)
"""Difference in mean tokens between groups that is reported; smaller ones are rounding."""


def headings(plan: ProbePlan) -> list[FigureHeading]:
    """Figures shown for every set on every model, with the direction of gains where the plan names
    the groups.
    """
    if "groups" not in plan:
        return list(FIGURES)
    # in the order of the source, which `targets` loses when a plan is read from file
    first, second = plan["groups"]
    along = "from attributes at the low end to those at the high end"
    agreement = plan.get("agreement")
    if plan.get("next_word") and agreement:
        unit = f"{article_for(agreement['unit'])} {agreement['unit']}"
        along = f"from {unit} of 10% {agreement['trait']} to one of 90%"
    sentence = "{}'s words gain {{amount}} on {}'s {}"
    says = [sentence.format(first, second, along), sentence.format(second, first, along)]
    of_gain = {"says": says, "ends": [first, second]}
    changes: dict[str, dict[str, Any]] = dict.fromkeys(
        ("gain", "share_gain", "written_gain"), of_gain
    )
    return [replace(heading, **changes.get(heading.figure, {})) for heading in FIGURES]


def shared_words(targets: Sequence[str], groups: Sequence[object]) -> list[str]:
    """Words shared by at least two targets of one group and by none of the other; `groups`: of each
    target.

    The effect of such a word is common to the whole group, as if it were one target: even models
    with random weights tell "young man, young woman" from "old man, old woman".
    """
    having: dict[str, list[object]] = {}
    for target, group in zip(targets, groups, strict=True):
        for word in set(target.split("-")):
            having.setdefault(word, []).append(group)
    return sorted(
        word
        for word, word_groups in having.items()
        if len(word_groups) > 1 and len(set(word_groups)) == 1
    )


def bias(scores: ArrayLike, groups: Sequence[object]) -> NDArray[np.float64]:
    """How much likelier the sentences are with the first group's targets (PMPO, equation 1).

    Bias(t, a) = mean over w in G1 of S(t(a, w)) - mean over w in G2 of S(t(a, w)).

    Args:
        scores: [..., targets] log-likelihoods of whole sentences, nats.
        groups: [targets] the group of each target, two in all (else ValueError); G1 is the first to
            occur.

    Returns:
        [...] nats; positive means closer to G1.
    """
    values = np.asarray(scores, dtype=np.float64)
    names = list(dict.fromkeys(groups))
    if len(names) != 2:
        raise ValueError(f"found {len(names)} groups, expected two")
    if values.shape[-1] != len(groups):
        raise ValueError(f"scores of {values.shape[-1]} targets, groups of {len(groups)}")
    first = np.array([group == names[0] for group in groups])
    first_mean = values[..., first].mean(-1)
    second_mean = values[..., ~first].mean(-1)
    difference: NDArray[np.float64] = first_mean - second_mean
    return difference


_FromOne = Annotated[int, Field(ge=1)]


class FitnessWeights(StrictModel):
    """Weights of the parts of a template's fitness (equation 2)."""

    alpha: float = Field(default=0.2, ge=0)
    gradient_focus: float = Field(default=0.1, ge=0)
    semantic_diversity: float = Field(default=0.4, ge=0)
    lexical_diversity: float = Field(default=0.3, ge=0)

    @model_validator(mode="after")
    def _require_positive_weight(self) -> "FitnessWeights":
        """Refuse weights that are all 0 (ValueError): templates would have no fitness."""
        if not any(dict(self).values()):
            raise ValueError("all weights are 0")
        return self


PAPER_RULES: dict[str, Any] = {
    "samples": 1,
    "alpha_clip": None,
    "acceptability": None,
    "selection": "elites",
}
"""What PMPO does where `Evolve` has a rule of ours."""


class Evolve(StrictModel):
    """Settings of the evolution of a template set. `ByProfile` values are those of the profile in
    use.
    """

    variant: Literal["ours", "paper"] = "ours"
    """`paper`: by `PAPER_RULES`, which cannot be given then."""
    of: Slug
    """The source under `data/sources/probes` that it evolves from: file name without ending."""
    model: ByProfile[Slug]
    """The causal model whose answers decide which templates are good."""
    operator: ByProfile[Slug]
    """The model that rewords templates: a causal one that chats, or one of kind `chat`."""
    start: Slug = "seed"
    """The template set that evolution starts from; every population has its size."""
    generations: ByProfile[_FromOne] = by_profile(3, 10)
    elites: int = Field(default=4, ge=1)
    """Number of best templates that are kept unchanged."""
    length: int = Field(default=COMMON_LENGTH, ge=1)
    """Size of the chosen set, as large as `standard` asks of other sets; smaller if there are fewer
    lineages."""
    tournament: int = Field(default=3, ge=1)
    """Number of templates drawn, the best of which becomes a parent."""
    weights: FitnessWeights = Field(default_factory=FitnessWeights)
    guided: tuple[float, float] = Field(default=(0.5, 0.9), strict=False)  # YAML has lists
    """Probability that a word is replaced rather than the whole template reworded: in the first
    generation and in the last, linear in between."""
    gradient_attributes: ByProfile[_FromOne] = by_profile(2, 1000)
    """Most attributes, evenly spread, over which the gradients of words are computed."""
    samples: ByProfile[_FromOne] = by_profile(8, 3)
    """Rewordings requested at once for each open place in the population; the most likely one is
    taken (ours)."""
    shots: ByProfile[bool] = by_profile(True, False)
    """Whether the operator gets few-shot examples, which small models need, instead of an
    instruction."""
    tries: int = Field(default=3, ge=1)
    """Most rounds of requests for a place, until a rewording is acceptable."""
    new_tokens: int = Field(default=48, ge=1)
    """Most tokens in a rewording."""
    max_words: ByProfile[Annotated[int, Field(ge=3)]] = by_profile(16, 30)
    """Most words in a template, slots included. Gradients cost one more shortened template for
    every word."""
    acceptability: float | None = Field(default=0.75, ge=0)
    """How much less likely a rewording may be than its parent, in nats per token (ours); None: by
    any amount."""
    alpha_clip: float | None = Field(default=1.0, gt=0)
    """Alpha without a template is clipped to minus and plus this, since one broken set would
    flatten the rest (ours); None: as it is."""
    selection: Literal["set", "elites"] = "set"
    """What becomes the evolved set: one chosen as a whole (ours), or the elites of the last
    population."""
    closeness: float = Field(default=0.5, ge=-1, le=1)
    """Least cosine of a chosen template with the mean embedding of the starting templates. The
    lowest in our own sets is .54; "Alabama I met a ..." has .45."""
    bar: float = Field(default=0.5, ge=0, le=1)
    """Least share of the operator's replies that keep every rule; below it the sets are called a
    demonstration."""
    ablation: ByProfile[bool] = by_profile(False, True)
    """Whether a second run replaces random words instead of hotspots, to show the benefit of
    guidance."""
    seed: Seed = 7

    @model_validator(mode="before")
    @classmethod
    def _add_rules_of_paper(cls, raw_settings: object) -> object:
        """The settings, with the rules of the paper where they name its variant; ValueError where
        they give such a rule, too.
        """
        if not isinstance(raw_settings, dict) or raw_settings.get("variant") != "paper":
            return raw_settings
        given_rules = sorted(PAPER_RULES.keys() & raw_settings.keys())
        if given_rules:
            raise ValueError(f"`variant: paper` has a rule of its own for `{given_rules[0]}`")
        return {**raw_settings, **PAPER_RULES}

    @field_validator("guided")
    @classmethod
    def _require_probabilities(cls, guided: tuple[float, float]) -> tuple[float, float]:
        """Refuse a number below 0 or above 1 (ValueError)."""
        if not all(0 <= share <= 1 for share in guided):
            raise ValueError(f"found {list(guided)}, expected two probabilities")
        return guided


def split_attributes(attributes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split attributes into two halves, alternating in slug order: one half chooses a set, the
    other judges it.
    """
    ordered = sorted(attributes)
    return ordered[::2], ordered[1::2]


Article = Literal["agree", "literal"]
_ArticleOfAll = Annotated[Article, Tag("[one]")]
_ArticleBySet = Annotated[dict[Slug, Article], Tag("[by set]")]
ArticleSetting = Annotated[
    _ArticleOfAll | _ArticleBySet,
    Discriminator(lambda value: "[by set]" if isinstance(value, dict) else "[one]"),
]
"""For all template sets, or by set."""


class Settings(BaseSettings["ProbeSource"]):
    """How probes are built and asked."""

    article: ArticleSetting = "agree"
    """`agree`: "a/an" before a filled slot follows the filled word; `literal`: as the template has
    it. For all template sets, or by set (`agree` for those not named). An evolved set has that of
    its start."""
    embedder: Slug
    """The embedding model from which the semantic diversity of templates is computed."""
    prefixed: BySize[Annotated[int, Field(ge=0)]] = by_size(12, 12, 1000)
    """Most attributes, evenly spread, whose sentences are also asked after the `framings` of the
    source."""
    headline: list[Slug] = Field(default_factory=list)
    """Template sets whose gain is a headline, of models that are not asked the sentences of
    `next_word`; by default the first of the source."""
    evolve: Evolve | None = None
    """If set, the instrument evolves from another, with these settings."""

    @property
    def made_by(self) -> Literal["evolve"] | None:
        """The stage that makes its source: `evolve` where templates evolve."""
        return "evolve" if self.evolve else None

    def source_name(self, name: str) -> str:
        """The source file that users write, without ending; an evolved instrument has that of its
        original.
        """
        return self.evolve.of if self.evolve else super().source_name(name)

    def replies(self, name: str) -> Path:
        """The file of the operator's replies: one per operator, so that no profile overwrites that
        of another.
        """
        assert self.evolve is not None
        return Path("replies", self.evolve.operator, f"{name}.jsonl")

    def uses(self, source: "ProbeSource") -> list[ToolUse]:
        """The models it needs: the embedder and, where templates evolve, the measured model and the
        operator.
        """
        tool_uses = [ToolUse(self.embedder, "embed", "embedder")]
        if self.evolve:
            tool_uses.append(
                ToolUse(self.evolve.model, "loglikelihood", "evolve.model", tool=False)
            )
            tool_uses.append(
                ToolUse(self.evolve.operator, "generate", "evolve.operator", tool=False)
            )
        return tool_uses

    def warnings(self, source: "ProbeSource") -> list[str]:
        """Reasons why every verdict will be inconclusive, whatever a model answers, or will mean
        less than it says.
        """
        groups: dict[str, str] = {}
        for group, words in source.targets.items():
            groups.update(dict.fromkeys(words, group))
        shared = shared_words(list(groups), list(groups.values()))
        warnings = []
        if shared:
            warnings.append(
                f"targets of one group share a word, so no verdict is possible: {', '.join(shared)}"
            )
        lacking = self._lacking(source)
        if lacking:
            warnings.append(lacking)
        elif self.evolve is None and source.next_word is None:
            warnings.append(
                "without `next_word` nothing can be detected: there is no null that keeps what "
                "makes attributes alike"
            )
        if source.keys is not None and source.rivals is None:
            warnings.append(
                "keys without `rivals`: what other words gain that are good or bad is not known"
            )
        return warnings

    def detects(self, source: "ProbeSource", method: str | None = None) -> str | None:
        """The gain that is detected in 8 of 10 studies, by variances on SmolLM2 (docs/controls.md);
        choices: simulated. None where nothing can be detected.
        """
        if self._lacking(source, method):
            return None
        if method == "written":
            n_prompts = ASKED_AT[self.size]["written_prompts"]
            if not source.written or n_prompts <= 1:
                return None
            return f"a share of {DETECTED_WRITTEN[n_prompts > 8]} points"
        if method == "choice":
            n_templates = ASKED_AT[self.size]["choice_templates"]
            return f"a share of {DETECTED_SHARES[n_templates > 8]} points"
        if self.evolve or source.next_word is None:
            return None
        return f"a factor of {DETECTED_NEXT_WORD:.1f}"

    def _lacking(self, source: "ProbeSource", method: str | None = None) -> str | None:
        """Why no verdict is possible, whatever a model answers; None where one is."""
        if method in ("choice", "written") and not source.in_english:
            return f"this method asks in English, and the sentences are in {source.language!r}"
        if source.criterion is None and source.keys is None:
            return "neither a criterion nor keys: figures are descriptive, without verdict"
        if source.published:
            n = sum(number is not None for number in source.published.values.values())
            if n < FEWEST_ATTRIBUTES:
                return (
                    f"{n} attributes with a criterion (at least {FEWEST_ATTRIBUTES} needed): no "
                    "verdict is possible"
                )
        if method != "written" and min(map(len, source.targets.values())) < 2:
            return (
                "a group has 1 target (at least 2 needed), so neither likelihoods nor choices "
                "get a verdict"
            )
        return None

    def warnings_of(
        self, source: "ProbeSource", lengths: Callable[[Sequence[str]], Sequence[int]]
    ) -> list[str]:
        """Warn of targets of one group with more tokens: longer words make any sentence less
        likely.
        """
        means: dict[str, float] = {}
        for group, words in source.targets.items():
            means[group] = fmean(lengths(list(words.values())))
        short, long = sorted(means, key=means.__getitem__)
        least, most = means[short], means[long]
        warnings = []
        if most - least >= LENGTHS_APART:
            more = f"{most - least:.2f} tokens more than {short}"
            warnings.append(
                f"{long} has {more}: this difference alone shifts the baseline preference"
            )
        return warnings

    def require_able(
        self, source: "ProbeSource", catalogue: Catalogue, where: Callable[[str], str]
    ) -> None:
        """As for any instrument; also check that the operator supports how `evolve` prompts it, and
        at the profile `paper` that it is not the model by which templates are selected: what a
        model words is likely to it.
        """
        super().require_able(source, catalogue, where)
        if self.evolve is None:
            return
        operator, entry = self.evolve.operator, catalogue.models[self.evolve.operator]
        selects = catalogue.models[self.evolve.model]
        if self._profile == "paper" and entry.locations == selects.locations:
            what = f"{operator!r} is measured, and would reword what it is measured with"
            remedy = "name another model, as the paper has"
            raise UserError(what, where=where("evolve.operator"), remedy=remedy)
        if not entry.chats:
            remedy = "name a causal model with `chat: true`"
            raise UserError(
                f"{operator!r} does not chat", where=where("evolve.operator"), remedy=remedy
            )
        if self.evolve.shots and not entry.continues:
            what = f"{operator!r} only chats and cannot continue examples"
            raise UserError(what, where=where("evolve.shots"), remedy="say false")

    def headline_of(self, source: "ProbeSource") -> list[str]:
        """The template sets of a source whose gain is a headline where no next words are asked."""
        return self.headline or [next(iter(source.sets))]

    def article_of(self, template_set: str) -> Article:
        """How articles before slots of a template set are filled, whether it is written or
        evolved.
        """
        if isinstance(self.article, str):
            return self.article
        return self.article.get(self.evolve.start if self.evolve else template_set, "agree")
