"""How chats are written: templates with options and a day, and thoughts of a local model, split on
tokens."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from evenruler.errors import UserError
from evenruler.models import Model, Sampling, load
from evenruler.models.backends import sampling
from evenruler.models.backends.sampling import RowSampler
from evenruler.models.chat_settings import NOW, ChatSettings, Thinking, ThoughtParser
from evenruler.models.questions import CUT, Reply
from evenruler.models.store import RowStore
from evenruler.models.templates import render_prompt, writes_day
from tests.tiny import CHAT, EOS, save_tiny, tiny_params, tiny_tokenizer

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


def model_of(folder: Path, store: RowStore, **entry: Any) -> Model:
    return load("tiny", tiny_params({"tiny": folder}, chat=True, **entry), store=store)


# Texts


@pytest.mark.parametrize(
    ("text", "opened", "whole", "answer"),
    [
        ("Yes.", False, True, "Yes."),
        ("Yes.", True, True, None),
        ("<think>a</think>\n\nYes.", False, True, "Yes."),
        ("a</think> Yes.", True, True, "Yes."),
        ("a</think> Yes.", False, False, "Yes."),
        ("<think>a<think>b</think>c</think>Yes.", False, False, "Yes."),
        ("<think>a<think>b</think>c", False, False, None),
        ("<think>a<think>b</think>Yes.", False, True, "Yes."),
        ("<think>a</think>Yes.<think>b", False, True, None),
        ("<think>a", False, True, None),
        ("<think>a</think>", False, True, ""),
    ],
)
def test_an_answer_stands_after_the_last_thought(
    text: str, opened: bool, whole: bool, answer: str | None
) -> None:
    assert Thinking().answer(text, opened, whole) == answer


def test_marks_of_other_models() -> None:
    assert Thinking(end="[/THINK]").begin == "[THINK]"
    channels = Thinking(end="<|channel|>final<|message|>")
    assert channels.begin == ""
    assert channels.answer("analysis<|channel|>final<|message|>Yes.") == "Yes."


# Tokens


def test_channels_are_split_before_decoding_deletes_their_marks() -> None:
    """As gpt-oss writes: all marks are special tokens, so that decoding fuses thought and
    answer."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|channel|>", "<|message|>"]})
    tokens = tokenizer(
        "<|channel|>analysis<|message|>so<|channel|>final<|message|>Yes.", add_special_tokens=False
    )
    thoughts = ThoughtParser(tokenizer, Thinking(end="<|channel|>final<|message|>"), 9)
    answer = thoughts.answer(tokens["input_ids"], is_whole=True, opened=False)
    assert tokenizer.decode(tokens["input_ids"], skip_special_tokens=True) == "analysissofinalYes."
    assert answer is not None
    assert tokenizer.decode(answer, skip_special_tokens=True) == "Yes."
    half = tokenizer("<|channel|>analysis<|message|>so", add_special_tokens=False)["input_ids"]
    assert thoughts.answer(half, is_whole=True, opened=False) is None


