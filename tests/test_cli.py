"""The `evenruler` command as a user runs it."""

import json
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.main import get_command

from evenruler import cli
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.registry import COMMANDS, family_module
from evenruler.project import check as checking
from tests.project import told
from tests.project.test_check import CHECKED, edit, files_of, track

ROOT = Path(__file__).parents[1]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command reads, in step, in a folder to stand in."""
    told.register(monkeypatch)
    told.put(tmp_path)
    checking.check(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["evenruler", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_check_says_what_is_declared(repository, monkeypatch, capsys) -> None:
    assert run(monkeypatch, capsys, "check") == (0, f"{CHECKED}\n", "")


def test_check_says_what_it_did(repository, monkeypatch, capsys) -> None:
    old = repository / "data/built/pairs/old/pairs.parquet"
    old.parent.mkdir(parents=True)
    old.touch()
    track(repository)
    edit(repository / "params.yaml", ("  nurses: {family: pairs, others: true}\n", ""))
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "active.yaml: now quick: tiny, shared, writer",
        "dvc.yaml: artifacts are now framing-hair, pairs-bred, pairs-doctors, pairs-found, "
        "pairs-later",
        "benchmarks/.gitignore: benchmarks with third-party text, kept out of git: none",
        "removed data/built/pairs/old",
        CHECKED.replace("doctors, nurses", "doctors"),
    ]
    assert not old.parent.exists()


def test_a_profile_is_made_beside_the_pipeline(repository, monkeypatch, capsys) -> None:
    files = [repository / "params.yaml", repository / "active.yaml"]
    before = [path.read_text() for path in files]
    status, out, err = run(monkeypatch, capsys, "profile", "paper")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "profiles/paper/active.yaml: now paper: big, shared, writer"
    assert [path.read_text() for path in files] == before
    status, out, _ = run(monkeypatch, capsys, "check")
    assert (status, out.splitlines()[-1]) == (
        0,
        "checked: profile paper; models big, shared, writer; framing hair; pairs doctors, nurses, "
        "found, bred, later",
    )


def test_a_profile_that_was_not_made_is_one_line(repository, monkeypatch, capsys) -> None:
    assert run(monkeypatch, capsys, "repro", "--profile", "paper") == (
        2,
        "",
        "error: profiles/paper has no pipeline; run `evenruler profile paper`\n",
    )


def test_a_mistake_is_one_line_and_removes_nothing(repository, monkeypatch, capsys) -> None:
    old = repository / "data/answers/pairs/old"
    old.mkdir(parents=True)
    edit(repository / "params.yaml", ("kind: chat", "kind: chatty"))
    status, out, err = run(monkeypatch, capsys, "check")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: params.yaml: models.writer.kind: found 'chatty'")
    assert old.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("profile", "qick"), "error: no profile 'qick'; did you mean 'quick'?\n"),
        (("new", "framings", "age"), "error: no family 'framings'; did you mean 'framing'?\n"),
        (("new", "pairs", "Age 2"), "error: 'Age 2' is not a valid name; use lower-case letters"),
        (
            ("new", "framing", "doctors"),
            "the instrument 'doctors' exists already; take another name\n",
        ),
        (
            ("publish", "pairs-doctor", "--to", "you/doctor"),
            "no benchmark 'pairs-doctor'; did you mean 'pairs-doctors'?",
        ),
        (
            ("plan", "doctors"),
            "'doctors' is of the family pairs, but plans are for saged; there is none\n",
        ),
    ],
)
def test_mistakes_are_one_line_and_status_two(
    repository, monkeypatch, capsys, words, message
) -> None:
    before = files_of(repository)
    status, out, err = run(monkeypatch, capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert files_of(repository) == before


def test_every_argument_and_option_has_wrong_words_in_the_table_of_faults() -> None:
    """By typer's own list of commands; flags take no word."""
    from tests.faults.arguments import ANY, WRONG

    def taken(command, name=""):
        found = command.found() if isinstance(command, cli.FamilyCommand) else command
        for own, one in getattr(found, "commands", {}).items():
            yield from taken(one, f"{name} {own}".strip())
        if not hasattr(found, "commands"):
            yield from (
                f"{name} {p.opts[0]}" for p in found.params if not getattr(p, "is_flag", False)
            )

    known = {*taken(get_command(cli.app))} - {f"{name} --help" for name in [*WRONG, "repro"]}
    assert known == ANY | {
        f"{name} {option}" for name, (_, _, wrong) in WRONG.items() for option in wrong
    }


@pytest.mark.parametrize("words", [("new",), ("new", "framing"), ("profile",)])
def test_a_word_that_lacks_is_status_two(repository, monkeypatch, capsys, words) -> None:
    status, _, err = run(monkeypatch, capsys, *words)
    assert (status, "Missing argument" in err) == (2, True)


