import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML

from evenruler.instruments.questionnaires.declare.source import Item, Scale, load_questionnaire
from evenruler.instruments.questionnaires.drafting import (
    EXAMPLES,
    REPLIES,
    SAMPLING,
    Questions,
    as_yaml,
    draft,
    first_that_chats,
    prompt,
    questions_of,
    read,
)
from evenruler.models import catalogue
from evenruler.models.declared import Catalogue

ROOT = Path(__file__).parents[3]
SCALES = ROOT / "data/sources/questionnaires/shared/scales"

SCALE = Scale.model_validate(
    {
        "title": "Three",
        "source": "by hand",
        "levels": [{"weight": -4, "words": ["never"]}, {"weight": 3, "words": ["quite often", "always"]}],
    }
)

TENSE = """ Before work I have felt {TERM}.
Hypothesis: I {INTENSIFIER} feel like it.
Same: tense, on edge, Tense
Opposite: calm, at ease.

Question: Trains are early.
Premise: Trains are {TERM}."""


def changed(old: str, new: str) -> str:
    assert old in TENSE
    return TENSE.replace(old, new)


class Writer:
    """No model: says what a test wrote down, by question and seed; else nothing."""

    name = "scripted"

    def __init__(self, replies: Mapping[str, Sequence[str]]) -> None:
        """Take the first replies to each question."""
        self.replies = replies
        self.require = ("loglikelihood", "generate").index
        self.asked: list[tuple[str, int]] = []
        self.settings: list[object] = []

    def generate(
        self, prompts: Sequence[str], *, sampling: Any, seeds: Sequence[int], chat: bool | None = None
    ) -> list[str]:
        self.settings.append((sampling, chat))
        given = [text.splitlines()[-2].removeprefix("Question: ") for text in prompts]
        self.asked += zip(given, seeds, strict=True)
        return [
            self.replies[question][seed] if seed < len(self.replies.get(question, ())) else ""
            for question, seed in zip(given, seeds, strict=True)
        ]


