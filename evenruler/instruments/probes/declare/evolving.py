"""How sets of templates evolve: `evolve` in params.yaml (PMPO, section 3.2, table 5)."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from evenruler.errors import UserError, nearest
from evenruler.instruments.instrument import Scale
from evenruler.instruments.probes.source import ProbeSource
from evenruler.models.declared import Catalogue
from evenruler.strict import Slug, Strict

_OF_WHAT_EVOLVES = re.compile(r"g\d+-\d+")


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


def _for_each_scale(value: Any) -> Any:
    return value if isinstance(value, dict) else {"quick": value, "paper": value}


_LEAST = {"generations": 1, "gradient_attributes": 1, "samples": 1, "max_words": 3}
_BY_SCALE = ("model", "operator", "shots", "ablation", *_LEAST)


class EvolveSettings(Strict):
    """How one probe domain evolves; its result is the benchmark `probes-DOMAIN-evolved`."""

    model: dict[Scale, Slug]
    """The causal model whose answers decide which templates are good; one for both scales, or by scale."""
    operator: dict[Scale, Slug]
    """The model that rewords templates: a causal one that chats, or one of kind `chat`."""
    start: Slug = "seed"
    """The template set where evolution starts; its length is that of every population."""
    generations: dict[Scale, int] = Field(default={"quick": 3, "paper": 10})
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
    gradient_attributes: dict[Scale, int] = Field(default={"quick": 2, "paper": 1000})
    """At most so many attributes, evenly spread, for which words are taken out of templates."""
    samples: dict[Scale, int] = Field(default={"quick": 8, "paper": 3})
    """Rewordings that are asked for at once for each place in the population that is open."""
    shots: dict[Scale, bool] = Field(default={"quick": True, "paper": False})
    """Whether the operator is shown examples, which small models need, rather than told."""
    tries: int = Field(default=3, ge=1)
    """How often it is asked anew for a place where no rewording was acceptable."""
    new_tokens: int = Field(default=48, ge=1)
    """At most so many in a rewording."""
    max_words: dict[Scale, int] = Field(default={"quick": 16, "paper": 30})
    """Longest template; the slots count as words. Every word is one more to take out."""
    acceptability: float = Field(default=0.75, ge=0)
    """How much less likely a rewording may be than its parent, in nats a token."""
    ablation: dict[Scale, bool] = Field(default={"quick": False, "paper": True})
    """Whether a second run, which replaces random words instead of hotspots, shows what guidance brings."""
    seed: int = Field(default=7, ge=0)
    scale: Scale | None = None
    """The scale that evolves it; every one by default."""

    @field_validator("model", "operator", mode="before")
    @classmethod
    def _both(cls, value: Any) -> Any:
        return _for_each_scale(value)

    @field_validator(*_BY_SCALE)
    @classmethod
    def _complete(cls, numbers: dict[Scale, Any], info: ValidationInfo) -> dict[Scale, Any]:
        if set(numbers) != {"quick", "paper"}:
            raise ValueError(f"found {numbers}, expected one for quick and one for paper")
        least = _LEAST.get(str(info.field_name))
        if least is not None and min(numbers.values()) < least:
            raise ValueError(f"found {numbers}, expected numbers from {least} on")
        return numbers

    @field_validator("guided")
    @classmethod
    def _probabilities(cls, guided: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= share <= 1 for share in guided):
            raise ValueError(f"found {list(guided)}, expected two probabilities")
        return guided


def evolved(domain: str) -> str:
    """The name of what evolves of a probe domain."""
    return f"{domain}-evolved"


def probe_sets(domains: Iterable[str], evolving: Iterable[str]) -> dict[str, str]:
    """The folders of built probes in use, with the domain of each: every domain, and what evolved of some."""
    return {domain: domain for domain in domains} | {evolved(domain): domain for domain in evolving}


def require_start(domain: str, settings: EvolveSettings, source: ProbeSource, params: Path) -> None:
    """The set that a domain starts with is there, is long enough to select from, and has no names of what evolves.

    Args:
        domain: Which.
        settings: How it evolves.
        source: What the user wrote.
        params: The file of the settings.

    Raises:
        UserError: It is not.
    """
    where = f"{params}: evolve.{domain}"
    if settings.start not in source.sets:
        remedy = f"mend the name ({nearest(settings.start, source.sets)})"
        raise UserError(f"no template set {settings.start!r}", where=f"{where}.start", remedy=remedy)
    templates = source.sets[settings.start].templates
    if len(templates) <= max(settings.elites, 2):
        what = f"{len(templates)} templates to start with, of which {settings.elites} are elites"
        raise UserError(what, where=f"{where}.elites", remedy="write more templates, or keep fewer")
    for slug in templates:
        if _OF_WHAT_EVOLVES.fullmatch(slug):
            what = f"a template of {settings.start} is called {slug!r}, as those that evolve are"
            raise UserError(what, where=f"{where}.start", remedy="rename it")


def require_evolving(
    domain: str, settings: EvolveSettings, domains: Iterable[str], catalogue: Catalogue, path: Path
) -> None:
    """What evolves is declared, and by models that can do it.

    Args:
        domain: Which.
        settings: How it evolves.
        domains: The probe domains that are declared.
        catalogue: The models.
        path: The file of the declaration.

    Raises:
        UserError: There is no such domain, or no such model, or a model cannot do what is asked of it.
    """
    where, domains = f"{path}: evolve.{domain}", list(domains)
    if domain not in domains:
        remedy = f"declare it under `probes`, or mend the name ({nearest(domain, domains)})"
        raise UserError(f"no probe domain {domain!r}", where=where, remedy=remedy)
    if evolved(domain) in domains:
        what = f"the probe domain {evolved(domain)!r} has the name of what evolves"
        raise UserError(what, where=where, remedy="rename it")
    for key, by_scale in (("model", settings.model), ("operator", settings.operator)):
        for model in dict.fromkeys(by_scale.values()):
            _require_able(model, key, f"{where}.{key}", catalogue)
    for scale, model in settings.operator.items():
        if settings.shots[scale] and not catalogue.models[model].continues:
            what = f"{model!r} only chats, and goes on with no examples"
            raise UserError(what, where=f"{where}.shots.{scale}", remedy="say false")


def _require_able(name: str, key: str, where: str, catalogue: Catalogue) -> None:
    entry = catalogue.models.get(name)
    if entry is None:
        remedy = f"mend the name ({nearest(name, catalogue.models)})"
        raise UserError(f"no model {name!r}", where=where, remedy=remedy)
    if key == "operator" and not (entry.chats and catalogue.can(name, "generate")):
        raise UserError(f"{name!r} does not chat", where=where, remedy="name a causal model with `chat: true`")
    if key == "model" and not catalogue.can(name, "loglikelihood"):
        what = f"{name!r} (kind {catalogue.kind(name)}) cannot loglikelihood"
        raise UserError(what, where=where, remedy="name a model that can, as one of kind causal")
