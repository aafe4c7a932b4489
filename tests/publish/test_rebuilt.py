"""Benchmarks beside git's HEAD, as CI compares them once it has built everything."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.publish.test_difference import hashed, probes, write


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With two benchmarks in git, and a third that is ignored."""
    for name, written in (
        ("jobs", probes(hashed(0.3))),
        ("ages", {}),
        ("theirs", {}),
    ):
        write(tmp_path / "benchmarks" / name, **written)
    (tmp_path / "params.yaml").touch()
    (tmp_path / "benchmarks/.gitignore").write_text("/theirs\n")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "built"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def again(root: Path, name: str, **written: object) -> None:
    folder = root / "benchmarks" / name
    subprocess.run(["rm", "-r", str(folder)], check=True)
    write(folder, **written)


def test_other_last_bits_are_the_same_benchmark(repository, run_evenruler) -> None:
    again(repository, "jobs", **probes(hashed(0.3 + 3e-15)))
    lines = "ages: needs none\njobs: needs none\ntheirs: skipped: not in git's HEAD\n"
    assert run_evenruler("rebuilt") == (0, lines, "")


def test_those_that_differ_are_named(repository, run_evenruler) -> None:
    again(repository, "jobs", **probes(hashed(0.3, "other")))
    subprocess.run(["rm", "-r", "benchmarks/ages"], check=True)
    status, out, err = run_evenruler("rebuilt")
    assert (status, err) == (1, "differing from git's HEAD: ages, jobs\n")
    lines = ["ages: not built", "jobs: needs major: 1 rows of probes say something else"]
    assert out.splitlines()[:2] == lines