@pytest.mark.parametrize("family", ["framing", "pairs"])
def test_a_new_instrument_passes_the_checks(repository, monkeypatch, capsys, family) -> None:
    before = (repository / "active.yaml").read_text()
    status, out, err = run(monkeypatch, capsys, "new", family, "age-kindness")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"wrote data/sources/{family}/age-kindness.yaml; edit it, then "
        "`evenruler repro rows@age-kindness` for its rows, `make repro` for everything",
        "params.yaml: instruments now holds age-kindness",
    ]
    settings, path = (
        ParamsFile().settings("age-kindness"),
        Path(f"data/sources/{family}/age-kindness.yaml"),
    )
    assert (
        "age-kindness"
        in family_module(family, "declare").load(path, settings, path.parent / "shared").title
    )
    assert load_params().benchmarks[f"{family}-age-kindness"] == "0.1.0"
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    listed = {
        "framing": "framing hair, age-kindness;",
        "pairs": "pairs doctors, nurses, found, bred, age-kindness\n",
    }
    assert listed[family] in out
    changed = set(before.splitlines()) - set((repository / "active.yaml").read_text().splitlines())
    names = {line.strip().split(":")[0] for line in changed}
    assert family in names
    assert {name.split("-")[0] for name in names} == {family}, "those that list its instruments"


def test_a_command_finds_the_root_from_below(repository, monkeypatch, capsys) -> None:
    monkeypatch.chdir(repository / "data/sources/pairs")
    assert run(monkeypatch, capsys, "check") == (0, f"{CHECKED}\n", "")
    assert Path.cwd() == repository


def test_a_path_means_what_it_does_where_the_user_stands(repository, monkeypatch, capsys) -> None:
    monkeypatch.chdir(repository / "data")
    status, _, err = run(monkeypatch, capsys, "ratings", "read", "filled.csv", "--key", "key.csv")
    assert (status, err) == (
        2,
        f"error: {repository / 'data/key.csv'}: no such file; check the name\n",
    )


def test_stages_and_options_of_repro_are_no_paths(repository, monkeypatch, capsys) -> None:
    asked = []
    monkeypatch.setattr(
        "evenruler.project.repro.repro", lambda root, words, profile: asked.extend(words) or 0
    )
    monkeypatch.chdir(repository / "data")
    assert (
        run(monkeypatch, capsys, "repro", "report", "--glob", "--x=a/b", "report/index.html")[0]
        == 0
    )
    assert asked == ["report", "--glob", "--x=a/b", str(repository / "data/report/index.html")]


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("repro",),
        ("profile", "paper"),
        ("new", "pairs", "ages"),
        ("translate", "scale.csv"),
        ("finetune", "tiny"),
        ("refresh", "fruit"),
        ("find", "fruit"),
        ("plan", "fruit"),
        ("evolve", "bred"),
        ("publish", "pairs-doctors", "--to", "you/doctors"),
        ("rebuilt",),
        ("release", "pairs-doctors"),
        ("ratings", "sheet", "doctors"),
        ("ratings", "read", "filled.csv", "--key", "key.csv"),
    ],
    ids=" ".join,
)
def test_outside_a_repository_that_is_said(tmp_path, monkeypatch, capsys, words) -> None:
    monkeypatch.chdir(tmp_path)
    said = (
        "error: no params.yaml here or above; run this in a clone of the repository of Even Ruler\n"
    )
    assert run(monkeypatch, capsys, *words) == (2, "", said)
    assert list(tmp_path.iterdir()) == []


def test_a_domain_is_planned_for_differences_that_are_asked_for(monkeypatch, capsys) -> None:
    monkeypatch.chdir(ROOT / "docs")
    status, out, err = run(
        monkeypatch, capsys, "plan", "countries", "--difference", "0.5", "--difference", "1"
    )
    assert (status, err) == (0, "")
    head, half, one, end = out.splitlines()[6:10]
    assert head == "    SD  1 reply  2 replies  4 replies  10 concepts  40 concepts"
    # Of 20 countries and 4 headlines: (t + t.8) sqrt(.95 / n), t for .05 / 80, is .5 at 75 root
    # items and 1 at 23.
    assert (half.split()[:2], one.split()[:2], end) == (["0.5", "75"], ["1", "23"], "")


def test_the_version_is_that_of_the_package(monkeypatch, capsys) -> None:
    said = f"evenruler {metadata.version('evenruler')}\n"
    assert run(monkeypatch, capsys, "--version") == (0, said, "")


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, own in COMMANDS.items() for name in own]
)
def test_a_command_of_a_family_is_listed_as_it_says_of_itself(family, name) -> None:
    listed = get_command(cli.app).commands[name]
    itself = listed.found()
    assert itself.name == name
    assert itself.get_short_help_str(60) == listed.get_short_help_str(60)


