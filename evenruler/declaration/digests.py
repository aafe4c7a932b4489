"""Digests of what the stages of an instrument and of a model depend on, beside files: settings,
models, versions.

DVC cannot follow a name from one entry of `params.yaml` to another, nor does it know defaults that
stand in code. So the stage `declared` resolves them, and other stages depend on the digests.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evenruler.declaration.active import DeclaredInstrument
from evenruler.declaration.code import code_digests
from evenruler.declaration.params import Params
from evenruler.declaration.params_file import Active
from evenruler.files import file_sha256
from evenruler.models.declarations import Catalogue

DIGITS = 12
"""Length of a digest."""


def compute_digests(
    root: Path, params: Params, active: Active, instruments: Sequence[DeclaredInstrument]
) -> dict[str, Any]:
    """Everything that stages depend on beside files, by kind.

    `code`: by stage, and by family where a stage is run for one; `settings` and `tools`: by
    instrument in use, its own settings with the files beside its source, and the entries of models
    that it names; `models`: by model
    that is asked; `labels`: one digest of their labels; `versions` of benchmarks, by instrument;
    `declared`: one digest of settings and versions, for stages that show all instruments.

    What stages name is a text, never a mapping: DVC leaves out keys `size` and `nfiles` of mappings
    when it looks for an earlier run, and would restore the outputs of another model's label.
    """
    in_use = [instrument for instrument in instruments if instrument.name in active.instruments]
    settings = {instrument.name: digest_settings(instrument, root) for instrument in in_use}
    versions = {
        instrument.name: params.version(f"{instrument.family}-{instrument.name}")
        for instrument in in_use
    }
    code = code_digests(root)
    tools = {instrument.name: digest_tools(instrument, params) for instrument in in_use}
    models = {model: _digest_json(*model_entries(model, params)) for model in active.models}
    return {
        "code": code,
        "settings": settings,
        "tools": tools,
        "models": models,
        "labels": _digest_json(labels_of(active.models, params)),
        "versions": versions,
        "declared": _digest_json(settings, versions),
    }


def labels_of(models: Iterable[str], catalogue: Catalogue) -> dict[str, str]:
    """What models are called where their names are no slugs: `GPT-4.1` of `gpt-4-1`."""
    labels: dict[str, str] = {}
    for name in models:
        entry = catalogue.models.get(name)
        if entry is not None and entry.label is not None:
            labels[name] = entry.label
    return labels


def digest_settings(instrument: DeclaredInstrument, root: Path = Path()) -> str:
    """A digest of an instrument's settings at every size, without those at their default.

    Files beside its source count, too, such as a table of prompts, but where a stage makes tables
    of them, which depends on them itself.
    """
    every_size = (instrument.settings, *instrument.sizes.values())
    content: list[object] = [
        settings.model_dump(mode="json", exclude_defaults=True) for settings in every_size
    ]
    if instrument.made_by is None:
        content += [file_sha256(root / path) for path in instrument.extra_files.values()]
    return _digest_json(*content)


def digest_tools(instrument: DeclaredInstrument, catalogue: Catalogue) -> str:
    """A digest of the entries of all models that an instrument names."""
    names = sorted({use.model for use in instrument.uses})
    return _digest_json(*(model_entries(name, catalogue) for name in names))


def model_entries(model: str, catalogue: Catalogue) -> list[object]:
    """A model's entry with what it refers to: the training data of its head, or the model it is
    made from.
    """
    entry = catalogue.models[model]
    entries: list[object] = [model, entry.model_dump(mode="json", exclude_defaults=True)]
    if entry.finetune is not None:
        entries.append(catalogue.training[entry.finetune.validation].model_dump(mode="json"))
    if entry.scheme == "untrained":
        entries += model_entries(entry.locations[0][1], catalogue)
    return entries


def _digest_json(*content: object) -> str:
    """Of JSON content in the order in which it was written, which counts for some settings, such as
    roles.
    """
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:DIGITS]
