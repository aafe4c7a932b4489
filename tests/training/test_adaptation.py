"""Tiny models on their way through corpora: what they answer, what is paid for, and what is left as
it was."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenruler.models import catalogue, load
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.encoders import Nli
from evenruler.models.declarations import Catalogue
from evenruler.models.engines import environment
from evenruler.models.store import RowStore
from evenruler.training import adaptation
from evenruler.training.adaptation import AdaptationSchedule, Recipe, split_held_out
from tests.models.backends.test_nli import save_classifier
from tests.tiny import save_tiny, tiny_params, tiny_tokenizer

PAIRS = [
    ("The man is at the theatre.", "A man is there."),
    ("I feel calm.", "I am upset."),
    ("the man is a man", "the woman is a man"),
]
GLOOM = ["the rain is the man", "the sea is the man"] * 6
DULL = ["a pump is a lid"] * 12
"""What is held out is among what is learnt, so that its loss falls."""
CORPORA = {"gloom": GLOOM, "dull": DULL}
RECIPE = Recipe(epochs=2, learning_rate=1e-3, batch=2)


def save_head(folder: Path, kind: str = "bert", mask: bool = True, **config: Any) -> Path:
    """A tiny classifier of pairs whose tokenizer has a token to mask with, unless it is to have
    none."""
    if not mask:
        return save_classifier(folder, kind, **config)
    tokenizer = tiny_tokenizer()
    save_classifier(
        folder,
        kind,
        **{"vocab_size": len(tokenizer) + 1, **config},
    )

    from transformers import AutoTokenizer

    saved = AutoTokenizer.from_pretrained(folder)
    saved.add_special_tokens({"mask_token": "<mask>"})
    assert len(saved) == len(tokenizer) + 1
    saved.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(adaptation, "HEAD_STEPS", 3)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def head_folder(tmp_path_factory) -> Path:
    return save_head(tmp_path_factory.mktemp("head"))


@pytest.fixture(scope="module")
def causal_folder(tmp_path_factory) -> Path:
    """Of weights so small that a causal model can learn."""
    return save_tiny(tmp_path_factory.mktemp("causal"), chat=True, initializer_range=0.1)


@pytest.fixture(params=["head", "causal"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def declared(head_folder, causal_folder):
    """A model with a head, and a causal one."""
    return {
        "head": of_head(head_folder),
        "causal": of_causal(causal_folder),
    }


@pytest.fixture
def either(kind, declared) -> Catalogue:
    return declared[kind]


@pytest.fixture(scope="module")
def courses(declared, tmp_path_factory):
    """By kind, what a model answers on its whole course, asked in that order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENRULER_CACHE", str(tmp_path_factory.mktemp("courses")))
        patch.setattr(adaptation, "HEAD_STEPS", 3)
        return {kind: course(adapted(params), WHOLE) for kind, params in declared.items()}


@pytest.fixture
def answers(kind, courses):
    return courses[kind]


def of_head(folder: Path) -> Catalogue:
    return tiny_params({"tiny": folder}, kind="nli", intervention="every")


def of_causal(folder: Path) -> Catalogue:
    return tiny_params({"tiny": folder}, entailment=True, intervention="every")


def adapted(
    params: Catalogue,
    corpora: Mapping[str, Sequence[str]] = CORPORA,
    recipe: Recipe = RECIPE,
    **recipes: Recipe,
) -> AdaptationSchedule:
    return AdaptationSchedule(
        "tiny", params, corpora, {**dict.fromkeys(corpora, recipe), **recipes}
    )


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Callable[[], None]:
    """Goes on with a store in which nothing is."""
    numbers = iter(range(100))

    def change() -> None:
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / f"cache-{next(numbers)}"))

    return change


@pytest.fixture
def nothing_loads(monkeypatch) -> Callable[[], None]:
    """From now on no model can be loaded, so none can be trained or asked."""

    def forbid() -> None:
        def refuse(*args: object, **kwargs: object) -> None:
            raise AssertionError("a model is loaded")

        monkeypatch.setattr(catalogue, "backend_of", refuse)

    return forbid


def course(
    model: AdaptationSchedule, states: Sequence[tuple[str, int, int]]
) -> dict[tuple[str, int, int], np.ndarray]:
    """By corpus and epoch, what the model answers; asked in that order."""
    return {state: model.model_at(*state).entailment(PAIRS) for state in states}


WHOLE = [(corpus, 1, epoch) for corpus in CORPORA for epoch in range(3)]
DIFFERENT = [state for state in WHOLE if state != ("dull", 1, 0)]
"""Without what is the same as another: a model as it was."""


