"""Answers beyond twins: variance of wordings, twins and fits by hand, and one verdict over fits."""

import numpy as np
import pytest

from evenruler.instruments.questionnaires.diagnose.headlines import beyond_twins
from evenruler.measurement.verdicts import Fitness, Verdict, confirmatory, judge


def drawn(
    seed: int, beyond: float, of_fits: float = 0.0, fits: int = 3, items: int = 7
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    of_item, of_fit = random.normal(0, 1, (1, items, 1)), random.normal(0, of_fits, (fits, 1, 1))
    wordings, twins = (random.normal(0, 0.4, (1, items, 3)) for _ in range(2))
    noise = [random.normal(0, 0.05, (fits, items, 3)) for _ in range(2)]
    return beyond + of_item + of_fit + wordings + noise[0], of_item + twins + noise[1]


def test_the_variance_is_that_of_wordings_twins_and_fits() -> None:
    own, twins = drawn(1, 0.5, of_fits=0.3)
    effect, beside = beyond_twins(own, twins)
    by_fit = own.mean(axis=(1, 2)) - twins.mean(axis=(1, 2))
    expected = sum(x.mean(axis=0)[item].var(ddof=1) / 3 for x in (own, twins) for item in range(7)) / 49
    assert beside.difference.value == pytest.approx(by_fit.mean())
    assert beside.difference.variance == pytest.approx(expected + by_fit.var(ddof=1) / 3)
    assert effect.value == pytest.approx(own.mean())
    with pytest.raises(ValueError, match="two wordings and two twins"):
        beyond_twins(own[:, :, :1], twins)
    with pytest.raises(ValueError, match="same fits and items"):
        beyond_twins(own[:2], twins)


def test_three_fits_of_opposite_signs_are_one_inconclusive_verdict() -> None:
    own, twins = drawn(2, 0.0)
    own = own + np.array([1.5, -1.2, 0.9])[:, None, None]
    effect, beside = beyond_twins(own, twins)
    figure = confirmatory("beyond twins", "items", {"items": 7}, effect, 0.001, beside, smallest=0.5)
    assert judge([(figure, Fitness())])[0].verdict == Verdict.INCONCLUSIVE


def test_a_point_beyond_twins_is_found_and_none_is_denied() -> None:
    """What tells ill from well no more than twins do is not specific; what does not tell them apart is nothing."""
    found = []
    for beyond, p_null in ((1.0, 0.001), (0.0, 0.001), (0.0, 0.5)):
        effect, beside = beyond_twins(*drawn(3, beyond))
        figure = confirmatory("beyond twins", "items", {"items": 7}, effect, p_null, beside, smallest=0.5)
        found.append(judge([(figure, Fitness())])[0].verdict)
    assert found == [Verdict.EFFECT, Verdict.NOT_SPECIFIC, Verdict.NO_EFFECT]


def test_intervals_hold_the_truth_where_items_are_fixed() -> None:
    held = []
    for seed in range(400):
        _, beside = beyond_twins(*drawn(seed, 0.5, of_fits=0.1))
        span = beside.difference.interval()
        held.append(span.low <= 0.5 <= span.high)
    assert 0.92 <= np.mean(held) <= 0.985
