"""Rendering of chat templates, which are programs that come with a model."""

import datetime
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from jinja2 import TemplateError

from evenruler.errors import UserError
from evenruler.models.chats import NOW, ChatSettings
from evenruler.models.records import messages, paragraphs

CLOCKS: Final = (datetime.date(2001, 2, 3), datetime.date(2019, 11, 28))
"""Two dates without common parts, to detect whether a template writes the date."""

MOST_STEPS = MOST_ADDED = 1_000_000
"""Limits on a chat template's steps (usually some hundred; nested loops are possible) and added characters."""


def rendered(
    tokenizer: Any, name: str, prompt: str, system: str | None, chat: bool, settings: ChatSettings | None = None
) -> str:
    """The text that the model reads, without its start token.

    `name`: the model's, for errors; `system`: a paragraph before the prompt, or a chat's system message, or a paragraph
    there too if the template refuses one (Gemma 2); `settings`: options for the template. UserError if a chat has no
    template, or the template fails on the prompt or does not end.
    """
    if not chat:
        return paragraphs(prompt, system)
    if not tokenizer.chat_template:
        what = "a chat is asked of a model without a chat template"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false")
    own = settings or ChatSettings()

    def written(text: str, system: str | None) -> str:
        how = {"tokenize": False, "add_generation_prompt": True}
        with _at(own.now or NOW), _bounded():
            return str(tokenizer.apply_chat_template(messages(text, system), **how, **own.options))

    try:
        try:
            text = written(prompt, system)
        except TemplateError:
            if not system:
                raise
            text = written(paragraphs(prompt, system), None)
        if len(text) > len(prompt) + len(system or "") + MOST_ADDED:
            raise OverflowError(f"it adds more than {MOST_ADDED:,} characters")
    except Exception as error:  # a template may fail like any program
        reason = (str(error) or type(error).__name__).split("\n")[0]
        what = f"the chat template of {name} does not take a prompt ({reason})"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false") from None
    bos = tokenizer.bos_token
    return text.removeprefix(bos) if bos else text  # the start token is added once, elsewhere


def writes_day(folder: Path, settings: ChatSettings) -> bool:
    """Whether the chat template in a model's folder writes the date, tested with two dates."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        at = [settings.model_copy(update={"now": day}) for day in CLOCKS]
        said = [[rendered(tokenizer, "", "Hello.", system, True, own) for own in at] for system in (None, "Be brief.")]
    except Exception:  # the error recurs when the model is asked
        return True
    return any(one != other for one, other in said)


def _at(day: datetime.date) -> AbstractContextManager[Any]:
    """A context that sets the date in templates; transformers offers no other way."""
    from transformers.utils import chat_template_utils as library

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Clock":
            return cls(day.year, day.month, day.day, tzinfo=tz)

    return patch.object(library, "datetime", Clock)


@contextmanager
def _bounded() -> Iterator[None]:
    """Limit the steps of a template (executed lines and calls), in this thread only."""
    before, steps = sys.gettrace(), 0

    def trace(frame: Any, *_: Any) -> Any:
        nonlocal steps
        steps += bool(steps) or frame.f_code.co_filename == "<template>"  # jinja2's name for compiled templates
        if steps > MOST_STEPS:
            raise OverflowError(f"it takes more than {MOST_STEPS:,} steps")
        return trace if steps else None

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
