"""Sources of domains."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.declaration.domains import DomainSource, load_domain
from evenruler.errors import UserError

FRUIT: dict[str, Any] = {
    "title": "Fruit",
    "construct": "praise of fruit",
    "direction": "more praise",
    "source": "us",
    "licence": "cc0-1.0",
    "concepts": {"apple": {"name": "apple", "keywords": ["apple", "cider"]}, "pear": "pear"},
    "material": {"kind": "local", "path": "articles/fruit.md"},
    "assemble": {"method": "split", "per_concept": 5},
    "branch": {"roots": ["apple"], "replacements": {"apple": {"pear": {"apple": "pear", "cider": "perry"}}}},
}


def load(tmp_path: Path, **changes: Any) -> DomainSource:
    path = tmp_path / "fruit.yaml"
    with path.open("w") as file:
        YAML().dump(FRUIT | changes, file)
    return load_domain(path)


def test_a_concept_is_read_and_looked_for_by_its_name_unless_more_is_said(tmp_path: Path) -> None:
    source = load(tmp_path)
    assert [source.keywords_of(concept) for concept in source.concepts] == [["apple", "cider"], ["pear"]]
    assert source.pages_of("pear") == ["pear"]
    assert source.branch is not None
    assert source.branch.branches_of("apple", list(source.concepts)) == ["pear"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"concepts": {"apple": "apple", "pear": {"name": "pear", "keywords": ["Apple"]}}},
            "belongs to two concepts, apple and pear",
        ),
        ({"material": {"kind": "local"}}, "`path` is missing, the file or folder that is read"),
        ({"material": {"kind": "extracts", "path": "a.md"}}, "`path` belongs to kind local, found extracts"),
        ({"material": {"kind": "local", "path": "a.md", "api": "http://x"}}, "`api` belongs to kind wiki, found local"),
        ({"branch": {"roots": ["aple"], "replacements": {}}}, "branch names the concept 'aple'; did you mean 'apple'?"),
        ({"branch": {"roots": ["apple"], "replacements": {}}}, "branch.replacements holds nothing from apple to pear"),
        (
            {"branch": {"roots": ["apple"], "to": ["peer"], "replacements": {}}},
            "branch names the concept 'peer'; did you mean 'pear'?",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_and_place(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        load(tmp_path, **changes)
    assert said in str(error.value)
    assert "fruit.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    load(tmp_path)
    with pytest.raises(UserError, match="no source for the domain 'fruits'; did you mean 'fruit'"):
        load_domain(tmp_path / "fruits.yaml")
