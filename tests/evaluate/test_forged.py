"""A benchmark of which every sentence was altered is another one, whatever its manifest says."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from evenruler.cli import app
from evenruler.errors import UserError
from evenruler.evaluate.benchmark import open_benchmark
from evenruler.evaluate.measure import measure
from evenruler.files import file_sha256
from evenruler.publish.manifest import (
    KIND,
    identity_of,
    manifest_problems,
    read_manifest,
    require_identity,
)
from evenruler.results.comparison import compare
from evenruler.results.store import read_stored_result
from tests.evaluate.conftest import copied
from tests.folders import declare
from tests.tiny import save_tiny

NAME = "probes-age-competence"
ROWS = "probes/test-00000-of-00001.parquet"
TEMPLATES = "templates/test-00000-of-00001.parquet"
FEW = 6


def manifest_of(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def stamped(folder: Path) -> Path:
    """The folder, its manifest naming the identity of what lies there."""
    declare(folder, content_sha256=identity_of(folder, manifest_of(folder)["rows"]))
    return folder


def forged(folder: Path) -> Path:
    """The folder with every sentence altered and every checksum of a file renewed, in manifest and
    Croissant."""
    sums = manifest_of(folder)["files"]
    croissant = (folder / "croissant.json").read_text(encoding="utf-8")
    for name in (ROWS, TEMPLATES):
        table = pq.read_table(folder / name, partitioning=None)
        texts = [f"{text} Really!" for text in table["text"].to_pylist()]
        index = table.schema.get_field_index("text")
        altered_table = table.set_column(
            index,
            table.schema.field(index),
            pa.array(texts),
        )
        pq.write_table(altered_table, folder / name)
        croissant = croissant.replace(sums[name], file_sha256(folder / name))
    (folder / "croissant.json").write_text(croissant, encoding="utf-8")
    declare(folder, ROWS, TEMPLATES, "croissant.json")
    return folder


@pytest.fixture
def genuine(elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shipped benchmark in a folder of its own; none comes with the package."""
    folder = stamped(copied(NAME, elsewhere / "genuine"))
    monkeypatch.setattr("evenruler.repository.shipped_benchmarks", lambda: tmp_path / "none")
    return folder


@pytest.fixture
def altered(genuine: Path, elsewhere: Path) -> Path:
    """The same with every sentence altered; its manifest names the identity of the genuine one."""
    return forged(Path(shutil.copytree(genuine, elsewhere / "forged" / NAME)))


def test_verify_refuses_it(genuine: Path, altered: Path) -> None:
    expected = "content: rows or plan are not what the manifest says (content_sha256)"
    assert manifest_problems(genuine) == []
    assert manifest_problems(altered) == [expected]
    assert CliRunner().invoke(app, ["verify", str(altered)]).exit_code == 1


def test_measure_refuses_it(altered: Path, tiny_folder: Path, error_of) -> None:
    assert error_of(measure, f"local:{tiny_folder}", altered, limit=FEW) == (
        f"{altered}: rows or plan are not what the manifest says (content_sha256); get the "
        "benchmark again"
    )


def test_what_an_older_evenruler_says_in_its_manifest_is_not_believed(
    genuine: Path, altered: Path
) -> None:
    what = "content_sha256 of the manifest is of another kind, which this evenruler cannot check"
    for folder in (genuine, altered):
        declare(folder, content_sha256="a" * 64)
        assert manifest_problems(folder) == [f"content: {what}"]
        with pytest.raises(UserError) as caught, open_benchmark(str(folder)):
            pass
        assert (
            str(caught.value)
            == f"{folder}: {what}; take another version, or the evenruler that made it"
        )


def test_git_has_checksums_of_its_own_for_what_an_older_evenruler_wrote(genuine: Path) -> None:
    declare(genuine, content_sha256="a" * 64)
    declared = read_manifest(genuine)
    assert require_identity(genuine, declared, in_git=True) == identity_of(genuine, declared.rows)
    declare(genuine, content_sha256=f"{KIND}{'a' * 64}")
    with pytest.raises(UserError, match="rows or plan are not what the manifest says"):
        require_identity(genuine, read_manifest(genuine), in_git=True)


@pytest.mark.slow
@pytest.mark.long
def test_measured_with_an_identity_of_its_own_it_is_another_benchmark(
    genuine: Path,
    altered: Path,
    elsewhere: Path,
    tmp_path: Path,
    error_of,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = []
    for number, folder in enumerate((genuine, stamped(altered))):
        model = save_tiny(tmp_path / f"model-{number}", seed=number)
        result = measure(
            f"local:{model}", folder, out=elsewhere / "results", limit=FEW, size="trial"
        )
        assert result.benchmark.content_sha256 == identity_of(folder, manifest_of(folder)["rows"])
        results.append(read_stored_result(elsewhere / "results" / result.folder / "result.json"))
    original, forgery = results
    benchmark = original.result.benchmark
    assert benchmark.content_sha256 == manifest_of(genuine)["content_sha256"]
    name = f"{NAME} {benchmark.version}"
    assert error_of(compare, results) == (
        f"{forgery.folder}: {name} has other content than in {original.folder}; "
        "measure both models on one copy of the benchmark"
    )
    # Not even of another version would units be shared: none rests on the same rows.
    rows, forged_rows = (stored.result.headlines for stored in results)
    assert set(rows["unit"]) == set(forged_rows["unit"])
    assert not set(rows["rows"]) & set(forged_rows["rows"])
    # Two of the forged are of one benchmark, but not of the one that comes with the package.
    assert len(compare([forgery, forgery]))
    monkeypatch.setattr("evenruler.repository.shipped_benchmarks", lambda: genuine.parent)
    assert error_of(compare, [forgery, forgery]).startswith(
        f"{forgery.folder}: it is of a {name} with other content than the one in {genuine}; "
    )
