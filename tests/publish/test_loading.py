"""The folder as `datasets` reads it."""

import re

import pytest

from evenruler.publish.folder import write_benchmark


@pytest.fixture
def load(benchmark, tmp_path, monkeypatch):
    """Loads a config of the benchmark, once written, without a network or a cache outside the
    test."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    # Read from the environment only when it is first imported, which another test may have done.
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", tmp_path / "modules")
    datasets.disable_progress_bars()
    folder = tmp_path / "benchmarks" / "probes-jobs"
    write_benchmark(benchmark, folder)

    def load(*config: str):
        return datasets.load_dataset(
            str(folder), *config, split="test", cache_dir=str(tmp_path / "cache")
        )

    yield load
    datasets.enable_progress_bars()


def test_rows_come_back_as_they_were_by_default_of_the_first_config(benchmark, load):
    first, other = benchmark.configs
    assert load(other.name).to_list() == other.table.to_pylist()
    assert load().to_list() == first.table.to_pylist()


def test_the_snippet_of_the_card_loads_a_copy_anywhere(benchmark, load, tmp_path, monkeypatch):
    import datasets

    copied = (tmp_path / "benchmarks" / "probes-jobs").rename(tmp_path / "my copy")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    snippet = re.search(
        r"```python\n(.*?)```", (copied / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )[1]
    names = {}
    exec(snippet.replace("DIR", "../my copy"), names)
    assert names["rows"].to_list() == benchmark.configs[0].table.to_pylist()
