"""Arrows point one way, and DVC knows what each stage depends on."""

from pathlib import Path

import grimp
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
FAMILIES = {"probes", "questionnaires", "framing", "saged"}
"""Folders of `evenruler.instruments`."""
SHARED = {"models", "measurement", "text", "tables"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("evenruler", "stages", cache_dir=None)


def room(module: str) -> str:
    """A family by its own name, any other folder of the package by its."""
    parts = module.split(".")
    if parts[1:2] == ["instruments"] and len(parts) > 2 and parts[2] in FAMILIES:
        return parts[2]
    return parts[1] if len(parts) > 1 else ""


def test_no_family_imports_another_and_no_shared_room_imports_a_family(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            ours, theirs = room(module), room(imported)
            if module.startswith("evenruler."):
                assert not imported.startswith("stages"), f"{module} imports {imported}"
                assert not (ours in FAMILIES and theirs in FAMILIES and ours != theirs), f"{module} imports {imported}"
                assert not (ours in SHARED and theirs in FAMILIES | {"publish", "report"}), (
                    f"{module} imports {imported}"
                )


def stage_entries() -> dict[str, dict]:
    stages = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: entry.get("do", entry) for name, entry in stages.items()}


@pytest.mark.parametrize("name", list(stage_entries()))
def test_deps_cover_what_a_stage_imports(graph: grimp.ImportGraph, name: str) -> None:
    entry = stage_entries()[name]
    assert entry["desc"]
    module = entry["cmd"].split()[2]
    imported = graph.find_upstream_modules(module) | {module}
    uncovered = sorted(
        path
        for path in map(path_of, imported)
        if not any(path == dep or path.startswith(f"{dep}/") for dep in entry["deps"]) and path not in HARMLESS
    )
    assert uncovered == []


def test_deps_name_no_room_that_a_stage_does_not_import(graph: grimp.ImportGraph) -> None:
    """A dependency too many runs stages again for nothing."""
    for name, entry in stage_entries().items():
        imported = {path_of(module) for module in graph.find_upstream_modules(entry["cmd"].split()[2])}
        for dep in entry["deps"]:
            if dep.startswith("evenruler/"):
                assert any(path == dep or path.startswith(f"{dep}/") for path in imported), f"{name}: {dep}"


HARMLESS = {"evenruler/__init__.py", "evenruler/progress.py", "stages/__init__.py"}
"""They change what is printed, never what is written."""


def path_of(module: str) -> str:
    path = Path(*module.split("."))
    return (path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")).as_posix()
