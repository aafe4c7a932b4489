import pytest

from evenruler.errors import UserError
from evenruler.models import load
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.conftest import ROOT
from tests.tiny import tiny_params


def test_an_unknown_name_is_answered_with_the_nearest(shipped_params, store, error_of) -> None:
    assert error_of(load, "gemma-3-270", shipped_params, store=store) == (
        "params.yaml: models: no model 'gemma-3-270'; mend the name (did you mean 'gemma-3-270m'?) or add an entry"
    )
    assert error_of(load, "all-minilm", shipped_params, store=store) == (
        "params.yaml: models: no embedder model 'all-minilm'; "
        "mend the name (did you mean 'all-minilm-l6-v2'?) or add an entry"
    )


def test_a_model_of_another_kind_is_none_of_this_kind(shipped_params, store, error_of) -> None:
    line = error_of(load, "all-minilm-l6-v2", shipped_params, store=store)
    assert line.startswith("params.yaml: models: no causal model 'all-minilm-l6-v2'; mend the name (known: ")
    assert "gemma-3-270m, " in line
    assert line.endswith(") or add an entry")

    line = error_of(load, "gemma-3-270m", shipped_params, store=store)
    assert line == (
        "params.yaml: models: no embedder model 'gemma-3-270m'; mend the name (known: all-minilm-l6-v2) or add an entry"
    )


def test_a_model_is_named_but_not_loaded(llama_folder, store) -> None:
    model = load("tiny", tiny_params({"tiny": llama_folder}), store=store)

    assert isinstance(model, Model)
    assert (model.name, model.asked, model._backend) == ("tiny", 0, None)


def test_params_and_store_are_those_here_by_default(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path))

    embedder = load("all-minilm-l6-v2")

    assert isinstance(embedder, Model)
    assert embedder._store.root == tmp_path


def test_a_folder_without_params_is_a_mistake_of_the_user(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UserError, match="no such file"):
        load("tiny", store=RowStore(tmp_path / "store"))
