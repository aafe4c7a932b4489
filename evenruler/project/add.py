"""`evenruler add`: writes the entry of a model on the Hub into `params.yaml`, by what its files
say.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import filter as names_like
from pathlib import Path
from typing import Any, Literal, get_args

from evenruler.declaration.params import Params
from evenruler.errors import UserError, suggest_nearest
from evenruler.evaluate.resolve_model import kind_of, read_json_object
from evenruler.hub import HubCommit, RepositoryError, find_commit, hub_errors_as_user_errors
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.models.declarations import NOT_STATED, Kind, ModelEntry, slug_of
from evenruler.models.loading import UNQUANTISED, Dtype, dtype_of
from evenruler.models.sources import TOKENIZERS
from evenruler.project.editing import append_entries
from evenruler.project.pin import require_edit
from evenruler.strict import content_of, read_text, validate

DESCRIBING = ["config.json", "tokenizer_config.json", "chat_template*"]
"""Files that say how a model is asked."""

NEEDED = {
    "config.json": ["config.json"],
    "weights (*.safetensors)": ["*.safetensors", "*.bin"],
    "tokenizer": TOKENIZERS,
}
"""Patterns of the files without which a model cannot be loaded, by what they hold."""

FINAL_CHANNEL = "<|channel|>final<|message|>"
"""What ends a thought in the template of gpt-oss."""


def split_source(source: str) -> tuple[str, str | None]:
    """Repository and revision of `hub:ORG/NAME[@REVISION]`; UserError for another source."""
    scheme, _, rest = source.partition(":")
    repo, _, revision = rest.partition("@")
    if scheme != "hub" or not repo:
        raise UserError(f"found {source!r}", where="evenruler add", remedy="say hub:ORG/NAME")
    return repo, revision or None


def name_of(source: str) -> str:
    """The name of a model by default: that of its repository, as a slug."""
    repo, _ = split_source(source)
    return slug_of(repo.rpartition("/")[2])


@dataclass(frozen=True)
class DescribingFiles:
    """The files of a repository that say how its model is asked, at a commit."""

    source: str
    """As the user or a list names it, for errors."""
    repo: str
    commit: HubCommit
    folder: Path


def describe_model(source: str, kind: Kind | None = None) -> dict[str, Any]:
    """The keys of an entry for `hub:ORG/NAME[@REVISION]`, from the repository's card and files.

    `kind`: by default that of the model's class. UserError where it cannot be read or asked.
    """
    return describe_files(fetch_describing_files(source), kind)


def fetch_describing_files(
    source: str, needed: Mapping[str, Sequence[str]] = NEEDED
) -> DescribingFiles:
    """Find the commit of `hub:ORG/NAME[@REVISION]`, and download what describes its model.

    RepositoryError where it lacks a file, as `needed` has patterns by what they hold, or cannot be
    read; UserError where the Hub fails.
    """
    from huggingface_hub import snapshot_download

    repo, revision = split_source(source)
    commit = find_commit(repo, revision, where=source)
    top_files = [name for name in commit.files if "/" not in name]
    for what, patterns in needed.items():
        if not any(names_like(top_files, pattern) for pattern in patterns):
            remedy = "name a repository that transformers loads"
            raise RepositoryError(f"no {what}", where=source, remedy=remedy)
    with hub_errors_as_user_errors(repo, revision=commit.sha, where=source):
        folder = snapshot_download(repo, revision=commit.sha, allow_patterns=DESCRIBING)
    return DescribingFiles(source, repo, commit, Path(folder))


def describe_files(files: DescribingFiles, kind: Kind | None = None) -> dict[str, Any]:
    """The keys of an entry, as `describe_model`; the Hub is not asked."""
    source, repo, commit = files.source, files.repo, files.commit
    config = read_json_object(files.folder / "config.json")
    if config.get("quantization_config"):
        raise UserError("its weights are quantised", where=source, remedy=UNQUANTISED)
    kind = kind or kind_of(config, source)
    _require_class(config, source)
    fields: dict[str, Any] = {"kind": kind, "source": f"hub:{repo}"}
    fields["revision"] = commit.sha
    if dtype_of(config) in get_args(Dtype):
        fields["dtype"] = dtype_of(config)
    template = read_chat_template(files.folder)
    if kind == "causal" and template:
        fields["chat"] = True
        thinking = thinking_of(template)
        if thinking:
            fields["thinking"] = thinking
    fields |= {"licence": commit.licence or NOT_STATED, "origin": repo}
    return fields


def _require_class(config: Mapping[str, Any], where: str) -> None:
    """UserError where transformers has no code for a model, so that its repository brings its
    own.
    """
    from transformers import CONFIG_MAPPING  # takes seconds

    if config.get("model_type") not in CONFIG_MAPPING:
        what = f"transformers has no model of type {config.get('model_type')!r}"
        remedy = "name another model; code that one brings along is never run"
        raise UserError(what, where=where, remedy=remedy)


def read_chat_template(folder: Path) -> str:
    """The chat template of a folder, in a file of its own or in the tokenizer's settings; empty if
    there is none.
    """
    for path in sorted(folder.glob("chat_template*")):
        return read_text(path)
    path = folder / "tokenizer_config.json"
    template = read_json_object(path).get("chat_template") if path.exists() else None
    if template is None or isinstance(template, str):
        return template or ""
    return json.dumps(template)  # several, by name


def thinking_of(template: str) -> Literal["off"] | dict[str, Any] | None:
    """The setting `thinking` for a chat template: off where it has an option for that, a budget
    where it always opens a thought, None where it opens none.
    """
    if "enable_thinking" in template:
        return "off"
    if FINAL_CHANNEL in template:
        return {"tokens": 4096, "end": FINAL_CHANNEL}
    _, _, generation_prompt = template.rpartition("add_generation_prompt")
    return {"tokens": 4096} if "<think>" in generation_prompt else None


def require_fitting_words(params: Params, name: str, families: Sequence[str]) -> None:
    """UserError where a name is taken or no slug, or there is no such family; nothing is asked."""
    if not name or slug_of(name) != name:
        remedy = f"say lower-case letters, digits and hyphens, as in {slug_of(name) or 'my-model'}"
        raise UserError(f"found {name!r}", where="--name", remedy=remedy)
    if name in params.models:
        what = f"there is a model {name!r} already"
        raise UserError(what, where="params.yaml: models", remedy="say another --name")
    for family in families:
        if family not in FAMILIES:
            remedy = suggest_nearest(family, FAMILIES)
            raise UserError(f"no family {family!r}", where="--family", remedy=remedy)


def add_models(
    text: str, path: Path, params: Params, entries: Mapping[str, Mapping[str, Any]]
) -> str:
    """The text of `params.yaml` with entries of these keys, by name, at the end of `models`.

    UserError where a family that is named in `families` cannot ask such a model.
    """
    expected = content_of(text, path)
    for name, fields in entries.items():
        entry = validate(ModelEntry, dict(fields), path, under=f"models.{name}")
        catalogue = params.model_copy(update={"models": {**params.models, name: entry}})
        for family in entry.families or ():
            if not family_module(family, "declare").takes(catalogue, name):
                what = f"it asks nothing that a model of kind {entry.kind} can do"
                raise UserError(what, where=f"--family {family}", remedy="name another family")
        expected["models"][name] = dict(fields)
    return require_edit(lambda: append_entries(text, "models", entries), path, expected)


def choose_settings(
    kind: Kind, families: Sequence[str], profile: Literal["quick", "paper", "none"]
) -> dict[str, Any]:
    """The keys of an entry that say who asks the model."""
    settings: dict[str, Any] = {"families": list(families)} if families else {}
    if kind == "causal" and (not families or "questionnaires" in families):
        settings["entailment"] = True
    return {**settings, "profile": profile}
