"""Tiny random encoders, and labelled data of which they can learn something: one word tells the
label."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenruler.models import LABELS
from evenruler.models.declarations import Catalogue
from tests.tiny import catalogue_of, made_once, tiny_declaration

WORDS = [f"w{number}" for number in range(30)]
LONGEST = 60

KINDS: dict[str, dict[str, Any]] = {
    "bert": {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    },
    "distilbert": {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4},
}
KINDS["roberta"] = KINDS["mpnet"] = KINDS["bert"]

DATA = {"licence": "cc0-1.0", "origin": "tests.training.tiny"}


@made_once
def save_encoder(
    folder: Path, kind: str = "bert", seed: int = 0, dtype: str = "float32", **config: Any
) -> Path:
    """Save a tiny encoder without a head, and its tokenizer, which has a token for each of
    `WORDS`."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    words = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
    tokenizer = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        model_max_length=LONGEST,
        model_input_names=[
            "input_ids",
            "attention_mask",
            *(["token_type_ids"] if kind == "bert" else []),
        ],
    )
    settings = {
        "vocab_size": len(words),
        "max_position_embeddings": LONGEST + 2,
        "initializer_range": 0.1,
        "pad_token_id": 1,
        **KINDS[kind],
        **config,
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModel.from_config(AutoConfig.for_model(kind, **settings))
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def texts(n: int, seed: int, telling: Sequence[str]) -> list[tuple[str, int]]:
    """Texts of six words, one of which is one of those that tell the label; with its number.

    The others are none of the first four of `WORDS`.
    """
    draw = random.Random(seed)
    rows = []
    for number in range(n):
        words = draw.sample(WORDS[4:], 5)
        words.insert(draw.randrange(6), telling[number % len(telling)])
        rows.append((" ".join(words), number % len(telling)))
    return rows


def moods(n: int = 160, seed: int = 0) -> list[dict[str, Any]]:
    """Single texts: w0 is 0, w1 is 1."""
    rows = texts(n, seed, WORDS[:2])
    return [{"text": text, "label": label} for text, label in rows]


def pairs(n: int = 160, seed: int = 0) -> list[dict[str, Any]]:
    """Premises and hypotheses: w0 in the hypothesis is entailment, w1 neutral, w2 contradiction.

    The premise says nothing, and two rows in a row share one.
    """
    premises = texts(n, seed + 1000, WORDS[3:4])
    hypotheses = texts(n, seed, WORDS[:3])
    return [
        {"premise": premises[number // 2][0], "hypothesis": text, "label": LABELS[label]}
        for number, (text, label) in enumerate(hypotheses)
    ]


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write a JSON Lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(lines, encoding="utf-8")
    return path


def declaration(
    training: Mapping[str, Mapping[str, Any]], source: str = "encoder", **recipe: Any
) -> dict[str, Any]:
    """What a `params.yaml` holds with an encoder "tiny" in a folder here, fitted on the data that
    are declared.

    Args:
        training: By name, keys of each beside `DATA`; the file is `{name}.jsonl` unless they say
            something else.
        source: Folder of the encoder.
        **recipe: Over one that learns `moods` and `pairs`.
    """
    finetune = {
        "data": list(training),
        "validation": next(iter(training)),
        "held_out": 40,
        "rank": 4,
        "epochs": 3,
        "learning_rate": 0.01,
        "batch": 8,
        **recipe,
    }
    declared = tiny_declaration(
        {"tiny": Path(source)}, kind="encoder", lineage="tiny", finetune=finetune
    )
    entries = {}
    for name, keys in training.items():
        entries[name] = {
            "source": f"local:{name}.jsonl",
            **DATA,
            **keys,
        }
    declared["training"] = entries
    return declared


MOODS: dict[str, dict[str, Any]] = {
    "moods": {
        "columns": ["text"],
        "labels": ["sad", "glad"],
    }
}
PAIRS: dict[str, dict[str, Any]] = {"pairs": {"labels": ["contradiction", "entailment", "neutral"]}}


def params(
    training: Mapping[str, Mapping[str, Any]], source: str = "encoder", **recipe: Any
) -> Catalogue:
    """`declaration`, validated."""
    return catalogue_of(declaration(training, source, **recipe))


def workshop(folder: Path, kind: str = "bert", **encoder: Any) -> Path:
    """A folder to stand in: an encoder, moods.jsonl and pairs.jsonl."""
    save_encoder(folder / "encoder", kind, **encoder)
    write(folder / "moods.jsonl", moods())
    write(folder / "pairs.jsonl", pairs())
    return folder
