"""`params.yaml`: the catalogue of models, what is built, and what is in use."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from evenruler.declaration.strict import Slug, Strict, Text, read_yaml, refuse_hidden_keys, validate
from evenruler.declaration.training import NLI_LABELS, Finetune, TrainingData
from evenruler.declaration.versions import Version
from evenruler.errors import UserError, nearest

Scale = Literal["quick", "paper"]
Article = Literal["agree", "literal"]
ArticleSetting = Annotated[
    Annotated[Article, Tag("[one]")] | Annotated[dict[Slug, Article], Tag("[by set]")],
    Discriminator(lambda value: "[by set]" if isinstance(value, dict) else "[one]"),
]
"""For all template sets, or by set."""


VERBALISER: Final = "verbaliser"
"""The form that asks a causal model in words what entails what."""

LIKELIHOODS = ("clm", "mlm")
"""Forms that ask how likely an intensifier is, not what entails what."""


def named(model: str, configuration: str) -> str:
    """What a model is called where no column says how it is asked: "bert (mlm)".

    One that says what entails what, by a head or a verbaliser, goes by its name in the catalogue. So a model that
    answers in two forms is two in every figure, of one lineage.
    """
    return f"{model} ({configuration})" if configuration in LIKELIHOODS else model


FIRST_VERSION = "0.1.0"
"""Of a benchmark that nobody has released."""

MOST_EPOCHS = 127
"""Of an adaptation: what the tables hold (int8)."""


class Active(Strict):
    """What is in use. Written by `evenruler scale` and `evenruler check`, not by hand."""

    scale: Scale
    models: list[Slug] = Field(min_length=1)
    """The causal models."""
    entailment: list[Slug] = Field(default_factory=list)
    """The models that answer questionnaires."""
    interventions: list[Slug] = Field(default_factory=list)
    """Those of them that are adapted to corpora."""


class ModelEntry(Strict):
    """A model of the catalogue."""

    kind: Literal["causal", "masked", "nli", "classifier", "encoder", "embedder"]
    """`causal`: next tokens; `masked`: masked tokens; `nli`: a classifier of premise and hypothesis; `classifier`: of
    one text; `encoder`: a base that `finetune` gives a head, which makes it one of these two; `embedder`: sentences as
    vectors."""
    source: Text | list[Text]
    """`hub:org/name`, `package:module/file` (a list: the parts of one file, in order), or `local:folder`."""
    revision: Text | None = None
    """The commit of a Hub repository."""
    sha256: Text | None = None
    """Checksum of the (joined) file of a package."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What a GPU computes in. A CPU always computes in float32."""
    chat: bool = False
    """Whether the model was tuned on a chat template and carries it."""
    licence: Text
    origin: Text
    """Where the weights come from, for the card and the README."""
    labels: list[Text] | None = Field(default=None, min_length=2)
    """Of an `nli` model or a `classifier`, in its own order, where its configuration does not name them."""
    entailment: bool | None = None
    """Whether it answers questionnaires: every `nli` and `masked` model does; a `causal` one where this or `forms` says
    so."""
    forms: list[Literal["verbaliser", "clm"]] | None = Field(default=None, min_length=1)
    """How a `causal` model is asked. `verbaliser`, the default: yes, no or maybe; `clm`: the probability of the
    intensifier after what stands before it. A `masked` model is asked for the intensifier in its place (`mlm`)."""
    finetune: Finetune | None = None
    """How an `encoder` gets its head: `evenruler finetune NAME` writes data/adapters/NAME."""
    intervention: Literal["every", "last"] | None = None
    """Whether it is adapted to the corpora of `interventions`, and answers after every epoch or after the last."""
    lineage: Slug | None = None
    """Models that share weights share this name; a model of its own by default."""
    scale: Literal["quick", "paper", "none"] | None = None
    """The scale that uses it; every scale by default; `none` parks it in the catalogue."""

    @field_validator("source", mode="after")
    @classmethod
    def _known_source(cls, source: str | list[str]) -> str | list[str]:
        parts = [source] if isinstance(source, str) else source
        schemes = {part.partition(":")[0] for part in parts}
        complete = all(part.partition(":")[2] for part in parts)
        if not complete or not schemes <= {"hub", "package", "local"} or len(schemes) != 1:
            raise ValueError(f"found {source!r}, expected hub:org/name, package:module/file or local:folder")
        if isinstance(source, list) and schemes != {"package"}:
            raise ValueError("only the file of a package can come in parts")
        return source

    @model_validator(mode="after")
    def _pinned(self) -> "ModelEntry":
        scheme = self.scheme
        if (self.kind == "encoder") != (self.finetune is not None):
            raise ValueError("`finetune` belongs to kind encoder, and an encoder needs it")
        if self.labels is not None and self.kind not in ("nli", "classifier"):
            raise ValueError("`labels` belongs to the kinds nli and classifier")
        if self.labels is not None and self.kind == "nli" and sorted(self.labels) != sorted(NLI_LABELS):
            raise ValueError(
                f"labels are {self.labels}, expected entailment, neutral and contradiction in the model's order"
            )
        if self.forms is not None and (self.kind != "causal" or len(set(self.forms)) < len(self.forms)):
            raise ValueError("`forms` belongs to kind causal, each form once")
        if self.kind in ("masked", "classifier", "embedder") and self.intervention is not None:
            raise ValueError("`intervention` belongs to models that answer whether a premise entails a hypothesis")
        if self.kind == "encoder" and self.lineage is None:
            raise ValueError("lineage is missing, the name that all models on this encoder share")
        if scheme == "hub" and not re.fullmatch("[0-9a-f]{40}", self.revision or ""):
            raise ValueError(f"revision is {self.revision!r}, a Hub model is pinned to a commit of 40 hex digits")
        if scheme == "package" and self.is_file and self.sha256 is None:
            raise ValueError("sha256 is missing, a file of a package is pinned by its checksum")
        if self.sha256 is not None and not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 is {self.sha256!r}, expected 64 hex digits")
        return self

    @property
    def configurations(self) -> list[str]:
        """The ways in which it answers questionnaires: forms, or `head`."""
        if self.kind == "causal":
            return list(self.forms or [VERBALISER])
        return ["mlm" if self.kind == "masked" else "head"]

    @property
    def scheme(self) -> str:
        """`hub`, `package` or `local`."""
        return self.locations[0][0]

    @property
    def locations(self) -> list[tuple[str, str]]:
        """(scheme, rest) of each part of the source."""
        parts = [self.source] if isinstance(self.source, str) else self.source
        return [(part.partition(":")[0], part.partition(":")[2]) for part in parts]

    @property
    def is_file(self) -> bool:
        """Whether the source is one (joined) file rather than a folder."""
        return len(self.locations) > 1 or ".gguf" in self.locations[0][1].lower()


