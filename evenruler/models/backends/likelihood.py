"""Log-probabilities of tokens from a transformers causal model: shared prefixes once, or plain batches."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenruler.models.backends import trie
from evenruler.models.backends.trie import Tokens, TokenSequence, Trie

VOCABULARY_CHUNK = 8192
"""Columns of the output layer at a time: a slice of logits that stays in the processor's cache."""

RESHAPES_LOGITS = ("final_logit_softcapping", "lm_head_multiplier", "logit_scale", "logits_scaling")
"""What configurations call a change of logits after the output layer. Small logits would hide one from a trial."""

MASKED_KINDS = {"full_attention", "sliding_attention"}
"""Kinds of layer whose attention is what the mask says."""


class LikelihoodScorer:
    """Scores token sequences with one loaded model.

    Uses shared prefixes (a token trie in one forward pass, with a tree mask and depths for positions) where the
    model takes a mask of ours and answers the same as without; else plain batches, and `plain_because` says why.
    """

    def __init__(self, model: Any, *, max_nodes: int, batch: int) -> None:
        """Take a model in evaluation mode.

        Args:
            model: A transformers causal model on its device.
            max_nodes: Trie nodes in a forward pass.
            batch: Sequences in a plain forward pass.
        """
        self._model = model
        self._config = model.config.get_text_config()
        self._max_nodes, self._batch = max_nodes, batch
        self._device = next(model.parameters()).device
        self._head: torch.Tensor | None = self._plain_head()
        self.plain_because: str | None = self._why_plain()

    def packs(self, sequences: Sequence[TokenSequence]) -> list[list[int]]:
        """The sequences that are computed together, by pack; depends on the set of sequences alone."""
        if self.plain_because is None:
            return trie.plan(sequences, self._max_nodes)
        order = sorted(range(len(sequences)), key=lambda i: (len(sequences[i].tokens), sequences[i].tokens))
        return [order[first : first + self._batch] for first in range(0, len(order), self._batch)]

    def score(self, pack: Sequence[TokenSequence]) -> NDArray[np.float64]:
        """[len(pack)] nats of each sequence from its `begin` on."""
        return np.array([float(nats.sum()) for nats in self._steps(pack)[0]])

    def score_words(self, pack: Sequence[TokenSequence], among: torch.Tensor) -> NDArray[np.float64]:
        """The same of open sequences, each of which has a token from its `begin` on, and what comes next.

        Args:
            pack: The sequences.
            among: [vocabulary] True for some tokens; on the model's device.

        Returns:
            [len(pack), 3] nats of all tokens from `begin` on; that any of `among` comes next; of the first token.
        """
        steps, following = self._steps(pack, among)
        return np.array([(float(n.sum()), any_of, float(n[0])) for n, any_of in zip(steps, following, strict=True)])

    def _steps(
        self, pack: Sequence[TokenSequence], among: torch.Tensor | None = None
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """Nats of each token of each sequence from its `begin` on; by open sequence, nats that `among` comes next."""
        with torch.inference_mode():
            if self.plain_because is not None:
                return self._plain(pack, among)
            tree = trie.build(pack)
            nats, following = self._shared(tree, among)
            return [nats[path] for path in tree.paths], following

    def _shared(
        self, tree: Trie, among: torch.Tensor | None = None, ancestors: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[e] log-probability of each edge's token after its node; by open sequence, nats that `among` comes next."""
        last = tree.last[tree.last >= 0]
        asked = np.concatenate([tree.edge_nodes, last])
        if not len(asked):
            return np.zeros(0), np.zeros(0)
        inputs = {
            "input_ids": torch.from_numpy(tree.tokens)[None].to(self._device),
            "position_ids": torch.from_numpy(tree.depths)[None].to(self._device),
            "attention_mask": self._mask(tree, tree.ancestors if ancestors is None else ancestors),
            "use_cache": False,
        }
        needed, row = np.unique(asked, return_inverse=True)
        keep, rows, columns = (torch.from_numpy(array).to(self._device) for array in (needed, row, tree.edge_tokens))
        if self._head is None:
            slices = iter([self._model(**inputs).logits[0, keep].float()])
        else:
            slices = _logits(self._model.base_model(**inputs).last_hidden_state[0, keep], self._head)
        nats, following = _log_probabilities(slices, rows, columns, among)
        return nats.cpu().numpy(), following.cpu().numpy()

    def _mask(self, tree: Trie, ancestors: NDArray[np.bool_]) -> Any:
        """The additive tree mask; by kind of layer where the model has several."""
        kinds = set(getattr(self._config, "layer_types", None) or ())
        window = getattr(self._config, "sliding_window", None)
        masks = {"full_attention": ancestors}
        if window is not None:
            near = tree.depths[:, None] - tree.depths[None, :] < window
            masks["sliding_attention"] = ancestors & near
            if not kinds:  # the older way: one window for every layer
                masks["full_attention"] = masks["sliding_attention"]
        additive = {kind: self._additive(mask) for kind, mask in masks.items() if kind in (kinds or {"full_attention"})}
        return additive if len(kinds) > 1 else next(iter(additive.values()))

    def _additive(self, mask: NDArray[np.bool_]) -> torch.Tensor:
        dtype = next(self._model.parameters()).dtype
        allowed = torch.from_numpy(mask).to(self._device)
        additive = torch.zeros(allowed.shape, dtype=dtype, device=self._device)
        return additive.masked_fill_(~allowed, torch.finfo(dtype).min)[None, None]

    def _plain(
        self, pack: Sequence[TokenSequence], among: torch.Tensor | None = None
    ) -> tuple[list[Any], NDArray[np.float64]]:
        ids, mask = padded([sequence.tokens for sequence in pack], self._device)
        logits = self._model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        steps, following = [], []
        for row, sequence in enumerate(pack):
            own = logits[row, sequence.begin - 1 : sequence.nodes].float()
            columns = ids[row, sequence.begin : len(sequence.tokens)]
            rows = torch.arange(len(own), device=self._device)
            nats, next_nats = _log_probabilities(iter([own]), rows, columns, among)
            steps.append(nats)
            following += next_nats.tolist()
        return steps, np.array(following)

    def _plain_head(self) -> torch.Tensor | None:
        """The output layer's weights, where logits are nothing but hidden states times these.

        Read off the configuration and tried: some cap or scale their logits, or add a bias.
        """
        head = self._model.get_output_embeddings()
        if head is None or getattr(head, "bias", None) is not None:
            return None
        if any(getattr(self._config, name, None) not in (None, 1) for name in RESHAPES_LOGITS):
            return None
        ids = torch.arange(8, device=self._device)[None] % self._config.vocab_size
        with torch.inference_mode():
            inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
            hidden = self._model.base_model(**inputs).last_hidden_state[0]
            logits = self._model(**inputs).logits[0]
            ours = hidden @ head.weight.T
        tolerance = 1e-4 if logits.dtype == torch.float32 else 1e-2
        same = ours.shape == logits.shape and torch.allclose(ours, logits, atol=tolerance, rtol=tolerance)
        return head.weight if same else None

    def _why_plain(self) -> str | None:
        """None where shared prefixes give what plain batches give; else the reason why they do not.

        Tried on two sequences that part after two tokens. The result must be near the plain one, and nearer than
        what comes out with a mask that lets the second see the first.
        """
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if not kinds <= MASKED_KINDS:
            return f"layers of kind {', '.join(sorted(kinds - MASKED_KINDS))} take no tree mask"
        ids = [int(i) % self._config.vocab_size for i in (11, 23, 31, 47, 59, 71, 83, 97)]
        pair = [TokenSequence((*ids[:2], *ids[2:5])), TokenSequence((*ids[:2], *ids[5:]))]
        tree = trie.build(pair)
        open_mask = np.tril(np.ones_like(tree.ancestors))
        with torch.inference_mode():
            plain = np.array([float(nats.sum()) for nats in self._plain(pair)[0]])
            try:
                ours, wrong = (
                    np.array([nats[path].sum() for path in tree.paths])
                    for nats, _ in (self._shared(tree), self._shared(tree, ancestors=open_mask))
                )
            except (TypeError, ValueError, RuntimeError, AttributeError, IndexError, KeyError) as error:
                return f"the model takes no mask of ours ({type(error).__name__})"
        off, scale = float(np.abs(ours - plain).max()), float(np.abs(wrong - plain).max())
        tolerance = 1e-3 if next(self._model.parameters()).dtype == torch.float32 else 0.5
        if off <= tolerance and off <= 0.2 * scale:
            return None
        return f"with a tree mask the model answers {off:.2g} nats off"


def padded(sequences: Sequence[Tokens], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """[sequences, longest] tokens padded on the right, and the mask that leaves the padding out."""
    ids = torch.zeros((len(sequences), max(map(len, sequences))), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(sequences):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
    return ids.to(device), mask.to(device)


def _logits(hidden: torch.Tensor, head: torch.Tensor) -> Iterator[torch.Tensor]:
    """Logits of hidden states, slice by slice of the vocabulary: a whole row of them is never held."""
    for first in range(0, len(head), VOCABULARY_CHUNK):
        yield (hidden @ head[first : first + VOCABULARY_CHUNK].T).float()


def _log_probabilities(
    slices: Iterator[torch.Tensor], rows: torch.Tensor, columns: torch.Tensor, among: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of single entries of a softmax, and of all entries of a kind together.

    The float32 log_softmax of PyTorch on a CPU sums a vocabulary of 262,144 naively and is up to 5e-4 nats off a
    sentence; logsumexp over slices, then over the slices' results, stays within 1e-5 of float64.

    Args:
        slices: Logits [r, part of the vocabulary], one part after the other.
        rows: [e + o] of the e entries; then of the o sums.
        columns: [e] of the entries.
        among: [vocabulary] True for what is summed; by default all of it.

    Returns:
        [e] and [o] nats.
    """
    edges, sums = rows[: len(columns)], rows[len(columns) :]
    chosen = torch.empty(len(columns), dtype=torch.float64, device=columns.device)
    parts, kinds, first = [], [], 0
    for logits in slices:
        width = logits.shape[-1]
        parts.append(torch.logsumexp(logits, -1))
        here = (columns >= first) & (columns < first + width)
        chosen[here] = logits[edges[here], columns[here] - first].double()
        if among is not None:
            others = ~among[first : first + width]
            kinds.append(torch.logsumexp(logits[sums].masked_fill_(others, -torch.inf), -1))
        first += width
    total = torch.logsumexp(torch.stack(parts), 0).double()
    together = torch.logsumexp(torch.stack(kinds), 0).double() if kinds else total[sums]
    return chosen - total[edges], (together - total[sums]).clamp_(max=0)  # rounding would put it above certainty
