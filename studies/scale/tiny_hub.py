"""A Hub on loopback with a tiny random model in every repository that `params.yaml` and
`rehearsed.yaml` name.
"""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from transformers.utils.logging import disable_progress_bar

from studies.scale.tiny_models import SHAPES, save_model
from tests.loopback_hub import Blob, Commit, LoopbackHub, Repo

PAIRS = "data/sources/questionnaires/shared/pairs/entailment-pairs.csv"
"""What MultiNLI is here."""

ENTAILMENT = "nyu-mll/multi_nli"
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}
"""As MultiNLI numbers them."""

NOT_STATED = "not stated"


def fill_hub(hub: LoopbackHub, params: Mapping[str, Any], folder: Path, root: Path) -> None:
    """Put every model and data set of the declaration on the Hub, at the commit that it is pinned
    to.

    Args:
        hub: The Hub.
        params: What `params.yaml` says.
        folder: Where models are saved first, by their names.
        root: The repository, for its labelled pairs.

    Raises:
        KeyError: A model of the Hub has no shape in `rehearsed.yaml`.
    """
    disable_progress_bar()
    for name, entry in list_declared_models(params).items():
        save_model(folder / name, name, entry["kind"])
        repo = entry["source"].removeprefix("hub:")
        licence = "" if entry["licence"] == NOT_STATED else entry["licence"]
        files = read_blobs(folder / name)
        hub.repos[repo] = make_repository(files, entry.get("revision"), licence)
    hub.repos[ENTAILMENT] = make_repository(make_entailment(root / PAIRS), None, "other")


def list_declared_models(params: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Entries of models of the Hub at the profile, and of those that only `rehearsed.yaml` has."""
    declared = {}
    for name, entry in params["models"].items():
        is_of_hub = str(entry["source"]).startswith("hub:")
        if is_of_hub and entry.get("profile") != "none":
            declared[name] = entry
    for name, shape in SHAPES.items():
        if shape.repo:
            source = f"hub:{shape.repo}"
            declared[name] = {"kind": "causal", "source": source, "licence": "cc0-1.0"}
    return declared


def read_blobs(folder: Path) -> dict[str, Blob]:
    """The files of a folder, by name."""
    return {path.name: Blob(path.read_bytes(), lfs=False) for path in sorted(folder.iterdir())}


def make_repository(files: Mapping[str, Blob], revision: str | None, licence: str) -> Repo:
    """A repository with one commit, whose name is the revision if there is one."""
    repository = Repo(private=False, card={"license": licence} if licence else {})
    if revision is None:
        repository.commit(dict(files), "tiny")
    else:
        repository.commits[revision] = Commit(dict(files), "tiny", None)
        repository.head = revision
    return repository


def make_entailment(path: Path) -> dict[str, Blob]:
    """Labelled pairs as a data set with the splits that MultiNLI has."""
    pairs = pd.read_csv(path, keep_default_na=False)
    rows = pairs[["premise", "hypothesis"]].assign(label=pairs["label"].map(LABELS))
    return dict(_write_splits(rows))


def _write_splits(rows: pd.DataFrame) -> Iterator[tuple[str, Blob]]:
    held_out = rows.index % 3 == 0
    splits = {"train": rows[~held_out], "validation_matched": rows[held_out]}
    for name, part in splits.items():
        written = io.BytesIO()
        part.to_parquet(written, index=False)
        yield f"data/{name}-00000-of-00001.parquet", Blob(written.getvalue(), lfs=True)
