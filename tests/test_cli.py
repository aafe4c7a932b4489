"""The `evenruler` command as a user runs it."""

import shutil
import sys
from pathlib import Path

import pytest

from evenruler import cli
from evenruler.declaration import load_params, load_probe_source, load_questionnaire

ROOT = Path(__file__).parents[1]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command reads, in a folder to stand in."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "data/sources", tmp_path / "data/sources")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["evenruler", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_check_says_what_is_declared(repository, monkeypatch, capsys) -> None:
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, err) == (0, "")
    assert out == (
        "checked: scale quick; models smollm2-135m-instruct, gemma-3-270m; probe domains occupation-gender; "
        "questionnaires gad-7, phq-9, soc-13, trust-in-people\n"
    )


def test_check_brings_active_in_step(repository, monkeypatch, capsys) -> None:
    path = repository / "params.yaml"
    good = path.read_text()
    path.write_text(good.replace("[smollm2-135m-instruct, gemma-3-270m]", "[gemma-3-270m]"))
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert out.startswith("params.yaml: active is now quick: smollm2-135m-instruct, gemma-3-270m\n")
    assert path.read_text() == good


def test_check_removes_what_is_declared_no_more_and_nothing_else(repository, monkeypatch, capsys) -> None:
    kept = ["data/scores/probes/gemma-3-270m.parquet", "data/built/probes/occupation-gender/probes.parquet"]
    gone = ["data/scores/probes/old.parquet", "data/built/probes/old/probes.parquet", "benchmarks/probes-old/README.md"]
    for name in kept + gone:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).touch()
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("removed")] == [
        "removed benchmarks/probes-old",
        "removed data/built/probes/old",
        "removed data/scores/probes/old.parquet",
    ]
    assert [name for name in kept + gone if (repository / name).exists()] == kept


def test_a_mistake_removes_nothing(repository, monkeypatch, capsys) -> None:
    (repository / "data/scores/probes").mkdir(parents=True)
    (repository / "data/scores/probes/old.parquet").touch()
    path = repository / "params.yaml"
    path.write_text(path.read_text().replace("kind: embedder", "kind: embeder"))
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: params.yaml: models.all-minilm-l6-v2.kind: found 'embeder'")
    assert (repository / "data/scores/probes/old.parquet").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("scale", "qick"), "error: no scale 'qick'; did you mean 'quick'?\n"),
        (("new", "probe", "age"), "error: nothing of the kind 'probe' can be started; did you mean 'probes'?\n"),
        (("new", "probes", "Age 2"), "error: 'Age 2' is no slug; use lower-case letters"),
        (("new", "probes", "occupation-gender"), "is there already; take another name\n"),
    ],
)
def test_mistakes_are_one_line_and_status_two(repository, monkeypatch, capsys, words, message) -> None:
    status, out, err = run(monkeypatch, capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_new_domain_passes_the_checks(repository, monkeypatch, capsys) -> None:
    before = (repository / "params.yaml").read_text()
    status, _, _ = run(monkeypatch, capsys, "new", "probes", "age-competence")
    assert status == 0
    settings = load_params("params.yaml").probes["age-competence"]
    source = load_probe_source(Path("data/sources/probes/age-competence.yaml"), settings)
    assert source.title == "age-competence"
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert "; probe domains occupation-gender, age-competence; " in out
    assert set(before.splitlines()) - set((repository / "params.yaml").read_text().splitlines()) == set()


def test_a_new_questionnaire_passes_the_checks(repository, monkeypatch, capsys) -> None:
    status, out, _ = run(monkeypatch, capsys, "new", "questionnaire", "good-mood")
    assert (status, out.splitlines()[1]) == (0, "params.yaml: questionnaires now holds good-mood")
    source, _ = load_questionnaire(Path("data/sources/questionnaires/good-mood.yaml"), Path("data/sources/scales"))
    assert source.title == "good-mood"
    status, out, _ = run(monkeypatch, capsys, "check")
    assert (status, out.endswith("trust-in-people, good-mood\n")) == (0, True)


def test_check_removes_undeclared_benchmarks_and_nothing_else(repository, monkeypatch, capsys) -> None:
    for name in ("probes-gone", "nli-gone", ".probes-occupation-gender.old", "mine"):
        (repository / "benchmarks" / name).mkdir(parents=True)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert [line for line in out.splitlines() if "gone" in line] == [
        "removed benchmarks/nli-gone",
        "removed benchmarks/probes-gone",
    ]
    assert (repository / "benchmarks/.probes-occupation-gender.old").is_dir()
    assert (repository / "benchmarks/mine").is_dir()
