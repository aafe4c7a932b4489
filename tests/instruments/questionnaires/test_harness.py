"""The files of `lm_eval/` of a questionnaire, each on its own; `test_lm_eval.py` runs them through
the harness."""

import ast
import importlib.util
import json
import logging
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.item_scores import Scoring, score_items
from evenruler.instruments.questionnaires.card import harness_files, task_name
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, ResponseScale
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.models import LABELS, load
from evenruler.models.questions import OPTIONS, entailment_prompts
from tests.later import Later
from tests.tiny import save_tiny, tiny_params

datasets = Later("datasets")

SCALE = ResponseScale.model_validate(
    {
        "title": "Short",
        "source": "ours",
        "levels": [
            {"weight": -4, "words": ["never"]},
            {"weight": -2, "words": ["very rarely", "rarely"]},
            {"weight": 3, "words": ["always"]},
        ],
    }
)


def declared(twins: bool = True, **changes: Any) -> QuestionnaireSource:
    items = {
        "tense": {
            "original": "How often are you tense?",
            "premise": "I have felt {TERM}.",
            "hypothesis": "I {INTENSIFIER} feel this way.",
            "terms": {"source": ["tense", "on edge", "uneasy"], "inverse": ["calm", "at ease"]},
            "subscale": "body-and-mind",
        },
        "rest": {
            "original": "How often do you rest?",
            "premise": "When I “rest” or 'so', I am {TERM}.",
            "hypothesis": "I {INTENSIFIER} feel this way.",
            "terms": {"source": ["glad", "merry"], "inverse": ["gloomy"]},
            "keying": -1,
        },
    }
    looks = "It {INTENSIFIER} looks this way."
    weather = {
        "premise": "The weather has been {TERM}.",
        "hypothesis": looks,
        "terms": {"source": ["rough", "stormy"], "inverse": ["mild", "fair"]},
    }
    road, lane = (
        {
            "premise": f"When it rains, the {way} is {{TERM}}.",
            "hypothesis": looks,
            "terms": {"source": ["clear", "safe"], "inverse": ["blocked"]},
        }
        for way in ("road", "lane")
    )
    if twins:
        items["tense"]["twins"], items["rest"]["twins"] = [weather], [road, lane]
    return QuestionnaireSource.model_validate(
        {
            "title": "Tension",
            "construct": "tension",
            "direction": "positive means more tension",
            "original": {"name": "T", "licence": "cc0-1.0", "reference": "ours", "wording": "held"},
            "source": "ours",
            "licence": "cc0-1.0",
            "scale": "short",
            "items": items,
            **changes,
        }
    )


def files_of(source: QuestionnaireSource | None = None, **settings: Any) -> dict[str, str]:
    return harness_files("my-tension", source or declared(), SCALE, "1.2.3", **settings)


class Function(str):
    """What stands after `!function`."""


def read(text: str) -> dict[str, Any]:
    """A task, read as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(
        "!function", lambda loader, node: Function(loader.construct_scalar(node))
    )
    return yaml.load(text)


@pytest.fixture
def metrics(tmp_path, monkeypatch) -> Callable[[dict[str, str]], ModuleType]:
    """Writes the files into a folder and imports the module of the scores by its path, as the
    harness does."""

    def load_module(files: dict[str, str]) -> ModuleType:
        folder = tmp_path / "lm_eval"
        folder.mkdir(exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(
            "of_test_scale_score", folder / "scale_score.py"
        )
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
        return module

    return load_module


def rows_of(source: QuestionnaireSource) -> "datasets.Dataset":
    built = fill_templates("my-tension", source, SCALE)
    return datasets.Dataset(
        pa.Table.from_pylist(built.prompts, schema=schemas.PROMPTS).select(schemas.PROMPTS.names)
    )


def choices_of(files: dict[str, str], doc: dict[str, Any]) -> list[str]:
    """What the harness makes of `doc_to_choice`."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return ast.literal_eval(
        environment.from_string(read(files["nli_my_tension.yaml"])["doc_to_choice"]).render(**doc)
    )


