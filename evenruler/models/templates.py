"""Chat templates: programs that come with a model, and write what it reads."""

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
"""Days with nothing in common, to see whether a template writes one."""

MOST_STEPS = MOST_ADDED = 1_000_000
"""Steps that a chat template may take (of models some hundred; one may hold loops in loops), letters it may add."""


def rendered(
    tokenizer: Any, name: str, prompt: str, system: str | None, chat: bool, settings: ChatSettings | None = None
) -> str:
    """The text that the model reads, without its start token.

    `name`: of the model, for errors; `system`: a paragraph before the prompt, or the system message of a chat;
    where its template refuses one (Gemma 2), a paragraph there, too; `settings`: what the template is told. UserError
    where a chat has no template, or one that does not take the prompt, or does not come to an end.
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
    except Exception as error:  # a template is a program, and may fail as one
        reason = (str(error) or type(error).__name__).split("\n")[0]
        what = f"the chat template of {name} does not take a prompt ({reason})"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false") from None
    bos = tokenizer.bos_token
    return text.removeprefix(bos) if bos else text  # every sequence gets its start token once


def writes_day(folder: Path, settings: ChatSettings) -> bool:
    """Whether the chat template in a model's folder writes the day: whether it says the same at two clocks."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        at = [settings.model_copy(update={"now": day}) for day in CLOCKS]
        said = [[rendered(tokenizer, "", "Hello.", system, True, own) for own in at] for system in (None, "Be brief.")]
    except Exception:  # whatever it is, it shows again when the model is asked
        return True
    return any(one != other for one, other in said)


def _at(day: datetime.date) -> AbstractContextManager[Any]:
    """Have templates write this day: transformers gives them its own clock, and lets nobody pass another."""
    from transformers.utils import chat_template_utils as library

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Clock":
            return cls(day.year, day.month, day.day, tzinfo=tz)

    return patch.object(library, "datetime", Clock)


@contextmanager
def _bounded() -> Iterator[None]:
    """End a template that takes too many steps: lines of it, and calls that it makes; in this thread alone."""
    before, steps = sys.gettrace(), 0

    def trace(frame: Any, *_: Any) -> Any:
        nonlocal steps
        steps += bool(steps) or frame.f_code.co_filename == "<template>"  # what jinja2 calls compiled ones
        if steps > MOST_STEPS:
            raise OverflowError(f"it takes more than {MOST_STEPS:,} steps")
        return trace if steps else None

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