class ProbeSettings(Strict):
    """How one probe domain is built."""

    article: ArticleSetting = "agree"
    """`agree`: "a/an" before a filled slot follows the filled word; `literal`: as the template has it.
    For all template sets, or by set (`agree` for those not named)."""

    def article_of(self, template_set: str) -> Article:
        """The article setting of one template set."""
        return self.article.get(template_set, "agree") if isinstance(self.article, dict) else self.article


class QuestionnaireSettings(Strict):
    """How one questionnaire is scored."""

    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of the two-way normalisation: above 1 evens out, below 1 sharpens."""
    three_way: bool = False
    """Take entailment's share of all three answers; by default neutral is left out."""
    stop_below: bool = False
    """Stop the diagnosis where an item is poor, rather than only say so."""


class InterventionSettings(Strict):
    """How models are adapted to one corpus (EMPALC, section 4.4)."""

    epochs: dict[Scale, int] = Field(default={"quick": 3, "paper": 20})
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch: int = Field(default=8, ge=1)
    seed: int = Field(default=0, ge=0)

    @field_validator("epochs")
    @classmethod
    def _for_each_scale(cls, epochs: dict[Scale, int]) -> dict[Scale, int]:
        if set(epochs) != {"quick", "paper"} or not all(1 <= number <= MOST_EPOCHS for number in epochs.values()):
            raise ValueError(f"found {epochs}, expected 1 to {MOST_EPOCHS} epochs for quick and for paper")
        return epochs


