"""A LoRA says whose it is: another base is refused, and what cannot be compared is said in the
result."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.models import load
from evenruler.models.adapters import verify_base
from evenruler.models.store import RowStore
from tests.models.conftest import ErrorOf, change_json, model_entry, raw_token_nats, with_lora
from tests.tiny import save_tiny, tiny_params

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing`:FutureWarning",
    "ignore:Setting `save_embedding_layers`:UserWarning",
)

COMMITS = "a" * 40, "b" * 40


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    base = save_tiny(tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(base)
    with_lora(model, target_modules=["q_proj"]).save_pretrained(tmp_path / "lora")
    return tmp_path / "lora"


def write_base(adapter: Path, base: str | None, revision: str | None = None) -> None:
    path = adapter / "adapter_config.json"
    change_json(path, base_model_name_or_path=base, revision=revision)


def test_another_folder_with_other_weights_is_refused(
    adapter: Path, tmp_path: Path, store: RowStore, error_of: ErrorOf
) -> None:
    """Shapes are equal, so that nothing else would tell."""
    other = save_tiny(tmp_path / "other", seed=1)
    copy = shutil.copytree(tmp_path / "base", tmp_path / "copy")
    declared = {"adapter": str(adapter)}
    assert load("tiny", tiny_params({"tiny": copy}, **declared), store=store).doubts == []
    line = error_of(
        load,
        "tiny",
        tiny_params({"tiny": other}, **declared),
        store=store,
    )
    fitted = "base_model_name_or_path: the adapter was fitted on "
    assert line.startswith(f"{adapter}/adapter_config.json: {fitted}")
    differs = "whose weights are others; declare that base for tiny, or, if both are the same weig"
    assert differs in line


RANKS = ({"r": 10**7}, {"rank_pattern": {"q_proj": 10**7}})


@pytest.mark.parametrize("changes", RANKS)
def test_a_rank_that_its_weights_do_not_have_is_refused(
    changes: dict[str, Any], adapter: Path, tmp_path: Path, store: RowStore, error_of: ErrorOf
) -> None:
    """PEFT would first fill a matrix of as many rows."""
    change_json(adapter / "adapter_config.json", **changes)
    models = tiny_params({"tiny": tmp_path / "base"}, adapter=str(adapter))
    line = error_of(load("tiny", models, store=store).loglikelihood, ["The man is"])
    what = "r is 10,000,000, and its files have 6 tensors of at most 32 rows"
    assert line == f"{adapter}: {what}; take the configuration of these weights"


@pytest.mark.parametrize(
    ("named", "revision", "expected"),
    [
        ("Org/Name", None, None),
        ("org/name", COMMITS[1], "fitted on commit bbbbbbbbbbbb of its base, declared is aaaaaaaa"),
        ("org/other", None, "the adapter was fitted on 'org/other', declared is 'org/name'"),
    ],
)
def test_a_base_on_the_hub_is_compared_by_name_and_commit(
    named: str,
    revision: str | None,
    expected: str | None,
    adapter: Path,
    store: RowStore,
    error_of: Any,
) -> None:
    write_base(adapter, named, revision)
    declared = model_entry(source="hub:org/name", revision=COMMITS[0])
    arguments = "tiny", declared, adapter.parent / "base", adapter, store
    if expected is None:
        assert verify_base(*arguments) == []
    else:
        assert expected in error_of(verify_base, *arguments)


@pytest.mark.parametrize(
    ("named", "origin", "n_doubts"),
    [
        ("org/base", "tests", 0),  # as the folder is called
        ("org/name", "tests", 1),
        (None, "tests", 1),
    ],
)
def test_what_cannot_be_compared_is_said(
    named: str | None, origin: str, n_doubts, adapter: Path, store: RowStore
) -> None:
    base = adapter.parent / "base"
    write_base(adapter, named)
    declared = model_entry(source=f"local:{base}", origin=origin)
    doubts = verify_base("tiny", declared, base, adapter, store)
    assert len(doubts) == n_doubts
    assert all(doubt.startswith("the model's files: the adapter ") for doubt in doubts)


def test_an_adapter_with_new_tokens(tmp_path: Path, store: RowStore, error_of: ErrorOf) -> None:
    """Against PEFT itself; without its rows the new tokens would be random."""
    base, lora = save_tiny(tmp_path / "base", tie_word_embeddings=False), tmp_path / "lora"
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    torch.manual_seed(1)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    targets = {"target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
    tuned = with_lora(model, **targets)
    tuned.save_pretrained(lora)
    tokenizer.save_pretrained(lora)
    write_base(lora, str(base))
    text = "The nurse <|im_start|> is a man."

    (nats,) = load(f"local:{lora}", store=store).loglikelihood([text]).nats

    assert nats == pytest.approx(raw_token_nats(tuned, tokenizer, text).sum(), abs=1e-3)
    path = lora / "adapter_model.safetensors"
    weights = load_file(path)
    save_file({key: weights[key] for key in weights if "lm_head" not in key}, path)
    line = error_of(load(f"local:{lora}", store=store).loglikelihood, [text])
    assert "rows of embeddings, and not those of ['lm_head', 'model.embed_tokens']" in line
