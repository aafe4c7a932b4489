"""What `evenruler check` removes, and what it leaves to its owner."""

import subprocess
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.project import lock, prune
from evenruler.project.params import Params
from tests.tiny import tiny_declaration

GONE = ["benchmarks/probes-old", "data/scores/probes/old.parquet"]


@pytest.fixture
def params() -> Params:
    return Params.model_validate(tiny_declaration({}) | {"active": {"scale": "quick", "models": ["m"]}})


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name if Path(name).suffix else root / name / "README.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made")


def locked(root: Path, *outs: str) -> None:
    """A dvc.lock that knows some outs."""
    made = "".join(f"    - path: {out}\n      hash: md5\n      md5: '0'\n      size: 1\n" for out in outs)
    (root / lock.NAME).write_text(f"{lock.HEADER}  old:\n    cmd: x\n    outs:\n{made}")


def test_what_dvc_knows_goes(tmp_path: Path, params: Params) -> None:
    put(tmp_path, *GONE, "data/scores/probes/m.parquet")
    locked(tmp_path, *GONE)
    stale = prune.stale(tmp_path, params)
    assert [str(path) for path in stale] == GONE
    prune.remove(tmp_path, stale)
    assert not any((tmp_path / name).exists() for name in GONE)
    assert (tmp_path / "data/scores/probes/m.parquet").exists()


def test_what_git_knows_goes(tmp_path: Path, params: Params) -> None:
    put(tmp_path, *GONE)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert [str(path) for path in prune.stale(tmp_path, params)] == GONE


@pytest.mark.parametrize("folder", prune.BENCHMARK_PREFIXES)
def test_a_download_is_named_and_stays(tmp_path: Path, params: Params, folder: str) -> None:
    put(tmp_path, *GONE, f"benchmarks/{folder}-theirs")
    locked(tmp_path, *GONE)
    with pytest.raises(UserError) as raised:
        prune.stale(tmp_path, params)
    assert str(raised.value) == (
        f"benchmarks/{folder}-theirs: not declared, and neither git nor dvc.lock knows it; "
        "declare it, move it away or delete it; nothing was removed"
    )
    assert all((tmp_path / name).exists() for name in GONE)


def test_all_that_nobody_knows_is_in_the_line(tmp_path: Path, params: Params) -> None:
    put(tmp_path, "benchmarks/saged-theirs", "data/features/theirs", "data/generations/theirs.parquet")
    with pytest.raises(UserError, match=r"knows it \(and data/features/theirs, data/generations/theirs\.parquet\)"):
        prune.stale(tmp_path, params)


def test_a_link_is_named(tmp_path: Path, params: Params) -> None:
    put(tmp_path, "elsewhere")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/saged-theirs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"neither git nor dvc\.lock knows it"):
        prune.stale(tmp_path, params)


def test_of_a_link_that_dvc_made_only_the_link_goes(tmp_path: Path, params: Params) -> None:
    put(tmp_path, "elsewhere")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/saged-old").symlink_to(tmp_path / "elsewhere")
    locked(tmp_path, "benchmarks/saged-old")
    prune.remove(tmp_path, prune.stale(tmp_path, params))
    assert not (tmp_path / "benchmarks/saged-old").is_symlink()
    assert (tmp_path / "elsewhere/README.md").read_text() == "made"


def test_what_was_never_finished_and_what_is_empty_goes(tmp_path: Path, params: Params) -> None:
    put(tmp_path, "data/scores/probes/m.parquet.partial")
    (tmp_path / "data/features/old").mkdir(parents=True)
    assert [path.name for path in prune.stale(tmp_path, params)] == ["old", "m.parquet.partial"]


def test_what_is_no_benchmark_of_ours_by_its_name_is_nobodys_business(tmp_path: Path, params: Params) -> None:
    put(tmp_path, "benchmarks/mine", "benchmarks/.probes-old.old")
    assert prune.stale(tmp_path, params) == []
