"""The files of `lm_eval/`, each on its own; `test_lm_eval.py` runs them through the harness."""

import importlib.util
import json
import logging
import math
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from scipy import stats

from evenruler.instruments.probes.card import harness_files, task_name
from evenruler.instruments.probes.declare.settings import bias
from tests.instruments.probes.conftest import SOURCE
from tests.later import Later

datasets = Later("datasets")

CRITERION = {"baker": 40.5, "engineer": 85.0, "judge": 58.25, "nurse": 12.0}
LABELLED = {"criterion": {"file": "trades.csv", "column": "men", "label": "men (%)"}}


class Function(str):
    """What stands after `!function`."""


def read(text):
    """A task, read as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor(
        "!function", lambda loader, node: Function(loader.construct_scalar(node))
    )
    return yaml.load(text)


def files_of(source, criterion=CRITERION, domain="trades", **changes):
    declared = source(**{**(LABELLED if criterion else {}), **changes})
    return harness_files(domain, declared, criterion, "1.2.3")


def write(folder: Path, files: dict[str, str], ids: list[str]) -> None:
    """A benchmark folder as far as its tasks read it: these files of `lm_eval/`, and rows with
    these ids."""
    for inside in ("lm_eval", "probes"):
        (folder / inside).mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / "lm_eval" / file).write_text(text, encoding="utf-8")
    rows = pa.table({"id": ids, "set": ["hand"] * len(ids)})
    pq.write_table(rows, folder / "probes" / "test-00000-of-00001.parquet")


def import_from(folder: Path, name: str) -> ModuleType:
    """A module by its path, as the harness imports it."""
    spec = importlib.util.spec_from_file_location(f"of_test_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Writes files into a folder and imports one of them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(files: dict[str, str], name: str):
        for file, text in files.items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        return import_from(tmp_path, name)

    return load


@pytest.fixture
def metrics(source, imported):
    """The module of the metrics, beside that criterion."""
    return lambda criterion=CRITERION: imported(files_of(source, criterion), "group_difference")


def answers_of(scores: dict[tuple[str, str, int], dict[int, list[float]]]):
    """What sentences bring, from scores by template, attribute, keying and pole."""
    return [
        (*cell, pole, nats)
        for cell, poles in scores.items()
        for pole, found in poles.items()
        for nats in found
    ]


# -11 + 14 = 3; (-4 + 6), keyed -1: -2; -2 + 1 = -1; (-7.5 + 5), keyed -1: 2.5.
SCORES = {
    ("plain", "baker", 1): {1: [-10.0, -12.0], -1: [-13.0, -14.0, -15.0]},
    ("odd", "baker", -1): {1: [-4.0], -1: [-6.0]},
    ("plain", "engineer", 1): {1: [-1.0, -3.0], -1: [-1.0]},
    ("odd", "engineer", -1): {1: [-7.0, -8.0], -1: [-5.0]},
}
BIASES = {
    ("plain", "baker"): 3.0,
    ("odd", "baker"): -2.0,
    ("plain", "engineer"): -1.0,
    ("odd", "engineer"): 2.5,
}


class TestTasks:
    def test_one_a_set_and_a_group_of_all(self, source) -> None:
        assert set(files_of(source)) == {
            "probes_trades.yaml",
            "probes_trades__hand.yaml",
            "probes_trades__other.yaml",
            "rows.py",
            "group_difference.py",
            "criterion.json",
        }
        assert read(files_of(source)["probes_trades.yaml"]) == {
            "group": "probes_trades",
            "task": ["probes_trades__hand", "probes_trades__other"],
        }

    def test_a_task(self, source) -> None:
        assert read(files_of(source)["probes_trades__hand.yaml"]) == {
            "task": "probes_trades__hand",
            "custom_dataset": Function("rows.load"),
            "test_split": "test",
            "process_docs": Function("rows.of_hand"),
            "output_type": "loglikelihood_rolling",
            "doc_to_text": "",
            "doc_to_target": "{{text}}",
            "process_results": Function("group_difference.likelihood"),
            "metric_list": [
                {
                    "metric": "spread",
                    "aggregation": Function("group_difference.spread"),
                    "higher_is_better": None,
                },
                {
                    "metric": "offset",
                    "aggregation": Function("group_difference.offset"),
                    "higher_is_better": None,
                },
                {
                    "metric": "validity",
                    "aggregation": Function("group_difference.validity"),
                    "higher_is_better": True,
                },
            ],
            "metadata": {"version": "1.2.3"},
        }

    def test_each_set_takes_its_rows(self, source) -> None:
        task = read(files_of(source)["probes_trades__other.yaml"])
        assert (task["task"], task["process_docs"]) == ("probes_trades__other", "rows.of_other")

    def test_which_version_it_is(self, source) -> None:
        files = harness_files("trades", source(), {}, "10.0.1")
        for name in ("hand", "other"):
            assert read(files[f"probes_trades__{name}.yaml"])["metadata"] == {"version": "10.0.1"}

    def test_the_functions_that_are_named_are_there(self, source, imported) -> None:
        files = files_of(source)
        for name in ("hand", "other"):
            task = read(files[f"probes_trades__{name}.yaml"])
            named = [task["custom_dataset"], task["process_docs"], task["process_results"]]
            named += [metric["aggregation"] for metric in task["metric_list"]]
            for module, function in (found.split(".") for found in named):
                assert callable(getattr(imported(files, module), function))

    def test_without_a_criterion_there_is_no_validity(self, source) -> None:
        files = files_of(source, {})
        assert "criterion.json" not in files
        metrics = read(files["probes_trades__hand.yaml"])["metric_list"]
        assert [metric["metric"] for metric in metrics] == ["spread", "offset"]

    def test_the_criterion(self, source) -> None:
        assert json.loads(files_of(source)["criterion.json"]) == CRITERION

    def test_direction_and_label_are_for_the_reader(self, source) -> None:
        text = files_of(source)["probes_trades__hand.yaml"]
        assert "# Trades, template set hand: " in text
        assert (
            "# Nats; positive means closer to men. Mostly reflects word length and frequency.\n"
            in text
        )
        assert "# Correlation of bias with men (%).\n" in text

    @pytest.mark.parametrize("words", ["50%: a # b", "{{ text }} {% if %}", "é “quoted” 'and' \\n"])
    def test_any_words_are_valid_yaml(self, source, words) -> None:
        labelled = {"criterion": {**LABELLED["criterion"], "label": words}}
        task = read(
            files_of(source, title=words, direction=words, **labelled)["probes_trades__hand.yaml"]
        )
        assert task["task"] == "probes_trades__hand"
        assert len(task["metric_list"]) == 3


class TestNames:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("trades",), "probes_trades"),
            (("trades", "hand"), "probes_trades__hand"),
            (("age-and-pay", "by-hand-2"), "probes_age_and_pay__by_hand_2"),
            (("2024", "8-items"), "probes_2024__8_items"),
        ],
    )
    def test_task_name(self, words, expected) -> None:
        assert task_name(*words) == expected

    def test_hyphens_and_leading_digits(self, source, imported) -> None:
        sets = {"8-by-hand": SOURCE["sets"]["hand"], "2": SOURCE["sets"]["other"]}
        files = files_of(source, domain="1-2-trades", sets=sets)
        assert read(files["probes_1_2_trades.yaml"]) == {
            "group": "probes_1_2_trades",
            "task": ["probes_1_2_trades__8_by_hand", "probes_1_2_trades__2"],
        }
        rows = datasets.Dataset.from_dict(
            {"set": ["2", "8-by-hand", "2"], "id": ["a", "b", "c"], "control": [False] * 3}
        )
        chosen = {}
        for task in ("probes_1_2_trades__8_by_hand", "probes_1_2_trades__2"):
            module, function = read(files[f"{task}.yaml"])["process_docs"].split(".")
            chosen[task] = getattr(imported(files, module), function)(rows)["id"][:]
        assert chosen == {"probes_1_2_trades__8_by_hand": ["b"], "probes_1_2_trades__2": ["a", "c"]}


class TestRows:
    @pytest.mark.parametrize(("name", "ids"), [("hand", ["1", "4"]), ("other", ["2"])])
    def test_those_of_the_set_in_their_order(self, source, imported, name, ids) -> None:
        rows = datasets.Dataset.from_dict(
            {
                "id": ["1", "2", "3", "4"],
                "set": ["hand", "other", "handy", "hand"],
                "control": [False] * 4,
            }
        )

        chosen = getattr(imported(files_of(source), "rows"), f"of_{name}")(rows)

        assert chosen.to_dict() == {
            "id": ids,
            "set": [name] * len(ids),
            "control": [False] * len(ids),
        }

    def test_controls_are_not_asked(self, source, imported) -> None:
        rows = datasets.Dataset.from_dict(
            {
                "id": ["1", "2", "3"],
                "set": ["hand", "hand", "other"],
                "control": [True, False, True],
            }
        )

        module = imported(files_of(source), "rows")

        assert module.of_hand(rows)["id"][:] == ["2"]
        assert module.of_other(rows).num_rows == 0

    def test_none(self, source, imported) -> None:
        rows = datasets.Dataset.from_dict({"id": ["1"], "set": ["hand"], "control": [False]})

        assert imported(files_of(source), "rows").of_other(rows).num_rows == 0


class TestLoad:
    @pytest.fixture
    def folder(self, source, tmp_path) -> Path:
        """A benchmark folder whose path says things that a reader of Parquet could take for a
        column."""
        folder = tmp_path / "set=other" / "a b"
        write(folder, files_of(source), ["1", "2"])
        return folder

    def test_the_rows_of_the_folder_above(self, folder) -> None:
        found = import_from(folder / "lm_eval", "rows").load(version="1.2.3", pretrained="tiny")
        assert list(found) == ["test"]
        assert found["test"].to_dict() == {"id": ["1", "2"], "set": ["hand", "hand"]}

    def test_of_a_copy_those_of_the_copy(self, source, folder, tmp_path) -> None:
        import_from(folder / "lm_eval", "rows").load()
        copied = shutil.copytree(folder, tmp_path / "copied")
        write(copied, {}, ["3"])
        shutil.rmtree(folder)
        assert import_from(copied / "lm_eval", "rows").load()["test"]["id"][:] == ["3"]

    def test_nothing_is_cached(self, source, folder) -> None:
        module = import_from(folder / "lm_eval", "rows")
        assert module.load()["test"]["id"][:] == ["1", "2"]
        write(folder, {}, ["5"])
        assert module.load()["test"]["id"][:] == ["5"]


DOC = {"template": "odd", "attribute": "baker", "keying": -1, "pole": 1, "set": "hand", "text": "x"}


class TestLikelihood:
    @pytest.mark.parametrize("results", [[-2.5], [(-2.5,)], [(-2.5, True)], [[-2.5, False]]])
    def test_one_sentence(self, metrics, results) -> None:
        answer = ("odd", "baker", -1, 1, -2.5)
        assert metrics().likelihood(DOC, results) == {
            "spread": answer,
            "offset": answer,
            "validity": answer,
        }

    def test_without_a_criterion(self, metrics) -> None:
        assert metrics({}).likelihood(DOC, [-2.5]) == {
            "spread": ("odd", "baker", -1, 1, -2.5),
            "offset": ("odd", "baker", -1, 1, -2.5),
        }


class TestBiases:
    def test_by_hand(self, metrics, caplog) -> None:
        assert metrics().biases(answers_of(SCORES)) == BIASES
        assert not caplog.records

    def test_the_order_of_answers_does_not_matter(self, metrics) -> None:
        assert metrics().biases(answers_of(SCORES)[::-1]) == BIASES

    def test_are_those_of_the_product(self, metrics) -> None:
        random = np.random.default_rng(4)
        poles = [1, 1, 1, -1, -1]
        cells = {
            (f"t{i}", f"a{j}", [1, -1][i % 2]): random.normal(-30, 5, 5)
            for i in range(4)
            for j in range(6)
        }
        answers = [
            (*cell, pole, nats)
            for cell, scores in cells.items()
            for pole, nats in zip(poles, scores, strict=True)
        ]
        random.shuffle(answers)
        answers = [
            (template, attribute, int(k), int(p), float(nats))
            for template, attribute, k, p, nats in answers
        ]

        found = metrics().biases(answers)

        expected = {
            (template, attribute): k * bias(cells[template, attribute, k], poles)
            for template, attribute, k in cells
        }
        assert found == pytest.approx(expected, abs=1e-12)
        assert metrics().offset(answers) == pytest.approx(
            np.mean(list(expected.values())), abs=1e-12
        )
        by_attribute = [
            np.mean([value for (_, own), value in expected.items() if own == attribute])
            for attribute in {attribute for _, attribute in expected}
        ]
        assert metrics().spread(answers) == pytest.approx(np.std(by_attribute, ddof=1), abs=1e-12)

    def test_a_cell_without_a_group_is_left_out_and_that_is_logged(self, metrics, caplog) -> None:
        holed = {
            **SCORES,
            ("odd", "baker", -1): {1: [-4.0], -1: []},
            ("plain", "engineer", 1): {1: [], -1: [-1.0]},
        }

        with caplog.at_level(logging.WARNING):
            found = metrics().biases(answers_of(holed))

        assert found == {("plain", "baker"): 3.0, ("odd", "engineer"): 2.5}
        assert [record.getMessage() for record in caplog.records] == [
            "2 of 4 biases lack the sentences of a group"
        ]

    def test_mean_by_hand(self, metrics) -> None:
        assert metrics().offset(answers_of(SCORES)) == 0.625  # (3 - 2 - 1 + 2.5) / 4

    def test_spread_by_hand(self, metrics) -> None:
        # Baker (3 - 2) / 2 = .5, engineer (-1 + 2.5) / 2 = .75.
        assert metrics().spread(answers_of(SCORES)) == pytest.approx(0.25 / math.sqrt(2), abs=1e-12)

    def test_one_attribute_no_spread(self, metrics) -> None:
        own = {cell: scores for cell, scores in SCORES.items() if cell[1] == "baker"}
        assert math.isnan(metrics().spread(answers_of(own)))
        assert metrics().offset(answers_of(own)) == 0.5

    @pytest.mark.parametrize("answers", [[], [("plain", "baker", 1, 1, -2.0)]])
    def test_no_bias_no_mean(self, metrics, answers) -> None:
        assert math.isnan(metrics().offset(answers))
        assert math.isnan(metrics().spread(answers))


def means(**by_attribute: list[float]):
    """Answers whose biases, template by template, are these."""
    return answers_of(
        {
            (f"t{number}", attribute, keying): {1: [keying * value - 20.0], -1: [-20.0]}
            for attribute, values in by_attribute.items()
            for number, (keying, value) in enumerate(zip([1, -1], values, strict=False))
        }
    )


class TestValidity:
    def test_is_the_correlation_of_means_with_the_criterion(self, metrics) -> None:
        answers = means(
            baker=[1.0, 0.0],
            engineer=[2.0, 3.0],
            judge=[-1.0, 2.0],
            nurse=[-1.5, 0.25],
            poet=[9.0, 9.0],
        )

        expected = stats.pearsonr([0.5, 2.5, 0.5, -0.625], [40.5, 85.0, 58.25, 12.0]).statistic
        assert metrics().validity(answers) == pytest.approx(expected, abs=1e-12)

    def test_an_attribute_is_as_heavy_as_another_whatever_it_lost(self, metrics) -> None:
        answers = means(baker=[1.0], engineer=[2.0, 3.0], nurse=[-1.5, 0.5])

        expected = stats.pearsonr([1.0, 2.5, -0.5], [40.5, 85.0, 12.0]).statistic
        assert metrics().validity(answers) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(
        "answers",
        [
            pytest.param([], id="no-answers"),
            pytest.param(means(baker=[1.0, 2.0]), id="one-attribute"),
            pytest.param(means(poet=[1.0], dancer=[2.0], chief=[3.0]), id="none-with-a-criterion"),
            pytest.param(means(baker=[1.0], nurse=[1.0], judge=[1.0]), id="all-biases-alike"),
        ],
    )
    def test_not_a_number(self, metrics, answers) -> None:
        assert math.isnan(metrics().validity(answers))

    def test_not_a_number_where_the_criterion_is_one_number(self, metrics) -> None:
        assert math.isnan(
            metrics(dict.fromkeys(CRITERION, 50.0)).validity(means(baker=[1.0], nurse=[2.0]))
        )


@pytest.mark.parametrize(
    ("name", "more"), [("group_difference.py", set()), ("rows.py", {"datasets", "pyarrow"})]
)
def test_modules_need_only_the_standard_library_and_what_the_harness_brings(
    source, name, more
) -> None:
    lines = map(str.strip, files_of(source)[name].splitlines())
    imports = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))
    }
    assert imports <= sys.stdlib_module_names | more


def test_the_module_of_metrics_is_the_packaged_one(source) -> None:
    import evenruler.instruments.probes.card.group_difference as packaged

    assert files_of(source)["group_difference.py"] == Path(packaged.__file__).read_text(
        encoding="utf-8"
    )
