"""APD by chance, against every way to deal the same replies."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.framing.diagnose.distributions import choice_distributions
from evenruler.instruments.framing.diagnose.sensitivity import apd_by_chance, effects, with_chance
from evenruler.instruments.framing.schemas import CHOICES


def by_dealing(first: list[int], second: list[int]) -> float:
    """Mean APD over all ways to pick which of the replies are those of the first cell."""
    replies = [place for place, pair in enumerate(zip(first, second, strict=True)) for _ in range(sum(pair))]
    n = sum(first)
    found = []
    for chosen in combinations(range(len(replies)), n):
        one = np.bincount([replies[i] for i in chosen], minlength=len(first)) / n
        other = np.bincount([replies[i] for i in set(range(len(replies))) - set(chosen)], minlength=len(first))
        found.append(np.abs(one - other / other.sum()).sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 0], [0, 1]),
        ([2, 1, 0], [1, 1, 1]),
        ([3, 0, 2], [0, 1, 3]),
        ([4, 1], [2, 0]),
        ([1, 0, 0], [2, 2, 1]),
        ([0, 3], [0, 4]),
    ],
)
def test_it_is_the_mean_over_all_deals(first: list[int], second: list[int]) -> None:
    (found,) = apd_by_chance(np.array([first]), np.array([second]))
    assert found == pytest.approx(by_dealing(first, second), abs=1e-12)


def test_it_says_nothing_of_which_cell_a_reply_was_in() -> None:
    one, other = apd_by_chance(np.array([[3, 0], [2, 1]]), np.array([[0, 3], [1, 2]]))
    # Three of each of two classes: 1/20 of the deals each to the ends, 9/20 each at a third: .1 * 1 + .9 / 3.
    assert one == other == pytest.approx(0.1 + 0.9 / 3)


def test_few_replies_differ_by_chance_and_many_hardly() -> None:
    few, many = apd_by_chance(np.array([[5, 5], [500, 500]]), np.array([[5, 5], [500, 500]]))
    assert few == pytest.approx(sum(comb(10, x) ** 2 * abs(x - 5) / 5 for x in range(11)) / comb(20, 10))
    assert many == pytest.approx(0.0178, abs=0.0002)


def chosen(**by_framing: str) -> pd.DataFrame:
    """Replies to one question, h, s, or - for an invalid one."""
    same = {"benchmark": "hair", "model": "m", "lineage": "l", "configuration": "chat", "task": "t", "stimulus": "bald"}
    rows = [
        {**same, "framing": framing, "repetition": i, "outcome": {"h": "he", "s": "she"}.get(said), "rule": "word"}
        for framing, replies in by_framing.items()
        for i, said in enumerate(replies)
    ]
    return pd.DataFrame(rows, columns=CHOICES.names)


def test_effects_of_choices_have_it_over_their_pairs_and_invalid_replies_are_not_dealt() -> None:
    factors = ["salience", "instruction"]
    replies = {
        "bare": "hhs-",
        "salience": "hss--",
        "instruction": "hh",
        "salience+instruction": "sss",
        "salience~1": "hs",
    }
    measured = choice_distributions(chosen(**replies), {"he": [], "she": []})
    found = with_chance(effects(measured, factors), measured, factors).set_index(["factor", "placebo"])
    assert found.loc[("salience", 0), "chance"] == pytest.approx(
        (by_dealing([2, 1], [1, 2]) + by_dealing([2, 0], [0, 3])) / 2
    )
    assert found.loc[("instruction", 0), "chance"] == pytest.approx(
        (by_dealing([2, 1], [2, 0]) + by_dealing([1, 2], [0, 3])) / 2
    )
    assert found.loc[("salience", 1), "chance"] == pytest.approx(by_dealing([2, 1], [1, 1]))
    assert found.loc[("salience", 0), "n"] == 2


def test_it_is_the_mean_over_all_pairs_of_a_stimulus() -> None:
    few, many = {"bare": "h", "age": "h", "instruction": "h"}, {"instruction+age": "hhhsss"}
    replies = {**few, **many, "salience": "s", "salience+age": "h", "salience+instruction": "h"}
    measured = choice_distributions(chosen(**replies, **{"salience+instruction+age": "hhhsss"}), {"he": [], "she": []})
    factors = ["salience", "instruction", "age"]
    found = with_chance(effects(measured, factors), measured, factors).set_index(["factor", "placebo"])
    of_pairs = [by_dealing([1, 0], [0, 1]), 0.0, 0.0, by_dealing([3, 3], [3, 3])]
    assert np.mean(of_pairs) != pytest.approx(np.median(of_pairs))
    assert found.loc[("salience", 0), "chance"] == pytest.approx(np.mean(of_pairs))
    assert found.loc[("salience", 0), "n"] == 4


def test_probabilities_are_not_drawn() -> None:
    measured = choice_distributions(chosen(bare="hs", salience="ss"), {"he": [], "she": []})
    both = pd.concat([measured, measured.assign(metric="token")])
    found = with_chance(effects(both, ["salience"]), both, ["salience"]).set_index("metric")["chance"]
    assert found["choice"] == pytest.approx(by_dealing([1, 1], [0, 2]))
    assert np.isnan(found["token"])
