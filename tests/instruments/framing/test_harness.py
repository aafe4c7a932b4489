"""The files of a contrast's `lm_eval/`, each on its own; `test_lm_eval.py` runs them through the
harness."""

import hashlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.asking import AnsweringModels, OperationInputs
from evenruler.instruments.framing.ask import requests
from evenruler.instruments.framing.card import harness_files, task_name
from evenruler.instruments.framing.card.lm_eval_task import ContrastTask
from evenruler.instruments.instrument import RequestBatch
from tests.instruments.framing.hair import subject
from tests.instruments.framing.published import Published, ours

UNLIKE = ["first-names", "gender", "indirect-probing", "p-at-gender-7"]
"""Shipped contrasts of one shape each: their tasks, classes, options and placebos are those of the
others, too."""

FEW = 7
"""Stimuli of plans that are not as published."""

OTHER_PLANS: dict[str, dict[str, Any]] = {
    "two or three to a placebo": {"placebo_stimuli": 3, "orders": 4},
    "all orders, as they are": {"placebo_stimuli": 100, "orders": 100, "calibrated": False},
}


class Function(str):
    """What stands after `!function`."""


def read(text: str) -> Any:
    """A task, read as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(
        "!function", lambda loader, node: Function(loader.construct_scalar(node))
    )
    return yaml.load(text)


@pytest.fixture(scope="module", params=UNLIKE)
def published(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Published:
    """Each of the contrasts."""
    return Published(request.param, tmp_path_factory.mktemp("published") / "benchmark")


def planned(published: Published, plan: str) -> Published:
    """With one of the plans."""
    return published.planned(**OTHER_PLANS[plan], stimuli=published.planned().plan["stimuli"][:FEW])


@pytest.fixture(scope="module")
def gender(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """Words and letters, two cues, and tasks that have not all cells."""
    return Published("gender", tmp_path_factory.mktemp("gender") / "benchmark")


class Scripted(AnsweringModels):
    """Says of every form what hangs on its prompt and itself alone."""

    def __init__(self, nats: Callable[[str, str], float]) -> None:
        self._nats = nats

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        nats = [
            self._nats(prompt, form)
            for prompt, form in zip(inputs["prompt"], inputs["surface_form"], strict=True)
        ]
        one = [-1.0] * n
        return {"nats": nats, "ends": one, "alone": one, "first_nats": one, "first_token": [0] * n}


def scripted(prompt: str, form: str) -> float:
    """Few of the answers after prompts of some length are of any class, so that some cells have no
    coverage."""
    drawn = int(hashlib.sha256(f"{prompt}|{form}".encode()).hexdigest()[:12], 16) / 16**12
    return math.log(
        (drawn + 1e-3) / (5 if len(form.strip()) == 1 else 50) / (40 if "mind" in prompt else 1)
    )


def even(prompt: str, form: str) -> float:
    """As `scripted`, with enough of the answers of a class everywhere."""
    drawn = int(hashlib.sha256(f"{prompt}|{form}".encode()).hexdigest()[:12], 16) / 16**12
    return math.log((drawn + 1e-3) / (5 if len(form.strip()) == 1 else 20))


def theirs(own: Published, nats: Callable[[str, str], float]) -> dict[str, float]:
    """What the files of `lm_eval/` make of the same."""
    contrast_task = ContrastTask(own.folder)
    items: dict[str, list[Any]] = {}
    for doc in contrast_task.load_docs()["test"]:
        given = [
            (-40.0 + own, False)
            for own in (0.0, *(nats(doc["prompt"], form) for form in doc["forms"]))
        ]
        for metric, item in contrast_task.metric_inputs(doc, given).items():
            items.setdefault(metric, []).append(item)
    return {
        metric: getattr(contrast_task, metric.partition("_")[0])(found)
        for metric, found in items.items()
    }


class TestRows:
    def test_what_is_asked_is_what_the_plan_asks(self, published: Published) -> None:
        own = published.planned()
        (asked,) = requests(own.tables, {**own.plan, "generations": 0}, {}, subject(chats=False))
        expected: dict[str, list[str]] = {}
        for id_, form in zip(asked.rows["id"], asked.rows["surface_form"], strict=True):
            expected.setdefault(id_, []).append(form)
        docs = list(ContrastTask(own.folder).load_docs()["test"])
        # A letter before the first word of its option counts only where what follows is known.
        lettered = {doc["id"] for doc in docs if doc["order"]}
        assert {doc["id"]: doc["forms"] for doc in docs} == {
            id_: [form for form in forms if id_ not in lettered or len(form.strip()) == 1]
            for id_, forms in expected.items()
        }
        assert {doc["prompt"] for doc in docs} == set(asked.inputs["prompt"])

    def test_choices_are_the_prompt_and_the_prompt_with_each_form(self, gender: Published) -> None:
        assert ContrastTask(gender.folder).choices(
            {"prompt": "It is", "forms": [" he", " He"]}
        ) == [
            "It is",
            "It is he",
            "It is He",
        ]


class TestMetrics:
    def test_they_are_our_figures(self, published: Published) -> None:
        self.check(published.planned())

    @pytest.mark.parametrize("plan", OTHER_PLANS)
    def test_they_are_with_other_plans(self, gender: Published, plan: str) -> None:
        self.check(planned(gender, plan))

    def test_where_a_task_has_no_placebos_effect_and_control_are_of_the_others(
        self, tmp_path: Path
    ) -> None:
        paper = Published("gender", tmp_path / "benchmark", variant="paper")
        paper.planned(stimuli=paper.plan["stimuli"][:FEW])
        assert (
            paper.tables["prompts"].query("task == 'sentence-completion'")["placebo"].isna().all()
        )
        found, expected = theirs(paper, even), ours(paper, Scripted(even))
        assert found == pytest.approx(expected, abs=1e-12)
        assert found["control_gender_salience"] > 0

    def check(self, own: Published) -> None:
        found, expected = theirs(own, scripted), ours(own, Scripted(scripted))
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert all(
            0 < found[metric] < 1 for metric in found if metric.startswith(("effect", "control"))
        )

    def test_a_cell_without_its_prompts_without_content_is_left_out(
        self, published: Published, caplog: pytest.LogCaptureFixture
    ) -> None:
        """As where `--limit` cuts them off."""
        contrast_task = ContrastTask(published.planned().folder)
        docs = [doc for doc in contrast_task.load_docs()["test"] if doc["stimulus"]]
        given = [
            contrast_task.metric_inputs(doc, [(-1.0, False)] * (1 + len(doc["forms"])))["coverage"]
            for doc in docs
        ]
        cells = contrast_task.collect_cell_masses(given)
        assert set(cells) == {(doc["task"], doc["framing"]) for doc in docs if not doc["order"]}
        lacking = {(doc["task"], doc["framing"]) for doc in docs if doc["order"]}
        assert (f"{len(lacking)} cells lack" in caplog.text) == bool(lacking)


class TestTask:
    def test_one_a_contrast(self, published: Published) -> None:
        published.planned()
        task, factors = (
            read(published.card.harness[f"{published.card.harness_task}.yaml"]),
            published.plan["factors"],
        )
        metrics = [entry.pop("metric") for entry in task["metric_list"]]
        aggregations = [entry["aggregation"] for entry in task.pop("metric_list")]
        assert aggregations == [
            Function(f"functions.{metric.partition('_')[0]}") for metric in metrics
        ]
        slugs = [
            factor.replace("-", "_") for factor in factors if published.plan["placebos"][factor]
        ]
        assert set(metrics) == {
            "coverage",
            *(f"effect_{factor}".replace("-", "_") for factor in factors),
            *(f"control_{slug}" for slug in slugs),
        }

    def test_its_functions_are_those_of_the_package_for_its_own_folder(
        self, gender: Published
    ) -> None:
        text = gender.planned().card.harness[f"{gender.card.harness_task}.yaml"]
        names = set(re.findall(r"!function functions\.(\w+)", text))
        assert names == {"load_docs", "choices", "metric_inputs", "effect", "control", "coverage"}
        module = gender.module("functions")
        for name in names:
            assert getattr(module, name).__self__.folder == gender.folder

    def test_a_factor_without_placebos_has_an_effect_alone(self, gender: Published) -> None:
        factors = gender.planned().plan["factors"]
        plan = {**gender.plan, "placebos": {**dict.fromkeys(factors, 2), factors[0]: 0}}
        files = harness_files("it", gender.declaration.source, plan, "1.0.0")
        metrics = {
            entry["metric"] for entry in read(files[f"{task_name('it')}.yaml"])["metric_list"]
        }
        first = factors[0].replace("-", "_")
        assert f"effect_{first}" in metrics
        assert f"control_{first}" not in metrics
        contrast_task = ContrastTask(gender.planned(placebos=plan["placebos"]).folder)
        doc = {"task": "t", "framing": "bare", "stimulus": "s", "order": [], "forms": []}
        assert set(contrast_task.metric_inputs(doc, [(-1.0, False)])) == metrics
