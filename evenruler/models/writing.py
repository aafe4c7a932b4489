"""What a causal model writes next: a word, or a whole reply, through the row store."""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from evenruler.models.asking import Answering
from evenruler.models.causal import Request, TransformersCausal
from evenruler.models.generation import Prompt
from evenruler.models.loading import loading
from evenruler.models.protocol import Sampling, WordLikelihoods

WORD = struct.Struct("<dddq")
"""A whole word as it is stored: nats, nats that it ends, nats of its first token, that token."""


class Writing(Answering[TransformersCausal]):
    """A causal model that writes; what it wrote is kept."""

    def whole_words(self, prompts: Sequence[str], words: Sequence[str], chat: bool = False) -> WordLikelihoods:
        """How likely the model is to write each word next, whole: no letter follows it.

        The prompt's tokens are those that it has by itself, as when the model generates. The tokens of the word are
        those that follow them in prompt and word together; where the two together have other tokens, those that the
        word has by itself. Other ways to cut the same word are left out.

        Args:
            prompts: n prompts.
            words: n words, one for each prompt, with the space that separates them, if any.
            chat: Whether each prompt is put into the model's chat template.

        Returns:
            [n] nats of the word and of its end, nats and number of its first token.

        Raises:
            ValueError: A word has no token, or there are not as many words as prompts.
            UserError: A prompt with its word is longer than the model's context, or there is no chat template.
        """
        requests = [Request(word, prompt) for prompt, word in zip(prompts, words, strict=True)]

        def ask(distinct: list[Request], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for pack in self.backend.words(distinct, chat, missing):
                yield [(i, WORD.pack(*numbers)) for i, *numbers in pack]

        stored = self._each("words/1", requests, ask, lambda request: [request.prompt, request.text, chat])
        kinds = {"nats": "<f8", "ends": "<f8", "first_nats": "<f8", "first_token": "<i8"}
        table = np.frombuffer(b"".join(stored), dtype=list(kinds.items()))
        return WordLikelihoods(**{name: table[name].astype(kind[1:]) for name, kind in kinds.items()})

    def sampling(self, max_new_tokens: int) -> Sampling:
        """The model's own sampling settings: those of generation_config.json in its folder; nothing is loaded.

        What the file does not say is as in `Sampling`, not as transformers would have it. What `Sampling` has not, as
        a penalty of repetitions, is left out; and so is whether the file asks for sampling at all.

        Args:
            max_new_tokens: The longest reply.

        Raises:
            UserError: The file is not readable JSON.
        """
        path = self._folder / "generation_config.json"
        with loading(self.name, str(path)):
            own = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        kinds = {"temperature": float, "top_p": float, "top_k": int}
        return Sampling(
            max_new_tokens, **{key: kind(own[key]) for key, kind in kinds.items() if own.get(key) is not None}
        )

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        """One continuation of each prompt, drawn with a generator of its own.

        Args:
            prompts: n prompts.
            sampling: How tokens are drawn.
            seeds: n seeds; the same prompt with the same seed gets the same reply. 0 for all by default.
            system: A system prompt for all, or n of them, each None where there is none (before a bare prompt: a
                paragraph). Prompts that begin the same, with it, are cheaper together than apart.
            chat: Whether to use the chat template; by default whether the model has one.

        Returns:
            n continuations without special tokens.
        """
        chat = self.entry.chat if chat is None else chat
        row_seeds = [0] * len(prompts) if seeds is None else [int(seed) for seed in seeds]
        systems = [system] * len(prompts) if system is None or isinstance(system, str) else system
        asked = [
            Prompt(text, sampling, seed, own, chat) for text, seed, own in zip(prompts, row_seeds, systems, strict=True)
        ]

        def ask(distinct: list[Prompt], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.generations(distinct, missing):
                yield [(i, reply.encode()) for i, reply in batch]

        return [reply.decode() for reply in self._each("generation/2", asked, ask, asdict)]
