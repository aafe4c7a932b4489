"""How long a model will take, from how long models took."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenruler.models.cache import AnswerCodec, Cache
from evenruler.models.questions import Prompt, Sampling
from evenruler.models.rates import (
    FILE,
    Rate,
    assume_seconds,
    device_of,
    estimate_seconds,
    keep_rate,
    read_rates,
    weights_size,
    work_of,
)
from evenruler.models.store import RowStore

SLOW = Rate("slow", "likelihood", "cpu", 1000, 100, 10.0)
FAST = Rate("fast", "likelihood", "cpu", 500, 100, 5.0)


def seconds_of(
    rates: list[Rate],
    model: str = "slow",
    operation: str = "likelihood",
    device: str = "cpu",
    weights: int = 1000,
) -> float | None:
    return estimate_seconds(rates, model, operation, device, weights, 200)


def test_the_rate_of_the_model_counts_before_those_of_others() -> None:
    assert seconds_of([SLOW, FAST]) == pytest.approx(20)
    assert seconds_of([SLOW, FAST], "fast", weights=500) == pytest.approx(10)


def test_a_model_that_was_never_asked_is_estimated_by_its_size() -> None:
    assert seconds_of([SLOW, FAST], "large", weights=4000) == pytest.approx(80)
    assert seconds_of([SLOW], "slow", weights=2000) == pytest.approx(40), "other weights"


@pytest.mark.parametrize(
    "other",
    [{"operation": "generation"}, {"device": "cuda-9.0-80GiB"}, {"model": "hosted", "weights": 0}],
)
def test_without_a_rate_of_its_kind_nothing_is_estimated(other: dict[str, object]) -> None:
    assert seconds_of([SLOW], **other) is None  # type: ignore[arg-type]  # by name


def test_where_nothing_is_kept_two_cores_are_assumed() -> None:
    assert assume_seconds("likelihood", "cpu", 10**9, 5000) == pytest.approx(5)
    assert assume_seconds("generation", "cpu", 10**9, 5000) == pytest.approx(50)
    assert assume_seconds("likelihood", "cuda-9.0-80GiB", 10**9, 5000) is None
    assert assume_seconds("likelihood", "cpu", 0, 5000) is None


def test_only_the_last_calls_count() -> None:
    before = Rate("slow", "likelihood", "cpu", 1000, 100, 1000.0)
    assert seconds_of([before, *[SLOW] * 20]) == pytest.approx(20)


def test_writing_takes_by_what_is_written_and_reading_by_what_is_read() -> None:
    assert work_of(Prompt("x" * 400, Sampling(16), 0, None, False)) == 16
    assert work_of("x" * 400) == 100
    assert work_of("") == 1


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    keep_rate(SLOW, tmp_path)
    keep_rate(FAST, tmp_path)
    path = tmp_path / FILE
    path.write_text(path.read_text() + '{"model": "hal', encoding="utf-8")
    assert read_rates(tmp_path) == [SLOW, FAST]
    assert read_rates(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    ("engine", "device"),
    [
        ('{"device": "cpu"}', "cpu"),
        ('{"url": "http://127.0.0.1"}', "server"),
        ('["{}", "adapted"]', None),
        ("no JSON", None),
    ],
)
def test_the_device_of_an_engine(engine: str, device: str | None) -> None:
    assert device_of(engine) == device


def test_weights_are_counted_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x" * 30)
    (tmp_path / "config.json").write_bytes(b"x" * 5)
    assert weights_size(tmp_path) == 30
    assert weights_size(None) == 0


def test_whoever_answers_leaves_a_rate(tmp_path: Path) -> None:
    """Of what was asked, once; answers that are stored take no time and leave none."""
    store = RowStore(tmp_path)
    text = AnswerCodec(str.encode, bytes.decode)

    def ask(texts: list[str], missing: frozenset[int]) -> Iterator[list[tuple[int, str]]]:
        for place in sorted(missing):
            yield [(place, texts[place].upper())]

    cache = Cache("tiny", '{"device": "cpu"}', store, weights=7)
    short, long = "a" * 8, "b" * 40
    for _ in range(2):
        shouted = cache.answers("shout/1", [short, long], text, ask)
        assert shouted == [short.upper(), long.upper()]
    (line,) = (tmp_path / FILE).read_text().splitlines()
    rate = json.loads(line)
    assert (rate["model"], rate["operation"], rate["device"]) == ("tiny", "shout", "cpu")
    assert (rate["weights"], rate["tokens"]) == (7, 12)
    assert rate["seconds"] >= 0
