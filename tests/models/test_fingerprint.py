"""What a model computes, told by two texts: no change of a model in Python gets the answers of
before."""

import json
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.modules import module as every_module
from transformers import AutoModelForCausalLM, AutoTokenizer

import evenruler
from evenruler.errors import UserError
from evenruler.models import Sampling, load
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


class Skipped(torch.nn.Module):
    """A layer that gives what it gets."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.block = layer

    def forward(self, hidden: Any, *_: Any, **__: Any) -> Any:
        return hidden


def steer(model: Any) -> None:
    model.model.layers[1].strength = 20.0


def set_forward(model: Any) -> None:
    block = model.model.layers[1]
    whole = type(block).forward
    block.forward = types.MethodType(
        lambda own, *given, **named: whole(own, *given, **named) * 1.5, block
    )


def set_forward_of_all(model: Any) -> None:
    whole = type(model).forward

    def doubled(own: Any, *given: Any, **named: Any) -> Any:
        answer = whole(own, *given, **named)
        answer.logits = answer.logits * 2
        return answer

    model.forward = types.MethodType(doubled, model)


def replace_class(model: Any) -> None:
    block = model.model.layers[1].mlp
    block.__class__ = type(
        "Other", (type(block),), {"forward": lambda own, x: own.down_proj(own.up_proj(x))}
    )


def replace_activation(model: Any) -> None:
    for layer in model.model.layers:
        layer.mlp.act_fn = torch.nn.ReLU()


def swap_function(model: Any) -> None:
    model.model.layers[0].mlp.act_fn.forward = torch.nn.functional.relu


def skip_layer(model: Any) -> None:
    model.model.layers[1] = Skipped(model.model.layers[1])


def scale_attention(model: Any) -> None:
    for layer in model.model.layers:
        layer.self_attn.scaling *= 3


def widen_norms(model: Any) -> None:
    model.model.norm.variance_epsilon = 1.0


def turn_positions(model: Any) -> None:
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq * 0.1


def turn_positions_in_place(model: Any) -> None:
    model.model.rotary_emb.inv_freq.mul_(0.1)


def hook_all(model: Any) -> None:
    every_module.register_module_forward_hook(
        lambda part, _, given: given * 1.5 if isinstance(part, torch.nn.Linear) else None
    )


def hook_all_before(model: Any) -> None:
    every_module.register_module_forward_pre_hook(
        lambda part, given: (
            (given[0] * 1.5, *given[1:]) if isinstance(part, torch.nn.Linear) else None
        )
    )


def hook(model: Any) -> None:
    model.model.layers[0].mlp.register_forward_hook(
        lambda _, __, ___, given: given * 2, with_kwargs=True
    )


def hook_before(model: Any) -> None:
    model.lm_head.register_forward_pre_hook(lambda _, given: (given[0] * 2,))


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


def tune(model: Any) -> None:
    get_peft_model(
        model, LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False)
    ).eval()


CHANGES: list[tuple[Callable[[Any], None], Callable[[Any], None] | None]] = [
    (steer, steer_first),
    (set_forward, None),
    (set_forward_of_all, None),
    (replace_class, None),
    (replace_activation, None),
    (swap_function, None),
    (skip_layer, None),
    (scale_attention, None),
    (widen_norms, None),
    (turn_positions, None),
    (turn_positions_in_place, None),
    (hook_all, None),
    (hook_all_before, None),
    (hook, None),
    (hook_before, None),
    (remove_layer, None),
    (write_weights, None),
    (write_data, None),
    (replace_head, None),
    (drop_out, None),
    (tune, None),
]


def nats(model: Any, tokenizer: Any) -> list[float]:
    """By transformers alone, in plain calls."""
    with torch.inference_mode():
        return [
            model(
                torch.tensor(
                    [
                        [
                            tokenizer.bos_token_id,
                            *tokenizer(text, add_special_tokens=False)["input_ids"],
                        ]
                    ]
                )
            )
            .logits.double()
            .log_softmax(-1)[0]
            .sum()
            .item()
            for text in TEXTS
        ]


@pytest.fixture(autouse=True)
def _no_hooks_are_left() -> Any:
    before = dict(every_module._global_forward_hooks), dict(every_module._global_forward_pre_hooks)
    yield
    now = every_module._global_forward_hooks, every_module._global_forward_pre_hooks
    for hooks, old in zip(now, before, strict=True):
        hooks.clear()
        hooks.update(old)


def answers_or_none(given: Callable[[], Any]) -> Any:
    try:
        return given()
    except UserError:
        return None


@pytest.mark.parametrize("again", ["another call", "the same object"])
@pytest.mark.parametrize(
    ("change", "before"), CHANGES, ids=[change.__name__ for change, _ in CHANGES]
)
def test_a_changed_model_never_gets_the_answers_of_before(
    change: Callable[[Any], None],
    before: Callable[[Any], None] | None,
    again: str,
    model: Any,
    tokenizer: Any,
    store: RowStore,
    tmp_path: Path,
) -> None:
    if before:
        before(model)
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

    now = answers_or_none(
        lambda: ask(store) if again == "another call" else first.loglikelihood(TEXTS).nats
    )
    if now is not None:
        fresh = ask(RowStore(tmp_path / "fresh"))
        assert now.tolist() == fresh.tolist() != old.tolist()
    keyed = answers_or_none(lambda: ask(store, "another"))
    if change is not drop_out:
        assert keyed is not None, "there is a way to have the answers of the changed model"
        assert keyed.tolist() != old.tolist()


def test_quantised_models_are_told_apart_by_their_packed_weights(
    tmp_path: Path, tokenizer: Any, store: RowStore
) -> None:
    engines, answers = set[str](), list[list[float]]()
    for seed in (0, 1):
        plain = AutoModelForCausalLM.from_pretrained(
            save_tiny(tmp_path / str(seed), seed=seed)
        ).eval()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed = torch.ao.quantization.quantize_dynamic(
                plain, {torch.nn.Linear}, dtype=torch.qint8
            ).eval()
        given = load(packed, store=store, tokenizer=tokenizer)
        engines.add(given.engine)
        answers.append(given.loglikelihood(TEXTS).nats.tolist())
    assert len(engines) == 2
    assert answers[0] != answers[1]


def test_packed_weights_alone_make_another_key(model: Any, tokenizer: Any, store: RowStore) -> None:
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


def test_where_a_reply_ends_is_part_of_the_key(model: Any, tokenizer: Any, store: RowStore) -> None:
    greedy = {"sampling": Sampling(6, temperature=0), "chat": False}
    first = load(model, store=store, tokenizer=tokenizer)
    (reply,) = first.replies(["the"], **greedy)
    tokens = [tokenizer.bos_token_id, *tokenizer("the", add_special_tokens=False)["input_ids"]]
    with torch.inference_mode():
        model.generation_config.eos_token_id = int(
            model(torch.tensor([tokens])).logits[0, -1].argmax()
        )

    (shorter,) = load(model, store=store, tokenizer=tokenizer).replies(["the"], **greedy)

    assert (reply.finish, shorter.finish) == ("length", "stop")
    assert reply.text
    assert shorter.text
    assert reply.text.startswith(shorter.text)
    with pytest.raises(UserError, match="the generation of tiny changed while it was in use"):
        first.replies(["the"], **greedy)


def test_the_temperature_of_a_model_is_part_of_the_question(
    model: Any, tokenizer: Any, store: RowStore
) -> None:
    model.generation_config.temperature = 0.01
    cold = load(model, store=store, tokenizer=tokenizer)
    model.generation_config.temperature = 5.0
    hot = load(model, store=store, tokenizer=tokenizer)
    asked = [
        one.generate(["the"] * 4, sampling=one.sampling(8), seeds=range(4)) for one in (cold, hot)
    ]
    assert asked[0] != asked[1]
    assert hot.asked == 4


def test_an_unchanged_model_is_answered_from_the_store(
    model: Any, tokenizer: Any, store: RowStore
) -> None:
    first = load(model, store=store, tokenizer=tokenizer).loglikelihood(TEXTS).nats
    again = load(model, store=store, tokenizer=tokenizer)
    assert again.loglikelihood(TEXTS).nats.tolist() == first.tolist()
    assert again.loglikelihood(TEXTS).nats.tolist() == first.tolist()
    assert again.asked == 0


def test_a_line_says_what_to_do(
    model: Any, tokenizer: Any, store: RowStore, error_of: Callable[..., str]
) -> None:
    steer_first(model)
    load(model, store=store, tokenizer=tokenizer).loglikelihood(TEXTS)
    load(model, store=store, tokenizer=tokenizer, cache_key="v1").loglikelihood(TEXTS)
    steer(model)
    line = error_of(load(model, store=store, tokenizer=tokenizer).loglikelihood, TEXTS)
    assert line.startswith("tiny: tiny computes otherwise than when these answers were kept (by ")
    assert line.endswith(
        '; give `cache_key="..."`, another one for each change that its weights do not tell'
    )
    line = error_of(
        load(model, store=store, tokenizer=tokenizer, cache_key="v1").loglikelihood, TEXTS
    )
    assert line.endswith(
        "; give another `cache_key`: what changed is nothing that its weights tell"
    )
    steered = load(model, store=store, tokenizer=tokenizer, cache_key="v2").loglikelihood(TEXTS)
    fresh = nats(model, tokenizer)
    assert np.isfinite(steered.nats).all()
    assert np.isfinite(fresh).all()


def test_what_is_random_answers_nothing(
    model: Any, tokenizer: Any, store: RowStore, error_of: Callable[..., str]
) -> None:
    drop_out(model)
    line = error_of(load(model, store=store, tokenizer=tokenizer).loglikelihood, TEXTS)
    assert "tiny computes otherwise each time (by " in line
    assert line.endswith("; turn off what is random in it, such as dropout")
    assert store.count() == 0


def test_measuring_a_steered_model_again(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
        *(fingerprints.parse_text(one.model.fingerprint.numbers) for one in (before, after))
    )
    assert distance > 1


class TestFiles:
    def test_a_model_of_files_is_compared_where_it_is_loaded(
        self,
        folder: Path,
        store: RowStore,
        monkeypatch: pytest.MonkeyPatch,
        error_of: Callable[..., str],
    ) -> None:
        params = tiny_params({"tiny": folder})
        first = load("tiny", params, store=store)
        first.loglikelihood(TEXTS[:1])
        from transformers.models.llama.modeling_llama import LlamaRMSNorm

        whole = LlamaRMSNorm.forward
        monkeypatch.setattr(LlamaRMSNorm, "forward", lambda own, given: whole(own, given) * 1.1)

        other = load("tiny", params, store=store)
        assert (
            other.loglikelihood(TEXTS[:1]).nats[0] == first.loglikelihood(TEXTS[:1]).nats[0]
        )  # nothing is loaded
        line = error_of(other.loglikelihood, TEXTS[1:])

        assert line.startswith(
            f"{folder}: tiny computes otherwise than when these answers were kept (by "
        )
        assert line.endswith("or set EVENRULER_CACHE to a new folder")
        assert store.count() == 2  # an answer and the fingerprint

    def test_hooks_on_all_modules_are_refused(
        self, folder: Path, store: RowStore, error_of: Callable[..., str]
    ) -> None:
        hook_all(None)
        line = error_of(
            load("tiny", tiny_params({"tiny": folder}), store=store).loglikelihood, TEXTS
        )
        assert (
            "hooks on all modules (torch.nn.modules.module) change what models of files compute"
            in line
        )

    def test_it_is_journaled_also_where_nothing_is_loaded(
        self, folder: Path, store: RowStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        params = tiny_params({"tiny": folder})
        load("tiny", params, store=store).loglikelihood(TEXTS)
        monkeypatch.setenv(JOURNAL, str(tmp_path / "journal"))
        load("tiny", params, store=store).loglikelihood(TEXTS)
        operations = [answered.operation for answered in read_journal(tmp_path / "journal")]
        assert operations == ["fingerprint/1", "likelihood/1", "likelihood/1"]

    def test_a_read_only_store_is_compared_with_and_not_written(
        self, folder: Path, store: RowStore
    ) -> None:
        params = tiny_params({"tiny": folder})
        load("tiny", params, store=store).loglikelihood(TEXTS)
        store.is_writable = False
        again = load("tiny", params, store=store)
        assert again.backend
        assert again.fingerprint is not None

    def test_every_kind_of_backend_has_one(self, tmp_path: Path, store: RowStore) -> None:
        masked = tiny_params({"bert": save_tiny_masked(tmp_path / "bert")}, kind="masked")
        model = load("bert", masked, store=store)
        assert model.fingerprint is None
        assert model.backend
        numbers = model.fingerprint.numbers if model.fingerprint else ()
        assert len(numbers) == 2 * fingerprints.TOKENS * (2 + fingerprints.PROJECTIONS)
        assert len(set(numbers)) > len(numbers) // 2


class TestNumbers:
    def test_by_hand(self) -> None:
        """Two positions over three tokens: nats of the next, of the likeliest, and the signs' sums
        over root 3."""
        logits = torch.tensor([[0.0, 0.0, np.log(2.0)], [5.0, 5.0, 5.0]])
        logs = np.log([[0.25, 0.25, 0.5], [1 / 3] * 3])
        signs = fingerprints._fixed_random_signs(3)
        found = np.reshape(reduce_logits(logits, [0, 2]), (2, -1))
        assert found[:, 0] == pytest.approx([np.log(0.25), np.log(1 / 3)], abs=1e-6)
        assert found[:, 1] == pytest.approx([np.log(0.5), np.log(1 / 3)], abs=1e-6)
        assert found[:, 2:] == pytest.approx(logs @ signs / np.sqrt(3), abs=1e-6)

    def test_the_signs_are_the_same_everywhere(self) -> None:
        assert fingerprints._fixed_random_signs(4).tolist() == [
            [-1, 1, 1, -1],
            [1, 1, 1, 1],
            [1, 1, 1, -1],
            [-1, 1, -1, -1],
        ]

    def test_impossible_tokens_have_a_number(self) -> None:
        assert np.isfinite(reduce_logits(torch.tensor([[0.0, -np.inf]]), [1])).all()

    def test_distances(self) -> None:
        first = Fingerprint((1.0, 2.0))
        assert measure_distance(first, Fingerprint((1.0, 2.5))) == 0.5
        assert measure_distance(first, Fingerprint((1.0,))) == np.inf
        assert fingerprints.parse_text(fingerprints.as_text(first)) == first

    def test_threads_and_padding_are_within_the_tolerance(self, model: Any, tokenizer: Any) -> None:
        """A batch of both texts, padded, in place of each alone; with another number of threads."""
        tokens = [fingerprints.encode_text(tokenizer, text, None) for text in fingerprints.TEXTS]
        tokens[1] = tokens[1][:11]
        ids = torch.tensor([tokens[0], tokens[1] + [0] * 5])
        mask = torch.tensor([[1] * 16, [1] * 11 + [0] * 5])
        before = torch.get_num_threads()
        with torch.inference_mode():
            alone = [model(torch.tensor([own])).logits[0] for own in tokens]
            torch.set_num_threads(1 if before > 1 else 2)
            together = model(ids, attention_mask=mask).logits
        torch.set_num_threads(before)
        for row, own in enumerate(tokens):
            first, second = (
                Fingerprint(tuple(reduce_logits(one[: len(own)], own)))
                for one in (alone[row], together[row])
            )
            assert measure_distance(first, second) < fingerprints.TOLERANCE["float32"] / 10


def test_the_engine_of_a_model_of_files_is_as_ever(folder: Path, store: RowStore) -> None:
    """Released answers are found by it: no key may come or go, and each is a checksum of names and
    files alone."""
    engine = json.loads(load("tiny", tiny_params({"tiny": folder}), store=store).engine)
    as_ever = [
        "adapter",
        "attention",
        "backend",
        "chat_template",
        "code",
        "config",
        "device",
        "dtype",
        "libraries",
    ]
    assert sorted(engine) == [*as_ever, "quantisation", "tokenizer", "weights"]
