import numpy as np
import pytest
from transformers import AutoConfig

from evenruler.models import LABELS, load, sources
from evenruler.models.declarations import Catalogue
from evenruler.models.store import RowStore
from tests.tiny import PUBLISHED, catalogue_of, save_tiny, save_tiny_masked, tiny_declaration

TEXTS = ["The man is here.", "x"]


def declared(
    folder, kind: str = "causal", base: str = "causal", source: str = "untrained:tiny", **entry
) -> Catalogue:
    declaration = tiny_declaration({"tiny": folder}, kind=base)
    declaration["models"]["random"] = {
        "kind": kind,
        "source": source,
        "licence": "none",
        "origin": "ours",
        **entry,
    }
    return catalogue_of(declaration)


@pytest.fixture
def wide(tmp_path):
    return save_tiny(
        tmp_path / "wide",
        hidden_size=96,
        intermediate_size=200,
        num_hidden_layers=5,
        initializer_range=0.02,
    )


class TestMade:
    def test_it_is_small_and_another_than_what_it_is_made_of(self, wide, store) -> None:
        model, base = (load(name, declared(wide), store=store) for name in ("random", "tiny"))

        sizes = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128}
        config = model.backend.model.config.to_dict()
        assert config | sizes | {"model_type": "llama"} == config
        likelihoods, of_base = model.loglikelihood(TEXTS), base.loglikelihood(TEXTS)
        assert np.abs(likelihoods.nats - of_base.nats).min() > 0.1
        assert likelihoods.tokens.tolist() == of_base.tokens.tolist()
        # With weights so small the next token is hardly more likely than any other.
        by_token = likelihoods.nats / likelihoods.tokens
        assert by_token == pytest.approx(-np.log(config["vocab_size"]), abs=0.3)

    def test_it_is_the_same_each_time_it_is_made(self, wide, tmp_path, monkeypatch) -> None:
        first, second = (
            load("random", declared(wide), store=RowStore(tmp_path / name)) for name in "ab"
        )

        assert first.engine == second.engine
        assert first.loglikelihood(TEXTS).nats.tolist() == second.loglikelihood(TEXTS).nats.tolist()
        monkeypatch.setattr(sources, "make_untrained", lambda *_: pytest.fail("made again"))
        again = load(
            "random",
            declared(wide),
            store=RowStore(tmp_path / "a"),
        )
        assert again.engine == first.engine

    @pytest.mark.parametrize("kind", ["gemma3", "gpt2", "mamba", *PUBLISHED])
    def test_any_architecture(self, kind, tmp_path, store) -> None:
        model = load(
            "random",
            declared(save_tiny(tmp_path / "of", kind)),
            store=store,
        )

        assert np.isfinite(model.loglikelihood(TEXTS).nats).all()
        assert len(model.generate(["The man"])) == 1


class TestKinds:
    def test_a_masked_model(self, tmp_path, store) -> None:
        params = declared(save_tiny_masked(tmp_path / "bert"), "masked", "masked")
        folder = sources.locate_model("random", params.models["random"], store, params.models)

        assert AutoConfig.from_pretrained(folder).architectures == ["BertForMaskedLM"]
        assert load("random", params, store=store).can("in_place")

    def test_a_classifier_of_pairs(self, tmp_path, store) -> None:
        model = load(
            "random", declared(save_tiny_masked(tmp_path / "bert"), "nli", "masked"), store=store
        )

        logits = model.entailment([("The man is here.", "He is."), ("x", "y")])
        assert logits.shape == (2, 3)
        assert np.isfinite(logits).all()
        assert model.backend.labels == list(LABELS)


class TestRefused:
    @pytest.mark.parametrize(
        ("source", "reason"),
        [
            ("untrained:tyni", "no model 'tyni'; check the name (did you mean 'tiny'?)"),
            ("untrained:random", "no files of its own"),
        ],
    )
    def test_what_has_no_architecture(self, source, reason, wide, store, error_of) -> None:
        line = error_of(
            load,
            "random",
            declared(wide, source=source),
            store=store,
        )

        assert line.startswith("params.yaml: models.random.source: ")
        assert reason in line

    def test_an_architecture_of_another_kind_is_one_line(self, wide, store, error_of) -> None:
        line = error_of(
            load,
            "random",
            declared(wide, "masked"),
            store=store,
        )

        assert "random does not load" in line
        assert line.endswith("; name another model after `untrained:`")
