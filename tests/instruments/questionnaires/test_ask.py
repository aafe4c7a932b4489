"""What is asked of whom, and what becomes of the answers: a questionnaire through its doors, with
scripted models."""

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from evenruler.instruments.asking import AnsweringModels, collect_answers
from evenruler.instruments.instrument import (
    BuiltInstrument,
    Declaration,
    Record,
    RequestBatch,
    Subject,
)
from evenruler.instruments.questionnaires.ask import ANSWERS, requests, scores
from evenruler.instruments.questionnaires.ask.questions import MESSAGE, adaptation_course
from evenruler.instruments.questionnaires.card import card
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.instruments.questionnaires.declare.source import ResponseScale
from evenruler.instruments.questionnaires.diagnose import TABLES, across, evidence, figures
from evenruler.instruments.questionnaires.rows import build
from evenruler.measurement import Resampling
from evenruler.models.declarations import Catalogue
from evenruler.models.questions import LABELS, LogLikelihoods
from evenruler.tables import table_of
from tests.instruments.questionnaires.doors import no_answers, subject, together
from tests.instruments.questionnaires.test_rows import ITEM, SCALE, SOURCE

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)
OWN = {"licence": "cc0-1.0", "origin": "made up", "source": "local:a"}
CATALOGUE = Catalogue.model_validate(
    {
        "models": {
            "minilm": {"kind": "embedder", **OWN},
            "talker": {"kind": "causal", **OWN},
            "judge": {"kind": "classifier", **OWN},
        }
    }
)
RATE = 2e-4
DULL = [("dull", fit, epoch) for fit in (1, 2) for epoch in (0, 1)]
SAID = {"title": "t", "about": "a", "source": "s", "licence": "cc0-1.0", "provenance": "p"}
PAIRS = [
    {
        "set": name,
        "label": label,
        "premise": f"{number}.",
        "hypothesis": f"{label}.",
        "source": "s",
        "licence": "cc0-1.0",
    }
    for name in ("mnli", "statements")
    for number in range(2 + 2 * (name == "mnli"))
    for label in ("entailment", "neutral", "contradiction")
]
JUDGED = 12
"""Of `PAIRS`, those that accuracy is judged by."""
CORPORA = {
    "gloom": {
        **SAID,
        "role": "intervention",
        "expect": {"meetings": "up"},
        "sentences": ["I am sad.", "It rains."],
    },
    "dull": {
        **SAID,
        "role": "control",
        "matched": {"to": "gloom"},
        "expect": {},
        "sentences": ["The pump broke.", "It leaks."],
    },
}
TERMS = {"source": {"enemy": "enemy", "thief": "thief"}, "inverse": {"pal": "friend"}}
ITEMS = {
    "one": {**ITEM, "terms": TERMS},
    "two": {
        **ITEM,
        "premise": "By day I meet a {TERM}.",
        "terms": TERMS,
        "subscale": None,
        "keying": 1,
    },
}
FACTS = [
    {
        "template": f"Thing {n} is {{i}} {{t}}.",
        "right": "big",
        "wrong": "small",
        "source": "s",
        "licence": "cc0-1.0",
    }
    for n in range(10)
]
TALKER = {"kind": "causal", "forms": ("verbaliser", "sentence"), "chats": True}


def declaration(name: str = "meetings", items: Any = None, **keys: Any) -> Declaration:
    framings = {"salience": "This is a test.", "instruction": "Answer:"}
    shared = {
        "responses": ResponseScale.model_validate(SCALE),
        "corpora": CORPORA,
        "pairs": PAIRS,
        "facts": FACTS,
    }
    source = {**SOURCE, "title": name, "items": items or ITEMS, "framings": framings, **shared}
    given = {
        "embedder": "minilm",
        "accuracy": 0.01,
        "corpora": {"gloom": {"epochs": 2}, "dull": {"epochs": 1}},
        **keys,
    }
    settings = Settings.model_validate(given, context={"scale": "quick"})
    return Declaration(name, "questionnaires", settings, Source.model_validate(source))


def built(name: str = "meetings", **keys: Any) -> BuiltInstrument:
    return build(declaration(name, **keys), CATALOGUE)


