"""Arrows point one way, and DVC knows what each stage depends on."""

import grimp
import pytest

from tests.stages.depends import CODE, LAZY, covering, needed, stage_entries
from tests.stages.depends import graph as built_graph

FAMILIES = {"probes", "questionnaires", "framing", "saged"}
"""Folders of `evenruler.instruments`."""
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
                assert not (ours in SHARED and theirs in FAMILIES | {"publish", "report"}), (
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
    code = [dep for dep in entry["deps"] if dep.startswith(CODE)]
    assert code == covering(needed(graph, entry["cmd"])), "run `python -m tests.stages.depends`"


def test_no_stage_depends_on_what_writes_params(graph: grimp.ImportGraph) -> None:
    """`evenruler check`, `new` and the command line are nobody's dependency."""
    for name, entry in stage_entries().items():
        files = needed(graph, entry["cmd"])
        assert not [file for file in files if file.startswith(("evenruler/project/", "evenruler/cli"))], name
