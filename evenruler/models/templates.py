"""Rendering of chat templates, which are programs that come with a model."""

import atexit
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import TemplateError

from evenruler.errors import UserError
from evenruler.models.chat_settings import NOW, ChatSettings
from evenruler.models.library_patches import replace_attributes
from evenruler.models.questions import chat_messages, join_system_prompt
from evenruler.models.template_process import SECONDS, TemplateProcess

if TYPE_CHECKING:  # transformers takes seconds to import
    from transformers import PreTrainedTokenizerBase

CLOCKS: Final = (datetime.date(2001, 2, 3), datetime.date(2019, 11, 28))
"""Two dates without common parts, to detect whether a template writes the date."""

ERRORS: Final[dict[str, type[Exception]]] = {
    "limit": OverflowError,
    "template": TemplateError,
    "other": ValueError,
}
"""What to raise for a template that fails, by the kind that `TemplateProcess` names."""

_process = TemplateProcess()
atexit.register(_process.end_process)


def render_prompt(
    tokenizer: "PreTrainedTokenizerBase",
    name: str,
    prompt: str,
    system: str | None,
    chat: bool,
    settings: ChatSettings | None = None,
) -> str:
    """The text that the model reads: as the template writes it, start token included if it writes
    one.

    A template that does not take the messages as they come is offered them in other layouts
    (`message_layouts`). One is taken if the prompt and the system prompt stand in the text, and a
    second rendering is the same.

    `name`: the model's, for errors; `system`: a paragraph before the prompt, or a chat's system
    message; `settings`: options for the template. UserError if a chat has no template, or the
    template takes no layout or does not end.
    """
    if not chat:
        return join_system_prompt(prompt, system)
    if not tokenizer.chat_template:
        what = "a chat is asked of a model without a chat template"
        raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false")
    reasons = []
    for layout in message_layouts(prompt, system):
        try:
            return _render_layout(tokenizer, layout, prompt, system, settings or ChatSettings())
        except OverflowError as error:  # another layout would take as long
            reasons = [str(error)]
            break
        except Exception as error:  # a template may fail like any program
            reason = str(error) or type(error).__name__
            reasons.append(reason.split("\n")[0])
    what = f"the chat template of {name} does not take a prompt ({reasons[0]})"
    raise UserError(what, where=repr(prompt[:40]), remedy="ask with chat: false")


def message_layouts(prompt: str, system: str | None) -> Iterator[list[dict[str, Any]]]:
    """The messages of a chat in the layouts that templates take, the usual one first.

    With a system message; with the system prompt as a paragraph before the prompt, for templates
    that refuse that role (Gemma 2) or skip it; then both with the content in parts, for templates
    that read nothing else.
    """
    layouts = [chat_messages(prompt, system)]
    if system:
        layouts.append(chat_messages(join_system_prompt(prompt, system), None))
    yield from layouts
    for layout in layouts:
        yield [
            {**message, "content": [{"type": "text", "text": message["content"]}]}
            for message in layout
        ]


def _render_layout(
    tokenizer: "PreTrainedTokenizerBase",
    layout: list[dict[str, Any]],
    prompt: str,
    system: str | None,
    settings: ChatSettings,
) -> str:
    """One layout as text; ValueError if a word of the user is not in it, or a second rendering
    differs.
    """
    text = _apply_chat_template(tokenizer, layout, settings)
    if not text:
        raise ValueError("it writes nothing")
    if any(
        repr(message["content"]) in text
        for message in layout
        if not isinstance(message["content"], str)
    ):
        raise ValueError("it writes parts as a list")
    for part, what in ((system, "the system prompt"), (prompt, "the prompt")):
        if part and part.strip() not in text:  # templates may strip it
            raise ValueError(f"what it writes does not hold {what}")
    if _apply_chat_template(tokenizer, layout, settings) != text:
        raise ValueError("it writes another text each time")
    return text


def _apply_chat_template(
    tokenizer: "PreTrainedTokenizerBase",
    layout: list[dict[str, Any]],
    settings: ChatSettings,
) -> str:
    """A chat as text through the template, at the fixed date, in a process of its own;
    OverflowError if it takes or writes more than the limits there.
    """
    from transformers import tokenization_utils_base as library

    def render_apart(**arguments: object) -> tuple[list[str], list[object]]:
        """In place of `render_jinja_template`, which would run the template in this process."""
        day = (settings.now or NOW).isoformat()
        answer = _process.render_chat({"arguments": arguments, "day": day, "seconds": SECONDS})
        if "error" in answer:
            raise ERRORS[answer["kind"]](answer["error"])
        return [answer["text"]], []

    with replace_attributes(library, render_jinja_template=render_apart):
        return str(
            tokenizer.apply_chat_template(
                layout, tokenize=False, add_generation_prompt=True, **settings.options
            )
        )


def writes_as_before(tokenizer: "PreTrainedTokenizerBase", settings: ChatSettings) -> bool:
    """Whether a model's chats have the tokens that they had before prompts were tokenised whole.

    Then a start token stood before each text less its own start token, and the first layout was
    taken that the template did not refuse. Answers to prompts that have not changed since are still
    right. Tested on a greeting.
    """
    start = tokenizer.bos_token
    for system in (None, "Be brief."):
        try:
            text = render_prompt(tokenizer, "", "Hello.", system, True, settings)
            if (
                not start
                or not text.startswith(start)
                or text != _render_first(tokenizer, system, settings)
            ):
                return False
        except Exception:  # the error recurs when the model is asked
            return False
        whole, rest = (
            tokenizer(part, add_special_tokens=False)["input_ids"]
            for part in (text, text[len(start) :])
        )
        if list(whole) != [tokenizer.bos_token_id, *rest]:
            return False
    return True


def _render_first(
    tokenizer: "PreTrainedTokenizerBase", system: str | None, settings: ChatSettings
) -> str:
    """A greeting in the first layout that the template does not refuse."""
    layouts = list(message_layouts("Hello.", system))
    try:
        return _apply_chat_template(tokenizer, layouts[0], settings)
    except TemplateError:
        return _apply_chat_template(tokenizer, layouts[1], settings)


def writes_day(folder: Path, settings: ChatSettings) -> bool:
    """Whether the chat template in a model's folder writes the date, tested with two dates."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        dated_settings = [settings.model_copy(update={"now": day}) for day in CLOCKS]
        for system in (None, "Be brief."):
            prompts = [
                render_prompt(tokenizer, "", "Hello.", system, True, day_settings)
                for day_settings in dated_settings
            ]
            if prompts[0] != prompts[1]:
                return True
    except Exception:  # the error recurs when the model is asked
        return True
    return False
