"""What a causal model reads of a prompt: the prompt as it is, or the chat that its template makes of it."""

import sys
from typing import Any

from evenruler.errors import UserError

MOST_STEPS = 1_000_000
"""That a chat template may take. Those of models take some hundred; one may hold loops in loops."""

MOST_ADDED = 1_000_000
"""Characters that it may add."""


def rendered(tokenizer: Any, name: str, prompt: str, system: str | None, chat: bool) -> str:
    """The text that the model reads, without its start token.

    Args:
        tokenizer: With a chat template, for a chat.
        name: Of the model, for errors.
        prompt: What the user says.
        system: What stands before: a paragraph, or the system message of the chat.
        chat: Whether the template is used.

    Raises:
        UserError: There is no template, or it does not take the prompt, or does not come to an end.
    """
    if not chat:
        return f"{system}\n\n{prompt}" if system else prompt
    if not tokenizer.chat_template:
        what = "a chat is asked of a model without a chat template"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false")
    first = [{"role": "system", "content": system}] if system else []
    messages = [*first, {"role": "user", "content": prompt}]
    try:
        with _Bounded():
            text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        if len(text) > len(prompt) + len(system or "") + MOST_ADDED:
            raise OverflowError(f"it adds more than {MOST_ADDED:,} characters")
    except Exception as error:  # a template is a program, and may fail as one
        reason = (str(error) or type(error).__name__).split("\n")[0]
        what = f"the chat template of {name} does not take a prompt ({reason})"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false") from None
    bos = tokenizer.bos_token
    return text.removeprefix(bos) if bos else text  # every sequence gets its start token once


class _Bounded:
    """Ends a template that takes too many steps: lines of it, and calls that it makes; in this thread alone."""

    def __enter__(self) -> None:
        self._before, self._began, self._steps = sys.gettrace(), False, 0
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        self._began = self._began or frame.f_code.co_filename == "<template>"  # what jinja2 calls compiled ones
        if not self._began:
            return None
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise OverflowError(f"it takes more than {MOST_STEPS:,} steps")
        return self._trace
