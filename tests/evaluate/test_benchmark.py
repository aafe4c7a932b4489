import json
from pathlib import Path

import pandas as pd
import pytest

from evenruler import repository
from evenruler.evaluate.benchmark import Benchmark, open_benchmark
from tests.evaluate.conftest import ErrorOf, copied

NAME = "probes-age-competence"


def read(place: str) -> Benchmark:
    with open_benchmark(place) as benchmark:
        return benchmark


def test_a_name_and_a_folder_are_the_same_benchmark(elsewhere: Path) -> None:
    by_name, folder = read(NAME), copied(NAME, elsewhere)
    by_folder = read(str(folder))
    assert (by_name.origin, by_folder.origin) == ("shipped", "folder")
    assert (by_folder.name, by_folder.title) == (NAME, "Age and competence")
    assert by_folder.plan == json.loads((folder / "plan.json").read_text())
    pd.testing.assert_frame_equal(by_name.tables["probes"], by_folder.tables["probes"])


@pytest.mark.slow
def test_every_shipped_benchmark_is_what_its_manifest_says() -> None:
    names = sorted(
        path.parent.name for path in repository.shipped_benchmarks().glob("*/manifest.json")
    )
    assert len(names) >= 15
    for name in names:
        assert read(name).name == name


def test_an_altered_plan_is_refused(error_of: ErrorOf, elsewhere: Path) -> None:
    folder = copied(NAME, elsewhere)
    path = folder / "plan.json"
    path.write_text(path.read_text().replace('"prefixed": 12', '"prefixed": 13'))
    line = error_of(read, str(folder))
    assert line.startswith(
        f"{path}: altered: it is not what the manifest names; get the benchmark again"
    )


def test_what_is_unknown_is_one_line(error_of: ErrorOf, elsewhere: Path) -> None:
    folder = copied(NAME, elsewhere)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"name": "{NAME}"', '"name": "riddles-age"'))
    assert "no instrument of the family 'riddles'" in error_of(read, str(folder))
    assert "probes-age-competence" in error_of(read, "probes-age-competense")
    Path("pairs.csv").write_bytes(b"PAR1")
    assert error_of(read, "pairs.csv").startswith("pairs.csv: no readable Parquet")


FILES = {
    "weat.json": (
        '{"targ1": {"examples": ["chai"]}, "targ2": {"examples": ["mocha"]}, '
        '"attr1": {"examples": ["calm"]}, "attr2": {"examples": ["loud"]}}',
        "lists of words of WEAT or SEAT (JSON)",
        "probes",
    ),
    "prompts.json": (
        '{"Bakers": {"A_Baker": ["A. Baker is a baker whose "]}}',
        "prompts by group and name, as BOLD has them (JSON)",
        "saged",
    ),
    "templates.tsv": (
        "template_masked\tcategory\nthe woman works as a [M].\tfemale\n",
        "templates with a mask, as HONEST has them (tab-separated text)",
        "saged",
    ),
    "pairs.txt": (
        "sent_more;sent_less\nThe old are late.;The young are late.\n",
        "pairs of sentences (CSV)",
        "external",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_field_is_told_the_command_that_takes_it(
    error_of: ErrorOf, elsewhere: Path, name: str
) -> None:
    text, what, family = FILES[name]
    Path(name).write_text(text)
    assert error_of(read, name) == (
        f"{name}: {what}: a source is made of it first; run `evenruler new {family} NAME --from "
        f"{name}`, and name the source that it writes"
    )


def test_a_source_that_names_no_family_is_of_the_one_that_has_its_keys(elsewhere: Path) -> None:
    """With names of groups as the table of prompts has them, and columns of its authors."""
    (elsewhere / "articles").mkdir()
    (elsewhere / "articles/offers.tsv").write_text(
        "scenario\tname_group\tprompt_text\n"
        "purchase\tgroup_a\tI buy a bicycle from A. Smith. What do I offer?\n"
        "purchase\tgroup_b\tI buy a bicycle from B. Baker. What do I offer?\n"
    )
    (elsewhere / "offers.yaml").write_text("""
title: Offers
construct: difference in offers
direction: 0 says alike
source: ours
licence: cc0-1.0
concepts: {group_a: {name: A, keywords: [A. Smith]}, group_b: {name: B, keywords: [B. Baker]}}
material:
  kind: table
  path: articles/offers.tsv
  columns: {prompt: prompt_text, concept: name_group}
assemble: {method: question}
""")
    benchmark = read("offers.yaml")
    assert benchmark.family == "saged"
    assert sorted(benchmark.tables["prompts"]["concept"]) == ["group-a", "group-b"]


def test_a_source_whose_keys_several_families_have_is_asked_for_its_family(
    error_of: ErrorOf, elsewhere: Path
) -> None:
    Path("mine.yaml").write_text("title: Mine\nsource: ours\n")
    assert error_of(read, "mine.yaml").startswith("mine.yaml: family: a source without a family; ")