class TestTask:
    def test_files(self) -> None:
        assert set(files_of()) == {"nli_my_tension.yaml", "scale_score.py", "settings.json"}
        assert task_name("my-tension") == "nli_my_tension"

    def test_what_it_says(self) -> None:
        task = read(files_of()["nli_my_tension.yaml"])
        of_score = {"aggregation": Function("scale_score.score"), "higher_is_better": False}
        del task["doc_to_choice"]
        assert task == {
            "task": "nli_my_tension",
            "custom_dataset": Function("scale_score.load"),
            "test_split": "test",
            "process_docs": Function("scale_score.docs"),
            "output_type": "multiple_choice",
            "doc_to_text": "",
            "target_delimiter": "",
            "doc_to_target": 0,
            "process_results": Function("scale_score.entailment"),
            "metric_list": [
                {"metric": "score", **of_score},
                {"metric": "answer", **of_score, "aggregation": Function("scale_score.answer")},
                {
                    "metric": "beyond_twins",
                    **of_score,
                    "aggregation": Function("scale_score.beyond_twins"),
                },
                {"metric": "score_body-and-mind", **of_score},
            ],
            "metadata": {"version": "1.2.3"},
        }

    def test_settings(self) -> None:
        assert json.loads(files_of(temperature=0.5, three_way=True)["settings.json"]) == {
            "content_free": "N/A",
            "items": {"tense": 20, "rest": 12},
            "subscales": ["body-and-mind"],
            "temperature": 0.5,
            "three_way": True,
            "twins": {"tense": [16], "rest": [12, 12]},
        }

    def test_the_functions_that_are_named_are_there(self, metrics) -> None:
        task, module = read(files_of()["nli_my_tension.yaml"]), metrics(files_of())
        of_rows = [task[key] for key in ("custom_dataset", "process_docs", "process_results")]
        for named in of_rows + [metric["aggregation"] for metric in task["metric_list"]]:
            assert callable(getattr(module, named.removeprefix("scale_score.")))

    def test_choices_are_the_prompts_of_the_verbaliser(self) -> None:
        for doc in rows_of(declared()):
            (asked,), (empty,) = entailment_prompts([(doc["premise"], doc["hypothesis"])])
            assert choices_of(files_of(), doc) == [asked + option for option in OPTIONS]
            assert choices_of(files_of(), doc | {"premise": "N/A"}) == [
                empty + option for option in OPTIONS
            ]

    @pytest.mark.parametrize(
        "words", ["50%: a # b", "{{ text }} {% if %}", "é “quoted” 'and' \\n", "two\nlines"]
    )
    def test_any_words_are_valid_yaml(self, words) -> None:
        task = read(files_of(declared(title=words, direction=words))["nli_my_tension.yaml"])
        assert task["task"] == "nli_my_tension"
        assert len(task["metric_list"]) == 4

    def test_the_module_needs_only_the_standard_library_and_what_the_harness_brings(self) -> None:
        lines = map(str.strip, files_of()["scale_score.py"].splitlines())
        imports = {
            line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))
        }
        assert imports <= sys.stdlib_module_names | {"datasets", "pyarrow"}


def test_what_is_loaded_are_the_prompts_of_the_folder_above(metrics, tmp_path) -> None:
    rows = rows_of(declared())
    (tmp_path / "prompts").mkdir()
    rows.to_parquet(tmp_path / "prompts" / "test-00000-of-00001.parquet")

    found = metrics(files_of()).load(version="1.2.3", pretrained="tiny")

    assert list(found) == ["test"]
    assert found["test"].to_list() == rows.to_list()
    assert found["test"].features == rows.features


