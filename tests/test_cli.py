"""The `evenruler` command as a user runs it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evenruler.instruments.probes.source import load_probe_source
from evenruler.instruments.questionnaires.source import load_questionnaire

from evenruler import cli
from evenruler.project import check as checking
from evenruler.project.files import params_yaml
from evenruler.project.params import load_params

ROOT = Path(__file__).parents[1]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command reads, in step, in a folder to stand in; every encoder has been fitted as params say."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "data/sources", tmp_path / "data/sources")
    for name, entry in load_params(tmp_path / "params.yaml").models.items():
        if entry.finetune is not None:
            record(tmp_path, name, entry.finetune.model_dump())
    checking.set_scale(tmp_path, "quick")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(root: Path, name: str, recipe: dict[str, Any]) -> None:
    """Say that an adapter was fitted by a recipe."""
    content = {"labels": [], "base": "", "recipe": recipe, "held_out": {"accuracy": 0.7, "n": 40}}
    path = root / "data/adapters" / name / "training.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def track(root: Path) -> None:
    """Have git know all that is there."""
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=root, check=True)


def edit(path: Path, *changes: tuple[str, str]) -> str:
    """Replace each first once; returns what the file was."""
    before = text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text)
    return before


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["evenruler", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_check_says_what_is_declared(repository, monkeypatch, capsys) -> None:
    active = load_params().active
    models = dict.fromkeys([*active.models, *active.entailment])
    run(monkeypatch, capsys, "check")
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, err) == (0, "")
    assert out == (
        f"checked: scale quick; models {', '.join(models)}; "
        "probe domains occupation-gender, age-competence, political-ideology-personality; evolving occupation-gender; "
        "questionnaires gad-7, phq-9, soc-13, trust-in-people; "
        "contrasts gender, age, indirect-probing, p-at-gender-7, p-at-gender-8; "
        "domains countries, fruit, ideologies\n"
    )


def test_check_of_probes_alone_names_no_corpora(repository, monkeypatch, capsys) -> None:
    path = repository / "params.yaml"
    document = params_yaml().load(path.read_text())
    for key in ("questionnaires", "interventions", "contrasts", "domains", "evolve"):
        del document[key]
    document["probes"] = {"occupation-gender": document["probes"]["occupation-gender"]}
    for name in [name for name in document["versions"] if name.startswith("nli-")]:
        del document["versions"][name]
    with path.open("w") as file:
        params_yaml().dump(document, file)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert (status, out.splitlines()[-1].endswith("; probe domains occupation-gender")) == (0, True)
    assert (load_params().active.interventions, load_params().active.evolved) == ([], [])


def adapting(repository, monkeypatch, capsys) -> Path:
    """The declaration, where models are adapted to corpora at the quick scale, too."""
    path = repository / "params.yaml"
    edit(path, ("depressive-mood: &adapted {scale: paper}", "depressive-mood: &adapted {}"))
    assert run(monkeypatch, capsys, "check")[0] == 0
    return path


@pytest.mark.parametrize("key", ["models", "entailment", "interventions", "evolved"])
def test_check_brings_active_in_step(repository, monkeypatch, capsys, key) -> None:
    path = adapting(repository, monkeypatch, capsys)
    good, used = path.read_text(), getattr(load_params().active, key)
    (listed,) = [line for line in good.splitlines() if line.startswith(f"  {key}: [")]
    edit(path, (listed, f"  {key}: [gemma-3-270m, {', '.join(used)}]"))
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert out.startswith("params.yaml: active is now quick: smollm2-135m-instruct, gemma-3-270m")
    assert path.read_text() == good


@pytest.mark.parametrize(("key", "held"), [("interventions", "minilm-nli-a"), ("evolved", "occupation-gender")])
def test_check_writes_what_is_in_use_where_nothing_stood(repository, monkeypatch, capsys, key, held) -> None:
    path = adapting(repository, monkeypatch, capsys)
    good, used = path.read_text(), getattr(load_params().active, key)
    (listed,) = [line for line in good.splitlines() if line.startswith(f"  {key}: [")]
    edit(path, (f"{listed}\n", ""))
    status, _, _ = run(monkeypatch, capsys, "check")
    assert (status, getattr(load_params().active, key)) == (0, used)
    assert held in used
    assert path.read_text() == good


def test_check_notes_which_models_a_stage_uses(repository, monkeypatch, capsys) -> None:
    """A changed entry changes the checksum of the stages that use the model, and of no other."""
    path = repository / "params.yaml"
    run(monkeypatch, capsys, "check")
    before = load_params().active.uses
    edit(path, ("licence: gemma\n    origin: google/gemma-3-270m,", "licence: other\n    origin: google/gemma-3-270m,"))
    assert run(monkeypatch, capsys, "check")[0] == 0
    after = load_params().active.uses
    changed = {stage for stage in before if before[stage] != after[stage]}
    assert set(before) == set(after)
    assert changed == {"card-probes", "card-framing", "card-saged", "card-questionnaires", "diagnose-questionnaires"}


def test_check_writes_that_nothing_is_in_use_where_nothing_stood(repository, monkeypatch, capsys) -> None:
    """DVC reads the list, so it has to be there."""
    path = repository / "params.yaml"
    document = params_yaml().load(path.read_text())
    del document["evolve"], document["active"]["evolved"]
    with path.open("w") as file:
        params_yaml().dump(document, file)
    assert run(monkeypatch, capsys, "check")[0] == 0
    assert params_yaml().load(path.read_text())["active"]["evolved"] == []
    _, out, _ = run(monkeypatch, capsys, "check")
    assert "active is now" not in out


def test_check_removes_interventions_of_models_that_are_adapted_no_more(repository, monkeypatch, capsys) -> None:
    adapting(repository, monkeypatch, capsys)
    kept = "data/scores/interventions/minilm-nli-a/answers.parquet"
    gone = [f"data/scores/interventions/{name}/answers.parquet" for name in ("gemma-3-270m", "old")]
    for name in [kept, *gone]:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).touch()
    track(repository)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("removed")] == [
        "removed data/scores/interventions/gemma-3-270m",
        "removed data/scores/interventions/old",
    ]
    assert [name for name in [kept, *gone] if (repository / name).exists()] == [kept]


def test_check_keeps_text_of_others_out_of_git(repository, monkeypatch, capsys) -> None:
    ignored = repository / "benchmarks/.gitignore"
    _, out, _ = run(monkeypatch, capsys, "check")
    assert "benchmarks/.gitignore: text of others stays out of git: ideologies\n" in out
    assert ignored.read_text().splitlines()[1:] == ["/saged-ideologies"]
    assert (ROOT / "benchmarks/.gitignore").read_text() == ignored.read_text()
    edit(repository / "params.yaml", ("  ideologies: {text: others, items: {quick: 2, paper: 1000}}\n", ""))
    _, out, _ = run(monkeypatch, capsys, "check")
    assert "text of others stays out of git: none\n" in out
    assert not ignored.exists()


CORPUS = "data/sources/corpora/depressive-mood.yaml"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ("{gad-7: up, ", "{gad7: up, "),
            f"error: {CORPUS}: expect: no questionnaire 'gad7'; did you mean 'gad-7'?\n",
        ),
        (
            ("role: intervention\n", "role: control\n"),
            f"error: {CORPUS}: a control moves nothing: every direction in `expect` is none; mend it\n",
        ),
        (
            ("sentences:\n", "file: lines.txt\nsentences:\n"),
            f"error: {CORPUS}: found both, keep one; mend it\n",
        ),
    ],
)
def test_a_mistake_in_a_corpus_is_one_line_and_removes_nothing(repository, monkeypatch, capsys, change, line) -> None:
    (repository / "data/scores/interventions/old").mkdir(parents=True)
    edit(repository / CORPUS, change)
    assert run(monkeypatch, capsys, "check") == (2, "", line)
    assert (repository / "data/scores/interventions/old").exists()


def test_a_corpus_without_a_file_is_one_line(repository, monkeypatch, capsys) -> None:
    (repository / CORPUS).unlink()
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, out, err) == (2, "", f"error: {CORPUS}: no such file; create it or mend the name\n")


def test_check_makes_the_folder_that_dvc_wants_to_see(repository, monkeypatch, capsys) -> None:
    assert not (repository / "data/scores").exists()
    assert run(monkeypatch, capsys, "check")[0] == 0
    assert list((repository / "data/scores/interventions").iterdir()) == []


def test_a_corpus_that_is_not_declared_is_not_read(repository, monkeypatch, capsys) -> None:
    (repository / "data/sources/corpora/draft.yaml").write_text("no corpus yet")
    assert run(monkeypatch, capsys, "check")[0] == 0


class TestAdapters:
    """Of an encoder that answers questionnaires."""

    FOLDER = "data/adapters/minilm-nli-a"

    def test_one_that_was_never_fitted(self, repository, monkeypatch, capsys) -> None:
        shutil.rmtree(repository / self.FOLDER)
        status, out, err = run(monkeypatch, capsys, "check")
        assert (status, out) == (2, "")
        assert err == (
            f"error: {self.FOLDER}: minilm-nli-a has no adapter yet; run `evenruler finetune minilm-nli-a`\n"
        )

    @pytest.mark.parametrize(("key", "value"), [("seed", 17), ("bar", 0.1), ("half", 2), ("data", ["mnli-dev"])])
    def test_one_that_was_fitted_by_another_recipe(self, repository, monkeypatch, capsys, key, value) -> None:
        recipe = load_params().models["minilm-nli-a"].finetune.model_dump()
        assert recipe[key] != value
        record(repository, "minilm-nli-a", {**recipe, key: value})
        status, out, err = run(monkeypatch, capsys, "check")
        assert (status, out) == (2, "")
        assert err == (
            f"error: {self.FOLDER}: minilm-nli-a was fitted by another recipe than `finetune` gives; "
            "run `evenruler finetune minilm-nli-a`, or put the recipe back\n"
        )

    def test_what_is_not_in_use_need_not_be_fitted(self, repository, monkeypatch, capsys) -> None:
        shutil.rmtree(repository / self.FOLDER)
        self.park(repository)
        assert run(monkeypatch, capsys, "check")[0] == 0

    def test_what_judges_sentences_must_be(self, repository, monkeypatch, capsys) -> None:
        """One that no feature needs."""
        path = repository / "params.yaml"
        document = params_yaml().load(path.read_text())
        document["diagnosis"]["acceptability"] = "minilm-toxicity"
        del document["saged"]["features"]["toxicity"]
        with path.open("w") as file:
            params_yaml().dump(document, file)
        shutil.rmtree(repository / "data/adapters/minilm-toxicity")
        status, _, err = run(monkeypatch, capsys, "check")
        assert (status, "minilm-toxicity has no adapter yet" in err) == (2, True)

    def park(self, repository: Path) -> None:
        path = repository / "params.yaml"
        document = params_yaml().load(path.read_text())
        document["models"]["minilm-nli-a"]["scale"] = "none"
        document["models"]["minilm-nli-b"]["intervention"] = "every"
        with path.open("w") as file:
            params_yaml().dump(document, file)


def test_a_scale_without_a_model_to_adapt_is_refused_and_nothing_written(repository, monkeypatch, capsys) -> None:
    """Written, it could not be taken back: params.yaml would not be read any more."""
    path = repository / "params.yaml"
    document = params_yaml().load(path.read_text())
    for entry in document["models"].values():
        entry.pop("intervention", None)
    document["models"]["gemma-3-270m"]["intervention"] = "last"
    with path.open("w") as file:
        params_yaml().dump(document, file)
    checking.check(repository)
    before = path.read_text()
    status, out, err = run(monkeypatch, capsys, "scale", "paper")
    assert (status, out, path.read_text()) == (2, "", before)
    assert err == (
        "error: params.yaml: models: no model is adapted to corpora at the scale 'paper'; "
        "give one that answers questionnaires `intervention: every`\n"
    )


def test_check_removes_what_is_declared_no_more_and_nothing_else(repository, monkeypatch, capsys) -> None:
    kept = [
        "benchmarks/probes-age-competence-evolved/README.md",
        "data/built/probes/occupation-gender-evolved/probes.parquet",
        "data/built/probes/occupation-gender/probes.parquet",
        "data/scores/probes/gemma-3-270m.parquet",
    ]
    gone = [
        "benchmarks/probes-old-evolved/README.md",
        "benchmarks/probes-old/README.md",
        "data/built/probes/age-competence-evolved/probes.parquet",
        "data/built/probes/old/probes.parquet",
        "data/scores/probes/old.parquet",
    ]
    for name in kept + gone:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).touch()
    track(repository)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("removed")] == [
        "removed benchmarks/probes-old",
        "removed benchmarks/probes-old-evolved",
        "removed data/built/probes/age-competence-evolved",
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
    status, _, _ = run(monkeypatch, capsys, "new", "probes", "age-kindness")
    assert status == 0
    settings = load_params("params.yaml").probes["age-kindness"]
    source = load_probe_source(Path("data/sources/probes/age-kindness.yaml"), settings)
    assert source.title == "age-kindness"
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert "; probe domains occupation-gender, age-competence, political-ideology-personality, age-kindness; " in out
    assert set(before.splitlines()) - set((repository / "params.yaml").read_text().splitlines()) == set()


def test_a_new_questionnaire_passes_the_checks(repository, monkeypatch, capsys) -> None:
    status, out, _ = run(monkeypatch, capsys, "new", "questionnaire", "good-mood")
    assert (status, out.splitlines()[1]) == (0, "params.yaml: questionnaires now holds good-mood")
    source, _ = load_questionnaire(Path("data/sources/questionnaires/good-mood.yaml"), Path("data/sources/scales"))
    assert source.title == "good-mood"
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert "; questionnaires gad-7, phq-9, soc-13, trust-in-people, good-mood; contrasts " in out


def test_check_removes_undeclared_benchmarks_and_nothing_else(repository, monkeypatch, capsys) -> None:
    for name in ("probes-gone", "nli-gone", ".probes-occupation-gender.old", "mine"):  # empty
        (repository / "benchmarks" / name).mkdir(parents=True)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert [line for line in out.splitlines() if "gone" in line] == [
        "removed benchmarks/nli-gone",
        "removed benchmarks/probes-gone",
    ]
    assert (repository / "benchmarks/.probes-occupation-gender.old").is_dir()
    assert (repository / "benchmarks/mine").is_dir()


def files_of(root: Path) -> dict[str, bytes]:
    paths = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


ONE_STAGE = """\
schema: '2.0'
stages:
  old:
    cmd: python -m stages.old
    outs:
    - path: data/scores/probes/old.parquet
      hash: md5
      md5: d41d8cd98f00b204e9800998ecf8427e
      size: 1
