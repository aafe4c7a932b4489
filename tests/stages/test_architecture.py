"""Arrows point one way."""

from graphlib import TopologicalSorter

import grimp
import pytest

from evenruler.instruments.registry import FAMILIES
from tests.text_tables import read_words, yaml_of_text

LAZY = {"evenruler.models", *FAMILIES.values()}
"""Packages whose names users import; the house imports their modules, so that it is seen what it
depends on."""

FLOORS = read_words("""\
lazy reference_sets sizes terminal
evenruler errors measurement progress
files
hub repository text
strict
tables
models versions
report training
instruments
declaration
publish
results
evaluate
stages
project
commands
cli
__main__
""")
"""From the ground: a room imports itself, and what is below it; those on one floor do not know each
other."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "evenruler", "stages", cache_dir=None, exclude_type_checking_imports=True
    )


def room(module: str) -> str:
    """A family by its own name, any other folder of the package by its."""
    parts = module.split(".")
    if parts[1:2] == ["instruments"] and len(parts) > 2 and parts[2] in FAMILIES:
        return parts[2]
    return parts[1] if len(parts) > 1 else ""


def placed(module: str) -> tuple[str, int]:
    """Its room, and the floor of that. The commands of a family are a room of their own."""
    parts = module.split(".")
    name = parts[0]
    if name != "stages" and len(parts) > 1:
        name = parts[1]
    if name == "instruments" and parts[-1] == "commands":
        name = "commands"
    return name, next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def test_no_module_imports_itself_by_way_of_others(graph: grimp.ImportGraph) -> None:
    """Imports inside functions included."""
    TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).prepare()


def test_no_arrow_points_up(graph: grimp.ImportGraph) -> None:
    up = []
    for module in graph.modules:
        importer, floor = placed(module)
        for imported in graph.find_modules_directly_imported_by(module):
            room, below = placed(imported)
            if importer != room and floor <= below:
                up.append(f"{module} imports {imported}")
    assert up == []


def test_no_family_imports_another(graph: grimp.ImportGraph) -> None:
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            ours, theirs = room(module), room(imported)
            if module.startswith("evenruler."):
                assert not imported.startswith("stages"), f"{module} imports {imported}"
                assert not (ours in FAMILIES and theirs in FAMILIES and ours != theirs), (
                    f"{module} imports {imported}"
                )


def test_the_house_imports_modules_not_the_names_for_users(graph: grimp.ImportGraph) -> None:
    for package in LAZY:
        assert graph.find_modules_that_directly_import(package) == set(), package


ROOM_IMPORTS = yaml_of_text("""
declare: [declare, schemas]
rows: [declare, schemas, rows]
ask: [declare, schemas, ask]
diagnose: [declare, schemas, ask, diagnose]
card: [declare, schemas, card]
report: [declare, schemas, report]
schemas: [schemas]
""")
"""What a room may import of its own family; a room that only one family has is in one of these."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_same_rooms_and_they_import_no_other(
    graph: grimp.ImportGraph, family: str
) -> None:
    """What else they import of their family, a stage that goes into them would not depend on."""
    package = FAMILIES[family]
    children = {child.rpartition(".")[2] for child in graph.find_children(package)}
    assert set(ROOM_IMPORTS) <= children
    for name, allowed in ROOM_IMPORTS.items():
        own_room = f"{package}.{name}"
        for module in (own_room, *graph.find_descendants(own_room)):
            for imported in graph.find_modules_directly_imported_by(module):
                inside = imported.removeprefix(f"{package}.")
                is_elsewhere = inside == imported
                assert is_elsewhere or inside.split(".")[0] in allowed, (
                    f"{module} imports {imported}"
                )
