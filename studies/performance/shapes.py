"""Models made at random in the shape of others: for speed, weights need not be trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from studies.scale.tiny_models import Shape, fit_tokenizer


@dataclass(frozen=True)
class Size:
    """The sizes of a Llama."""

    hidden: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    vocabulary: int
    is_tied: bool
    """Whether the last layer has the weights of the embedding."""


SMALLEST: Final = Size(64, 128, 2, 4, 2, 4000, is_tied=True)
LLAMA_1B: Final = Size(2048, 8192, 16, 32, 8, 128_256, is_tied=True)
LLAMA_8B: Final = Size(4096, 14_336, 32, 32, 8, 128_256, is_tied=False)
SIZES: Final = {"smallest": SMALLEST, "1b": LLAMA_1B, "8b": LLAMA_8B}
"""Llama 3.2 1B and Llama 3.1 8B, and one on which every line runs on a processor in seconds."""

LONGEST: Final = 8192
DTYPE: Final = "bfloat16"


def make_config(size: Size) -> Any:
    """The configuration of a model."""
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=size.hidden,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.key_heads,
        vocab_size=size.vocabulary,
        tie_word_embeddings=size.is_tied,
        max_position_embeddings=LONGEST,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
        dtype=DTYPE,
    )


def make_tokenizer() -> Any:
    """A small tokenizer, fitted on sources of ours: there is no network to fetch a real one."""
    return fit_tokenizer(Shape("llama", "plain", bos="<|endoftext|>"), is_causal=True)


def make_model(size: Size, device: str) -> Any:
    """A model on its device, in bfloat16."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device(device):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(make_config(size), dtype=torch.bfloat16)
    return model.eval()


def save_description(size: Size, folder: Path) -> None:
    """Save configuration and tokenizer, which is all that vLLM takes to make weights up."""
    folder.mkdir(parents=True, exist_ok=True)
    make_config(size).save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)


def count_weights(model: Any) -> int:
    """Weights that every token is multiplied by: all but the embedding, unless that is the last
    layer, too.
    """
    n_weights = sum(weight.numel() for weight in model.parameters())
    is_tied = model.config.tie_word_embeddings
    n_embedding = model.get_input_embeddings().weight.numel()
    return int(n_weights if is_tied else n_weights - n_embedding)
