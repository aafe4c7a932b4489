import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler.declared import Declared
from evenruler.instruments.questionnaires.build.translating import translate
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, Scale, load_questionnaire
from evenruler.instruments.questionnaires.drafting import (
    REPLIES,
    SAMPLING,
    Proposal,
    as_yaml,
    chosen,
    draft,
    first_that_chats,
    fits,
    parsed,
    prompt,
)
from evenruler.models import LogLikelihoods, catalogue
from evenruler.models.declared import Catalogue

ROOT = Path(__file__).parents[3]
SCALES = ROOT / "data/sources/questionnaires/shared/scales"
PATH = Path("data/sources/questionnaires/moods.yaml")
SHIPPED = Declared(ROOT / "params.yaml").catalogue

SCALE = Scale.model_validate(
    {
        "title": "Three",
        "source": "by hand",
        "levels": [{"weight": -4, "words": ["never"]}, {"weight": 3, "words": ["quite often", "always"]}],
    }
)
TENSE = {
    "original": "Feeling tense",
    "premise": "Before work I have felt {TERM}.",
    "hypothesis": "I {INTENSIFIER} feel like it.",
    "terms": {"source": ["tense", "on edge"], "inverse": ["calm"]},
}


def questionnaire(**items: Any) -> QuestionnaireSource:
    return QuestionnaireSource.model_validate(
        {
            "title": "Moods",
            "construct": "moods",
            "direction": "positive means tense",
            "original": {"name": "M-1", "licence": "cc0-1.0", "reference": "here", "wording": "held"},
            "source": "by hand",
            "licence": "cc-by-4.0",
            "items": items or {"tense": TENSE},
        }
    )


def item(**changes: Any) -> Any:
    return questionnaire(tense={**TENSE, **changes}).items["tense"]


class ScriptedModel:
    """No model: says what a test wrote down, in turn, and finds every letter of a text 1 nat less likely."""

    name = "scripted"

    def __init__(self, replies: Mapping[str, Sequence[str]]) -> None:
        """Take, by the words that synonyms are asked of, what the first replies are; all others are empty."""
        self.replies = replies
        self.require = ("loglikelihood", "generate").index
        self.asked: list[tuple[str, int]] = []
        self.settings: list[object] = []

    def generate(
        self, prompts: Sequence[str], *, sampling: Any, seeds: Sequence[int], chat: bool | None = None
    ) -> list[str]:
        self.settings.append((sampling, chat))
        given = [text.splitlines()[-1].removeprefix("Synonyms of ").removesuffix(":") for text in prompts]
        self.asked += zip(given, seeds, strict=True)
        return [
            self.replies[words][seed] if seed < len(self.replies.get(words, ())) else ""
            for words, seed in zip(given, seeds, strict=True)
        ]

    def loglikelihood(self, texts: Sequence[str]) -> LogLikelihoods:
        assert len(set(texts)) == len(texts)
        return LogLikelihoods(-np.array([float(len(text)) for text in texts]), np.ones(len(texts), dtype=np.int64))


REPLIED = {
    "tense, on edge": ["uneasy, jumpy\n\nSentence: more, of it", "Jumpy, keyed up, ill, cut o", "ill, relaxed,"],
    "calm": [" relaxed, serene, always at rest\n\n", "- serene\n- Quiet\n- very 'still'!\n"],
}


class TestPrompt:
    def test_the_examples_and_then_the_item(self) -> None:
        assert prompt(item(), "inverse", SCALE) == (
            "Sentence: The soup on the table is ____.\n"
            "Synonyms of hot, boiling: steaming, scalding, piping hot, burning\n\n"
            "Sentence: The street was ____ last night.\n"
            "Synonyms of quiet, silent: hushed, still, without a sound, soundless\n\n"
            "Sentence: He ____ the parcel at once.\n"
            "Synonyms of opened: unwrapped, unsealed, undid, tore open\n\n"
            "Sentence: Before work I have felt ____.\n"
            "Synonyms of calm:"
        )

    def test_a_term_that_stands_in_the_hypothesis_or_beside_the_intensifier(self) -> None:
        beside = item(premise="I go to work.", hypothesis="Then I am {INTENSIFIER} {TERM}.")

        assert prompt(beside, "source", SCALE).endswith(
            "\n\nSentence: Then I am always ____.\nSynonyms of tense, on edge:"
        )


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        (" uneasy, jumpy\n\nSentence: I am here.", ["uneasy", "jumpy"]),
        ("uneasy\njumpy\n\n", ["uneasy", "jumpy"]),
        ("1. Uneasy\n2) jumpy.\n- 'keyed up'\n", ["uneasy", "jumpy", "keyed up"]),
        ('* "ill"\n\u2022 sad;glad\n', ["ill", "sad", "glad"]),
        ("uneasy, jumpy, and ill at ease\n\n", ["uneasy", "jumpy", "ill at ease"]),
        ("uneasy, jum", ["uneasy"]),
        ("uneasy,", ["uneasy"]),
        ("what\u2019s up\n\n", ["what's up"]),
        ("\n\n uneasy\n\n", ["uneasy"]),
        ("uneasy", []),
        ("", []),
        (" ,,\n\n", []),
    ],
)
def test_a_reply_is_taken_apart(reply, entries) -> None:
    assert parsed(reply) == entries


