import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler import repository
from evenruler.evaluate.benchmark import Benchmark, open_benchmark
from tests.evaluate.conftest import copied

NAME = "probes-age-competence"


def read(place: str) -> Benchmark:
    with open_benchmark(place) as found:
        return found


def test_a_name_and_a_folder_are_the_same_benchmark(elsewhere: Path) -> None:
    by_name, folder = read(NAME), copied(NAME, elsewhere)
    by_folder = read(str(folder))
    assert (by_name.origin, by_folder.origin) == ("shipped", "folder")
    assert (by_folder.name, by_folder.family, by_folder.instrument) == (
        NAME,
        "probes",
        "age-competence",
    )
    assert by_folder.title == "Age and competence"
    assert by_folder.plan == json.loads((folder / "plan.json").read_text())
    assert set(by_folder.tables) == {"probes", "templates", "attributes"}
    pd.testing.assert_frame_equal(by_name.tables["probes"], by_folder.tables["probes"])


def test_every_shipped_benchmark_is_what_its_manifest_says() -> None:
    names = sorted(
        path.parent.name for path in repository.shipped_benchmarks().glob("*/manifest.json")
    )
    assert len(names) >= 15
    for name in names:
        assert read(name).name == name


def test_altered_rows_and_plans_are_refused(error_of: Callable[..., str], elsewhere: Path) -> None:
    folder = copied(NAME, elsewhere)
    path = folder / "plan.json"
    path.write_text(path.read_text().replace('"reliability": 0.6', '"reliability": 0.1'))
    line = error_of(read, str(folder))
    assert line.startswith(
        f"{path}: altered: it is not what the manifest names; get the benchmark again"
    )
    other = copied("probes-occupation-gender", elsewhere)
    rows = other / "probes/test-00000-of-00001.parquet"
    table = pq.read_table(rows)
    at = table.schema.get_field_index("text")
    weather = pa.array(["The weather is fine."] * table.num_rows)
    pq.write_table(
        table.set_column(at, table.schema.field(at), weather), rows
    )  # with the hashes of the true rows
    assert error_of(read, str(other)).startswith(f"{rows}: altered")


def test_without_a_card_the_folder_gives_the_title(elsewhere: Path) -> None:
    folder = copied(NAME, elsewhere)
    (folder / "README.md").unlink()
    assert read(str(folder)).title == NAME


def test_what_is_missing_or_unknown_is_one_line(
    error_of: Callable[..., str], elsewhere: Path
) -> None:
    folder = copied(NAME, elsewhere)
    (folder / "probes/test-00000-of-00001.parquet").unlink()
    assert "missing" in error_of(read, str(folder))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"name": "{NAME}"', '"name": "riddles-age"'))
    assert "no instrument of the family 'riddles'" in error_of(read, str(folder))
    (elsewhere / "empty").mkdir()
    assert "no manifest.json here" in error_of(read, "empty")
    assert "probes-age-competence" in error_of(read, "probes-age-competense")


@pytest.mark.parametrize("place", ["a/b/c", ""])
def test_no_place_at_all(error_of: Callable[..., str], elsewhere: Path, place: str) -> None:
    assert error_of(read, place)
