"""Encoder-decoders with transformers, such as T5: the encoder reads the prompt, the decoder writes
the answer.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from transformers import GenerationConfig

from evenruler.errors import UserError
from evenruler.models import fingerprint as fingerprints
from evenruler.models.backends.batching import Batches, batched, split_into_packs
from evenruler.models.backends.causal import CAPACITY
from evenruler.models.backends.likelihood import pad_sequences, word_end_masks
from evenruler.models.backends.next_tokens import RARE
from evenruler.models.backends.sampling import end_tokens, generate_batch, replies_of
from evenruler.models.backends.trie import Tokens
from evenruler.models.backends.vocabulary import UnknownWords
from evenruler.models.loading import Dtype, Weights, load_pretrained, read_notes
from evenruler.models.questions import Prompt, Reply, WordRequest, join_system_prompt

Numbers = tuple[
    float, ...
]  # for a word: nats, nats of each kind of next token, nats of the first token, that token


class WordTokens(NamedTuple):
    """A word to score: encoder tokens of the prompt, with special ones, and decoder tokens of the
    word.
    """

    prompt: Tokens
    word: Tokens


class Seq2Seq:
    """A loaded encoder-decoder. It scores words after a prompt, but not texts."""

    def __init__(self, name: str, folder: Weights, device: str, dtype: Dtype) -> None:
        """Load it; UserError unless its decoder begins with just a start token."""
        self.tokenizer, self.model = load_pretrained(
            "AutoModelForSeq2SeqLM", name, folder, device, dtype
        )
        generation_config = self.model.generation_config
        self._start = generation_config.decoder_start_token_id
        if self._start is None or generation_config.forced_bos_token_id is not None:
            what = f"the decoder of {name} does not begin with its start token alone"
            raise UserError(what, where=str(folder), remedy="take a model that is built as T5 is")
        # Drop the model's own generation settings, which would fill in what `Sampling` leaves open.
        self.model.generation_config = GenerationConfig(
            eos_token_id=self.tokenizer.eos_token_id
            if generation_config.eos_token_id is None
            else generation_config.eos_token_id,
            decoder_start_token_id=self._start,
        )
        self._name = name
        self._capacity = CAPACITY[device]  # here `nodes` counts prompt tokens with padding
        self._longest = getattr(self.model.config, "max_position_embeddings", None)

    @batched
    def words(self, requests: Sequence[WordRequest]) -> Batches[Numbers]:
        """For each word: nats; nats that no letter follows, that no word follows; nats of its first
        token; that token.

        The word begins the decoder's text. Kinds of next token get 0 nats for words below `RARE`.
        ValueError if a word has no token or a leading space, which tokenizers drop at the beginning
        of a text, so that it would count twice. UserError if the tokenizer does not know a word, a
        prompt is too long or a chat is requested.
        """
        keys = dict.fromkeys((request.prompt, None, request.chat) for request in requests)
        read = {key: self._tokenise_prompt(*key) for key in keys}
        written = {
            request.text: tuple(self.tokenizer(request.text, add_special_tokens=False)["input_ids"])
            for request in requests
        }
        for text, word in written.items():
            if text[:1].isspace():
                raise ValueError(f"the word {text!r} has a space before it, and begins a text")
            if not word:
                raise ValueError(f"the word {text!r} has no token")
        UnknownWords(self.tokenizer, list(written)).refuse(self._name)
        questions = [
            WordTokens(read[request.prompt, None, request.chat], written[request.text])
            for request in requests
        ]

        def by_length(i: int) -> tuple[int, Tokens, Tokens]:
            """Sort key of a word: its number of tokens, ties by tokens of word and prompt."""
            question = questions[i]
            return len(question.word), question.word, question.prompt

        def answer(pack: Sequence[int]) -> list[tuple[int, Numbers]]:
            """(Index, numbers as `words` lists) of a pack's words; each prompt is encoded once."""
            order = sorted(pack, key=by_length)
            numbers_by_index: dict[int, Numbers] = {}
            prompts = list(dict.fromkeys(questions[i].prompt for i in pack))
            with torch.inference_mode():
                ids, mask = pad_sequences(prompts, self.model.device)
                states = self.model.get_encoder()(
                    input_ids=ids, attention_mask=mask
                ).last_hidden_state
                read = {"encoder_outputs": (states,), "attention_mask": mask}
                begun = self.model(
                    decoder_input_ids=torch.full_like(ids[:, :1], self._start),
                    use_cache=True,
                    **read,
                )
                for part in split_into_packs(order, self._capacity.replies):
                    rows = torch.tensor(
                        [prompts.index(questions[i].prompt) for i in part], device=self.model.device
                    )
                    cache = copy.deepcopy(begun.past_key_values)
                    cache.batch_select_indices(rows)
                    read = {
                        "encoder_outputs": (states[rows],),
                        "attention_mask": mask[rows],
                        "past_key_values": cache,
                    }
                    numbers = self._continued(
                        read, begun.logits[rows], [questions[i].word for i in part]
                    )
                    numbers_by_index.update(zip(part, numbers, strict=True))
            return [(i, numbers_by_index[i]) for i in pack]

        return Batches(list(self._packs(questions)), answer)

    @batched
    def generate(self, prompts: Sequence[Prompt]) -> Batches[Reply]:
        """Answer prompts, all with the same sampling settings; replies have no special tokens.

        UserError if a prompt or reply is too long, or a chat is requested; FloatingPointError for
        NaN logits.
        """
        keys = [(prompt.text, prompt.system, prompt.chat) for prompt in prompts]
        read = {
            key: self._tokenise_prompt(*key, new=prompts[0].sampling.max_new_tokens)
            for key in dict.fromkeys(keys)
        }
        sequences = [read[key] for key in keys]
        seeds = [prompt.seed for prompt in prompts]

        def by_length(i: int) -> tuple[int, Tokens, int]:
            """Sort key of a prompt: its number of tokens, ties by tokens and seed."""
            return len(sequences[i]), sequences[i], seeds[i]

        def answer(batch: Sequence[int]) -> list[tuple[int, Reply]]:
            """(Index, reply) of a batch's prompts, generated together."""
            sequences_and_seeds = [sequences[i] for i in batch], [seeds[i] for i in batch]
            written = generate_batch(self.model, *sequences_and_seeds, prompts[0].sampling)
            replies = replies_of(self.tokenizer, end_tokens(self.model), written)
            return list(zip(batch, replies, strict=True))

        order = sorted(range(len(prompts)), key=by_length)
        return Batches(split_into_packs(order, self._capacity.replies), answer)

    @batched
    def fingerprint(
        self, questions: Sequence[fingerprints.Texts]
    ) -> Batches[fingerprints.Fingerprint]:
        """What the model computes on two texts: the encoder reads one and the decoder the other,
        and the reverse.
        """

        def of_texts(texts: fingerprints.Texts) -> fingerprints.Fingerprint:
            """Logits of each text as the decoder's, after the other as the encoder's, reduced to
            some numbers; with notes on the model's files.
            """
            numbers = list[float]()
            for text, after in (texts, texts[::-1]):
                read, written = (
                    fingerprints.encode_text(self.tokenizer, side_text, self._longest)
                    for side_text in (text, after)
                )
                ids, words = (
                    torch.tensor([token_ids], device=self.model.device)
                    for token_ids in (read, [self._start, *written])
                )
                with torch.inference_mode():
                    logits = self.model(
                        input_ids=ids, decoder_input_ids=words[:, :-1], use_cache=False
                    ).logits[0]
                numbers += fingerprints.reduce_logits(logits, written)
            return fingerprints.Fingerprint(tuple(numbers), read_notes(self.model))

        def answer(pack: Sequence[int]) -> list[tuple[int, fingerprints.Fingerprint]]:
            """(Index, fingerprint) of a pack's pairs of texts."""
            return [(i, of_texts(questions[i])) for i in pack]

        return Batches([range(len(questions))], answer)

    @cached_property
    def _endings(self) -> torch.Tensor:
        """[2, vocabulary] Which tokens end a word, and which leave it alone (`word_end_masks`), on
        the model's device.
        """
        return word_end_masks(self.tokenizer, self.model.config.vocab_size, self.model.device)

    def _packs(self, questions: Sequence[WordTokens]) -> Iterator[list[int]]:
        """Packs with all questions on some prompts of similar length, so that each prompt is
        encoded once.
        """

        def by_prompt_length(i: int) -> tuple[int, Tokens, Tokens]:
            """Sort key of a question: its prompt's number of tokens, ties by tokens of prompt and
            word.
            """
            question = questions[i]
            return len(question.prompt), question.prompt, question.word

        by_prompt: dict[Tokens, list[int]] = {}
        for i in sorted(range(len(questions)), key=by_prompt_length):
            by_prompt.setdefault(questions[i].prompt, []).append(i)
        pack: list[int] = []
        prompts = 0
        for prompt, indices in by_prompt.items():
            if pack and (prompts + 1) * len(prompt) > self._capacity.nodes:
                yield pack
                pack, prompts = [], 0
            pack, prompts = [*pack, *indices], prompts + 1
        if pack:
            yield pack

    def _continued(
        self, read: Mapping[str, object], first: torch.Tensor, words: Sequence[Tokens]
    ) -> list[Numbers]:
        """Score words of similar length after the decoder's start; `first`: logits of the start
        token.
        """
        ids, _ = pad_sequences(words, self.model.device)  # right padding has no effect
        logits = self.model(decoder_input_ids=ids, use_cache=True, **read).logits
        nats = torch.cat([first, logits], 1).double().log_softmax(-1)
        columns = ids[..., None]
        token_nats = nats[:, :-1].gather(-1, columns)
        steps = token_nats[..., 0]
        lengths = torch.tensor([len(word) for word in words], device=self.model.device)
        last = lengths[:, None]
        vocabulary_size = nats.shape[-1]
        places = last[..., None].expand(-1, -1, vocabulary_size)
        following = nats.gather(1, places)[:, 0]
        kind_nats = [following[:, kind].logsumexp(-1) for kind in self._endings]
        kinds = torch.stack(kind_nats, 1)
        kinds.clamp_(max=0)  # rounding could exceed certainty
        whole = steps.cumsum(-1).gather(1, last - 1)
        kinds[whole[:, 0] < RARE] = 0
        first_nats = steps[:, :1]
        numbers = torch.cat([whole, kinds, first_nats], 1).tolist()
        return [(*word_numbers, word[0]) for word_numbers, word in zip(numbers, words, strict=True)]

    def _tokenise_prompt(self, prompt: str, system: str | None, chat: bool, new: int = 0) -> Tokens:
        """The encoder's tokens of a prompt; UserError for a chat, or if the prompt, or a reply of
        `new` tokens, is longer than the model takes.
        """
        if chat:
            what = "a chat is asked of an encoder-decoder, which has no chat template"
            raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false")
        tokens = tuple(self.tokenizer(join_system_prompt(prompt, system))["input_ids"])
        if self._longest is not None and max(len(tokens), new) > self._longest:
            what = (
                f"a text of {len(tokens)} tokens, or a reply of {new}, the model takes "
                f"{self._longest}"
            )
            raise UserError(what, where=repr(prompt[:40]), remedy="shorten it")
        return tokens