@pytest.mark.parametrize("special", [(), ("</think>",), ("</think>", "<think>")], ids=str)
def test_thoughts_end_where_their_tokens_do(special: tuple[str, ...]) -> None:
    tokenizer = tiny_tokenizer()
    if special:
        tokenizer.add_special_tokens({"additional_special_tokens": list(special)})

    def ids(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    thoughts = ThoughtParser(tokenizer, Thinking(tokens=40), answer=3)
    before, end, after = ids("<think>so"), ids("</think>"), ids("Yes.")
    whole = [*before, *end, *after]
    assert (len(end) == 1) == bool(special)
    place = len(before) + len(end)
    assert [n for n in range(1, len(whole) + 1) if thoughts.ends(whole, n)] == [place]
    assert thoughts.answer(whole, is_whole=True, opened=True) == after
    assert thoughts.answer([*before, *after], is_whole=True, opened=True) is None
    assert thoughts.answer(after, is_whole=True, opened=False) == after
    assert thoughts.answer(after, is_whole=False, opened=False) is None  # all the room, and no end
    assert thoughts.answer([*whole, *before, *end, *after], is_whole=True, opened=False) == after


def test_a_thought_may_not_take_more_than_the_whole() -> None:
    thoughts = ThoughtParser(tiny_tokenizer(), Thinking(tokens=10), answer=5)
    told = [(9, 0), (10, 0), (7, 3), (8, 3), (14, 12), (15, 12)]
    assert [thoughts.is_over(n, place) for n, place in told] == [
        False,
        True,
        False,
        True,
        False,
        True,
    ]


# Models


class Scripted:
    """In place of drawing: each reply is what stands in a script, then the end token."""

    def __init__(self, tokenizer: Any, replies: list[str]) -> None:
        self.rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in replies]
        self.end = tokenizer.convert_tokens_to_ids(EOS)

    def token(self, row: int, n: int) -> int:
        own = self.rows[row]
        return own[n] if n < len(own) else self.end


def scripted(model: Model, monkeypatch: pytest.MonkeyPatch, replies: dict[str, str]) -> None:
    """Have the model write a text after each prompt; its tokens come in place of those that are
    drawn."""
    tokenizer = model.backend.tokenizer
    script = Scripted(tokenizer, list(replies.values()))
    prompts = list(replies)

    class Written(RowSampler):
        step = 0

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if not self.step:
                texts = tokenizer.batch_decode(input_ids, skip_special_tokens=True)
                self.rows = [
                    next(n for n, own in enumerate(prompts) if f"] {own}\n" in text)
                    for text in texts
                ]
            tokens = torch.tensor([[script.token(row, self.step)] for row in self.rows])
            self.step += 1
            return torch.full_like(scores, -torch.inf).scatter_(1, tokens, 0.0)

    monkeypatch.setattr(sampling, "RowSampler", Written)


@pytest.mark.parametrize("special", [(), ("</think>",)], ids=str)
def test_two_budgets_and_an_answer_without_its_thought(
    tmp_path: Path, store: RowStore, monkeypatch: pytest.MonkeyPatch, special: tuple[str, ...]
) -> None:
    model = model_of(saved(tmp_path / "m", special=special), store, thinking={"tokens": 30})
    scripted(
        model,
        monkeypatch,
        {
            "soon": "so</think>\n\nYes.",
            "long": "x" * 50 + "</think>No.",
            "cut": "ab</think>Perhaps it is so.",
            "end": "x",
        },
    )
    sampling = Sampling(4)
    reason = f"{CUT} (30 tokens to think in): say `--thinking 60`"
    found = model.replies(["soon", "long", "cut", "end"], sampling=sampling)
    short = "Yes." if special else "Ye"
    assert found[0].text is not None
    assert found[0].text.startswith(short[:2])
    assert found[1] == Reply(None, reason, "length")
    assert found[2].text == "Perh"
    assert found[2].finish == "length"
    assert found[3] == Reply(
        None, reason, "stop"
    )  # the template began a thought, which never ended


def test_a_real_loop_stops_where_the_budgets_end(tmp_path: Path, store: RowStore) -> None:
    """Of random weights: as without budgets, cut by them; in any company."""
    folder = saved(tmp_path / "m")
    backend = model_of(folder, store).backend
    prompts, seeds, settings = (
        [(1, 5, 7), (1, 5, 9, 11), (1, 8), (1, 4)],
        [1, 2, 3, 4],
        Sampling(35),
    )
    whole = sampling.generate_batch(backend.model, prompts, seeds, settings)
    end = next(
        text
        for text in map(backend.tokenizer.decode, whole[0][:20])
        if len(text) == 1 and text.isascii()
    )
    thoughts = ThoughtParser(backend.tokenizer, Thinking(end=end, tokens=30), 5)
    assert thoughts.most == 35

    found = sampling.generate_batch(backend.model, prompts, seeds, settings, thoughts)

    for own, tokens in zip(whole, found, strict=True):
        assert tokens == own[: len(tokens)]
        ends = [n for n in range(1, len(tokens) + 1) if thoughts.ends(tokens, n)]
        over = [
            thoughts.is_over(n, max((place for place in ends if place <= n), default=0))
            for n in range(1, len(own) + 1)
        ]
        assert len(tokens) == (over.index(True) + 1 if True in over else len(own))
    alone = [
        sampling.generate_batch(backend.model, [p], [s], settings, thoughts)[0]
        for p, s in zip(prompts, seeds, strict=True)
    ]
    assert alone == found
    assert len({len(tokens) for tokens in found}) > 1


