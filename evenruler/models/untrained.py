"""Untrained models: the architecture of another made small, with random weights and its tokenizer.

They stand beside the controls: what a measure finds in a model that has learned nothing is no property of language.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenruler.errors import UserError, nearest
from evenruler.models.entry import ModelEntry
from evenruler.models.loading import loading, quiet
from evenruler.models.recipe import NLI_LABELS
from evenruler.progress import note

VERSION = 1
"""Of how they are made; part of the folder's name."""

SEED = 0

READ = {".json", ".jinja", ".txt", ".model"}
"""Endings of the files of the other model that are read: all but weights."""

LAYERS, HEADS, KEYS, WIDTH, HEAD_WIDTH, INNER = 2, 4, 2, 64, 16, 128

SIZES: dict[str, int] = {
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KEYS,
    "hidden_size": WIDTH,
    "head_dim": HEAD_WIDTH,
    "query_pre_attn_scalar": HEAD_WIDTH,
    "word_embed_proj_dim": WIDTH,
    "embedding_size": WIDTH,
    "intermediate_size": INNER,
    "ffn_dim": INNER,
    "hidden_dim": INNER,
    "n_inner": INNER,
    "d_ff": INNER,
}
"""What configurations call the sizes of a model, and how large they become; architectures have some of them."""


def made_of(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], where: str) -> str:
    """The name of the model that an untrained one takes architecture and tokenizer from; nothing is looked for.

    Args:
        entry: Of the untrained model.
        catalogue: All entries by name.
        where: The untrained model is declared.

    Raises:
        UserError: There is no such model, or it has no files of its own.
    """
    other = entry.locations[0][1]
    if other not in catalogue:
        raise UserError(f"no model {other!r}", where=where, remedy=f"mend the name ({nearest(other, catalogue)})")
    if catalogue[other].scheme in ("endpoint", "untrained"):
        raise UserError(f"{other!r} has no files of its own", where=where, remedy="name a model that has")
    return other


def make(name: str, kind: str, base: Path, folder: Path) -> None:
    """Save a small model with random weights and the tokenizer of another into a folder.

    Weights are those that transformers initialises the architecture with (most of them normal, with the standard
    deviation that the configuration names `initializer_range`; biases 0, norms 1), in float32, from the seed 0: the
    same configuration and libraries save the same weights.

    Args:
        name: In the catalogue.
        kind: `causal`, `masked` or `nli`, whose head gets the labels `NLI_LABELS`.
        base: The folder of the other model.
        folder: Where to.

    Raises:
        UserError: The other model's configuration or tokenizer does not load, or makes no model of this kind.
    """
    import torch
    from transformers import AutoConfig, AutoTokenizer

    note(f"{name}: making an untrained model (once)")
    remedy = "name another model after `untrained:`"
    with quiet(), loading(name, str(base), remedy), torch.random.fork_rng():
        torch.manual_seed(SEED)
        config = small(AutoConfig.from_pretrained(base, trust_remote_code=False))
        if kind == "nli":
            config.id2label = dict(enumerate(NLI_LABELS))
            config.label2id = {label: i for i, label in enumerate(NLI_LABELS)}
        model: Any = _class_of(kind).from_config(config, trust_remote_code=False)
        model.float().save_pretrained(folder)
        AutoTokenizer.from_pretrained(base, trust_remote_code=False).save_pretrained(folder)


def small(config: Any) -> Any:
    """The configuration with few and narrow layers; whatever else it says stays."""
    config = config.get_text_config()
    layers: list[str] | None = vars(config).get("layer_types")  # of some it follows from their other settings
    for size, value in SIZES.items():
        if getattr(config, size, None) is not None:
            setattr(config, size, value)
    if layers:
        config.layer_types = _few(layers)
    return config


def _few(layers: list[str]) -> list[str]:
    """As many kinds of layer as there is room for, in the order in which they first come."""
    kinds = list(dict.fromkeys(layers))
    return [kinds[i % len(kinds)] for i in range(LAYERS)]


def _class_of(kind: str) -> Any:
    import transformers

    return {
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "nli": transformers.AutoModelForSequenceClassification,
    }[kind]
