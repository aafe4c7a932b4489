"""What a model learns of sentences: masked words, where it reads both ways, or next words, where it writes.

Losses are of words that the model does not see, nats a token. What is drawn hangs on PyTorch's generator.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

LONGEST: Final = 128
"""Tokens of a sentence; what stands after them is left out."""

ROUNDS: Final = 7
"""Of the words of a sentence every seventh is masked: nearly the share of BERT, and after as many rounds each was."""

HEAD_STEPS: Final = 160
HEAD_BATCH: Final = 256
HEAD_LEARNING_RATE: Final = 1e-3
HEAD_DECAY: Final = 0.3
"""How a head for masked words is fitted: until the loss of held-out sentences falls no more (`docs/performance.md`)."""

BATCH: Final = 32
"""Sentences that are read at once where nothing is learned."""

IGNORED: Final = -100
"""The label of a token that nothing is asked about."""


class Objective(Protocol):
    """What a model learns, and how well it knows it."""

    trained: Any
    """The module whose weights learn."""

    def begin(self, sentences: Sequence[str]) -> None:
        """Get ready to learn sentences; the weights of `trained` stay as they are."""

    def drawn(self, sentences: Sequence[str]) -> Any | None:
        """A loss to learn from, a tensor; None where nothing of the sentences is asked about."""

    def known(self, sentences: Sequence[str]) -> tuple[float, int]:
        """The sum of losses over all that can be asked of sentences, without chance; and how many tokens these are."""


class NextWords:
    """A causal model learns every next word."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Take a model in memory."""
        self.trained, self._tokenizer = model, tokenizer

    def begin(self, sentences: Sequence[str]) -> None:
        """Nothing is to be made ready."""

    def drawn(self, sentences: Sequence[str]) -> Any | None:
        """Mean over all next words."""
        total, n = self._losses(sentences)
        return total / n if n else None

    def known(self, sentences: Sequence[str]) -> tuple[float, int]:
        """Over all next words."""
        return _summed(self._losses, sentences)

    def _losses(self, sentences: Sequence[str]) -> tuple[Any, int]:
        import torch

        ids, there = _batch(self._tokenizer, sentences, self.trained.device)
        logits = self.trained(input_ids=ids, attention_mask=there).logits[:, :-1].float()
        labels = ids[:, 1:].masked_fill(there[:, 1:] == 0, IGNORED)  # nothing says what the first word is
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
        return loss, int((labels != IGNORED).sum())


class MaskedWords:
    """An encoder learns masked words by a head of its own, which learns first, while the encoder stays as it is.

    An encoder for sentences or entailment comes without such a head, and what a random one asks for would only harm it.
    The head chooses among the words of the corpora alone, by their embeddings in the encoder.
    """

    def __init__(self, model: Any, tokenizer: Any, corpora: Sequence[str]) -> None:
        """Take a classifier in memory, whose encoder learns.

        Args:
            model: The classifier.
            tokenizer: Has a token to mask words with.
            corpora: All sentences that are ever asked about.
        """
        import torch

        self.trained, self._tokenizer = model.base_model, tokenizer
        ids, there = _batch(tokenizer, corpora, model.device)
        self._words = torch.unique(ids[there == 1])
        self._transform: Any = None
        self._bias: Any = None

    def begin(self, sentences: Sequence[str]) -> None:
        """Fit a fresh head on what the encoder makes of every word of the sentences when it is masked."""
        import torch

        states, labels = self._every_word(sentences)
        width = self.trained.config.hidden_size
        self._transform = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.LayerNorm(width)).to(states)
        torch.nn.init.eye_(self._transform[0].weight)  # at first it changes nothing
        torch.nn.init.zeros_(self._transform[0].bias)
        counts = torch.bincount(labels, minlength=len(self._words)) + 0.5
        self._bias = torch.nn.Parameter(counts.log().to(states))
        if not len(labels):
            return
        learning = [*self._transform.parameters(), self._bias]
        optimizer = torch.optim.AdamW(learning, lr=HEAD_LEARNING_RATE, weight_decay=HEAD_DECAY)
        for _ in range(HEAD_STEPS):
            drawn = torch.randint(len(labels), (HEAD_BATCH,)).to(labels.device)
            loss = torch.nn.functional.cross_entropy(self._logits(states[drawn]), labels[drawn])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        for parameter in learning:
            parameter.requires_grad_(False)

    def drawn(self, sentences: Sequence[str]) -> Any | None:
        """Mean over the words of one round, which is drawn for every sentence."""
        import torch

        states, labels = self._masked(sentences, torch.randint(ROUNDS, (len(sentences), 1)))
        return torch.nn.functional.cross_entropy(self._logits(states), labels) if len(labels) else None

    def known(self, sentences: Sequence[str]) -> tuple[float, int]:
        """Over every word, each masked once."""
        import torch

        states, labels = self._every_word(sentences)
        with torch.inference_mode():
            loss = torch.nn.functional.cross_entropy(self._logits(states), labels, reduction="sum")
        return float(loss), len(labels)

    def _logits(self, states: Any) -> Any:
        words = self.trained.get_input_embeddings().weight[self._words].float()
        return self._transform(states) @ words.T + self._bias

    def _every_word(self, sentences: Sequence[str]) -> tuple[Any, Any]:
        """[tokens, hidden] states of the encoder where each word is masked, and [tokens] which word it is."""
        import torch

        found = []
        with torch.inference_mode():
            for first in range(0, len(sentences), BATCH):
                batch = sentences[first : first + BATCH]
                found += [self._masked(batch, torch.full((len(batch), 1), number)) for number in range(ROUNDS)]
        # Clones, as nothing can be learned from what inference mode gave.
        return torch.cat([states for states, _ in found]).clone(), torch.cat([labels for _, labels in found]).clone()

    def _masked(self, sentences: Sequence[str], numbers: Any) -> tuple[Any, Any]:
        """The same of the words of one round a sentence; [sentences, 1] says which."""
        import torch

        ids, there = _batch(self._tokenizer, sentences, self.trained.device)
        special = torch.isin(ids, torch.tensor(self._tokenizer.all_special_ids, device=ids.device))
        places = torch.arange(ids.shape[1], device=ids.device)
        asked = (places % ROUNDS == numbers.to(ids.device)) & (there == 1) & ~special
        masked = ids.masked_fill(asked, self._tokenizer.mask_token_id)
        states = self.trained(input_ids=masked, attention_mask=there).last_hidden_state[asked].float()
        return states, torch.searchsorted(self._words, ids[asked])


def _batch(tokenizer: Any, sentences: Sequence[str], device: Any) -> tuple[Any, Any]:
    """[sentences, tokens] ids, and where there are any."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    read = [torch.tensor(ids) for ids in tokenizer(list(sentences), truncation=True, max_length=LONGEST)["input_ids"]]
    filler = 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    ids = pad_sequence(read, batch_first=True, padding_value=filler)
    there = pad_sequence([torch.ones_like(own) for own in read], batch_first=True)
    return ids.to(device), there.to(device)


def _summed(losses: Callable[[Sequence[str]], tuple[Any, int]], sentences: Sequence[str]) -> tuple[float, int]:
    import torch

    total, told = 0.0, 0
    with torch.inference_mode():
        for first in range(0, len(sentences), BATCH):
            loss, n = losses(sentences[first : first + BATCH])
            total, told = total + float(loss), told + n
    return total, told
