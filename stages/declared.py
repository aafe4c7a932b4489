"""Validate the declaration, and write what stages depend on beside files: digests -> `data/declared.yaml`.

The first stage: all others name keys of its output under `params`, so that plain `dvc repro` runs exactly the stages
that an edit concerns. It refuses an `active.yaml` that does not fit `params.yaml`, since DVC reads `foreach` before any
stage.
"""

from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML

from evenruler.declaration.digests import compute_digests
from evenruler.declaration.generated import render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ACTIVE, load_active
from evenruler.declaration.validation import validate_declaration
from evenruler.errors import UserError
from evenruler.files import replace
from evenruler.strict import read_text
from stages.running import run

DECLARED = Path("data/declared.yaml")
HEAD = "# Written by the stage `declared`: digests of what other stages depend on; comments do not count.\n"


def main() -> None:
    """Validate and write."""
    root, params = Path(), load_params()
    active, instruments = validate_declaration(root, params, load_active(root / ACTIVE).profile)
    if read_text(root / ACTIVE) != render_active(active):
        raise UserError("it does not fit params.yaml", where=ACTIVE, remedy="run `evenruler check`")
    yaml, text = YAML(), StringIO()
    yaml.dump(compute_digests(root, params, active, instruments), text)
    replace(DECLARED, HEAD + text.getvalue())


if __name__ == "__main__":
    run(main)