def test_a_model_that_nobody_says_thinks_keeps_its_key_and_loses_its_thoughts(
    tmp_path: Path, store: RowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(saved(tmp_path / "m", template=CHAT, special=()), store)
    assert {"thinking", "template", "effort", "now"}.isdisjoint(json.loads(model.engine))
    scripted(
        model,
        monkeypatch,
        {"one": "<think>so</think> Yes.", "two": "<think>so it goes on", "three": "Yes."},
    )
    reason = f"{CUT} (0 tokens to think in): say `--thinking 4096` or `--thinking off`"
    assert model.replies(["one", "two", "three"], sampling=Sampling(40)) == [
        Reply("Yes.", None, "stop"),
        Reply(None, reason, "stop"),
        Reply("Yes.", None, "stop"),
    ]


def test_a_text_that_is_continued_has_no_thoughts(tmp_path: Path, store: RowStore) -> None:
    folder = saved(tmp_path / "m")
    thinking, plain = (model_of(folder, store, **own) for own in ({"thinking": {"tokens": 30}}, {}))
    prompts, sampling = ["The man", "x"], Sampling(6)
    found = thinking.replies(prompts, sampling=sampling, chat=False)
    assert found == plain.replies(prompts, sampling=sampling, chat=False)
    assert thinking.asked == plain.asked == 2
    assert [
        len(thinking.backend.tokenizer(str(reply.text))["input_ids"]) <= 8 for reply in found
    ] == [True, True]


def test_likelihoods_in_a_chat_are_refused_while_it_thinks(
    tmp_path: Path, store: RowStore, error_of: Any
) -> None:
    folder = saved(tmp_path / "m")
    model = model_of(folder, store, thinking={"tokens": 9})
    said = error_of(model.whole_words, ["The man is"], [" a"], True)
    assert said == (
        "params.yaml: models.tiny.thinking: likelihoods of what tiny says first in a chat are "
        "those of its thoughts; "
        "say `off`, or --thinking off"
    )
    assert model.whole_words(["The man is"], [" a"]).nats.shape == (1,)
    off = model_of(folder, store, thinking="off")
    assert off.whole_words(["The man is"], [" a"], chat=True).nats[0] != pytest.approx(
        model_of(folder, store).whole_words(["The man is"], [" a"], chat=True).nats[0]
    )


# Templates


def test_a_template_is_told_its_options_and_the_day() -> None:
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = THINKS
    read = lambda **own: render_prompt(tokenizer, "m", "Hi.", None, True, ChatSettings(**own))  # noqa: E731
    assert read() == "<s>[user] Hi.\n[assistant] <think>"
    without = "<s>[user] Hi.\n[assistant] <think></think>"
    assert read(thinking="off") == read(template={"enable_thinking": False}) == without
    tokenizer.chat_template = DATED
    assert read().startswith(f"Today is {NOW:%d %b %Y}.")
    assert read(now=datetime.date(2030, 5, 6)).startswith("Today is 06 May 2030.")


def test_a_system_message_that_a_template_refuses_goes_before_the_prompt() -> None:
    """As that of Gemma 2, which no role could be told else; what it refuses besides is refused."""
    tokenizer = tiny_tokenizer(chat=True)
    refuses = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    )
    tokenizer.chat_template = refuses + CHAT
    assert (
        render_prompt(tokenizer, "m", "Hi.", "Be brief.", True)
        == "<s>[user] Be brief.\n\nHi.\n[assistant] "
    )
    assert render_prompt(tokenizer, "m", "Hi.", None, True) == "<s>[user] Hi.\n[assistant] "
    tokenizer.chat_template = CHAT
    assert (
        render_prompt(tokenizer, "m", "Hi.", "Be brief.", True)
        == "<s>[system] Be brief.\n[user] Hi.\n[assistant] "
    )
    tokenizer.chat_template = "{{ raise_exception('nothing at all') }}"
    for system in (None, "Be brief."):
        with pytest.raises(UserError, match=r"does not take a prompt \(nothing at all\)"):
            render_prompt(tokenizer, "m", "Hi.", system, True)


