"""The files of `lm_eval/` of a questionnaire, each on its own; `test_lm_eval.py` runs them through
the harness."""

import ast
import json
import logging
import math
import re
from collections.abc import Callable
from typing import Any

import jinja2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.item_scores import Scoring
from evenruler.instruments.questionnaires.card import harness_files
from evenruler.instruments.questionnaires.card.lm_eval_task import QuestionnaireTask
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, ResponseScale
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.models import load
from evenruler.models.questions import CONTENT_FREE
from tests.instruments.questionnaires.doors import by_logits
from tests.text_tables import yaml_of_text
from tests.tiny import save_tiny, tiny_params

SCALE = ResponseScale.model_validate(
    yaml_of_text("""\
title: Short
source: ours
levels:
  - {weight: -4, words: [never]}
  - {weight: -2, words: [very rarely, rarely]}
  - {weight: 3, words: [always]}
""")
)

DECLARED = """\
title: Tension
construct: tension
direction: positive means more tension
original: {name: T, licence: cc0-1.0, reference: ours, wording: held}
source: ours
licence: cc0-1.0
scale: short
items:
  tense:
    original: How often are you tense?
    premise: I have felt {TERM}.
    hypothesis: I {INTENSIFIER} feel this way.
    terms: {source: [tense, on edge, uneasy], inverse: [calm, at ease]}
    subscale: body-and-mind
    twins:
      - premise: The weather has been {TERM}.
        hypothesis: It {INTENSIFIER} looks this way.
        terms: {source: [rough, stormy], inverse: [mild, fair]}
  rest:
    original: How often do you rest?
    premise: When I “rest” or 'so', I am {TERM}.
    hypothesis: I {INTENSIFIER} feel this way.
    terms: {source: [glad, merry], inverse: [gloomy]}
    keying: -1
    twins:
      - premise: When it rains, the road is {TERM}.
        hypothesis: It {INTENSIFIER} looks this way.
        terms: {source: [clear, safe], inverse: [blocked]}
      - premise: When it rains, the lane is {TERM}.
        hypothesis: It {INTENSIFIER} looks this way.
        terms: {source: [clear, safe], inverse: [blocked]}
"""


def declared(twins: bool = True, **changes: Any) -> QuestionnaireSource:
    source = yaml_of_text(DECLARED) | changes
    for item in source["items"].values():
        item["twins"] = item["twins"] if twins else []
    return QuestionnaireSource.model_validate(source)


def task_text(source: QuestionnaireSource | None = None) -> str:
    """The YAML of its task."""
    return harness_files("my-tension", source or declared(), "1.2.3")["nli_my_tension.yaml"]


class Function(str):
    """What stands after `!function`."""


def read(text: str) -> dict[str, Any]:
    """A task, read as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(
        "!function", lambda loader, node: Function(loader.construct_scalar(node))
    )
    return yaml.load(text)


def prompts_of(source: QuestionnaireSource) -> pa.Table:
    """Its prompts, as they are published."""
    prompts = fill_templates("my-tension", source, SCALE).prompts
    return pa.Table.from_pylist(prompts, schema=schemas.PROMPTS).select(schemas.PROMPTS.names)


@pytest.fixture
def build_task(tmp_path) -> Callable[..., QuestionnaireTask]:
    """Writes what the task reads of a benchmark folder, and opens it."""

    def build(
        source: QuestionnaireSource | None = None, settings: Scoring | None = None
    ) -> QuestionnaireTask:
        settings = settings or Scoring()
        plan = {"temperature": settings.temperature, "three_way": settings.three_way}
        (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        (tmp_path / "prompts").mkdir(exist_ok=True)
        path = tmp_path / "prompts" / "test-00000-of-00001.parquet"
        pq.write_table(prompts_of(source or declared()), path)
        return QuestionnaireTask(tmp_path)

    return build


def choices_of(doc: dict[str, Any]) -> list[str]:
    """What the harness makes of `doc_to_choice`."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string(read(task_text())["doc_to_choice"])
    return ast.literal_eval(template.render(**doc))


