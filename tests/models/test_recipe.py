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
NEEDS = "a Hub data set needs `revision` (a commit of 40 hex digits) and `split`"


def data(**keys: Any) -> TrainingData:
    return TrainingData.model_validate(
        {"source": "local:a.csv", "licence": "mit", "origin": "o", **keys}
    )


def recipe(**keys: Any) -> Finetune:
    return Finetune.model_validate({"data": ["a"], "validation": "a", **keys})


class TestTrainingData:
    def test_a_source_on_the_hub_is_taken(self) -> None:
        assert data(source="hub:org/name", **PINNED).source == "hub:org/name"

    @pytest.mark.parametrize("source", ["a.csv", "hub:"])
    def test_sources_that_are_not(self, source) -> None:
        with pytest.raises(ValidationError, match="expected hub:org/name or local:path"):
            data(source=source, **PINNED)

    @pytest.mark.parametrize(
        "keys", [{"revision": None}, {"revision": REVISION[:-1]}, {"split": None}]
    )
    def test_a_hub_data_set_is_pinned(self, keys) -> None:
        with pytest.raises(ValidationError) as caught:
            data(source="hub:org/name", **{**PINNED, **keys})
        assert NEEDS in str(caught.value)

    @pytest.mark.parametrize(
        "keys",
        [
            {"columns": []},
            {"labels": ["one"]},
            {"labels": ["one", "two", "one"]},
            {"label": ""},
        ],
    )
    def test_what_makes_no_sense_is_refused(self, keys) -> None:
        with pytest.raises(ValidationError) as caught:
            data(**keys)
        assert caught.value.error_count() == 1


class TestFinetune:
    @pytest.mark.parametrize(
        ("key", "value"),
        [("data", []), ("half", 3), ("learning_rate", float("inf")), ("bar", 1.5)],
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
        params = load_params(
            file_with(
                "params.yaml", WHOLE, (FITTED, "finetune: {data: [moods], validation: tempers}")
            )
        )
        assert params.labels("moody") == ["glad", "sad"]
        assert params.labels("tiny") == []
        assert (params.entails("moody"), params.lineage("moody")) == (False, "encoder")
        assert (
            params.kind("moody"),
            params.can("moody", "classify"),
            params.can("moody", "entail"),
        ) == (
            "classifier",
            True,
            False,
        )

    def test_those_fitted_on_pairs_answer_questionnaires(self, file_with) -> None:
        change = (FITTED, "finetune: {data: [nli], validation: nli}")
        params = load_params(file_with("params.yaml", WHOLE, change))
        assert [name for name in params.models if params.entails(name)] == ["moody"]
        assert (params.kind("moody"), params.can("moody", "entail")) == ("nli", True)

    def test_one_that_tells_other_labels_apart_does_not_answer_questionnaires(
        self, file_with, error_of
    ) -> None:
        path = file_with(
            "params.yaml", WHOLE, (f"    {FITTED}\n", f"    {FITTED}\n    entailment: true\n")
        )
        assert error_of(load_params, path) == (
            f"{path}: models.moody: `entailment: true`, but its labels are sad, glad; remove it"
        )

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
                (FITTED, "finetune: {data: [couples], validation: moods}"),
                "models.moody.finetune: 'couples' has labels ['sad', 'glad'] and 2 columns, the "
                "validation data "
                "['sad', 'glad'] and 1; use data with the same labels and columns",
            ),
            (
                (f"    {FITTED}\n", ""),
                "`finetune` belongs to kind encoder, and an encoder needs it",
            ),
            (
                ("    kind: encoder\n", "    kind: nli\n"),
                "`finetune` belongs to kind encoder, and an encoder needs it",
            ),
            (
                ("    lineage: encoder\n", ""),
                "lineage is missing, the name that all models on this encoder share",
            ),
            (
                ('source: "local:nli.csv"', 'source: "hub:org/nli"'),
                "training.nli: a Hub data set needs `revision`",
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
    def write(self, folder, text: str) -> None:
        (folder / "tiny").mkdir()
        (folder / "tiny/training.json").write_text(text)

    def test_is_read(self, tmp_path) -> None:
        self.write(tmp_path, json.dumps(RECORD))
        record = read_adapter("tiny", tmp_path)
        assert (record.labels, record.base, record.recipe) == (
            ["sad", "glad"],
            "0a" * 32,
            {"bar": 0.7},
        )
        assert (record.accuracy, record.n_held_out, record.content["more"]) == (0.7, 40, "of it")

    @pytest.mark.parametrize(("accuracy", "below"), [(0.6999, True), (0.7, False)])
    def test_the_bar(self, accuracy, below, tmp_path) -> None:
        self.write(tmp_path, json.dumps({**RECORD, "held_out": {"accuracy": accuracy, "n": 40}}))
        assert read_adapter("tiny", tmp_path).below_bar is below

    def test_none_is_said_with_what_to_do(self, tmp_path, monkeypatch, error_of) -> None:
        monkeypatch.chdir(tmp_path)
        line = error_of(read_adapter, "tiny")
        assert line == "data/adapters/tiny: tiny has no adapter yet; run `evenruler finetune tiny`"

    def test_one_that_comes_with_the_package_is_found_anywhere_after_one_that_lies_here(
        self, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert (
            adapter_folder("minilm-sentiment") == repository.shipped_adapters() / "minilm-sentiment"
        )
        assert read_adapter("minilm-sentiment").accuracy > 0.6
        self.write(tmp_path, json.dumps(RECORD))
        (tmp_path / "tiny").rename(tmp_path / "minilm-sentiment")
        assert adapter_folder("minilm-sentiment", tmp_path) == tmp_path / "minilm-sentiment"
        assert read_adapter("minilm-sentiment", tmp_path).accuracy == 0.7

    @pytest.mark.parametrize("text", ["", "{}", json.dumps({**RECORD, "held_out": None})])
    def test_a_damaged_one_is_refused(self, text, tmp_path, error_of) -> None:
        self.write(tmp_path, text)
        line = error_of(read_adapter, "tiny", tmp_path)
        path = tmp_path / "tiny/training.json"
        assert (
            line
            == f"{path}: no record of how tiny was fitted; run `evenruler finetune tiny --again`"
        )
