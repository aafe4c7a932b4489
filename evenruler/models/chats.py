"""How a model chats: options of its template, how long it may think, and what is its answer and what its thought."""

import datetime
from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field, JsonValue

from evenruler.models.records import CUT, Reply
from evenruler.strict import Strict, Text

NOW: Final = datetime.date(2026, 1, 1)
"""The day that a template is told where an entry says none: a prompt that holds today's is another one tomorrow."""

OFF: Final = {"enable_thinking": False, "thinking": False}
"""What templates call it (Qwen, SmolLM; Granite, DeepSeek); an option that one does not know changes nothing."""

TOKENS_A_SECOND = 20  # thoughts are waited for as if a server wrote no more


class Thinking(Strict):
    """That a model thinks before it answers."""

    end: Text = "</think>"
    """What ends a thought, as its tokens are written: `<|channel|>final<|message|>` of gpt-oss."""
    tokens: int = Field(default=4096, ge=1)
    """It may think in; the answer has those of the instrument besides."""

    @property
    def begin(self) -> str:
        """What begins a thought, by what ends it: `<think>`; empty where that cannot be told."""
        return self.end.replace("/", "", 1) if "/" in self.end else ""

    def answer(self, text: str, opened: bool = False, is_whole: bool = True) -> str | None:
        """What a text says after its last thought; None where that does not end.

        `opened`: whether a thought has begun before the text, as templates begin it; `is_whole`: whether the model
        ended it. In one that was cut a thought within a thought ends none but itself.
        """
        _, mark, after = text.rpartition(self.end)
        within = bool(self.begin) and not is_whole and text.count(self.begin) > text.count(self.end)
        if within or (self.begin and self.begin in after) or (opened and not mark):
            return None
        return after.lstrip() if mark else text


class ChatSettings(Strict):
    """What an entry may say of how its model is asked; in the key of an answer where it is said, if it can matter."""

    template: dict[Text, JsonValue] | None = None
    """Options of its chat template, as `{enable_thinking: false}`; a server is sent them (`chat_template_kwargs`)."""
    thinking: Thinking | Literal["off"] | None = None
    """That it thinks, and how long; `off`: that it must not. Left out, what it thinks takes room from its answer."""
    effort: Text | None = None
    """How hard it thinks, in the words of the server (`reasoning_effort`) or of the template."""
    now: datetime.date | None = None
    """The day that its chat template writes, of one that writes any; `NOW` by default."""
    new_tokens: int | None = Field(default=None, ge=1)
    """Tokens that each of its replies may have, where an instrument allows fewer."""
    timeout: int | None = Field(default=None, ge=1)
    """Seconds that an answer of a server may take; more by default where it thinks. In no key."""

    @property
    def thoughts(self) -> Thinking | None:
        """How it thinks; None where it does not, or nobody says."""
        return self.thinking if isinstance(self.thinking, Thinking) else None

    @property
    def options(self) -> dict[str, Any]:
        """All that its template is told."""
        effort = {"reasoning_effort": self.effort} if self.effort else {}
        return {**(OFF if self.thinking == "off" else {}), **effort, **(self.template or {})}

    @property
    def in_key(self) -> dict[str, Any]:
        """What answers depend on; nothing where nothing is said."""
        return self.model_dump(mode="json", include={"template", "thinking", "effort"}, exclude_none=True)

    @property
    def cut(self) -> str:
        """The reason where a thought took all the room, with what to set."""
        tokens = self.thoughts.tokens if self.thoughts else 0
        more = f"`--thinking {2 * tokens}`" if tokens else "`--thinking 4096` or `--thinking off`"
        return f"{CUT} ({tokens:,} tokens to think in): say {more}"

    def reply(self, text: str, finish: str, opened: bool = False) -> Reply:
        """What a chat wrote, without its thoughts; with a reason where they took all the room."""
        answer = (self.thoughts or Thinking()).answer(text, opened, finish == "stop")
        return Reply(None, self.cut, finish) if answer is None else Reply(answer, None, finish)


class Thoughts:
    """Thoughts in the tokens of one tokenizer, and the two budgets: of a thought, and of the answer after it."""

    def __init__(self, tokenizer: Any, thinking: Thinking, answer: int) -> None:
        self._tokenizer, self._thinking, self._answer = tokenizer, thinking, answer
        own: list[int] = tokenizer(thinking.end, add_special_tokens=False)["input_ids"]
        self._end = own[0] if len(own) == 1 else None
        self.window = len(thinking.end.encode())  # it has no more tokens, however it is cut

    @property
    def most(self) -> int:
        """Tokens of a reply, at most."""
        return self._thinking.tokens + self._answer

    def _raw(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def ends(self, tokens: Sequence[int], n: int) -> bool:
        """Whether the n-th of some tokens ends a thought: before they are decoded, which may delete such marks."""
        if self._end is not None:
            return tokens[n - 1] == self._end
        tail = tokens[max(0, n - self.window) : n]
        return self._raw(tail).count(self._thinking.end) > self._raw(tail[:-1]).count(self._thinking.end)

    def is_over(self, n: int, place: int) -> bool:
        """Whether a reply of n tokens has no room left; `place`: how many of them are thoughts, 0 while it thinks."""
        return n >= min(place + self._answer if place else self._thinking.tokens, self.most)

    def answer(self, tokens: list[int], is_whole: bool, opened: bool) -> list[int] | None:
        """The tokens after the last thought; None where it does not end. `opened`, `is_whole`: as of `Thinking`."""
        place = next((n for n in range(len(tokens), 0, -1) if self.ends(tokens, n)), 0)
        opened = not place and (opened or not is_whole or not self._thinking.begin)
        return None if self._thinking.answer(self._raw(tokens), opened, is_whole) is None else tokens[place:]