class ContrastSettings(Strict):
    """How one contrast of framings is built and asked."""

    variant: Slug = "balanced"
    """Of templates and options, where the contrast has several."""
    mass: Literal["words", "first_token"] = "words"
    """`words`: all tokens of a form, where no letter follows; `first_token`: as the paper, its first token alone."""
    stimuli: dict[Scale, int] = Field(default={"quick": 5, "paper": 1000})
    """At most so many are asked about, evenly spread over the list."""
    orders: dict[Scale, int] = Field(default={"quick": 2, "paper": 1000})
    """At most so many orders of options are asked, in whole pairs of an order and its reverse."""
    generations: dict[Scale, int] = Field(default={"quick": 1, "paper": 10})
    """Sampled replies to a prompt; 0 for none."""
    new_tokens: dict[Scale, int] = Field(default={"quick": 20, "paper": 50})
    """At most so many in a reply."""
    choices: Literal["chat", "every"] = "chat"
    """Which models are sampled: those tuned to chat, or every one."""
    seed: int = Field(default=0, ge=0)

    @field_validator("stimuli", "orders", "generations", "new_tokens")
    @classmethod
    def _for_each_scale(cls, numbers: dict[Scale, int], info: ValidationInfo) -> dict[Scale, int]:
        least = {"generations": 0, "orders": 2}.get(str(info.field_name), 1)
        if set(numbers) != {"quick", "paper"} or min(numbers.values()) < least:
            raise ValueError(f"found {numbers}, expected numbers from {least} on for quick and for paper")
        return numbers


class BrittlenessSettings(Strict):
    """At most so many units are also asked after each framing, evenly spread over their list."""

    probes: dict[Scale, int] = Field(default={"quick": 8, "paper": 1000})
    """Attributes of a domain."""
    questionnaires: dict[Scale, int] = Field(default={"quick": 3, "paper": 1000})
    """Items of a questionnaire."""

    @field_validator("probes", "questionnaires")
    @classmethod
    def _for_each_scale(cls, units: dict[Scale, int]) -> dict[Scale, int]:
        if set(units) != {"quick", "paper"} or min(units.values()) < 1:
            raise ValueError(f"found {units}, expected numbers from 1 on for quick and for paper")
        return units


@dataclass(frozen=True)
class Declared:
    """Where params.yaml declares a benchmark."""

    section: str
    key: str
    version: str


class DiagnosisSettings(Strict):
    """How figures of quality are computed."""

    embedder: Slug
    """The embedder of semantic diversity and of content."""
    acceptability: Slug | None = None
    """What says how acceptable the sentences of questionnaires are: a causal model (SLOR), or a classifier fitted on
    CoLA."""
    level: float = Field(default=0.95, gt=0, lt=1)
    resamples: int = Field(default=2000, ge=100)
    seed: int = 0


