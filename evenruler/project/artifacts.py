"""`artifacts:` in dvc.yaml: every benchmark under its name, for `dvc artifacts get`. DVC cannot template it."""

from io import StringIO
from pathlib import Path
from typing import Any

from evenruler.declared import Active
from evenruler.files import replace
from evenruler.project.files import block, params_yaml
from evenruler.strict import read_yaml

HEADING = "# Written by `evenruler check`."


def expected(active: Active) -> dict[str, dict[str, Any]]:
    """The entries that belong there: of every benchmark that is in use."""
    families = {f"{entry.family}-{name}": entry.family for name, entry in active.instruments.items()}
    return {
        name: {
            "path": f"benchmarks/{name}",
            "type": "dataset",
            "desc": f"Rows, card, manifest and evidence of {name}",
            "labels": [families[name], "bias", "language-models"],
        }
        for name in sorted(families)
    }


def bring_in_step(root: Path, active: Active) -> list[str]:
    """Write the entries into dvc.yaml if they are not there; the rest of the file stays as it is.

    Returns:
        Lines that say what was done.
    """
    path = root / "dvc.yaml"
    text, declared = path.read_text(encoding="utf-8"), read_yaml(path)
    entries = expected(active)
    if isinstance(declared, dict) and (declared.get("artifacts") or {}) == entries:
        return []
    lines = text.splitlines(keepends=True)
    first, last = block(lines, "artifacts")
    rendered = StringIO()
    params_yaml().dump({"artifacts": entries}, rendered)
    heading = "" if first < len(lines) else f"\n{HEADING}\n"
    replace(path, "".join([*lines[:first], heading, rendered.getvalue(), *lines[last:]]))
    return [f"dvc.yaml: artifacts are now {', '.join(entries)}"]
