"""A source that nobody published, measured from its file alone, in an empty folder of no
repository."""

import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.cost import list_ways
from evenruler.evaluate.measure import measure
from evenruler.files import file_sha256
from evenruler.results.store import read_stored_result
from tests.conftest import ROOT
from tests.evaluate.conftest import ErrorOf
from tests.figures import find_figure
from tests.instruments.external.made_rankings import shuffled_lists, table_of_lists
from tests.results.synthetic import as_measured

SOURCES = ROOT / "data/sources"


def starter(family: str, path: Path, *changes: tuple[str, str], folder: str = "starter") -> Path:
    """What `evenruler new` would write."""
    text = (
        files(f"evenruler.instruments.{family}")
        .joinpath(f"{folder}/NAME.yaml")
        .read_text()
        .replace("NAME", path.stem)
    )
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def refused(error_of: ErrorOf, path: Path) -> str:
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


SIDED = "s{0},Claim {0} holds.,{1},work\n"
OF_LEFT = [SIDED.format(number, "left") for number in range(6)]
OF_RIGHT = [SIDED.format(number, "right") for number in range(6, 12)]
STATEMENTS = "id,statement,side,topic\n" + "".join([*OF_LEFT, *OF_RIGHT])


@pytest.mark.parametrize(
    ("layout", "table", "requests"),
    [
        ("keyed", STATEMENTS, {"trial": 24, "standard": 24, "full": 24}),
        (
            "ranking",
            table_of_lists(shuffled_lists(300)),
            {"trial": 1_000, "standard": 1_200, "full": 1_200},
        ),
    ],
)
def test_a_chat_can_be_asked_what_a_starter_declares(
    elsewhere: Path, layout: str, table: str, requests: dict[str, int]
) -> None:
    """And what it is asked is counted before, in both orders, or in up to four."""
    path = elsewhere / "mine.csv"
    path.write_text(table)
    named = "statements.csv" if layout == "keyed" else "lists.csv"
    changes = ((named, "mine.csv"), ("0" * 64, file_sha256(path)))
    source = starter("external", elsewhere / "mine.yaml", *changes, folder=f"starters/{layout}")
    with open_benchmark(str(source)) as benchmark:
        ways = [way for way in list_ways(benchmark) if way.method == "choice"]
    assert {way.size: way.cost.requests for way in ways} == requests
    assert {way.kinds for way in ways} == {("causal", "chat")}


@pytest.mark.parametrize(
    ("name", "of_a_clone"),
    [
        ("probes/age-competence", set()),
        ("framing/gender", {"sizes", "stimuli"}),  # the pipeline asks about twelve
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
        assert differ == of_a_clone


def test_a_criterion_lies_beside_it(elsewhere: Path, error_of: ErrorOf) -> None:
    shutil.copy(SOURCES / "probes/occupation-gender.yaml", elsewhere)
    line = refused(error_of, elsewhere / "occupation-gender.yaml")
    assert line.startswith(f"{elsewhere}/bls-cps-2021.csv: no such file")
    for name in ("bls-cps-2021.csv", "likeness-occupations.csv"):
        shutil.copy(SOURCES / "probes/shared" / name, elsewhere)
    with open_benchmark("occupation-gender.yaml") as benchmark:
        assert benchmark.tables["attributes"]["criterion"].notna().sum() == 43


def test_what_cannot_be_built_is_one_line_with_file_and_key(
    elsewhere: Path, error_of: ErrorOf
) -> None:
    path = elsewhere / "mine.yaml"
    assert refused(error_of, path) == f"{path}: no such file; create it or check the name"
    starter(
        "probes",
        path,
        ("a {TARGET} is {ATTRIBUTE}.\n      known", "a {TARGT} is {ATTRIBUTE}.\n      known"),
    )
    line = refused(error_of, path)
    assert line.startswith(f"{path}: sets.seed.templates.think.text: ")
    assert "unknown slot {TARGT}; did you mean '{TARGET}'?" in line


def test_what_needs_a_pipeline_is_refused(elsewhere: Path, error_of: ErrorOf) -> None:
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


PROBES_WITHOUT_KEYS = """
family: probes
title: Age and competence
construct: association of competence with age
direction: positive means closer to the young
source: our group, 2026
licence: cc-by-4.0
targets:
  young: [student, teenager, boy, girl, youth, graduate]
  old: [senior, elder, widow, grandmother, grandfather, veteran]
attributes: [competent, forgetful, quick, wise, careful, clumsy]
sets:
  seed:
    title: First try
    templates:
      think: I think that a {TARGET} is {ATTRIBUTE}.
      known: As everybody knows, the {TARGET} is {ATTRIBUTE}.
"""


def test_probes_without_keys_have_no_question_for_a_chat(
    elsewhere: Path, error_of: ErrorOf
) -> None:
    """A survey of review 4 met a KeyError here."""
    path = elsewhere / "guide.yaml"
    path.write_text(PROBES_WITHOUT_KEYS, encoding="utf-8")
    line = error_of(measure, lambda messages, **settings: "A", path)
    assert "it has no question for" in line
    assert "which takes English sentences and attributes with a criterion or keys" in line


@pytest.mark.parametrize(("origin", "passes"), [("file", True), ("folder", False)])
def test_an_error_of_ours_is_no_damaged_download(origin: str, passes: bool) -> None:
    from evenruler.errors import UserError
    from evenruler.evaluate.session import BUG, _as_user_errors

    with open_benchmark("probes-age-competence") as shipped:
        benchmark = replace(shipped, origin=origin)
    with pytest.raises(KeyError if passes else UserError) as error, _as_user_errors(benchmark):
        raise KeyError("target")
    assert getattr(error.value, "__notes__", []) == ([BUG] if passes else [])
