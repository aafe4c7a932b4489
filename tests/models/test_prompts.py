"""What reaches a local model: the tokens of chats, of the templates and tokenizers that people use,
made by hand."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from evenruler.models import load
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.likelihood import word_tokens
from evenruler.models.chat_settings import NOW, ChatSettings
from evenruler.models.loading import LoadedModel
from evenruler.models.questions import Prompt, Sampling, WordRequest
from evenruler.models.store import RowStore, keys_of
from evenruler.models.templates import message_layouts, render_prompt, writes_as_before
from tests.tiny import save_tiny, tiny_params, tiny_tokenizer

VOCABULARY = 700
PROMPT, SYSTEM = "Who cooks at home? Say he or she.", "You are a nurse."

# Tokenizers: each has every letter, so that nothing is unknown, and few merges.

LETTERS = [chr(code) for code in range(33, 127)]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(prefix_space: bool = False, digits: bool = False) -> Tokenizer:
    """As GPT-2, Qwen; with digits apart as Llama 3."""
    core: Tokenizer = tiny_tokenizer(bos=False).backend_tokenizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    core.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level]) if digits else level
    )
    return core


def sentencepiece(scheme: str, fallback: bool = True) -> Tokenizer:
    """As Llama 2 and Mistral: blanks are part of words; a space stands before the first word, each
    part, or none."""
    words = ["<unk>", *(BYTES if fallback else []), "▁", *LETTERS, "▁t", "he", "▁the"]
    merges = [
        ("▁", "t"),
        ("h", "e"),
        ("▁t", "he"),
    ]
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys(words))}
    core = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=fallback, fuse_unk=True)
    )
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return core


def gemma() -> Tokenizer:
    """No space before the first word; blanks are replaced."""
    core = sentencepiece("never")
    core.normalizer, core.pre_tokenizer = (
        normalizers.Replace(" ", "▁"),
        pre_tokenizers.Split(" ", "merged_with_previous"),
    )
    return core


@dataclass(frozen=True)
class Format:
    """A chat format: a tokenizer with its special tokens, and a template."""

    core: Callable[[], Tokenizer]
    template: str
    bos: str | None
    eos: str
    special: Sequence[str] = ()
    adds_start: bool = False
    """Whether the tokenizer puts its start token before plain texts."""
    options: ChatSettings = ChatSettings()  # noqa: RUF009  # frozen

    def tokenizer(self) -> PreTrainedTokenizerFast:
        core = self.core()
        core.add_special_tokens(
            [AddedToken(token, special=True) for token in (self.eos, self.bos) if token]
        )
        if self.adds_start and self.bos:
            ids = [(self.bos, core.token_to_id(self.bos))]
            core.post_processor = TemplateProcessing(single=f"{self.bos} $A", special_tokens=ids)
        unknown = {"unk_token": "<unk>"} if core.token_to_id("<unk>") is not None else {}
        start = {"bos_token": self.bos} if self.bos else {}
        fast = PreTrainedTokenizerFast(
            tokenizer_object=core, eos_token=self.eos, **start, **unknown
        )
        fast.add_special_tokens({"additional_special_tokens": list(self.special)})
        fast.chat_template = self.template
        return fast


def turns(line: str, opening: str, before: str = "") -> str:
    """A template that writes a line a message, and an opening for the reply."""
    loop = "{% for m in messages %}" + line + "{% endfor %}"
    return before + loop + "{% if add_generation_prompt %}" + opening + "{% endif %}"


ROLE, TEXT = "{{ m['role'] }}", "{{ m['content'] }}"
CHATML = turns(f"<|im_start|>{ROLE}\n{TEXT}<|im_end|>\n", "<|im_start|>assistant\n")
IM = ("<|im_start|>", "<|im_end|>")
INST = turns(
    "{% if m.role == 'system' %}{{ m.content }}\n\n{% else %}[INST] {{ m.content }} [/INST]{% "
    "endif %}",
    "",
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') "
    "}}{% endif %}"
)
HEADED = "<|head|>{{ m.role }}<|tail|>\n\n{{ m.content | trim }}<|eot|>"
THOUGHT = (
    "<|im_start|>assistant\n{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
)
NAMED = turns("{{ m.role }}: {{ m.content }} ", "assistant:")
PARTS = "{% for p in m.content %}{{ p.text }}{% endfor %}"


def sentencepiece_first() -> Any:
    return sentencepiece("first")


FORMATS = {
    "ChatML without a start token (Qwen)": Format(byte_level, CHATML, None, "<|im_end|>", IM),
    "ChatML whose first mark is the start token (SmolLM2)": Format(
        byte_level, CHATML, "<|im_start|>", "<|im_end|>"
    ),
    "ChatML before which a start token is added (Yi)": Format(
        byte_level, CHATML, "<s>", "</s>", IM, adds_start=True
    ),
    "thinking that is switched off (Qwen 3)": Format(
        byte_level,
        turns(f"<|im_start|>{ROLE}\n{TEXT}<|im_end|>\n", THOUGHT),
        None,
        "<|im_end|>",
        IM,
        options=ChatSettings(thinking="off"),
    ),
    "a start token that the template leaves out (Phi 3)": Format(
        sentencepiece_first,
        turns(f"<|{ROLE}|>\n{TEXT}<|end|>\n", "<|assistant|>\n"),
        "<s>",
        "</s>",
        ("<|user|>", "<|system|>", "<|assistant|>", "<|end|>"),
        adds_start=True,
    ),
    "a space before each part (Llama 2)": Format(
        lambda: sentencepiece("always"), "{{ bos_token }}" + INST, "<s>", "</s>", adds_start=True
    ),
    "no role system (Gemma 2)": Format(
        gemma,
        "{{ bos_token }}" + NO_SYSTEM + turns(f"<turn>{ROLE}\n{TEXT}</turn>\n", "<turn>model\n"),
        "<bos>",
        "<eos>",
        ("<turn>", "</turn>"),
        adds_start=True,
    ),
    "headers and the date (Llama 3)": Format(
        lambda: byte_level(digits=True),
        turns(
            HEADED,
            "<|head|>assistant<|tail|>\n\n",
            "{{ bos_token }}" + "{{ strftime_now('%d %b %Y') }}",
        ),
        "<|begin|>",
        "<|eot|>",
        ("<|head|>", "<|tail|>"),
        adds_start=True,
    ),
    "a space before every text (GPT-2)": Format(
        lambda: byte_level(prefix_space=True),
        turns(f"[{ROLE}] {TEXT}\n", "[assistant] "),
        "<|end|>",
        "<|end|>",
    ),
    "content in parts alone": Format(
        byte_level,
        turns(f"<|im_start|>{ROLE}\n{PARTS}<|im_end|>\n", "<|im_start|>assistant\n"),
        None,
        "<|im_end|>",
        IM,
    ),
    "a template without marks": Format(byte_level, turns(TEXT, ""), "<s>", "</s>"),
}


@pytest.fixture(scope="module")
def network() -> Any:
    """A random model, of so many tokens that every tokenizer here fits."""
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = AutoConfig.for_model(
        "llama", vocab_size=VOCABULARY, max_position_embeddings=512, **sizes
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(config).eval()


def backend_of(chat: Format, network: Any) -> Causal:
    return Causal("m", LoadedModel(chat.tokenizer(), network), "cpu", "float32", chat.options)


def answer_to(backend: Causal, request: WordRequest) -> Any:
    """The answer to a request alone."""
    packs = backend.words([request], wanted=frozenset([0]))
    ((_, answer),) = next(iter(packs))
    return answer


def chat_prompt(system: str | None = None) -> Prompt:
    return Prompt(PROMPT, Sampling(max_new_tokens=4), 0, system, True)


def right_tokens(chat: Format, system: str | None) -> list[int]:
    """What transformers gives a model: the template's text tokenised whole, in the layout that the
    template takes."""
    tokenizer = chat.tokenizer()
    how = {"add_generation_prompt": True, **chat.options.options}
    for layout in message_layouts(PROMPT, system):
        try:
            text = tokenizer.apply_chat_template(layout, tokenize=False, **how)
        except Exception:  # a template that refuses a role
            continue
        if PROMPT in text and (system or "") in text:
            return list(tokenizer.apply_chat_template(layout, return_dict=False, **how))
    raise AssertionError("no layout fits")


class TestChatTokens:
    @pytest.mark.parametrize("name", FORMATS)
    @pytest.mark.parametrize("system", [None, SYSTEM], ids=["alone", "with a system prompt"])
    def test_a_chat_is_what_its_template_writes(
        self, name: str, system: str | None, network: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Token by token, with nothing before them and nothing cut off."""
        chat = FORMATS[name]
        clock = SimpleNamespace(now=lambda: NOW)
        monkeypatch.setattr(chat_template_utils, "datetime", clock)  # ours has a day of its own
        right = right_tokens(chat, system)
        encoder = backend_of(chat, network).encoder
        (ours,), _ = encoder.encode_prompts([chat_prompt(system)], 4)
        assert list(ours) == right
        assert len(right) > len(PROMPT.split())

    @pytest.mark.parametrize(
        "name",
        [
            "a start token that the template leaves out (Phi 3)",
            "a space before each part (Llama 2)",
            "a space before every text (GPT-2)",
            "a template without marks",
        ],
    )
    def test_a_word_is_scored_after_these_tokens(self, name: str, network: Any) -> None:
        """Its log-probability is that of the plain model after the same tokens."""
        chat = FORMATS[name]
        tokenizer = chat.tokenizer()
        text = render_prompt(tokenizer, "m", PROMPT, None, True, chat.options)
        ((prompt, word),) = word_tokens(tokenizer, [text], [" she"])
        with torch.no_grad():
            logits = network(torch.tensor([[*prompt, *word]])).logits
        nats = logits.double().log_softmax(-1)[0, len(prompt) - 1 : -1]
        expected = (
            nats.gather(
                1,
                torch.tensor(word)[:, None],
            )
            .sum()
            .item()
        )
        answer = answer_to(backend_of(chat, network), WordRequest(" she", PROMPT, chat=True))
        assert answer[0] == pytest.approx(expected, abs=1e-4)

    def test_a_plain_text_begins_with_the_start(self, network: Any) -> None:
        chat = FORMATS["headers and the date (Llama 3)"]
        tokenizer = chat.tokenizer()
        prompt = Prompt(PROMPT, Sampling(max_new_tokens=4), 0)
        (ours,), _ = backend_of(chat, network).encoder.encode_prompts([prompt], 4)
        assert list(ours) == tokenizer(PROMPT)["input_ids"]  # this tokenizer adds its start itself
        assert ours[0] == tokenizer.bos_token_id

    def test_chats_without_a_common_first_token_are_scored_in_one_pack(self, network: Any) -> None:
        """A trie with several roots: each prompt is seen by itself."""
        backend = backend_of(FORMATS["a template without marks"], network)
        texts = ("Who cooks?", "he cooks", "The man is")
        requests = [WordRequest(" she", text, chat=True) for text in texts]
        (pack,) = backend.words(requests, wanted=frozenset(range(3)))
        for place, answer in pack:
            assert answer == pytest.approx(answer_to(backend, requests[place]), abs=1e-5)


