"""What is asked of whom, and what becomes of the answers: a questionnaire through its doors, with
scripted models."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit

from evenruler.instruments.asking import AnsweringModels, collect_answers
from evenruler.instruments.instrument import (
    BuiltInstrument,
    Declaration,
    ModelMeta,
    Record,
    RequestBatch,
)
from evenruler.instruments.questionnaires import two_way_of_logs
from evenruler.instruments.questionnaires.ask import ANSWERS, requests, scores
from evenruler.instruments.questionnaires.ask.questions import MESSAGE
from evenruler.instruments.questionnaires.card import card
from evenruler.instruments.questionnaires.declare import Settings, Source
from evenruler.instruments.questionnaires.declare.source import ResponseScale
from evenruler.instruments.questionnaires.diagnose import TABLES, across, evidence, figures
from evenruler.instruments.questionnaires.rows import build
from evenruler.measurement import Resampling
from evenruler.models.declarations import Catalogue
from evenruler.models.questions import LogLikelihoods
from evenruler.tables import table_of
from evenruler.training.adaptation import Progress
from tests.instruments.questionnaires.doors import subject, together
from tests.instruments.questionnaires.test_rows import SCALE, SOURCE
from tests.text_tables import yaml_of_text

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)
CATALOGUE = Catalogue.model_validate(
    yaml_of_text("""\
models:
  minilm: {kind: embedder, licence: cc0-1.0, origin: made up, source: "local:a"}
  talker: {kind: causal, licence: cc0-1.0, origin: made up, source: "local:a"}
  judge: {kind: classifier, licence: cc0-1.0, origin: made up, source: "local:a"}
""")
)
RATE = 2e-4
DULL = [("dull", fit, epoch) for fit in (1, 2) for epoch in (0, 1)]
LABELS = ("entailment", "neutral", "contradiction")
FREE = {"source": "s", "licence": "cc0-1.0"}
PAIRS = [
    {"set": name, "label": label, "premise": f"{n}.", "hypothesis": f"{label}.", **FREE}
    for name, n_premises in (("mnli", 4), ("statements", 2))
    for n in range(n_premises)
    for label in LABELS
]
JUDGED = 12
"""Of `PAIRS`, those that accuracy is judged by."""
CORPORA = yaml_of_text("""\
gloom:
  role: intervention
  expect: {meetings: up}
  sentences: [I am sad., It rains.]
  title: t
  about: a
  source: s
  licence: cc0-1.0
  provenance: p
dull:
  role: control
  matched: {to: gloom}
  expect: {}
  sentences: [The pump broke., It leaks.]
  title: t
  about: a
  source: s
  licence: cc0-1.0
  provenance: p
""")
ITEMS = yaml_of_text("""\
one:
  original: How often do you meet one?
  premise: At night I meet a {TERM}.
  hypothesis: This {INTENSIFIER} happens.
  keying: -1
  subscale: night
  terms: &terms {source: {enemy: enemy, thief: thief}, inverse: {pal: friend}}
two:
  original: How often do you meet one?
  premise: By day I meet a {TERM}.
  hypothesis: This {INTENSIFIER} happens.
  keying: 1
  terms: *terms
