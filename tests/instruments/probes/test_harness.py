"""The files of `lm_eval/`, each on its own; `test_lm_eval.py` runs them through the harness."""

import logging
import math
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from scipy import stats

from evenruler.instruments.probes.card import harness_files, task_name
from evenruler.instruments.probes.card.lm_eval_task import ProbeTask, pair_biases
from tests.instruments.near import near
from tests.text_tables import read_columns

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


def write_rows(folder: Path, config: str, rows: dict[str, list[object]]) -> None:
    """A table of a benchmark folder."""
    (folder / config).mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(rows),
        folder / config / "test-00000-of-00001.parquet",
    )


def write_criterion(folder: Path, criterion: dict[str, float]) -> None:
    """The table of attributes, one of which has no published number."""
    numbers = {**criterion, "poet": None}
    write_rows(
        folder,
        "attributes",
        {"attribute": [*numbers], "criterion": [*numbers.values()]},
    )


@pytest.fixture
def build_task(tmp_path):
    """Opens a folder as far as metrics read it, with that criterion."""

    def build(criterion=CRITERION) -> ProbeTask:
        write_criterion(tmp_path, criterion)
        return ProbeTask(tmp_path)

    return build


# -11 + 14 = 3; (-4 + 6), keyed -1: -2; -2 + 1 = -1; (-7.5 + 5), keyed -1: 2.5.
SCORES = read_columns("""
    template  attribute  keying  pole  nats
    plain     baker       1       1    -10.0
    plain     baker       1       1    -12.0
    plain     baker       1      -1    -13.0
    plain     baker       1      -1    -14.0
    plain     baker       1      -1    -15.0
    odd       baker      -1       1     -4.0
    odd       baker      -1      -1     -6.0
    plain     engineer    1       1     -1.0
    plain     engineer    1       1     -3.0
    plain     engineer    1      -1     -1.0
    odd       engineer   -1       1     -7.0
    odd       engineer   -1       1     -8.0
    odd       engineer   -1      -1     -5.0
""")
BIASES = {
    ("plain", "baker"): 3.0,
    ("odd", "baker"): -2.0,
    ("plain", "engineer"): -1.0,
    ("odd", "engineer"): 2.5,
}


def answers_of(scores: pd.DataFrame):
    return list(scores.itertuples(index=False, name=None))


class TestTasks:
    def test_one_a_set_and_a_group_of_all(self, source) -> None:
        files = files_of(source)
        sets = ["probes_trades__hand", "probes_trades__other"]
        assert set(files) == {
            "probes_trades.yaml",
            "functions.py",
            *(f"{name}.yaml" for name in sets),
        }
        assert read(files["probes_trades.yaml"]) == {"group": "probes_trades", "task": sets}
        task = read(files["probes_trades__other.yaml"])
        assert (task["test_split"], task["metadata"]) == ("other", {"version": "1.2.3"})

    def test_without_a_criterion_there_is_no_validity(self, source) -> None:
        metrics = read(files_of(source)["probes_trades__hand.yaml"])["metric_list"]
        better = {metric["metric"]: metric["higher_is_better"] for metric in metrics}
        assert better == {"spread": None, "offset": None, "validity": True}
        metrics = read(files_of(source, {})["probes_trades__hand.yaml"])["metric_list"]
        assert [metric["metric"] for metric in metrics] == ["spread", "offset"]

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
            (("age-and-pay", "by-hand-2"), "probes_age_and_pay__by_hand_2"),
            (("2024", "8-items"), "probes_2024__8_items"),
        ],
    )
    def test_task_name(self, words, expected) -> None:
        assert task_name(*words) == expected


SENTENCES = {
    "id": ["1", "2", "3", "4", "5"],
    "set": ["hand", "other", "handy", "hand", "hand"],
    "control": [False, True, False, True, False],
}


