"""Resolve the model that a user names: on the Hub, in files, on a server, in the catalogue, or a
Python object.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from evenruler import repository
from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError, suggest_nearest
from evenruler.files import folder_sha256
from evenruler.models import sources
from evenruler.models.declarations import (
    HOSTED,
    LABEL_PATTERN,
    NOT_STATED,
    SERVED,
    Catalogue,
    Kind,
    ModelEntry,
    slug_of,
)
from evenruler.models.loading import ADAPTER, LoadedModel
from evenruler.models.loading import Dtype as Dtype
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
"""Kind by the ending of the class name in a model's configuration."""

FILES: Final = ("hub", "local", "package")
"""Schemes of models that are files."""

UNDECLARED: Final = (*FILES, "endpoint", "ollama", "recorded", "planted")
"""Schemes of models that need no entry in the catalogue."""

NO_OPTIONS: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class ResolvedModel:
    """The model to measure."""

    name: str
    """Its name in figures and folders."""
    catalogue: Catalogue
    model: "Model | None" = None
    """The model, if given in Python; otherwise the catalogue says how to load it."""

    @property
    def entry(self) -> ModelEntry:
        """Its entry in the catalogue."""
        return self.catalogue.models[self.name]


def resolve_model(
    model: object,
    store: RowStore,
    *,
    name: str | None = None,
    kind: str | None = None,
    dtype: Dtype = "float32",
    start: str | None = None,
    options: Mapping[str, Any] = NO_OPTIONS,
    root: Path | None = None,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    cache_key: str | None = None,
) -> ResolvedModel:
    """Resolve a model: one of `FORMS`, a name in the catalogue, a loaded model, or a function.

    Outside the catalogue, kind and chat support are read from the model's files; a Hub name is
    resolved to its commit. Arguments as in `evenruler.measure`; `store`: where converted files are
    kept; `root`: the repository with the catalogue, by default the current folder's or one above. A
    name that is not a slug (`gpt-3.5`) makes one (`gpt-3-5`), and is the label of its entry.
    UserError where there is no such model, its files are missing, or its kind is not supported.
    """
    label, name = name, _slug_of_name(name)
    resolved = _resolve_any(
        model,
        store,
        name=name,
        kind=kind,
        dtype=dtype,
        start=start,
        options=options,
        root=root,
        tokenizer=tokenizer,
        cache_key=cache_key,
    )
    if label == name:
        return resolved
    labelled = _with_options(resolved.entry, {"label": label}, "--name")
    catalogue = _add_to_catalogue(resolved.catalogue, resolved.name, labelled).catalogue
    return replace(resolved, catalogue=catalogue)


def _resolve_any(
    model: object,
    store: RowStore,
    *,
    name: str | None,
    kind: str | None,
    dtype: Dtype,
    start: str | None,
    options: Mapping[str, Any],
    root: Path | None,
    tokenizer: "PreTrainedTokenizerBase | None",
    cache_key: str | None,
) -> ResolvedModel:
    """A model by any of its forms; `name`: a slug."""
    _require_kind(kind)
    if not isinstance(model, str | Path):
        return _resolve_object(model, store, name, kind, tokenizer, cache_key, start)
    model = str(model)
    if tokenizer is not None or cache_key is not None:
        what = "a tokenizer is of loaded models, a cache key of what Python gives"
        raise UserError(what, where=model, remedy="leave them out")
    if re.match(r"\.{0,2}/|~|[^:]+\.gguf$", model):
        model = f"local:{model}"
    scheme, _, rest = model.partition(":")
    if kind is not None and rest and (kind in HOSTED) != (scheme in SERVED):
        what = f"kind {kind} is of {'endpoints' if kind in HOSTED else 'files'}"
        raise UserError(what, where=f"--kind of {model}", remedy="leave --kind out")
    if not rest or scheme not in UNDECLARED:
        start_option = {"start": start} if start else {}
        return _resolve_declared(model, name, {**options, **start_option}, root)
    if scheme == "planted":
        return _resolve_planted(model, store, name, options, root)
    return _resolve_source(
        model, store, name=name, kind=kind, dtype=dtype, start=start, options=options
    )