class TestFits:
    @pytest.mark.parametrize(
        "word", ["uneasy", "ill at ease", "short-tempered", "a bit worn out", "na\u00efve", "what's up"]
    )
    def test_words_of_one_to_four(self, word) -> None:
        assert fits(word, item(), SCALE)

    @pytest.mark.parametrize(
        ("word", "why"),
        [
            ("a bit too worn out", "five words"),
            ("uneasy!", "punctuation"),
            ("at 100", "digits"),
            ("sentence: mine", "punctuation"),
            ("un  easy", "two blanks"),
            ("always uneasy", "an intensifier"),
            ("quite uneasy", "a word of an intensifier"),
            ("my term", "the name of a slot"),
            ("sick of work", "a word of the template"),
            ("feel", "a word of the template"),
            ("tense", "a source term"),
            ("calm", "an inverse term"),
            ("not calm", "holds a term"),
            ("edge", "stands in a term"),
            ("piping hot", "of the examples"),
            ("quiet", "of the examples"),
        ],
    )
    def test_what_does_not(self, word, why) -> None:
        assert not fits(word, item(), SCALE), why


class TestDraft:
    def test_more_replies_come_first_then_the_likelier_sentence(self) -> None:
        found = draft(ScriptedModel(REPLIED), questionnaire(), SCALE, ["tense"], 5)

        # The terms have 5 and 7 letters, on average 6. "relaxed" was proposed for both sides.
        assert found == {
            "tense": {
                "source": [
                    Proposal("ill", 2, 3.0),
                    Proposal("jumpy", 2, 1.0),
                    Proposal("uneasy", 1, 0.0),
                    Proposal("keyed up", 1, -2.0),
                ],
                "inverse": [Proposal("serene", 2, -2.0)],
            }
        }

    def test_n_are_kept_of_each_side(self) -> None:
        (found,) = draft(ScriptedModel(REPLIED), questionnaire(), SCALE, ["tense"], 2).values()

        assert [proposal.word for proposal in found["source"]] == ["ill", "jumpy"]
        assert [proposal.word for proposal in found["inverse"]] == ["serene"]

    def test_every_side_is_asked_as_often_with_seeds_of_its_own_and_not_in_a_chat(self) -> None:
        model = ScriptedModel({})

        draft(model, questionnaire(), SCALE, ["tense"], 5)

        assert model.asked == [(words, seed) for words in ("tense, on edge", "calm") for seed in range(REPLIES)]
        assert model.settings == [(SAMPLING, False)]

    def test_only_the_items_that_are_named_in_their_order(self) -> None:
        other = {**TENSE, "premise": "At night I am {TERM}.", "terms": {"source": ["awake"], "inverse": ["asleep"]}}
        model = ScriptedModel({"awake": ["restless\n"], **REPLIED})
        source = questionnaire(tense=TENSE, night=other, day={**other, "premise": "By day I am {TERM}."})

        found = draft(model, source, SCALE, ["night", "tense"], 1)

        assert {slug: [proposal.word for proposal in sides["source"]] for slug, sides in found.items()} == {
            "night": ["restless"],
            "tense": ["ill"],
        }
        assert list(found) == ["night", "tense"]

    def test_a_term_beside_the_intensifier_is_weighed_with_all_of_them(self) -> None:
        beside = {**TENSE, "premise": "I go there.", "hypothesis": "Then I am {INTENSIFIER} {TERM}."}

        class Partial(ScriptedModel):
            def loglikelihood(self, texts: Sequence[str]) -> LogLikelihoods:
                assert set(texts) == {
                    f"Then I am {how} {word}."
                    for how in ("never", "quite often", "always")
                    for word in ("tense", "on edge", "calm", "serene")
                }
                nats = [0.0 if "calm" in text else (3.0 if "never serene" in text else 6.0) for text in texts]
                return LogLikelihoods(np.array(nats), np.ones(len(texts), dtype=np.int64))

        found = draft(Partial({"calm": ["serene\n"]}), questionnaire(tense=beside), SCALE, ["tense"], 5)

        assert found["tense"]["inverse"] == [Proposal("serene", 1, 5.0)]

    def test_what_the_linter_refuses_is_left_out(self) -> None:
        """ "so" stands in the template, and the two items would ask the same of "jumpy"."""
        first = {**TENSE, "hypothesis": "I {INTENSIFIER} do so."}
        second = {**first, "terms": {"source": ["wary"], "inverse": ["brave"]}}
        model = ScriptedModel({"tense, on edge": ["so, jumpy\n"], "wary": ["jumpy, alert\n"]})

        found = draft(model, questionnaire(first=first, second=second), SCALE, ["first", "second"], 5)

        assert [proposal.word for proposal in found["first"]["source"]] == ["jumpy"]
        assert [proposal.word for proposal in found["second"]["source"]] == ["alert"]

    def test_a_name_that_another_term_has_is_not_taken(self) -> None:
        named = {**TENSE, "terms": {"source": {"ill": "tense", "on-edge": "on edge"}, "inverse": ["calm"]}}

        (found,) = draft(ScriptedModel(REPLIED), questionnaire(tense=named), SCALE, ["tense"], 5).values()

        assert [proposal.word for proposal in found["source"]] == ["jumpy", "uneasy", "keyed up"]


