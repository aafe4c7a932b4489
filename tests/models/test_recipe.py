import json
from typing import Any

import pytest
from pydantic import ValidationError

from evenruler import repository
from evenruler.declaration.params import load_params
from evenruler.models.declarations import Finetune, TrainingData
from evenruler.models.loading import adapter_folder, read_adapter
from tests.declaration.test_params import PARAMS, REVISION

PINNED = {"revision": REVISION, "split": "train"}


def data(**keys: Any) -> TrainingData:
    return TrainingData.model_validate(
        {"source": "local:a.csv", "licence": "mit", "origin": "o", **keys}
    )


def recipe(**keys: Any) -> Finetune:
    return Finetune.model_validate({"data": ["a"], "validation": "a", **keys})


class TestTrainingData:
    @pytest.mark.parametrize(
        ("keys", "reason"),
        [
            ({"source": "a.csv"}, "expected hub:org/name or local:path"),
            ({"revision": "main"}, "found 'main', expected a commit, 40 hex digits"),
            ({"split": None}, "a Hub data set needs `split`"),
            ({"columns": []}, "columns"),
            ({"labels": ["one", "two", "one"]}, "labels"),
        ],
    )
    def test_what_is_refused(self, keys, reason) -> None:
        with pytest.raises(ValidationError) as caught:
            data(**{"source": "hub:org/name", **PINNED, **keys})
        assert caught.value.error_count() == 1
        assert reason in str(caught.value)

    def test_one_of_the_hub_is_pinned_by_its_commit(self) -> None:
        hub = {"source": "hub:org/name", "split": "train"}
        assert data(**hub).lacks_commit
        assert not data(**hub, revision=REVISION).lacks_commit
        assert not data().lacks_commit


class TestFinetune:
    @pytest.mark.parametrize(
        ("key", "value"),
        [("data", []), ("learning_rate", float("inf")), ("bar", 1.5)],
    )
    def test_what_is_refused(self, key, value) -> None:
        with pytest.raises(ValidationError) as caught:
            recipe(**{key: value})
        assert caught.value.errors()[0]["loc"][0] == key


ENCODER = """\
  moody:
    kind: encoder
    source: local:weights/encoder
    licence: mit
    origin: of our own
    lineage: encoder
    finetune: {data: [moods], validation: moods}
"""
TRAINING = """\
training:
  moods: {source: "local:moods.csv", columns: [text], labels: [sad, glad], licence: mit, origin: o}
  tempers: {source: "local:tempers.csv", columns: [text], labels: [glad, sad], licence: mit, origin: o}
  colours: {source: "local:colours.csv", columns: [text], labels: [red, blue], licence: mit, origin: o}
  nli: {source: "local:nli.csv", licence: mit, origin: o}
  couples: {source: "local:couples.csv", labels: [sad, glad], licence: mit, origin: o}
"""
WHOLE = PARAMS.replace("instruments:\n", f"{ENCODER}instruments:\n") + TRAINING
FITTED = "finetune: {data: [moods], validation: moods}"


class TestEncoders:
    def test_what_their_heads_tell_apart(self, file_with) -> None:
        change = (FITTED, "finetune: {data: [moods], validation: tempers}")
        params = load_params(file_with("params.yaml", WHOLE, change))
        assert params.labels("moody") == ["glad", "sad"]
        assert params.labels("tiny") == []
        assert not params.may_answer_questionnaires("moody")
        assert (params.lineage("moody"), params.kind("moody")) == ("encoder", "classifier")
        assert params.can("moody", "classify")
        assert not params.can("moody", "entail")

    def test_those_fitted_on_pairs_answer_questionnaires(self, file_with) -> None:
        change = (FITTED, "finetune: {data: [nli], validation: nli}")
        params = load_params(file_with("params.yaml", WHOLE, change))
        assert [name for name in params.models if params.may_answer_questionnaires(name)] == [
            "moody"
        ]
        assert (params.kind("moody"), params.can("moody", "entail")) == ("nli", True)

    @pytest.mark.parametrize(
        ("change", "line"),
        [
            (
                (FITTED, "finetune: {data: [mood], validation: moods}"),
                "models.moody.finetune: no training data 'mood'; "
                "add it under `training`, or check the name (did you mean 'moods'?)",
            ),
            (
                (FITTED, "finetune: {data: [moods, colours], validation: moods}"),
                "models.moody.finetune: 'colours' has labels ['red', 'blue'] and 1 columns, the "
                "validation data "
                "['sad', 'glad'] and 1; use data with the same labels and columns",
            ),
            (
                (f"    {FITTED}\n", ""),
                "`finetune` belongs to kind encoder, and an encoder needs it",
            ),
            (
                ("    lineage: encoder\n", ""),
                "lineage is missing, the name that all models on this encoder share",
            ),
        ],
    )
    def test_what_does_not_go_together_is_refused(self, change, line, file_with, error_of) -> None:
        path = file_with("params.yaml", WHOLE, change)
        message = error_of(load_params, path)
        assert message.startswith(f"{path}: ")
        assert line in message


RECORD = {
    "labels": ["sad", "glad"],
    "base": "0a" * 32,
    "recipe": {"bar": 0.7},
    "held_out": {"accuracy": 0.7, "n": 40},
    "more": "of it",
}


class TestRecord:
    @pytest.fixture
    def write(self, tmp_path) -> None:
        """Writes a record of `tiny`; gives its path."""

        def write_record(text):
            path = tmp_path / "tiny/training.json"
            path.parent.mkdir()
            path.write_text(text)
            return path

        return write_record

    def test_is_read(self, write, tmp_path) -> None:
        write(json.dumps(RECORD))
        record = read_adapter("tiny", tmp_path)
        assert record.content == RECORD
        assert (record.labels, record.recipe) == (["sad", "glad"], {"bar": 0.7})
        assert (record.base, record.accuracy, record.n_held_out) == ("0a" * 32, 0.7, 40)

    @pytest.mark.parametrize(("accuracy", "below"), [(0.6999, True), (0.7, False)])
    def test_the_bar(self, accuracy, below, write, tmp_path) -> None:
        write(json.dumps({**RECORD, "held_out": {"accuracy": accuracy, "n": 40}}))
        assert read_adapter("tiny", tmp_path).below_bar is below

    def test_one_that_comes_with_the_package_is_found_anywhere_after_one_that_lies_here(
        self, write, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        name = "minilm-sentiment"
        assert adapter_folder(name) == repository.shipped_adapters() / name
        assert read_adapter(name).accuracy > 0.6
        write(json.dumps(RECORD)).parent.rename(tmp_path / name)
        assert adapter_folder(name, tmp_path) == tmp_path / name
        assert read_adapter(name, tmp_path).accuracy == 0.7

    @pytest.mark.parametrize("text", ["", "{}", json.dumps({**RECORD, "held_out": None})])
    def test_a_damaged_one_is_refused(self, text, write, tmp_path, error_of) -> None:
        path = write(text)
        unread = "no record of how tiny was fitted; run `evenruler finetune tiny --again`"
        assert error_of(read_adapter, "tiny", tmp_path) == f"{path}: {unread}"
