"""Models of the catalogue, opened for features."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evenruler.instruments.saged.ask.measuring import FromCatalogue
from evenruler.models.store import RowStore
from evenruler.project.params import Params
from tests.models.backends.test_classifier import save_classifier
from tests.tiny import save_tiny, tiny_declaration


@pytest.fixture(scope="module")
def params(tmp_path_factory: pytest.TempPathFactory) -> Params:
    folder = tmp_path_factory.mktemp("models")
    declared = tiny_declaration({"causal": save_tiny(folder / "causal")})
    pairs = ["entailment", "neutral", "contradiction"]
    for name, kind, labels in (("moods", "classifier", ["sad", "glad"]), ("pairs", "nli", pairs)):
        saved = save_classifier(folder / name, labels=labels)
        declared["models"][name] = tiny_declaration({name: saved}, kind=kind)["models"][name]
    return Params.model_validate(declared)


@pytest.fixture
def models(params: Params, store: RowStore) -> FromCatalogue:
    return FromCatalogue(params, params.diagnosis.embedder, store)


def test_each_kind_answers(models: FromCatalogue, params: Params, store: RowStore) -> None:
    moods = models.classifier("moods")
    assert list(moods.labels) == ["sad", "glad"]
    assert moods.probabilities(["w0"]).sum() == pytest.approx(1)
    usual, named = models.embedder(None), models.embedder("minilm")
    assert usual.name == named.name == params.diagnosis.embedder
    assert np.linalg.norm(usual.embed(["a river"])) == pytest.approx(1)
    said = models.scorer("causal")(["a", "b", "a"])
    assert len(said) == 3
    assert said[0] == said[2]


def test_nothing_is_loaded_to_open_them(models: FromCatalogue) -> None:
    assert models.classifier("moods")._backend is None
    assert models.embedder(None)._backend is None


def test_the_scorer_takes_the_likeliest_reply(models: FromCatalogue, params: Params, tmp_path: Path) -> None:
    other = FromCatalogue(params, params.diagnosis.embedder, RowStore(tmp_path / "other"))
    assert other.scorer("causal")(["The man"]) == models.scorer("causal")(["The man"])


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("classifier", "mood", ": no model 'mood'; mend the name (did you mean 'moods'?) or add an entry"),
        (
            "classifier",
            "minilm",
            ".minilm: minilm (kind embedder) cannot classify, only embed; name a model that can classify",
        ),
        ("classifier", "pairs", ".pairs: pairs (kind nli) cannot classify, only entail"),
        ("embedder", "moods", ".moods: moods (kind classifier) cannot embed, only classify"),
        ("scorer", "moods", ".moods: moods (kind classifier) cannot generate, only classify"),
    ],
)
def test_a_model_that_is_missing_or_of_another_kind(
    kind: str, name: str, line: str, models: FromCatalogue, error_of: Callable[..., str]
) -> None:
    assert error_of(getattr(models, kind), name).startswith(f"params.yaml: models{line}")


def test_a_head_of_ours_for_pairs_is_no_classifier(
    shipped_params: Params, store: RowStore, error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[4])
    line = error_of(FromCatalogue(shipped_params, shipped_params.diagnosis.embedder, store).classifier, "minilm-nli-a")
    assert line == (
        "params.yaml: models.minilm-nli-a: minilm-nli-a (kind nli) cannot classify, only entail; "
        "name a model that can classify"
    )
