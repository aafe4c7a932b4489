"""`params.yaml`: the catalogue of models, what is built, and what is in use."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from evenruler.declared import FIRST_VERSION, Active, BrittlenessSettings, DiagnosisSettings
from evenruler.errors import UserError, nearest
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.instrument import Scale
from evenruler.instruments.probes.evolve.settings import EvolveSettings, evolved, require_evolving
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.questionnaires.settings import InterventionSettings, QuestionnaireSettings, corpora_at
from evenruler.instruments.saged.settings import DomainSettings, SagedSettings, require_measuring
from evenruler.models.declared import Catalogue
from evenruler.models.untrained import made_of
from evenruler.publish.versions import Version
from evenruler.strict import Slug, read_yaml, refuse_hidden_keys, validate


@dataclass(frozen=True)
class Place:
    """Where params.yaml declares a benchmark."""

    section: str
    key: str
    version: str


class Params(Catalogue):
    """The whole of `params.yaml`."""

    active: Active
    probes: dict[Slug, ProbeSettings]
    evolve: dict[Slug, EvolveSettings] = Field(default_factory=dict)
    """By probe domain."""
    questionnaires: dict[Slug, QuestionnaireSettings] = Field(default_factory=dict)
    interventions: dict[Slug, InterventionSettings] = Field(default_factory=dict)
    """By corpus."""
    contrasts: dict[Slug, ContrastSettings] = Field(default_factory=dict)
    domains: dict[Slug, DomainSettings] = Field(default_factory=dict)
    saged: SagedSettings = Field(default_factory=SagedSettings)
    brittleness: BrittlenessSettings = Field(default_factory=BrittlenessSettings)
    diagnosis: DiagnosisSettings
    versions: dict[Slug, Version] = Field(default_factory=dict)
    """By benchmark; written by `evenruler release`. One that is not there is at `FIRST_VERSION`."""

    @property
    def benchmarks(self) -> dict[str, Place]:
        """Everything that gets a folder under `benchmarks/`, by its name."""
        names = {f"probes-{domain}": ("probes", domain) for domain in self.probes}
        names |= {f"probes-{evolved(domain)}": ("evolve", domain) for domain in self.evolve}
        names |= {f"nli-{name}": ("questionnaires", name) for name in self.questionnaires}
        names |= {f"framing-{name}": ("contrasts", name) for name in self.contrasts}
        names |= {f"saged-{name}": ("domains", name) for name in self.domains}
        return {
            name: Place(section, key, self.versions.get(name, FIRST_VERSION)) for name, (section, key) in names.items()
        }

    def in_use(self, scale: Scale) -> list[str]:
        """The models of a scale that say how likely texts are, or write, in the order of the catalogue."""
        return [
            name
            for name, entry in self.models.items()
            if entry.scale in (None, scale) and (self.can(name, "loglikelihood") or self.can(name, "generate"))
        ]

    def entailing(self, scale: Scale) -> list[str]:
        """The models of a scale that answer questionnaires, in the order of the catalogue."""
        return [name for name, entry in self.models.items() if self.entails(name) and entry.scale in (None, scale)]

    def intervened(self, scale: Scale) -> list[str]:
        """The models of a scale that are adapted to corpora, where there are any, in the order of the catalogue."""
        if not corpora_at(self.interventions, scale):
            return []
        return [name for name in self.entailing(scale) if self.models[name].intervention is not None]

    def evolving(self, scale: Scale) -> list[str]:
        """The probe domains that evolve at a scale."""
        return [name for name, settings in self.evolve.items() if settings.scale in (None, scale)]

    def domains_of(self, text: Literal["ours", "others"]) -> list[str]:
        """The domains whose text is ours, or is of others."""
        return [name for name, settings in self.domains.items() if settings.text == text]

    def in_use_at(self, scale: Scale) -> dict[str, list[str]]:
        """What `active` lists at a scale, by its keys."""
        return {
            "models": self.in_use(scale),
            "entailment": self.entailing(scale),
            "interventions": self.intervened(scale),
            "ours": self.domains_of("ours"),
            "others": self.domains_of("others"),
            "evolved": self.evolving(scale),
        }


def load_params(path: Path | str = "params.yaml", *, in_step: bool = True) -> Params:
    """Read and check `params.yaml`.

    Args:
        path: The file.
        in_step: Also require that `active` lists what its scale uses.

    Raises:
        UserError: Something in the file is wrong: file, key, what was found, what to do.
    """
    path = Path(path)
    declared = read_yaml(path)
    refuse_hidden_keys(declared, path)
    params = validate(Params, declared, path)
    _check_recipes(params, path)
    for name, entry in params.models.items():
        if entry.scheme == "untrained":
            made_of(entry, params.models, f"{path}: models.{name}.source")
    embedder = params.models.get(params.diagnosis.embedder)
    if embedder is None or not params.can(params.diagnosis.embedder, "embed"):
        raise UserError(
            f"{params.diagnosis.embedder!r} is no embedder of the catalogue",
            where=f"{path}: diagnosis.embedder",
            remedy="name a model of kind embedder",
        )
    judge = params.diagnosis.acceptability
    if judge and not (judge in params.models and (params.can(judge, "slor") or params.can(judge, "classify"))):
        raise UserError(
            f"{judge!r} is no causal model and no classifier of the catalogue",
            where=f"{path}: diagnosis.acceptability",
            remedy="name one",
        )
    require_measuring(params.saged.features, params, path)
    for name, settings in params.evolve.items():
        require_evolving(name, settings, params.probes, params, path)
    for name in params.versions:
        if name not in params.benchmarks:
            raise UserError(
                f"no benchmark {name!r}; {nearest(name, params.benchmarks)}",
                where=f"{path}: versions",
                remedy="remove it or mend the name",
            )
    scale = params.active.scale
    require_models(params, scale, path)
    if not in_step:
        return params
    for key, used in params.in_use_at(scale).items():
        found = getattr(params.active, key)
        if found != used:
            raise UserError(
                f"{found} is not what the scale {scale!r} uses, {used}",
                where=f"{path}: active.{key}",
                remedy="run `evenruler check`, which writes it from the catalogue",
            )
    return params


def require_models(params: Params, scale: Scale, path: Path) -> None:
    """A scale uses a causal model, and models for questionnaires and corpora where there are such.

    Args:
        params: The declaration.
        scale: Which.
        path: The file of the declaration.

    Raises:
        UserError: It uses none.
    """
    for needed, used, what, remedy in (
        (
            True,
            params.in_use(scale),
            "no model that says how likely texts are, or writes, is in use",
            "give one (kind causal, completions or chat) that scale, or no scale",
        ),
        (
            params.questionnaires,
            params.entailing(scale),
            "no model answers questionnaires",
            "give a causal model `entailment: true`, or add an nli model",
        ),
        (
            corpora_at(params.interventions, scale),
            params.intervened(scale),
            "no model is adapted to corpora",
            "give one that answers questionnaires `intervention: every`",
        ),
    ):
        if needed and not used:
            raise UserError(f"{what} at the scale {scale!r}", where=f"{path}: models", remedy=remedy)


def _check_recipes(params: Params, path: Path) -> None:
    """Every encoder is fitted on data that is declared, with one set of labels."""
    for name, entry in params.models.items():
        recipe = entry.finetune
        if recipe is None:
            continue
        where = f"{path}: models.{name}.finetune"
        for data in [recipe.validation, *recipe.data]:  # what the others are compared with comes first
            if data not in params.training:
                raise UserError(
                    f"no training data {data!r}",
                    where=where,
                    remedy=f"add it under `training`, or mend the name ({nearest(data, params.training)})",
                )
            own, first = params.training[data], params.training[recipe.validation]
            if set(own.labels) != set(first.labels) or len(own.columns) != len(first.columns):
                raise UserError(
                    f"{data!r} has labels {own.labels} on {len(own.columns)} columns, the validation data "
                    f"{first.labels} on {len(first.columns)}",
                    where=where,
                    remedy="fit on data of one kind",
                )
        if entry.entailment and not params.can(name, "entail"):
            what = f"`entailment: true`, but its head tells {', '.join(params.labels(name))} apart"
            raise UserError(what, where=f"{path}: models.{name}", remedy="take it out")
