"""`artifacts:` in dvc.yaml: every benchmark under its name, for `dvc artifacts get`. DVC cannot template it."""

from io import StringIO
from pathlib import Path
from typing import Any

from evenruler.declaration.files import params_yaml, replace
from evenruler.declaration.params import Params


def expected(params: Params) -> dict[str, dict[str, Any]]:
    """The entries that belong there."""
    return {
        name: {
            "path": f"benchmarks/{name}",
            "type": "dataset",
            "desc": f"Rows, card, manifest and evidence of {name}",
            "labels": [declared.section, "bias", "language-models"],
        }
        for name, declared in sorted(params.benchmarks.items())
    }


def bring_in_step(root: Path, params: Params) -> list[str]:
    """Write the entries into dvc.yaml if they are not there; the rest of the file stays as it is.

    Returns:
        Lines that say what was done.
    """
    path = root / "dvc.yaml"
    yaml = params_yaml()
    document = yaml.load(path.read_text(encoding="utf-8"))
    entries = expected(params)
    found = document.get("artifacts") or {}
    if {name: {**entry} for name, entry in found.items()} == entries:
        return []
    if "artifacts" not in document:
        document["artifacts"] = {}
        document.yaml_set_comment_before_after_key("artifacts", before="\nWritten by `evenruler check`.")
    for name in [name for name in found if name not in entries]:
        del document["artifacts"][name]
    document["artifacts"].update(entries)
    text = StringIO()
    yaml.dump(document, text)
    replace(path, text.getvalue())
    return [f"dvc.yaml: artifacts are now {', '.join(entries)}"]
