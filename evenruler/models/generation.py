"""Sampling where each row has a generator of its own, so that batch and order do not matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from evenruler.models.protocol import Sampling


@dataclass(frozen=True)
class Prompt:
    """What is asked of a model that generates."""

    text: str
    sampling: Sampling
    seed: int
    """Seeds the row's own generator."""
    system: str | None = None
    chat: bool = False


def generate_batch(
    model: Any, tokenizer: Any, sequences: Sequence[Sequence[int]], prompts: Sequence[Prompt]
) -> list[str]:
    """Continue token sequences, all with the sampling settings of the first prompt.

    Args:
        model: A transformers causal model in evaluation mode.
        tokenizer: Its tokenizer.
        sequences: Tokens of each prompt, start token first.
        prompts: Their settings and seeds.

    Returns:
        The decoded continuations, special tokens left out.
    """
    device = next(model.parameters()).device
    length = max(map(len, sequences))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    ids = torch.full((len(sequences), length), pad, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, length - len(sequence) :] = torch.tensor(sequence)
        mask[row, length - len(sequence) :] = 1
    sampling = prompts[0].sampling
    config: Any = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=sampling.max_new_tokens,
        do_sample=False,  # the row sampler leaves one token possible
        pad_token_id=pad,
    )
    with torch.inference_mode():
        output = model.generate(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            generation_config=config,
            logits_processor=_processors(sampling, [prompt.seed for prompt in prompts]),
        )
    replies: list[str] = tokenizer.batch_decode(output[:, length:], skip_special_tokens=True)
    return replies


def _processors(sampling: Sampling, seeds: list[int]) -> LogitsProcessorList:
    processors = LogitsProcessorList()
    if sampling.temperature == 0:
        return processors
    if sampling.temperature != 1.0:
        processors.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k:
        processors.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1.0:
        processors.append(TopPLogitsWarper(sampling.top_p))
    processors.append(RowSampler(seeds))
    return processors


class RowSampler(LogitsProcessor):
    """Draws each row's next token by inverse transform with that row's generator, and forbids all others."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._generators = [np.random.Generator(np.random.Philox(seed)) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """[rows, vocabulary] 0 for the drawn token of each row, minus infinity for all others."""
        uniform = torch.tensor([g.random() for g in self._generators], dtype=torch.float64, device=scores.device)
        cumulative = scores.double().softmax(-1).cumsum(-1)
        drawn = torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)
        drawn.clamp_(max=scores.shape[-1] - 1)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn, 0.0)
