"""What names the project is in step with what declares it."""

import tomllib
from pathlib import Path

from ruamel.yaml import YAML

from evenruler.publish.folder import AUTHORS, PROJECT, URL

ROOT = Path(__file__).parents[2]


def test_the_address_is_that_of_pyproject_and_none_where_it_has_none():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert declared.get("urls", {}).get("Repository") == URL


def test_name_and_authors_are_those_of_the_citation_file():
    cited = YAML(typ="safe", pure=True).load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert [author["name"] for author in cited["authors"]] == [AUTHORS]
    assert cited["title"].startswith(f"{PROJECT}: ")
