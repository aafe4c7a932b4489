"""Resolve the model that a user names: on the Hub, in files, on a server, in the catalogue, or a
Python object.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from evenruler import repository
from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import folder_sha256
from evenruler.models import sources
from evenruler.models.classes import named_auto_class
from evenruler.models.declarations import (
    HOSTED,
    LABEL_PATTERN,
    NOT_STATED,
    SERVED,
    Catalogue,
    DeclaredDtype,
    Kind,
    ModelEntry,
    slug_of,
)
from evenruler.models.loading import ADAPTER, LoadedModel
from evenruler.models.questions import LABELS
from evenruler.models.store import RowStore
from evenruler.strict import LONGEST_SLUG, at_home, json_of_others, read_text, validate

if TYPE_CHECKING:  # which brings libraries that take seconds to import
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from evenruler.models.model import Model

FORMS: Final = (
    "hub:ORG/NAME[@REVISION], local:FOLDER, FILE.gguf, ./FOLDER, package:MODULE/FILE, "
    "endpoint:NAME, ollama:NAME, "
    "recorded:FILE, planted:BASE/PLANT/DOSE/SEED"
)

KINDS: Final[dict[str, Kind]] = {
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
    "ForMaskedLM": "masked",
    "ForSequenceClassification": "nli",
    "ForConditionalGeneration": "seq2seq",
}
"""Kind by the ending of the class name in a model's configuration, where that says it."""

FILES: Final = ("hub", "local", "package")
"""Schemes of models that are files."""

CATALOGUED: Final = ("", "planted")
"""Schemes of models that are, or are made from, entries of the catalogue."""

NO_OPTIONS: Final[Mapping[str, Any]] = {}
NO_MODELS: Final = Catalogue(models={})


