"""`left_out` of params.yaml: what could not be had, with the reason; `evenruler ask` writes it."""

import json
from collections.abc import Mapping
from pathlib import Path

from evenruler.project.files import block, write_as_it_was

KEY = "left_out"
SAID = f"{KEY}: # written by `evenruler ask`, which tries them again; take one out to have it built all the same"


def write(root: Path, left_out: Mapping[str, str]) -> None:
    """Have params.yaml say what is left out; all else in it stays byte for byte as it is.

    Args:
        root: The repository.
        left_out: By stage: why it could not be run. Where there is none, the section goes.
    """
    path = root / "params.yaml"
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    first, last = block(lines, KEY)
    # A string of JSON is one of YAML, too.
    said = [f"  {stage}: {json.dumps(' '.join(why.split()), ensure_ascii=False)}\n" for stage, why in left_out.items()]
    text = "".join([*lines[:first], *([f"{SAID}\n", *said] if said else []), *lines[last:]])
    if text != before:
        write_as_it_was(path, text)