def tokenizer_with(template: str) -> Any:
    tokenizer = tiny_tokenizer(chat=True)
    tokenizer.chat_template = template
    return tokenizer


SKIPS = turns("{% if m.role == 'user' %}[user] {{ m.content }}\n{% endif %}", "[assistant] ")
READS_PARTS = turns(f"[{ROLE}] {PARTS};", "[assistant] ")
STRIPS = turns("[{{ m.role }}] {{ m.content | trim }}\n", "")


class TestTheGate:
    """The prompt and the system prompt stand in what a template writes, and two renderings are
    equal."""

    @pytest.mark.parametrize(
        ("template", "system", "written"),
        [
            # As the first template of Phi 3 mini; roles of a benchmark would all be the same
            # prompt.
            (SKIPS, SYSTEM, f"[user] {SYSTEM}\n\n Hi. \n[assistant] "),
            (READS_PARTS, None, "[user]  Hi. ;[assistant] "),
            (READS_PARTS, SYSTEM, f"[system] {SYSTEM};[user]  Hi. ;[assistant] "),
            (STRIPS, f"\n{SYSTEM} ", f"[system] {SYSTEM}\n[user] Hi.\n"),
        ],
        ids=["skips the role system", "reads parts", "parts with a system prompt", "strips"],
    )
    def test_what_a_template_writes(self, template, system, written) -> None:
        assert render_prompt(tokenizer_with(template), "m", " Hi. ", system, True) == written

    @pytest.mark.parametrize("system", [None, SYSTEM])
    @pytest.mark.parametrize(
        ("template", "reason"),
        [
            ("hello", "what it writes does not hold the "),
            (turns(TEXT, "{{ range(100000) | random }}"), "it writes another text each time"),
            ("{{ raise_exception('only tools') }}", "only tools"),
        ],
        ids=["constant", "random", "raises"],
    )
    def test_what_does_not_reach_the_model_is_refused(
        self, template: str, reason: str, system, error_of
    ) -> None:
        line = error_of(render_prompt, tokenizer_with(template), "m", "Hi.", system, True)
        assert f"the chat template of m does not take a prompt ({reason}" in line

    def test_without_a_template_there_is_no_chat(self, error_of) -> None:
        line = error_of(render_prompt, tiny_tokenizer(), "m", "Hi.", None, True)
        assert "a chat is asked of a model without a chat template" in line

    def test_a_system_prompt_that_no_layout_keeps_is_refused(self, error_of) -> None:
        last = "{{ messages[-1].content.split('\n')[-1] }}"
        line = error_of(render_prompt, tokenizer_with(last), "m", "Hi.", SYSTEM, True)
        assert "(what it writes does not hold the system prompt)" in line


