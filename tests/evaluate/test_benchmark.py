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
    assert "a file (CSV): benchmarks are folders" in error_of(read, "pairs.csv")