class TestDocs:
    def test_each_hypothesis_comes_once_without_content(self, metrics) -> None:
        rows = rows_of(declared())
        docs = metrics(files_of()).docs(rows)

        assert docs.select(range(len(rows))).to_list() == rows.to_list()
        added = docs.select(range(len(rows), len(docs)))
        assert added["premise"][:] == ["N/A"] * 8
        # Both items ask with the same hypotheses, and so do all twins.
        words = ["always", "never", "rarely", "very rarely"]
        expected = [
            told.format(word)
            for told in ("I {} feel this way.", "It {} looks this way.")
            for word in words
        ]
        assert sorted(added["hypothesis"]) == expected
        assert docs.features == rows.features

    def test_what_a_prompt_brings(self, metrics) -> None:
        module, rows = metrics(files_of()), rows_of(declared())
        docs = module.docs(rows).to_list()
        results = [(-1.0, False), (-2.0, True), (-3.5, False)]
        whole = docs[: len(rows)]
        by_item = {doc["item"]: module.entailment(doc, results) for doc in whole if not doc["twin"]}
        of_any = ["score", "answer", "beyond_twins"]
        assert {item: list(found) for item, found in by_item.items()} == {
            "tense": [*of_any, "score_body-and-mind"],
            "rest": of_any,
        }
        of_twins = [list(module.entailment(doc, results)) for doc in whole if doc["twin"]]
        assert of_twins == [["beyond_twins"]] * (16 + 12 + 12)
        assert list(module.entailment(docs[-1], results)) == [*of_any, "score_body-and-mind"]
        found = by_item["rest"]["score"]
        assert found["nats"] == [-1.0, -2.0, -3.5]
        assert found == by_item["rest"]["answer"]
        assert (found["item"], found["keying"], found["weight"] in (-4.0, -2.0, 3.0)) == (
            "rest",
            -1,
            True,
        )
        assert json.dumps(found)

    def test_without_twins_there_is_nothing_beyond_them(self, metrics) -> None:
        files = files_of(declared(twins=False))
        assert "beyond_twins" not in files["nli_my_tension.yaml"]
        doc = rows_of(declared(twins=False)).to_list()[0]
        found = metrics(files).entailment(doc, [(-1.0, False), (-2.0, True), (-3.5, False)])
        assert list(found) == ["score", "answer", "score_body-and-mind"]


def asked(
    module: ModuleType, files: dict[str, str], nats: Callable[[list[str]], np.ndarray]
) -> dict[str, list[Any]]:
    """What the harness gathers, by metric, from a model that gives every text these nats."""
    found: dict[str, list[Any]] = {}
    for doc in module.docs(rows_of(declared())).to_list():
        results = [(value, False) for value in nats(choices_of(files, doc)).tolist()]
        for metric, answer in module.entailment(doc, results).items():
            found.setdefault(metric, []).append(answer)
    return found


def ours(logits: Callable[[list[tuple[str, str]]], np.ndarray], settings: Scoring) -> pd.DataFrame:
    """Item scores as the product computes them."""
    built = fill_templates("my-tension", declared(), SCALE)
    prompts = pd.DataFrame(built.prompts)
    values = logits(list(zip(prompts["premise"], prompts["hypothesis"], strict=True)))
    shared = {"model": "m", "lineage": "m", "kind": "causal", "configuration": "verbaliser"}
    scores = pd.concat(
        [
            prompts[["id", "framing"]].assign(measure=label, value=values[:, column], **shared)
            for column, label in enumerate(LABELS)
        ]
    )
    items = pd.DataFrame(built.items).assign(questionnaire="my-tension")
    found = score_items(prompts, items, scores, settings)
    beside = found[found["twin"] > 0].groupby("item")["score"].mean()
    return found[found["twin"] == 0].set_index("item").assign(beside=beside)


