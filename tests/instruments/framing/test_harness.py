"""The files of a contrast's `lm_eval/`, each on its own; `test_lm_eval.py` runs them through the
harness."""

import hashlib
import math
from collections.abc import Callable
from typing import Any

import pytest

from evenruler.instruments.asking import AnsweringModels, OperationInputs
from evenruler.instruments.framing.ask import requests
from evenruler.instruments.framing.card.lm_eval_task import ContrastTask
from evenruler.instruments.instrument import RequestBatch
from tests.instruments.framing.hair import subject
from tests.instruments.framing.published import Published, ours
from tests.instruments.near import approx

UNLIKE = ["first-names", "gender", "indirect-probing", "p-at-gender-7"]
"""Shipped contrasts of one shape each: their tasks, classes, options and grammars are those of the
others, too."""

FEW = 7
"""Stimuli of plans that are not as published."""


@pytest.fixture(scope="module", params=UNLIKE)
def published(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Published:
    """Each of the contrasts."""
    return Published(request.param, tmp_path_factory.mktemp("published") / "benchmark")


class Scripted(AnsweringModels):
    """Says of every form what hangs on its prompt and itself alone."""

    def __init__(self, nats: Callable[[str, str], float]) -> None:
        self._nats = nats

    def answer(self, request: RequestBatch, inputs: OperationInputs, n: int) -> dict[str, Any]:
        nats = [
            self._nats(prompt, form)
            for prompt, form in zip(
                inputs["prompt"],
                inputs["surface_form"],
                strict=True,
            )
        ]
        certain = [-1.0] * n
        return {
            "nats": nats,
            "ends": certain,
            "alone": certain,
            "first_nats": certain,
            "first_token": [0] * n,
        }


def drawn(prompt: str, form: str) -> float:
    """A number between 0 and 1 that hangs on both alone."""
    digest = hashlib.sha256(f"{prompt}|{form}".encode()).hexdigest()
    return int(digest[:12], 16) / 16**12


def scripted(prompt: str, form: str) -> float:
    """Few of the answers after prompts of some length are of any class, so that some cells have no
    coverage."""
    mass = even(prompt, form) - math.log(2.5)
    return mass - math.log(40) if "mind" in prompt else mass


def even(prompt: str, form: str) -> float:
    """As `scripted`, with enough of the answers of a class everywhere."""
    is_letter = len(form.strip()) == 1
    n_forms = 5 if is_letter else 20
    return math.log((drawn(prompt, form) + 1e-3) / n_forms)


def theirs(benchmark: Published, nats: Callable[[str, str], float]) -> dict[str, float]:
    """What the files of `lm_eval/` make of the same."""
    contrast_task = ContrastTask(benchmark.folder)
    items: dict[str, list[Any]] = {}
    for doc in contrast_task.load_docs()["test"]:
        answers = [
            (-40.0 + nats_of_form, False)
            for nats_of_form in (
                0.0,
                *(nats(doc["prompt"], form) for form in doc["forms"]),
            )
        ]
        for metric, item in contrast_task.metric_inputs(doc, answers).items():
            items.setdefault(metric, []).append(item)
    return {
        metric: getattr(contrast_task, metric.partition("_")[0])(numbers)
        for metric, numbers in items.items()
    }


class TestRows:
    def test_what_is_asked_is_what_the_plan_asks(self, published: Published) -> None:
        benchmark = published.planned()
        (request,) = requests(
            benchmark.tables,
            {**benchmark.plan, "generations": 0},
            {},
            subject(chats=False),
        )
        expected: dict[str, list[str]] = {}
        for id_, form in zip(
            request.rows["id"],
            request.rows["surface_form"],
            strict=True,
        ):
            expected.setdefault(id_, []).append(form)
        docs = list(ContrastTask(benchmark.folder).load_docs()["test"])
        # A letter before the first word of its option counts only where what follows is known.
        lettered = {doc["id"] for doc in docs if doc["order"]}
        assert {doc["id"]: doc["forms"] for doc in docs} == {
            id_: [form for form in forms if id_ not in lettered or len(form.strip()) == 1]
            for id_, forms in expected.items()
        }
        assert {doc["prompt"] for doc in docs} == set(request.inputs["prompt"])


class TestMetrics:
    def test_they_are_our_figures(self, published: Published) -> None:
        self.check(published.planned())

    def check(self, benchmark: Published) -> None:
        metrics, expected = theirs(benchmark, scripted), ours(benchmark, Scripted(scripted))
        assert metrics == approx(expected, abs=1e-12, nan_ok=True)
        assert all(
            0 < metrics[metric] < 1
            for metric in metrics
            if metric.startswith(("effect", "control"))
        )