def test_options_that_change_nothing_are_said(
    tmp_path: Path, store: RowStore, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = "tiny: its chat template writes the same without enable_thinking, thinking"
    for template, said in ((CHAT, 1), (THINKS, 0)):
        model = model_of(saved(tmp_path / f"m{said}", template=template), store, thinking="off")
        assert model.backend
        assert capsys.readouterr().err.count(idle) == said


@pytest.mark.parametrize(
    ("template", "writes"), [(CHAT, False), (DATED, True), (TOOLS, False)], ids=range(3)
)
def test_two_clocks_tell_whether_the_day_is_in_the_key(
    tmp_path: Path, store: RowStore, template: str, writes: bool
) -> None:
    folder = saved(tmp_path / "m", template=template)
    assert writes_day(folder, ChatSettings()) is writes
    plain, later = (
        model_of(folder, store, **own) for own in ({}, {"now": datetime.date(2030, 5, 6)})
    )
    assert json.loads(plain.engine).get("now") == (NOW.isoformat() if writes else None)
    assert (plain.engine == later.engine) is not writes
    # The template may also stand among the tokenizer's settings.
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"chat_template": template}))
    (folder / "chat_template.jinja").unlink()
    assert json.loads(model_of(folder, store).engine).get("now") == (
        NOW.isoformat() if writes else None
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "causal", "thinking": "off"}, "`thinking` belongs to models that chat"),
        ({"kind": "causal", "now": datetime.date(2030, 1, 1)}, "`now` belongs to models that chat"),
        ({"kind": "causal", "timeout": 3}, "`timeout` belongs to the kinds chat and completions"),
        ({"kind": "masked", "new_tokens": 3}, "`new_tokens` belongs to models that generate"),
        ({"kind": "causal", "chat": True, "thinking": "on"}, "off"),
    ],
)
def test_what_an_entry_cannot_say(entry: dict[str, Any], words: str) -> None:
    from evenruler.models.declarations import ModelEntry

    with pytest.raises(ValueError, match=words):
        ModelEntry.model_validate({"source": "local:m", "licence": "x", "origin": "x", **entry})


def test_as_it_is_written_in_yaml(tmp_path: Path) -> None:
    from evenruler.declaration.params_file import ParamsFile

    own = "{kind: causal, source: 'local:m', chat: true, licence: x, origin: x, "
    settings = "thinking: off, now: 2026-02-03, template: {a: [1, b]}, effort: low, new_tokens: 9}"
    (tmp_path / "params.yaml").write_text(
        f"models:\n  m: {own}{settings}\n  n: {own}thinking: {{tokens: 7}}}}\n"
    )
    models = ParamsFile(tmp_path / "params.yaml").catalogue.models
    assert models["m"].now == datetime.date(2026, 2, 3)
    assert models["m"].options == {
        "enable_thinking": False,
        "thinking": False,
        "reasoning_effort": "low",
        "a": [1, "b"],
    }
    assert models["m"].in_key == {"thinking": "off", "effort": "low", "template": {"a": [1, "b"]}}
    assert models["n"].thoughts == Thinking(tokens=7)
    assert models["n"].in_key == {"thinking": {"end": "</think>", "tokens": 7}}
