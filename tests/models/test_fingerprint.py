"""What a model computes, told by two texts: no change of a model in Python gets the answers of
before."""

import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.modules import module as every_module
from transformers import AutoModelForCausalLM, AutoTokenizer

import evenruler
from evenruler.errors import UserError
from evenruler.models import Model, Sampling, load
from evenruler.models import fingerprint as fingerprints
from evenruler.models.fingerprint import Fingerprint, measure_distance, reduce_logits
from evenruler.models.replay import JOURNAL, read_journal
from evenruler.models.store import RowStore
from tests.tiny import save_tiny, save_tiny_masked, tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning"
)  # of PEFT

TEXTS = ["the man is here", "a nurse"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(
        tmp_path_factory.mktemp("behaviour") / "tiny", chat=True, max_position_embeddings=1024
    )


@pytest.fixture
def model(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


class Steered(torch.nn.Module):
    """A layer with a vector added to what it gives, as in activation steering."""

    def __init__(self, layer: torch.nn.Module, strength: float) -> None:
        super().__init__()
        self.block, self.strength = layer, strength

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.block(*inputs, **named) + self.strength * torch.arange(32)


def steer(model: Any) -> None:
    model.model.layers[1].strength = 20.0


def set_forward(model: Any) -> None:
    block = model.model.layers[1]
    whole = type(block).forward
    block.forward = types.MethodType(
        lambda layer, *inputs, **named: whole(layer, *inputs, **named) * 1.5, block
    )


def set_forward_of_all(model: Any) -> None:
    whole = type(model).forward

    def doubled(network: Any, *inputs: Any, **named: Any) -> Any:
        answer = whole(network, *inputs, **named)
        answer.logits = answer.logits * 2
        return answer

    model.forward = types.MethodType(doubled, model)


def replace_class(model: Any) -> None:
    block = model.model.layers[1].mlp
    block.__class__ = type(
        "Other",
        (type(block),),
        {"forward": lambda layer, states: layer.down_proj(layer.up_proj(states))},
    )


def swap_function(model: Any) -> None:
    model.model.layers[0].mlp.act_fn.forward = torch.nn.functional.relu


def turn_positions_in_place(model: Any) -> None:
    model.model.rotary_emb.inv_freq.mul_(0.1)


def hook_all(model: Any) -> None:
    every_module.register_module_forward_hook(
        lambda part, _, output: output * 1.5 if isinstance(part, torch.nn.Linear) else None
    )


def hook_all_before(model: Any) -> None:
    def scale_input(part: torch.nn.Module, inputs: tuple[Any, ...]) -> Any:
        if isinstance(part, torch.nn.Linear):
            return (inputs[0] * 1.5, *inputs[1:])
        return None

    every_module.register_module_forward_pre_hook(scale_input)


def hook(model: Any) -> None:
    model.model.layers[0].mlp.register_forward_hook(
        lambda _, __, ___, output: output * 2, with_kwargs=True
    )


def hook_before(model: Any) -> None:
    model.lm_head.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 2,))


def remove_layer(model: Any) -> None:
    del model.model.layers[2]
    model.config.num_hidden_layers = 2


def write_weights(model: Any) -> None:
    with torch.no_grad():
        model.lm_head.weight.mul_(1.1)


def write_data(model: Any) -> None:
    model.lm_head.weight.data *= 1.1  # past the counter of versions


def replace_head(model: Any) -> None:
    head = torch.nn.Linear(32, model.config.vocab_size, bias=False)
    model.lm_head = head.requires_grad_(False).eval()


def drop_out(model: Any) -> None:
    class Dropping(torch.nn.Module):
        def forward(self, inputs: Any) -> Any:
            return torch.nn.functional.dropout(inputs, 0.5, training=True)

    model.model.layers[0].mlp.act_fn = Dropping().eval()


def steer_first(model: Any) -> None:
    model.model.layers[1] = Steered(model.model.layers[1], 0.0).eval()


