"""Arrows point one way, and DVC knows what each stage depends on."""

import grimp
import pytest

from evenruler.instruments.registry import FAMILIES
from tests.stages.depends import LAZY, families_of, is_written, listed, needed, stage_entries
from tests.stages.depends import graph as built_graph

SHARED = {"models", "measurement", "text", "tables"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return built_graph()


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
                assert not (ours in SHARED and theirs in {*FAMILIES, "publish", "report", "declared"}), (
                    f"{module} imports {imported}"
                )


def test_the_house_imports_modules_not_the_names_for_users(graph: grimp.ImportGraph) -> None:
    for package in LAZY:
        assert graph.find_modules_that_directly_import(package) == set(), package


@pytest.mark.parametrize("name", list(stage_entries()))
def test_deps_are_the_code_that_a_stage_imports(graph: grimp.ImportGraph, name: str) -> None:
    """One too few leaves figures of old code; one too many runs stages again for nothing."""
    entry = stage_entries()[name]
    assert entry["desc"]
    assert [dep for dep in entry["deps"] if is_written(dep)] == listed(graph, entry), (
        "run `python -m tests.stages.depends`"
    )


ROOM_IMPORTS = {
    "declare": {"declare", "schemas"},
    "rows": {"declare", "schemas", "rows"},
    "ask": {"declare", "schemas", "ask"},
    "diagnose": {"declare", "schemas", "ask", "diagnose"},
    "card": {"declare", "schemas", "card"},
    "report": {"declare", "schemas", "report"},
    "schemas": {"schemas"},
}
"""What a room may import of its own family; a room that only one family has is in one of these."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_same_rooms_and_they_import_no_other(graph: grimp.ImportGraph, family: str) -> None:
    """What else they import of their family, a stage that goes into them would not depend on."""
    package = FAMILIES[family]
    children = {child.rpartition(".")[2] for child in graph.find_children(package)}
    assert set(ROOM_IMPORTS) <= children
    for name, allowed in ROOM_IMPORTS.items():
        inside = {f"{package}.{name}", *graph.find_descendants(f"{package}.{name}")}
        for module in inside:
            found = {
                other.removeprefix(f"{package}.").split(".")[0]
                for other in graph.find_modules_directly_imported_by(module)
                if other.startswith(f"{package}.")
            }
            assert found <= allowed, f"{module} imports {sorted(found - allowed)}"


def test_no_stage_depends_on_what_writes_params_and_none_imports_a_stage(graph: grimp.ImportGraph) -> None:
    """`evenruler check`, `new` and the command line are nobody's dependency."""
    for name, entry in stage_entries().items():
        files = {file for family in families_of(entry) for file in needed(graph, entry, family)}
        assert not [file for file in files if file.startswith(("evenruler/project/", "evenruler/cli"))], name
        stages = {file for file in files if file.startswith("stages/")}
        shared = {"stages/running.py", "stages/files.py", f"stages/{entry['cmd'].split()[2][7:]}.py"}
        assert stages <= shared, f"{name}: {stages}"
