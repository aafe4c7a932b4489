"""Validate the declaration, and write what stages depend on beside files: digests ->
`data/declared.json`.

The first stage: all others name keys of its output under `params`, so that plain `dvc repro` runs
exactly the stages that an edit concerns. It is JSON, since DVC reads it once a stage.

It refuses an `active.yaml` that does not fit `params.yaml`, since DVC reads `foreach` before any
stage.
"""

import json
from pathlib import Path

from evenruler.declaration.active import compute_active
from evenruler.declaration.digests import compute_digests
from evenruler.declaration.generated import render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ACTIVE, load_active
from evenruler.declaration.validation import validate_declaration, validate_models
from evenruler.errors import UserError
from evenruler.files import write_text_atomically
from evenruler.repository import DECLARATION
from evenruler.strict import read_text
from stages.files import PIPELINE
from stages.running import run

DECLARED = PIPELINE / "data/declared.json"


def main() -> None:
    """Validate and write."""
    root, params, path = Path(), load_params(), PIPELINE / ACTIVE
    profile = load_active(path).profile
    instruments = validate_declaration(root, params)[profile]
    active = compute_active(instruments, root / DECLARATION, profile, params.left_out, PIPELINE)
    validate_models(root, params, active, instruments)
    if read_text(path) != render_active(active, PIPELINE):
        raise UserError(
            "it does not fit params.yaml", where=str(path), remedy="run `evenruler check`"
        )
    digests = compute_digests(root, params, active, instruments)
    write_text_atomically(DECLARED, json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    run(main)
