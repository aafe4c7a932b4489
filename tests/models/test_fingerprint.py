"""What a model computes, told by two texts: no change of a model in Python gets the answers of
before."""

import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.modules import module as every_module
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from evenruler.errors import UserError
from evenruler.models import Sampling, load
from evenruler.models import fingerprint as fingerprints
from evenruler.models.fingerprint import Fingerprint, measure_distance, reduce_logits
from evenruler.models.replay import JOURNAL, read_journal
from evenruler.models.store import RowStore
from tests.models.conftest import ErrorOf, raw_nats
from tests.tiny import tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning"
)  # of PEFT

TEXTS = ["the man is here", "a nurse"]


class Steered(torch.nn.Module):
    """A layer with a vector added to what it gives, as in activation steering."""

    def __init__(self, layer: torch.nn.Module, strength: float) -> None:
        super().__init__()
        self.block, self.strength = layer, strength

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.block(*inputs, **named) + self.strength * torch.arange(32)


def steer(model: Any) -> None:
    model.model.layers[1].strength = 20.0


def set_forward_of_all(model: Any) -> None:
    whole = model.forward

    def doubled(*inputs: Any, **named: Any) -> Any:
        answer = whole(*inputs, **named)
        answer.logits = answer.logits * 2
        return answer

    model.forward = doubled


def swap_function(model: Any) -> None:
    model.model.layers[0].mlp.act_fn.forward = torch.nn.functional.relu


def turn_positions_in_place(model: Any) -> None:
    model.model.rotary_emb.inv_freq.mul_(0.1)


def hook_all(model: Any) -> None:
    every_module.register_module_forward_hook(
        lambda part, _, output: output * 1.5 if isinstance(part, torch.nn.Linear) else None
    )


def hook(model: Any) -> None:
    model.model.layers[0].mlp.register_forward_hook(
        lambda _, __, ___, output: output * 2, with_kwargs=True
    )


def remove_layer(model: Any) -> None:
    del model.model.layers[2]
    model.config.num_hidden_layers = 2


def write_weights(model: Any) -> None:
    with torch.no_grad():
        model.lm_head.weight.mul_(1.1)


def write_data(model: Any) -> None:
    model.lm_head.weight.data *= 1.1  # past the counter of versions


def replace_head(model: Any) -> None:
    head = torch.nn.Linear(
        32,
        model.config.vocab_size,
        bias=False,
    )
    model.lm_head = head.requires_grad_(False).eval()


def drop_out(model: Any) -> None:
    class Dropping(torch.nn.Module):
        def forward(self, inputs: Any) -> Any:
            return torch.nn.functional.dropout(inputs, 0.5, training=True)

    model.model.layers[0].mlp.act_fn = Dropping().eval()


def steer_first(model: Any) -> None:
    model.model.layers[1] = Steered(model.model.layers[1], 0.0).eval()


IN_BOTH = (steer, set_forward_of_all, hook, write_data, replace_head)
ANOTHER_CALL = (*IN_BOTH, hook_all, remove_layer)
IN_PLACE = (turn_positions_in_place, write_weights, swap_function)
SAME_OBJECT = (*IN_BOTH, *IN_PLACE)


def nats(model: Any, tokenizer: Any) -> list[float]:
    """By transformers alone, in plain calls."""
    return [raw_nats(model, tokenizer, text)[0].sum().item() for text in TEXTS]


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
    [*product(ANOTHER_CALL, [False]), *product(SAME_OBJECT, [True])],
    ids=lambda choice: getattr(choice, "__name__", str(choice)),
)
def test_a_changed_model_never_gets_the_answers_of_before(
    change: Callable[[Any], None],
    is_same_object: bool,
    model: Any,
    tokenizer: Any,
    store: RowStore,
    tmp_path: Path,
) -> None:
    if change is steer:
        steer_first(model)
    first = load(model, store=store, tokenizer=tokenizer)
    old, plain_before = first.loglikelihood(TEXTS).nats, nats(model, tokenizer)
    change(model)
    model.eval()
    differences = np.subtract(nats(model, tokenizer), plain_before)
    assert np.abs(differences).max() > 0.01, "the change changes nothing"

    def ask(place: RowStore, key: str | None = None) -> Any:
        loaded = load(model, store=place, tokenizer=tokenizer, cache_key=key)
        return loaded.loglikelihood(TEXTS).nats.tolist()

    def ask_again():
        return first.loglikelihood(TEXTS).nats.tolist() if is_same_object else ask(store)

    now = answers_or_none(ask_again)
    if now is not None:
        assert now == ask(RowStore(tmp_path / "fresh")) != old.tolist()
    # There is a way to have the answers of the changed model.
    assert ask(store, "another") != old.tolist()


def test_packed_weights_alone_make_another_key(model: Any, tokenizer: Any, store: RowStore) -> None:
    """All tensors of `state_dict` are equal, and one packed layer has other numbers."""
    quantise = torch.ao.quantization.quantize_dynamic

    def engine():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed = quantise(model, {torch.nn.Linear}, dtype=torch.qint8).eval()
        return load(packed, store=store, tokenizer=tokenizer).engine

    before = engine()
    assert engine() == before
    model.lm_head.weight.data[0, 0] += 3.0
    assert engine() != before