class TestStoredAnswers:
    """Answers to prompts that are other ones now are asked again; those to the same prompts are
    kept."""

    SAME = (
        "ChatML whose first mark is the start token (SmolLM2)",
        "no role system (Gemma 2)",
    )
    OTHER = (
        "ChatML without a start token (Qwen)",
        "ChatML before which a start token is added (Yi)",
        "content in parts alone",
    )

    @pytest.mark.parametrize("name", [*SAME, *OTHER])
    def test_where_the_tokens_are_those_of_before(self, name: str) -> None:
        chat = FORMATS[name]
        assert writes_as_before(chat.tokenizer(), chat.options) is (name in self.SAME)

    def test_a_template_that_skips_the_system_prompt_had_another_prompt(self) -> None:
        assert not writes_as_before(tokenizer_with("{{ bos_token }}" + SKIPS), ChatSettings())

    @pytest.mark.parametrize(
        ("template", "version"),
        [("{{ bos_token }}" + turns("[{{ m.role }}] {{ m.content }};", ""), 2), (NAMED, 3)],
        ids=["as before", "without its start"],
    )
    def test_the_version_of_an_operation_tells_them_apart(
        self, template: str, version: int, tmp_path: Path, store: RowStore
    ) -> None:
        folder = save_tiny(tmp_path / "m", chat=True)
        tokenizer_with(template).save_pretrained(folder)
        model = load(
            "m",
            tiny_params({"m": folder}, chat=True),
            store=store,
        )
        for chat in (True, False):
            model.whole_words(["Who?"], [" he"], chat=chat)
        model.generate(["Who?"], sampling=Sampling(2))
        prompt = asdict(Prompt("Who?", Sampling(2), 0, None, True))
        for operation, question in (
            (f"words/{version}", ["Who?", " he", True]),
            (f"generation/{version}", prompt),
            ("words/2", ["Who?", " he", False]),
        ):
            assert len(store.get(keys_of(model.engine, operation, [question]))) == 1