"""


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("dvc.lock", "<<<<<<< HEAD\nschema: '2.0'\n=======\n>>>>>>> theirs\n", "dvc.lock: holds the marks of a merge"),
        ("dvc.lock", "", "dvc.lock: empty, as a kill of DVC leaves it; delete it"),
        ("dvc.lock", ONE_STAGE.replace("size: 1", "size: one"), "dvc.lock: DVC cannot list the stages"),
        ("dvc.yaml", "stages: [", "dvc.yaml: line 1: "),
        ("dvc.yaml", "stages:\n  old: {comand: x}\n", "dvc.yaml: DVC cannot list the stages"),
        ("benchmarks/saged-theirs/README.md", "theirs", "benchmarks/saged-theirs: not declared, and neither git nor"),
    ],
)
def test_nothing_is_written_or_removed_before_everything_is_read(
    repository, monkeypatch, capsys, file, text, said
) -> None:
    """Where there would be something to remove, and `active` to be brought in step."""
    (repository / ".dvc").mkdir()
    (repository / "dvc.lock").write_text(ONE_STAGE)
    old = repository / "data/scores/probes/old.parquet"
    old.parent.mkdir(parents=True)
    old.touch()
    (listed,) = [line for line in Path("params.yaml").read_text().splitlines() if line.startswith("  entailment: [")]
    edit(repository / "params.yaml", (f"{listed}\n", ""))
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    (repository / file).write_text(text)
    if file == "dvc.lock":  # and git knows what is there
        subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
        subprocess.run(["git", "add", "data"], cwd=repository, check=True)
    before = files_of(repository)
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {said}")
    assert files_of(repository) == before


def test_check_puts_a_cut_lock_back_and_takes_out_what_is_gone(repository, monkeypatch, capsys) -> None:
    (repository / ".dvc").mkdir()
    (repository / ".cache").mkdir()
    (repository / ".cache/dvc.lock").write_text(ONE_STAGE)
    (repository / "dvc.lock").write_text(ONE_STAGE[:40])
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert "dvc.lock was cut in the middle of a line: put back from .cache/dvc.lock\n" in out
    assert "removed old from dvc.lock\n" in out
    assert (repository / "dvc.lock").read_text() == "schema: '2.0'\nstages: {}\n"
