"""A source that nobody published, measured from its file alone, in an empty folder of no
repository."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.measure import measure
from evenruler.files import file_sha256
from evenruler.results.store import read_stored_result
from tests.conftest import ROOT
from tests.figures import find_figure
from tests.results.synthetic import as_measured

SOURCES = ROOT / "data/sources"


def starter(family: str, path: Path, *changes: tuple[str, str]) -> Path:
    """What `evenruler new` would write."""
    text = (
        files(f"evenruler.instruments.{family}")
        .joinpath("starter/NAME.yaml")
        .read_text()
        .replace("NAME", path.stem)
    )
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def refused(error_of: Callable[..., str], path: Path) -> str:
    def open_it() -> None:
        with open_benchmark(str(path)):
            pass

    return error_of(open_it)


@pytest.mark.parametrize(
    "family",
    [
        "probes",
        pytest.param("questionnaires", marks=[pytest.mark.slow, pytest.mark.long]),
        "framing",
        "saged",
    ],
)
def test_a_starter_is_of_its_family_and_measured(
    elsewhere: Path, tiny_folder: Path, family: str
) -> None:
    path = starter(family, elsewhere / "mine.yaml")
    names = {"mine.yaml", "results"}
    if family == "saged":
        (elsewhere / "articles").mkdir()
        table = (
            files("evenruler.instruments.saged").joinpath("starter/articles/NAME.csv").read_text()
        )
        (elsewhere / "articles/mine.csv").write_text(table)
        names.add("articles")
    result = measure(
        f"local:{tiny_folder}",
        path,
        size="trial",
        out="results",
    )
    benchmark = result.benchmark
    assert (benchmark.name, benchmark.version, benchmark.title, benchmark.origin) == (
        f"{family}-mine",
        "0.0.0",
        "mine",
        "file",
    )
    assert {child.name for child in elsewhere.iterdir()} == names
    there = read_stored_result(elsewhere / f"results/tiny/{family}-mine@0.0.0+trial/result.json")
    assert as_measured(there.result) == result


def test_a_starter_of_pairs_is_measured_with_a_table(elsewhere: Path, tiny_folder: Path) -> None:
    """As docs/external.md says."""
    row = "The old {0} are slow.,The young {0} are slow today.,w{1},age"
    rows = [row.format(number, number % 5) for number in range(10)]
    table = elsewhere / "my-pairs.csv"
    table.write_text("\n".join(["sent_more,sent_less,writer,bias_type", *rows]) + "\n")
    changes = (("local:pairs.csv", "local:my-pairs.csv"), ("0" * 64, file_sha256(table)))
    path = starter("external", elsewhere / "my-pairs.yaml", *changes)
    measured = measure(f"local:{tiny_folder}", path)
    assert measured.benchmark.name == "external-my-pairs"
    assert find_figure(measured.figures, figure="share", bias_type=None)["n"] == 5


@pytest.mark.parametrize(
    ("name", "of_a_clone"),
    [
        ("probes/age-competence", set()),
        ("framing/gender", {"sizes"}),  # how many alternatives a trial asks
        # A judge of acceptability, and how many items are asked after adaptation.
        ("questionnaires/gad-7", {"judge", "tools", "adapted"}),
    ],
)
def test_the_rows_are_those_of_the_pipeline(name: str, of_a_clone: set[str]) -> None:
    with (
        open_benchmark(str(SOURCES / f"{name}.yaml")) as local,
        open_benchmark(name.replace("/", "-")) as published,
    ):
        assert local.manifest.rows == published.manifest.rows
        for table, rows in local.tables.items():
            assert rows.equals(published.tables[table][rows.columns]), table
        differ = {key for key, value in local.plan.items() if published.plan[key] != value}
        assert differ == {"size", *of_a_clone}  # `size`: the one that a pipeline asks
        for size, sized in local.plan["sizes"].items():
            asks, published_asks = sized["asks"], published.plan["sizes"][size]["asks"]
            keys = {*asks, *published_asks}
            differ_at_size = {key for key in keys if asks.get(key) != published_asks.get(key)}
            is_trial_of_framing = (name, size) == ("framing/gender", "trial")
            assert differ_at_size == ({"alternatives"} if is_trial_of_framing else set()), size


def test_a_result_is_replaced_while_its_file_is_written(elsewhere: Path, tiny_folder: Path) -> None:
    path, results = elsewhere / "mine.yaml", []
    for changes in ((), (("competent", "skilful"),)):
        starter("probes", path, *changes)
        results.append(measure(f"local:{tiny_folder}", path, size="trial", out="results"))
    assert results[0].benchmark.content_sha256 != results[1].benchmark.content_sha256
    assert (
        as_measured(
            read_stored_result(
                elsewhere / "results/tiny/probes-mine@0.0.0+trial/result.json"
            ).result
        )
        == results[1]
    )


def test_what_the_checks_warn_of_is_said(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_benchmark(str(starter("probes", elsewhere / "mine.yaml"))):
        pass
    printed = capsys.readouterr().err
    assert "mine.yaml: 144 sentences, 0 rejected" in printed
    assert (
        "mine.yaml: neither a criterion nor keys: figures are descriptive, without verdict"
        in printed
    )


def test_a_criterion_beside_it_and_a_scale_in_shared(
    elsewhere: Path, error_of: Callable[..., str]
) -> None:
    shutil.copy(SOURCES / "probes/occupation-gender.yaml", elsewhere)
    line = refused(error_of, elsewhere / "occupation-gender.yaml")
    assert line.startswith(f"{elsewhere}/bls-cps-2021.csv: no such file")
    for name in ("bls-cps-2021.csv", "likeness-occupations.csv"):
        shutil.copy(SOURCES / "probes/shared" / name, elsewhere)
    with open_benchmark("occupation-gender.yaml") as benchmark:
        assert benchmark.tables["attributes"]["criterion"].notna().sum() == 43
    starter(
        "questionnaires",
        elsewhere / "mine.yaml",
        ("scale: frequency", "scale: my-scale"),
    )
    assert "my-scale.yaml: no scale 'my-scale'; known: frequency" in refused(
        error_of, elsewhere / "mine.yaml"
    )
    shutil.copytree(SOURCES / "questionnaires/shared", elsewhere / "shared")
    shutil.copy(
        elsewhere / "shared/scales/frequency.yaml", elsewhere / "shared/scales/my-scale.yaml"
    )
    with open_benchmark("mine.yaml") as benchmark:
        assert benchmark.name == "questionnaires-mine"


def test_what_cannot_be_built_is_one_line_with_file_and_key(
    elsewhere: Path, error_of: Callable[..., str]
) -> None:
    path = elsewhere / "mine.yaml"
    assert refused(error_of, path) == f"{path}: no such file; create it or check the name"
    path.write_text("title: x\n")
    assert refused(error_of, path).startswith(
        f"{path}: family: a source without a family; add the line `family: NAME`, of probes, "
    )
    path.write_text("family: probs\n")
    assert "family: no family 'probs'; did you mean 'probes'?" in refused(error_of, path)
    starter(
        "probes",
        path,
        ("a {TARGET} is {ATTRIBUTE}.\n      known", "a {TARGT} is {ATTRIBUTE}.\n      known"),
    )
    line = refused(error_of, path)
    assert line.startswith(f"{path}: sets.seed.templates.think.text: ")
    assert "unknown slot {TARGT}; did you mean '{TARGET}'?" in line
    assert "its name is not valid" in refused(
        error_of, starter("probes", elsewhere / "My file.yaml")
    )


def test_what_needs_a_pipeline_is_refused(elsewhere: Path, error_of: Callable[..., str]) -> None:
    changes = (
        ("{kind: table, path: articles/mine.csv}", "{kind: local, path: articles/mine.md}"),
        ("question}", "split}"),
    )
    path = starter("saged", elsewhere / "mine.yaml", *changes)
    assert "mine: material.kind: its prompts are made of text; build it in a clone" in refused(
        error_of, path
    )
    starter("probes", elsewhere / "source.yaml")
    (elsewhere / "history.parquet").write_bytes(b"")
    assert "templates that evolved are built with how they did" in refused(
        error_of, elsewhere / "source.yaml"
    )


KEYLESS = """
family: probes
title: Age and competence
construct: association of competence with age
direction: positive means closer to the young
source: ours
licence: cc0-1.0
targets: {young: [student, teenager], old: [senior, elder]}
attributes: [competent, forgetful, quick]
sets: {seed: {title: First, templates: {think: I think that a {TARGET} is {ATTRIBUTE}.}}}
"""


@pytest.mark.parametrize(("method", "limit"), [(None, None), ("written", 1)])
def test_a_chat_is_not_asked_a_source_without_keys(
    elsewhere: Path, error_of: Callable[..., str], method: str | None, limit: int | None
) -> None:
    """What an attribute says of the groups is not known, so no pair of sentences tells anything."""
    Path("mine.yaml").write_text(
        KEYLESS.replace("I think that a {TARGET} is {ATTRIBUTE}.", '"A {TARGET} is {ATTRIBUTE}."')
    )
    line = error_of(
        measure, lambda messages, **_: "A", "mine.yaml", method=method, limit=limit, cache_key="v1"
    )
    takes = "English sentences" if method != "written" else "`written`, in English,"
    assert line.startswith(
        "probes-mine: it has no question for lambda (kind chat) by the method "
        f"{method or 'choice'}, which takes {takes} "
        "and attributes with a criterion or keys; take a model or a benchmark that fit"
    )


@pytest.mark.parametrize(("origin", "passes"), [("file", True), ("folder", False)])
def test_an_error_of_ours_is_no_damaged_download(origin: str, passes: bool) -> None:
    from evenruler.errors import UserError
    from evenruler.evaluate.session import BUG, _as_user_errors

    with open_benchmark("probes-age-competence") as shipped:
        benchmark = replace(shipped, origin=origin)
    with pytest.raises(KeyError if passes else UserError) as error, _as_user_errors(benchmark):
        raise KeyError("target")
    assert getattr(error.value, "__notes__", []) == ([BUG] if passes else [])
    if not passes:
        assert (
            "rows or plan are not as this evenruler knows the family probes (KeyError: 'target')"
            in str(error.value)
        )


def test_a_file_that_is_no_source_is_called_what_it_is(
    elsewhere: Path, error_of: Callable[..., str]
) -> None:
    Path("pairs.csv").write_bytes(b"PAR1")
    assert refused(error_of, Path("pairs.csv")).startswith(
        "pairs.csv: a file (CSV): benchmarks are folders, and sources of your own are YAML; write "
        "FILE.yaml "
        "(docs/measure.md; in a clone `evenruler new FAMILY NAME` begins one), and name it; or "
        "name a folder, "
    )
