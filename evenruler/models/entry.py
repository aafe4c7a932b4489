"""The catalogue of models in `params.yaml`."""

import re
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from evenruler.models.operations import Kind, Operation, operations_of
from evenruler.models.recipe import NLI_LABELS, Finetune
from evenruler.strict import Slug, Strict, Text, at_home

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


class SamplingSettings(Strict):
    """How a model draws its replies, where its entry says so; what is left open is as its files say."""

    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """0 takes the likeliest token each time."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    """0 keeps the whole vocabulary."""


HOSTED: Final = ("chat", "completions")
"""Kinds that a server answers for."""

TO_BE_GIVEN: Final = "to be given"
"""The `revision` of an entry on the Hub whose commit nobody here could look up."""

UNTRAINED: Final = ("causal", "masked", "nli")
"""Kinds of which a model with random weights can be made."""


class ModelEntry(Strict):
    """A model of the catalogue."""

    kind: Kind
    """The backend. `causal`: next tokens; `seq2seq`: an encoder reads the prompt and a decoder writes, as T5 does;
    `chat`: only what it writes, asked of a server; `completions`: asked of a
    server too, which continues texts and says how likely they are; `masked`: masked tokens; `nli`: a classifier of
    premise and hypothesis; `classifier`: of one text; `encoder`: a base that `finetune` gives a head, which makes it
    one of these two; `embedder`: sentences as vectors."""
    source: Text | list[Text]
    """`hub:org/name`, `package:module/file` (a list: the parts of one file, in order; a zip file of a folder is
    unpacked), or `local:folder`;
    `endpoint:NAME`, by which a server that speaks the OpenAI protocol knows it; `untrained:NAME`, another entry, whose
    architecture is made small and given random weights."""
    revision: Text | None = None
    """The commit of a Hub repository, or `to be given`: `evenruler check` then leaves the model out with a line that
    asks for it, and so an instrument that names it; of an endpoint, whatever tells its versions apart, as a date."""
    sha256: Text | None = None
    """Checksum of the (joined) file of a package."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What a GPU computes in. A CPU always computes in float32."""
    gpus: float = Field(default=1, ge=0, le=1)
    """Share of a GPU that one copy takes on a Ray cluster that has GPUs: .25 loads four on each, 0 none."""
    chat: bool = False
    """Whether the model was tuned on a chat template and carries it; of kind `chat` it need not be said."""
    start: Text | None = None
    """Of kind `completions`: its start token as it is written, as in `<|im_start|>`, for a server that puts none before
    a text by itself."""
    sampling: SamplingSettings | None = None
    """How its replies are drawn, over what generation_config.json in its folder says."""
    licence: Text
    origin: Text
    """Where the weights come from, for the card and the README."""
    labels: list[Text] | None = Field(default=None, min_length=2)
    """Of an `nli` model or a `classifier`, in its own order, where its configuration does not name them."""
    entailment: bool | None = None
    """Whether it answers questionnaires: every `nli` and `masked` model does; a `causal` or `completions` one where
    this or `forms` says so."""
    forms: list[Literal["verbaliser", "clm"]] | None = Field(default=None, min_length=1)
    """How a `causal` or `completions` model is asked. `verbaliser`, the default: yes, no or maybe; `clm`: the
    probability of the intensifier after what stands before it. A `masked` model is asked for the intensifier in its
    place (`mlm`)."""
    finetune: Finetune | None = None
    """How an `encoder` gets its head: `evenruler finetune NAME` writes data/adapters/NAME."""
    intervention: Literal["every", "last"] | None = None
    """Whether it is adapted to the corpora of questionnaires, and answers after every epoch or after the last."""
    limits: Text | None = None
    """Of an `encoder`: what its card warns of, beside what it says of every model of ours."""
    lineage: Slug | None = None
    """Models that share weights share this name; a model of its own by default."""
    scale: Literal["quick", "paper", "none"] | None = None
    """The scale that uses it; every scale by default; `none` parks it in the catalogue."""

    families: list[Slug] | None = Field(default=None, min_length=1)
    """The families whose instruments ask it; all that can by default."""

    instruments: dict[Literal["quick", "paper"], list[Slug]] | None = None
    """By scale: of what these families have, the only instruments that ask it; all by default."""

    @field_validator("source", mode="after")
    @classmethod
    def _known_source(cls, source: str | list[str]) -> str | list[str]:
        parts = [source] if isinstance(source, str) else source
        schemes = {part.partition(":")[0] for part in parts}
        complete = all(part.partition(":")[2] for part in parts)
        if not complete or not schemes <= {"hub", "package", "local", "endpoint", "untrained"} or len(schemes) != 1:
            known = "hub:org/name, package:module/file, local:folder, endpoint:name or untrained:name"
            raise ValueError(f"found {source!r}, expected {known}")
        if isinstance(source, list) and schemes != {"package"}:
            raise ValueError("only the file of a package can come in parts")
        if schemes == {"local"}:
            at_home(parts[0].partition(":")[2])
        return source

    @model_validator(mode="after")
    def _pinned(self) -> "ModelEntry":
        scheme = self.scheme
        if (self.kind in HOSTED) != (scheme == "endpoint"):
            raise ValueError("`endpoint:` belongs to the kinds chat and completions, which need it")
        if scheme == "untrained" and self.kind not in UNTRAINED:
            raise ValueError(f"`untrained:` belongs to the kinds {', '.join(UNTRAINED)}")
        if self.kind == "completions" and self.chat:
            raise ValueError("`chat` is nothing that kind completions can do; declare it as kind chat, too")
        if self.kind != "completions" and self.start is not None:
            raise ValueError("`start` belongs to the kind completions")
        if self.kind == "seq2seq" and self.chat:
            raise ValueError("`chat` is nothing that kind seq2seq can do, its encoder reads the prompt as it is")
        if self.sampling is not None and "generate" not in self.operations:
            raise ValueError("`sampling` belongs to models that generate")
        if self.kind in HOSTED and self.sampling is not None and self.sampling.top_k:
            raise ValueError("`sampling.top_k` is nothing that a server takes")
        if self.entailment and self.kind != "encoder" and not self.operations & {"entail", "in_place"}:
            raise ValueError(f"`entailment: true`, but kind {self.kind} can only {', '.join(sorted(self.operations))}")
        if (self.kind == "encoder") != (self.finetune is not None):
            raise ValueError("`finetune` belongs to kind encoder, and an encoder needs it")
        if self.labels is not None and self.kind not in ("nli", "classifier"):
            raise ValueError("`labels` belongs to the kinds nli and classifier")
        if self.labels is not None and self.kind == "nli" and sorted(self.labels) != sorted(NLI_LABELS):
            raise ValueError(
                f"labels are {self.labels}, expected entailment, neutral and contradiction in the model's order"
            )
        if self.forms is not None and (not self.is_verbalised or len(set(self.forms)) < len(self.forms)):
            raise ValueError("`forms` belongs to the kinds causal and completions, each form once")
        if self.kind not in ("causal", "nli", "encoder") and self.intervention is not None:
            raise ValueError("`intervention` belongs to models that answer whether a premise entails a hypothesis")
        if self.kind == "encoder" and self.lineage is None:
            raise ValueError("lineage is missing, the name that all models on this encoder share")
        if scheme == "hub" and not (self.lacks_commit or re.fullmatch("[0-9a-f]{40}", self.revision or "")):
            raise ValueError(f"revision is {self.revision!r}, a Hub model is pinned to a commit of 40 hex digits")
        if scheme == "package" and self.is_file and self.sha256 is None:
            raise ValueError("sha256 is missing, a file of a package is pinned by its checksum")
        if self.sha256 is not None and not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 is {self.sha256!r}, expected 64 hex digits")
        return self

    @property
    def configurations(self) -> list[str]:
        """The ways in which it answers questionnaires: forms, or `head`."""
        if self.is_verbalised:
            return list(self.forms or [VERBALISER])
        return ["mlm" if self.kind == "masked" else "head"]

    @property
    def operations(self) -> frozenset[Operation]:
        """What it can do, whatever was fitted on it: an encoder nothing (`Params.operations`)."""
        return operations_of(self.kind)

    @property
    def is_verbalised(self) -> bool:
        """Whether it is asked in words what entails what."""
        return "loglikelihood" in self.operations

    @property
    def chats(self) -> bool:
        """Whether it can be asked in a chat."""
        return self.chat or self.kind == "chat"

    @property
    def continues(self) -> bool:
        """Whether it can be asked to continue a text as it stands."""
        return self.kind != "chat"

    @property
    def lacks_commit(self) -> bool:
        """Whether the commit of its Hub repository is still to be given."""
        return self.scheme == "hub" and self.revision == TO_BE_GIVEN

    @property
    def scheme(self) -> str:
        """`hub`, `package`, `local`, `endpoint` or `untrained`."""
        return self.locations[0][0]

    @property
    def locations(self) -> list[tuple[str, str]]:
        """(scheme, rest) of each part of the source."""
        parts = [self.source] if isinstance(self.source, str) else self.source
        return [(part.partition(":")[0], part.partition(":")[2]) for part in parts]

    @property
    def is_file(self) -> bool:
        """Whether the source is one (joined) file rather than a folder."""
        return len(self.locations) > 1 or ".gguf" in self.locations[0][1].lower() or self.is_zip

    @property
    def is_zip(self) -> bool:
        """Whether the source is a zip file of a folder, or its parts."""
        return self.scheme in ("package", "local") and ".zip" in self.locations[0][1].rpartition("/")[2].lower()
