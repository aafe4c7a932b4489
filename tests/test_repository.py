from pathlib import Path

import pytest

from evenruler import repository
from evenruler.models.store import cache_root


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in a repository, to stand in."""
    (tmp_path / "params.yaml").touch()
    (tmp_path / "docs/pictures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "docs/pictures")
    return tmp_path / "docs/pictures"


def test_the_root_is_entered_from_below(below, tmp_path) -> None:
    assert repository.enter_repository() == below
    assert Path.cwd() == tmp_path


def test_a_path_still_means_what_it_did(below, tmp_path, monkeypatch) -> None:
    here = repository.enter_repository()
    assert repository.resolve_user_path(Path("sheet.csv"), here) == below / "sheet.csv"
    assert repository.resolve_user_path(tmp_path / "key.csv", here) == tmp_path / "key.csv"
    monkeypatch.chdir(tmp_path)
    sheet = Path("sheet.csv")
    assert repository.resolve_user_path(sheet, repository.enter_repository()) == sheet


def test_an_experiment_of_dvc_belongs_to_the_repository_around_it(tmp_path: Path) -> None:
    assert repository.outside_experiments(tmp_path / ".dvc/tmp/exps/tmp1a2b") == tmp_path
    assert repository.outside_experiments(tmp_path / ".dvc/tmp/exps/tmp1a2b/data/built") == tmp_path
    assert repository.outside_experiments(tmp_path / ".dvc/tmp") is None
    assert repository.outside_experiments(tmp_path / "exps/tmp1a2b") is None


def test_an_experiment_finds_the_answers_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / ".dvc/tmp/exps/tmp1a2b"
    workspace.mkdir(parents=True)
    (workspace / "params.yaml").touch()
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("EVENRULER_CACHE", raising=False)
    assert cache_root() == tmp_path / ".cache"