class TestScores:
    @pytest.mark.parametrize("settings", [Scoring(), Scoring(temperature=0.4, three_way=True)])
    def test_are_those_of_the_product(self, settings, tmp_path, store, metrics) -> None:
        model = load("tiny", tiny_params({"tiny": save_tiny(tmp_path / "tiny")}), store=store)
        files = files_of(temperature=settings.temperature, three_way=settings.three_way)
        module = metrics(files)

        found = asked(module, files, lambda texts: model.loglikelihood(texts).nats)

        both = ours(model.entailment, settings)
        expected = both["score"]
        beyond = (expected - both["beside"]).mean() * 4
        assert module.beyond_twins(found["beyond_twins"]) == pytest.approx(beyond, abs=1e-4)
        assert abs(beyond) > 1e-2
        assert module.item_scores(found["score"]) == pytest.approx(expected.to_dict(), abs=1e-4)
        assert module.score(found["score"]) == pytest.approx(expected.mean(), abs=1e-4)
        assert module.answer(found["answer"]) == pytest.approx(expected.mean() * 4, abs=1e-4)
        assert module.score(found["score_body-and-mind"]) == pytest.approx(
            expected["tense"], abs=1e-4
        )
        assert abs(expected).min() > 1e-2

    def test_by_hand(self, metrics) -> None:
        """Shares of entailment .1, .4 of the source term and .3, .6 of the inverse."""
        module = metrics(files_of())
        module.SETTINGS["items"] = {"one": 4}
        row = {"item": "one", "twin": 0, "keying": -1, "premise": "p"}
        never, always = (
            {**row, "intensifier": word, "hypothesis": word} for word in ("never", "always")
        )
        never["weight"], always["weight"] = -4.0, 4.0
        answers = [
            {
                **prompt,
                "term": term,
                "polarity": polarity,
                "nats": [math.log(p) - 30, 0.0, math.log(1 - p) - 30],
            }
            for prompt, term, polarity, p in (
                (never, "s", "source", 0.1),
                (always, "s", "source", 0.4),
                (never, "i", "inverse", 0.3),
                (always, "i", "inverse", 0.6),
            )
        ]
        answers += [
            {**prompt, "premise": "N/A", "term": "s", "nats": [-9.0, -5.0, -9.0]}
            for prompt in (never, always)
        ]
        # Over terms .25 and .4; over intensifiers .25 / .65 and .4 / .65; weighted (-1 + 1.6) /
        # .65, over 2, keyed.
        assert module.score(answers) == pytest.approx(-0.6 / 0.65 / 2, abs=1e-12)
        assert module.answer(answers) == pytest.approx(-0.6 / 0.65, abs=1e-12)

    def test_the_order_of_answers_does_not_matter(self, metrics) -> None:
        module, files = metrics(files_of()), files_of()
        rng = np.random.default_rng(0)
        answers = asked(module, files, lambda texts: rng.normal(size=3))["score"]
        assert module.score(answers[::-1]) == pytest.approx(module.score(answers), abs=1e-12)

    @pytest.mark.parametrize("lost", ["a prompt", "a hypothesis without content"])
    def test_an_item_that_lacks_prompts_is_left_out_and_that_is_logged(
        self, lost, metrics, caplog
    ) -> None:
        module, files = metrics(files_of()), files_of()
        rng = np.random.default_rng(0)
        answers = asked(module, files, lambda texts: rng.normal(size=3))["score"]
        whole = module.item_scores(answers)
        assert not caplog.records

        empty = [answer for answer in answers if answer["premise"] == "N/A"]
        missing = answers[0] if lost == "a prompt" else empty[0]
        left = [answer for answer in answers if answer is not missing]
        with caplog.at_level(logging.WARNING):
            found = module.item_scores(left)

        if lost == "a prompt":
            assert found == {
                item: value for item, value in whole.items() if item != answers[0]["item"]
            }
            assert [record.getMessage() for record in caplog.records] == [
                "1 of 2 items lack prompts"
            ]
        else:
            assert found == {}
            assert math.isnan(module.score(left))
            assert caplog.records[0].getMessage() == "2 of 2 items lack prompts"

    def test_nothing_answered(self, metrics) -> None:
        module = metrics(files_of())
        assert math.isnan(module.score([]))
        assert math.isnan(module.answer([]))


def test_the_module_of_scores_is_the_packaged_one() -> None:
    import evenruler.instruments.questionnaires.card as package

    packaged = Path(package.__file__).parent / "scale_score.py"
    assert files_of()["scale_score.py"] == packaged.read_text(encoding="utf-8")