@dataclass(frozen=True)
class ModelSpec:
    """A model as a user names it, with the user's settings for it.

    Settings as in `evenruler.measure`; `resolve_spec` checks them.
    """

    reference: str
    """One of `FORMS`, or a name in the catalogue."""
    name: str | None = None
    kind: str | None = None
    dtype: str | None = None
    start: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    is_dry: bool = False
    """Whether only what describes it is read: nothing large is downloaded, nothing converted."""

    @property
    def full_source(self) -> str:
        """The reference with its scheme, which paths may lack."""
        is_path = re.match(r"\.{0,2}/|~|[^:]+\.gguf$", self.reference)
        return f"local:{self.reference}" if is_path else self.reference

    @property
    def source_scheme(self) -> str:
        """A key of `RESOLVERS`; empty for a name in the catalogue."""
        scheme, _, rest = self.full_source.partition(":")
        return scheme if rest and scheme in RESOLVERS else ""

    @property
    def source_name(self) -> str:
        """What follows the scheme."""
        return self.full_source.partition(":")[2]

    @property
    def params_path(self) -> Path:
        """The file with the catalogue, in the current folder or one above."""
        return (repository.find_repository_root() or Path()) / "params.yaml"

    @property
    def is_recorded(self) -> bool:
        """Whether it is recorded answers, here or in the catalogue; no model's files are read."""
        if self.source_scheme or not self.params_path.exists():
            return self.source_scheme == "recorded"
        declared = ParamsFile(self.params_path).catalogue.models.get(self.reference)
        return declared is not None and declared.scheme == "recorded"

    @property
    def source_fields(self) -> dict[str, Any]:
        """The entry fields of a model outside the catalogue, as far as its source tells them."""
        return {
            "source": self.full_source,
            "licence": NOT_STATED,
            "origin": self.source_name,
        }

    def make_slug(self, called: str) -> str:
        """The name in figures and folders: the user's, else that of the end of a path."""
        return _model_slug(self.name or called.removesuffix(".gguf").rpartition("/")[2])

    def merge_settings(self, slug: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Entry fields updated with the settings; of options, mappings are merged."""
        settings = dict(self.options)
        if self.start is not None:
            settings["start"] = self.start
        if self.dtype is not None:
            settings["dtype"] = self.dtype
        if self.name not in (None, slug):
            settings["label"] = self.name
        updated = dict(fields)
        for key, setting in settings.items():
            if isinstance(setting, dict) and fields.get(key) != "off":
                setting = {**(fields.get(key) or {}), **setting}
            updated[key] = setting
        return updated


@dataclass(frozen=True)
class ResolvedModel:
    """The model to measure."""

    name: str
    """Its name in figures and folders."""
    catalogue: Catalogue
    model: "Model | None" = None
    """The model, if given in Python; otherwise the catalogue says how to load it."""
    reference: str = ""
    """How the user names it, for errors."""
    folder: Path | None = None
    """The folder with its files, if they were read to resolve it; of a dry run perhaps without
    weights."""

    @property
    def entry(self) -> ModelEntry:
        """Its entry in the catalogue."""
        return self.catalogue.models[self.name]

    def load_model(self, store: RowStore, device: str | None, where: str | None) -> "Model":
        """Load it, as `load`; weights are loaded when an answer is missing."""
        from evenruler.models import catalogue

        return self.model or catalogue.load_model(
            self.name,
            self.catalogue,
            store=store,
            device=device,
            where=where,
            folder=self.folder,
        )


def resolve_model(
    model: object,
    store: RowStore,
    *,
    name: str | None = None,
    kind: str | None = None,
    dtype: DeclaredDtype | None = None,
    start: str | None = None,
    options: Mapping[str, Any] = NO_OPTIONS,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    cache_key: str | None = None,
) -> ResolvedModel:
    """Resolve a model: one of `FORMS`, a name in the catalogue, a loaded model, or a function.

    Arguments as in `evenruler.measure` and `resolve_spec`.
    """
    if not isinstance(model, str | Path):
        spec = ModelSpec("", name, kind, start=start)
        return _resolve_object(model, spec, store, tokenizer, cache_key)
    if tokenizer is not None or cache_key is not None:
        what = "a tokenizer is of loaded models, a cache key of what Python gives"
        raise UserError(what, where=str(model), remedy="leave them out")
    return resolve_spec(ModelSpec(str(model), name, kind, dtype, start, options), store)


def resolve_spec(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """Resolve a model that is named in words, by the resolver of its scheme.

    Outside the catalogue, kind and chat support are read from the model's files; a Hub name is
    resolved to its commit. `store`: where converted files are kept. A name that is not a slug
    (`gpt-3.5`) makes one (`gpt-3-5`), and is the label of its entry. UserError where there is no
    such model, its files are missing, its kind is not supported, or settings do not fit it.
    """
    _require_fitting_settings(spec)
    return RESOLVERS[spec.source_scheme](spec, store)


def _resolve_declared(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A model by its name in the catalogue."""
    name, remedy = spec.reference, f"name it as {FORMS}"
    if not spec.params_path.exists():
        if name and Path(name).is_dir():
            remedy = f"say `local:{name}`"
        elif re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", name):
            remedy = f"say `hub:{name}`"
        raise UserError(
            "no such model, and no catalogue (params.yaml) here", where=name, remedy=remedy
        )
    catalogue = ParamsFile(spec.params_path).catalogue
    if name not in catalogue.models:
        remedy = f"{remedy}, or check the name ({suggest_nearest(name, catalogue.models)})"
        raise UserError(f"no model {name!r}", where=f"{spec.params_path}: models", remedy=remedy)
    slug = spec.make_slug(name) if spec.name else name
    declared_fields = catalogue.models[name].model_dump(exclude_unset=True)
    return _resolve_entry(spec, slug, declared_fields, catalogue)


def _resolve_planted(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A weight of a plant, which is made if it is missing."""
    from evenruler.training import plants

    weight = plants.PlantedModel.parse(spec.full_source)
    if spec.is_dry:
        what, remedy = "its weights would have to be made first", f"say {weight.base}, its base"
        raise UserError(what, where=f"--dry-run of {spec.full_source}", remedy=remedy)
    catalogue = ParamsFile(spec.params_path).catalogue
    entry = plants.entry_of(weight, catalogue, store)
    planted_fields = entry.model_dump(exclude_unset=True)
    return _resolve_entry(spec, spec.make_slug(weight.name), planted_fields, catalogue)


def _resolve_hub(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A model `ORG/NAME[@REVISION]` on the Hub, pinned to a commit."""
    repo, _, revision = spec.source_name.partition("@")
    if repo.lower().endswith(".gguf"):
        remedy = "download its file, and name that"
        raise UserError(
            "a repository with the name of a file", where=spec.full_source, remedy=remedy
        )
    commit, licence = _hub_commit_and_licence(repo, revision or None)
    called = f"{repo}-{revision[:12]}" if revision else repo
    hub_fields = {"source": f"hub:{repo}", "revision": commit, "licence": licence, "origin": repo}
    return _resolve_files(spec, store, called, {**spec.source_fields, **hub_fields})


def _resolve_local(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A model in a folder or file here, or in a package; or an adapter."""
    path, fields = sources.path_of(spec.full_source, spec.full_source), spec.source_fields
    if spec.source_scheme == "local" and _is_adapter(path):
        fields |= _adapter_entry(path)
    elif spec.source_scheme == "package" or spec.source_name.lower().endswith(".gguf"):
        is_folder = path.is_dir()
        sha256 = folder_sha256(path, store.file_sha256) if is_folder else store.file_sha256(path)
        fields["sha256"] = sha256
    return _resolve_files(spec, store, spec.source_name, fields)


def _resolve_endpoint(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A model on a server with the OpenAI protocol."""
    fields = {**spec.source_fields, "kind": spec.kind or "chat"}
    return _resolve_entry(spec, spec.make_slug(spec.source_name), fields)


def _resolve_ollama(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """A model of the local Ollama, at the version that it has now."""
    from evenruler.models.in_memory import digest_of

    fields = {
        **spec.source_fields,
        "kind": spec.kind or "chat",
        "revision": digest_of(spec.source_name),
    }
    return _resolve_entry(spec, _model_slug(spec.name or spec.source_name), fields)


def _resolve_recorded(spec: ModelSpec, store: RowStore) -> ResolvedModel:
    """Recorded answers: an export, which names its model, or a log."""
    from evenruler.models.answer_logs.exported import said_of
    from evenruler.models.answer_logs.reading import is_pll_table

    path = at_home(spec.source_name)
    log_fields = said_of(path) or {"kind": "recorded"}
    if is_pll_table(path):
        log_fields["pll"] = True
    slug = log_fields.pop("name", None)
    if spec.name or slug is None:
        slug = spec.make_slug(spec.source_name)
    resolved = _resolve_entry(spec, slug, {**spec.source_fields, **log_fields})
    validate(Catalogue, {"models": resolved.catalogue.models}, Path(spec.full_source))
    return resolved


Resolver = Callable[[ModelSpec, RowStore], ResolvedModel]

RESOLVERS: Final[Mapping[str, Resolver]] = {
    "": _resolve_declared,
    "planted": _resolve_planted,
    "hub": _resolve_hub,
    "local": _resolve_local,
    "package": _resolve_local,
    "endpoint": _resolve_endpoint,
    "ollama": _resolve_ollama,
    "recorded": _resolve_recorded,
}
"""How a model is resolved, by the scheme of its reference."""


def _resolve_files(
    spec: ModelSpec, store: RowStore, called: str, fields: Mapping[str, Any]
) -> ResolvedModel:
    """A model in files, which tell its kind and whether it chats."""
    slug, where = spec.make_slug(called), spec.full_source
    guessed = validate(ModelEntry, {**fields, "kind": "causal"}, Path(where))
    is_absent = spec.is_dry and bool(sources.list_preparations(slug, guessed, store, where=where))
    if is_absent and guessed.scheme != "hub":
        return _resolve_gguf(spec, slug, guessed, fields)
    if is_absent:
        folder = sources.locate_description(guessed, where)
    else:
        folder = sources.locate_model(slug, guessed, store, where=where)
    kind = spec.kind or kind_of(read_json_object(folder / "config.json"), where)
    if spec.start is not None and kind != "causal":
        what = f"a start token is of models that give log-probabilities of texts, and it is {kind}"
        raise UserError(what, where=f"--start of {where}", remedy="leave --start out")
    file_fields = {**fields, "kind": kind}
    if kind == "causal":
        folders = [Path(place) for place in (guessed.adapter, folder) if place]
        has_template = any(map(_has_chat_template, folders))
        file_fields |= {"chat": has_template, "entailment": True}
    return replace(_resolve_entry(spec, slug, file_fields), folder=folder)


def _resolve_gguf(
    spec: ModelSpec, slug: str, guessed: ModelEntry, fields: Mapping[str, Any]
) -> ResolvedModel:
    """A model in a GGUF file that is not converted yet."""
    has_template = sources.gguf_has_template(guessed, spec.full_source)
    kind = spec.kind or "causal"
    file_fields = {**fields, "kind": kind}
    if kind == "causal":
        file_fields |= {"chat": has_template, "entailment": True}
    return _resolve_entry(spec, slug, file_fields)


def _resolve_entry(
    spec: ModelSpec, slug: str, fields: Mapping[str, Any], catalogue: Catalogue = NO_MODELS
) -> ResolvedModel:
    """A model in a copy of the catalogue, where its entry has the user's settings."""
    entry_fields = spec.merge_settings(slug, fields)
    entry = validate(ModelEntry, entry_fields, Path(spec.full_source))
    models = {**catalogue.models, slug: entry}
    copied = catalogue.model_copy(update={"models": models})
    return ResolvedModel(slug, copied, reference=spec.reference)


def _require_fitting_settings(spec: ModelSpec) -> None:
    """UserError where the name can be no label, there is no such kind, or kind or start token are
    not of models of this scheme.
    """
    name, kind, scheme = spec.name, spec.kind, spec.source_scheme
    is_hosted = kind in HOSTED
    slug = _model_slug(name or "")
    if name is not None and not re.fullmatch(LABEL_PATTERN, name):
        remedy = f"letters, digits, hyphens and . _ : / + @, as in {slug}"
        raise UserError(f"found {name!r}", where="--name", remedy=remedy)
    kinds = [*dict.fromkeys(KINDS.values()), *HOSTED]
    if kind not in (None, *kinds):
        remedy = f"say one of {', '.join(kinds)}, or leave it out"
        raise UserError(f"no kind {kind!r}", where="--kind", remedy=remedy)
    if kind and scheme and is_hosted != (scheme in SERVED):
        what = f"kind {kind} is of {'endpoints' if is_hosted else 'files'}"
        raise UserError(what, where=f"--kind of {spec.full_source}", remedy="leave --kind out")
    can_score = kind in ("causal", "completions") if kind else scheme in FILES
    if spec.start is not None and scheme not in CATALOGUED and not can_score:
        what = "a start token is of models that give log-probabilities of texts"
        remedy = "say --kind completions, or leave --start out"
        raise UserError(what, where=f"--start of {spec.full_source}", remedy=remedy)


def _is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter, and no whole model."""
    return (folder / ADAPTER).is_file() and not (folder / "config.json").exists()


def _has_chat_template(folder: Path) -> bool:
    """Whether a folder holds a chat template, in its own file or in the tokenizer's settings."""
    files = list(folder.iterdir())
    if any(path.name.startswith("chat_template") for path in files):
        return True
    tokenizer_configs = [path for path in files if path.name == "tokenizer_config.json"]
    return any("chat_template" in read_json_object(path) for path in tokenizer_configs)


def load(
    name: object,
    params: Catalogue | None = None,
    *,
    store: RowStore | None = None,
    device: str | None = None,
    where: str | None = None,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    cache_key: str | None = None,
) -> "Model":
    """Load a model of any kind, whose answers are cached in the row store.

    Args:
        name: `hub:org/name[@revision]`, `local:folder`, `package:module/file`, `endpoint:name`,
            `ollama:name`, `recorded:FILE`, a path that begins with `./` or `/` or ends with
            `.gguf`, or a name in the catalogue; or a loaded model of transformers or PEFT, or a
            function (`evenruler.models.in_memory.Function`).
        params: The catalogue; by default that of `params.yaml` in the current folder or above.
        store: Where answers are cached; the store under `cache_root()` by default.
        device: Device to compute on; a GPU where there is one by default.
        where: Where the model is declared, for errors; `params.yaml` by default.
        tokenizer: Of a loaded model.
        cache_key: The key of a function's answers in the cache; without one they are not cached.

    Returns:
        A model; `Model.can` says what it can do. Its weights are loaded when an answer is missing
        from the store.

    Raises:
        UserError: No such model or device, or its files are missing or not as declared.
    """
    row_store = store or RowStore()
    if params is None:
        resolved = resolve_model(name, row_store, tokenizer=tokenizer, cache_key=cache_key)
    else:
        resolved = ResolvedModel(cast(str, name), params)
    return resolved.load_model(row_store, device, where)


def parse_options(
    thinking: str | None = None,
    effort: str | None = None,
    template: Sequence[str] = (),
    new_tokens: int | None = None,
    timeout: int | None = None,
    answers_as: str | None = None,
    requests: str | None = None,
    partial: bool = False,
) -> dict[str, Any]:
    """Turn command-line options into entry options; UserError where one is malformed.

    `thinking`: `off` or a number of tokens; `template`: items `key=value`, where a value that is
    not JSON is a string.
    """
    if thinking is not None and thinking != "off" and not re.fullmatch("[0-9]{1,9}", thinking):
        raise UserError(
            f"found {thinking!r}",
            where="--thinking",
            remedy="say off, or how many tokens, as in 4096",
        )
    template_options = {}
    for assignment in template:
        key, sign, value = assignment.partition("=")
        if not (key and sign):
            raise UserError(
                f"found {assignment!r}",
                where="--template",
                remedy="say key=value, as in enable_thinking=false",
            )
        try:
            template_options[key] = json.loads(value)
        except ValueError:
            template_options[key] = value
    thinking_option = {"tokens": int(thinking)} if thinking and thinking != "off" else thinking
    options = {
        "thinking": thinking_option,
        "effort": effort,
        "template": template_options,
        "new_tokens": new_tokens,
        "timeout": timeout,
        "answers_as": answers_as,
        "requests": requests,
        "partial": partial,
    }
    return {key: setting for key, setting in options.items() if setting}


def _adapter_entry(folder: Path) -> dict[str, Any]:
    """The entry fields of an adapter folder: the adapter, and its base in a local folder or on the
    Hub.
    """
    adapter_config = read_json_object(folder / ADAPTER)
    base = str(adapter_config.get("base_model_name_or_path") or "")
    revision = adapter_config.get("revision")
    origin = f"{folder} on {base}"
    entry_fields: dict[str, Any] = {"adapter": str(folder), "origin": origin}
    if Path(base).is_dir():
        return {**entry_fields, "source": f"local:{base}"}
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", base):
        what = f"its base is {base!r}, which is neither a folder here nor a repository of the Hub"
        raise UserError(what, where=f"{folder / ADAPTER}: base_model_name_or_path", remedy="fix it")
    commit, licence = _hub_commit_and_licence(base, str(revision) if revision else None)
    return {**entry_fields, "source": f"hub:{base}", "revision": commit, "licence": licence}


def _resolve_object(
    model: object,
    spec: ModelSpec,
    store: RowStore,
    tokenizer: "PreTrainedTokenizerBase | None",
    cache_key: str | None,
) -> ResolvedModel:
    """A loaded model or function, with a catalogue entry made for it."""
    _require_fitting_settings(spec)
    if not callable(model):
        remedy = f"name it as {FORMS}, or give a loaded model or a function"
        raise UserError(f"found {type(model).__name__}", where="model", remedy=remedy)
    from evenruler.models import in_memory
    from evenruler.models.catalogue import backend_of

    fields: dict[str, Any] = {"licence": NOT_STATED, "origin": "given in Python"}
    if hasattr(model, "state_dict"):
        called = type(model).__name__
        if tokenizer is None:
            raise UserError("no tokenizer is given", where=called, remedy="say tokenizer=...")
        core = in_memory.core_of(cast("PreTrainedModel | PeftModel", model), called)
        kind = spec.kind or kind_of(
            {**core.config.to_dict(), "architectures": [type(core).__name__]}, called
        )
        fields |= {"kind": kind, "source": f"loaded:{called}"}
        if kind == "causal":
            has_template = bool(getattr(tokenizer, "chat_template", None))
            fields |= {"chat": has_template, "entailment": True}
        if kind in ("causal", "seq2seq"):
            generation_settings = core.generation_config.to_diff_dict()
            kinds = {"temperature": float, "top_p": float, "top_k": int}
            fields["sampling"] = {
                key: make(generation_settings[key])
                for key, make in kinds.items()
                if generation_settings.get(key) is not None
            }
        basename = str(core.config.name_or_path).rpartition("/")[2]
        slug = _model_slug(spec.name or basename or called)
        resolved = _resolve_entry(replace(spec, reference=called), slug, fields)
        loaded_model = LoadedModel(tokenizer, core)
        wrapped_model = in_memory.model_in_memory(
            slug, resolved.entry, loaded_model, store, cache_key, backend_of
        )
    else:
        called = in_memory.qualified_name(model)
        slug = _model_slug(spec.name or called.rpartition(".")[2])
        fields |= {"kind": "chat", "source": f"function:{called}"}
        resolved = _resolve_entry(replace(spec, reference=called), slug, fields)
        wrapped_model = in_memory.model_of_function(slug, resolved.entry, model, store, cache_key)
    return replace(resolved, model=wrapped_model, reference=slug)


def _hub_commit_and_licence(repo: str, revision: str | None) -> tuple[str, str]:
    """The commit of a revision, and the licence on the model card."""
    from huggingface_hub import HfApi

    from evenruler.hub import hub_errors_as_user_errors, licence_of

    if revision and re.fullmatch("[0-9a-f]{40}", revision):
        return revision, NOT_STATED
    with hub_errors_as_user_errors(repo, revision=revision, where=f"hub:{repo}"):
        info = HfApi().model_info(repo, revision=revision)
    return str(info.sha), licence_of(info.card_data) or NOT_STATED


def _model_slug(text: str) -> str:
    """The slug of a model's name, for files; "model" if the name has no letter or digit, UserError
    if it is too long.
    """
    slug = slug_of(text) or "model"
    if len(slug) > LONGEST_SLUG:
        what = f"a name of {len(slug)} characters, at most {LONGEST_SLUG} are allowed"
        raise UserError(what, where=f"{slug[:40]}...", remedy="give a shorter --name")
    return slug


def kind_of(config: dict[str, Any], where: str) -> Kind:
    """The kind of a model, from its `config.json`; UserError where it is not supported.

    Encoder-decoders, and what fills gaps or classifies, are told by the name of their class, and
    all others by what transformers loads for their `model_type`. The mappings take two seconds to
    import, and add nothing to a name that ends with ForCausalLM.
    """
    classes = config.get("architectures")
    classes = classes if isinstance(classes, list) and classes else ["no class"]
    class_name = str(classes[0])
    fitting_kinds = (kind for ending, kind in KINDS.items() if class_name.endswith(ending))
    class_kind = next(fitting_kinds, None)
    labels: list[str] = []
    named = config.get("id2label")
    if isinstance(named, dict):
        labels = sorted(str(label).lower() for label in named.values())
    if class_kind == "seq2seq" and not config.get("is_encoder_decoder"):
        class_kind = None  # models of images and text have this class name, too
    if class_kind is None and named_auto_class(config):
        class_kind = "causal"
    if class_kind is None or (class_kind == "nli" and labels != sorted(LABELS)):
        with_labels = f" with labels {', '.join(labels)}" if class_kind else ""
        what = f"its configuration says {class_name}{with_labels}"
        remedy = "give --kind causal, seq2seq, masked or nli if it is one"
        raise UserError(f"{what}, which is nothing that can be asked", where=where, remedy=remedy)
    return class_kind


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a model's file; UserError where it is not one."""
    remedy = "get the file again"
    content = json_of_others(read_text(path, remedy), str(path), remedy)
    if not isinstance(content, dict):
        raise UserError("no object of JSON", where=str(path), remedy=remedy)
    return content
