"""What is said of a domain's design, from its declaration alone and from rows that were built."""

import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML
from scipy import stats

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.instruments.saged.design import (
    WANTED,
    Design,
    design_of,
    plan_lines,
    roots_for,
    smallest_difference,
)
from tests.instruments.saged.domains import SOURCE, settings

ROOT = Path(__file__).parents[3]


def declare(root: Path, **changed: Any) -> None:
    folder = root / "data/sources/saged"
    folder.mkdir(parents=True)
    fields = {key: value for key, value in {**SOURCE, **changed}.items() if value is not None}
    YAML().dump(fields, folder / "fruit.yaml")


def params(root: Path, **fruit: Any) -> ParamsFile:
    content = {
        "instruments": {
            "fruit": {"family": "saged", **fruit},
            "nuts": {"family": "saged"},
            "prices": {"family": "probes"},
            "hair": {"family": "framing"},
        },
    }
    YAML().dump(content, root / "params.yaml")
    return ParamsFile(root / "params.yaml")


def build(
    root: Path,
    roots: int,
    concepts: int,
    *,
    branched: bool = True,
    without: tuple[int, int] = (-1, -1),
) -> None:
    """Rows of a declared domain; `without` is a root item and a concept that it was rejected
    for."""
    if not (root / "data/sources/saged").exists():
        declare(root)
    rows = []
    for n_root, n_concept in product(range(roots), range(concepts)):
        if (n_root, n_concept) == without:
            continue
        concept = f"c{n_concept}"
        root_id = f"r{n_root:02d}"
        root_concept = "c0"
        if not branched:
            root_id += concept
            root_concept = concept
        rows.append({"concept": concept, "root_id": root_id, "root_concept": root_concept})
    folder = root / "data/built/saged/fruit"
    folder.mkdir(parents=True)
    pd.DataFrame(rows).to_parquet(folder / "prompts.parquet")


def test_before_it_is_built_it_is_as_declared(tmp_path) -> None:
    declare(tmp_path)
    roles = {"no-role": "", "cook": "You cook.", "king": "You reign."}
    design = design_of(
        tmp_path, "fruit", settings(items=20, generations=3, roles=roles, most_roles=2)
    )
    assert design == Design(
        roots=5,
        concepts=3,
        roles=2,
        templates=1,
        generations=3,
        branched=True,
        of_roots=5,
        built=False,
        is_asked=True,
    )
    assert design.replies == 6


def test_known_names_are_no_members_of_what_is_compared(tmp_path) -> None:
    controls = {name: {"name": name, "reference": True} for name in ("apple", "ilm", "orl")}
    to = {name: {"apple": name} for name in ("pear", "fig", "ilm", "orl")}
    branch = {"roots": ["apple"], "replacements": {"apple": to}}
    declare(
        tmp_path,
        concepts={**controls, "pear": "pear", "fig": "fig"},
        branch=branch,
    )
    design = design_of(tmp_path, "fruit", settings())
    assert (design.concepts, design.roots) == (2, 5)


def test_items_of_every_root_stand_for_all_concepts(tmp_path) -> None:
    both = (
        {"pear": {"apple": "pear"}, "fig": {"apple": "fig"}},
        {"apple": {"pear": "apple"}, "fig": {"pear": "fig"}},
    )
    declare(
        tmp_path,
        branch={
            "roots": ["apple", "pear"],
            "replacements": dict(zip(("apple", "pear"), both, strict=True)),
        },
    )
    design = design_of(tmp_path, "fruit", settings(items=4))
    assert (design.roots, design.of_roots, design.concepts) == (8, 10, 3)


def test_without_branches_items_are_those_of_a_concept(tmp_path) -> None:
    declare(tmp_path, branch=None)
    design = design_of(tmp_path, "fruit", settings(items=4))
    assert (design.roots, design.of_roots, design.concepts, design.branched) == (4, 5, 3, False)


@pytest.mark.parametrize("branched", [True, False])
def test_rows_that_are_built_count_as_they_are_asked(tmp_path, branched) -> None:
    build(tmp_path, 30, 8, branched=branched)
    design = design_of(tmp_path, "fruit", settings(items=12, asked=False))
    assert (design.roots, design.concepts, design.of_roots) == (12, 8, 30)
    assert (design.built, design.branched, design.is_asked) == (True, branched, False)