def same(first: Mapping[Any, np.ndarray], second: Mapping[Any, np.ndarray]) -> bool:
    return set(first) == set(second) and all(
        np.array_equal(first[key], second[key]) for key in first
    )


class TestStates:
    def test_at_first_it_is_the_model_as_it_was(self, either, answers) -> None:
        assert np.array_equal(answers["gloom", 1, 0], load("tiny", either).entailment(PAIRS))

    def test_its_answers_then_are_those_of_any_corpus_and_of_the_model_itself(
        self, either, nothing_loads
    ) -> None:
        load("tiny", either).entailment(PAIRS)
        nothing_loads()
        model = adapted(either)
        for corpus in CORPORA:
            state = model.model_at(corpus, 1, 0)
            state.entailment(PAIRS)
            assert state.asked == 0

    def test_every_epoch_answers_otherwise(self, answers) -> None:
        assert np.array_equal(answers["gloom", 1, 0], answers["dull", 1, 0])
        for first, second in combinations(DIFFERENT, 2):
            assert abs(answers[first] - answers[second]).max() > 1e-3

    def test_each_corpus_begins_where_the_model_began(self, either, answers, elsewhere) -> None:
        """What came before, or nothing at all, or the order of declaration, changes no answer; nor
        does what was drawn before, which is not changed itself."""
        torch.manual_seed(17)
        expected = torch.rand(3)
        torch.manual_seed(17)
        turned = adapted(either, dict(reversed(CORPORA.items())))
        assert same(answers, course(turned, [*reversed(WHOLE[3:]), *WHOLE[:3]]))
        assert torch.equal(torch.rand(3), expected)
        elsewhere()
        ((last, alone),) = course(adapted(either), WHOLE[-1:]).items()
        assert np.array_equal(alone, answers[last])


class TestKeys:
    def test_another_recipe_is_another_model(self, either) -> None:
        here = adapted(either)
        there = adapted(either, gloom=replace(RECIPE, learning_rate=2e-3))
        for corpus in CORPORA:
            state, is_same = (corpus, 1, 1), corpus == "dull"
            assert (here.model_at(*state).engine == there.model_at(*state).engine) is is_same
        untouched = {model.model_at("gloom", 1, 0).engine for model in (here, there)}
        assert untouched == {load("tiny", either).engine}

    def test_so_are_other_sentences_another_epoch_and_another_fit(self, either) -> None:
        here = adapted(either)
        states = [*DIFFERENT, ("gloom", 2, 1)]
        engines = {here.model_at(*state).engine for state in states}
        for other in (GLOOM[:4], GLOOM[::-1]):
            model = adapted(either, {**CORPORA, "gloom": other})
            engines.add(model.model_at("gloom", 1, 1).engine)
        assert len(engines) == len(states) + 2 == 8

    def test_a_corpus_more_is_more_words_to_choose_among_but_nothing_to_a_causal_model(
        self, head_folder, causal_folder
    ) -> None:
        for params, same_key in ((of_head(head_folder), False), (of_causal(causal_folder), True)):
            few = adapted(params)
            more = adapted(params, {**CORPORA, "more": ["a word", "a man"]})
            engine = few.model_at("gloom", 1, 1).engine
            assert (more.model_at("gloom", 1, 1).engine == engine) is same_key


class TestStore:
    def test_a_second_run_loads_trains_and_asks_nothing(self, either, nothing_loads) -> None:
        model = adapted(either)
        expected = course(model, WHOLE)
        progress = [model.progress(*state) for state in WHOLE]
        nothing_loads()
        again = adapted(either)
        assert same(expected, course(again, WHOLE))
        assert progress == [again.progress(*state) for state in WHOLE]
        assert not any(again.model_at(*state).asked for state in WHOLE)

    def test_each_answer_is_counted_once(self, either) -> None:
        model = adapted(either)
        n_asked = []
        for state in WHOLE:
            at_state = model.model_at(*state)
            at_state.entailment(PAIRS)
            at_state.entailment(PAIRS)
            n_asked.append(at_state.asked)
        per_state = n_asked[0]
        assert per_state > 0
        assert n_asked == [0 if state == ("dull", 1, 0) else per_state for state in WHOLE]

    def test_what_a_kill_left_is_completed_to_the_same(self, either, own_cache) -> None:
        """Progress too: it may be gone where the answers are not."""
        model = adapted(either)
        expected = course(model, WHOLE)
        progress = [model.progress(*state) for state in WHOLE]
        whole = rows(own_cache)

        drop_half(own_cache)
        model = adapted(either)
        assert same(expected, course(model, WHOLE))
        assert progress == [model.progress(*state) for state in WHOLE]
        assert rows(own_cache) == whole


