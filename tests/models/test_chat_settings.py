"""How chats are written: templates with options and a day, and thoughts of a local model, split on
tokens."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from evenruler.declaration.params_file import ParamsFile
from evenruler.models import Model, Sampling
from evenruler.models.backends import sampling
from evenruler.models.backends.sampling import RowSampler
from evenruler.models.chat_settings import NOW, ChatSettings, Thinking, ThoughtParser
from evenruler.models.declarations import ModelEntry
from evenruler.models.questions import CUT, Reply
from evenruler.models.templates import render_prompt, writes_day
from tests.tiny import CHAT, EOS, save_tiny, tiny_tokenizer

BRIEF = Sampling(4)
THINKS = CHAT.replace(
    "[assistant] {% endif %}",
    "[assistant] {% if enable_thinking is defined and not enable_thinking %}<think></think>{% else "
    "%}<think>"
    "{% endif %}{% endif %}",
)
"""Begins a thought, unless it is told not to."""

DATED = "{% if strftime_now is defined %}Today is {{ strftime_now('%d %b %Y') }}.{% endif %}" + CHAT
TOOLS = "{% if tools %}{{ strftime_now('%Y') }}{% endif %}" + CHAT
"""Writes the day where there are tools, and so never here."""


def saved(
    folder: Path, template: str = THINKS, special: tuple[str, ...] = ("</think>",), **config: Any
) -> Path:
    """A tiny model with this template; `special`: tokens that decoding deletes."""
    from transformers import AutoTokenizer

    folder = save_tiny(folder, vocab_size=300, **config)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


# Texts


@pytest.mark.parametrize(
    ("text", "opened", "whole", "answer"),
    [
        ("Yes.", False, True, "Yes."),
        ("<think>a</think>\n\nYes.", False, True, "Yes."),
        ("a</think> Yes.", True, True, "Yes."),
        ("a</think> Yes.", False, False, "Yes."),
        ("<think>a<think>b</think>c</think>Yes.", False, False, "Yes."),
        ("<think>a<think>b</think>c", False, False, None),
        ("<think>a<think>b</think>Yes.", False, True, "Yes."),
        ("<think>a</think>Yes.<think>b", False, True, None),
        ("<think>a</think>", False, True, ""),
    ],
)
def test_an_answer_stands_after_the_last_thought(
    text: str, opened: bool, whole: bool, answer: str | None
) -> None:
    assert Thinking().answer(text, opened, whole) == answer


# Tokens


def test_channels_are_split_before_decoding_deletes_their_marks() -> None:
    """As gpt-oss writes: all marks are special tokens, so that decoding fuses thought and
    answer."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|channel|>", "<|message|>"]})
    thinking = Thinking(end="<|channel|>final<|message|>")
    assert (thinking.begin, Thinking(end="[/THINK]").begin) == ("", "[THINK]")
    half = "<|channel|>analysis<|message|>so"
    for text, expected in (
        (half, None),
        (f"{half}{thinking.end}Yes.", "Yes."),
    ):
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        answer = ThoughtParser(tokenizer, thinking, 9).answer(
            tokens,
            is_whole=True,
            opened=False,
        )
        assert (answer and tokenizer.decode(answer)) == expected


@pytest.mark.parametrize("special", [[], ["</think>"]], ids=str)
def test_thoughts_end_where_their_tokens_do(special: tuple[str, ...]) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    before, end, after = tokenizer(["<think>so", "</think>", "Yes."])["input_ids"]
    assert (len(end) == 1) == bool(special)

    thoughts = ThoughtParser(tokenizer, Thinking(tokens=40), answer=3)

    whole = [*before, *end, *after]
    ends = [
        thoughts.ends(whole, n)
        for n in range(
            1,
            len(whole) + 1,
        )
    ]
    assert [n for n, is_end in enumerate(ends, 1) if is_end] == [len(before) + len(end)]
    cases = [
        (whole, True, True, after),
        ([*before, *after], True, True, None),
        (after, True, False, after),
        (after, False, False, None),  # all the room, and no end
        (whole * 2, True, False, after),
    ]
    for tokens, is_whole, opened, answer in cases:
        assert thoughts.answer(tokens, is_whole=is_whole, opened=opened) == answer