""")
FACTS = [
    {"template": f"Thing {n} is {{i}} {{t}}.", "right": "big", "wrong": "small", **FREE}
    for n in range(10)
]
SUBJECTS = [
    {"noun": "the tenant", "form": "noun", "pronoun": "she", **FREE},
    {"noun": "the horse", "form": "it", "pronoun": "it", **FREE},
]
TALKER = {"kind": "causal", "methods": ("verbaliser", "sentence"), "chats": True}


def declaration(name: str = "meetings", items: Any = None, **keys: Any) -> Declaration:
    framings = {"salience": "This is a test.", "instruction": "Answer:"}
    shared = {
        "responses": ResponseScale.model_validate(SCALE),
        "corpora": CORPORA,
        "pairs": PAIRS,
        "facts": FACTS,
        "subjects": SUBJECTS,
    }
    source = {**SOURCE, "title": name, "items": items or ITEMS, "prefixes": framings, **shared}
    keys_of_settings = {
        "embedder": "minilm",
        "accuracy": 0.01,
        "corpora": {"gloom": {"epochs": 2}, "dull": {"epochs": 1}},
        **keys,
    }
    settings = Settings.model_validate(keys_of_settings, context={"profile": "quick"})
    return Declaration(name, "questionnaires", settings, Source.model_validate(source))


def built(name: str = "meetings", **keys: Any) -> BuiltInstrument:
    return build(declaration(name, **keys), CATALOGUE)


def published(
    name: str = "meetings", **keys: Any
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """What lies in a folder of the benchmark: the tables of its card, and the plan as it is read
    back."""
    declared = declaration(name, **keys)
    benchmark = build(declared, CATALOGUE)
    frames = {table: rows.to_pandas() for table, rows in benchmark.tables.items()}
    configs = card(declared, frames, benchmark.plan, {}).configs
    return {config.name: frames[config.name] for config in configs}, json.loads(
        json.dumps(benchmark.plan)
    )


class Scripted:
    """A model whose answers hang on the question alone, and on its state."""

    labels = ("unacceptable", "acceptable")
    name = "scripted"

    def __init__(self, state: str = "") -> None:
        self.state, self.asked, self.calls = state, 0, []

    def _drawn(self, operation: str, questions: Sequence[Any], width: int) -> np.ndarray:
        self.calls.append((operation, len(questions)))
        seeds = [zlib.crc32(repr((self.state, question)).encode()) for question in questions]
        drawn = [np.random.default_rng(seed).normal(size=width) for seed in seeds]
        return np.array(drawn).reshape(-1, width)

    def entailment(
        self, pairs: Sequence[Any], before: Sequence[str] | None = None, *, every: bool = False
    ) -> np.ndarray:
        texts_before = before or [""] * len(pairs)
        return self._drawn("entail", list(zip(pairs, texts_before, strict=True)), 3)

    def in_place(self, gaps: Sequence[Any]) -> np.ndarray:
        return -np.abs(self._drawn("in_place", gaps, 1)[:, 0])

    def loglikelihood(self, texts: Sequence[str], before: None = None) -> LogLikelihoods:
        (nats,) = -np.abs(self._drawn("loglikelihood", texts, 1)).T
        return LogLikelihoods(nats, np.full(len(texts), 3))

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = self._drawn("embed", texts, 4).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

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

    def model_at(self, corpus: str, fit: int, epoch: int) -> Any:
        state = f"{corpus} {fit} {epoch}"
        return self.states.setdefault(state, Scripted(state if epoch else ""))

    def progress(self, corpus: str, fit: int, epoch: int) -> Progress:
        return Progress(5.0 - epoch, epoch / 4, epoch / 2)


def through(
    who: ModelMeta, *names: str, **keys: Any
) -> tuple[list[Record], dict[str, pd.DataFrame], Way]:
    """One model through ask and diagnose, answers written and read as the stages do."""
    benchmark_by_name = {name: published(name, **keys) for name in names or ("meetings",)}
    way, tools = Way(), {name: Scripted() for name in CATALOGUE.models}
    ways: dict[Any, Way] = {}

    def adapted(state: Any) -> Any:
        return ways.setdefault(state.adaptation, way)

    model: Any = Scripted()
    answering = AnsweringModels(model, lambda tool: tools[tool], adapted)  # type: ignore[arg-type, return-value]
    collected = collect_answers(benchmark_by_name, requests, who, answering)
    assert len(ways) <= 1
    answers = {}
    for table, schema in ANSWERS.items():
        with_instrument = pa.schema([pa.field("instrument", pa.string()), *schema])
        rows: Any = collected[table][with_instrument.names] if table in collected else []
        answers[table] = table_of(rows, with_instrument).to_pandas()
    records = []
    for name, (tables, plan) in benchmark_by_name.items():
        of_name = {}
        for table, rows in answers.items():
            of_name[table] = rows[rows["instrument"] == name].drop(columns="instrument")
        scored = scores(tables, plan, of_name, who)
        tables_of_figures = figures(name, tables, plan, scored, who, RESAMPLING)
        records.append(Record(name, who, tables, plan, tables_of_figures))
    return records, answers, way


def asked_of(
    who: ModelMeta, answers: Mapping[str, pd.DataFrame] | None = None, **keys: Any
) -> list[RequestBatch]:
    tables, plan = published(**keys)
    return requests(tables, plan, answers or {}, who)


def counted(batches: Sequence[RequestBatch]) -> list[tuple[str, str, str, int]]:
    return [(batch.table, batch.operation, batch.by, len(batch.rows)) for batch in batches]


def states_of(batches: Sequence[RequestBatch]) -> list[Any]:
    """The states of the batches that are asked of an adapted model."""
    return [batch.state for batch in batches if batch.state]


class TestPlan:
    def test_it_holds_no_words_of_the_card(self) -> None:
        declared = declaration()
        words = {"title": "Other", "direction": "other", "limits": ["Other."]}
        other = replace(declared, source=declared.source.model_copy(update=words))
        assert build(other, CATALOGUE).plan == build(declared, CATALOGUE).plan

    def test_a_corpus_is_told_with_what_is_expected_of_this_questionnaire(self) -> None:
        facts_by_corpus = {}
        for name, planned in built().plan["corpora"].items():
            facts = [planned[key] for key in ("control_of", "expected", "epochs")]
            facts_by_corpus[name] = facts
        assert facts_by_corpus == {"dull": ["gloom", "open", 1], "gloom": [None, "up", 2]}
        assert built("other").plan["corpora"]["gloom"]["expected"] == "open"
        same_source = built("other", source_of="meetings").plan["corpora"]
        assert same_source["gloom"]["expected"] == "up"

    def test_sentences_that_are_not_to_be_kept_are_not_published(self, tmp_path) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text("I am sad.\nIt rains.\n")
        declared = declaration()
        corpora = dict(declared.source.corpora)
        corpora["gloom"] = corpora["gloom"].model_copy(update={"file": str(lines)})
        away = declared.source.model_copy(update={"corpora": corpora})
        plan = build(replace(declared, source=away), CATALOGUE).plan
        assert "I am sad." not in json.dumps(plan)
        tables, _ = published()
        who = subject(adapted="last")
        first_states = [
            states_of(requests(tables, chosen, {}, who))[0] for chosen in (plan, built().plan)
        ]
        assert first_states[0] == first_states[1]

    @pytest.mark.parametrize(("judge", "operation"), [("talker", "slor"), ("judge", "classify")])
    def test_the_judge_is_asked_what_it_can(self, judge, operation) -> None:
        assert built(acceptability=judge).plan["judge"] == {"model": judge, "operation": operation}

    def test_one_that_can_neither_is_refused(self, error_of) -> None:
        assert error_of(built, acceptability="minilm") == (
            "params.yaml: acceptability: 'minilm' is no causal model and no classifier of the "
            "catalogue; name one"
        )


class TestRequests:
    def test_a_head_is_asked_every_prompt_once(self) -> None:
        assert counted(asked_of(subject())) == [
            ("labelled_pairs", "entail", "", 18),
            ("entailment", "entail", "", 12),
            ("embeddings", "embed", "minilm", 10),
        ]

    def test_a_causal_model_is_asked_in_its_forms_and_after_prefixes(self) -> None:
        who = subject(**TALKER, operations=frozenset(["entail", "loglikelihood", "generate"]))
        batches = asked_of(who, prefixed=1, acceptability="judge")
        assert counted(batches) == [
            ("labelled_pairs", "entail", "", 18),
            ("known_answers", "loglikelihood", "", 40),
            ("entailment", "entail", "", 12),
            ("likelihoods", "loglikelihood", "", 12),
            ("entailment", "entail", "", 18),
            ("embeddings", "embed", "minilm", 10),
            ("acceptability", "classify", "judge", 8),
        ]
        assert sorted(batches[4].inputs) == ["before", "hypothesis", "premise"]
        assert set(batches[0].rows["method"]) == {"verbaliser"}
        first_text = batches[3].inputs["text"][0]
        assert first_text == "By day I meet a friend. This never happens."
        assert batches[1].inputs["text"][:4] == [
            "Thing 0 is never big.",
            "Thing 0 is very often big.",
            "Thing 0 is never small.",
            "Thing 0 is very often small.",
        ]

    def test_a_masked_model_is_asked_for_words_in_their_place_of_facts_too(self) -> None:
        who = subject(kind="masked", methods=("mlm",), operations=frozenset(["in_place"]))
        facts, items, *_ = asked_of(who)
        assert (facts.table, items.table) == ("known_answers", "likelihoods")
        first = {name: values[0] for name, values in facts.inputs.items()}
        assert first == {"before": "Thing 0 is ", "word": "never", "after": " big."}
        parts = [items.inputs[name][0] for name in ("before", "word", "after")]
        assert "".join(parts) == "By day I meet a friend. This never happens."

    def test_i_and_the_first_subjects_are_asked_by_every_method_but_options(self) -> None:
        """Two items x 3 terms x 2 words, of 7 sentences about I and as many subjects as planned."""
        can = frozenset(["entail", "loglikelihood", "in_place"])
        methods = ("verbaliser", "sentence", "mlm")
        who = subject(kind="causal", methods=methods, operations=can)
        for subjects, n in ((2, 9), (1, 8), (0, 0)):
            batches = asked_of(who, least=2, subjects=subjects)
            full = [batch for batch in batches if len(batch.rows) == n * 12 and n]
            tables = ["entailment", "likelihoods", "likelihoods"]
            assert sorted(batch.table for batch in full) == (tables if n else [])

    def test_nothing_is_asked_twice(self) -> None:
        _, answers, _ = through(subject(adapted="every"), acceptability="talker")
        answered = {table: rows for table, rows in answers.items() if len(rows)}
        assert asked_of(subject(adapted="every"), answered, acceptability="talker") == []

    @pytest.mark.parametrize(
        ("adapted", "gloomy_states"),
        [
            ("every", [(1, 0), (1, 1), (1, 2), (2, 0), (2, 2)]),
            ("last", [(1, 0), (1, 2), (2, 0), (2, 2)]),
        ],
    )
    def test_states_go_through_one_fit_after_the_other(self, adapted, gloomy_states) -> None:
        """Only the first is asked on the way."""
        states_asked = states_of(asked_of(subject(adapted=adapted), fits=2))
        stages = [(state.corpus, state.fit, state.epoch) for state in states_asked]
        gloomy = [("gloom", *state) for state in gloomy_states]
        assert list(dict.fromkeys(stages)) == [*DULL, *gloomy]
        assert len({state.adaptation for state in states_asked}) <= 1

    def test_prompts_are_asked_after_epochs_and_of_so_many_items(self) -> None:
        batches = [batch for batch in asked_of(subject(adapted="every"), adapted=1) if batch.state]
        states = []
        for batch in batches:
            if batch.table == "entailment":
                states.append((batch.state.corpus, batch.state.epoch, len(batch.rows)))
        assert states == [("dull", 1, 6), ("gloom", 1, 6), ("gloom", 2, 6)]
        assert [batch.table for batch in batches].count("losses") == 5

    def test_the_adaptation_is_the_same_for_every_questionnaire(self) -> None:
        who = subject(adapted="last")
        states: list[Any] = []
        for name in ("meetings", "other"):
            states += states_of(requests(*published(name), {}, who))
        (way,) = {state.adaptation for state in states}
        assert way.corpora == (
            ("dull", ("The pump broke.", "It leaks.")),
            ("gloom", ("I am sad.", "It rains.")),
        )
        assert way.recipes == (("dull", 1, RATE, 8), ("gloom", 2, RATE, 8))


@pytest.fixture(scope="module")
def adapted_run() -> tuple[list[Record], dict[str, pd.DataFrame], Way]:
    """Two questionnaires on a model that chats and is adapted."""
    who = subject(
        **TALKER, operations=frozenset(["entail", "loglikelihood", "generate"]), adapted="every"
    )
    return through(who, "meetings", "other", prefixed=1, acceptability="talker")


class TestThroughTheDoors:
    def test_every_table_has_the_columns_of_its_schema(self, adapted_run) -> None:
        tables = together(adapted_run[0], RESAMPLING)
        for name, schema in TABLES.items():
            written = table_of(tables[name][schema.names], schema)
            assert len(written) > 0 or name in ("twins", "subjects"), name  # this one has none

    def test_figures_are_evidence_of_both(self, adapted_run) -> None:
        rows_by_questionnaire = evidence(together(adapted_run[0], RESAMPLING))
        assert list(rows_by_questionnaire) == ["meetings", "other"]
        assert across([], RESAMPLING) == {}

    @pytest.mark.parametrize(
        ("kind", "method", "operation"),
        [("causal", "sentence", "loglikelihood"), ("masked", "mlm", "in_place")],
    )
    def test_scores_are_those_of_the_probabilities_of_words(self, kind, method, operation) -> None:
        who = subject(kind=kind, methods=(method,), operations=frozenset([operation]))
        (run,), answers, _ = through(who)
        items = run.diagnosis["items"].set_index("item")
        rows = answers["likelihoods"].merge(run.tables["prompts"], on="id")
        for item, of_item in rows[rows["method"] == method].groupby("item"):
            matrix = of_item.pivot(index=["polarity", "term"], columns="weight", values="nats")
            shares = two_way_of_logs(matrix.to_numpy())
            is_source = matrix.index.get_level_values("polarity") == "source"
            expected = (shares[is_source] * matrix.columns.to_numpy()).mean()
            score = items.loc[item, "keying"] * expected
            assert items.loc[item, "score"] == pytest.approx(score, abs=1e-12)

    def test_the_course_is_told_once(self, adapted_run) -> None:
        course = together(adapted_run[0], RESAMPLING)["course"]
        assert not course.duplicated(["corpus", "fit", "epoch", "measure"]).any()
        measures = ["accuracy", "reply", "loss", "weights_moved", "weights_norm"]
        assert course["measure"].value_counts().to_dict() == dict.fromkeys(measures, 5)
        gloom = course.query("corpus == 'gloom' and epoch == 2").set_index("measure")
        assert gloom.loc["loss", ["value", "n"]].tolist() == [3.0, 2]
        assert gloom.loc["weights_moved", ["value", "n"]].tolist() == [0.5, 2]
        assert gloom.loc["weights_norm", ["value", "n"]].tolist() == [1.0, 2]
        assert gloom.loc["reply", "text"] == "Yes gloom 1 2"
        assert gloom.loc["accuracy", "n"] == JUDGED

    def test_both_questionnaires_are_asked_of_a_state_in_one_pass(self, adapted_run) -> None:
        calls = adapted_run[2].states["gloom 1 1"].calls
        # Every word of the prompts must be known to the tokenizer, so they are a call apart from
        # the judged pairs.
        assert calls == [("entail", 2 * JUDGED), ("loglikelihood", 24), ("entail", 24)]


def test_a_classifier_judges_by_its_probability() -> None:
    records, answers, _ = through(subject(), acceptability="judge")
    judged = answers["acceptability"].set_index("text")["logits"]
    prompts = records[0].tables["prompts"].query("item == 'one'")
    texts = {*prompts["premise"], *prompts["hypothesis"]}
    shares = [expit(judged[text][1] - judged[text][0]) for text in texts]
    content = together(records, RESAMPLING)["content"].set_index(["item", "measure"])
    row = content.loc["one", "acceptability"]
    assert row["value"] == pytest.approx(np.mean(shares), abs=1e-12)
    assert row["n"] == len(texts) == 5
