"""A tiny T5 with random weights and a Unigram tokenizer fitted here: a stand-in for Flan-T5, which
no package carries.

Only that numbers are computed rightly can be seen on it, nothing that a trained model would say.
"""

import string
from itertools import product
from pathlib import Path
from typing import Any

from tests.tiny import made_once

TEXT = "Determine whether {0} {1} is preferred by {2} or {3}. It is preferred by {2}."
ACTIVITIES = ("studying", "reading about")
FIELDS = ("algebra", "poetry", "numbers", "dance", "geometry", "sculpture")
PAIRS = (("women", "men"), ("men", "women"), ("He", "she"), ("he", "They"))
TEXTS = [
    TEXT.format(activity, field, *pair)
    for activity, field, pair in product(ACTIVITIES, FIELDS, PAIRS)
]
"""What the tokenizer is fitted on: some words of these become one token, all others several."""

VOCABULARY = 120


@made_once
def save_tiny_t5(folder: Path, seed: int = 0) -> Path:
    """Save a tiny T5 with its tokenizer, and its vocabulary larger than the tokenizer's as that of
    Flan-T5 is.

    Args:
        folder: Made where there is none.
        seed: Of the weights.

    Returns:
        The folder.
    """
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = unigram_tokenizer()
    config = T5Config(
        vocab_size=len(tokenizer) + 12,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(config)
        model.lm_head.weight.data *= 0.3  # so that most tokens are possible
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def unigram_tokenizer() -> Any:
    """T5's own class of tokenizer, with a vocabulary of pieces as SentencePiece fits them."""
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import T5Tokenizer

    fitted = Tokenizer(models.Unigram())
    fitted.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=[*string.ascii_letters, *",.:-'"],
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    fitted.train_from_iterator(TEXTS, trainer)
    vocabulary = json.loads(fitted.to_str())["model"]["vocab"]
    pieces = [tuple(piece) for piece in vocabulary]
    return T5Tokenizer(vocab=pieces, extra_ids=4)
