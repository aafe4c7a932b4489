"""What padding does to a causal model: two short texts, by themselves and in a batch.

The mask hides padding from attention. Some classes of transformers let it in by another way: keys
are pooled by their place in the batch (DeepSeek V4), or positions count it (EXAONE 4.5). Where that
shows, only texts of equal length go into a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import torch

from evenruler.errors import UserError
from evenruler.models.backends.likelihood import FAILURES, pad_sequences
from evenruler.models.backends.trie import Tokens
from evenruler.models.classes import narrowest_window
from evenruler.terminal import print_note

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedConfig, PreTrainedModel

SHARED: Final = 4
SHORT: Final = tuple(range(11, 74, 7))
LONG: Final = (*SHORT[:SHARED], *range(101, 161, 5))
"""Tokens of the texts, of which they share `SHARED`: 9 and 16, whose difference is no multiple of
the four that DeepSeek V4 pools."""

NEW: Final = 2
"""Tokens that replies of the trial have."""

LIMIT: Final = 0.01
"""How far logits may lie apart in float32. Measured on 30 classes: up to 0.0004 by rounding; 0.2
and more where padding is let in."""
ROUGH_LIMIT: Final = (0.5, 0.1)
"""The same in 16 bits, and in units of the difference that other words make: the larger of both.
Rounding makes 0.07 of these (Gemma 3), padding 0.2 and more."""

PLACED_KINDS: Final = {
    "indexed_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "minimax_m3_sparse",
}
"""Kinds of layers that choose keys, or pool them, by their place in the batch. Texts as short as
those of the trial do not show it: an index chooses among more than a thousand keys."""


@dataclass(eq=False)
class PaddingTrial:
    """What padding changes of a model's logits; notes say what is done about it.

    The texts are read alone and in one batch, two forward passes; replies are tried when they are
    first asked for.
    """

    name: str
    """Of the model, for notes."""
    model: "PreTrainedModel"
    """In evaluation mode."""

    @cached_property
    def is_ahead(self) -> bool:
        """Whether words that follow change logits, as in no model that reads from left to right."""
        alone, _, longer = self._trial_logits
        if not self._measure_excess(alone[:SHARED], longer[:SHARED]):
            return False
        (again,) = self._read_logits(self._trial_texts[:1])
        return not self._measure_excess(alone, again)  # what is random is another matter

    @cached_property
    def unequal_because(self) -> str | None:
        """Why texts of unequal length must not be padded to one length; None if they may."""
        kinds = getattr(self._text_config, "layer_types", None) or ()
        placed_kinds = sorted(PLACED_KINDS.intersection(kinds))
        alone, padded, _ = self._trial_logits
        off = self._measure_excess(alone, padded)
        because = None
        if placed_kinds:
            because = f"layers of kind {', '.join(placed_kinds)} may see padding"
        elif off:
            because = f"with padding the model answers {off:.2g} off"
        if because:
            print_note(f"{self.name}: only texts of equal length in a batch: {because}")
        return because

    @cached_property
    def replies_equal(self) -> bool:
        """Whether prompts whose replies are written together must be of equal length."""
        if self.unequal_because:
            return True
        because = self._why_replies_differ(0)
        if because:
            print_note(f"{self.name}: only prompts of equal length in a batch: {because}")
        return because is not None

    @cached_property
    def prefix_shared(self) -> bool:
        """Whether what prompts have in common may be read once, with padding after it."""
        if 0 < narrowest_window(self.model.config) < len(LONG) + NEW:
            return False  # such a window counts padding, and the trial would not fit into it
        because = self._why_replies_differ(SHARED)
        if because:
            print_note(f"{self.name}: the beginning of prompts is read for each: {because}")
        return because is None

    @property
    def _text_config(self) -> "PreTrainedConfig":
        """The configuration of what reads text."""
        return self.model.config.get_text_config()

    @cached_property
    def _trial_texts(self) -> tuple[Tokens, Tokens]:
        """The short text and the long one."""
        size = self._text_config.vocab_size
        short = tuple(token % size for token in SHORT)
        return short, tuple(token % size for token in LONG)

    @cached_property
    def _trial_logits(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """[tokens, vocabulary] logits of the short text alone, padded beside the long one, and of
        the long one.
        """
        short, long = self._trial_texts
        (alone,) = self._read_logits([short])
        padded, longer = self._read_logits([short, long])
        return alone, padded, longer

    def _read_logits(self, sequences: Sequence[Tokens]) -> list[torch.Tensor]:
        """[tokens, vocabulary] logits of each sequence, from one batch padded on the right."""
        ids, mask = pad_sequences(sequences, self.model.device)
        with torch.inference_mode():
            logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        logits_by_row = zip(logits.float(), sequences, strict=True)
        return [row_logits[: len(tokens)] for row_logits, tokens in logits_by_row]

    def _why_replies_differ(self, shared: int) -> str | None:
        """Why a reply to the short prompt differs beside the long one, in words; None where it does
        not. `shared`: as for `generate_batch`.
        """
        expected = self._reply_alone  # an error is no matter of padding
        try:
            replies = self._reply_to(self._trial_texts, shared)
        except torch.OutOfMemoryError:  # says nothing about padding
            raise
        except FAILURES as error:
            return f"the model does not take padding ({type(error).__name__})"
        off = self._measure_excess(expected, replies[0])
        return f"with padding the model answers {off:.2g} off" if off else None

    @cached_property
    def _reply_alone(self) -> torch.Tensor:
        """[2, vocabulary] logits of a reply to the short prompt alone; UserError where the model
        writes none.
        """
        try:
            return self._reply_to(self._trial_texts[:1])[0]
        except torch.OutOfMemoryError:
            raise
        except FAILURES as error:
            reason = (str(error) or type(error).__name__).split("\n")[0]
            what = f"it writes no reply with this version of transformers ({reason})"
            remedy = "take another version, or ask it for likelihoods alone"
            raise UserError(what, where=self.name, remedy=remedy) from None

    def _reply_to(self, prompts: Sequence[Tokens], shared: int = 0) -> torch.Tensor:
        """[prompts, 2, vocabulary] logits of replies whose first token is the same."""
        from evenruler.models.backends.sampling import end_tokens, read_next_logits

        ends = end_tokens(self.model)
        token = next(token for token in self._trial_texts[1] if token not in ends)
        return read_next_logits(self.model, prompts, token, shared)

    @cached_property
    def _logit_spread(self) -> float:
        """How far logits lie apart after other words."""
        _, padded, longer = self._trial_logits
        return _measure_distance(padded[SHARED:], longer[SHARED : len(padded)])

    def _measure_excess(self, expected: torch.Tensor, logits: torch.Tensor) -> float:
        """How far logits lie apart; 0 where rounding may have done it, or none are expected."""
        if not bool(torch.isfinite(expected).all()):
            return 0.0
        absolute, relative = ROUGH_LIMIT
        is_rough = self.model.dtype.itemsize < torch.float32.itemsize
        limit = max(absolute, relative * self._logit_spread) if is_rough else LIMIT
        off = _measure_distance(expected, logits)
        return 0.0 if off <= limit else off


def _measure_distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """The largest difference of two tensors."""
    return float((first - second).abs().max())
