"""Who rewords templates: models, and replies that were kept."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.instruments.probes.evolve import EvolutionRun, merge_replies, replies_as_jsonl
from evenruler.instruments.probes.evolve.evolution import Evolution
from evenruler.instruments.probes.evolve.operators import (
    NEGATING,
    PLAIN,
    REPLACED,
    TEMPERATURE,
    TOP_P,
    VOICES,
    WORD_TOKENS,
    ModelOperator,
    OperatorSettings,
    ReplayedOperator,
    chat_instruction,
    few_shot_prompt,
    key_of,
)
from evenruler.instruments.probes.evolve.population import (
    RewordingRequest,
    Template,
    TemplateMeter,
    WordGradient,
)
from evenruler.instruments.probes.evolve.validation import read_reply, rejection_reason
from evenruler.instruments.probes.schemas import GUIDED
from evenruler.models import Sampling
from tests.instruments.probes.evolve.test_evolution import (
    START,
    any_grammar,
    embed,
    lines,
    model,
    settings,
)
from tests.instruments.probes.evolve.toy import toy_source
from tests.instruments.probes.whole import Everything

SOURCES = Path(__file__).parents[4] / "data" / "sources" / "probes"
TEXT = "Most people expect an {ATTRIBUTE} to be a {TARGET}."
ODD = "It seems odd to me when an {ATTRIBUTE} is a {TARGET}."


def whole(voice: str = "anecdote", text: str = TEXT) -> RewordingRequest:
    return RewordingRequest(
        1,
        Template("most", text, 1),
        "reword",
        voice,
        None,
    )


def word(word: str = "expect", text: str = TEXT) -> RewordingRequest:
    gradient = WordGradient(text.index(word), word, 0.5)
    return RewordingRequest(
        1,
        Template("most", text, 1),
        "hotspot",
        None,
        gradient,
    )


class EchoingWriter:
    """A model whose reply says which prompt of which call it answers, with which seed."""

    name = "echoing"

    def __init__(self) -> None:
        self.calls: list[tuple[int, Sampling, bool | None]] = []

    def generate(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        seeds: Sequence[int] | None = None,
        system: str | Sequence[str | None] | None = None,
        chat: bool | None = None,
    ) -> list[str]:
        self.calls.append((len(prompts), sampling, chat))
        assert seeds is not None
        assert system is None
        return [f"{seed}: {prompt}" for prompt, seed in zip(prompts, seeds, strict=True)]


class TestModelOperator:
    def test_each_wish_gets_its_own_reply_in_order_one_call_for_each_length(self):
        writer = EchoingWriter()
        operator = ModelOperator(writer, OperatorSettings(48, few_shot=True))
        voices = (whole("fit"), whole("choice"), whole("fit"))
        wishes = [
            voices[0],
            word(),
            voices[1],
            word("people"),
            voices[2],
        ]
        expected = []
        for seed, wish in enumerate(wishes):
            prompt = few_shot_prompt(wish, seed)
            expected.append((prompt, f"{seed}: {prompt}"))
        assert operator.reword(wishes, range(5)) == expected
        assert writer.calls == [
            (2, Sampling(WORD_TOKENS, TEMPERATURE, TOP_P), False),
            (3, Sampling(48, TEMPERATURE, TOP_P), False),
        ]

    def test_a_model_that_is_told_gets_all_in_one_call_of_its_chat(self):
        writer = EchoingWriter()
        operator = ModelOperator(writer, OperatorSettings(48, few_shot=False))
        whole_prompt, word_prompt = chat_instruction(whole()), chat_instruction(word())
        assert operator.reword([whole(), word()], [1, 2]) == [
            (whole_prompt, f"1: {whole_prompt}"),
            (word_prompt, f"2: {word_prompt}"),
        ]
        assert writer.calls == [(2, Sampling(48, TEMPERATURE, TOP_P), True)]


class TestExamples:
    @pytest.mark.parametrize(
        ("text", "examples"),
        [
            (TEXT, PLAIN[:3]),
            ("We find that a {TARGET} is {ATTRIBUTE}.", PLAIN[3:]),
            ("I hear the word {ATTRIBUTE} and see a {TARGET}.", PLAIN),
            (ODD, NEGATING[:3]),
            ("It would be odd if a {TARGET} were {ATTRIBUTE}.", NEGATING[3:]),
            ("I never heard the word {ATTRIBUTE} from a {TARGET}.", NEGATING),
        ],
    )
    def test_examples_negate_as_the_template_and_are_of_its_kind(self, text, examples):
        prompt = few_shot_prompt(whole(text=text), 0)
        assert [other for other in (*PLAIN, *NEGATING) if other in prompt] == list(examples)

    def test_every_example_would_be_taken_as_a_reply(self):
        for voice, text in product(VOICES, PLAIN + NEGATING):
            wish = whole(voice, text)
            for seed, opening in enumerate(VOICES[voice]["openings"]):
                prompt = few_shot_prompt(wish, seed)
                _, _, after = prompt.partition(f"Sentence: {text}\n")
                reply, _, _ = after.partition("\n")
                label = VOICES[voice]["label"]
                reworded, _ = read_reply(wish, reply.removeprefix(f"{label}: "))
                assert reworded is not None, reply
                assert reworded.startswith(opening), reply
                assert rejection_reason(reworded, wish, (), 30) is None, reply

    def test_no_example_is_a_shipped_template(self):
        shipped = "".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*.yaml"))
        assert shipped
        for text in (*PLAIN, *NEGATING, *(text for text, _, _ in REPLACED)):
            assert text not in shipped


__all__ = ["any_grammar"]

ASKING = OperatorSettings(48, few_shot=True)


def run_with(operator: object, name: str = GUIDED) -> EvolutionRun:
    evolution = Evolution(
        TemplateMeter(model(), toy_source(), "agree", 2), operator, embed, settings(), name
    )  # type: ignore[arg-type]
    return EvolutionRun(name, evolution, tuple(evolution.generations(START)))


def write_replies(folder: Path, *lines: str) -> Path:
    path = folder / "mine-evolved.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_run_is_the_same_when_its_replies_are_said_again(tmp_path: Path) -> None:
    recorded = run_with(ModelOperator(Everything("toy"), ASKING))
    path = tmp_path / "mine.jsonl"
    path.write_text(replies_as_jsonl([recorded], ASKING))
    again = run_with(ReplayedOperator("toy", ASKING, path))
    assert lines(again.generations) == lines(recorded.generations)
    assert replies_as_jsonl([again], ASKING) == path.read_text()


def test_a_reply_that_was_not_kept_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        ReplayedOperator("toy", ASKING, write_replies(tmp_path)).reword(
            [whole()],
            [3],
        )
    assert str(error.value) == (
        f"{tmp_path / 'mine-evolved.jsonl'}: no reply of toy to what is asked about 'most'; "
        "run `evenruler evolve mine-evolved`"
    )


@pytest.mark.parametrize("line", ["{", '{"key": "a"}'])
def test_a_broken_file_is_one_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(UserError, match="no file of replies; run `evenruler evolve mine-evolved`"):
        ReplayedOperator("toy", ASKING, write_replies(tmp_path, line))


def test_keys_differ_by_all_that_is_asked() -> None:
    first, other = ("a", "p", 1, 48), ("b", "q", 2, 16)
    keys = {key_of(*first)}
    for place in range(4):
        question = list(first)
        question[place] = other[place]
        keys.add(key_of(*question))
    assert [len(key) for key in keys] == [16] * 5


def test_replies_are_added_to_those_of_a_file() -> None:
    recorded = '{"key": "a", "reply": "one"}\n{"key": "b", "reply": "two"}\n'
    new = '{"key": "c", "reply": "three"}\n{"key": "b", "reply": "another"}\n'
    assert merge_replies(recorded, new) == recorded + '{"key": "c", "reply": "three"}\n'
    assert merge_replies(recorded, recorded) == recorded
    assert merge_replies("", new) == new
