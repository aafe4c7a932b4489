"""How sets of templates evolve: `evolve` of an instrument in params.yaml (PMPO, section 3.2, table 5)."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from evenruler.instruments.scaled import Scaled
from evenruler.strict import Seed, Slug, Strict

_FromOne = Annotated[int, Field(ge=1)]


class FitnessWeights(Strict):
    """What each part of the fitness of a template counts (equation 2)."""

    alpha: float = Field(default=0.2, ge=0)
    gradient_focus: float = Field(default=0.1, ge=0)
    semantic_diversity: float = Field(default=0.4, ge=0)
    lexical_diversity: float = Field(default=0.3, ge=0)

    @model_validator(mode="after")
    def _some(self) -> "FitnessWeights":
        if not any(dict(self).values()):
            raise ValueError("all weights are 0")
        return self


class Evolve(Strict):
    """How a set of templates evolves. Numbers are those of the scale in use."""

    of: Slug
    """The file under `data/sources/probes` that it evolves of, without ending."""
    model: Scaled[Slug]
    """The causal model whose answers decide which templates are good."""
    operator: Scaled[Slug]
    """The model that rewords templates: a causal one that chats, or one of kind `chat`."""
    start: Slug = "seed"
    """The template set where evolution starts; its length is that of every population."""
    generations: Scaled[_FromOne] = Field(default={"quick": 3, "paper": 10}, validate_default=True)
    elites: int = Field(default=4, ge=1)
    """Best templates that are kept as they are."""
    tournament: int = Field(default=3, ge=1)
    """Templates of which the best becomes a parent."""
    weights: FitnessWeights = Field(default_factory=FitnessWeights)
    guided: tuple[float, float] = Field(default=(0.5, 0.9), strict=False)  # YAML has lists
    """How probable it is that a word is replaced, rather than the whole reworded: in the first generation and in the
    last, linearly between."""
    alpha_clip: float = Field(default=1.0, gt=0)
    """Alpha without a template is clipped to -this and this, since one broken set would flatten the rest."""
    gradient_attributes: Scaled[_FromOne] = Field(default={"quick": 2, "paper": 1000}, validate_default=True)
    """At most so many attributes, evenly spread, for which words are taken out of templates."""
    samples: Scaled[_FromOne] = Field(default={"quick": 8, "paper": 3}, validate_default=True)
    """Rewordings that are asked for at once for each place in the population that is open."""
    shots: Scaled[bool] = Field(default={"quick": True, "paper": False}, validate_default=True)
    """Whether the operator is shown examples, which small models need, rather than told."""
    tries: int = Field(default=3, ge=1)
    """How often it is asked anew for a place where no rewording was acceptable."""
    new_tokens: int = Field(default=48, ge=1)
    """At most so many in a rewording."""
    max_words: Scaled[Annotated[int, Field(ge=3)]] = Field(default={"quick": 16, "paper": 30}, validate_default=True)
    """Longest template; the slots count as words. Every word is one more to take out."""
    acceptability: float = Field(default=0.75, ge=0)
    """How much less likely a rewording may be than its parent, in nats a token."""
    closeness: float = Field(default=0.5, ge=-1, le=1)
    """The least cosine of a template that is chosen with the mean embedding of those that evolution starts with. Of
    our own sets no template has less than .54; "Alabama I met a ..." has .45."""
    bar: float = Field(default=0.5, ge=0, le=1)
    """The least share of an operator's replies that keep every rule; sets of one below it are called a
    demonstration."""
    ablation: Scaled[bool] = Field(default={"quick": False, "paper": True}, validate_default=True)
    """Whether a second run, which replaces random words instead of hotspots, shows what guidance brings."""
    seed: Seed = 7

    @field_validator("guided")
    @classmethod
    def _probabilities(cls, guided: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= share <= 1 for share in guided):
            raise ValueError(f"found {list(guided)}, expected two probabilities")
        return guided


def halves(attributes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Two halves of attributes, by turns in the order of their slugs: one chooses a set, the other judges it."""
    ordered = sorted(attributes)
    return ordered[::2], ordered[1::2]
