"""Tokens of words by tokenizers that are at hand."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from evenruler.models.declarations import ModelEntry
from evenruler.project.check import COUNTED, count_tokens, tokenizer_of

HERE = {"kind": "causal", "licence": "none", "origin": "ours"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EVENRULER_CACHE", str(folder))
    return folder


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer that knows letters, and cuts at spaces and hyphens."""
    letters = {letter: place for place, letter in enumerate("?abcdefghijklmnopqrstuvwxyz-")}
    trained = Tokenizer(
        models.BPE(
            vocab={**letters, "ma": 90, "man": 91}, merges=[("m", "a"), ("ma", "n")], unk_token="?"
        )
    )
    trained.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "models/own/tokenizer.json"
    path.parent.mkdir(parents=True)
    trained.save(str(path))
    return path


def test_tokens_of_words_within_a_sentence(tokenizer) -> None:
    assert count_tokens(tokenizer, ["man", "he", "ma n"]) == [1, 2, 2]


def test_they_are_kept(tokenizer, cache, monkeypatch) -> None:
    count_tokens(tokenizer, ["man"])
    counted = json.loads((cache / COUNTED).read_text())
    assert list(counted.values()) == [[1]]
    monkeypatch.setattr(
        "tokenizers.Tokenizer.from_file", lambda path: pytest.fail("loaded again"), raising=False
    )
    assert count_tokens(tokenizer, ["man"]) == [1]


def test_of_a_folder_of_the_user(tokenizer, tmp_path) -> None:
    declared = ModelEntry(source="local:models/own", **HERE)
    assert tokenizer_of(tmp_path, "own", declared) == tokenizer
    assert tokenizer_of(tmp_path / "elsewhere", "own", declared) is None


def test_of_a_package_once_it_is_converted(cache, tmp_path) -> None:
    declared = ModelEntry(source="package:some/model.gguf", sha256="0" * 64, **HERE)
    assert tokenizer_of(tmp_path, "small", declared) is None
    converted = cache / "models/small-0000/tokenizer.json"
    converted.parent.mkdir(parents=True)
    converted.touch()
    assert tokenizer_of(tmp_path, "small", declared) == converted


def test_none_of_an_untrained_one(tmp_path) -> None:
    """It has that of the model that it is made of, which is looked at itself."""
    assert tokenizer_of(tmp_path, "random", ModelEntry(source="untrained:small", **HERE)) is None