class Params(Strict):
    """The whole of `params.yaml`."""

    active: Active
    models: dict[Slug, ModelEntry]
    probes: dict[Slug, ProbeSettings]
    questionnaires: dict[Slug, QuestionnaireSettings] = Field(default_factory=dict)
    interventions: dict[Slug, InterventionSettings] = Field(default_factory=dict)
    """By corpus."""
    contrasts: dict[Slug, ContrastSettings] = Field(default_factory=dict)
    brittleness: BrittlenessSettings = Field(default_factory=BrittlenessSettings)
    training: dict[Slug, TrainingData] = Field(default_factory=dict)
    """Labelled data that `evenruler finetune` fits heads on."""
    diagnosis: DiagnosisSettings
    versions: dict[Slug, Version] = Field(default_factory=dict)
    """By benchmark; written by `evenruler release`. One that is not there is at `FIRST_VERSION`."""

    @property
    def benchmarks(self) -> dict[str, Declared]:
        """Everything that gets a folder under `benchmarks/`, by its name."""
        names = {f"probes-{domain}": ("probes", domain) for domain in self.probes}
        names |= {f"nli-{name}": ("questionnaires", name) for name in self.questionnaires}
        names |= {f"framing-{name}": ("contrasts", name) for name in self.contrasts}
        return {
            name: Declared(section, key, self.versions.get(name, FIRST_VERSION))
            for name, (section, key) in names.items()
        }

    def in_use(self, scale: Scale) -> list[str]:
        """The causal models of a scale, in the order of the catalogue."""
        return [name for name, entry in self.models.items() if entry.kind == "causal" and entry.scale in (None, scale)]

    def entailing(self, scale: Scale) -> list[str]:
        """The models of a scale that answer questionnaires, in the order of the catalogue."""
        return [name for name, entry in self.models.items() if self.entails(name) and entry.scale in (None, scale)]

    def intervened(self, scale: Scale) -> list[str]:
        """The models of a scale that are adapted to corpora, where there are any, in the order of the catalogue."""
        if not self.interventions:
            return []
        return [name for name in self.entailing(scale) if self.models[name].intervention is not None]

    def entails(self, name: str) -> bool:
        """Whether a model answers questionnaires."""
        entry = self.models[name]
        if entry.entailment is not None:
            return entry.entailment
        if entry.kind in ("nli", "masked") or entry.forms is not None:
            return True
        return entry.kind == "encoder" and set(self.labels(name)) == set(NLI_LABELS)

    def labels(self, name: str) -> list[str]:
        """What the head of an encoder tells apart, in the order of its outputs."""
        recipe = self.models[name].finetune
        return list(self.training[recipe.validation].labels) if recipe else []

    def origins(self, models: Sequence[str]) -> dict[str, str]:
        """Where models come from, in words, with their licence."""
        entries = {name: self.models[name] for name in models}
        return {
            name: f"{entry.origin}{f' at {entry.revision[:12]}' if entry.revision else ''}; {entry.licence}"
            for name, entry in entries.items()
        }

    def lineage(self, model: str) -> str:
        """The name that a model shares with those of the same weights."""
        return self.models[model].lineage or model


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
    embedder = params.models.get(params.diagnosis.embedder)
    if embedder is None or embedder.kind != "embedder":
        raise UserError(
            f"{params.diagnosis.embedder!r} is no embedder of the catalogue",
            where=f"{path}: diagnosis.embedder",
            remedy="name a model of kind embedder",
        )
    judge = params.models.get(params.diagnosis.acceptability or "")
    if params.diagnosis.acceptability and (judge is None or judge.kind not in ("causal", "classifier", "encoder")):
        raise UserError(
            f"{params.diagnosis.acceptability!r} is no causal model and no classifier of the catalogue",
            where=f"{path}: diagnosis.acceptability",
            remedy="name one",
        )
    _check_recipes(params, path)
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
    for key, found, used in (
        ("models", params.active.models, params.in_use(scale)),
        ("entailment", params.active.entailment, params.entailing(scale)),
        ("interventions", params.active.interventions, params.intervened(scale)),
    ):
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
            "no causal model is in use",
            "give one of them that scale, or no scale",
        ),
        (
            params.questionnaires,
            params.entailing(scale),
            "no model answers questionnaires",
            "give a causal model `entailment: true`, or add an nli model",
        ),
        (
            params.interventions,
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
