"""The stage `declared`: what it writes, and what it refuses."""

import json
from pathlib import Path

import pytest

from evenruler.declaration.code import code_digests
from evenruler.project.check import check
from stages import declared
from tests.profiles import set_profile
from tests.project import told


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small repository in step, to stand in."""
    told.register(monkeypatch)
    told.put(tmp_path)
    check(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_writes_the_digests(root: Path) -> None:
    declared.main()
    written = json.loads((root / declared.DECLARED).read_bytes())
    assert written["code"] == code_digests(root)
    assert written["versions"]["doctors"] == "1.2.0"


def test_comments_and_layout_change_nothing(root: Path) -> None:
    declared.main()
    before = (root / declared.DECLARED).read_bytes()
    edit(
        root / "params.yaml",
        "  hair: {family: framing}\n",
        "  hair: # of heads\n    family:   framing\n",
    )
    declared.main()
    assert (root / declared.DECLARED).read_bytes() == before


def test_refuses_an_active_that_does_not_fit(root: Path, error_of) -> None:
    edit(root / "params.yaml", "  nurses: {family: pairs, others: true}\n", "")
    assert (
        error_of(declared.main) == "active.yaml: it does not fit params.yaml; run `evenruler check`"
    )
    assert not (root / declared.DECLARED).exists()
    check(root)
    declared.main()


def test_refuses_an_active_with_another_comment(root: Path, error_of) -> None:
    edit(root / "active.yaml", "Written by `evenruler check`", "Written")
    assert error_of(declared.main).startswith("active.yaml: it does not fit params.yaml")


def test_takes_the_profile_in_use(root: Path) -> None:
    set_profile(root, "paper")
    declared.main()
    assert "later" in json.loads((root / declared.DECLARED).read_bytes())["settings"]
