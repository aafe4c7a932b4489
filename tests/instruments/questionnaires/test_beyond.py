"""Answers beyond twins: variance of items and fits by hand, one verdict over fits, and what items
carry."""

import numpy as np
import pytest

from evenruler.instruments.questionnaires.diagnose.headlines import (
    beyond_twins,
    influential_items_note,
    of_items,
    placebo_contrast,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.verdicts import ValidityCheck, judge


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
    _, contrast = beyond_twins(answers, twins)
    table = answers - twins
    of_fits = table.mean(axis=1).var(ddof=1) / 3
    of_items = table.mean(axis=0).var(ddof=1) / 7
    within_items = table - table.mean(axis=0)
    rest = within_items - within_items.mean(axis=1, keepdims=True)
    of_rest = (rest**2).sum() / (2 * 6) / 21
    assert contrast.difference.value == pytest.approx(table.mean())
    assert contrast.difference.variance == pytest.approx(of_fits + of_items - of_rest)
    assert contrast.mean == pytest.approx(twins.mean())
    _, alone = beyond_twins(answers[:1], twins[:1])
    assert alone.difference.variance == pytest.approx(table[0].var(ddof=1) / 7)
    assert alone.difference.df == 6
    with pytest.raises(ValueError, match="two items at least"):
        beyond_twins(answers[:, :1], twins[:, :1])


def test_a_point_beyond_twins_is_found_and_none_is_denied() -> None:
    """What tells ill from well no more than twins do is not specific; what does not tell them apart
    is nothing."""
    verdicts = []
    for size, p_null in ((1.0, 0.001), (0.0, 0.001), (0.0, 0.5)):
        answers, twins = drawn(3, size)
        figure = placebo_contrast(
            answers + 2.0,
            twins + 2.0,
            3,
            p_null,
            smallest=0.5,
            least=6,
        )
        verdicts.append(judge([(figure, ValidityCheck())])[0].verdict)
    assert verdicts == [Verdict.EFFECT, Verdict.NOT_SPECIFIC, Verdict.NO_EFFECT]


@pytest.mark.parametrize(
    ("items", "twins", "lacks"),
    [(5, 3, "5 items (at least 6 needed)"), (7, 1, "1 twin per item (at least 3 needed)")],
)
def test_too_few_items_or_twins_are_inconclusive_with_their_interval(items, twins, lacks) -> None:
    figure = placebo_contrast(
        *drawn(4, 2.0, items=items),
        twins,
        0.001,
        smallest=0.5,
        least=6,
    )
    (verdict,) = judge([(figure, ValidityCheck())])
    assert verdict.verdict == Verdict.INCONCLUSIVE
    assert lacks in str(verdict.why)
    assert verdict.low is not None


def test_intervals_hold_the_truth_where_items_are_drawn() -> None:
    held = []
    for seed in range(400):
        _, contrast = beyond_twins(*drawn(seed, 0.5, of_fits=0.1))
        span = contrast.difference.interval()
        held.append(span.low <= 0.5 <= span.high)
    assert 0.92 <= np.mean(held) <= 0.985


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


def test_an_item_that_carries_more_than_a_third_is_named_and_a_form_of_its_own() -> None:
    none = np.zeros((3, 7))
    answers, _ = drawn(6, 1.0, of_items=0.05)
    even = placebo_contrast(answers - answers.mean() + 1, none, 3, 0.001, 0.5, 6)
    assert influential_items_note(even, ITEMS, none + 1, none) is None
    heavy = none + np.array([0.5, 0.6, 3.0, 0.7, 0.6, 0.5, 0.6])
    assert influential_items_note(
        placebo_contrast(heavy, none, 3, 0.001, 0.5, 6), ITEMS, heavy, none
    ) == ("More than a third of it comes from item-2 46%.")
    odd = none - np.array([0, 0, 0, 0, 1.2, 0, 0])
    assert influential_items_note(even, ITEMS, odd + 1, odd) == (
        "The sentence form of item-4 behaves differently even in impersonal twins."
    )