def test_help_imports_no_family_and_a_command_no_other_than_its_own() -> None:
    """Their modules, with all that they import, would make `evenruler --help` slow."""
    code = (
        "import sys; from typer.testing import CliRunner; from evenruler.cli import app; "
        "assert 'translate' in CliRunner().invoke(app, ['--help']).stdout; "
        "print([name for name in sys.modules if name.startswith('evenruler.instruments.')]); "
        "assert 'Have templates rated' in CliRunner().invoke(app, ['ratings', '--help']).stdout; "
        "print([name for name in sys.modules if name.endswith('.commands')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "['evenruler.instruments.registry']",
        "['evenruler.instruments.probes.commands']",
    ]


def test_a_shell_gets_its_completion() -> None:
    """Typer asks what shell it was started in, which has to be one."""
    command = (
        f"{sys.executable} -c 'from evenruler.cli import main; main()' --show-completion "
        "bash; exit $?"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "complete -o default -F" in done.stdout


def test_what_comes_with_the_package_is_listed_and_found_by_name_anywhere(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(monkeypatch, capsys, "list")
    assert (status, err) == (0, "")
    assert re.search(
        r"^framing-age +\d+\.\d+\.\d+ +921  Age of people by what they enjoy$", out, flags=re.M
    )
    _, of_one, _ = run(monkeypatch, capsys, "list", "probes-occupation-gender")
    assert of_one.splitlines()[0] == "probes-occupation-gender 1.0.0: Occupation and gender"
    assert (
        "  choice      standard    3,756 questions; 80 of 100 such studies find a share of 32 "
        "points" in of_one
    )
    assert "  choice      trial         588 questions; no verdict is possible" in of_one
    found = {
        own["name"]: own
        for own in json.loads(run(monkeypatch, capsys, "list", "--format", "json")[1])
    }
    assert found["framing-age"]["rows"] == 921
    assert len(found) == len(out.splitlines()) - 1
    assert run(monkeypatch, capsys, "verify", "framing-age") == (
        0,
        "framing-age: as its manifest says\n",
        "",
    )
    status, out, err = run(monkeypatch, capsys, "diff", "framing-age", "framing-gender")
    assert (status, out) == (2, "")
    assert "framing-age and framing-gender are two benchmarks, not two versions of one" in err
    assert "(did you mean 'framing-age'?)" in run(monkeypatch, capsys, "verify", "framing-agee")[2]


def test_a_folder_goes_before_what_comes_with_the_package(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "framing-age").mkdir()
    monkeypatch.chdir(tmp_path)
    said = "error: framing-age: no manifest.json here; name a folder of a benchmark\n"
    assert run(monkeypatch, capsys, "verify", "framing-age") == (2, "", said)


def test_a_git_revision_is_found_from_below(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "params.yaml").touch()
    shutil.copytree(ROOT / "benchmarks/framing-age", tmp_path / "benchmarks/framing-age")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "built"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path / "docs")
    place = "HEAD:benchmarks/framing-age"
    assert run(monkeypatch, capsys, "verify", place) == (0, f"{place}: as its manifest says\n", "")


ONE_STAGE = """\
schema: '2.0'
stages:
  old:
    cmd: python -m stages.old
    outs:
    - path: data/answers/pairs/old
      hash: md5
      md5: d41d8cd98f00b204e9800998ecf8427e
      size: 1
"""


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "dvc.lock",
            "<<<<<<< HEAD\nschema: '2.0'\n=======\n>>>>>>> theirs\n",
            "dvc.lock: DVC cannot read it; `git checkout dvc.lock`",
        ),
        ("dvc.yaml", "stages: [", "dvc.yaml: line 1: "),
        ("dvc.yaml", "stages: [old]\n", "dvc.yaml: stages: not a mapping of stages"),
        (
            "benchmarks/saged-theirs/README.md",
            "theirs",
            "benchmarks/saged-theirs: neither declared nor known",
        ),
    ],
)
def test_nothing_is_written_or_removed_before_everything_is_read(
    repository, monkeypatch, capsys, file, text, said
) -> None:
    """Where there would be something to remove, and `active` to be brought in step."""
    (repository / ".dvc").mkdir()
    (repository / "dvc.lock").write_text(ONE_STAGE)
    old = repository / "data/answers/pairs/old"
    old.parent.mkdir(parents=True)
    old.touch()
    edit(
        repository / "active.yaml",
        (
            "    pairs-shared: {family: pairs, model: shared, instruments: [doctors, nurses, "
            "found, bred]}\n",
            "",
        ),
    )
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


def test_check_takes_out_of_the_lock_what_is_gone(repository, monkeypatch, capsys) -> None:
    (repository / "dvc.lock").write_text(ONE_STAGE)
    status, out, _ = run(monkeypatch, capsys, "check")
    assert status == 0
    assert "removed old from dvc.lock\n" in out
    assert (repository / "dvc.lock").read_text() == "schema: '2.0'\nstages: {}\n"