def _slug_of_name(name: str | None) -> str | None:
    """The slug that a name for results makes; UserError where it can be no label."""
    if name is None:
        return None
    if not re.fullmatch(LABEL_PATTERN, name):
        remedy = f"letters, digits, hyphens and . _ : / + @, as in {_model_slug(name)}"
        raise UserError(f"found {name!r}", where="--name", remedy=remedy)
    return _model_slug(name)


def _require_kind(kind: str | None) -> None:
    """UserError where there is no such kind."""
    if kind is not None and kind not in KINDS.values() and kind not in HOSTED:
        kind_names = ", ".join([*dict.fromkeys(KINDS.values()), *HOSTED])
        raise UserError(
            f"no kind {kind!r}", where="--kind", remedy=f"say one of {kind_names}, or leave it out"
        )


def _resolve_declared(
    model: str, name: str | None, options: Mapping[str, Any], root: Path | None
) -> ResolvedModel:
    """A model by its name in the catalogue."""
    params = _params_path(root)
    remedy = f"name it as {FORMS}"
    if not params.exists():
        if model and Path(model).is_dir():
            remedy = f"say `local:{model}`"
        elif re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", model):
            remedy = f"say `hub:{model}`"
        raise UserError(
            "no such model, and no catalogue (params.yaml) here", where=model, remedy=remedy
        )
    catalogue = ParamsFile(params).catalogue
    if model not in catalogue.models:
        remedy = f"{remedy}, or check the name ({suggest_nearest(model, catalogue.models)})"
        raise UserError(f"no model {model!r}", where=f"{params}: models", remedy=remedy)
    model_entry = _with_options(catalogue.models[model], options, model)
    return _add_to_catalogue(catalogue, name or model, model_entry)


def _resolve_planted(
    model: str,
    store: RowStore,
    name: str | None,
    options: Mapping[str, Any],
    root: Path | None,
) -> ResolvedModel:
    """A weight of a plant, which is made if it is missing."""
    from evenruler.training import plants

    weight = plants.PlantedModel.parse(model)
    catalogue = ParamsFile(_params_path(root)).catalogue
    model_entry = _with_options(plants.entry_of(weight, catalogue, store), options, model)
    return _add_to_catalogue(catalogue, name or weight.name, model_entry)


def _params_path(root: Path | None) -> Path:
    """The file with the catalogue, in `root` or the repository here."""
    return (root or repository.find_repository_root() or Path()) / "params.yaml"


def _add_to_catalogue(catalogue: Catalogue, slug: str, model_entry: ModelEntry) -> ResolvedModel:
    """A model in a copy of the catalogue that has its entry."""
    models = {**catalogue.models, slug: model_entry}
    return ResolvedModel(slug, catalogue.model_copy(update={"models": models}))


def _resolve_source(
    model: str,
    store: RowStore,
    *,
    name: str | None,
    kind: str | None,
    dtype: Dtype,
    start: str | None,
    options: Mapping[str, Any],
) -> ResolvedModel:
    """A model by its source, in files, on a server or as recorded answers, in a catalogue of its
    own.
    """
    scheme, _, rest = model.partition(":")
    entry_fields: dict[str, Any] = {
        "source": model,
        "dtype": dtype,
        "licence": NOT_STATED,
        "origin": rest,
    }
    called = rest
    if scheme == "hub":
        hub_fields, called = _hub_fields(rest)
        entry_fields |= hub_fields
    slug = name or _model_slug(called.removesuffix(".gguf").rpartition("/")[2])
    if start is not None:
        _require_text_scores(model, scheme, kind)
    entry_fields["start"] = start
    if scheme == "endpoint":
        entry_fields |= {"kind": kind or "chat"}
    elif scheme == "ollama":
        from evenruler.models.in_memory import digest_of

        entry_fields |= {"kind": kind or "chat", "revision": digest_of(rest)}
        slug = name or _model_slug(rest)
    elif scheme == "recorded":
        from evenruler.models.answer_logs.exported import said_of

        log_fields = said_of(at_home(rest)) or {"kind": "recorded"}
        slug = name or log_fields.pop("name", slug)
        entry_fields |= {key: value for key, value in log_fields.items() if key != "name"}
    else:
        entry_fields |= _fields_of_files(model, entry_fields, slug, kind, store)
    entry = _with_options(validate(ModelEntry, entry_fields, Path(model)), options, model)
    return ResolvedModel(
        slug, validate(Catalogue, {"models": {slug: entry.model_dump()}}, Path(model))
    )