def test_a_thought_may_not_take_more_than_the_whole() -> None:
    thoughts = ThoughtParser(
        tiny_tokenizer(),
        Thinking(tokens=10),
        answer=5,
    )
    for place, last in ((0, 9), (3, 7), (12, 14)):
        assert not thoughts.is_over(last, place)
        assert thoughts.is_over(last + 1, place)


# Models


def scripted(
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    replies: dict[str, str],
    settings: Sampling = BRIEF,
) -> list[Reply]:
    """What the model replies to prompts, where it writes these texts; their tokens come in place of
    those that are drawn."""
    tokenizer = model.backend.tokenizer
    end = [tokenizer.convert_tokens_to_ids(EOS)]

    def tokens_after(written):
        """What comes after what a row of a batch holds."""
        text = next(replies[prompt] for prompt in replies if f"] {prompt}\n" in written)
        return tokenizer(text, add_special_tokens=False)["input_ids"] + end * 99

    class Written(RowSampler):
        rows = None

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if self.rows is None:
                texts = tokenizer.batch_decode(input_ids, skip_special_tokens=True)
                self.rows = [iter(tokens_after(text)) for text in texts]
            tokens = torch.tensor([[next(row)] for row in self.rows])
            return torch.full_like(scores, -torch.inf).scatter_(1, tokens, 0.0)

    monkeypatch.setattr(sampling, "RowSampler", Written)
    return model.replies(list(replies), sampling=settings)


@pytest.fixture
def model_with(tmp_path, store, load_saved):
    """Makes a tiny model with this template and entry, in one folder."""

    def open_model(template=THINKS, special=("</think>",), **entry):
        folder = tmp_path / "m"
        if not folder.exists():
            saved(folder, template, special)
        return load_saved(folder, store=store, chat=True, **entry)

    return open_model


