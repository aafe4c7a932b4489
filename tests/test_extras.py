"""What each part of the code imports is among what its extra installs."""

import re
import sys
import tomllib
from collections.abc import Collection
from itertools import product
from pathlib import Path

import grimp
import pytest

from evenruler.errors import distribution_of
from evenruler.instruments.registry import FAMILIES

ROOT = Path(__file__).parents[1]
CODE = ("evenruler", "stages")

PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)
"""A package and its version in a file of requirements."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

LIGHT = [
    "evenruler.publish.locate",
    "evenruler.publish.manifest",
    "evenruler.publish.difference",
    "evenruler.errors",
    "evenruler.hub",
    "evenruler.repository",
    "evenruler.results",
    "evenruler.strict",
]
"""What `list`, `verify`, `diff`, `compare` and `export` go into."""

ROOMS = ("declare", "schemas", "ask", "diagnose")
MEASURING = [
    *(f"{package}.{room}" for package, room in product(FAMILIES.values(), ROOMS)),
    "evenruler.declaration.params_file",
    "evenruler.measurement",
    "evenruler.models",
]
"""What asking a model and computing its figures goes into."""

BROUGHT = {"pydantic_core": "pydantic", "ruamel": "ruamel.yaml", "markupsafe": "jinja2"}
"""Modules that another package brings along, by its name."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        *CODE, cache_dir=None, exclude_type_checking_imports=True, include_external_packages=True
    )


def declared(*extras: str) -> set[str]:
    """The packages of the core and of some extras."""
    requirements = list(PROJECT["dependencies"])
    for extra in extras:
        requirements += PROJECT["optional-dependencies"][extra]
    return {distribution_of(re.split(r"[\[>=]", named)[0]) for named in requirements}


def imported(graph: grimp.ImportGraph, starts: Collection[str]) -> set[str]:
    """The packages that modules, and all that they import, import anywhere."""
    modules = {*starts}.union(*map(graph.find_descendants, starts))
    modules = modules.union(*map(graph.find_upstream_modules, modules))
    ours = [module for module in modules if module.split(".")[0] in CODE]
    packages: set[str] = set().union(*map(graph.find_modules_directly_imported_by, ours))
    return {
        distribution_of(BROUGHT.get(package, package))
        for package in packages
        if "." not in package and package not in {*sys.stdlib_module_names, *CODE}
    }


def test_the_core_is_enough_to_list_verify_and_compare(graph) -> None:
    """But for git revisions, which DVC reads, plots of a result, and pictures, of which a page of
    results has none."""
    assert imported(graph, LIGHT) - declared() == {"altair", "dvc", "vl-convert-python"}


def test_measure_is_enough_to_ask_and_to_compute(graph) -> None:
    """But on a cluster."""
    assert imported(graph, MEASURING) - declared("measure") == {"ray"}


def test_build_is_enough_for_all(graph) -> None:
    """But a cluster, and tasks of lm-evaluation-harness."""
    assert imported(graph, CODE) - declared("measure", "build") == {"ray", "lm-eval"}


def pinned_versions() -> dict[str, str]:
    """The versions in constraints.txt, by package."""
    text = (ROOT / "constraints.txt").read_text()
    return {distribution_of(name): version for name, version in PIN.findall(text)}


def test_every_package_is_pinned() -> None:
    wanted = declared("measure", "build", "harness", "test") - {"evenruler"}
    assert wanted - pinned_versions().keys() == set()


def test_every_file_that_setup_installs_has_a_hash() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("$(READY): ")[2].partition("\nrepro: ")[0]
    needed, commands = recipe.split("\n", 1)
    for name in needed.split()[1:]:  # after pyproject.toml
        assert f"-r {name}" in commands
        lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
        unhashed = [line for line in lines if line[0] != "#" and "--hash=sha256:" not in line]
        assert unhashed == []
    assert re.findall(r"\$\(PIP\).*?'", commands) == ["$(PIP) --no-build-isolation -e '"]
    assert "HASHED := $(PIP) --no-deps --require-hashes\n" in makefile


def test_what_loads_models_is_not_older_than_what_is_tested() -> None:
    """Older versions run code of a model's folder (sentence-transformers 5), let a chat template
    out (jinja2 3.1.5), or answer otherwise."""
    lowest = dict(
        requirement.split(">=")
        for requirement in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["measure"]]
        if ">=" in requirement
    )
    pinned = pinned_versions()
    loading = (
        "accelerate",
        "peft",
        "safetensors",
        "sentence-transformers",
        "tokenizers",
        "torch",
        "transformers",
    )

    assert {name: lowest[name] for name in loading} == {
        name: ".".join(pinned[name].split(".")[:2]) for name in loading
    }
    assert lowest["jinja2"] == pinned["jinja2"]
