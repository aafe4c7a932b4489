"""The `evenruler` command as a user runs it."""

import json
import re
import subprocess
import sys
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from typer.main import get_command

from evenruler import cli
from evenruler.instruments.registry import COMMANDS
from evenruler.project import check as checking
from tests.project import told
from tests.project.test_check import CHECKED, edit, files_of
from tests.text_tables import read_words

ROOT = Path(__file__).parents[1]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command reads, in step, in a folder to stand in."""
    told.register(monkeypatch)
    told.put(tmp_path)
    checking.check(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_says_what_is_declared(repository, run_evenruler) -> None:
    assert run_evenruler("check") == (0, f"{CHECKED}\n", "")


def test_a_profile_that_was_not_made_is_one_line(repository, run_evenruler) -> None:
    assert run_evenruler("repro", "--profile", "paper") == (
        2,
        "",
        "error: profiles/paper has no pipeline; run `evenruler profile paper`\n",
    )


def test_measure_without_a_model_says_what_to_say(run_evenruler) -> None:
    assert run_evenruler("measure") == (
        2,
        "",
        "error: no model is named; name a MODEL, or say --demo\n",
    )


def test_every_argument_and_option_has_wrong_words_in_the_table_of_faults() -> None:
    """By typer's own list of commands; flags take no word."""
    from tests.faults.arguments import ANY, WRONG

    def taken(command, name=""):
        resolved = command.resolve_command() if isinstance(command, cli.FamilyCommand) else command
        for subname, subcommand in getattr(resolved, "commands", {}).items():
            yield from taken(subcommand, f"{name} {subname}".strip())
        if hasattr(resolved, "commands"):
            return
        for param in resolved.params:
            if not getattr(param, "is_flag", False):
                yield f"{name} {param.opts[0]}"

    of_help = {f"{name} --help" for name in [*WRONG, "repro"]}
    expected = {*ANY}
    for name, declared in WRONG.items():
        expected.update(f"{name} {option}" for option in declared["wrong"])
    assert {*taken(get_command(cli.app))} - of_help == expected


def test_a_command_finds_the_root_from_below(repository, monkeypatch, run_evenruler) -> None:
    monkeypatch.chdir(repository / "data/sources/pairs")
    assert run_evenruler("check") == (0, f"{CHECKED}\n", "")
    assert Path.cwd() == repository


def test_a_path_means_what_it_does_where_the_user_stands(
    repository, monkeypatch, run_evenruler
) -> None:
    monkeypatch.chdir(repository / "data")
    status, _, err = run_evenruler("ratings", "read", "filled.csv", "--key", "key.csv")
    assert (status, err) == (
        2,
        f"error: {repository / 'data/key.csv'}: no such file; check the name\n",
    )


def test_stages_and_options_of_repro_are_no_paths(repository, monkeypatch, run_evenruler) -> None:
    arguments = []
    monkeypatch.setattr(
        "evenruler.project.repro.repro", lambda root, words, profile: arguments.extend(words) or 0
    )
    monkeypatch.chdir(repository / "data")
    assert run_evenruler("repro", "report", "--glob", "--x=a/b", "report/index.html")[0] == 0
    assert arguments == ["report", "--glob", "--x=a/b", str(repository / "data/report/index.html")]


OF_A_REPOSITORY = read_words("""\
check
repro
profile paper
new pairs ages
finetune tiny
finetune --all
population nli
refresh fruit
find fruit
power fruit
evolve bred
publish pairs-doctors --to you/doctors
rebuilt
release pairs-doctors
ratings sheet doctors
ratings read filled.csv --key key.csv
""")


def test_outside_a_repository_that_is_said(tmp_path, monkeypatch, run_evenruler) -> None:
    monkeypatch.chdir(tmp_path)
    message = (
        "error: no params.yaml here or above; run this in a clone of the repository of Even Ruler\n"
    )
    for words in OF_A_REPOSITORY:
        assert run_evenruler(*words) == (2, "", message), words
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_that_of_the_package(run_evenruler) -> None:
    printed = f"evenruler {metadata.version('evenruler')}\n"
    assert run_evenruler("--version") == (0, printed, "")


@pytest.mark.parametrize("name", [*chain(*COMMANDS.values())])
def test_a_command_of_a_family_is_listed_as_it_says_of_itself(name) -> None:
    listed = get_command(cli.app).commands[name]
    itself = listed.resolve_command()
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


def test_what_comes_with_the_package_is_listed_and_found_by_name_anywhere(
    tmp_path, monkeypatch, run_evenruler
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run_evenruler("list")
    assert (status, err) == (0, "")
    assert re.search(
        r"^framing-age +\d+\.\d+\.\d+ +[\d,]+  .*  Age of people by what they enjoy$",
        out,
        flags=re.M,
    )
    _, of_one, _ = run_evenruler("list", "probes-occupation-gender")
    assert of_one.splitlines()[0] == "probes-occupation-gender 1.0.0: Occupation and gender"
    assert (
        "  causal, chat  choice      standard  2,172 replies; 8 of 10 such studies detect a share "
        "of 32 points" in of_one
    )
    assert "  causal, chat  written     trial     59 replies; no verdict is possible" in of_one
    benchmark_by_name = {
        benchmark["name"]: benchmark
        for benchmark in json.loads(run_evenruler("list", "--format", "json")[1])
    }
    assert benchmark_by_name["framing-age"]["rows"] == 3711
    assert len(benchmark_by_name) == len(out.splitlines()) - 1
    assert "(did you mean 'framing-age'?)" in run_evenruler("verify", "framing-agee")[2]


def test_a_folder_goes_before_what_comes_with_the_package(
    tmp_path, monkeypatch, run_evenruler
) -> None:
    (tmp_path / "framing-age").mkdir()
    monkeypatch.chdir(tmp_path)
    message = "error: framing-age: no manifest.json here; name a folder of a benchmark\n"
    assert run_evenruler("verify", "framing-age") == (2, "", message)


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


def test_nothing_is_written_or_removed_before_everything_is_read(repository, run_evenruler) -> None:
    """Where there would be something to remove, and `active` to be brought in step."""
    (repository / "dvc.lock").write_text(ONE_STAGE)
    for name in ("data/answers/pairs/old", "benchmarks/saged-theirs/README.md"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).touch()
    entry = "    pairs-shared: {family: pairs, model: shared, instruments: "
    edit(repository / "active.yaml", (f"{entry}[doctors, nurses, found, bred]}}\n", ""))
    before = files_of(repository)
    status, out, err = run_evenruler("check")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: benchmarks/saged-theirs: neither declared nor known")
    assert files_of(repository) == before


def test_check_takes_out_of_the_lock_what_is_gone(repository, run_evenruler) -> None:
    (repository / "dvc.lock").write_text(ONE_STAGE)
    status, out, _ = run_evenruler("check")
    assert status == 0
    assert "removed old from dvc.lock\n" in out
    assert (repository / "dvc.lock").read_text() == "schema: '2.0'\nstages: {}\n"
