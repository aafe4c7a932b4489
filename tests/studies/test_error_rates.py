"""The script of error rates goes on where it was, and says what is too high."""

import csv
from pathlib import Path

import pytest

from studies import error_rates
from studies.error_rates import draw_cases, high_lines, list_failures, read_tallies, table_lines
from studies.planted.cases import Case, Outcome, Random

NEVER = float("inf")


def draw_often(random: Random) -> Outcome:
    return Outcome(false_detected=bool(random.random() < 0.5), covers=True)


def draw_rarely(random: Random) -> Outcome:
    return Outcome(detected=True, false_below=False)


CASES = [Case("probes", "coins", draw_often, "S"), Case("probes", "coins", draw_rarely, "G")]


def draw(draws: int, out: Path) -> error_rates.Tallies:
    tallies = read_tallies(out)
    draw_cases(CASES, draws, tallies, out, NEVER)
    return tallies


def test_a_second_run_adds_draws_and_draws_none_again(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    draw(60, whole)
    draw(20, parts)
    n_rows = len(parts.read_text().splitlines())
    draw(20, parts)
    assert len(parts.read_text().splitlines()) == n_rows
    draw(60, parts)
    first = read_tallies(whole)["probes", "S", "coins"]
    second = read_tallies(parts)["probes", "S", "coins"]
    assert first.draws == second.draws == 60
    assert first.counts == second.counts
    with parts.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "S"]
    firsts = [int(row["first"]) for row in rows]
    assert firsts == sorted(set(firsts))


def test_models_stand_beside_one_another_and_what_is_false_too_often_is_bold(
    tmp_path: Path,
) -> None:
    few = draw(60, tmp_path / "few.csv")
    assert len(list(table_lines(CASES, few))) == 2, "only the head"
    assert list(high_lines(CASES, few)) == []
    tallies = draw(100, tmp_path / "rates.csv")
    share = tallies["probes", "S", "coins"].rate("false_detected")
    assert share is not None
    of_coins = f"{share:.3f}"[1:]
    *_, line = table_lines(CASES, tallies)
    assert line == f"| coins | **{of_coins}** | 0 |  | 1 | 1 | 100 | .043 |"
    (high,) = high_lines(CASES, tallies)
    assert high == f"- coins (probes S `detected` {of_coins}): above the promise of .06."
    assert list_failures(CASES, tallies) == ["probes S coins"]


def test_rates_that_may_be_chance_are_counted() -> None:
    tally = error_rates.Tally(draws=100)
    tally.counts["false_detected"], tally.stated["false_detected"] = 8, 100
    tallies = dict.fromkeys([error_rates.key_of(case) for case in CASES], tally)
    assert list(high_lines(CASES, tallies)) == [f"- 2 rates of the table: {error_rates.BY_CHANCE}."]


def test_the_page_is_written_between_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "tested.md"
    before, after = error_rates.MARKS
    page.write_text(f"above\n{before}\nold\n{after}\nbelow\n")
    monkeypatch.setattr(error_rates, "PAGE", page)
    error_rates.write_page(["new", "table"])
    assert page.read_text() == f"above\n{before}\nnew\ntable\n{after}\nbelow\n"