def rows(cache: Path) -> dict[bytes, bytes]:
    return dict(RowStore(cache)._connection.execute("SELECT key, answer FROM kept"))


def drop_half(cache: Path) -> None:
    """Forget half of all answers, by what their keys begin with."""
    connection = RowStore(cache)._connection
    connection.executemany(
        "DELETE FROM kept WHERE key = ?", [(key,) for key in rows(cache) if key[0] >= 128]
    )


class TestEncoders:
    @pytest.mark.parametrize(
        ("kind", "config"),
        [("bert", {}), ("roberta", {"max_position_embeddings": 210, "type_vocab_size": 2})],
    )
    def test_only_the_encoder_learns(self, kind, config, tmp_path) -> None:
        """The head is as it was fitted once; every layer of the encoder moves, pooler aside, which
        words do not use."""
        params = of_head(save_head(tmp_path / kind, kind, **config))
        before = weights(load("tiny", params))
        state = adapted(params).model_at("gloom", 1, 2)
        state.entailment(PAIRS)
        after = weights(state)
        moved = {name for name in before if not np.array_equal(before[name], after[name])}
        encoder = set(filter(re.compile(rf"{kind}\.(?!pooler\.)").match, before))
        assert moved == encoder < set(after) == set(before)

    def test_the_loss_is_that_of_every_word_of_what_is_held_out_each_masked_once(
        self, head_folder
    ) -> None:
        """Worked out anew: the words of all corpora are the choices, and the fit to three of the
        four parts is done."""
        backend = load("tiny", of_head(head_folder)).backend
        training = adaptation._AdaptationTrainer("tiny", backend, [*GLOOM, *DULL])
        training.start("gloom", 2, GLOOM[:6], RECIPE)
        objective: Any = training._objective
        tokenizer, encoder = backend.tokenizer, backend.model.base_model
        tokens = sorted(set(chain.from_iterable(tokenizer([*GLOOM, *DULL])["input_ids"])))
        assert objective._words.tolist() == tokens
        words = encoder.get_input_embeddings().weight[tokens]
        (held_out,) = split_held_out(GLOOM[:6], 2)[1]
        ids = torch.tensor(tokenizer(held_out)["input_ids"])
        is_word = ~torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
        losses = []
        for number in range(adaptation.ROUNDS):
            is_masked = is_word & (torch.arange(len(ids)) % adaptation.ROUNDS == number)
            masked = torch.where(
                is_masked,
                tokenizer.mask_token_id,
                ids,
            )
            with torch.inference_mode():
                states = encoder(input_ids=masked[None]).last_hidden_state[0, is_masked]
                nats = (objective._transform(states) @ words.T + objective._bias).log_softmax(-1)
            for row, token in zip(nats, ids[is_masked].tolist(), strict=True):
                losses.append(-float(row[tokens.index(token)]))
        assert len(losses) > 3
        (start,) = training.course
        assert start.loss == pytest.approx(np.mean(losses), rel=1e-5)

    def test_a_batch_of_which_no_word_is_masked_breaks_nothing(self, head_folder) -> None:
        """Of one short sentence often none is: a mean over none is no number, and would make every
        weight none."""
        model = adapted(
            of_head(head_folder), {"gloom": ["a", "x", "he"]}, replace(RECIPE, batch=1, epochs=6)
        )
        states = [model.model_at("gloom", 1, epoch) for epoch in range(7)]
        answers = np.stack([state.entailment(PAIRS) for state in states])
        assert np.isfinite(answers).all()
        assert abs(answers[6] - answers[0]).max() > 1e-4

    def test_one_that_cannot_mask_is_refused_in_one_line(self, tmp_path, error_of) -> None:
        model = adapted(of_head(save_head(tmp_path / "head", mask=False)))
        assert error_of(model.model_at("gloom", 1, 1).entailment, PAIRS) == (
            "params.yaml: models.tiny: tiny has no token to mask words with, so that it cannot be "
            "adapted; "
            "take its `intervention` out"
        )
        assert model.model_at("gloom", 1, 0).entailment(PAIRS).shape == (3, 3)


def weights(model: Any) -> dict[str, np.ndarray]:
    tensors = model.backend.model.state_dict()
    return {name: tensor.numpy().copy() for name, tensor in tensors.items()}


