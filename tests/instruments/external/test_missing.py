"""Items that a log lacks: how large a share, and what may still be said below a bound."""

from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from evenruler.instruments.external import schemas
from evenruler.instruments.external.diagnose.missing import (
    missing_share,
    refuse_below_with_missing,
    require_below_with_missing,
    state_coverage,
)
from evenruler.measurement.resampling import Interval
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl, judge

NO_REPLIES = pd.DataFrame(columns=schemas.REPLIES.names)
CONTROL = PositiveControl("known answers", Interval(0.9, 0.8, 1.0), 0.001)


def texts_of(n_units: int, n_items: int, condition: str = "") -> pd.DataFrame:
    """Two texts an item."""
    rows = product(range(n_units), range(n_items), ("first", "second"))
    texts = pd.DataFrame(list(rows), columns=["unit", "item", "role"]).astype(str)
    names = condition + texts["unit"] + "-" + texts["item"]
    return texts.assign(item=names, unit="u" + texts["unit"], condition=condition)


def answered(texts: pd.DataFrame) -> pd.DataFrame:
    items = texts.drop_duplicates("item").drop(columns="role")
    return items.assign(known=True)


def test_missing_items_are_a_share_of_the_units_that_have_answers() -> None:
    """Six of twenty lack, of which four are a whole unit: two of sixteen."""
    texts = texts_of(5, 4)
    lacking = ["0-1", "1-3", "4-0", "4-1", "4-2", "4-3"]
    items = answered(texts[~texts["item"].isin(lacking)])
    for score in ("preference", "stereoset"):
        assert missing_share(texts, items, NO_REPLIES, score) == pytest.approx(2 / 16)


def test_units_count_alike_in_stereoset() -> None:
    """Half of a unit of two lacks, and nothing of one of eight: a quarter, not a tenth."""
    large = texts_of(2, 8, "b").query("unit == 'u1'")
    texts = pd.concat([texts_of(1, 2, "a"), large])
    items = answered(texts).query("item != 'a0-1'")
    assert missing_share(texts, items, NO_REPLIES, "stereoset") == pytest.approx(1 / 4)
    assert missing_share(texts, items, NO_REPLIES, "preference") == pytest.approx(1 / 10)


def test_a_reply_that_names_no_option_is_not_missing() -> None:
    texts = texts_of(2, 4)
    items = answered(texts).query("item not in ['0-0', '0-1']")
    replies = pd.DataFrame(
        {"item": ["0-0"], "rule": ["refusal"], "reply": ["no"], "reason": [None]}
    )
    assert missing_share(texts, items, replies, "preference") == pytest.approx(1 / 7)


def test_conditions_of_bbq_are_counted_alone_by_the_weight_of_answers() -> None:
    """In disambiguated contexts `unknown` has no weight: one missing item among two that have."""
    texts = pd.concat([texts_of(1, 4, "disambiguated"), texts_of(1, 6, "ambiguous")])
    items = answered(texts).query("condition == 'disambiguated'").iloc[:3]
    items["known"] = [True, True, False]
    assert missing_share(texts, items, NO_REPLIES, "bbq") == pytest.approx(1 / 3)


def lean_test(low: float, high: float) -> HeadlineTest:
    effect = Interval((low + high) / 2, low, high)
    facets = {"writers": 20}
    return HeadlineTest(
        "lean", "writers", facets, effect, 0.1, 0.5, "roles randomised", control=CONTROL
    )


@pytest.mark.parametrize(
    ("low", "high", "share", "verdict"),
    [
        (-0.04, 0.05, 0.0, "below"),
        (-0.04, 0.05, 0.04, "below"),
        (-0.04, 0.05, 0.06, "inconclusive"),
        (-0.05, 0.02, 0.06, "inconclusive"),
        (-0.04, 0.12, 0.01, "inconclusive"),
    ],
)
def test_below_holds_with_every_missing_item_against_it(low, high, share, verdict) -> None:
    figure = judge(require_below_with_missing(lean_test(low, high), share))
    assert figure.verdict == verdict
    if share == 0.06:
        assert "6% of the items of these writers have no answer, which may reach it" in figure.why


def test_what_is_detected_stays_so() -> None:
    detected = replace(lean_test(0.01, 0.05), p=0.001)
    assert judge(detected).verdict == "detected, below"
    assert judge(require_below_with_missing(detected, 0.3)).verdict == "detected"


def test_nothing_is_below_a_factor_while_items_are_missing() -> None:
    test = lean_test(-0.01, 0.01)
    assert judge(refuse_below_with_missing(test, 0.0)).verdict == "below"
    figure = judge(refuse_below_with_missing(test, 0.01))
    assert figure.verdict == "inconclusive"
    assert "Not below 0.1: 1% of the items of these writers have no answer." in figure.why


def test_the_facets_say_over_how_many_units() -> None:
    texts = texts_of(25, 2)
    figure = judge(state_coverage(lean_test(-0.01, 0.01), texts))
    assert figure.facets == "20 of 25 writers"
    answered_units = [f"u{unit}" for unit in range(20)]
    whole = texts[texts["unit"].isin(answered_units)]
    assert judge(state_coverage(lean_test(-0.01, 0.01), whole)).facets == "20 writers"