def published(
    name: str = "meetings", **keys: Any
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """What lies in a folder of the benchmark: the tables of its card, and the plan as it is read
    back."""
    declared = declaration(name, **keys)
    made = build(declared, CATALOGUE)
    frames = {table: rows.to_pandas() for table, rows in made.tables.items()}
    configs = card(declared, frames, made.plan, {}).configs
    return {own.name: frames[own.name] for own in configs}, json.loads(json.dumps(made.plan))


NAMED = ["benchmark", "model", "figure"]


class Scripted:
    """A model whose answers hang on the question alone, and on its state."""

    labels = ("unacceptable", "acceptable")
    name = "scripted"

    def __init__(self, state: str = "") -> None:
        self.state, self.asked, self.calls = state, 0, []

    def _drawn(self, operation: str, questions: Sequence[Any], width: int) -> np.ndarray:
        self.calls.append((operation, len(questions)))
        seeds = [zlib.crc32(repr((self.state, question)).encode()) for question in questions]
        return np.array([np.random.default_rng(seed).normal(size=width) for seed in seeds]).reshape(
            -1, width
        )

    def entailment(
        self, pairs: Sequence[Any], before: Sequence[str] | None = None, *, every: bool = False
    ) -> np.ndarray:
        return self._drawn("entail", list(zip(pairs, before or [""] * len(pairs), strict=True)), 3)

    def in_place(self, asked: Sequence[Any]) -> np.ndarray:
        return -np.abs(self._drawn("in_place", asked, 1)[:, 0])

    def loglikelihood(self, texts: Sequence[str], before: None = None) -> LogLikelihoods:
        return LogLikelihoods(
            -np.abs(self._drawn("loglikelihood", texts, 1)[:, 0]), np.full(len(texts), 3)
        )

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        found = self._drawn("embed", texts, 4).astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def slor(self, texts: Sequence[str]) -> np.ndarray:
        return self._drawn("slor", texts, 1)[:, 0]

    def classify(self, texts: Sequence[str]) -> np.ndarray:
        return self._drawn("classify", texts, 2)

    def sampling(self, new_tokens: int) -> Any:
        return SimpleNamespace(max_new_tokens=new_tokens)

    def replies(self, prompts: Sequence[str], *, sampling: Any, **_: Any) -> list[Any]:
        assert (sampling.max_new_tokens, sampling.temperature) == (40, 0)
        assert set(prompts) == {MESSAGE}
        return [
            SimpleNamespace(text=f"Yes {self.state}", reason=None, finish=None) for _ in prompts
        ]


class Way:
    """An adaptation that trains nothing, and remembers the states that it was brought to."""

    def __init__(self) -> None:
        self.states: dict[str, Scripted] = {}

    def at(self, corpus: str, fit: int, epoch: int) -> Any:
        state = f"{corpus} {fit} {epoch}" if epoch else ""
        return self.states.setdefault(f"{corpus} {fit} {epoch}", Scripted(state))

    def loss(self, corpus: str, fit: int, epoch: int) -> float:
        return 5.0 - epoch


def through(
    who: Subject, *names: str, **keys: Any
) -> tuple[list[Record], dict[str, pd.DataFrame], Way]:
    """One model through ask and diagnose, answers written and read as the stages do."""
    asked = {name: published(name, **keys) for name in names or ("meetings",)}
    way, tools = Way(), {name: Scripted() for name in CATALOGUE.models}
    ways: dict[Any, Way] = {}

    def adapted(state: Any) -> Any:
        return ways.setdefault(state.adaptation, way)

    model: Any = Scripted()
    answering = AnsweringModels(model, lambda tool: tools[tool], adapted)  # type: ignore[arg-type, return-value]
    found = collect_answers(asked, requests, who, answering)
    assert len(ways) <= 1
    answers = {
        table: table_of(
            found[table][["instrument", *schema.names]] if table in found else [],
            pa.schema([pa.field("instrument", pa.string()), *schema]),
        ).to_pandas()
        for table, schema in ANSWERS.items()
    }
    records = []
    for name, (tables, plan) in asked.items():
        own = {
            table: rows[rows["instrument"] == name].drop(columns="instrument")
            for table, rows in answers.items()
        }
        scored = scores(tables, plan, own, who)
        records.append(
            Record(name, who, tables, plan, figures(name, tables, plan, scored, who, RESAMPLING))
        )
    return records, answers, way


def asked_of(
    who: Subject, answers: Mapping[str, pd.DataFrame] | None = None, **keys: Any
) -> list[RequestBatch]:
    tables, plan = published(**keys)
    return requests(tables, plan, answers or {}, who)


def counted(found: Sequence[RequestBatch]) -> list[tuple[str, str, str, int]]:
    return [(each.table, each.operation, each.by, len(each.rows)) for each in found]


class TestPlan:
    def test_it_holds_no_words_of_the_card(self) -> None:
        plain = built().plan
        assert build(declaration(), CATALOGUE).plan == plain
        changed = declaration().source.model_copy(
            update={"title": "Other", "direction": "other", "limits": ["Other."]}
        )
        other = Declaration("meetings", "questionnaires", declaration().settings, changed)
        assert build(other, CATALOGUE).plan == plain

    def test_a_corpus_is_told_with_what_is_expected_of_this_questionnaire(self) -> None:
        found = {
            name: (own["control_of"], own["expected"], own["epochs"])
            for name, own in built().plan["corpora"].items()
        }
        assert found == {"dull": ("gloom", "open", 1), "gloom": (None, "up", 2)}
        assert built("other").plan["corpora"]["gloom"]["expected"] == "open"

    def test_sentences_that_are_not_to_be_kept_are_not_published(self, tmp_path) -> None:
        (tmp_path / "lines.txt").write_text("I am sad.\nIt rains.\n")
        source = declaration().source
        kept = source.corpora["gloom"].model_copy(update={"file": str(tmp_path / "lines.txt")})
        away = source.model_copy(update={"corpora": {**source.corpora, "gloom": kept}})
        plan = build(
            Declaration("meetings", "questionnaires", declaration().settings, away), CATALOGUE
        ).plan
        assert "I am sad." not in json.dumps(plan)
        tables, _ = published()
        (same, *_), (told, *_) = (
            [
                each.state
                for each in requests(tables, own, {}, subject(adapted="last"))
                if each.state
            ]
            for own in (plan, built().plan)
        )
        assert same == told

    def test_labelled_pairs_are_in_it_evenly_over_labels(self) -> None:
        asked = built(accuracy_pairs=4).plan["accuracy"]
        assert (asked["bar"], asked["sources"]) == (0.01, ["s; cc0-1.0"])
        assert [(pair["set"], pair["label"], pair["premise"]) for pair in asked["pairs"]] == [
            ("mnli", "entailment", "0."),
            ("mnli", "neutral", "0."),
            ("mnli", "contradiction", "0."),
            ("mnli", "entailment", "1."),
            ("statements", "entailment", "0."),
            ("statements", "neutral", "0."),
            ("statements", "contradiction", "0."),
            ("statements", "entailment", "1."),
        ]

    @pytest.mark.parametrize(("judge", "operation"), [("talker", "slor"), ("judge", "classify")])
    def test_the_judge_is_asked_what_it_can(self, judge, operation) -> None:
        assert built(acceptability=judge).plan["judge"] == {"model": judge, "operation": operation}

    def test_one_that_can_neither_is_refused(self, error_of) -> None:
        assert error_of(built, acceptability="minilm") == (
            "params.yaml: acceptability: 'minilm' is no causal model and no classifier of the "
            "catalogue; name one"
        )

    @pytest.mark.parametrize(
        ("n", "prefixes"), [(0, []), (1, ["salience", "instruction", "salience+instruction"])]
    )
    def test_prefixes_are_there_where_they_are_asked(self, n, prefixes) -> None:
        assert list(built(prefixed=n).plan["prefixes"]) == prefixes


class TestRequests:
    def test_a_head_is_asked_every_prompt_once(self) -> None:
        assert counted(asked_of(subject())) == [
            ("labelled_pairs", "entail", "", 18),
            ("entailment", "entail", "", 12),
            ("embeddings", "embed", "minilm", 10),
        ]

    def test_a_causal_model_is_asked_in_its_forms_and_after_prefixes(self) -> None:
        who = subject(**TALKER, operations=frozenset(["entail", "loglikelihood", "generate"]))
        found = asked_of(who, prefixed=1, acceptability="judge")
        assert counted(found) == [
            ("labelled_pairs", "entail", "", 18),
            ("known_answers", "loglikelihood", "", 40),
            ("entailment", "entail", "", 12),
            ("likelihoods", "loglikelihood", "", 12),
            ("entailment", "entail", "", 18),
            ("embeddings", "embed", "minilm", 10),
            ("acceptability", "classify", "judge", 8),
        ]
        assert sorted(found[4].inputs) == ["before", "hypothesis", "premise"]
        assert set(found[0].rows["configuration"]) == {"verbaliser"}
        prompt = published()[0]["prompts"].iloc[0]
        assert found[3].inputs["text"][0] == f"{prompt['premise']} {prompt['hypothesis']}"
        words = ["never", "very often"]
        facts = [f"Thing 0 is {word} {term}." for term in ("big", "small") for word in words]
        assert found[1].inputs["text"][:4] == facts

    def test_a_masked_model_is_asked_for_words_in_their_place_of_facts_too(self) -> None:
        who = subject(kind="masked", forms=("mlm",), operations=frozenset(["in_place"]))
        known, items, *_ = asked_of(who)
        assert (known.table, items.table) == ("known_answers", "likelihoods")
        first = {name: values[0] for name, values in known.inputs.items()}
        assert first == {"before": "Thing 0 is ", "word": "never", "after": " big."}
        first = {name: values[0] for name, values in items.inputs.items()}
        prompt = published()[0]["prompts"].iloc[0]
        assert (
            f"{first['before']}{first['word']}{first['after']}"
            == f"{prompt['premise']} {prompt['hypothesis']}"
        )

    def test_nothing_is_asked_twice(self) -> None:
        _, answers, _ = through(subject(adapted="every"), acceptability="talker")
        given = {table: rows for table, rows in answers.items() if len(rows)}
        assert asked_of(subject(adapted="every"), given, acceptability="talker") == []

    def test_nothing_that_the_model_cannot_do(self) -> None:
        who = subject(**TALKER, operations=frozenset(), adapted="last")
        assert {each.table for each in asked_of(who, prefixed=1)} == {"losses", "embeddings"}

    @pytest.mark.parametrize(
        ("adapted", "states"),
        [
            (
                "every",
                [
                    *DULL,
                    ("gloom", 1, 0),
                    ("gloom", 1, 1),
                    ("gloom", 1, 2),
                    ("gloom", 2, 0),
                    ("gloom", 2, 2),
                ],
            ),
            (
                "last",
                [*DULL, ("gloom", 1, 0), ("gloom", 1, 2), ("gloom", 2, 0), ("gloom", 2, 2)],
            ),
            (None, []),
        ],
    )
    def test_states_go_through_one_fit_after_the_other(self, adapted, states) -> None:
        """Only the first is asked on the way."""
        found = [each.state for each in asked_of(subject(adapted=adapted), fits=2) if each.state]
        assert (
            list(dict.fromkeys((state.corpus, state.fit, state.epoch) for state in found)) == states
        )
        assert len({state.adaptation for state in found}) <= 1

    def test_prompts_are_asked_after_epochs_and_of_so_many_items(self) -> None:
        found = [each for each in asked_of(subject(adapted="every"), adapted=1) if each.state]
        asked = {
            (each.state.corpus, each.state.epoch): len(each.rows)
            for each in found
            if each.table == "entailment"
        }
        assert asked == {("dull", 1): 6, ("gloom", 1): 6, ("gloom", 2): 6}
        assert len([each for each in found if each.table == "losses"]) == 5

    def test_the_adaptation_is_the_same_for_every_questionnaire(self) -> None:
        ways = {
            each.state.adaptation
            for name in ("meetings", "other")
            for each in requests(*published(name), {}, subject(adapted="last"))
            if each.state
        }
        (way,) = ways
        assert way.corpora == (
            ("dull", ("The pump broke.", "It leaks.")),
            ("gloom", ("I am sad.", "It rains.")),
        )
        assert way.recipes == (("dull", 1, RATE, 8), ("gloom", 2, RATE, 8))


@pytest.fixture(scope="module")
def found() -> tuple[list[Record], dict[str, pd.DataFrame], Way]:
    """Two questionnaires on a model that chats and is adapted."""
    who = subject(
        **TALKER, operations=frozenset(["entail", "loglikelihood", "generate"]), adapted="every"
    )
    return through(who, "meetings", "other", prefixed=1, acceptability="talker")


class TestThroughTheDoors:
    def test_every_table_has_the_columns_of_its_schema(self, found) -> None:
        tables = together(found[0], RESAMPLING)
        for name, schema in TABLES.items():
            made = table_of(tables[name][schema.names], schema)
            assert len(made) > 0 or name == "twins", name  # this questionnaire has none

    def test_the_course_is_told_once(self, found) -> None:
        course = together(found[0], RESAMPLING)["course"]
        assert not course.duplicated(["corpus", "fit", "epoch", "measure"]).any()
        assert course["measure"].value_counts().to_dict() == {"accuracy": 5, "reply": 5, "loss": 5}
        gloom = course[(course["corpus"] == "gloom") & (course["epoch"] == 2)].set_index("measure")
        assert (gloom.loc["loss", "value"], gloom.loc["loss", "n"]) == (3.0, 2)
        assert (gloom.loc["reply", "text"], gloom.loc["accuracy", "n"]) == ("Yes gloom 1 2", JUDGED)

    def test_both_questionnaires_are_asked_of_a_state_in_one_pass(self, found) -> None:
        calls = found[2].states["gloom 1 1"].calls
        # Every word of the prompts must be known to the tokenizer, so they are a call apart from
        # the judged pairs.
        assert calls == [("entail", 2 * JUDGED), ("loglikelihood", 2 * 12), ("entail", 2 * 12)]

    def test_before_it_is_the_model_as_it_was(self, found) -> None:
        scored = {record.instrument: record.found for record in found[0]}["meetings"]
        mean = 2 * scored["items"].groupby("configuration")["score"].mean()  # of two intensifiers
        before = (
            scored["trajectories"]
            .query("epoch == 0")
            .set_index(["corpus", "configuration"])["answer"]
        )
        for corpus in ("gloom", "dull"):
            assert before[corpus].to_dict() == pytest.approx(mean.to_dict(), abs=1e-12)

    def test_changes_say_what_was_expected(self, found) -> None:
        changes = together(found[0], RESAMPLING)["changes"]
        expected = changes.groupby(["questionnaire", "corpus"])["expected"].agg(set).to_dict()
        assert expected == {
            ("meetings", "gloom"): {"up"},
            ("other", "gloom"): {"open"},
        }
        assert (set(changes["control"]), set(changes["fit"])) == ({"dull"}, {1})
        assert set(changes["configuration"]) == {"verbaliser", "sentence"}

    def test_one_fit_is_too_little_to_tell(self, found) -> None:
        figures = together(found[0], RESAMPLING)["figures"].drop_duplicates(NAMED).set_index(NAMED)
        told = figures.loc[("meetings", "m0 (sentence)", "moved_by_gloom")]
        whose = ["questionnaire", "configuration"]
        changes = together(found[0], RESAMPLING)["changes"].drop_duplicates(whose).set_index(whose)
        assert told["value"] == pytest.approx(
            changes.loc[("meetings", "sentence"), "difference"], abs=1e-12
        )
        assert (told["verdict"], told["n"]) == ("inconclusive", 1)
        assert told["why"] == "No verdict is possible: 1 fit (at least 5 needed)."

    def test_a_model_that_forgets_how_to_entail_is_unfit(self, monkeypatch) -> None:
        """By the bar that it passes before; what it is asked as a causal model alone is not judged
        by that."""
        known = {
            (pair["premise"], pair["hypothesis"]): LABELS.index(pair["label"]) for pair in PAIRS
        }
        drawn = Scripted.entailment

        def entailment(self, pairs, before=None, *, every=False):
            found = drawn(self, pairs, before)
            for row, pair in zip(found, pairs, strict=True):
                if pair in known:
                    row[:] = np.eye(3)[(known[pair] + self.state.startswith("dull")) % 3]
            return found

        monkeypatch.setattr(Scripted, "entailment", entailment)
        who = subject(
            **TALKER, operations=frozenset(["entail", "loglikelihood", "generate"]), adapted="last"
        )
        records, *_ = through(who, "meetings", accuracy=0.5, fits=5)
        figures = together(records, RESAMPLING)["figures"].drop_duplicates(NAMED).set_index(NAMED)
        told = figures.loc[("meetings", "m0", "moved_by_gloom")]
        assert told["verdict"] == "invalid on this model"
        assert (
            "adapted to dull, its accuracy on 12 labelled pairs is 0.00 [0.00, 0.18]" in told["why"]
        )
        assert figures.loc[("meetings", "m0", "accuracy"), "value"] == 1.0

    def test_a_reply_that_is_refused_is_told_with_the_reason(self) -> None:
        """Not as if nobody had been asked."""
        answers = no_answers()
        refused = [
            {
                "corpus": "gloom",
                "fit": 1,
                "epoch": 0,
                "reply": None,
                "reason": "the server filtered it",
            }
        ]
        told = adaptation_course({**answers, "replies": pd.DataFrame(refused)}, "m0")
        assert told[["measure", "reason"]].to_numpy().tolist() == [
            ["reply", "the server filtered it"]
        ]
        assert told[["value", "text"]].isna().all(axis=None)

    def test_content_stands_once_for_every_item_and_measure(self, found) -> None:
        again = [
            Record(own.instrument, subject("m1"), own.tables, own.plan, own.found)
            for own in found[0]
        ]
        content = together([*found[0], *again], RESAMPLING)["content"]
        assert content["measure"].value_counts().to_dict() == {
            "similarity_to_paraphrase": 4,
            "slor": 4,
        }

    def test_evidence_is_by_questionnaire_and_part(self, found) -> None:
        said = evidence(together(found[0], RESAMPLING))
        assert sorted(said) == ["meetings", "other"]
        assert sorted(said["meetings"]) == ["all", "night", "one", "two"]
        assert (
            said["meetings"]["all"]["m0"]["level_shift"]["reason"]
            == "fewer than 3 items were asked after prefixes"
        )
        assert evidence({"figures": pd.DataFrame()}) == {}

    def test_a_poor_item_stops_where_that_is_asked_for(self, found, error_of) -> None:
        records = found[0]
        poor = [
            Record(
                own.instrument, own.subject, own.tables, {**own.plan, "stop_below": True}, own.found
            )
            for own in records
        ]
        quality = together(records, RESAMPLING)["quality"]
        assert (quality["verdict"] == "poor").any()
        assert error_of(together, poor, RESAMPLING).endswith(
            "; or take `stop_below` out of params.yaml"
        )


def test_a_classifier_judges_by_its_probability() -> None:
    records, answers, _ = through(subject(), acceptability="judge")
    judged = answers["acceptability"].set_index("text")["logits"]
    tables = records[0].tables
    texts = {
        text
        for side in ("premise", "hypothesis")
        for text in tables["prompts"].query("item == 'one'")[side]
    }
    expected = np.mean([1 / (1 + np.exp(judged[text][0] - judged[text][1])) for text in texts])
    content = together(records, RESAMPLING)["content"].set_index(["item", "measure"])
    assert content.loc[("one", "acceptability"), "value"] == pytest.approx(expected, abs=1e-12)
    assert content.loc[("one", "acceptability"), "n"] == len(texts) == 5


def test_without_any_answer_nothing_is_scored() -> None:
    tables, plan = published()
    found = scores(tables, plan, no_answers(), subject())
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(found, 0)
    record = Record(
        "meetings",
        subject(),
        tables,
        plan,
        figures("meetings", tables, plan, found, subject(), RESAMPLING),
    )
    of_nobody = together([record], RESAMPLING)
    assert {name for name, rows in of_nobody.items() if len(rows)} == {"population"}
    assert across([], RESAMPLING) == {}


class TestCard:
    def test_parameters_and_harness_are_of_this_benchmark(self, tmp_path: Path) -> None:
        declared = declaration(temperature=0.5)
        made = build(declared, CATALOGUE)
        found = card(
            declared,
            {name: table.to_pandas() for name, table in made.tables.items()},
            made.plan,
            {},
        )
        assert found.parameters == {
            "temperature": 0.5,
            "three_way": False,
            "stop_below": False,
            "scale": {"never": -4.0, "often": 2.5},
        }
        assert {own.figure: own.heading for own in found.quality_of_any}[
            "alpha (head)"
        ] == "alpha, head"
        assert found.harness_task == "nli_meetings"
        assert f"version: {declared.version}" in found.harness["nli_meetings.yaml"]
        assert [config.name for config in found.configs] == ["prompts", "items", "terms"]
        assert set(made.tables) == {"prompts", "items", "terms", "rejected"}