class Embedder:
    """Texts with "near" lie along the first axis, others at 60 degrees to it."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self.require = ("embed",).index
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.array([[1, 0] if "near" in text or "?" in text else [0.5, 0.75**0.5] for text in texts], np.float32)


QUESTIONS = Questions.model_validate({"title": "Moods", "items": {"tense": "Are you tense?", "alone": "Alone?"}})


class TestPrompt:
    def test_the_examples_and_then_the_question(self) -> None:
        said = prompt("Are you tense?")
        assert said.startswith(
            "Question: I find my keys at once.\n"
            "Premise: When I look for my keys, I find them {TERM}.\n"
            "Hypothesis: This {INTENSIFIER} happens.\n"
            "Same: at once, quickly, easily\n"
            "Opposite: after a long search, slowly, with difficulty\n\n"
        )
        assert said.endswith("\n\nQuestion: Are you tense?\nPremise:")

    def test_the_examples_pass_the_linter(self) -> None:
        for question, premise, hypothesis, same, opposite in (example.values() for example in EXAMPLES):
            terms = {"source": same.split(", "), "inverse": opposite.split(", ")}
            item = {"original": question, "premise": premise, "hypothesis": hypothesis, "terms": terms}
            assert Item.model_validate(item).premise == premise


class TestRead:
    def test_an_item(self) -> None:
        found = read(TENSE, "Are you tense?", SCALE)
        assert (found.original, found.premise, found.hypothesis, found.keying) == (
            "Are you tense?",
            "Before work I have felt {TERM}.",
            "I {INTENSIFIER} feel like it.",
            1,
        )
        assert list(found.terms.source.values()) == ["tense", "on edge"]
        assert list(found.terms.inverse.values()) == ["calm", "at ease"]

    def test_at_most_four_terms_a_side_and_none_that_is_a_sentence(self) -> None:
        reply = changed("calm, at ease.", "calm, free from all that he had feared, a, b, c, d")
        assert list(read(reply, "?", SCALE).terms.inverse.values()) == ["calm", "a", "b", "c"]

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            ("", "no line 'Premise'"),
            (" I am tense.", "no line 'Hypothesis'"),
            (changed("Opposite: calm, at ease.", "Opposite:"), "no line 'Opposite'"),
            (changed("calm, at ease.", "calm"), "fewer than 2 inverse terms"),
            (changed("calm, at ease.", "calm, 2 cool"), "fewer than 2 inverse terms"),
            (changed("felt {TERM}", "felt it"), "premise and hypothesis hold {TERM} 0 times together, expected once"),
            (changed("felt {TERM}", "felt {WORD}"), "unknown slot {WORD}; did you mean '{TERM}'?"),
            (changed("calm, at ease.", "calm, tense"), "'tense' is both a source and an inverse term"),
            (changed("calm, at ease.", "calm, work"), "the term 'work' stands in a template, which should be neutral"),
            (changed("Before work", "Always"), "the intensifier 'always' stands in a template"),
            (
                changed("I {INTENSIFIER} feel", "It {INTENSIFIER} feel"),
                "'It {INTENSIFIER} feel': subject and verb do not agree",
            ),
            (
                changed("Before work I have felt {TERM}.", EXAMPLES[2]["Premise"]).replace(
                    "I {INTENSIFIER} feel like it.", EXAMPLES[2]["Hypothesis"]
                ),
                "repeats an example",
            ),
        ],
    )
    def test_what_is_none_says_why(self, reply, reason) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
            read(reply, "Are you tense?", SCALE)


class TestDraft:
    def test_the_nearest_that_passes_is_taken_and_the_others_are_told(self) -> None:
        near = changed("Before work", "Near work")
        writer = Writer({"Are you tense?": [TENSE, near.replace("Near", "near"), "gone wrong", TENSE]})

        found = draft(writer, Embedder(), QUESTIONS, SCALE)

        assert found["tense"].item is not None
        assert found["tense"].item.premise == "near work I have felt {TERM}."
        assert found["tense"].nearness == pytest.approx(1.0)
        assert [(own.seed, own.reason) for own in found["tense"].refused] == [
            (seed, "no line 'Hypothesis'" if seed == 2 else "no line 'Premise'") for seed in (2, 4, 5, 6, 7)
        ]
        assert (found["alone"].item, found["alone"].nearness, len(found["alone"].refused)) == (None, None, REPLIES)

    def test_nearness_is_the_mean_over_source_prompts_beside_the_stem(self) -> None:
        embedder = Embedder()
        questions = Questions.model_validate({"title": "M", "stem": "How often", "items": {"tense": "Are you tense?"}})
        # One of two source terms makes a text near: (1 + 1/2) / 2.
        found = draft(Writer({"Are you tense?": [changed("on edge", "near")]}), embedder, questions, SCALE)
        assert found["tense"].nearness == pytest.approx(0.75, abs=1e-6)
        assert embedder.texts[:2] == [
            "How often Are you tense?",
            "Before work I have felt tense. I never feel like it.",
        ]
        assert len(embedder.texts) == 1 + 2 * 3

    def test_every_question_is_asked_as_often_with_seeds_of_its_own_and_not_in_a_chat(self) -> None:
        writer = Writer({})
        draft(writer, Embedder(), QUESTIONS, SCALE)
        asked = [(question, seed) for question in ("Are you tense?", "Alone?") for seed in range(REPLIES)]
        assert writer.asked == asked
        assert writer.settings == [(SAMPLING, False)]


def drafted(replies: Mapping[str, Sequence[str]]) -> str:
    return as_yaml(draft(Writer(replies), Embedder(), QUESTIONS, SCALE), "scripted")


class TestYaml:
    def test_it_reads_back_as_items_with_the_refused_as_comments(self) -> None:
        text = drafted({"Are you tense?": [TENSE, "some: 'odd' \"text\"\nhere"]})

        content = YAML(typ="safe").load(text)
        assert content == {
            "unread": True,
            "items": {
                "tense": {
                    "original": "Are you tense?",
                    "premise": "Before work I have felt {TERM}.",
                    "hypothesis": "I {INTENSIFIER} feel like it.",
                    "terms": {"source": ["tense", "on edge"], "inverse": ["calm", "at ease"]},
                }
            },
        }
        lines = text.splitlines()
        assert lines[:2] == [
            "# Proposed by scripted, a language model; nobody has read it.",
            "# 1 of 2 questions have one of 8 replies that passes the linter.",
        ]
        assert "    # refused, seed 1: no line 'Hypothesis': \"some: 'odd' \\\"text\\\" | here\"" in lines
        assert '  # alone: nothing that was proposed passes; "Alone?"' in lines

    def test_where_nothing_passes_it_is_yaml_still(self) -> None:
        assert YAML(typ="safe").load(drafted({})) == {"unread": True, "items": {}}

    def test_no_questionnaire_loads_it_unread(self, tmp_path, error_of) -> None:
        written = (ROOT / "data/sources/questionnaires/gad-7.yaml").read_text()
        head, items = written[: written.index("items:\n")], drafted({"Are you tense?": [TENSE]})
        path = tmp_path / "moods.yaml"
        path.write_text(head + items)
        assert error_of(load_questionnaire, path, SCALES).startswith(f"{path}: unread: unknown key 'unread'; ")

        path.write_text(head + items.replace("unread: true\n", ""))
        assert list(load_questionnaire(path, SCALES)[0].items) == ["tense"]


class TestQuestions:
    def test_those_of_a_questionnaire(self) -> None:
        path = ROOT / "data/sources/questionnaires/gad-7.yaml"
        found = questions_of(path, load_questionnaire(path, SCALES)[0])
        assert found.stem == "Over the last 2 weeks, how often have you been bothered by the following problems?"
        assert (len(found.items), found.items["item-4-relax"]) == (7, "Trouble relaxing")

    def test_those_of_a_file(self, tmp_path, error_of) -> None:
        path = tmp_path / "moods.yaml"
        path.write_text("title: Moods\nitems: {tense: Are you tense?}\n")
        assert questions_of(path) == Questions(title="Moods", items={"tense": "Are you tense?"})
        path.write_text("title: Moods\nitems: {}\n")
        assert error_of(questions_of, path).startswith(f"{path}: items: found {{}}")


class TestWriter:
    def test_the_first_model_in_use_that_chats(self, shipped_params) -> None:
        in_use = ["all-minilm-l6-v2", "gemma-3-270m", "gone", "smollm2-135m-instruct"]
        assert first_that_chats(in_use, shipped_params) == "smollm2-135m-instruct"

    def test_where_none_chats_that_is_one_line(self, shipped_params, error_of) -> None:
        assert error_of(first_that_chats, ["gemma-3-270m"], shipped_params) == (
            "params.yaml: active.ask: no model in use has `chat: true`; name a causal one with --model"
        )


class TestCommand:
    @pytest.fixture
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        shutil.copy(ROOT / "params.yaml", tmp_path)
        shutil.copytree(ROOT / "data/sources", tmp_path / "data/sources")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
        return tmp_path

    @pytest.fixture
    def run(self, repository, monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
        from evenruler import cli

        def called(*words: str) -> tuple[int, str, str]:
            monkeypatch.setattr(sys, "argv", ["evenruler", "draft-items", *words])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            out, err = capsys.readouterr()
            return int(ended.value.code or 0), out, err

        return called

    def test_it_writes_one_file_where_it_is_called(self, run, repository, monkeypatch) -> None:
        asked = []

        def scripted(name: str, params: Catalogue) -> Any:
            asked.append(name)
            return Embedder() if name == "all-minilm-l6-v2" else Writer({"Trouble relaxing": [TENSE]})

        monkeypatch.setattr(catalogue, "load", scripted)
        before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
        monkeypatch.chdir(repository / "data")

        status, out, err = run("gad-7")

        assert (status, err) == (0, "")
        assert out == "gad-7.draft.yaml: 1 of 7 questions have an item that passes the linter; read every word\n"
        written = repository / "data/gad-7.draft.yaml"
        assert list(YAML(typ="safe").load(written.read_text())["items"]) == ["item-4-relax"]
        assert asked == ["smollm2-135m-instruct", "all-minilm-l6-v2"]
        now = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file() and path != written}
        assert now == before

        monkeypatch.chdir(repository / "data")
        (repository / "data/mine.yaml").write_text("title: Mine\nitems: {relax: Trouble relaxing}\n")
        assert run("mine.yaml", "--model", "gemma-3-270m")[1].startswith("mine.draft.yaml: 1 of 1 questions")
        assert asked[2:] == ["gemma-3-270m", "all-minilm-l6-v2"]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ("gad-8",),
                "data/sources/questionnaires/gad-8.yaml: no source for the questionnaire 'gad-8'; "
                "did you mean 'gad-7'?; write the file",
            ),
            (("mine.yaml",), "mine.yaml: no such file; create it or mend the name"),
            (
                ("gad-7", "--model", "all-minilm-l6-v2"),
                "params.yaml: models.all-minilm-l6-v2: all-minilm-l6-v2 (kind embedder) cannot loglikelihood, only ",
            ),
            (
                ("gad-7", "--model", "smollm2"),
                "params.yaml: models: no model 'smollm2'; mend the name (did you mean 'smollm3-3b'?)",
            ),
        ],
    )
    def test_a_mistake_is_one_line_and_status_two(self, run, words, message) -> None:
        status, out, err = run(*words)

        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"error: {message}")