def _hub_fields(reference: str) -> tuple[dict[str, Any], str]:
    """The entry fields of `ORG/NAME[@REVISION]` on the Hub, pinned to a commit; and what to call
    it.
    """
    repo, _, revision = reference.partition("@")
    commit, licence = _hub_commit_and_licence(repo, revision or None)
    hub_fields = {"source": f"hub:{repo}", "revision": commit, "licence": licence, "origin": repo}
    called = f"{repo}-{revision[:12]}" if revision else repo
    return hub_fields, called


def _require_text_scores(model: str, scheme: str, kind: str | None) -> None:
    """UserError where a start token is set for a model that, by its scheme or kind, cannot give
    log-probabilities of texts.
    """
    if kind is None:
        can_score = scheme in FILES
    else:
        can_score = kind in ("causal", "completions")
    if not can_score:
        what = "a start token is of models that give log-probabilities of texts"
        raise UserError(
            what, where=f"--start of {model}", remedy="say --kind completions, or leave --start out"
        )


def _fields_of_files(
    model: str, entry_fields: Mapping[str, Any], slug: str, kind: str | None, store: RowStore
) -> dict[str, Any]:
    """The entry fields that a model's files tell: kind, chat support, base of an adapter, and for a
    package or a single file the checksum.
    """
    scheme, _, rest = model.partition(":")
    source = entry_fields["source"]
    file_fields: dict[str, Any] = {}
    files: list[Path] = []
    if scheme == "local" and _is_adapter(at_home(rest)):
        file_fields |= _adapter_entry(at_home(rest))
        source = file_fields["source"]
        files += at_home(rest).iterdir()
    if scheme == "package" or source.lower().endswith(".gguf"):
        path = sources.path_of(source, model)
        file_fields["sha256"] = (
            folder_sha256(path, store.file_sha256) if path.is_dir() else store.file_sha256(path)
        )
    guessed_fields = {**entry_fields, **file_fields, "kind": "causal"}
    guessed = validate(ModelEntry, guessed_fields, Path(model))
    folder = sources.locate_model(slug, guessed, store, where=model)
    file_kind = kind or kind_of(_read_json_object(folder / "config.json"), model)
    file_fields["kind"] = file_kind
    if entry_fields["start"] is not None and file_kind != "causal":
        what = (
            "a start token is of models that give log-probabilities of texts, and it is "
            f"{file_kind}"
        )
        raise UserError(what, where=f"--start of {model}", remedy="leave --start out")
    if file_kind == "causal":
        has_template = _has_chat_template([*files, *folder.iterdir()])
        file_fields |= {"chat": has_template, "entailment": True}
    return file_fields


