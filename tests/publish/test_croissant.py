"""`croissant.json` as mlcroissant reads it."""

import datetime
import json
import math
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenruler.publish.folder import Config, render_croissant, write_benchmark
from evenruler.versions import Changelog, Release
from tests.later import Later
from tests.text_tables import yaml_of_text

mlc = Later("mlcroissant")

pytestmark = [  # of the libraries that mlcroissant uses
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
]

NUMBERS = Config(
    "attributes",
    "an attribute",
    table=pa.table(
        {
            "id": ["5", "6", "7"],
            "content_sha256": ["ee", "ff", "gg"],
            "source": ["Paper"] * 3,
            "licence": ["mit"] * 3,
            "label": pa.array(["née | so", None, "two\nlines"], pa.string()),
            "pole": pa.array([1, -1, 1], pa.int8()),
            "n": pa.array([2**40, 0, -7], pa.int64()),
            "criterion": pa.array([0.1, None, 97.625], pa.float64()),
            "exact": pa.array([True, False, True], pa.bool_()),
        }
    ),
)


@pytest.fixture
def folder(benchmark, tmp_path):
    """The benchmark with a table of numbers besides, written."""
    folder = tmp_path / "benchmarks" / benchmark.name
    write_benchmark(replace(benchmark, configs=[*benchmark.configs, NUMBERS]), folder)
    return folder


def dataset_of(folder):
    return mlc.Dataset(folder / "croissant.json")


def content_of(folder):
    return json.loads((folder / "croissant.json").read_text(encoding="utf-8"))


def plain(value):
    """mlcroissant gives texts as UTF-8 and may give nulls as not-a-number."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return None if isinstance(value, float) and math.isnan(value) else value


def released(benchmark, version):
    """The benchmark with that version in its changelog, among others."""
    releases = {
        "1.0.0": Release(date=datetime.date(2024, 12, 31), changes=["One."]),
        version: Release(date=datetime.date(2025, 4, 5), changes=["Two."]),
    }
    return replace(benchmark, changelog=Changelog(releases=releases))


class TestValid:
    def test_a_release_has_no_warnings_either(self, benchmark, tmp_path):
        write_benchmark(released(benchmark, benchmark.version), tmp_path / "b")
        assert not dataset_of(tmp_path / "b").metadata.issues.warnings

    def test_what_has_no_release_lacks_its_date_and_nothing_else(self, folder):
        issues = dataset_of(folder).metadata.issues
        assert not issues.errors
        assert [line.partition("Property")[2] for line in issues.warnings] == [
            ' "https://schema.org/datePublished" is recommended, but does not exist.'
        ]


class TestRecords:
    @pytest.mark.parametrize("config", ["probes", "attributes"])
    def test_are_the_rows_of_the_parquet(self, folder, config):
        rows = pq.read_table(folder / config / "test-00000-of-00001.parquet", partitioning=None)
        rows = rows.rename_columns([f"{config}/{name}" for name in rows.column_names])
        records = dataset_of(folder).records(config)
        for record, row in zip(records, rows.to_pylist(), strict=True):
            loaded = {name: plain(value) for name, value in record.items()}
            assert loaded == row
            for name in row:
                assert type(loaded[name]) is type(row[name])


class TestFiles:
    def test_sha256_is_that_of_the_manifest(self, folder):
        files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
        sha256_by_name = {
            file["contentUrl"]: file["sha256"] for file in content_of(folder)["distribution"]
        }
        assert sha256_by_name == {
            name: sha256 for name, sha256 in files.items() if name.endswith(".parquet")
        }
        assert len(sha256_by_name) == 3


class TestWhatItSays:
    def test_values(self, benchmark, folder):
        content = content_of(folder)
        del content["@context"], content["distribution"], content["recordSet"]
        assert content.pop("citeAs") == "\n".join(benchmark.bibtex)
        assert content == yaml_of_text("""\
'@type': sc:Dataset
conformsTo: ['http://mlcommons.org/croissant/1.1', 'http://mlcommons.org/croissant/RAI/1.0']
name: probes-jobs
description: Association of jobs with gender, measured in language models. A bias above 0 is closer
  to men.
version: 1.2.3
license: [apache-2.0, mit]
url: .
inLanguage: en
keywords: [bias, probes]
creator: &developers {'@type': 'sc:Organization', name: The Even Ruler developers}
publisher: *developers
rai:dataBiases: Two groups.
rai:dataCollection: A program filled it.
rai:dataLimitations: [It compares two groups., Two words a group.]
rai:dataSocialImpact: It may be misread.
rai:dataUseCases: Testing.
rai:hasSyntheticData: true
rai:personalSensitiveInformation: None.
prov:wasDerivedFrom:
- {'@type': 'prov:Entity', 'prov:label': Even Ruler}
- {'@type': 'prov:Entity', 'prov:label': Paper}
prov:wasGeneratedBy:
  '@type': prov:Activity
  prov:label: 'Even Ruler: dvc repro card-probes@jobs'
  sc:description: A program filled it.
""")

    def test_nothing_is_said_of_use_where_nothing_is_known(self, benchmark, folder):
        content = json.loads(render_croissant(replace(benchmark, responsible=None), folder))
        assert [name for name in content if name.startswith(("rai", "prov"))] == [
            "rai:dataLimitations"
        ]

    def test_published_on_the_date_of_its_version(self, benchmark, folder):
        content = json.loads(render_croissant(released(benchmark, "1.2.3"), folder))
        assert (content["version"], content["datePublished"][:10]) == ("1.2.3", "2025-04-05")
        other = json.loads(render_croissant(released(benchmark, "1.2.4"), folder))
        assert "datePublished" not in other
