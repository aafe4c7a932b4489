"""Sampling with random numbers per row, independent of batch and order; generation in plain
batches.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.cache_utils import DynamicCache

from evenruler.models.backends.likelihood import pad_sequences
from evenruler.models.backends.trie import Tokens
from evenruler.models.chat_settings import ThoughtParser
from evenruler.models.classes import decoder_of
from evenruler.models.questions import Reply, Sampling

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.generation.utils import GenerateDecoderOnlyOutput

LIKELIEST = 512
"""Sorting this many is nearly always enough for `top_p`; sorting all 262,144 takes longer than the
model."""


def random_numbers(seeds: Sequence[int], n: int) -> NDArray[np.float64]:
    """[rows, n] numbers in [0, 1), each row from a generator with its own seed."""
    return np.array(
        [np.random.Generator(np.random.Philox(seed)).random(n) for seed in seeds]
    ).reshape(-1, n)


def sample_tokens(
    logits: torch.Tensor, numbers: NDArray[np.float64], sampling: Sampling
) -> list[int]:
    """Sample the next token of each row by inverse transform: a token's interval in [0, 1) is its
    probability.

    Intervals are in token order or, with `top_k` or `top_p`, in descending probability. Temperature
    is applied first, then `top_k`, then the fewest tokens that reach `top_p` of the rest. `logits`:
    [rows, vocabulary]; `numbers`: [rows] in [0, 1), the point that selects each row's token.
    FloatingPointError if a row's largest logit is not finite (NaN counts as largest).
    """
    if not bool(torch.isfinite(logits.amax(-1)).all()):  # amax propagates NaN
        raise FloatingPointError("logits that are no numbers")
    if sampling.temperature == 0:
        return logits.argmax(-1).tolist()
    tokens = None
    if 0 < sampling.top_k < logits.shape[-1]:
        logits, tokens = logits.topk(sampling.top_k)
    logits = logits.double() / sampling.temperature
    whole = logits.logsumexp(-1, keepdim=True)
    if tokens is None and sampling.top_p < 1:
        least = whole + math.log(sampling.top_p)
        every = logits
        logits, tokens = every.topk(min(LIKELIEST, every.shape[-1]))
        if bool((logits.logsumexp(-1, keepdim=True) < least).any()):
            logits, tokens = every.sort(descending=True)
    shares = (logits - whole).exp()
    ends = shares.cumsum(-1)
    if sampling.top_p < 1:
        n_tokens = (ends - shares < sampling.top_p).sum(-1, keepdim=True)
        total = ends.gather(-1, n_tokens.clamp_(min=1) - 1)
    else:
        total = ends[:, -1:]
    points = torch.from_numpy(numbers).to(ends.device)[:, None] * total
    last = ends.shape[-1] - 1
    drawn = torch.searchsorted(ends, points, right=True).clamp_(max=last)
    if tokens is not None:
        drawn = tokens.gather(-1, drawn)
    return drawn[:, 0].tolist()


class RowSampler(LogitsProcessor):
    """A logits processor that leaves one token per row: the one sampled with the row's own
    numbers.
    """

    def __init__(self, seeds: Sequence[int], sampling: Sampling) -> None:
        """`seeds`: one for each row, from which all its random numbers are drawn in advance."""
        self._sampling = sampling
        self._numbers = iter(random_numbers(seeds, sampling.max_new_tokens).T)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """[rows, vocabulary] 0 for each row's sampled token, minus infinity for all others."""
        drawn = torch.tensor(
            sample_tokens(scores, next(self._numbers).copy(), self._sampling), device=scores.device
        )
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn[:, None], 0.0)


def end_tokens(model: "PreTrainedModel") -> frozenset[int]:
    """Tokens that end a model's reply."""
    return as_end_tokens(model.generation_config.eos_token_id)


def as_end_tokens(ends: int | Sequence[int] | None) -> frozenset[int]:
    """End tokens from the form in which transformers' settings have them."""
    if ends is None:
        return frozenset()
    return frozenset([ends] if isinstance(ends, int) else ends)


class Budgets(StoppingCriteria):
    """Stops replies whose thought, or answer after it, has used up its budget; `lengths`: of the
    stopped rows.
    """

    def __init__(self, thoughts: ThoughtParser, rows: int, width: int) -> None:
        """`rows`: number of prompts in the batch; `width`: tokens of each padded prompt."""
        self._thoughts, self._width, self._places = thoughts, width, [0] * rows
        self.lengths: dict[int, int] = {}

    def __call__(
        self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: object
    ) -> torch.Tensor:
        """[rows] True for finished rows."""
        n = input_ids.shape[1] - self._width
        window = min(n, self._thoughts.window)
        for row, tokens in enumerate(input_ids[:, -window:].tolist()):
            if self._thoughts.ends(tokens, len(tokens)):
                self._places[row] = n
            if self._thoughts.is_over(n, self._places[row]):
                self.lengths.setdefault(row, n)
        return torch.tensor(
            [row in self.lengths for row in range(len(self._places))], device=input_ids.device
        )


