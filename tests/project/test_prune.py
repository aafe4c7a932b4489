"""What `evenruler check` removes, and what it leaves to its owner."""

import subprocess
from pathlib import Path

import pytest

from evenruler.declaration.params_file import Active, ActiveFamily, InstrumentEntry
from evenruler.errors import UserError
from evenruler.project import check, dvc

BENCHMARKS = ["probes-jobs", "saged-later"]
"""What is declared; the second at another profile."""


@pytest.fixture
def active() -> Active:
    """An instrument of probes that evolves, and a model that is asked."""
    return Active(
        profile="quick",
        families={"probes": ActiveFamily(instruments=["jobs"], models=["m"])},
        evolve={"jobs": InstrumentEntry(family="probes", source="a.yaml")},
    )


def stale(root: Path, active: Active) -> list[str]:
    return [path.as_posix() for path in check.find_stale_outputs(root, active, BENCHMARKS)]


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name if Path(name).suffix else root / name / "README.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made")


def locked(root: Path, *outs: str) -> None:
    """A dvc.lock that knows some outs."""
    outs_text = "".join(
        f"    - path: {out}\n      hash: md5\n      md5: {'a' * 32}\n      size: 1\n"
        for out in outs
    )
    (root / dvc.LOCK).write_text(
        f"schema: '2.0'\nstages:\n  old:\n    cmd: x\n    outs:\n{outs_text}"
    )


KEPT = [
    "benchmarks/probes-jobs",
    "benchmarks/saged-later",
    "data/answers/probes/m",
    "data/built/probes/jobs",
    "data/diagnosis/probes/tables",
    "data/evolved/jobs",
    "data/scraped/.gitkeep",
]
UNDECLARED = [
    "benchmarks/probes-old",
    "benchmarks/saged-old",
    "data/answers/framing",
    "data/answers/probes/old",
    "data/built/probes/old",
    "data/built/saged",
    "data/diagnosis/saged",
    "data/evolved/old",
    "data/scraped/jobs",
]
"""By name: another family, instrument or model, or one that no stage makes a source of."""


def test_all_that_is_not_declared_is_found_and_nothing_else(tmp_path: Path, active: Active) -> None:
    put(tmp_path, *KEPT, *UNDECLARED, "data/sources/probes/old", "data/answers/framing/m")
    locked(tmp_path, *UNDECLARED)
    stale_paths = check.find_stale_outputs(tmp_path, active, BENCHMARKS)
    assert [path.as_posix() for path in stale_paths] == UNDECLARED
    check.remove_paths(tmp_path, stale_paths)
    assert [name for name in [*KEPT, *UNDECLARED] if (tmp_path / name).exists()] == KEPT
    assert (tmp_path / "data/sources/probes/old").exists()


def test_figures_in_git_of_a_family_that_is_out_of_use_stay_while_it_is_declared(
    tmp_path: Path,
) -> None:
    nobody = Active(profile="quick")
    in_git = ["data/diagnosis/framing/m.json", "data/diagnosis/saged/m.json"]
    outs = ["data/diagnosis/framing/t.csv", "data/diagnosis/saged/t.csv"]
    put(tmp_path, *in_git, *outs)
    locked(tmp_path, *outs)
    for command in (["init", "-q"], ["add", *in_git]):
        subprocess.run(
            ["git", *command],
            cwd=tmp_path,
            check=True,
        )
    stale_paths = check.find_stale_outputs(tmp_path, nobody, BENCHMARKS)  # of saged one is declared
    assert [path.as_posix() for path in stale_paths] == [
        "data/diagnosis/framing",
        "data/diagnosis/saged/t.csv",
    ]


def test_all_that_nobody_knows_is_in_the_line(tmp_path: Path, active: Active) -> None:
    put(
        tmp_path,
        "benchmarks/saged-theirs",
        "data/built/theirs",
        "data/answers/probes/theirs.parquet",
    )
    with pytest.raises(
        UserError, match=r"dvc\.lock \(and data/answers/probes/theirs\.parquet, data/built/theirs\)"
    ):
        stale(tmp_path, active)


def test_of_a_link_that_dvc_made_only_the_link_goes(tmp_path: Path, active: Active) -> None:
    put(tmp_path, "elsewhere")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/saged-old").symlink_to(tmp_path / "elsewhere")
    locked(tmp_path, "benchmarks/saged-old")
    check.remove_paths(tmp_path, check.find_stale_outputs(tmp_path, active, BENCHMARKS))
    assert not (tmp_path / "benchmarks/saged-old").is_symlink()
    assert (tmp_path / "elsewhere/README.md").read_text() == "made"


def test_what_was_never_finished_and_what_is_empty_goes(tmp_path: Path, active: Active) -> None:
    put(tmp_path, "data/answers/probes/m.parquet.partial")
    (tmp_path / "data/built/old").mkdir(parents=True)
    assert stale(tmp_path, active) == ["data/answers/probes/m.parquet.partial", "data/built/old"]


def test_what_is_no_benchmark_of_ours_by_its_name_is_nobodys_business(
    tmp_path: Path, active: Active
) -> None:
    put(tmp_path, "benchmarks/mine", "benchmarks/.probes-old.old")
    assert stale(tmp_path, active) == []