def test_two_budgets_and_an_answer_without_its_thought(
    model_with, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_with(thinking={"tokens": 30})
    reason = f"{CUT} (30 tokens to think in): say `--thinking 60`"
    expected_by_text = {
        "so</think>\n\nYes.": Reply("Ye", None, "length"),
        "x" * 50 + "</think>No.": Reply(None, reason, "length"),
        "ab</think>Perhaps it is so.": Reply("Perh", None, "length"),
        "x": Reply(None, reason, "stop"),  # the template began a thought, which never ended
    }
    prompts = dict(zip("abcd", expected_by_text, strict=True))
    assert scripted(model, monkeypatch, prompts) == [*expected_by_text.values()]


def test_a_real_loop_stops_where_the_budgets_end(model_with) -> None:
    """Of random weights: as without budgets, cut by them; in any company."""
    backend = model_with().backend
    prompts = [
        (1, 5, 7),
        (1, 5, 9, 11),
        (1, 8),
        (1, 4),
    ]
    seeds, settings = [1, 2, 3, 4], Sampling(35)
    whole = sampling.generate_batch(
        backend.model,
        prompts,
        seeds,
        settings,
    )
    texts = map(backend.tokenizer.decode, whole[0][:20])
    end = next(text for text in texts if len(text) == 1 and text.isascii())
    thoughts = ThoughtParser(
        backend.tokenizer,
        Thinking(end=end, tokens=30),
        5,
    )
    assert thoughts.most == 35

    cut = sampling.generate_batch(
        backend.model,
        prompts,
        seeds,
        settings,
        thoughts,
    )

    for place, tokens in enumerate(cut):
        assert tokens == whole[place][: len(tokens)]
        alone = slice(place, place + 1)
        batch = prompts[alone], seeds[alone], settings, thoughts
        assert sampling.generate_batch(backend.model, *batch) == [tokens]
    assert len(set(map(len, cut))) > 1


def test_a_model_that_nobody_says_thinks_keeps_its_key_and_loses_its_thoughts(
    model_with, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_with(CHAT, special=())
    assert {"thinking", "template", "effort", "now"}.isdisjoint(json.loads(model.engine))
    texts = {"one": "<think>a</think>Yes.", "two": "<think>so it goes on", "three": "Yes."}
    reason = f"{CUT} (0 tokens to think in): say `--thinking 4096` or `--thinking off`"
    answer = Reply("Yes.", None, "stop")
    replies = scripted(model, monkeypatch, texts, Sampling(40))
    assert replies == [answer, Reply(None, reason, "stop"), answer]


def test_a_text_that_is_continued_has_no_thoughts(model_with) -> None:
    question = {
        "prompts": ["The man", "x"],
        "sampling": Sampling(6),
        "chat": False,
    }
    thinking, plain = model_with(thinking={"tokens": 30}), model_with()
    assert thinking.replies(**question) == plain.replies(**question)
    assert thinking.asked == plain.asked == 2


def test_likelihoods_in_a_chat_are_refused_while_it_thinks(model_with, error_of: Any) -> None:
    model = model_with(thinking={"tokens": 9})
    question = ["The man is"], [" a"], True
    said_first = "likelihoods of what tiny says first in a chat are those of its thoughts"
    assert error_of(model.whole_words, *question) == (
        f"params.yaml: models.tiny.thinking: {said_first}; say `off`, or --thinking off"
    )
    assert model.whole_words(["The man is"], [" a"]).nats.shape == (1,)
    off, unset = (model_with(**entry).whole_words(*question) for entry in ({"thinking": "off"}, {}))
    assert off.nats[0] != pytest.approx(unset.nats[0])


# Templates


def test_a_template_is_told_its_options_and_the_day() -> None:
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = THINKS

    def read(**settings: Any) -> str:
        return render_prompt(tokenizer, "m", "Hi.", None, True, ChatSettings(**settings))

    assert read() == "<s>[user] Hi.\n[assistant] <think>"
    without = "<s>[user] Hi.\n[assistant] <think></think>"
    assert read(thinking="off") == read(template={"enable_thinking": False}) == without
    tokenizer.chat_template = DATED
    assert read().startswith(f"Today is {NOW:%d %b %Y}.")
    assert read(now=datetime.date(2030, 5, 6)).startswith("Today is 06 May 2030.")


@pytest.mark.parametrize(
    ("template", "n_notes"),
    [(CHAT, 1), (THINKS, 0)],
    ids=range(2),
)
def test_options_that_change_nothing_are_said(
    template, n_notes, model_with, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = "tiny: its chat template writes the same without enable_thinking, thinking"
    assert model_with(template, thinking="off").backend
    assert capsys.readouterr().err.count(idle) == n_notes


@pytest.mark.parametrize(
    ("template", "writes"),
    [(DATED, True), (TOOLS, False)],
    ids=range(2),
)
def test_two_clocks_tell_whether_the_day_is_in_the_key(
    template: str, writes: bool, model_with, tmp_path: Path
) -> None:
    plain, later = model_with(template), model_with(now=datetime.date(2030, 5, 6))
    folder = tmp_path / "m"
    assert writes_day(folder, ChatSettings()) is writes
    day = NOW.isoformat() if writes else None
    assert json.loads(plain.engine).get("now") == day
    assert (plain.engine == later.engine) is not writes
    # The template may also stand among the tokenizer's settings.
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) | {"chat_template": template}
    path.write_text(json.dumps(settings))
    (folder / "chat_template.jinja").unlink()
    assert json.loads(model_with().engine).get("now") == day


@pytest.mark.parametrize(
    ("kind", "field", "words"),
    [
        ("causal", {"thinking": "off"}, "`thinking` belongs to models that chat"),
        ("causal", {"timeout": 3}, "`timeout` belongs to the kinds chat and completions"),
        ("masked", {"new_tokens": 3}, "`new_tokens` belongs to models that generate"),
    ],
)
def test_what_an_entry_cannot_say(kind, field, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ModelEntry(kind=kind, source="local:m", licence="x", origin="x", **field)


def test_as_it_is_written_in_yaml(tmp_path: Path) -> None:
    entry_start = "{kind: causal, source: 'local:m', chat: true, licence: x, origin: x, "
    settings = "thinking: off, now: 2026-02-03, template: {a: [1, b]}, effort: low, new_tokens: 9}"
    path = tmp_path / "params.yaml"
    path.write_text(
        f"models:\n  m: {entry_start}{settings}\n  n: {entry_start}thinking: {{tokens: 7}}}}\n"
    )
    models = ParamsFile(path).catalogue.models
    off, thinks = models["m"], models["n"]
    assert off.now == datetime.date(2026, 2, 3)
    idle = {"enable_thinking": False, "thinking": False}
    assert off.options == {**idle, "reasoning_effort": "low", "a": [1, "b"]}
    assert off.in_key == {"thinking": "off", "effort": "low", "template": {"a": [1, "b"]}}
    assert thinks.thoughts == Thinking(tokens=7)
    assert thinks.in_key == {"thinking": {"end": "</think>", "tokens": 7}}