def _prompt_inputs(
    model: "PreTrainedModel", sequences: Sequence[Tokens], shared: int
) -> dict[str, object]:
    """Padded prompts with their mask; with `shared`, the cache of their common tokens, too. Padding
    is before a prompt, or after its common tokens; behind it for an encoder.
    """
    device = next(model.parameters()).device
    before = None if model.config.is_encoder_decoder else shared
    ids, mask = pad_sequences(sequences, device, before)
    inputs: dict[str, object] = {"input_ids": ids, "attention_mask": mask}
    if shared:
        cache = inputs["past_key_values"] = DynamicCache(config=model.config)
        decoder = decoder_of(model)
        decoder(input_ids=ids[:1, :shared], past_key_values=cache, use_cache=True)
        cache.batch_repeat_interleave(len(sequences))
    return inputs


def read_next_logits(
    model: "PreTrainedModel", sequences: Sequence[Tokens], token: int, shared: int = 0
) -> torch.Tensor:
    """[sequences, 2, vocabulary] logits after each sequence, and after it and `token`, as
    `generate_batch` computes them; `token`: none that ends a reply.
    """
    config = GenerationConfig(
        max_new_tokens=2,
        do_sample=False,
        pad_token_id=min(end_tokens(model), default=0),
        output_logits=True,
        return_dict_in_generate=True,
    )
    with torch.inference_mode():
        generate = cast("Callable[..., GenerateDecoderOnlyOutput]", model.generate)
        output = generate(
            **_prompt_inputs(model, sequences, shared),
            generation_config=config,
            prefix_allowed_tokens_fn=lambda row, written: [token],
        )
    assert output.logits is not None  # they are asked for
    return torch.stack(output.logits, 1).float()


def generate_batch(
    model: "PreTrainedModel",
    sequences: Sequence[Tokens],
    seeds: Sequence[int],
    sampling: Sampling,
    thoughts: ThoughtParser | None = None,
    shared: int = 0,
) -> list[list[int]]:
    """Generate each sequence's new tokens, up to its first end token, in one batch until the last
    row ends.

    `sequences`: prompt tokens, for causal models with the start token; `thoughts`: the thinking
    budget, if any; `shared`: number of leading tokens common to all, which are computed once.
    """
    ends, decodes = end_tokens(model), model.config.is_encoder_decoder
    config = GenerationConfig(
        max_new_tokens=sampling.max_new_tokens,
        do_sample=False,  # the row sampler leaves one token possible
        eos_token_id=sorted(ends) or None,
        pad_token_id=min(ends, default=0),
        decoder_start_token_id=model.generation_config.decoder_start_token_id,
    )
    drawing, budgets = LogitsProcessorList([RowSampler(seeds, sampling)]), StoppingCriteriaList()
    width = max(map(len, sequences))
    if thoughts is not None:
        budgets.append(Budgets(thoughts, len(sequences), width))
    with torch.inference_mode():
        generate = cast("Callable[..., torch.Tensor]", model.generate)
        output = generate(
            **_prompt_inputs(model, sequences, shared),
            generation_config=config,
            logits_processor=drawing,
            stopping_criteria=budgets,
        )
    over = budgets[0].lengths if budgets else {}
    new_tokens = []
    begin = 1 if decodes else width
    for row, tokens in enumerate(output[:, begin:].tolist()):
        numbered_tokens = enumerate(tokens, start=1)
        end = next((n for n, token in numbered_tokens if token in ends), len(tokens))
        new_tokens.append(tokens[: min(end, over.get(row, end))])
    return new_tokens


def replies_of(
    tokenizer: "PreTrainedTokenizerBase",
    ends: frozenset[int],
    written: Sequence[list[int]],
    answer_tokens: Sequence[list[int] | None] | None = None,
) -> list[Reply]:
    """Decode new tokens to replies, without special tokens and with the finish reason.

    `ends`: tokens that end a reply; `answer_tokens`: those of each answer, None if there is none;
    by default all tokens.
    """
    decoded_tokens = answer_tokens or written
    texts = tokenizer.batch_decode(
        [tokens or [] for tokens in decoded_tokens], skip_special_tokens=True
    )
    finished = ["stop" if tokens[-1] in ends else "length" for tokens in written]
    reply_rows = zip(texts, decoded_tokens, finished, strict=True)
    return [
        Reply(None if answer is None else text, None, finish) for text, answer, finish in reply_rows
    ]
