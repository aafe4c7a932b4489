"""Models at hand: loaded in Python, an adapter, a function, Ollama; against the plain library, and
never mixed up."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PromptEncoderConfig, get_peft_model
from pydantic import ValidationError
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.evaluate.resolve_model import resolve_model
from evenruler.models import Sampling, load
from evenruler.models.backends.server import KEY, URL
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.in_memory import OLLAMA, ollama_address
from evenruler.models.store import RowStore
from tests.loopback_openai import ScriptedServer, running
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning"
)  # of PEFT

TEXT = "the man is here"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("given") / "tiny", chat=True)


@pytest.fixture
def model(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def tuned(model: Any, seed: int = 0) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LoraConfig(
            r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"], init_lora_weights=False
        )
        return get_peft_model(model, config).eval()


def nats(model: Any, tokenizer: Any, text: str = TEXT) -> float:
    """By transformers alone."""
    ids = torch.tensor(
        [[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]]
    )
    with torch.inference_mode():
        logits = model(input_ids=ids).logits.log_softmax(-1)
    tokens = ids[0, 1:, None]
    return float(logits[0, :-1].gather(1, tokens).sum())


def text_nats(model: Any) -> float:
    """By a model of ours."""
    return float(model.loglikelihood([TEXT]).nats[0])


def likelihood(model: Any, store: RowStore, **more: Any) -> float:
    return text_nats(load(model, store=store, **more))


def test_a_loaded_model_answers_as_its_folder_does(folder, model, tokenizer, store) -> None:
    settings = model.generation_config
    loaded = load(model, store=store, tokenizer=tokenizer)
    assert (loaded.name, loaded.kind, loaded.entry.source, loaded.entry.chats) == (
        "tiny", "causal", "loaded:LlamaForCausalLM", True,
    )  # fmt: skip
    assert text_nats(loaded) == pytest.approx(nats(model, tokenizer), abs=1e-4)
    there = load(f"local:{folder}", store=store)
    assert text_nats(loaded) == text_nats(there)
    assert loaded.generate(["the"], sampling=Sampling(4)) == there.generate(
        ["the"], sampling=Sampling(4)
    )
    assert model.generation_config is settings, "nothing of the user's model is set"
    again = load(model, store=store, tokenizer=tokenizer)
    assert text_nats(again) == text_nats(loaded)
    assert again.asked == 0


def test_other_weights_template_or_key_are_other_answers(model, tokenizer, store, error_of) -> None:
    before = load(model, store=store, tokenizer=tokenizer)
    likelihood(model, store, tokenizer=tokenizer)
    keyed = load(model, store=store, tokenizer=tokenizer, cache_key="v2").engine
    tokenizer.chat_template += " "
    rendered = load(model, store=store, tokenizer=tokenizer)
    with_template = rendered.engine
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 0.5
    changed = load(model, store=store, tokenizer=tokenizer)
    assert len({before.engine, keyed, with_template, changed.engine}) == 4
    assert "the weights of tiny changed while it was in use" in error_of(
        rendered.loglikelihood, [TEXT]
    )
    assert text_nats(changed) == pytest.approx(nats(model, tokenizer), abs=1e-4)
    assert changed.asked == 1


def test_what_is_no_model_that_answers_is_one_line(model, tokenizer, store, error_of) -> None:
    assert (
        error_of(load, model, store=store)
        == "LlamaForCausalLM: no tokenizer is given; say tokenizer=..."
    )
    assert "call model.eval()" in error_of(load, model.train(), store=store, tokenizer=tokenizer)
    model.eval().lm_head.register_forward_hook(lambda *_: None)
    assert error_of(load, model, store=store, tokenizer=tokenizer) == (
        "tiny: hooks change what it computes, which its weights do not tell; "
        'give `cache_key="..."`, another one for other hooks'
    )
    assert load(model, store=store, tokenizer=tokenizer, cache_key="steered").kind == "causal"
    assert "found int; name it as hub:" in error_of(load, 3, store=store)
    assert "leave them out" in error_of(load, "hub:a/b", store=store, cache_key="v1")


def test_an_adapter_loaded_or_in_a_folder(tmp_path, folder, model, tokenizer, store) -> None:
    plain = nats(model, tokenizer)
    adapted = tuned(model)
    adapted_nats = nats(adapted, tokenizer)
    assert abs(adapted_nats - plain) > 0.01
    assert likelihood(adapted, store, tokenizer=tokenizer) == pytest.approx(adapted_nats, abs=1e-4)
    with adapted.disable_adapter():
        assert likelihood(adapted, store, tokenizer=tokenizer) == pytest.approx(plain, abs=1e-4)
    adapted.peft_config["default"].base_model_name_or_path = str(folder)
    adapted.save_pretrained(tmp_path / "lora")
    there = load(f"{tmp_path}/lora", store=store)
    assert (there.name, there.entry.source, there.entry.chats) == ("lora", f"local:{folder}", True)
    assert text_nats(there) == pytest.approx(adapted_nats, abs=1e-4)
    tuned(AutoModelForCausalLM.from_pretrained(folder), seed=1).save_pretrained(tmp_path / "lora")
    other = load(f"{tmp_path}/lora", store=store)
    assert other.engine != there.engine, "another adapter on the same base"
    assert other.engine != load(f"local:{folder}", store=store).engine


def test_an_adapter_that_does_not_fit_is_one_line(tmp_path, folder, model, store, error_of) -> None:
    tuned(model).save_pretrained(tmp_path / "lora")
    config_path = tmp_path / "lora/adapter_config.json"

    def based_on(base: str) -> str:
        text = config_path.read_text()
        old = text.split('"base_model_name_or_path": ')[1].partition(",")[0]
        config_path.write_text(text.replace(old, f'"{base}"'))
        return f"{tmp_path}/lora"

    assert "neither a folder here nor a repository" in error_of(
        load, based_on("nowhere at all"), store=store
    )
    wider = save_tiny(tmp_path / "wider", hidden_size=64)
    line = error_of(load(based_on(str(wider)), store=store).loglikelihood, [TEXT])
    assert "does not load (Error(s) in loading" in line
    assert "take the base that the adapter was fitted on" in line
    file = tmp_path / "lora/adapter_model.safetensors"
    tensors = load_file(file)
    save_file({name: tensor for name, tensor in tensors.items() if "q_proj" in name}, file)
    line = error_of(load(based_on(str(folder)), store=store).loglikelihood, [TEXT])
    assert (
        "the adapter lacks 6 tensors, as base_model.model.model.layers.0.self_attn.v_proj" in line
    )


def test_a_catalogue_names_adapters_and_nothing_that_only_python_gives(
    tmp_path, folder, model, store, error_of
) -> None:
    tuned(model).save_pretrained(tmp_path / "lora")
    declared = tiny_params({"tiny": folder}, adapter=str(tmp_path / "lora"))
    plain = load("tiny", tiny_params({"tiny": folder}), store=store).engine
    assert load("tiny", declared, store=store).engine != plain
    (tmp_path / "lora/adapter_config.json").unlink()
    assert error_of(load, "tiny", declared, store=store) == (
        f"params.yaml: models.tiny: {tmp_path}/lora: no adapter_config.json; name the folder of a "
        "saved adapter"
    )
    terms = {"licence": "mit", "origin": "here"}
    for source, kind in (("loaded:X", "causal"), ("function:f", "chat")):
        entry = ModelEntry.model_validate({**terms, "source": source, "kind": kind})
        assert "only Python can give such a model" in error_of(
            load, "x", Catalogue(models={"x": entry}), store=store
        )
    for wrong in (
        {"source": "ollama:x", "kind": "completions"},
        {"source": "ollama:x", "kind": "causal"},
        {"source": "local:x", "kind": "nli", "adapter": "y"},
    ):
        with pytest.raises(ValidationError):
            ModelEntry.model_validate({**terms, **wrong})


def test_an_adapter_before_texts_is_refused(model, tokenizer, store, error_of) -> None:
    prompted = get_peft_model(
        model, PromptEncoderConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    ).eval()
    assert "is no change of weights" in error_of(load, prompted, store=store, tokenizer=tokenizer)


def test_a_function_writes_replies(store) -> None:
    calls: list[Any] = []

    def writer(messages: list[dict[str, str]], **settings: Any) -> str | None:
        calls.append((messages, settings))
        text = messages[-1]["content"]
        return None if "no" in text else text.upper()

    writer_model = load(writer, store=store, cache_key="v7")
    assert (writer_model.name, writer_model.kind) == ("writer", "chat")
    drawn = Sampling(5, temperature=0.5, top_p=0.9)
    refused, answered = writer_model.replies(
        ["no", "yes"], sampling=drawn, seeds=[3, 4], system="Be brief."
    )
    assert (refused.text, refused.reason) == (None, "the function gave none")
    assert (answered.text, answered.finish) == ("YES", "stop")
    assert calls[1] == (
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "yes"}],
        {"max_new_tokens": 5, "temperature": 0.5, "top_p": 0.9, "seed": 4},
    )
    again = load(writer, store=store, cache_key="v7")
    assert again.replies(["no", "yes"], sampling=drawn, seeds=[3, 4], system="Be brief.") == [
        refused,
        answered,
    ]
    assert (again.asked, len(calls)) == (0, 2)
    load(writer, store=store, cache_key="v8").replies(["yes"])
    assert len(calls) == 3
    for _ in range(2):  # without a key nothing is kept, and nothing of it goes into the store
        before = store.count()
        load(writer, store=store).replies(["yes"])
        assert store.count() == before
    assert len(calls) == 5


def test_a_function_that_fails_stops_in_one_line(store, error_of) -> None:
    working = False

    def writer(messages: list[dict[str, str]], **_: Any) -> Any:
        text = messages[-1]["content"]
        if text == "b" and not working:
            raise OSError("no quota\nleft")
        return 3 if text == "d" else "x"

    writer_model = load(writer, store=store, cache_key="v1")
    line = error_of(writer_model.replies, ["a", "b", "c"])
    assert (
        line
        == "writer: the function failed (OSError: no quota; what was answered is kept: run again"
    )
    assert store.count() == 1
    working = True
    again = load(writer, store=store, cache_key="v1")
    replies = again.replies(["a", "b", "c"])
    assert [reply.text for reply in replies] == ["x"] * 3
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
def test_where_ollama_is(monkeypatch, setting, address) -> None:
    monkeypatch.setenv(OLLAMA, setting)
    assert ollama_address() == address


@pytest.mark.enable_socket
def test_ollama(monkeypatch, store, error_of) -> None:
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    monkeypatch.setenv(KEY, "secret of another server")
    with running(ScriptedServer(content="Yes.")) as server:
        server.held = {"qwen3:8b": "d1", "llama:latest": "d2"}
        monkeypatch.setenv(OLLAMA, server.url.removesuffix("/v1"))
        resolved = resolve_model("ollama:qwen3:8b", store)
        assert (resolved.name, resolved.entry.kind, resolved.entry.revision) == (
            "qwen3-8b",
            "chat",
            "d1",
        )
        hosted = load("ollama:qwen3:8b", store=store)
        assert hosted.generate(["Really?"]) == ["Yes."]
        (question,) = server.asked
        assert (question["model"], question["key"]) == ("qwen3:8b", "Bearer ollama")
        assert f'"url":"{server.url}"' in hosted.engine
        server.held["qwen3:8b"] = "d3"
        assert load("ollama:qwen3:8b", store=store).engine != hosted.engine, "pulled anew"
        assert resolve_model("ollama:llama", store).entry.revision == "d2"
        assert error_of(resolve_model, "ollama:other", store) == (
            "ollama:other: Ollama has no other:latest, only llama:latest, qwen3:8b; run `ollama "
            "pull other`"
        )
    assert (os.environ[URL], os.environ[KEY]) == (
        "http://127.0.0.1:9/v1",
        "secret of another server",
    )
    assert "start it (`ollama serve`)" in error_of(resolve_model, "ollama:qwen3:8b", store)


def test_a_plain_path(
    folder,
    tmp_path,
    store,
    monkeypatch,
    error_of,
) -> None:
    monkeypatch.chdir(folder.parent)
    assert resolve_model("./tiny", store).entry.source == "local:./tiny"
    assert resolve_model(folder, store).entry.source == f"local:{folder}"
    for missing in ("./missing", "missing.gguf"):
        assert "no such file or folder" in error_of(resolve_model, missing, store)
    (folder.parent / "m.gguf").write_bytes(b"no model")
    assert "local:m.gguf" in error_of(resolve_model, "m.gguf", store)