HEAD = f"""\
# Proposed by scripted, a language model; nobody has read it, and no file was changed. Read every proposal,
# delete what does not fit, and only then put `terms` of the item in the place of the one in
# {PATH}.
# Beside each: in how many of 16 replies it stood, and the log-likelihood of the item's sentence
# with it less the mean of that with the terms that are there, in nats.
"""


def drafted(source: QuestionnaireSource, replies: Mapping[str, Sequence[str]], n: int = 5) -> str:
    return as_yaml(draft(ScriptedModel(replies), source, SCALE, list(source.items), n), source, PATH, "scripted")


class TestYaml:
    def test_it_is_the_items_terms_with_the_proposals(self) -> None:
        assert drafted(questionnaire(), REPLIED) == HEAD + (
            "items:\n"
            "  tense:\n"
            "    terms:\n"
            "      source:\n"
            "        - tense\n"
            "        - on edge\n"
            "        # proposed:\n"
            "        - ill # 2 of 16 replies, +3.0 nats\n"
            "        - jumpy # 2 of 16 replies, +1.0 nats\n"
            "        - uneasy # 1 of 16 replies, +0.0 nats\n"
            "        - keyed up # 1 of 16 replies, -2.0 nats\n"
            "      inverse:\n"
            "        - calm\n"
            "        # proposed:\n"
            "        - serene # 2 of 16 replies, -2.0 nats\n"
        )

    def test_terms_that_have_other_names_keep_them_and_odd_ones_are_quoted(self) -> None:
        odd = {"source": {"wired": "on: edge"}, "inverse": ["No", 'at 9 o\'clock, "calm"', "2 cool"]}
        source = questionnaire(**{"1st": {**TENSE, "terms": odd}})

        assert drafted(source, {"on: edge": ["null, ill at ease\n"]}) == HEAD + (
            "items:\n"
            '  "1st":\n'
            "    terms:\n"
            "      source:\n"
            '        wired: "on: edge"\n'
            "        # proposed:\n"
            '        "null": "null" # 1 of 16 replies, +4.0 nats\n'
            "        ill-at-ease: ill at ease # 1 of 16 replies, -3.0 nats\n"
            "      inverse:\n"
            '        - "No"\n'
            '        - "at 9 o\'clock, \\"calm\\""\n'
            '        - "2 cool"\n'
            "        # nothing that was proposed passes\n"
        )

    def test_an_item_for_which_nothing_passes_says_so(self) -> None:
        source = questionnaire(tense=TENSE, calm={**TENSE, "premise": "Now I am {TERM}.", "keying": -1})

        nothing = drafted(source, {"tense, on edge": ["tense, calm, quiet\n"]})

        assert (
            nothing
            == HEAD + "  # tense: nothing that was proposed passes\n  # calm: nothing that was proposed passes\n"
        )

    def test_beside_another_it_is_yaml_still(self) -> None:
        other = {**TENSE, "premise": "At night I am {TERM}.", "terms": {"source": ["awake"], "inverse": ["asleep"]}}

        text = drafted(questionnaire(night=other, tense=TENSE), REPLIED)

        assert text.startswith(HEAD + "items:\n  # night: nothing that was proposed passes\n  tense:\n    terms:\n")


