"""Chat templates are rendered in a process of its own, one for all of a program."""

import signal
import time
from typing import Any

import pytest

from evenruler.models.template_process import TemplateProcess
from evenruler.models.templates import render_prompt
from tests.tiny import tiny_tokenizer


@pytest.fixture(scope="module")
def process() -> Any:
    rendering = TemplateProcess()
    yield rendering
    rendering.end_process()


def make_order(template: str, text: str = "Hi.") -> dict[str, Any]:
    arguments = {
        "conversations": [[{"role": "user", "content": text}]],
        "chat_template": template,
    }
    return {"arguments": arguments, "day": "2030-05-06", "seconds": 1}


WRITES = "{{ messages[0].content }} {{ strftime_now('%d %b %Y') }}"


def test_one_process_serves_many_texts(process: TemplateProcess) -> None:
    texts = [f"text {number}\n\ud800" for number in range(20)]
    first = process.render_chat(make_order(WRITES))
    pid = process._process.pid
    written = [process.render_chat(make_order(WRITES, text))["text"] for text in texts]
    assert first == {"text": "Hi. 06 May 2030"}
    assert written == [f"{text} 06 May 2030" for text in texts]
    assert process._process.pid == pid


@pytest.mark.parametrize(
    ("template", "kind", "error"),
    [
        ("{{ raise_exception('no system role') }}", "template", "no system role"),
        ("{{ ''.__class__.__mro__ }}", "template", "access to attribute '__class__' of 'str'"),
        ("{{ 1 / 0 }}", "other", "division by zero"),
        ("{{ raise_exception('a' * 10 ** 6) }}", "template", "a" * 300),
        ("{{ 'a' * 10 ** 7 }}", "limit", "it adds more than 1,000,000 characters"),
        ("{{ 'a' * 10 ** 10 }}", "limit", "it takes more than 1,024 MiB of memory"),
    ],
)
def test_a_template_that_fails(
    template: str, kind: str, error: str, process: TemplateProcess
) -> None:
    answer = process.render_chat(make_order(template))
    assert answer["kind"] == kind
    assert answer["error"][: len(error)] == error
    assert process.render_chat(make_order("{{ messages[0].content }}")) == {"text": "Hi."}


def test_who_takes_too_long_is_ended_and_the_next_is_served(process: TemplateProcess) -> None:
    with pytest.raises(OverflowError, match="more than 1 seconds"):
        process.render_chat(make_order("{{ (9 ** (9 ** 9)) > 1 }}"))
    assert process.render_chat(make_order("{{ messages[0].content }}")) == {"text": "Hi."}


def test_an_answer_that_nobody_waited_for_is_not_that_of_the_next(
    process: TemplateProcess,
) -> None:
    slow = "{% for x in range(99999) %}{% for y in range(200) %}{% endfor %}{% endfor %}late"
    process.render_chat(make_order(WRITES))

    def break_off(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, break_off)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            process.render_chat(make_order(slow) | {"seconds": 60})
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 30
    assert process.render_chat(make_order("{{ messages[0].content }}")) == {"text": "Hi."}


def test_nothing_of_a_template_runs_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers would compile it here."""
    from transformers.utils import chat_template_utils

    monkeypatch.delattr(chat_template_utils, "_cached_compile_jinja_template")
    monkeypatch.delattr(chat_template_utils, "_compile_jinja_template")
    text = render_prompt(tiny_tokenizer(chat=True), "m", "Hi.", None, True)
    assert text == "<s>[user] Hi.\n[assistant] "
