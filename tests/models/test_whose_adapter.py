"""A LoRA says whose it is: another base is refused, and what cannot be compared is said in the
result."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.models import load
from evenruler.models.adapters import verify_base
from evenruler.models.declarations import ModelEntry
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning",
    "ignore:Setting `save_embedding_layers`:UserWarning",
)

COMMITS = "a" * 40, "b" * 40


@pytest.fixture
def adapter(tmp_path):
    base = save_tiny(tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(base)
    config = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    get_peft_model(model, config).save_pretrained(tmp_path / "lora")
    return tmp_path / "lora"


def write_base(adapter: Path, base: str | None, revision: str | None = None) -> None:
    path = adapter / "adapter_config.json"
    content = {
        **json.loads(path.read_text()),
        "base_model_name_or_path": base,
        "revision": revision,
    }
    path.write_text(json.dumps(content))


def entry(source: str, revision: str | None = None, origin: str = "tests") -> ModelEntry:
    fields = {
        "kind": "causal",
        "source": source,
        "revision": revision,
        "licence": "mit",
        "origin": origin,
    }
    return ModelEntry.model_validate(fields)


def test_another_folder_with_other_weights_is_refused(adapter, tmp_path, store, error_of) -> None:
    """Shapes are equal, so that nothing else would tell."""
    other, copy = (
        save_tiny(tmp_path / "other", seed=1),
        shutil.copytree(tmp_path / "base", tmp_path / "copy"),
    )
    assert load("tiny", tiny_params({"tiny": copy}, adapter=str(adapter)), store=store).doubts == []
    line = error_of(load, "tiny", tiny_params({"tiny": other}, adapter=str(adapter)), store=store)
    assert line.startswith(
        f"{adapter}/adapter_config.json: base_model_name_or_path: the adapter was fitted on "
    )
    assert (
        "whose weights are others; declare that base for tiny, or, if both are the same weights"
        in line
    )


@pytest.mark.parametrize(
    ("named", "revision", "expected"),
    [
        ("Org/Name", None, None),
        ("org/name", COMMITS[0], None),
        (
            "org/name",
            COMMITS[1],
            "fitted on commit bbbbbbbbbbbb of its base, declared is aaaaaaaaaaaa",
        ),
        ("org/other", None, "the adapter was fitted on 'org/other', declared is 'org/name'"),
    ],
)
def test_a_base_on_the_hub_is_compared_by_name_and_commit(
    named,
    revision,
    expected,
    adapter,
    store,
    error_of,
) -> None:
    write_base(adapter, named, revision)
    arguments = "tiny", entry("hub:org/name", COMMITS[0]), adapter.parent / "base", adapter, store
    if expected is None:
        assert verify_base(*arguments) == []
    else:
        assert expected in error_of(verify_base, *arguments)


@pytest.mark.parametrize(
    ("named", "origin", "is_same"),
    [
        ("org/base", "tests", True),  # as the folder is called
        ("org/name", "org/name, converted", True),
        ("org/name", "tests", False),
        (None, "tests", False),
    ],
)
def test_what_cannot_be_compared_is_said(named, origin, is_same, adapter, store) -> None:
    base = adapter.parent / "base"
    write_base(adapter, named)
    doubts = verify_base("tiny", entry(f"local:{base}", origin=origin), base, adapter, store)
    assert len(doubts) == (0 if is_same else 1)
    assert all(doubt.startswith("the model's files: the adapter ") for doubt in doubts)


def test_an_adapter_with_new_tokens(tmp_path, store, error_of) -> None:
    """Against PEFT itself; without its rows the new tokens would be random."""
    base, lora = save_tiny(tmp_path / "base", tie_word_embeddings=False), tmp_path / "lora"
    tokenizer, model = (
        AutoTokenizer.from_pretrained(base),
        AutoModelForCausalLM.from_pretrained(base),
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    torch.manual_seed(1)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    config = LoraConfig(
        r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", init_lora_weights=False
    )
    tuned = get_peft_model(model, config).eval()
    tuned.save_pretrained(lora)
    tokenizer.save_pretrained(lora)
    write_base(lora, str(base))
    text = "The nurse <|im_start|> is a man."
    ids = torch.tensor(
        [[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]]
    )
    with torch.inference_mode():
        logits = tuned(ids).logits[0, :-1]
    nats = logits.double().log_softmax(-1)
    of_tokens = nats.gather(1, ids[0, 1:, None])

    likelihoods = load(f"local:{lora}", store=store).loglikelihood([text])

    assert likelihoods.nats[0] == pytest.approx(of_tokens.sum().item(), abs=1e-3)
    weights = load_file(lora / "adapter_model.safetensors")
    save_file(
        {key: tensor for key, tensor in weights.items() if "lm_head" not in key},
        lora / "adapter_model.safetensors",
    )
    line = error_of(load(f"local:{lora}", store=store).loglikelihood, [text])
    assert "rows of embeddings, and not those of ['lm_head', 'model.embed_tokens']" in line
