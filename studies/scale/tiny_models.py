"""Tiny random models of every architecture of the profile `paper`, as `rehearsed.yaml` says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from evenruler.instruments.registry import FAMILIES
from tests.tiny import PUBLISHED, settings_of
from tests.tiny_t5 import save_tiny_t5

ROOT = Path(__file__).parents[2]
REHEARSED = YAML(typ="safe").load(Path(__file__).with_name("rehearsed.yaml"))
N_TOKENS = 1500
CLASSES = {"causal": "AutoModelForCausalLM"}
CLASSIFIER = "AutoModelForSequenceClassification"
MARK = re.compile(r"<[^<>{} ]+>")


@dataclass(frozen=True)
class Shape:
    """What a tiny model shares with the real one."""

    type: str
    """Of its configuration, or its class where that is one of `PUBLISHED`."""
    features: str
    """Of its architecture and its template, in words."""
    template: str | None = None
    """For chats."""
    bos: str | None = None
    """Its start token; one that is its end token, too, where they are the same."""
    eos: str = "<|endoftext|>"
    config: Mapping[str, Any] = field(default_factory=dict)
    """Beside what is small."""
    repo: str = ""
    """Of the Hub, where no entry of the catalogue names it."""


SHAPES = {name: Shape(**shape) for name, shape in REHEARSED["shapes"].items()}


def save_model(folder: Path, name: str, kind: str) -> None:
    """Save a tiny model with its tokenizer; weights differ between models."""
    if kind == "seq2seq":
        save_tiny_t5(
            folder,
            len(name) + ord(name[-1]),
        )
        return
    import torch
    import transformers

    shape = SHAPES[name]
    is_causal = kind == "causal"
    tokenizer = fit_tokenizer(shape, is_causal=is_causal)
    settings = {
        **REHEARSED["small"],
        **(REHEARSED["small_causal"] if is_causal else {}),
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        **shape.config,
    }
    published = PUBLISHED.get(shape.type)
    if published is None:
        config = transformers.AutoConfig.for_model(shape.type, **settings)
        make = getattr(transformers, CLASSES.get(kind, CLASSIFIER)).from_config
    else:
        config = transformers.AutoConfig.for_model(**settings_of(published, settings))
        make = getattr(transformers, shape.type)
    with torch.random.fork_rng():
        torch.manual_seed(sum(map(ord, name)))
        model = make(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def fit_tokenizer(shape: Shape, *, is_causal: bool) -> Any:
    """A byte-level tokenizer fitted on sources of ours, with the marks of the template; what reads
    pairs ends texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    marks = MARK.findall(shape.template or "")
    special = list(
        dict.fromkeys(
            [
                "<pad>",
                shape.eos,
                *filter(None, [shape.bos]),
                *marks,
            ]
        )
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    sources = ROOT / "data/sources"
    paths = [path for path in sources.glob("*/*.yaml") if path.parent.name in FAMILIES]
    tokenizer.train_from_iterator([path.read_text() for path in sorted(paths)], trainer)
    if not is_causal:
        begin, end = shape.bos or shape.eos, shape.eos
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}",
            pair=f"{begin} $A {end} $B:1 {end}:1",
            special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in {begin, end}],
        )
    roles = {"pad_token": "<pad>", "eos_token": shape.eos}
    if shape.bos:
        roles["bos_token"] = shape.bos
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **roles
    )
    fast.chat_template = shape.template
    fast.model_max_length = 2048
    return fast