def test_where_a_reply_ends_is_part_of_the_key(
    model: Any, tokenizer: Any, store: RowStore, error_of
) -> None:
    greedy = {
        "sampling": Sampling(6, temperature=0),
        "chat": False,
    }
    first = load(model, store=store, tokenizer=tokenizer)
    (reply,) = first.replies(["the"], **greedy)
    likeliest = raw_nats(model, tokenizer, "thex")[0][-1].argmax()
    model.generation_config.eos_token_id = int(likeliest)

    (shorter,) = load(model, store=store, tokenizer=tokenizer).replies(["the"], **greedy)

    assert (reply.finish, shorter.finish) == ("length", "stop")
    assert shorter.text
    assert reply.text.startswith(shorter.text)
    line = error_of(first.replies, ["the"], **greedy)
    assert "the generation of tiny changed while it was in use" in line


def test_the_temperature_of_a_model_is_part_of_the_question(
    model: Any, tokenizer: Any, store: RowStore
) -> None:
    replies = []
    for temperature in (0.01, 5.0):
        model.generation_config.temperature = temperature
        heated = load(model, store=store, tokenizer=tokenizer)
        replies += heated.generate(["the"], sampling=heated.sampling(8))
        assert heated.asked == 1
    assert replies[0] != replies[1]


def test_what_is_random_answers_nothing(
    model: Any, tokenizer: Any, store: RowStore, error_of: ErrorOf
) -> None:
    drop_out(model)
    line = error_of(load(model, store=store, tokenizer=tokenizer).loglikelihood, TEXTS)
    assert "tiny computes otherwise each time (by " in line
    assert line.endswith("; turn off what is random in it, such as dropout")
    assert store.count() == 0


class TestFiles:
    @pytest.fixture
    def opened(self, chat_folder, store):
        """Opens the model of the folder on one store, as another process would."""
        return lambda: load("tiny", tiny_params({"tiny": chat_folder}), store=store)

    def test_a_model_of_files_is_compared_where_it_is_loaded(
        self,
        chat_folder: Path,
        opened,
        store: RowStore,
        monkeypatch: pytest.MonkeyPatch,
        error_of: ErrorOf,
    ) -> None:
        first = opened().loglikelihood(TEXTS[:1]).nats
        whole = LlamaRMSNorm.forward
        monkeypatch.setattr(LlamaRMSNorm, "forward", lambda norm, states: whole(norm, states) * 1.1)

        other = opened()
        # Nothing is loaded.
        assert other.loglikelihood(TEXTS[:1]).nats.tolist() == first.tolist()
        line = error_of(other.loglikelihood, TEXTS[1:])

        otherwise = "tiny computes otherwise than when these answers were kept (by "
        assert line.startswith(f"{chat_folder}: {otherwise}")
        assert line.endswith("or set EVENRULER_CACHE to a new folder")
        assert store.count() == 2  # an answer and the fingerprint

    def test_hooks_on_all_modules_are_refused(self, opened, error_of: ErrorOf) -> None:
        hook_all(None)
        line = error_of(opened().loglikelihood, TEXTS)
        refused = (
            "hooks on all modules (torch.nn.modules.module) change what models of files compute"
        )
        assert refused in line

    def test_it_is_journaled_also_where_nothing_is_loaded(
        self, opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        opened().loglikelihood(TEXTS)
        monkeypatch.setenv(JOURNAL, str(tmp_path / "journal"))
        opened().loglikelihood(TEXTS)
        operations = [answered.operation for answered in read_journal(tmp_path / "journal")]
        assert operations == ["fingerprint/1", "likelihood/1", "likelihood/1"]


class TestNumbers:
    def test_by_hand(self) -> None:
        """Two positions over three tokens: nats of the next, of the likeliest, and the signs' sums
        over root 3."""
        logits = torch.tensor(
            [
                [0.0, 0.0, np.log(2.0)],
                [5.0, 5.0, 5.0],
            ]
        )
        logs = np.log([[0.25, 0.25, 0.5], [1 / 3] * 3])
        by_signs = logs @ fingerprints._fixed_random_signs(3) / np.sqrt(3)
        next_and_likeliest = np.log([[0.25, 0.5], [1 / 3] * 2])

        numbers = np.reshape(reduce_logits(logits, [0, 2]), (2, -1))

        assert numbers == pytest.approx(np.hstack([next_and_likeliest, by_signs]), abs=1e-6)

    def test_the_signs_are_the_same_everywhere(self) -> None:
        assert fingerprints._fixed_random_signs(4).tolist() == [
            [-1, 1, 1, -1],
            [1, 1, 1, 1],
            [1, 1, 1, -1],
            [-1, 1, -1, -1],
        ]

    def test_distances(self) -> None:
        first = Fingerprint((1.0, 2.0))
        assert measure_distance(first, Fingerprint((1.0, 2.5))) == 0.5
        assert measure_distance(first, Fingerprint((1.0,))) == np.inf
        assert fingerprints.parse_text(fingerprints.as_text(first)) == first