def pasted(file: str, patch: str, slug: str) -> str:
    """A questionnaire's file with `terms` of an item replaced by those of a patch, line by line."""

    def block(lines: list[str]) -> tuple[int, int]:
        start = lines.index("    terms:", lines.index(f"  {slug}:"))
        inside = next((i for i, line in enumerate(lines[start + 1 :]) if not line.startswith("      ")), None)
        return start, len(lines) if inside is None else start + 1 + inside

    old, new = file.splitlines(), patch.splitlines()
    (first, last), (begin, end) = block(old), block(new)
    return "\n".join([*old[:first], *new[begin:end], *old[last:]]) + "\n"


def test_a_pasted_patch_passes_the_linter_and_fills_every_prompt(tmp_path) -> None:
    path = ROOT / "data/sources/questionnaires/gad-7.yaml"
    before, scale = load_questionnaire(path, SCALES)
    replies = {
        "nervous, anxious, on edge": ["tense, null, wound up\n"],
        "calm, at ease, composed": ["serene\n"],
        "irritable, easily annoyed, short-tempered": ["touchy\n"],
    }
    drafts = draft(ScriptedModel(replies), before, scale, list(before.items), 5)
    patch = as_yaml(drafts, before, path, "scripted")
    text = path.read_text()
    for slug in ("item-1-nervous", "item-6-irritable"):
        text = pasted(text, patch, slug)
    (tmp_path / "gad-7.yaml").write_text(text)

    after, _ = load_questionnaire(tmp_path / "gad-7.yaml", SCALES)

    old = before.items["item-1-nervous"].terms
    assert after.items["item-1-nervous"].terms.source == {
        **old.source,
        "null": "null",
        "tense": "tense",
        "wound-up": "wound up",
    }
    assert after.items["item-1-nervous"].terms.inverse == {**old.inverse, "serene": "serene"}
    assert "touchy" in after.items["item-6-irritable"].terms.source
    assert len(translate("gad-7", after, scale).prompts) == len(translate("gad-7", before, scale).prompts) + 5 * 8
    assert translate("gad-7", after, scale).rejected == []


class TestChoice:
    def test_all_items_or_the_one_that_is_named(self) -> None:
        source = questionnaire(tense=TENSE, calm={**TENSE, "premise": "Now I am {TERM}."})

        assert chosen(source, None, PATH) == ["tense", "calm"]
        assert chosen(source, "calm", PATH) == ["calm"]

    def test_the_first_model_in_use_that_chats(self) -> None:
        in_use = ["all-minilm-l6-v2", "gemma-3-270m", "gone", "smollm2-135m-instruct"]
        assert first_that_chats(in_use, SHIPPED) == "smollm2-135m-instruct"

    def test_where_none_chats_that_is_one_line(self, error_of) -> None:
        assert error_of(first_that_chats, ["gemma-3-270m"], SHIPPED) == (
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
            monkeypatch.setattr(sys, "argv", ["evenruler", "draft-terms", *words])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            out, err = capsys.readouterr()
            return int(ended.value.code or 0), out, err

        return called

    def test_it_prints_a_patch_and_writes_nothing(self, run, repository, monkeypatch) -> None:
        asked = []

        def scripted(name: str, params: Catalogue) -> ScriptedModel:
            asked.append(name)
            return ScriptedModel({"calm, at ease, composed": ["serene, unhurried\n"]})

        monkeypatch.setattr(catalogue, "load", scripted)
        before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}

        status, out, err = run("gad-7", "--item", "item-1-nervous", "--n", "1")

        assert (status, err) == (0, "")
        assert out.startswith("# Proposed by smollm2-135m-instruct, a language model; nobody has read it, ")
        assert out.endswith(
            "items:\n"
            "  item-1-nervous:\n"
            "    terms:\n"
            "      source:\n"
            "        - nervous\n"
            "        - anxious\n"
            "        - on edge\n"
            "        # nothing that was proposed passes\n"
            "      inverse:\n"
            "        - calm\n"
            "        - at ease\n"
            "        - composed\n"
            "        # proposed:\n"
            "        - serene # 1 of 16 replies, +0.3 nats\n"  # 6 letters against 4, 7 and 8
        )
        assert asked == ["smollm2-135m-instruct"]
        assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before

        run("gad-7", "--item", "item-1-nervous", "--model", "gemma-3-270m")
        assert asked == ["smollm2-135m-instruct", "gemma-3-270m"]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ("gad-8",),
                "data/sources/questionnaires/gad-8.yaml: no source for the questionnaire 'gad-8'; "
                "did you mean 'gad-7'?; write the file",
            ),
            (
                ("gad-7", "--item", "item-1-nervos"),
                "data/sources/questionnaires/gad-7.yaml: items: no item 'item-1-nervos'; "
                "did you mean 'item-1-nervous'?\n",
            ),
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
