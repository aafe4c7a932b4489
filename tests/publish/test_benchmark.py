import hashlib
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from evenruler.publish.folder import write_benchmark
from evenruler.publish.manifest import SCHEMA
from tests.text_tables import yaml_of_text

FILES = {
    "README.md",
    "croissant.json",
    "evidence.json",
    "lm_eval/probes_jobs.yaml",
    "lm_eval/rows.py",
    "manifest.json",
    "plan.json",
    "probes/test-00000-of-00001.parquet",
    "templates/test-00000-of-00001.parquet",
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "benchmarks" / "probes-jobs"


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


class TestFolder:
    def test_rows(self, benchmark, folder):
        write_benchmark(benchmark, folder)
        for config in benchmark.configs:
            written = pq.read_table(
                folder / config.name / "test-00000-of-00001.parquet", partitioning=None
            )
            assert written.equals(config.as_read, check_metadata=True)

    def test_the_plan_and_evidence_are_what_was_given(self, benchmark, folder):
        plan = {"tools": {"judge": "nli"}, "asked": ["é", 2, 0.5, None]}
        write_benchmark(replace(benchmark, plan=plan), folder)
        assert json.loads((folder / "plan.json").read_text(encoding="utf-8")) == plan
        evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
        assert evidence == {"schema": SCHEMA, "figures": benchmark.evidence}
        assert manifest_of(folder)["parameters"] == {"article": "agree"}

    def test_what_was_left_from_before_goes(self, benchmark, folder, contents):
        write_benchmark(benchmark, folder)
        for name in (".probes-jobs.partial", ".probes-jobs.old"):
            (folder.parent / name / "rest").mkdir(parents=True)
        write_benchmark(replace(benchmark, configs=benchmark.configs[:1]), folder)
        assert set(contents(folder)) == FILES - {"templates/test-00000-of-00001.parquet"}
        assert [path.name for path in folder.parent.iterdir()] == ["probes-jobs"]


class TestManifest:
    def test_values(self, benchmark, folder):
        write_benchmark(benchmark, folder)
        manifest = manifest_of(folder)
        del manifest["files"], manifest["content_sha256"]
        assert manifest == yaml_of_text("""\
name: probes-jobs
version: 1.2.3
location: .
rows: {probes: 3, templates: 1}
rejected: 5
columns:
  probes: &text {id: string, content_sha256: string, source: string, licence: string, text: string}
  templates: *text
sources: [Even Ruler, Paper]
licences: [apache-2.0, mit]
parameters: {article: agree}
""")

    def test_every_file_but_itself_with_its_sha256(self, benchmark, folder, contents):
        write_benchmark(benchmark, folder)
        assert manifest_of(folder)["files"] == {
            name: hashlib.sha256(content).hexdigest()
            for name, content in contents(folder).items()
            if name != "manifest.json"
        }


class TestSameInputSameBytes:
    def test_in_another_place(self, benchmark, folder, tmp_path, contents):
        write_benchmark(benchmark, folder)
        write_benchmark(benchmark, tmp_path / "elsewhere")
        assert contents(folder) == contents(tmp_path / "elsewhere")
        place = str(tmp_path).encode()
        assert not any(place in content for content in contents(folder).values())


def fail(*args, **kwargs):
    raise RuntimeError("on purpose")


class TestFailure:
    def test_the_old_folder_stays(self, benchmark, folder, contents, monkeypatch):
        write_benchmark(benchmark, folder)
        before = contents(folder)
        monkeypatch.setattr("evenruler.publish.folder.pq.write_table", fail)
        with pytest.raises(RuntimeError, match="on purpose"):
            write_benchmark(replace(benchmark, title="Other", n_rejected=9), folder)
        assert contents(folder) == before

    def test_killed_between_the_two_renames(self, benchmark, folder, contents, monkeypatch):
        write_benchmark(benchmark, folder)
        before = contents(folder)
        folder.rename(folder.with_name(".probes-jobs.old"))
        monkeypatch.setattr("evenruler.publish.folder.render_card", fail)
        with pytest.raises(RuntimeError, match="on purpose"):
            write_benchmark(replace(benchmark, title="Other"), folder)
        assert contents(folder) == before