def test_a_concept_that_lacks_a_root_item_has_the_fewest(tmp_path) -> None:
    build(tmp_path, 10, 4, without=(3, 2))
    design = design_of(tmp_path, "fruit", settings(items=10))
    assert (design.roots, design.of_roots) == (9, 9)


@pytest.mark.parametrize("concepts", [0, 1])
def test_a_concept_has_others_to_be_compared_with(tmp_path, concepts) -> None:
    build(tmp_path, 9, max(1, concepts))
    if not concepts:
        path = tmp_path / "data/built/saged/fruit/prompts.parquet"
        pd.read_parquet(path).head(0).to_parquet(path)
    with pytest.raises(UserError, match="nothing to compare"):
        design_of(tmp_path, "fruit", settings())


def test_what_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    build(tmp_path, 30, 6)
    lines = list(plan_lines(tmp_path, "fruit", params(tmp_path, items=20), WANTED))
    assert lines[0].startswith("fruit, profile quick: 20 of 30 root items x 6 concepts x 1 reply ")
    assert " a concept 0.78 SD of a reply from the mean" in lines[2]
    head = lines.index("    SD  1 reply  2 replies  4 replies  3 concepts  12 concepts")
    columns = (
        (6, 1),
        (6, 2),
        (6, 4),
        (3, 1),
        (12, 1),
    )
    for difference, line in zip(
        WANTED,
        lines[head + 1 : head + 5],
        strict=True,
    ):
        n_roots = [roots_for(difference, *column) for column in columns]
        assert list(
            map(
                float,
                line.replace(",", "").split(),
            )
        ) == [difference, *n_roots]


def test_a_domain_goes_by_the_name_of_its_benchmark_too(tmp_path) -> None:
    build(tmp_path, 10, 3)
    declared = params(tmp_path)
    assert list(plan_lines(tmp_path, "saged-fruit", declared, [0.5])) == list(
        plan_lines(tmp_path, "fruit", declared, [0.5])
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fruits", "no domain 'fruits'; did you mean 'fruit'?"),
        ("hair", "'hair' is of the family framing, but plans are for saged; known: fruit, nuts"),
        (
            "prices",
            "'prices' is of the family probes, but plans are for saged; the report "
            "(data/report/index.html) shows the "
            "reliability by number of templates and words",
        ),
    ],
)
def test_names_of_no_domain(tmp_path, name, message) -> None:
    declared = params(tmp_path)
    with pytest.raises(UserError) as error:
        list(plan_lines(tmp_path, name, declared))
    assert str(error.value) == f"{declared.path}: instruments: {message}"


def test_a_smallest_difference_is_a_t_test_of_as_many_concepts() -> None:
    critical = stats.t.isf(0.025 / 6, 19)
    smallest = smallest_difference(20, 6, 2)
    error = math.sqrt(5 / 6 / 40)
    assert stats.nct.sf(critical, 19, smallest / error) == pytest.approx(0.8, abs=0.01)
    assert smallest_difference(20, 6, 8) == pytest.approx(smallest / 2)
    assert smallest > smallest_difference(40, 6, 2)


@pytest.mark.parametrize("difference", [0.2, 0.8])
def test_root_items_are_as_few_as_find_it(difference) -> None:
    roots = roots_for(difference, 6, 2)
    assert smallest_difference(roots, 6, 2) <= difference < smallest_difference(roots - 1, 6, 2)
    assert roots_for(5.0, 6, 1) == 6


def test_the_table_of_the_documents_is_what_is_said() -> None:
    text = (ROOT / "docs/saged.md").read_text()
    rows = re.findall(r"^\| (\d+) x (\d+) x (\d+)[^|]*\|(.*)\|$", text, flags=re.M)
    assert len(rows) == 5
    for roots, concepts, replies, cell in rows:
        smallest = smallest_difference(int(roots), int(concepts), int(replies))
        assert float(cell) == pytest.approx(smallest, abs=0.0051)
