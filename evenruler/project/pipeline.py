"""The stages of dvc.yaml, by the names that DVC gives them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenruler.errors import UserError
from evenruler.strict import content_of


def stage_names(pipeline: str, params: str) -> list[str]:
    """The stages of files that need not have been written yet; those of `foreach` by their keys, as `rows@gad-7`.

    Whether DVC takes the rest of a stage, `dvc repro` says: it would take two seconds to ask here.

    Args:
        pipeline: The text of dvc.yaml.
        params: The text of params.yaml.

    Raises:
        UserError: A `foreach` goes through nothing, or the file holds no stages.
    """
    stages = (content_of(pipeline, Path("dvc.yaml")) or {}).get("stages")
    declared = content_of(params, Path("params.yaml"))
    if not isinstance(stages, dict) or not all(isinstance(entry, dict) for entry in stages.values()):
        raise UserError("no mapping of stages", where="dvc.yaml: stages", remedy="mend it, or `git checkout dvc.yaml`")
    return [own for name, entry in stages.items() for own in _names(name, entry, declared)]


def _names(name: str, entry: dict[str, Any], declared: Any) -> Iterator[str]:
    if "foreach" not in entry:
        yield name
        return
    found = entry["foreach"]
    if isinstance(found, str) and (key := re.fullmatch(r"\$\{([\w.-]+)\}", found)):
        found = declared
        for part in key[1].split("."):
            found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, dict | list):
        where = f"dvc.yaml: stages.{name}.foreach"
        raise UserError(f"nothing to go through ({entry['foreach']})", where=where, remedy="mend it")
    yield from (f"{name}@{each}" for each in found)
