"""Models at hand: loaded in Python, an adapter, a function, Ollama; against the plain library, and
never mixed up."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PromptEncoderConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models import Sampling, load
from evenruler.models.backends.server import KEY, URL
from evenruler.models.declarations import Catalogue
from evenruler.models.in_memory import OLLAMA, ollama_address
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, running
from tests.models.conftest import ErrorOf, change_json, model_entry, raw_token_nats, with_lora
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning"
)  # of PEFT

TEXT = "the man is here"


def nats(model: Any, tokenizer: Any) -> float:
    """By transformers alone."""
    return float(raw_token_nats(model, tokenizer, TEXT).sum())


def text_nats(model: Any) -> float:
    """By a model of ours."""
    return float(model.loglikelihood([TEXT]).nats[0])


def likelihood(model: Any, store: RowStore, **more: Any) -> float:
    return text_nats(load(model, store=store, **more))


def test_a_loaded_model_answers_as_its_folder_does(
    chat_folder: Path, model: Any, tokenizer: Any, store: RowStore
) -> None:
    settings = model.generation_config
    loaded = load(model, store=store, tokenizer=tokenizer)
    assert (loaded.name, loaded.kind, loaded.entry.chats) == ("tiny", "causal", True)
    assert loaded.entry.source == "loaded:LlamaForCausalLM"
    assert text_nats(loaded) == pytest.approx(nats(model, tokenizer), abs=1e-4)
    there = load(f"local:{chat_folder}", store=store)
    assert text_nats(loaded) == text_nats(there)
    brief = {
        "prompts": ["the"],
        "sampling": Sampling(4),
    }
    assert loaded.generate(**brief) == there.generate(**brief)
    assert model.generation_config is settings, "nothing of the user's model is set"
    again = load(model, store=store, tokenizer=tokenizer)
    assert text_nats(again) == text_nats(loaded)
    assert again.asked == 0


def test_other_weights_template_or_key_are_other_answers(
    model: Any, tokenizer: Any, store: RowStore, error_of: ErrorOf
) -> None:
    def opened(**key):
        return load(model, store=store, tokenizer=tokenizer, **key)

    before, keyed = opened(), opened(cache_key="v2")
    text_nats(before)
    tokenizer.chat_template += " "
    rendered = opened()
    engines = {before.engine, keyed.engine, rendered.engine}
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 0.5
    changed = opened()
    assert len({*engines, changed.engine}) == 4
    line = error_of(rendered.loglikelihood, [TEXT])
    assert "the weights of tiny changed while it was in use" in line
    assert text_nats(changed) == pytest.approx(nats(model, tokenizer), abs=1e-4)
    assert changed.asked == 1


def test_what_is_no_model_that_answers_is_one_line(
    model: Any, tokenizer: Any, store: RowStore, error_of: ErrorOf
) -> None:
    assert "no tokenizer is given" in error_of(load, model, store=store)
    assert "call model.eval()" in error_of(load, model.train(), store=store, tokenizer=tokenizer)
    model.eval().lm_head.register_forward_hook(lambda *_: None)
    assert "hooks change what it computes" in error_of(
        load, model, store=store, tokenizer=tokenizer
    )
    assert load(model, store=store, tokenizer=tokenizer, cache_key="steered").kind == "causal"


def test_an_adapter_loaded_or_in_a_folder(
    tmp_path: Path, chat_folder: Path, model: Any, tokenizer: Any, store: RowStore
) -> None:
    plain = nats(model, tokenizer)
    adapted = with_lora(model, target_modules=["q_proj", "v_proj"])
    adapted_nats = nats(adapted, tokenizer)
    assert abs(adapted_nats - plain) > 0.01
    close = {"abs": 1e-4}
    assert likelihood(adapted, store, tokenizer=tokenizer) == pytest.approx(adapted_nats, **close)
    with adapted.disable_adapter():
        assert likelihood(adapted, store, tokenizer=tokenizer) == pytest.approx(plain, **close)
    adapted.peft_config["default"].base_model_name_or_path = str(chat_folder)
    place = str(tmp_path / "lora")
    adapted.save_pretrained(place)
    there = load(place, store=store)
    assert (
        there.name,
        there.entry.source,
        there.entry.chats,
    ) == ("lora", f"local:{chat_folder}", True)
    assert text_nats(there) == pytest.approx(adapted_nats, **close)
    with_lora(
        AutoModelForCausalLM.from_pretrained(chat_folder), 1, target_modules=["q_proj"]
    ).save_pretrained(place)
    models = there, load(place, store=store), load(f"local:{chat_folder}", store=store)
    assert len({loaded.engine for loaded in models}) == 3


def test_an_adapter_that_does_not_fit_is_one_line(
    tmp_path: Path, chat_folder: Path, model: Any, store: RowStore, error_of: ErrorOf
) -> None:
    place = tmp_path / "lora"
    with_lora(model, target_modules=["q_proj", "v_proj"]).save_pretrained(place)
    weights_path = place / "adapter_model.safetensors"

    def ask_on(base):
        change_json(place / "adapter_config.json", base_model_name_or_path=str(base))
        return likelihood(str(place), store)

    assert "neither a folder here nor a repository" in error_of(ask_on, "nowhere at all")
    line = error_of(ask_on, save_tiny(tmp_path / "wider", hidden_size=64))
    assert "does not load (Error(s) in loading" in line
    tensors = load_file(weights_path)
    few = {name: tensor for name, tensor in tensors.items() if "q_proj" in name}
    save_file(few, weights_path)
    lacking = "the adapter lacks 6 tensors, as base_model.model.model.layers.0.self_attn.v_proj"
    assert lacking in error_of(ask_on, chat_folder)


def test_a_catalogue_names_adapters_and_nothing_that_only_python_gives(
    tmp_path: Path, chat_folder: Path, model: Any, store: RowStore, error_of: ErrorOf
) -> None:
    place = tmp_path / "lora"
    with_lora(model, target_modules=["q_proj", "v_proj"]).save_pretrained(place)
    plain, declared = (
        tiny_params({"tiny": chat_folder}, **entry) for entry in ({}, {"adapter": str(place)})
    )
    engines = {load("tiny", params, store=store).engine for params in (plain, declared)}
    assert len(engines) == 2
    (place / "adapter_config.json").unlink()
    assert "no adapter_config.json" in error_of(load, "tiny", declared, store=store)
    for source, kind in (("loaded:X", "causal"), ("function:f", "chat")):
        catalogue = Catalogue(models={"x": model_entry(kind, source)})
        line = error_of(load, "x", catalogue, store=store)
        assert "only Python can give such a model" in line


def test_an_adapter_before_texts_is_refused(
    model: Any, tokenizer: Any, store: RowStore, error_of: ErrorOf
) -> None:
    config = PromptEncoderConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    prompted = get_peft_model(model, config).eval()
    assert "is no change of weights" in error_of(load, prompted, store=store, tokenizer=tokenizer)


def test_a_function_writes_replies(store: RowStore) -> None:
    calls = []

    def writer(messages: list[dict[str, str]], **settings: Any) -> str | None:
        calls.append((messages, settings))
        text = messages[-1]["content"]
        return None if "no" in text else text.upper()

    drawn = Sampling(5, temperature=0.5, top_p=0.9)
    question = {
        "prompts": ["no", "yes"],
        "seeds": [3, 4],
        "system": "Be brief.",
        "sampling": drawn,
    }
    for _ in range(2):
        model = load(writer, store=store, cache_key="v7")
        assert (model.name, model.kind) == ("writer", "chat")
        replies = model.replies(**question)
        assert [reply.text for reply in replies] == [None, "YES"]
        assert (replies[0].reason, replies[1].finish) == ("the function gave none", "stop")
    assert (model.asked, len(calls)) == (0, 2)
    assert calls[1] == (
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "yes"}],
        {"max_new_tokens": 5, "temperature": 0.5, "top_p": 0.9, "seed": 4},
    )
    n_kept = store.count()
    for _ in range(2):  # without a key nothing is kept, and nothing of it goes into the store
        load(writer, store=store).replies(["yes"])
    assert (len(calls), store.count()) == (4, n_kept)


def test_a_function_that_fails_stops_in_one_line(store: RowStore, error_of: ErrorOf) -> None:
    errors = [OSError("no quota\nleft")]

    def writer(messages: list[dict[str, str]], **_: Any) -> Any:
        text = messages[-1]["content"]
        if text == "b" and errors:
            raise errors.pop()
        return 3 if text == "d" else "x"

    model = load(writer, store=store, cache_key="v1")
    line = error_of(model.replies, ["a", "b", "c"])
    assert "the function failed (OSError: no quota; " in line
    assert store.count() == 1
    again = load(writer, store=store, cache_key="v1")
    assert again.generate(["a", "b", "c"]) == ["x"] * 3
    assert again.asked == 2
    assert "the function gave int, expected text, or None" in error_of(again.replies, ["d"])


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("https://box.example", "https://box.example:443"),
        ("http://[::1]:1/", "http://[::1]:1"),
    ],
)
def test_where_ollama_is(monkeypatch: pytest.MonkeyPatch, setting: str, address: str) -> None:
    monkeypatch.setenv(OLLAMA, setting)
    assert ollama_address() == address


@pytest.mark.enable_socket
def test_ollama(monkeypatch: pytest.MonkeyPatch, store: RowStore, error_of: ErrorOf) -> None:
    variables = {URL: "http://127.0.0.1:9/v1", KEY: "secret of another server"}
    for name, setting in variables.items():
        monkeypatch.setenv(name, setting)
    with running(ScriptedServer(content="Yes.")) as server:
        server.held = {"qwen3:8b": "d1", "llama:latest": "d2"}
        monkeypatch.setenv(OLLAMA, server.url.removesuffix("/v1"))
        resolved = resolve_model("ollama:qwen3:8b", store)
        entry = resolved.entry
        assert (resolved.name, entry.kind, entry.revision) == ("qwen3-8b", "chat", "d1")
        hosted = load("ollama:qwen3:8b", store=store)
        assert hosted.generate(["Really?"]) == ["Yes."]
        (question,) = server.asked
        assert (question["model"], question["key"]) == ("qwen3:8b", "Bearer ollama")
        assert f'"url":"{server.url}"' in hosted.engine
        server.held["qwen3:8b"] = "d3"
        assert load("ollama:qwen3:8b", store=store).engine != hosted.engine, "pulled anew"
        assert resolve_model("ollama:llama", store).entry.revision == "d2"
        assert "no other:latest" in error_of(resolve_model, "ollama:other", store)
    assert {name: os.environ[name] for name in variables} == variables
    assert "start it (`ollama serve`)" in error_of(resolve_model, "ollama:qwen3:8b", store)


def test_a_plain_path(
    chat_folder: Path, store: RowStore, monkeypatch: pytest.MonkeyPatch, error_of: ErrorOf
) -> None:
    monkeypatch.chdir(chat_folder.parent)
    assert resolve_model("./tiny", store).entry.source == "local:./tiny"
    assert resolve_model(chat_folder, store).entry.source == f"local:{chat_folder}"
    assert "no such file or folder" in error_of(resolve_model, "missing.gguf", store)
