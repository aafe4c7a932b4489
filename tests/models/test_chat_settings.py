"""How chats are written: templates with options and a day, and thoughts of a local model, split on
tokens."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import torch

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
def test_an_answer_stands_after_the_last_thought(text, opened, whole, answer) -> None:
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


@pytest.mark.parametrize("special", [(), ("</think>",)], ids=str)
def test_thoughts_end_where_their_tokens_do(special) -> None:
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
    lengths = range(1, len(whole) + 1)
    assert [n for n in lengths if thoughts.ends(whole, n)] == [place]
    assert thoughts.answer(whole, is_whole=True, opened=True) == after
    assert thoughts.answer([*before, *after], is_whole=True, opened=True) is None
    assert thoughts.answer(after, is_whole=True, opened=False) == after
    assert thoughts.answer(after, is_whole=False, opened=False) is None  # all the room, and no end
    assert thoughts.answer(whole * 2, is_whole=True, opened=False) == after


def test_a_thought_may_not_take_more_than_the_whole() -> None:
    thoughts = ThoughtParser(tiny_tokenizer(), Thinking(tokens=10), answer=5)
    for place, last in ((0, 9), (3, 7), (12, 14)):
        assert not thoughts.is_over(last, place)
        assert thoughts.is_over(last + 1, place)


# Models


class Scripted:
    """In place of drawing: each reply is what stands in a script, then the end token."""

    def __init__(self, tokenizer: Any, replies: list[str]) -> None:
        self.rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in replies]
        self.end = tokenizer.convert_tokens_to_ids(EOS)

    def token(self, row: int, n: int) -> int:
        tokens = self.rows[row]
        return tokens[n] if n < len(tokens) else self.end


def scripted(model: Model, monkeypatch: pytest.MonkeyPatch, replies: dict[str, str]) -> None:
    """Have the model write a text after each prompt; its tokens come in place of those that are
    drawn."""
    tokenizer = model.backend.tokenizer
    script = Scripted(tokenizer, list(replies.values()))
    row_by_prompt = {f"] {prompt}\n": row for row, prompt in enumerate(replies)}

    def row_of(text: str) -> int:
        return next(row for prompt, row in row_by_prompt.items() if prompt in text)

    class Written(RowSampler):
        step = 0

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            if not self.step:
                texts = tokenizer.batch_decode(input_ids, skip_special_tokens=True)
                self.rows = list(map(row_of, texts))
            tokens = torch.tensor([[script.token(row, self.step)] for row in self.rows])
            self.step += 1
            return torch.full_like(scores, -torch.inf).scatter_(1, tokens, 0.0)

    monkeypatch.setattr(sampling, "RowSampler", Written)


def test_two_budgets_and_an_answer_without_its_thought(tmp_path, store, monkeypatch) -> None:
    model = model_of(saved(tmp_path / "m"), store, thinking={"tokens": 30})
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
    replies = model.replies(["soon", "long", "cut", "end"], sampling=sampling)
    assert str(replies[0].text).startswith("Ye")
    assert replies[1] == Reply(None, reason, "length")
    assert replies[2].text == "Perh"
    assert replies[2].finish == "length"
    assert replies[3] == Reply(
        None, reason, "stop"
    )  # the template began a thought, which never ended


def test_a_real_loop_stops_where_the_budgets_end(tmp_path, store) -> None:
    """Of random weights: as without budgets, cut by them; in any company."""
    folder = saved(tmp_path / "m")
    backend = model_of(folder, store).backend
    prompts = [(1, 5, 7), (1, 5, 9, 11), (1, 8), (1, 4)]
    seeds, settings = [1, 2, 3, 4], Sampling(35)
    whole = sampling.generate_batch(backend.model, prompts, seeds, settings)
    texts = map(backend.tokenizer.decode, whole[0][:20])
    characters = (text for text in texts if len(text) == 1)
    end = next(filter(str.isascii, characters))
    thoughts = ThoughtParser(backend.tokenizer, Thinking(end=end, tokens=30), 5)
    assert thoughts.most == 35

    cut = sampling.generate_batch(backend.model, prompts, seeds, settings, thoughts)

    for unbounded, tokens in zip(whole, cut, strict=True):
        assert tokens == unbounded[: len(tokens)]
    alone = [
        sampling.generate_batch(backend.model, [prompt], [seed], settings, thoughts)[0]
        for prompt, seed in zip(prompts, seeds, strict=True)
    ]
    assert alone == cut
    assert len({len(tokens) for tokens in cut}) > 1


def test_a_model_that_nobody_says_thinks_keeps_its_key_and_loses_its_thoughts(
    tmp_path, store, monkeypatch
) -> None:
    model = model_of(saved(tmp_path / "m", template=CHAT, special=()), store)
    assert {"thinking", "template", "effort", "now"}.isdisjoint(json.loads(model.engine))
    scripted(
        model,
        monkeypatch,
        {"one": "<think>so</think> Yes.", "two": "<think>so it goes on", "three": "Yes."},
    )
    reason = f"{CUT} (0 tokens to think in): say `--thinking 4096` or `--thinking off`"
    answer = Reply("Yes.", None, "stop")
    replies = model.replies(["one", "two", "three"], sampling=Sampling(40))
    assert replies == [answer, Reply(None, reason, "stop"), answer]


def test_a_text_that_is_continued_has_no_thoughts(tmp_path, store) -> None:
    folder = saved(tmp_path / "m")
    thinking = model_of(folder, store, thinking={"tokens": 30})
    plain = model_of(folder, store)
    prompts, sampling = ["The man", "x"], Sampling(6)
    replies = thinking.replies(prompts, sampling=sampling, chat=False)
    assert replies == plain.replies(prompts, sampling=sampling, chat=False)
    assert thinking.asked == plain.asked == 2


def test_likelihoods_in_a_chat_are_refused_while_it_thinks(tmp_path, store, error_of) -> None:
    folder = saved(tmp_path / "m")
    model = model_of(folder, store, thinking={"tokens": 9})
    question = ["The man is"], [" a"], True
    message = error_of(model.whole_words, *question)
    assert message == (
        "params.yaml: models.tiny.thinking: likelihoods of what tiny says first in a chat are "
        "those of its thoughts; "
        "say `off`, or --thinking off"
    )
    assert model.whole_words(["The man is"], [" a"]).nats.shape == (1,)
    off = model_of(folder, store, thinking="off").whole_words(*question)
    unset = model_of(folder, store).whole_words(*question)
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


def test_options_that_change_nothing_are_said(tmp_path, store, capsys) -> None:
    idle = "tiny: its chat template writes the same without enable_thinking, thinking"
    for template, n_notes in ((CHAT, 1), (THINKS, 0)):
        model = model_of(saved(tmp_path / f"m{n_notes}", template=template), store, thinking="off")
        assert model.backend
        assert capsys.readouterr().err.count(idle) == n_notes


@pytest.mark.parametrize(("template", "writes"), [(DATED, True), (TOOLS, False)], ids=range(2))
def test_two_clocks_tell_whether_the_day_is_in_the_key(tmp_path, store, template, writes) -> None:
    folder = saved(tmp_path / "m", template=template)
    assert writes_day(folder, ChatSettings()) is writes
    plain = model_of(folder, store)
    later = model_of(folder, store, now=datetime.date(2030, 5, 6))
    expected = NOW.isoformat() if writes else None
    assert json.loads(plain.engine).get("now") == expected
    assert (plain.engine == later.engine) is not writes
    # The template may also stand among the tokenizer's settings.
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) | {"chat_template": template}
    path.write_text(json.dumps(settings))
    (folder / "chat_template.jinja").unlink()
    assert json.loads(model_of(folder, store).engine).get("now") == expected


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "causal", "thinking": "off"}, "`thinking` belongs to models that chat"),
        ({"kind": "causal", "timeout": 3}, "`timeout` belongs to the kinds chat and completions"),
        ({"kind": "masked", "new_tokens": 3}, "`new_tokens` belongs to models that generate"),
    ],
)
def test_what_an_entry_cannot_say(entry, words) -> None:
    from evenruler.models.declarations import ModelEntry

    with pytest.raises(ValueError, match=words):
        ModelEntry.model_validate({"source": "local:m", "licence": "x", "origin": "x", **entry})


def test_as_it_is_written_in_yaml(tmp_path) -> None:
    from evenruler.declaration.params_file import ParamsFile

    entry_start = "{kind: causal, source: 'local:m', chat: true, licence: x, origin: x, "
    settings = "thinking: off, now: 2026-02-03, template: {a: [1, b]}, effort: low, new_tokens: 9}"
    (tmp_path / "params.yaml").write_text(
        f"models:\n  m: {entry_start}{settings}\n  n: {entry_start}thinking: {{tokens: 7}}}}\n"
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
