"""Files and folders that CONTRIBUTING and the page of the architecture name exist."""

import re
from pathlib import Path

import pytest

from evenruler.instruments.registry import FAMILIES

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "docs/architecture.md")
FOLDERS = ("", "evenruler", "evenruler/instruments", "evenruler/models", "tests", "docs", "stages")
"""Folders that a path on these pages may begin in."""
CREATED = ("data/", "lm_eval/", "profiles/", ".cache/")
"""What a build or a user creates begins so."""
PATH = re.compile(r"`([\w.-]+/[\w./<>-]*|[\w-]+\.(?:py|toml|yaml))`")


def list_names() -> set[str]:
    """Names of all files and folders of the code and its tests."""
    folders = [ROOT / name for name in ("evenruler", "stages", "studies", "tests")]
    return {path.name for folder in folders for path in folder.rglob("*")}


def find_missing_paths(text: str) -> list[str]:
    """Paths in backticks that are nowhere; a family's or a user's name stands for one that is."""
    names, missing = list_names(), []
    for path in dict.fromkeys(PATH.findall(text)):
        is_created = "NAME" in path or path.startswith(CREATED)
        if is_created or path.removesuffix("/") in names:
            continue
        places = [path.replace("<family>", family) for family in FAMILIES]
        if not any((ROOT / folder / place).exists() for folder in FOLDERS for place in places):
            missing.append(path)
    return missing


@pytest.mark.parametrize("page", PAGES)
def test_they_exist(page: str) -> None:
    assert find_missing_paths((ROOT / page).read_text(encoding="utf-8")) == []


def test_one_that_is_gone_is_told() -> None:
    text = "`evenruler/gone.py`, `tests/faults/` and `evenruler/instruments/<family>/`"
    assert find_missing_paths(text) == ["evenruler/gone.py"]
