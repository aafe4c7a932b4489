"""A chat model behind a server that speaks the OpenAI protocol; address and key come from the environment alone."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from evenruler.errors import UserError
from evenruler.models.asking import Answering
from evenruler.models.entry import ModelEntry
from evenruler.models.generation import Prompt
from evenruler.models.protocol import Sampling
from evenruler.models.store import RowStore
from evenruler.tables.ids import canonical

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Variables of the environment: where the server is (OpenAI's own by default), and the key for it."""

AT_ONCE = 8
"""Questions that a server is asked at a time; as many answers are lost at most when a run is killed."""

ATTEMPTS, SECONDS = 6, 120
"""How often a question is asked that the server is too busy for, or breaks off, and how long an answer may take."""


class Endpoint:
    """What a server answers."""

    def __init__(self, name: str, served: str) -> None:
        """Find the server.

        Args:
            name: In the catalogue.
            served: By which the server knows the model.

        Raises:
            UserError: No key is in the environment.
        """
        import openai

        self._name, self._served = name, served
        if not os.environ.get(KEY):
            raise UserError(
                f"no key for {name}",
                where=f"environment: {KEY}",
                remedy="set it; any word will do for a server without",
            )
        self._client = openai.OpenAI(max_retries=ATTEMPTS - 1, timeout=SECONDS)

    def replies(self, prompts: Sequence[Prompt], wanted: frozenset[int]) -> Iterator[list[tuple[int, str]]]:
        """Ask for the replies to some prompts, `AT_ONCE` at a time.

        Args:
            prompts: All of them.
            wanted: Indices of those that are missing.

        Yields:
            (Index, reply) of those asked together.

        Raises:
            UserError: The server cannot be reached, or refuses.
        """
        missing = sorted(wanted)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(0, len(missing), AT_ONCE):
                batch = missing[first : first + AT_ONCE]
                yield list(zip(batch, pool.map(self._reply, [prompts[i] for i in batch]), strict=True))

    def _reply(self, prompt: Prompt) -> str:
        import openai

        messages: Any = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages = [*messages, {"role": "user", "content": prompt.text}]
        sampling = prompt.sampling
        try:
            answer = self._client.chat.completions.create(
                model=self._served,
                messages=messages,
                max_tokens=sampling.max_new_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                seed=prompt.seed,
            )
        except openai.APIError as error:
            reason = " ".join(str(error).split())[:200]
            remedy = f"see {URL} and {KEY}, and the name after `endpoint:`"
            raise UserError(f"{self._name}: the server does not answer ({reason})", remedy=remedy) from None
        reply = (answer.choices[0].message.content or "") if answer.choices else ""
        return reply.encode(errors="replace").decode()  # JSON can hold halves of characters


class StoredChat(Answering[Endpoint]):
    """A chat model behind a server; what it wrote is kept."""

    def __init__(self, name: str, entry: ModelEntry, store: RowStore) -> None:
        """Name the model; no server is asked.

        Args:
            name: In the catalogue.
            entry: Its declaration.
            store: Where answers are kept.
        """
        self.name, self.entry, self.asked = name, entry, 0
        served = entry.locations[0][1]
        # What a server runs can change without a word: the address and the declared revision are all there is to tell.
        parts = {"backend": "endpoint", "url": os.environ.get(URL), "model": served, "revision": entry.revision}
        self.engine = canonical(parts).decode()
        self._store = store
        self._device, self._backend = "endpoint", None
        self._load = lambda _: Endpoint(name, served)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        """One reply to each prompt.

        Args:
            prompts: n prompts.
            sampling: How tokens are drawn; a server knows no `top_k`.
            seeds: n seeds. A server does with them what it can; a reply that is kept stays the same in any case.
            system: A system prompt for all, or n of them.
            chat: Nothing else is possible.

        Returns:
            n replies.

        Raises:
            UserError: The server cannot be reached or refuses, or there is no key.
            ValueError: It is asked to continue a text, or to choose among the likeliest tokens.
        """
        if chat is False or sampling.top_k:
            raise ValueError("a server only chats, and knows no top_k")
        own_seeds = [0] * len(prompts) if seeds is None else [int(seed) for seed in seeds]
        systems = [system] * len(prompts) if system is None or isinstance(system, str) else system
        asked = [
            Prompt(text, sampling, seed, own, chat=True)
            for text, seed, own in zip(prompts, own_seeds, systems, strict=True)
        ]

        def ask(distinct: list[Prompt], missing: frozenset[int]) -> Iterator[list[tuple[int, bytes]]]:
            for batch in self.backend.replies(distinct, missing):
                yield [(i, reply.encode()) for i, reply in batch]

        return [reply.decode() for reply in self._each("generation/2", asked, ask, asdict)]
