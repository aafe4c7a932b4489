"""What `evenruler new` does: a commented file that passes the checks, and its line in params.yaml."""

import re
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from evenruler.declaration.files import params_yaml, replace
from evenruler.declaration.params import load_params
from evenruler.errors import UserError


def new_probes(root: Path, name: str) -> list[str]:
    """Start a probe domain.

    Args:
        root: The repository.
        name: Slug of the domain.

    Returns:
        Lines that say what was written.

    Raises:
        UserError: The name is no slug, or is taken.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(
            f"{name!r} is no slug",
            remedy="use lower-case letters, digits and single hyphens",
        )
    params, source = root / "params.yaml", root / "data/sources/probes" / f"{name}.yaml"
    if source.exists() or name in load_params(params, in_step=False).probes:
        raise UserError(f"the probe domain {name!r} is there already", where=str(source), remedy="take another name")
    document = params_yaml().load(params.read_text(encoding="utf-8"))
    settings: dict[str, Any] = document["probes"]
    settings[name] = {}
    text = StringIO()
    params_yaml().dump(document, text)
    starter = files("evenruler.declaration").joinpath("starter_probes.yaml").read_text(encoding="utf-8")
    replace(source, starter.replace("NAME", name, 1))
    replace(params, text.getvalue())
    return [f"wrote {source.relative_to(root)}; edit it, then `make repro`", f"params.yaml: probes now holds {name}"]