def _is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter, and no whole model."""
    return (folder / ADAPTER).is_file() and not (folder / "config.json").exists()


def _has_chat_template(files: Sequence[Path]) -> bool:
    """Whether a model's files hold a chat template, of its own or in the tokenizer's settings."""
    if any(path.name.startswith("chat_template") for path in files):
        return True
    tokenizer_configs = [path for path in files if path.name == "tokenizer_config.json"]
    return any("chat_template" in _read_json_object(path) for path in tokenizer_configs)


def is_recorded(model: str) -> bool:
    """Whether a name is that of recorded answers, here or in the catalogue; no model's files are
    read.
    """
    params = _params_path(None)
    declared = ParamsFile(params).catalogue.models.get(model) if params.exists() else None
    return model.startswith("recorded:") or (declared is not None and declared.scheme == "recorded")


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
    from evenruler.models import catalogue

    if params is not None:
        return catalogue.load_model(
            cast(str, name), params, store=store, device=device, where=where
        )
    row_store = store or RowStore()
    resolved_model = resolve_model(name, row_store, tokenizer=tokenizer, cache_key=cache_key)
    return resolved_model.model or catalogue.load_model(
        resolved_model.name, resolved_model.catalogue, store=row_store, device=device, where=where
    )


def _with_options(entry: ModelEntry, options: Mapping[str, Any], model: str) -> ModelEntry:
    """An entry updated with options; mappings are merged."""
    fields = entry.model_dump(exclude_unset=True)
    for key, value in options.items():
        fields[key] = (
            {**(fields.get(key) or {}), **value}
            if isinstance(value, dict) and fields.get(key) != "off"
            else value
        )
    return validate(ModelEntry, fields, Path(model)) if options else entry


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
    adapter_config = _read_json_object(folder / ADAPTER)
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
    store: RowStore,
    name: str | None,
    kind: str | None,
    tokenizer: "PreTrainedTokenizerBase | None",
    cache_key: str | None,
    start: str | None,
) -> ResolvedModel:
    """A loaded model or function, with a catalogue entry made for it."""
    if not callable(model):
        remedy = f"name it as {FORMS}, or give a loaded model or a function"
        raise UserError(f"found {type(model).__name__}", where="model", remedy=remedy)
    from evenruler.models import in_memory
    from evenruler.models.catalogue import backend_of

    entry_fields: dict[str, Any] = {
        "licence": NOT_STATED,
        "origin": "given in Python",
        "start": start,
    }
    if hasattr(model, "state_dict"):
        called = type(model).__name__
        if tokenizer is None:
            raise UserError("no tokenizer is given", where=called, remedy="say tokenizer=...")
        core = in_memory.core_of(cast("PreTrainedModel | PeftModel", model), called)
        entry_fields["kind"] = kind or kind_of(
            {**core.config.to_dict(), "architectures": [type(core).__name__]}, called
        )
        if entry_fields["kind"] == "causal":
            entry_fields |= {
                "chat": bool(getattr(tokenizer, "chat_template", None)),
                "entailment": True,
            }
        if entry_fields["kind"] in ("causal", "seq2seq"):
            generation_settings = core.generation_config.to_diff_dict()
            kinds = {"temperature": float, "top_p": float, "top_k": int}
            entry_fields["sampling"] = {
                key: make(generation_settings[key])
                for key, make in kinds.items()
                if generation_settings.get(key) is not None
            }
        slug = name
        if not slug:
            basename = str(core.config.name_or_path).rpartition("/")[2]
            slug = _model_slug(basename or called)
        entry = validate(ModelEntry, {**entry_fields, "source": f"loaded:{called}"}, Path(called))
        wrapped_model = in_memory.model_in_memory(
            slug, entry, LoadedModel(tokenizer, core), store, cache_key, backend_of
        )
    else:
        called = in_memory.qualified_name(model)
        slug = name or _model_slug(called.rpartition(".")[2])
        entry = validate(
            ModelEntry,
            {**entry_fields, "kind": "chat", "source": f"function:{called}"},
            Path(called),
        )
        wrapped_model = in_memory.model_of_function(slug, entry, model, store, cache_key)
    return ResolvedModel(
        slug,
        validate(Catalogue, {"models": {slug: entry.model_dump()}}, Path(called)),
        wrapped_model,
    )


def _hub_commit_and_licence(repo: str, revision: str | None) -> tuple[str, str]:
    """The commit of a revision, and the licence on the model card."""
    from huggingface_hub import HfApi

    from evenruler.hub import hub_errors_as_user_errors

    if revision and re.fullmatch("[0-9a-f]{40}", revision):
        return revision, NOT_STATED
    with hub_errors_as_user_errors(repo, revision=revision, where=f"hub:{repo}"):
        info = HfApi().model_info(repo, revision=revision)
    return str(info.sha), str(getattr(info.card_data, "license", None) or NOT_STATED)


def _model_slug(text: str) -> str:
    slug = slug_of(text) or "model"
    if len(slug) > LONGEST_SLUG:
        what = f"a name of {len(slug)} characters, at most {LONGEST_SLUG} are allowed"
        raise UserError(what, where=f"{slug[:40]}...", remedy="give a shorter --name")
    return slug


def kind_of(config: dict[str, Any], where: str) -> Kind:
    """The kind of a model, from its `config.json`; UserError where it is not supported."""
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
    if class_kind is None or (class_kind == "nli" and labels != sorted(LABELS)):
        with_labels = f" with labels {', '.join(labels)}" if class_kind else ""
        what = f"its configuration says {class_name}{with_labels}"
        remedy = "give --kind causal, seq2seq, masked or nli if it is one"
        raise UserError(f"{what}, which is nothing that can be asked", where=where, remedy=remedy)
    return class_kind


def _read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a model's file; UserError where it is not one."""
    remedy = "get the file again"
    content = json_of_others(read_text(path, remedy), str(path), remedy)
    if not isinstance(content, dict):
        raise UserError("no object of JSON", where=str(path), remedy=remedy)
    return content
