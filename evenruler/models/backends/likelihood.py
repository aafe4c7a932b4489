"""Token log-probabilities from a transformers causal model: shared prefixes or plain batches; words
in tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import DynamicCache

from evenruler.models.backends import trie
from evenruler.models.backends.batching import split_by_length, split_into_packs
from evenruler.models.backends.next_tokens import RARE, begins_word, continues_word
from evenruler.models.backends.trie import Nodes, Tokens, TokenSequence, Trie, seen_from
from evenruler.models.classes import decoder_of

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VOCABULARY_CHUNK = (
    8192  # output-layer columns per slice of logits, small enough for the processor's cache
)

RESHAPES_LOGITS = ("final_logit_softcapping", "lm_head_multiplier", "logit_scale", "logits_scaling")
"""Configuration keys for transformations of logits; a trial with small logits could miss their
effect."""

MASKED_KINDS = {
    "full_attention",
    "sliding_attention",
}  # layer kinds whose attention follows a given mask

NO_TOKEN = -1  # where a word is not one token

FAILURES = (TypeError, ValueError, RuntimeError, AttributeError, IndexError, KeyError)
"""Errors of a model that does not compute what a trial asks."""

TRIED = (11, 23, 31, 47, 59, 71, 83, 97)  # tokens of the trial sequences
Answer = Callable[[], NDArray[np.float64]]  # computes a model's answer
Steps = tuple[
    Sequence[NDArray[np.float64] | torch.Tensor], NDArray[np.float64]
]  # nats per token; nats of the kinds of next token


class LikelihoodScorer:
    """Scores token sequences with a loaded model.

    Shared prefixes are computed once (a token trie in one forward pass, with a tree mask and depths
    as positions) if the model accepts such a mask and answers the same; otherwise plain batches are
    used, and `plain_because` has the reason.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        *,
        max_nodes: int,
        batch: int,
        equal_lengths: bool = False,
    ) -> None:
        """Take a model in evaluation mode; `max_nodes`: nodes per forward pass; `batch`: sequences
        per plain batch; `equal_lengths`: whether these must be of equal length.
        """
        self._model, self._decoder = model, decoder_of(model)
        self._equal_lengths = equal_lengths
        self._config = model.config.get_text_config()
        self._max_nodes, self._batch = max_nodes, batch
        self._device = next(model.parameters()).device
        self._head: torch.Tensor | None = self._plain_head()
        self._least = -np.inf  # the trial computes what follows for all words
        self.plain_because: str | None = self._why_plain()
        self.words_plain_because: str | None = (
            None if self.plain_because else self._why_words_plain()
        )
        """Why words are not scored in two steps although prefixes are shared."""
        self._least = RARE

    def packs(self, sequences: Sequence[TokenSequence], *, words: bool = False) -> list[list[int]]:
        """Sequences to compute together, as texts or as words; depends only on the set of
        sequences.
        """
        if not (self.plain_because or (words and self.words_plain_because)):
            return trie.split_into_batches(sequences, self._max_nodes)

        tokens = [sequence.tokens for sequence in sequences]

        def by_length(i: int) -> tuple[int, Tokens]:
            """Sort key of a sequence: its number of tokens, ties by tokens."""
            return len(tokens[i]), tokens[i]

        order = sorted(range(len(sequences)), key=by_length)
        if self._equal_lengths:
            return split_by_length(order, self._batch, tokens)
        return split_into_packs(order, self._batch)

    def score(self, pack: Sequence[TokenSequence]) -> NDArray[np.float64]:
        """[len(pack)] nats of each sequence from `begin` on."""
        with torch.inference_mode():
            if self.plain_because is not None:
                return _sum_arrays(self._plain(pack)[0])
            return self._sequence_nats(trie.build_trie(pack))

    def score_words(
        self, pack: Sequence[TokenSequence], kinds: torch.Tensor
    ) -> NDArray[np.float64]:
        """[len(pack), 1 + k + 1] nats of each word (from `begin` on), of each kind of next token,
        of the first token.

        What follows is computed only for words above `RARE`, to save time; for others every kind
        gets 0 nats (certain). Only the word's own nats decide, so an answer does not depend on
        other questions. `kinds`: [k, vocabulary] membership of tokens, on the model's device.
        """
        with torch.inference_mode():
            plain = self.plain_because or self.words_plain_because
            steps, following = (self._plain if plain else self._in_two_steps)(pack, kinds)
        firsts = _sum_arrays([word_nats[:1] for word_nats in steps])
        return np.column_stack([_sum_arrays(steps), following, firsts])

    def score_next(
        self, pack: Sequence[TokenSequence], tokens: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """[len(pack), k] nats of each of k tokens right after each sequence's tokens before `begin`.

        The sequence itself goes on with any token, so that the last one before it is a node of the
        trie. `tokens`: [len(pack), k], with `NO_TOKEN` for what gets NaN.
        """
        with torch.inference_mode():
            if self.plain_because is not None:
                slices, rows = self._plain_next(pack), np.arange(len(pack))
            else:
                tree = trie.build_trie(pack)
                last_nodes = [tree.edge_nodes[path[0]] for path in tree.paths]
                needed, rows = np.unique(np.array(last_nodes), return_inverse=True)
                slices = self._logits(tree.nodes, needed)
            is_token = tokens != NO_TOKEN
            sequence_of_token, _ = np.nonzero(is_token)
            rows_and_columns = (rows[sequence_of_token], tokens[is_token])
            on_device = (torch.from_numpy(array).to(self._device) for array in rows_and_columns)
            token_nats = _of_tokens(slices, *on_device).cpu().numpy()
        nats = np.full(tokens.shape, np.nan)
        nats[is_token] = token_nats
        return nats

    def _sequence_nats(self, tree: Trie, nodes: Nodes | None = None) -> NDArray[np.float64]:
        """[sequences] nats of each sequence of a trie, with shared prefixes; `nodes`: in place of
        the trie's, with a wrong mask, for the trial.
        """
        nats = self._shared(tree, nodes)
        return _sum_arrays([nats[path] for path in tree.paths])

    def _shared(
        self, tree: Trie, nodes: Nodes | None = None, cache: DynamicCache | None = None
    ) -> NDArray[np.float64]:
        """[e] log-probability of each edge's token after its node; `cache` receives keys and values
        of the nodes.
        """
        if not len(tree.edge_nodes):
            return np.zeros(0)
        needed, row = np.unique(tree.edge_nodes, return_inverse=True)
        slices = self._logits(nodes or tree.nodes, needed, cache)
        rows, columns = (
            torch.from_numpy(array).to(self._device) for array in (row, tree.edge_tokens)
        )
        return _of_tokens(slices, rows, columns).cpu().numpy()

    def _in_two_steps(
        self, pack: Sequence[TokenSequence], kinds: torch.Tensor, apart: bool = True
    ) -> Steps:
        """Nats of each token from `begin` on; [len(pack), k] nats of each kind of next token, 0 for
        rare words.

        Step 1 reads prompts and words without their last tokens and keeps the KV cache; step 2
        reads the last tokens of likely words. With `apart=False` these see everything, as under a
        wrong mask (used by the trial).
        """
        tree, cache = trie.build_trie(pack), DynamicCache()
        nats = self._shared(tree, cache=cache)
        steps = [nats[path] for path in tree.paths]
        following = np.zeros((len(pack), len(kinds)))
        likely = [row for row, word_nats in enumerate(steps) if word_nats.sum() >= self._least]
        last_edges = [tree.paths[i][-1] for i in likely]
        last, row = np.unique(np.array(last_edges, dtype=np.int64), return_inverse=True)
        kind_nats = [np.zeros((0, len(kinds)))]
        for first in range(0, len(last), self._max_nodes):
            nodes = tree.ends_of(last[first : first + self._max_nodes])
            if not apart:
                all_ends = np.full_like(nodes.ends, nodes.ends.max())
                nodes = replace(nodes, begins=np.zeros_like(nodes.begins), ends=all_ends)
            slices = self._logits(nodes, np.arange(len(nodes.tokens)), cache)
            kind_nats.append(_of_kinds(slices, kinds).cpu().numpy())
            cache.crop(-len(nodes.tokens))
        following[likely] = np.concatenate(kind_nats)[row]
        return steps, following

    def _logits(
        self, nodes: Nodes, needed: NDArray[np.int64], cache: DynamicCache | None = None
    ) -> Iterator[torch.Tensor]:
        """Logits after the nodes `needed`, by vocabulary slice; other tokens that they see are in
        the cache.
        """
        arrays = (nodes.depths, nodes.seen_depths, needed, nodes.places, nodes.begins, nodes.ends)
        tensors = (torch.from_numpy(array).to(self._device) for array in arrays)
        depths, seen, keep, *places = tensors
        sees = seen_from(*places)
        ids = torch.from_numpy(nodes.tokens)[None].to(self._device)
        distances = depths[None, :, None] - seen
        mask = attention_mask(self._model, sees[None], distances)
        inputs: dict[str, object] = {
            "input_ids": ids,
            "position_ids": depths[None],
            "attention_mask": mask,
            "use_cache": cache is not None,
        }
        if cache is not None:
            inputs["past_key_values"] = cache
        if self._head is None:
            return iter([self._model(**inputs).logits[0, keep].float()])
        return _logit_slices(self._decoder(**inputs).last_hidden_state[0, keep], self._head)

    def _plain(self, pack: Sequence[TokenSequence], kinds: torch.Tensor | None = None) -> Steps:
        """The results of `_in_two_steps` in one padded batch; without `kinds`, nothing about the
        next token.
        """
        ids, padding = pad_sequences([sequence.tokens for sequence in pack], self._device)
        logits = self._model(input_ids=ids, attention_mask=padding, use_cache=False).logits
        steps = []
        for row, sequence in enumerate(pack):
            begin, end = sequence.begin, len(sequence.tokens)
            word_logits = logits[row, begin - 1 : end - 1].float()
            wanted = ids[row, begin:end]
            positions = torch.arange(len(word_logits), device=self._device)
            steps.append(_of_tokens(iter([word_logits]), positions, wanted))
        if kinds is None:
            return steps, np.zeros((len(pack), 0))
        following = np.zeros((len(pack), len(kinds)))
        likely = [row for row, nats in enumerate(_sum_arrays(steps)) if nats >= self._least]
        kind_nats = [torch.zeros((0, len(kinds)), device=self._device)]
        for row in likely:
            last = len(pack[row].tokens) - 1
            last_logits = logits[row, last][None].float()
            kind_nats.append(_of_kinds(iter([last_logits]), kinds))
        following[likely] = torch.cat(kind_nats).cpu().numpy()
        return steps, following

    def _plain_next(self, pack: Sequence[TokenSequence]) -> Iterator[torch.Tensor]:
        """Logits after each sequence's tokens before `begin`, by vocabulary slice, from one padded
        batch.
        """
        contexts = [sequence.tokens[: sequence.begin] for sequence in pack]
        ids, padding = pad_sequences(contexts, self._device)
        rows = torch.arange(len(contexts), device=self._device)
        last = torch.tensor([len(tokens) - 1 for tokens in contexts], device=self._device)
        inputs = {"input_ids": ids, "attention_mask": padding, "use_cache": False}
        if self._head is None:
            return iter([self._model(**inputs).logits[rows, last].float()])
        hidden = self._decoder(**inputs).last_hidden_state[rows, last]
        return _logit_slices(hidden, self._head)

    def _plain_head(self) -> torch.Tensor | None:
        """The output layer's weights, if logits are exactly hidden states times weights (no bias,
        caps or scaling), and the decoder gives hidden states by itself.
        """
        head = self._model.get_output_embeddings()
        if head is None or getattr(head, "bias", None) is not None:
            return None
        if any(getattr(self._config, name, None) not in (None, 1) for name in RESHAPES_LOGITS):
            return None
        ids = torch.arange(8, device=self._device)[None] % self._config.vocab_size
        with torch.inference_mode():
            inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
            logits = self._model(**inputs).logits[0]
            try:
                ours = self._decoder(**inputs).last_hidden_state[0] @ head.weight.T
            except torch.OutOfMemoryError:  # says nothing about the decoder
                raise
            except FAILURES:
                return None
        tolerance = 1e-4 if logits.dtype == torch.float32 else 1e-2
        same = ours.shape == logits.shape and torch.allclose(
            ours, logits, atol=tolerance, rtol=tolerance
        )
        return head.weight if same else None

    def _why_plain(self) -> str | None:
        """None if shared prefixes give the same as plain batches; otherwise the reason why not.

        Tested on two sequences that diverge after two tokens. The result must be close to the plain
        one, and closer than that of a wrong mask that lets the second see the first.
        """
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if not kinds <= MASKED_KINDS:
            return f"layers of kind {', '.join(sorted(kinds - MASKED_KINDS))} take no tree mask"
        pair = self._trial_sequences()
        tree = trie.build_trie(pair)
        ends = tree.nodes.ends
        open_nodes = replace(tree.nodes, ends=np.full_like(ends, len(ends)))
        return self._why_off(
            "mask",
            lambda: _sum_arrays(self._plain(pair)[0]),
            lambda: self._sequence_nats(tree),
            lambda: self._sequence_nats(tree, open_nodes),
        )

    def _why_words_plain(self) -> str | None:
        """The same test for words in two steps, whose last tokens are read in the second step."""
        pair = self._trial_sequences()
        size = self._config.vocab_size
        kinds = torch.zeros((len(TRIED), size), dtype=torch.bool, device=self._device)
        tokens = [token % size for token in TRIED]
        kinds[range(len(TRIED)), tokens] = True
        in_two_steps = partial(self._in_two_steps, pair, kinds)
        return self._why_off(
            "cache",
            lambda: self._plain(pair, kinds)[1],
            lambda: in_two_steps()[1],
            lambda: in_two_steps(apart=False)[1],
        )

    def _trial_sequences(self) -> list[TokenSequence]:
        """Two trial sequences of five tokens, of which they share the first two."""
        ids = tuple(token % self._config.vocab_size for token in TRIED)
        shared = ids[:2]
        endings = (ids[2:5], ids[5:])
        return [TokenSequence(shared + ending) for ending in endings]

    def _why_off(self, what: str, plain: Answer, ours: Answer, wrong: Answer) -> str | None:
        """None if `ours` is close to `plain` and closer than `wrong`; else the deviation or
        failure, in words.
        """
        with torch.inference_mode():
            expected = plain()
            try:
                off = float(np.abs(ours() - expected).max())
                scale = float(np.abs(wrong() - expected).max())
            except torch.OutOfMemoryError:  # says nothing about masks
                raise
            except FAILURES as error:
                return f"the model takes no {what} of ours ({type(error).__name__})"
        tolerance = 1e-3 if next(self._model.parameters()).dtype == torch.float32 else 0.5
        if off <= tolerance and off <= 0.2 * scale:
            return None
        return f"with a {what} of ours the model answers {off:.2g} nats off"


def pad_sequences(
    sequences: Sequence[Tokens],
    device: torch.device | str,
    before: int | None = None,
    filler: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """[sequences, longest] tokens and the attention mask; padding is on the right, or after
    `before` tokens.
    """
    width = max(map(len, sequences))
    rows: list[list[int]] = []
    masks: list[list[int]] = []
    for tokens in sequences:
        place = len(tokens) if before is None else before
        n_after = len(tokens) - place
        padding = width - len(tokens)
        fillers = [filler] * padding
        rows.append([*tokens[:place], *fillers, *tokens[place:]])
        mask = [1] * place + [0] * padding + [1] * n_after
        masks.append(mask)
    return torch.tensor(rows, device=device), torch.tensor(masks, device=device)


def _logit_slices(hidden: torch.Tensor, head: torch.Tensor) -> Iterator[torch.Tensor]:
    """Float32 logits by vocabulary slice, so that full rows are never held."""
    for weights in torch.split(head, VOCABULARY_CHUNK):
        is_half = hidden.dtype in (torch.bfloat16, torch.float16)
        if hidden.is_cuda and is_half:  # GPUs accumulate in float32; keep it
            yield torch.mm(hidden, weights.T, out_dtype=torch.float32)
        else:
            yield (hidden @ weights.T).float()


def _sum_arrays(steps: Sequence[NDArray[np.float64] | torch.Tensor]) -> NDArray[np.float64]:
    """[n] sums of n arrays; from a GPU in one transfer."""
    sums = [nats.sum() for nats in steps]
    tensors = [total for total in sums if isinstance(total, torch.Tensor)]
    if tensors:
        return torch.stack(tensors).cpu().numpy()
    return np.array([float(total) for total in sums])


def _of_tokens(
    slices: Iterable[torch.Tensor], rows: torch.Tensor, columns: torch.Tensor
) -> torch.Tensor:
    """[e] log-probabilities of the softmax entries at [e] `rows`, `columns`; `slices` of [r,
    vocabulary] logits.

    PyTorch's float32 log_softmax on a CPU sums a vocabulary of 262,144 naively and is up to 5e-4
    nats off per sentence; logsumexp over slices and then over their results stays within 1e-5 of
    float64.
    """
    chosen = torch.empty(len(columns), dtype=torch.float64, device=columns.device)
    parts, first = [], 0
    for logits in slices:
        width = logits.shape[-1]
        parts.append(torch.logsumexp(logits, -1))
        # Gather all entries and keep those in this slice: selecting them first would wait for the
        # GPU.
        here = (columns >= first) & (columns < first + width)
        places = (columns - first).clamp(0, width - 1)
        gathered_logits = logits[rows, places].double()
        chosen = torch.where(here, gathered_logits, chosen)
        first += width
    return chosen - torch.logsumexp(torch.stack(parts), 0).double()[rows]


def _of_kinds(slices: Iterable[torch.Tensor], kinds: torch.Tensor) -> torch.Tensor:
    """[r, k] log-probabilities of all softmax entries of each kind; `slices` of [r, vocabulary]
    logits.

    Probabilities relative to the largest entry are computed once and summed for all kinds by a
    matrix product, in float32 within a slice and float64 across slices: within 1e-5 nats of
    float64, like `_of_tokens`. A kind rarer than float32 can represent relative to the largest
    entry, one in 10^38, counts as that.
    """
    all_entries = kinds.new_ones(1, kinds.shape[1])  # the first kind
    members = torch.cat([all_entries, kinds]).float().T
    tops, sums, first = [], [], 0
    for logits in slices:
        top = logits.amax(-1, keepdim=True).clamp_(
            min=torch.finfo(torch.float32).min
        )  # for rows that are all -inf
        tops.append(top)
        end = first + logits.shape[-1]
        sums.append((logits - top).exp_() @ members[first:end])
        first = end
    stacked_tops = torch.stack(tops).double()
    scales = (stacked_tops - stacked_tops.amax(0)).exp_()
    shares = (torch.stack(sums).double() * scales).sum(0)
    nats = shares.clamp_(min=torch.finfo(torch.float32).tiny).log_()
    return (nats[:, 1:] - nats[:, :1]).clamp_(max=0)  # rounding could exceed certainty


def attention_mask(
    model: "PreTrainedModel", allowed: torch.Tensor, distance: torch.Tensor
) -> torch.Tensor | dict[str, torch.Tensor]:
    """The additive attention mask; a dict by layer kind if the configuration names several.

    [rows, queries, keys]: `allowed`: keys that a query may see without a window; `distance`: how
    far back they are.
    """
    config = model.config.get_text_config()
    window, dtype = getattr(config, "sliding_window", None), next(model.parameters()).dtype
    windowed = allowed if window is None else allowed & (distance < window)
    # Older configurations name no kinds: one window for all layers.
    kinds = sorted(set(getattr(config, "layer_types", None) or ("sliding_attention",)))
    seen = {kind: windowed if kind == "sliding_attention" else allowed for kind in kinds}
    lowest = torch.finfo(dtype).min
    additive = {
        kind: visible_keys.new_zeros(visible_keys.shape, dtype=dtype).masked_fill_(
            ~visible_keys, lowest
        )[:, None]
        for kind, visible_keys in seen.items()
    }
    return additive if len(kinds) > 1 else additive[kinds[0]]


LINE = (
    "\n"  # precedes a word tokenised alone, since some tokenizers prepend a space to a first word
)
BEFORE = "a"  # precedes a token to decode, since a decoder may drop a leading space


def word_tokens(
    tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[str], words: Sequence[str]
) -> list[tuple[Tokens, Tokens]]:
    """Tokens of n prompts and of the words after them, including a leading space, if any; no start
    token.

    Prompt and word are tokenised together if that leaves the prompt's tokens unchanged; otherwise
    the word alone.
    """
    prompt_tokens = tokens_of(tokenizer, prompts)
    first = tokens_of(tokenizer, words)
    line = tokens_of(tokenizer, [LINE])[LINE]
    alone = tokens_of(tokenizer, [LINE + word for word in words])
    pairs = list(zip(prompts, words, strict=True))
    whole = tokens_of(tokenizer, [prompt + word for prompt, word in pairs])
    tokens_of_pairs: list[tuple[Tokens, Tokens]] = []
    for prompt, word in pairs:
        beginning = prompt_tokens[prompt]
        after = _tokens_after_prefix(beginning, whole[prompt + word])
        if not after:
            after = _tokens_after_prefix(line, alone[LINE + word]) or first[word]
        tokens_of_pairs.append((beginning, after))
    return tokens_of_pairs


def next_word_tokens(
    tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[str], words: Sequence[str]
) -> NDArray[np.int64]:
    """[n, k] token of each of k words after each of n prompts and a space; `NO_TOKEN` where these
    together are not the prompt's tokens and one more.

    A prompt that the tokenizer splits at its last space is stood for by what follows from there,
    which many prompts share: 688 prompts with 736 words take 10 s otherwise.
    """
    parts = [prompt.rpartition(" ") for prompt in prompts]
    beginnings = [beginning for beginning, _, _ in parts]
    ends = [space + last for _, space, last in parts]
    tokens = tokens_of(tokenizer, [*prompts, *beginnings, *ends])
    contexts: list[str] = []
    for prompt, beginning, end in zip(prompts, beginnings, ends, strict=True):
        is_split = tokens[beginning] + tokens[end] == tokens[prompt]
        contexts.append(end if is_split else prompt)
    row_by_context: dict[str, list[int]] = {}
    for context in dict.fromkeys(contexts):
        whole = tokens_of(tokenizer, [f"{context} {word}" for word in words])
        row: list[int] = []
        for word in words:
            after = _tokens_after_prefix(tokens[context], whole[f"{context} {word}"])
            row.append(after[0] if len(after) == 1 else NO_TOKEN)
        row_by_context[context] = row
    rows = [row_by_context[context] for context in contexts]
    return np.array(rows, dtype=np.int64).reshape(len(prompts), len(words))


def _tokens_after_prefix(beginning: Tokens, whole: Tokens) -> Tokens:
    """What follows a prefix; empty if it is no prefix."""
    n = len(beginning)
    return whole[n:] if whole[:n] == beginning else ()


def tokens_of(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> dict[str, Tokens]:
    """Tokens of each distinct text, without start token; one call takes half the time."""
    distinct = list(dict.fromkeys(texts))
    token_ids = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    return dict(zip(distinct, map(tuple, token_ids), strict=True))


def token_texts(tokenizer: "PreTrainedTokenizerBase") -> dict[int, str]:
    """The text of each token after a letter; "" for special tokens, whatever their names."""
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    special.update(tokenizer.all_special_ids)
    ids = sorted(set(tokenizer.get_vocab().values()) - special)
    before = tokens_of(tokenizer, [BEFORE])[BEFORE]
    texts = tokenizer.batch_decode(
        [[*before, token] for token in ids], clean_up_tokenization_spaces=False
    )
    start = len(tokenizer.decode(list(before), clean_up_tokenization_spaces=False))
    return dict.fromkeys(special, "") | {
        token: text[start:] for token, text in zip(ids, texts, strict=True)
    }


def word_ends(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens end the preceding word: those whose text does not begin with a letter.

    Special tokens and vocabulary entries that are no token do, too. Incomplete characters do not,
    since they may be part of a letter. `texts`: from `token_texts`; `size`: of the model's
    vocabulary.
    """
    return _non_continuing_mask(texts, size, continues_word)


def stands_alone(texts: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    """[size] Which tokens leave the preceding text alone: no word or number continues it or follows
    on the line.

    Such a token begins neither with a letter or digit nor with blanks and then one: after the
    option " A" they are ".", ")", " (" and the end of the text, not "man", "2" or " man". A line
    break and a token of blanks only also count; what comes after them is not checked. All of these
    tokens end a word, too (`word_ends`); special tokens, unused entries and incomplete characters,
    also after blanks, count as there.
    """
    return _non_continuing_mask(texts, size, begins_word)


def _non_continuing_mask(
    texts: Mapping[int, str], size: int, goes_on: Callable[[str], bool]
) -> NDArray[np.bool_]:
    """[size] False for tokens for whose text `goes_on` is true; True for all others, also for ids
    of no token.
    """
    is_ending = np.ones(max(size, *texts) + 1, dtype=np.bool_)
    is_ending[[token for token, text in texts.items() if goes_on(text)]] = False
    return is_ending[:size]


def word_end_masks(
    tokenizer: "PreTrainedTokenizerBase", size: int, device: torch.device
) -> torch.Tensor:
    """[2, vocabulary] tokens that end a word (`word_ends`), and that leave it alone
    (`stands_alone`), on a device.
    """
    texts = token_texts(tokenizer)
    masks = np.stack([word_ends(texts, size), stands_alone(texts, size)])
    return torch.from_numpy(masks).to(device)
