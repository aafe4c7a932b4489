"""Tiny random masked models in the classes of the published ones: BERT with WordPiece, RoBERTa with
byte-level BPE."""

from pathlib import Path
from typing import Any

from tests.tiny import LONGEST, MASKED, made_once

PIECES = ["the", "nurse", "doctor", "was", "is", "kind", "late", "that", "told", "she", "he", "man"]
ENDINGS = ["s", "n", "ly", "ing", "ness", "un"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MERGES = ["Ġ t", "h e", "Ġt he", "Ġ n", "u r", "s e", "Ġ k", "i n", "Ġk in", "Ġkin d", "Ġ he"]


@made_once
def save_tiny_bert(folder: Path, seed: int = 0) -> Path:
    """`BertForMaskedLM`: words and endings of its own; any other word of ASCII letters and digits
    letter by letter, and what has other letters is unknown."""
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    within = [f"##{piece}" for piece in (*ENDINGS, *letters)]
    words = dict.fromkeys([*SPECIAL, *PIECES, *letters, *".,!?'-()", *within])
    tokenizer = BertTokenizer({word: place for place, word in enumerate(words)})
    tokenizer.model_max_length = LONGEST
    settings = {"vocab_size": len(words), "max_position_embeddings": LONGEST, **MASKED}
    return _save(
        folder, BertForMaskedLM, BertConfig(initializer_range=0.3, **settings), tokenizer, seed
    )


@made_once
def save_tiny_roberta(folder: Path, seed: int = 0) -> Path:
    """`RobertaForMaskedLM`: all bytes and a few merges, so that words are several tokens."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merged = ["".join(merge.split()) for merge in MERGES]
    words = dict.fromkeys([*special, *sorted(ByteLevel.alphabet()), *merged])
    vocabulary = {word: place for place, word in enumerate(words)}
    merges = [tuple(merge.split()) for merge in MERGES]
    tokenizer = RobertaTokenizer(vocabulary, merges)
    tokenizer.model_max_length = LONGEST
    settings = {"vocab_size": len(words), "max_position_embeddings": LONGEST + 2, **MASKED}
    config = RobertaConfig(
        initializer_range=0.3, pad_token_id=1, bos_token_id=0, eos_token_id=2, **settings
    )
    return _save(folder, RobertaForMaskedLM, config, tokenizer, seed)


def _save(folder: Path, network: Any, config: Any, tokenizer: Any, seed: int) -> Path:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