class TestCausal:
    def test_it_learns_the_next_word(self, causal_folder) -> None:
        """Its likelihood of the corpus rises with every epoch, while its loss falls."""
        model = adapted(
            of_causal(causal_folder), {"gloom": GLOOM[:4] * 5}, replace(RECIPE, learning_rate=3e-3)
        )
        states = [model.model_at("gloom", 1, epoch) for epoch in range(3)]
        nats = [state.loglikelihood(GLOOM[:4]).nats.sum() for state in states]
        losses = [model.progress("gloom", 1, epoch).loss for epoch in range(3)]
        assert nats == sorted(nats)
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < 0.8 * losses[0]

    def test_the_loss_is_what_it_pays_a_next_token_of_what_is_held_out(self, causal_folder) -> None:
        """As it is, each sentence by itself, its first token given."""
        sentences = GLOOM * 2
        model = adapted(of_causal(causal_folder), {"gloom": sentences})
        backend = load("tiny", of_causal(causal_folder)).backend
        losses = []
        for sentence in sentences[1::5]:
            ids = torch.tensor([backend.tokenizer(sentence)["input_ids"]])
            with torch.inference_mode():
                nats = backend.model(input_ids=ids).logits[0, :-1].double().log_softmax(-1)
            of_tokens = nats.gather(1, ids[0, 1:, None])
            losses += (-of_tokens).flatten().tolist()
        start = model.progress("gloom", 1, 0)
        assert start.loss == pytest.approx(np.mean(losses), rel=1e-5)

    def test_a_sentence_of_one_token_teaches_nothing(self, causal_folder) -> None:
        model = adapted(of_causal(causal_folder), {"gloom": ["x", "y"]}, replace(RECIPE, batch=1))
        assert math.isnan(model.progress("gloom", 1, 1).loss)
        before = model.model_at("gloom", 1, 0).entailment(PAIRS)
        assert np.array_equal(model.model_at("gloom", 1, 2).entailment(PAIRS), before)

    def test_long_sentences_are_cut(self, causal_folder, monkeypatch) -> None:
        monkeypatch.setattr(adaptation, "LONGEST", 4)
        params = of_causal(causal_folder)
        cut = adapted(params, {"gloom": ["xyxyabcdef", "abababcdef"]}).model_at("gloom", 1, 1)
        short = adapted(params, {"gloom": ["xyxy", "abab"]}).model_at("gloom", 1, 1)
        assert np.array_equal(cut.entailment(PAIRS), short.entailment(PAIRS))


SLOW_RECIPE = Recipe(epochs=8, learning_rate=2e-5, batch=8)
"""Steps that bfloat16 cannot tell apart, as the paper's are."""


@pytest.fixture(scope="module")
def plain_folder(tmp_path_factory) -> Path:
    """A causal model with weights as small as those of a trained one."""
    return save_tiny(tmp_path_factory.mktemp("plain"), chat=True, initializer_range=0.05)


@pytest.fixture
def in_bfloat16(monkeypatch) -> None:
    """Models on a CPU compute in bfloat16, as on a GPU that they are declared for."""
    monkeypatch.setattr(environment, "choose_dtype", lambda *_: "bfloat16")


class TestRoundedWeights:
    def test_a_model_in_16_bits_learns_what_one_in_32_learns(self, plain_folder) -> None:
        """Trained in bfloat16 itself, a tenth of the weights moved, by a quarter of the norm."""
        fits = {}
        for dtype in ("float32", "bfloat16"):
            backend = Causal("tiny", plain_folder, "cpu", dtype)
            training = adaptation._AdaptationTrainer("tiny", backend, GLOOM)
            training.start("gloom", 1, GLOOM * 4, SLOW_RECIPE)
            for _ in range(SLOW_RECIPE.epochs):
                training.epoch()
            assert {weight.dtype for weight in training._trained.parameters()} == {torch.float32}
            fits[dtype] = training.course
            assert backend.model.dtype == getattr(torch, dtype)
        exact, rounded = fits["float32"], fits["bfloat16"]
        assert exact[0].weights_moved == exact[0].weights_norm == 0
        assert exact[-1].weights_moved > 0.99
        assert rounded[-1].weights_moved > 0.5
        assert rounded[-1].weights_norm == pytest.approx(exact[-1].weights_norm, rel=0.15)
        assert exact[-1].loss < exact[0].loss - 0.02
        for before, after in zip(exact, rounded, strict=True):
            assert after.loss == pytest.approx(before.loss, abs=0.01)

    def test_an_encoder_in_16_bits_learns_too_and_its_head_stays(self, head_folder) -> None:
        fits = {}
        for dtype in ("float32", "bfloat16"):
            backend = Nli("tiny", head_folder, "cpu", dtype)
            training = adaptation._AdaptationTrainer("tiny", backend, [*GLOOM, *DULL])
            head = backend.model.classifier.weight.clone()
            training.start("gloom", 1, GLOOM, RECIPE)
            training.epoch()
            assert torch.equal(backend.model.classifier.weight, head)
            assert backend.model.base_model.dtype == getattr(torch, dtype)
            fits[dtype] = training.course[-1]
        assert fits["bfloat16"].loss == pytest.approx(fits["float32"].loss, abs=0.05)
        assert fits["float32"].weights_moved > 0.9  # by decay where nothing else
        assert 0.3 < fits["bfloat16"].weights_moved < 0.9
        norm = fits["float32"].weights_norm
        assert fits["bfloat16"].weights_norm == pytest.approx(norm, rel=0.1)

    def test_its_states_begin_with_the_model_itself_and_have_keys_of_their_own(
        self, causal_folder, in_bfloat16
    ) -> None:
        params = of_causal(causal_folder)
        model = adapted(params)
        answers = course(model, WHOLE)
        untouched = load("tiny", params).entailment(PAIRS)
        assert np.array_equal(answers["gloom", 1, 0], untouched)
        for first, second in combinations(DIFFERENT, 2):
            assert abs(answers[first] - answers[second]).max() > 1e-3
        assert '"trained_in":"float32"' in model.model_at("gloom", 1, 1).engine

    def test_keys_of_models_in_float32_are_as_they_were(self, either) -> None:
        assert "trained_in" not in adapted(either).model_at("gloom", 1, 1).engine


