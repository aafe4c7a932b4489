"""A hosted model behind a server that speaks the OpenAI protocol; address and key come from the environment alone."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evenruler.errors import UserError
from evenruler.models.records import Prompt, Reply

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Variables of the environment: where the server is (OpenAI's own by default), and the key for it."""

AT_ONCE = 8
"""Questions that a server is asked at a time; as many answers are lost at most when a run is killed."""

ATTEMPTS, SECONDS = 6, 120
"""How often a question is asked that the server is too busy for, or breaks off, and how long an answer may take."""


def engine(served: str, mode: str, revision: str | None) -> dict[str, object]:
    """All that is known of what answers: what a server runs can change without a word."""
    return {"backend": "endpoint", "mode": mode, "url": os.environ.get(URL), "model": served, "revision": revision}


class OpenAI:
    """What a server answers."""

    def __init__(self, name: str, served: str, mode: str) -> None:
        """Find the server.

        Args:
            name: In the catalogue.
            served: By which the server knows the model.
            mode: What is asked; `chat` alone is known here.

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

    def generate(self, prompts: Sequence[Prompt], wanted: frozenset[int]) -> Iterator[list[tuple[int, Reply]]]:
        """Ask for the replies to some prompts, `AT_ONCE` at a time.

        Args:
            prompts: All of them.
            wanted: Indices of those that are missing.

        Yields:
            (Index, reply) of those asked together.

        Raises:
            UserError: The server cannot be reached, or refuses.
            ValueError: It is asked to continue a text, or to choose among the likeliest tokens.
        """
        if any(not prompt.chat or prompt.sampling.top_k for prompt in prompts):
            raise ValueError("a server only chats, and knows no top_k")
        missing = sorted(wanted)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for first in range(0, len(missing), AT_ONCE):
                batch = missing[first : first + AT_ONCE]
                yield list(zip(batch, pool.map(self._reply, [prompts[i] for i in batch]), strict=True))

    def _reply(self, prompt: Prompt) -> Reply:
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
        return Reply(reply.encode(errors="replace").decode())  # JSON can hold halves of characters
