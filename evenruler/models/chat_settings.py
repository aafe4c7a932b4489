"""Chat settings of a model: template options, thinking budget, and separation of thoughts from
answers.
"""

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field, JsonValue

from evenruler.models.questions import CUT, Reply
from evenruler.strict import StrictModel, Text

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedTokenizerBase

NOW: Final = datetime.date(2026, 1, 1)
"""Date given to a chat template if the entry has none; with today's date, prompts would change
every day."""

OFF: Final = {"enable_thinking": False, "thinking": False}
"""Template options that switch thinking off (Qwen, SmolLM; Granite, DeepSeek); templates ignore
unknown options."""

TOKENS_A_SECOND = 20  # assumed speed of a server, for the timeout of thinking models


class Thinking(StrictModel):
    """Settings of a model that thinks before it answers."""

    end: Text = "</think>"
    """The text that ends a thought; for gpt-oss `<|channel|>final<|message|>`."""
    tokens: int = Field(default=4096, ge=1)
    """Budget for thinking, in addition to the tokens of the answer."""

    @property
    def begin(self) -> str:
        """The text that begins a thought, derived from `end`: `<think>`; empty if that is not
        possible.
        """
        return self.end.replace("/", "", 1) if "/" in self.end else ""

    def answer(self, text: str, opened: bool = False, is_whole: bool = True) -> str | None:
        """The text after the last thought; None if the thought does not end.

        `opened`: whether a thought began before the text, as in some templates; `is_whole`: whether
        the model ended the text. In a truncated text, the end of a nested thought ends only that
        one.
        """
        _, mark, after = text.rpartition(self.end)
        is_nested = text.count(self.begin) > text.count(self.end)
        within = bool(self.begin) and not is_whole and is_nested
        if within or (self.begin and self.begin in after) or (opened and not mark):
            return None
        return after.lstrip() if mark else text


class ChatSettings(StrictModel):
    """Chat settings in a model's entry; part of the cache key if set and relevant."""

    template: dict[Text, JsonValue] | None = None
    """Options of its chat template, such as `{enable_thinking: false}`; sent to servers as
    `chat_template_kwargs`."""
    thinking: Thinking | Literal["off"] | None = None
    """The thinking budget, or `off` to forbid thinking. If omitted, thoughts count towards the
    answer's tokens."""
    effort: Text | None = None
    """Thinking effort, in the server's words (`reasoning_effort`) or the template's."""
    now: datetime.date | None = None
    """The date for a chat template that writes one; by default `NOW`."""
    new_tokens: int | None = Field(default=None, ge=1)
    """Tokens allowed per reply, if an instrument allows fewer."""
    timeout: int | None = Field(default=None, ge=1)
    """Timeout of a server's answer in seconds; the default is longer for thinking models. Not in
    the cache key."""
    answers_as: Text | None = None
    """Another name that a server may give the model in its answers, as gateways do that rename
    models."""

    @property
    def thoughts(self) -> Thinking | None:
        """The thinking settings; None if it does not think or this is unknown."""
        return self.thinking if isinstance(self.thinking, Thinking) else None

    @property
    def options(self) -> dict[str, Any]:
        """All options for the chat template."""
        effort = {"reasoning_effort": self.effort} if self.effort else {}
        return {**(OFF if self.thinking == "off" else {}), **effort, **(self.template or {})}

    @property
    def in_key(self) -> dict[str, Any]:
        """The settings that are part of the cache key, since answers depend on them; unset ones are
        absent.
        """
        return self.model_dump(include={"template", "thinking", "effort"}, exclude_none=True)

    @property
    def cut(self) -> str:
        """The reason given when a thought used up all tokens, with a remedy."""
        tokens = self.thoughts.tokens if self.thoughts else 0
        more = f"`--thinking {2 * tokens}`" if tokens else "`--thinking 4096` or `--thinking off`"
        return f"{CUT} ({tokens:,} tokens to think in): say {more}"

    def reply(self, text: str, finish: str, opened: bool = False) -> Reply:
        """The reply without its thoughts; with a reason if they used up all tokens."""
        answer = (self.thoughts or Thinking()).answer(text, opened, finish == "stop")
        return Reply(None, self.cut, finish) if answer is None else Reply(answer, None, finish)


class ThoughtParser:
    """Finds thoughts in tokens, and applies the budgets of a thought and of the answer after it."""

    def __init__(
        self, tokenizer: "PreTrainedTokenizerBase", thinking: Thinking, answer: int
    ) -> None:
        """`answer`: budget of tokens for the answer after the thought."""
        self._tokenizer, self._thinking, self._answer = tokenizer, thinking, answer
        end_tokens: list[int] = tokenizer(thinking.end, add_special_tokens=False)["input_ids"]
        self._end = end_tokens[0] if len(end_tokens) == 1 else None
        self.window = len(thinking.end.encode())  # the end mark has at most this many tokens

    @property
    def most(self) -> int:
        """Most tokens of a reply."""
        return self._thinking.tokens + self._answer

    def _raw(self, tokens: Sequence[int]) -> str:
        """The text of tokens with special ones, since thought marks may be special."""
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def ends(self, tokens: Sequence[int], n: int) -> bool:
        """Whether the n-th token ends a thought; on raw tokens, since decoding may drop such
        marks.
        """
        if self._end is not None:
            return tokens[n - 1] == self._end
        tail = tokens[max(0, n - self.window) : n]
        mark = self._thinking.end
        n_marks = self._raw(tail).count(mark)
        n_marks_before = self._raw(tail[:-1]).count(mark)
        return n_marks > n_marks_before

    def is_over(self, n: int, place: int) -> bool:
        """Whether a reply of n tokens has used up its budget; `place`: number of thought tokens, 0
        while thinking.
        """
        return n >= min(place + self._answer if place else self._thinking.tokens, self.most)

    def answer(self, tokens: list[int], is_whole: bool, opened: bool) -> list[int] | None:
        """The tokens after the last thought; None if it does not end. `opened`, `is_whole` as in
        `Thinking`.
        """
        backwards = range(len(tokens), 0, -1)
        places = (n for n in backwards if self.ends(tokens, n))
        place = next(places, 0)
        opened = not place and (opened or not is_whole or not self._thinking.begin)
        answer = self._thinking.answer(self._raw(tokens), opened, is_whole)
        return None if answer is None else tokens[place:]