class TestTask:
    def test_the_functions_that_are_named_are_there(self, build_task) -> None:
        names = set(re.findall(r"!function functions\.(\w+)", task_text()))
        assert names == {"load_docs", "entailment", "score", "answer", "beyond_twins"}
        task = build_task()
        assert all(callable(getattr(task, name)) for name in names)
        text = harness_files("my-tension", declared(), "1.2.3")["functions.py"]
        bindings = [f"{name} = _task.{name}" for name in sorted(names)]
        assert text.splitlines()[-len(names) :] == bindings

    @pytest.mark.parametrize("words", ["{{ text }} {% if %}", "two\nlines"])
    def test_any_words_are_valid_yaml(self, words) -> None:
        task = read(task_text(declared(title=words, direction=words)))
        assert task["task"] == "nli_my_tension"
        assert len(task["metric_list"]) == 4


class TestDocs:
    def test_each_hypothesis_comes_once_without_content(self, build_task) -> None:
        prompts = prompts_of(declared()).to_pylist()
        docs = build_task().load_docs()["test"].to_list()
        n_prompts = len(prompts)
        assert docs[:n_prompts] == prompts
        added = docs[n_prompts:]
        assert {doc["premise"] for doc in added} == {CONTENT_FREE}
        # Both items ask with the same hypotheses, and so do all twins.
        hypotheses = sorted({prompt["hypothesis"] for prompt in prompts})
        assert sorted(doc["hypothesis"] for doc in added) == hypotheses

    def test_without_twins_nothing_is_beyond_them(self, build_task) -> None:
        source = declared(twins=False)
        assert "beyond_twins" not in task_text(source)
        task = build_task(source)
        doc = task.load_docs()["test"][0]
        answered = task.entailment(doc, [(-1.0, False), (-2.0, True), (-3.5, False)])
        assert list(answered) == ["score", "answer", "score_body-and-mind"]


def answers_by_metric(
    task: QuestionnaireTask, nats: Callable[[list[str]], np.ndarray]
) -> dict[str, list[Any]]:
    """What the harness gathers from a model that gives every text these nats."""
    gathered: dict[str, list[Any]] = {}
    for doc in task.load_docs()["test"].to_list():
        results = [(number, False) for number in nats(choices_of(doc)).tolist()]
        for metric, answer in task.entailment(doc, results).items():
            gathered.setdefault(metric, []).append(answer)
    return gathered


class TestScores:
    @pytest.mark.parametrize("settings", [Scoring(), Scoring(temperature=0.4, three_way=True)])
    def test_are_those_of_the_product(self, settings, tmp_path, store, build_task) -> None:
        model = load("tiny", tiny_params({"tiny": save_tiny(tmp_path / "tiny")}), store=store)
        task = build_task(settings=settings)

        answers = answers_by_metric(task, lambda texts: model.loglikelihood(texts).nats)

        built = fill_templates("my-tension", declared(), SCALE)
        both = by_logits(built, model.entailment, settings, "my-tension")
        expected = both["score"]
        n_words = 4
        beyond = (expected - both["axis_position"]).mean() * n_words
        by_metric = {
            task.beyond_twins(answers["beyond_twins"]): beyond,
            task.score(answers["score"]): expected.mean(),
            task.answer(answers["answer"]): expected.mean() * n_words,
            task.score(answers["score_body-and-mind"]): expected["tense"],
        }
        assert [*by_metric] == pytest.approx([*by_metric.values()], abs=1e-4)
        assert task.item_scores(answers["score"]) == pytest.approx(expected.to_dict(), abs=1e-4)
        assert min(abs(beyond), *abs(expected)) > 1e-2

    @pytest.mark.parametrize("lost", ["a prompt", "a hypothesis without content"])
    def test_an_item_that_lacks_prompts_is_left_out_and_that_is_logged(
        self, lost, build_task, caplog
    ) -> None:
        task = build_task()
        rng = np.random.default_rng(0)
        answers = answers_by_metric(task, lambda texts: rng.normal(size=3))["score"]
        score_by_item = task.item_scores(answers)
        assert not caplog.records

        is_empty = lost == "a hypothesis without content"
        (missing, *_) = [
            answer for answer in answers if (answer["premise"] == CONTENT_FREE) == is_empty
        ]
        left = [answer for answer in answers if answer is not missing]
        with caplog.at_level(logging.WARNING):
            left_scores = task.item_scores(left)
        if is_empty:
            assert left_scores == {}
            assert math.isnan(task.score(left))
            assert caplog.records
        else:
            del score_by_item[missing["item"]]
            assert left_scores == score_by_item
            assert caplog.messages == ["1 of 2 items lack prompts"]
