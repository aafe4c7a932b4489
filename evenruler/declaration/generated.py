"""Text of what is generated from the declaration: `active.yaml`, and the artifacts of
`dvc.yaml`.
"""

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from evenruler.declaration.params_file import Active
from evenruler.declaration.profiles import TOP, command_prefix, path_to_top

ACTIVE_HEAD = """\
# What is in use: names and routes, which `foreach` in dvc.yaml goes through.
# Written by `evenruler check`, not by hand; the stage `declared` refuses it where it does not fit
# params.yaml.
"""


def render_active(active: Active, folder: Path = TOP) -> str:
    """The text of `active.yaml` in a folder of a pipeline: an entry a line, for readable
    differences.
    """
    yaml, text = YAML(), StringIO()
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    sections = {
        key: _entries_in_flow_style(value) for key, value in active.model_dump(mode="json").items()
    }
    content = {
        "active": CommentedMap(sections),
        "root": path_to_top(folder),
        "enter_root": command_prefix(folder),
    }
    yaml.dump(CommentedMap(content), text)
    return ACTIVE_HEAD + text.getvalue()


def _entries_in_flow_style(section: object) -> object:
    """A section for ruamel's YAML writer: each entry on one line; what is not a mapping stays as it
    is.
    """
    if not isinstance(section, dict):
        return section
    laid_out = CommentedMap({key: CommentedMap(entry) for key, entry in section.items()})
    for on_one_line in laid_out.values() if section else (laid_out,):
        on_one_line.fa.set_flow_style()
    return laid_out


def artifacts_of(benchmarks: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The section `artifacts` of dvc.yaml: every declared benchmark by name, for `dvc artifacts
    get`.
    """
    artifacts: dict[str, dict[str, Any]] = {}
    for name in sorted(benchmarks):
        family = name.partition("-")[0]
        artifacts[name] = {
            "path": f"benchmarks/{name}",
            "type": "dataset",
            "desc": f"Rows and card of {name}",
            "labels": [family, "bias", "language-models"],
        }
    return artifacts
