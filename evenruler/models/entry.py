"""The catalogue of models in `params.yaml`."""

import re
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from evenruler.models.recipe import NLI_LABELS, Finetune
from evenruler.strict import Slug, Strict, Text

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


class ModelEntry(Strict):
    """A model of the catalogue."""

    kind: Literal["causal", "chat", "masked", "nli", "classifier", "encoder", "embedder"]
    """`causal`: next tokens; `chat`: only what it writes, asked of a server; `masked`: masked tokens; `nli`: a
    classifier of premise and hypothesis; `classifier`: of one text; `encoder`: a base that `finetune` gives a head,
    which makes it one of these two; `embedder`: sentences as vectors."""
    source: Text | list[Text]
    """`hub:org/name`, `package:module/file` (a list: the parts of one file, in order), or `local:folder`; of kind
    `chat` `endpoint:NAME`, by which a server that speaks the OpenAI protocol knows it."""
    revision: Text | None = None
    """The commit of a Hub repository; of kind `chat`, whatever tells its versions apart, as a date."""
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
    limits: Text | None = None
    """Of an `encoder`: what its card warns of, beside what it says of every model of ours."""
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
        if not complete or not schemes <= {"hub", "package", "local", "endpoint"} or len(schemes) != 1:
            known = "hub:org/name, package:module/file, local:folder or endpoint:name"
            raise ValueError(f"found {source!r}, expected {known}")
        if isinstance(source, list) and schemes != {"package"}:
            raise ValueError("only the file of a package can come in parts")
        return source

    @model_validator(mode="after")
    def _pinned(self) -> "ModelEntry":
        scheme = self.scheme
        if (self.kind == "chat") != (scheme == "endpoint"):
            raise ValueError("`endpoint:` belongs to kind chat, and a chat model needs it")
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
        """`hub`, `package`, `local` or `endpoint`."""
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
