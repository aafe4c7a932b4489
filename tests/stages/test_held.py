"""What git holds stays where the last digits of figures alone differ."""

import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.held import keep_held

FOLDER = Path("benchmarks/some")
SUM = "ab" * 32
FILES = {
    "evidence.json": '{"figures": [{"figure": "r", "value": 0.89, "p": 0.026, "n": 43}]}\n',
    "README.md": "r 0.48 [0.37, 0.63], n = 43; p = .026\n",
    "manifest.json": f'{{"files": {{"README.md": "{SUM}"}}}}\n',
}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def write(files: dict[str, str], score: float = 0.25, text: str = "a") -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (FOLDER / name).write_text(content)
    (FOLDER / "rows").mkdir(exist_ok=True)
    pq.write_table(
        pa.table({"id": [text], "content_sha256": [str(score)], "score": [score]}),
        FOLDER / "rows/x.parquet",
    )


@pytest.fixture(autouse=True)
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    write(FILES)
    git("add", "-A")
    git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")


@pytest.mark.parametrize(
    "changes",
    [
        {
            "evidence.json": ("0.89", "0.891"),
            "README.md": ("0.63", "0.64"),
            "manifest.json": (SUM, "cd" * 32),
        },
        {"evidence.json": ("0.026", "0.027")},
    ],
)
def test_last_digits_are_put_back(changes: dict[str, tuple[str, str]]) -> None:
    edited = {name: FILES[name].replace(*change) for name, change in changes.items()}
    write(edited, score=0.25 + 1e-5)
    assert git("status", "--porcelain") != ""
    assert (keep_held(FOLDER), git("status", "--porcelain")) == (True, "")


def test_an_experiment_of_dvc_shows_every_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "sonic-rill")
    write({name: text.replace("0.89", "0.891") for name, text in FILES.items()})
    assert not keep_held(FOLDER)
    assert git("status", "--porcelain") != ""


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("evidence.json", "43", "44"),
        ("README.md", "0.48", "0.50"),
        ("evidence.json", '"value": 0.89', '"value": null'),
    ],
)
def test_what_says_something_else_stays(name: str, old: str, new: str) -> None:
    write({name: FILES[name].replace(old, new)})
    assert not keep_held(FOLDER)
    assert git("status", "--porcelain") == f" M {FOLDER}/{name}\n"


def test_what_is_new_stays_and_where_nothing_is_nothing_changes() -> None:
    write(FILES)
    assert (keep_held(FOLDER), git("status", "--porcelain")) == (False, "")
    for score, text in ((0.2504, "a"), (0.25, "b")):
        write(FILES, score, text)
        assert not keep_held(FOLDER)
    write({"new.md": "x"})
    assert not keep_held(FOLDER)


def test_a_file() -> None:
    path = FOLDER / "evidence.json"
    path.write_text(FILES["evidence.json"].replace("0.89", "0.889"))
    assert (keep_held(path), git("status", "--porcelain")) == (True, "")


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    write({"evidence.json": FILES["evidence.json"].replace("0.89", "0.891")})
    assert not keep_held(FOLDER)
