"""The script for a GPU, on a processor: parts stop in time, and every contender is a row."""

import csv
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from studies.performance import gpu
from studies.performance.contenders import Done, Work, ask_ours, ask_vllm
from studies.performance.gpu import Amount, Clock, Machine, Race
from studies.performance.shapes import SIZES, count_weights, make_config, make_model

MACHINE = Machine("cpu", "processor", peak=1e9, measured=1e9)

STUB = """
from types import SimpleNamespace


class SamplingParams:
    def __init__(self, **settings):
        self.settings = settings


class LLM:
    def __init__(self, model, load_format, dtype, max_model_len):
        assert (load_format, dtype) == ("dummy", "bfloat16")

    def generate(self, texts, sampling, use_tqdm):
        written = [0] * sampling.settings["max_tokens"]
        outputs = [SimpleNamespace(token_ids=written)]
        return [SimpleNamespace(prompt_token_ids=list(text), outputs=outputs) for text in texts]
"""
"""A module `vllm` with what is used of it."""


class Slow:
    """A backend that gives two answers at a time."""

    def __init__(self) -> None:
        self.model = make_model(SIZES["smallest"], "cpu")

    def loglikelihood(self, requests: list[Any], wanted: frozenset[int]) -> Any:
        for place in sorted(wanted)[::2]:
            answer = (-1.0, 7)
            yield [(place, answer), (place + 1, answer)]


def test_a_part_stops_after_the_batch_that_exceeds_its_time() -> None:
    work = Work("likelihoods", ["one", "two", "three", "four"], 0, seconds=0)
    done = ask_ours(Slow(), work)
    assert (done.answers, done.tokens) == (2, 14)


def test_time_that_a_part_leaves_goes_to_those_after_it(monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr(gpu.time, "monotonic", lambda: now[0])
    clock = Clock(60, 3)
    assert clock.take_share() == 20
    now[0] += 10
    assert clock.take_share() == 25
    now[0] += 49
    assert clock.take_share() == 1


def test_a_part_without_time_or_with_an_error_is_a_row_that_says_so(tmp_path) -> None:
    def fail(work: Work) -> Any:
        raise RuntimeError("out of memory\nwith details")

    race = Race("smallest", MACHINE, Amount(3, 2, 4), Clock(60, 1), tmp_path)
    row = race._run_part("replies", "local", fail)
    assert (row.done.answers, row.wanted, row.done.note) == (0, 2, "failed: out of memory")
    race.clock = Clock(1, 1)
    assert race._run_part("likelihoods", "local", fail).done.note == "no time was left"


def test_weights_are_counted_once_where_the_last_layer_is_the_embedding() -> None:
    tied = make_model(SIZES["smallest"], "cpu")
    config = make_config(SIZES["smallest"])
    embedding = config.vocab_size * config.hidden_size
    attention = 64 * 64 * 2 + 64 * 32 * 2
    layer = attention + 3 * 64 * 128 + 2 * 64
    assert count_weights(tied) == embedding + 2 * layer + 64
    tied.config.tie_word_embeddings = False
    assert count_weights(tied) == 2 * layer + 64


def test_a_share_is_of_what_went_through_the_model() -> None:
    done = Done(answers=4, seconds=2.0, tokens=100, passed=40)
    row = gpu.Row("1b", "likelihoods", "local", 4, done, flops_per_token=10, peak=1000)
    assert row.share_of_peak == 40 * 10 / 2 / 1000
    assert (row.tokens_per_second, row.passed_per_second) == (50, 20)
    done.passed = 0  # of a server that does not tell
    assert row.share_of_peak == 100 * 10 / 2 / 1000
    done.seconds = 0  # nothing was run
    assert row.share_of_peak == 0


class TestVllm:
    @pytest.fixture
    def work(self) -> Work:
        return Work("likelihoods", ["one", "three"], 0, seconds=60)

    def test_it_answers_in_a_process_of_its_own(self, tmp_path, work, monkeypatch) -> None:
        (tmp_path / "vllm.py").write_text(STUB)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        done = ask_vllm(Path(sys.executable), tmp_path, work, tmp_path)
        assert (done.answers, done.tokens, done.note) == (2, 8, "")
        replies = Work("replies", ["one", "three", "x"], 5, seconds=60)
        done = ask_vllm(Path(sys.executable), tmp_path, replies, tmp_path)
        assert (done.answers, done.tokens) == (3, 15)

    def test_one_that_fails_is_a_note(self, tmp_path, work, monkeypatch) -> None:
        (tmp_path / "vllm.py").write_text("raise ImportError('no CUDA')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        done = ask_vllm(Path(sys.executable), tmp_path, work, tmp_path)
        assert (done.answers, done.note) == (0, "failed: ImportError: no CUDA")


@pytest.mark.slow
def test_every_line_runs_on_a_processor(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(gpu, "SMALLEST", Amount(6, 2, 4))
    app = gpu.typer.Typer()
    app.command()(gpu.main)
    ran = CliRunner().invoke(app, ["--smallest", "--minutes", "5", "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    with (tmp_path / "speed.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    ran_here = [row for row in rows if row["contender"] != "vllm"]
    answers = {(row["task"], row["contender"]): row["answers"] for row in ran_here}
    numbers = {"likelihoods": "6", "replies": "2"}
    contenders = ("local", "lm-eval")
    assert answers == {pair: numbers[pair[0]] for pair in product(numbers, contenders)}
    assert all(float(row["share_of_peak"]) > 0 for row in ran_here)
    assert all(row["note"] in ("", "batches of 64") for row in ran_here)
    assert "| smallest | replies | vllm |" in (tmp_path / "speed.md").read_text()