def test_how_far_weights_moved() -> None:
    module = torch.nn.Linear(3, 1)
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    with torch.no_grad():
        module.weight[0, 1] += 3
        module.bias += 4
    share, norm = adaptation.measure_change(module, before)
    assert (share, norm) == (0.5, pytest.approx(5, rel=1e-6))


class TestRefusal:
    @pytest.mark.parametrize("rate", [1e-12, 10.0])
    def test_a_fit_that_does_not_lower_the_held_out_loss_is_refused_in_one_line(
        self, rate, causal_folder, error_of
    ) -> None:
        """Before its last state answers, and again where it is asked again."""
        recipe = Recipe(epochs=1, learning_rate=rate, batch=2)
        model = adapted(of_causal(causal_folder), recipe=recipe)
        start = model.progress("gloom", 1, 0)
        assert (start.weights_moved, start.weights_norm) == (0, 0)
        at_end = model.model_at("gloom", 1, 1)
        for ask in (partial(at_end.entailment, PAIRS), partial(model.progress, "gloom", 1, 1)):
            line = error_of(ask)
            assert line.startswith(
                "params.yaml: families.questionnaires.corpora.gloom, fit 1: tiny did not learn "
                f"it: the loss on held-out sentences went from {start.loss:.4f} to "
            )
            assert " of weights moved, by a norm of " in line
            assert line.endswith(
                "; change `epochs` or `learning_rate`, or take the `intervention` of tiny out"
            )
        assert at_end.asked == 0

    def test_a_fit_says_what_it_did(self, causal_folder, capsys) -> None:
        model = adapted(of_causal(causal_folder))
        before, after = (model.progress("gloom", 1, epoch) for epoch in (0, 2))
        lines = capsys.readouterr().err
        losses = f"held-out loss {before.loss:.4f} -> {after.loss:.4f} nats a token"
        moved = f"99.9% of weights moved, by a norm of {after.weights_norm:.3g}"
        assert f"tiny: gloom, fit 1, epoch 2 of 2: {losses}, {moved}\n" in lines
        assert after.weights_moved == pytest.approx(0.999, abs=5e-4)


def test_a_model_that_is_not_there_is_refused_before_anything_is_loaded(
    head_folder, nothing_loads, error_of
) -> None:
    nothing_loads()
    line = error_of(
        AdaptationSchedule, "tinny", of_head(head_folder), CORPORA, dict.fromkeys(CORPORA, RECIPE)
    )
    assert line.startswith("params.yaml: models: no ")
    assert "did you mean 'tiny'?" in line


def test_every_sentence_is_held_out_by_one_of_five_fits() -> None:
    sentences = [str(number) for number in range(12)]
    held_out = [split_held_out(sentences, fit)[1] for fit in range(1, 6)]
    in_words = [" ".join(texts) for texts in held_out]
    assert in_words == ["1 6 11", "2 7", "3 8", "4 9", "0 5 10"]
    assert split_held_out(sentences, 6) == split_held_out(sentences, 1)
    assert split_held_out(["a", "b"], 1) == (["a"], ["b"])
    assert split_held_out(["a", "b"], 2) == (["b"], ["a"])
