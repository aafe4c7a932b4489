"""Power, against formulas where there are any, and against the test that ships where there are none."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evenruler.instruments.saged.diagnose.power import MOST, power, roots_for, smallest_difference
from tests.performance.power import p_values

OF_THREE = 0.05 / 3


@pytest.mark.parametrize(("roots", "branched", "freedom"), [(6, True, 5), (20, True, 19), (20, False, 38)])
@pytest.mark.parametrize("alpha", [0.05, OF_THREE])
@pytest.mark.parametrize("difference", [0.5, 1.0, 1.5])
def test_two_concepts_are_told_apart_by_a_t_test(roots, branched, freedom, alpha, difference) -> None:
    """The range of two means is their difference, and no other figure orders the shuffles otherwise."""
    errors = difference * math.sqrt(roots / 2)
    critical = stats.t.isf(alpha / 2, freedom)
    exact = stats.nct.sf(critical, freedom, errors) + stats.nct.cdf(-critical, freedom, errors)
    assert power(roots, 2, 1, difference, alpha, branched=branched) == pytest.approx(exact, abs=0.012)


def test_two_concepts_and_many_root_items_are_the_textbook() -> None:
    errors = (stats.norm.isf(0.025) + stats.norm.ppf(0.8)) * math.sqrt(2)
    assert smallest_difference(10_000, 2, 1) == pytest.approx(errors / 100, rel=0.01)
    assert smallest_difference(10_000, 2, 1, branched=False, pattern="spread") == pytest.approx(errors / 100, rel=0.01)


@pytest.mark.parametrize("concepts", [2, 6, 21])
@pytest.mark.parametrize("alpha", [0.05, OF_THREE])
def test_equal_concepts_are_found_apart_as_often_as_alpha_says(concepts, alpha) -> None:
    assert power(20, concepts, 1, 0.0, alpha) == pytest.approx(alpha, abs=0.003)


@pytest.mark.parametrize(
    ("roots", "concepts", "replies", "difference", "branched", "pattern"),
    [
        (20, 6, 1, 0.9, True, "one"),
        (20, 6, 1, 1.0, True, "spread"),
        (10, 4, 2, 0.9, False, "one"),
    ],
)
def test_the_test_that_ships_finds_as_much(roots, concepts, replies, difference, branched, pattern) -> None:
    case = (roots, concepts, replies, difference, branched, pattern)
    found = (p_values(case, domains=1500, permutations=399) <= 0.05).mean()
    assert found == pytest.approx(
        power(roots, concepts, replies, difference, branched=branched, pattern=pattern), abs=0.035
    )


def test_designs_that_ship() -> None:
    """Twenty root items and six concepts, a reply each, detect .9 SD; 75 and 21 find .3 SD in a third."""
    assert smallest_difference(20, 6, 1) == pytest.approx(0.89, abs=0.02)
    assert smallest_difference(20, 6, 1, OF_THREE) == pytest.approx(1.02, abs=0.02)
    assert smallest_difference(20, 6, 1, pattern="spread") == pytest.approx(1.05, abs=0.02)
    assert smallest_difference(75, 21, 1) == pytest.approx(0.477, abs=0.01)
    assert power(75, 21, 1, 0.3) == pytest.approx(0.317, abs=0.015)
    assert power(75, 21, 1, 0.3, OF_THREE) == pytest.approx(0.187, abs=0.015)


def test_the_table_of_the_documents_is_what_is_said() -> None:
    text = (Path(__file__).parents[4] / "docs/saged.md").read_text()
    rows = re.findall(r"^\| (\d+) x (\d+) x (\d+)[^|]*\|(.*)\|$", text, flags=re.M)
    assert len(rows) == 10
    for roots, concepts, replies, cells in rows:
        said = [
            smallest_difference(int(roots), int(concepts), int(replies), alpha, pattern=pattern)
            for alpha in (OF_THREE, 0.05)
            for pattern in ("one", "spread")
        ]
        assert [float(cell) for cell in cells.split("|")] == pytest.approx(said, rel=0.02)


def test_what_is_smallest_is_found_in_four_fifths() -> None:
    for pattern in ("one", "spread"):
        least = smallest_difference(12, 5, 3, OF_THREE, pattern=pattern)
        assert power(12, 5, 3, least, OF_THREE, pattern=pattern) == pytest.approx(0.8, abs=0.003)


def test_power_grows_with_the_difference_and_every_number_but_that_of_concepts() -> None:
    found = [power(20, 6, 1, difference) for difference in np.arange(0, 2.1, 0.25)]
    assert sorted(found) == found
    assert found[-1] == 1.0
    assert smallest_difference(20, 6, 4) == pytest.approx(smallest_difference(20, 6, 1) / 2)
    by_roots = [smallest_difference(roots, 6, 1) for roots in range(6, 40)]
    assert all(more < fewer * 1.005 for fewer, more in pairwise(by_roots))
    assert by_roots[-1] < by_roots[0] / 2


@pytest.mark.parametrize("difference", [0.2, 0.5, 0.8, 1.7])
@pytest.mark.parametrize("branched", [True, False])
def test_root_items_are_as_few_as_detect_it(difference, branched) -> None:
    roots = roots_for(difference, 6, 2, OF_THREE, branched=branched)
    assert smallest_difference(roots, 6, 2, OF_THREE, branched=branched) <= difference
    assert roots == 6 or smallest_difference(roots - 1, 6, 2, OF_THREE, branched=branched) > difference * 0.995


def test_root_items_by_replies() -> None:
    found = [roots_for(0.5, 6, replies, OF_THREE) for replies in (1, 2, 4, 8)]
    assert found == pytest.approx([81, 41, 21, 12], abs=1)
    assert roots_for(5.0, 6, 1) == 6


def test_too_few_root_items_are_no_design() -> None:
    assert math.isnan(smallest_difference(5, 6, 1))
    assert math.isnan(power(5, 6, 1, 3.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((20, 1, 1), "found 20 root items, 1 concepts and 1 replies"),
        ((20, 6, 0), "6 concepts and 0 replies"),
        ((20, 6, 1, 1.5), "expected alpha below power"),
        ((20, 6, 1, 0.9), "expected alpha below power"),
    ],
)
def test_what_is_no_design_is_refused(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        smallest_difference(*arguments)


@pytest.mark.parametrize("difference", [0.0, -0.5, 1e-4])
def test_a_difference_that_nobody_can_detect_is_refused(difference) -> None:
    with pytest.raises(ValueError, match=f"more than {MOST:,} root items"):
        roots_for(difference, 6, 1)