IN_BOTH = (steer, set_forward_of_all, replace_class, hook, write_data, replace_head)
ANOTHER_CALL = (*IN_BOTH, set_forward, hook_all, remove_layer)
IN_PLACE = (turn_positions_in_place, write_weights, swap_function)
SAME_OBJECT = (*IN_BOTH, *IN_PLACE, hook_all_before, hook_before)


def plain_logits(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        logits = model(torch.tensor([[tokenizer.bos_token_id, *tokens]])).logits
    return logits[0].double()


def nats(model: Any, tokenizer: Any) -> list[float]:
    """By transformers alone, in plain calls."""
    of_texts = (plain_logits(model, tokenizer, text) for text in TEXTS)
    return [logits.log_softmax(-1).sum().item() for logits in of_texts]


@pytest.fixture(autouse=True)
def _no_hooks_are_left() -> Any:
    before = dict(every_module._global_forward_hooks), dict(every_module._global_forward_pre_hooks)
    yield
    now = every_module._global_forward_hooks, every_module._global_forward_pre_hooks
    for hooks, old in zip(now, before, strict=True):
        hooks.clear()
        hooks.update(old)


def answers_or_none(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except UserError:
        return None


@pytest.mark.parametrize(
    ("change", "is_same_object"),
    [*((change, False) for change in ANOTHER_CALL), *((change, True) for change in SAME_OBJECT)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_changed_model_never_gets_the_answers_of_before(
    change,
    is_same_object,
    model,
    tokenizer,
    store,
    tmp_path,
) -> None:
    if change is steer:
        steer_first(model)
    first = load(model, store=store, tokenizer=tokenizer)
    old, truth_before = first.loglikelihood(TEXTS).nats, nats(model, tokenizer)
    change(model)
    model.eval()
    torch.manual_seed(0)
    assert np.abs(np.subtract(nats(model, tokenizer), truth_before)).max() > 0.01, (
        "the change changes nothing"
    )

    def ask(place: RowStore, key: str | None = None) -> Any:
        return (
            load(model, store=place, tokenizer=tokenizer, cache_key=key).loglikelihood(TEXTS).nats
        )

    now = answers_or_none(lambda: first.loglikelihood(TEXTS).nats if is_same_object else ask(store))
    if now is not None:
        fresh = ask(RowStore(tmp_path / "fresh"))
        assert now.tolist() == fresh.tolist() != old.tolist()
    keyed = answers_or_none(lambda: ask(store, "another"))
    assert keyed is not None, "there is a way to have the answers of the changed model"
    assert keyed.tolist() != old.tolist()


def test_packed_weights_alone_make_another_key(model, tokenizer, store) -> None:
    """All tensors of `state_dict` are equal, and one packed layer has other numbers."""

    def quantised() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.ao.quantization.quantize_dynamic(
                model, {torch.nn.Linear}, dtype=torch.qint8
            ).eval()

    before = load(quantised(), store=store, tokenizer=tokenizer).engine
    assert load(quantised(), store=store, tokenizer=tokenizer).engine == before
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 3.0
    assert load(quantised(), store=store, tokenizer=tokenizer).engine != before


def test_where_a_reply_ends_is_part_of_the_key(model, tokenizer, store) -> None:
    greedy = {"sampling": Sampling(6, temperature=0), "chat": False}
    first = load(model, store=store, tokenizer=tokenizer)
    (reply,) = first.replies(["the"], **greedy)
    likeliest = plain_logits(model, tokenizer, "the")[-1].argmax()
    model.generation_config.eos_token_id = int(likeliest)

    (shorter,) = load(model, store=store, tokenizer=tokenizer).replies(["the"], **greedy)

    assert (reply.finish, shorter.finish) == ("length", "stop")
    assert reply.text
    assert shorter.text
    assert reply.text.startswith(shorter.text)
    with pytest.raises(UserError, match="the generation of tiny changed while it was in use"):
        first.replies(["the"], **greedy)


def test_the_temperature_of_a_model_is_part_of_the_question(model, tokenizer, store) -> None:
    model.generation_config.temperature = 0.01
    cold = load(model, store=store, tokenizer=tokenizer)
    model.generation_config.temperature = 5.0
    hot = load(model, store=store, tokenizer=tokenizer)

    def generate(heated: Model) -> list[str]:
        return heated.generate(["the"] * 4, sampling=heated.sampling(8), seeds=range(4))

    assert generate(cold) != generate(hot)
    assert hot.asked == 4


def test_an_unchanged_model_is_answered_from_the_store(model, tokenizer, store) -> None:
    first = load(model, store=store, tokenizer=tokenizer).loglikelihood(TEXTS).nats
    again = load(model, store=store, tokenizer=tokenizer)
    assert again.loglikelihood(TEXTS).nats.tolist() == first.tolist()
    assert again.asked == 0


def test_a_line_says_what_to_do(model, tokenizer, store, error_of) -> None:
    steer_first(model)
    load(model, store=store, tokenizer=tokenizer).loglikelihood(TEXTS)
    load(model, store=store, tokenizer=tokenizer, cache_key="v1").loglikelihood(TEXTS)
    steer(model)
    line = error_of(load(model, store=store, tokenizer=tokenizer).loglikelihood, TEXTS)
    assert line.endswith(
        '; give `cache_key="..."`, another one for each change that its weights do not tell'
    )
    keyed = load(model, store=store, tokenizer=tokenizer, cache_key="v1")
    assert "; give another `cache_key`: " in error_of(keyed.loglikelihood, TEXTS)
    steered = load(model, store=store, tokenizer=tokenizer, cache_key="v2").loglikelihood(TEXTS)
    assert np.isfinite(steered.nats).all()


def test_what_is_random_answers_nothing(model, tokenizer, store, error_of) -> None:
    drop_out(model)
    line = error_of(load(model, store=store, tokenizer=tokenizer).loglikelihood, TEXTS)
    assert "tiny computes otherwise each time (by " in line
    assert line.endswith("; turn off what is random in it, such as dropout")
    assert store.count() == 0


@pytest.mark.slow
@pytest.mark.long
def test_measuring_a_steered_model_again(model, tokenizer, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    steer_first(model)

    def measure(**more: Any) -> Any:
        return evenruler.measure(
            model, "questionnaires-gad-7", tokenizer=tokenizer, limit=2, size="trial", **more
        )

    before = measure()
    assert measure().figures == before.figures
    steer(model)
    with pytest.raises(UserError, match="computes otherwise than when these answers were kept"):
        measure()
    after = measure(cache_key="steered by 20")
    assert after.figures != before.figures
    distance = measure_distance(
        *(
            fingerprints.parse_text(measured.model.fingerprint.numbers)
            for measured in (before, after)
        )
    )
    assert distance > 1


class TestFiles:
    def test_a_model_of_files_is_compared_where_it_is_loaded(
        self,
        folder,
        store,
        monkeypatch,
        error_of,
    ) -> None:
        params = tiny_params({"tiny": folder})
        first = load("tiny", params, store=store).loglikelihood(TEXTS[:1]).nats
        from transformers.models.llama.modeling_llama import LlamaRMSNorm

        whole = LlamaRMSNorm.forward
        monkeypatch.setattr(LlamaRMSNorm, "forward", lambda norm, states: whole(norm, states) * 1.1)

        other = load("tiny", params, store=store)
        # Nothing is loaded.
        assert other.loglikelihood(TEXTS[:1]).nats.tolist() == first.tolist()
        line = error_of(other.loglikelihood, TEXTS[1:])

        assert line.startswith(
            f"{folder}: tiny computes otherwise than when these answers were kept (by "
        )
        assert line.endswith("or set EVENRULER_CACHE to a new folder")
        assert store.count() == 2  # an answer and the fingerprint

    def test_hooks_on_all_modules_are_refused(self, folder, store, error_of) -> None:
        hook_all(None)
        line = error_of(
            load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, TEXTS
        )
        assert (
            "hooks on all modules (torch.nn.modules.module) change what models of files compute"
            in line
        )

    def test_it_is_journaled_also_where_nothing_is_loaded(
        self, folder, store, monkeypatch, tmp_path
    ) -> None:
        params = tiny_params({"tiny": folder})
        load("tiny", params, store=store).loglikelihood(TEXTS)
        monkeypatch.setenv(JOURNAL, str(tmp_path / "journal"))
        load("tiny", params, store=store).loglikelihood(TEXTS)
        operations = [answered.operation for answered in read_journal(tmp_path / "journal")]
        assert operations == ["fingerprint/1", "likelihood/1", "likelihood/1"]

    def test_a_read_only_store_is_compared_with_and_not_written(self, folder, store) -> None:
        params = tiny_params({"tiny": folder})
        load("tiny", params, store=store).loglikelihood(TEXTS)
        store.is_writable = False
        again = load("tiny", params, store=store)
        assert again.backend
        assert again.fingerprint is not None

    def test_every_kind_of_backend_has_one(self, tmp_path, store) -> None:
        masked = tiny_params({"bert": save_tiny_masked(tmp_path / "bert")}, kind="masked")
        model = load("bert", masked, store=store)
        assert model.fingerprint is None
        assert model.backend
        numbers = model.fingerprint.numbers if model.fingerprint else ()
        assert len(set(numbers)) > len(numbers) // 2 > 0


class TestNumbers:
    def test_by_hand(self) -> None:
        """Two positions over three tokens: nats of the next, of the likeliest, and the signs' sums
        over root 3."""
        logits = torch.tensor([[0.0, 0.0, np.log(2.0)], [5.0, 5.0, 5.0]])
        logs = np.log([[0.25, 0.25, 0.5], [1 / 3] * 3])
        signs = fingerprints._fixed_random_signs(3)
        numbers = np.reshape(reduce_logits(logits, [0, 2]), (2, -1))
        of_tokens = logs[[0, 1], [0, 2]]
        assert numbers[:, 0] == pytest.approx(of_tokens, abs=1e-6)
        assert numbers[:, 1] == pytest.approx(logs.max(axis=1), abs=1e-6)
        by_signs = logs @ signs / np.sqrt(3)
        assert numbers[:, 2:] == pytest.approx(by_signs, abs=1e-6)

    def test_the_signs_are_the_same_everywhere(self) -> None:
        assert fingerprints._fixed_random_signs(4).tolist() == [
            [-1, 1, 1, -1],
            [1, 1, 1, 1],
            [1, 1, 1, -1],
            [-1, 1, -1, -1],
        ]

    def test_impossible_tokens_have_a_number(self) -> None:
        logits = torch.tensor([[0.0, -np.inf]])
        assert np.isfinite(reduce_logits(logits, [1])).all()

    def test_distances(self) -> None:
        first = Fingerprint((1.0, 2.0))
        assert measure_distance(first, Fingerprint((1.0, 2.5))) == 0.5
        assert measure_distance(first, Fingerprint((1.0,))) == np.inf
        assert fingerprints.parse_text(fingerprints.as_text(first)) == first

    def test_threads_and_padding_are_within_the_tolerance(self, model, tokenizer) -> None:
        """A batch of both texts, padded, in place of each alone; with another number of threads."""
        tokens = [fingerprints.encode_text(tokenizer, text, None) for text in fingerprints.TEXTS]
        tokens[1] = tokens[1][:11]
        padding = [0] * 5
        padded = torch.tensor([tokens[0], tokens[1] + padding])
        mask = torch.tensor([[1] * 16, [1] * 11 + padding])
        before = torch.get_num_threads()
        with torch.inference_mode():
            alone = [model(torch.tensor([of_text])).logits[0] for of_text in tokens]
            torch.set_num_threads(1 if before > 1 else 2)
            together = model(padded, attention_mask=mask).logits
        torch.set_num_threads(before)
        for of_text, *logits in zip(tokens, alone, together, strict=True):
            numbers = (reduce_logits(part[: len(of_text)], of_text) for part in logits)
            first, second = (Fingerprint(tuple(reduced)) for reduced in numbers)
            assert measure_distance(first, second) < fingerprints.TOLERANCE["float32"] / 10
