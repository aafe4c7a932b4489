"""Repositories of models on a loopback Hub, and a folder whose `params.yaml` names them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.hub_client import Client
from tests.loopback_hub import Blob, LoopbackHub, Repo
from tests.warm import Warm

WEIGHTS = {"model.safetensors": "", "tokenizer.json": "{}"}


def add_repository(
    hub: LoopbackHub,
    name: str,
    card: dict[str, str] | None = None,
    *,
    config: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    gated: bool = False,
) -> str:
    """Put a repository with one commit on a Hub; returns the commit."""
    contents = {"config.json": json.dumps(config or {})} if files is None else files
    repository = hub.repos[name] = Repo(private=False, card=card or {}, gated=gated)
    blobs = {path: Blob(text.encode(), lfs=False) for path, text in contents.items()}
    return repository.commit(blobs, f"of {name}")


def add_model(
    hub: LoopbackHub,
    name: str,
    config: dict[str, Any],
    files: Mapping[str, str | None] | None = None,
    *,
    card: dict[str, str] | None = None,
    gated: bool = False,
) -> str:
    """Put a model that can be loaded on a Hub; returns its commit. `files`: further ones, and None
    for those of `WEIGHTS` that it lacks.
    """
    contents = {"config.json": json.dumps(config), **WEIGHTS, **(files or {})}
    there = {path: text for path, text in contents.items() if text is not None}
    return add_repository(hub, name, card or {"license": "apache-2.0"}, files=there, gated=gated)


def make_client(hub: LoopbackHub, tmp_path: Path, params: str, warm: Warm | None) -> Client:
    """A client in a folder with this `params.yaml`."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "params.yaml").write_text(params, encoding="utf-8")
    return Client(hub, root, tmp_path / "home", warm)


def list_errors(output: str) -> list[str]:
    """The lines of errors that a command printed."""
    return [line for line in output.splitlines() if line.startswith("error: ")]