class TestLoad:
    @pytest.fixture
    def folder(self, tmp_path) -> Path:
        """A benchmark folder whose path says things that a reader of Parquet could take for a
        column."""
        folder = tmp_path / "set=other" / "a b"
        write_criterion(folder, CRITERION)
        write_rows(folder, "probes", SENTENCES)
        return folder

    def test_each_set_is_a_split_in_its_order_without_controls(self, folder) -> None:
        splits = ProbeTask(folder).load_docs(version="1.2.3", pretrained="tiny")
        assert {name: rows["id"][:] for name, rows in splits.items()} == {
            "hand": ["1", "5"],
            "handy": ["3"],
        }
        assert splits["handy"].column_names == ["id", "set", "control"]

    def test_nothing_is_cached_and_of_a_copy_it_is_the_copys(self, folder, tmp_path) -> None:
        task = ProbeTask(folder)
        assert task.load_docs()["handy"]["id"][:] == ["3"]
        write_rows(
            folder,
            "probes",
            {"id": ["5"], "set": ["handy"], "control": [False]},
        )
        assert task.load_docs()["handy"]["id"][:] == ["5"]
        copied = Path(shutil.move(folder, tmp_path / "copied"))
        docs = ProbeTask(copied).load_docs()
        assert docs["handy"]["id"][:] == ["5"]


DOC = {
    "template": "odd",
    "attribute": "baker",
    "keying": -1,
    "pole": 1,
    "set": "hand",
    "text": "x",
}


@pytest.mark.parametrize("results", [[-2.5], [(-2.5, True)]])
def test_the_likelihood_of_one_sentence(build_task, results) -> None:
    answer = ("odd", "baker", -1, 1, -2.5)
    metrics = ("spread", "offset", "validity")
    assert build_task().likelihood(DOC, results) == dict.fromkeys(metrics, answer)


class TestBiases:
    def test_by_hand(self, build_task, caplog) -> None:
        answers = answers_of(SCORES)
        assert pair_biases(answers) == BIASES
        assert not caplog.records
        assert build_task().offset(answers) == 0.625  # (3 - 2 - 1 + 2.5) / 4
        # Baker (3 - 2) / 2 = .5, engineer (-1 + 2.5) / 2 = .75.
        assert build_task().spread(answers) == near(0.25 / math.sqrt(2))

    def test_a_cell_without_a_group_is_left_out_and_that_is_logged(self, caplog) -> None:
        cells = SCORES["template"] + SCORES["attribute"] + SCORES["pole"].astype(str)
        holed = SCORES[~cells.isin(["oddbaker-1", "plainengineer1"])]
        with caplog.at_level(logging.WARNING):
            bias_by_pair = pair_biases(answers_of(holed))
        assert bias_by_pair == {("plain", "baker"): 3.0, ("odd", "engineer"): 2.5}
        logged = [record.getMessage() for record in caplog.records]
        assert logged == ["2 of 4 biases lack the sentences of a group"]

    @pytest.mark.parametrize(
        "answers",
        [[], [("plain", "baker", 1, 1, -2.0)]],
    )
    def test_no_bias_no_mean(self, build_task, answers) -> None:
        assert math.isnan(build_task().offset(answers))
        assert math.isnan(build_task().spread(answers))


def means(**by_attribute: list[float]):
    """Answers whose biases, template by template, are these."""
    answers = []
    for attribute, biases in by_attribute.items():
        for place, bias in enumerate(biases):
            keying = (-1) ** place
            cell = (f"t{place}", attribute, keying)
            answers.append((*cell, 1, keying * bias - 20.0))
            answers.append((*cell, -1, -20.0))
    return answers


class TestValidity:
    def test_is_the_correlation_of_means_with_the_criterion(self, build_task) -> None:
        """An attribute is as heavy as another whatever it lost; the poet has no number."""
        answers = means(
            baker=[0.5], engineer=[2.0, 3.0], judge=[-1.0, 2.0], nurse=[-1.5, 0.25], poet=[9.0]
        )
        expected = stats.pearsonr([0.5, 2.5, 0.5, -0.625], [40.5, 85.0, 58.25, 12.0]).statistic
        assert build_task().validity(answers) == near(expected)

    @pytest.mark.parametrize("words", ["poet dancer chief", "baker nurse judge"])
    def test_without_a_number_or_a_spread_it_is_not_a_number(self, build_task, words) -> None:
        biases = {word: [1.0] for word in words.split()}
        assert math.isnan(build_task().validity(means(**biases)))
