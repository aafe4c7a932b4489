"""Answers beyond twins, which are described: variance of items and fits by hand."""

import numpy as np
import pytest

from evenruler.instruments.questionnaires.diagnose.headlines import (
    beyond_figure,
    beyond_twins,
    of_items,
)


def drawn(
    seed: int,
    beyond: float,
    of_items: float = 0.3,
    of_fits: float = 0.0,
    fits: int = 3,
    items: int = 7,
) -> tuple[np.ndarray, np.ndarray]:
    """[fits, items] answers and means of three twins: items differ in good and bad (both), and in
    what is beyond."""
    random = np.random.default_rng(seed)
    plain = random.normal(0, 1, (1, items))
    specific = random.normal(0, of_items, (1, items))
    of_fit = random.normal(0, of_fits, (fits, 1))
    twins = random.normal(0, 0.4, (1, items, 3)).mean(axis=2)
    noise, twin_noise = random.normal(0, 0.05, (2, fits, items))
    answers = beyond + plain + specific + of_fit + noise
    return answers, plain + twins + twin_noise


def test_the_variance_is_that_of_items_and_fits_crossed() -> None:
    """Brennan (2001): var(items) / I + var(fits) / F + rest / (I F), from mean squares."""
    answers, twins = drawn(1, 0.5, of_fits=0.3)
    difference = beyond_twins(answers, twins)
    table = answers - twins
    of_fits = table.mean(axis=1).var(ddof=1) / 3
    of_items = table.mean(axis=0).var(ddof=1) / 7
    within_items = table - table.mean(axis=0)
    rest = within_items - within_items.mean(axis=1, keepdims=True)
    of_rest = (rest**2).sum() / (2 * 6) / 21
    assert difference.value == pytest.approx(table.mean())
    assert difference.variance == pytest.approx(of_fits + of_items - of_rest)
    alone = beyond_twins(answers[:1], twins[:1])
    assert alone.variance == pytest.approx(table[0].var(ddof=1) / 7)
    assert alone.df == 6
    with pytest.raises(ValueError, match="two items at least"):
        beyond_twins(answers[:, :1], twins[:, :1])


@pytest.mark.parametrize(("items", "reason"), [(0, "no twins"), (1, "no interval: one item")])
def test_too_few_items_have_no_interval(items, reason) -> None:
    twins = np.zeros((3, items))
    figure = beyond_figure(np.ones((3, items)), twins, 0.95)
    assert (figure.value, figure.low) == (1.0 if items else None, None)
    assert figure.reason == reason


ITEMS = [f"item-{number}" for number in range(7)]


def test_items_stand_with_their_twins_and_with_the_scale_without_them() -> None:
    answers, twins = drawn(5, 0.5)
    apart = np.array([0.2] * 6 + [np.nan])
    figure_by_item = {}
    for figure in of_items(ITEMS, answers, twins, apart):
        figure_by_item[figure.dimensions["item"], figure.figure] = figure
    answer, without = (figure_by_item["item-2", name] for name in ("item_response", "without_item"))
    assert answer.value == pytest.approx(answers[:, 2].mean())
    assert answer.control == pytest.approx(twins[:, 2].mean())
    rest = np.delete(answers - twins, 2, axis=1)
    assert (without.value, without.n) == (pytest.approx(rest.mean()), 6)
    assert figure_by_item["item-0", "item_silhouette"].value == 0.2
    assert figure_by_item["item-6", "item_silhouette"].reason == "its terms get the same answers"
