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


@pytest.mark.parametrize("index", [0, 1])
def test_rows_come_back_as_they_were(benchmark, load, index):
    config = benchmark.configs[index]
    assert load(config.name).to_list() == config.table.to_pylist()


def test_texts_are_strings(load):
    import datasets

    names = ("id", "content_sha256", "source", "licence", "text")
    assert load("probes").features == {name: datasets.Value("string") for name in names}


def test_the_first_config_is_the_default(benchmark, load):
    assert load().to_list() == benchmark.configs[0].table.to_pylist()


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
