"""Parts of a benchmark with planted truths: what is said of each, and of the whole."""

from typing import cast

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.external.declare import ExternalPlan
from evenruler.instruments.external.diagnose import headlines_of
from evenruler.instruments.external.diagnose.lean import positive_control
from evenruler.instruments.external.diagnose.parts import (
    PartRegression,
    lean_of_parts,
    part_figures,
)
from evenruler.measurement.figures import Verdict
from evenruler.measurement.inputs import ALPHA
from evenruler.measurement.verdicts import HeadlineTest, PositiveControl, ValidityCheck, judge
from tests.instruments.external import made
from tests.instruments.external.test_lean import NO_WORDS, planted
from tests.instruments.near import approx, near
from tests.later import Later

sm = Later("statsmodels.api")

PLAN = cast(
    "ExternalPlan",
    {
        "score": "bbq",
        "units": "templates",
        "texts": ["the first", "the second"],
        "dimensions": {"part": "bias_type", "condition": "condition"},
        "bound": 0.1,
        "of_part": 0.2,
    },
)
PARTS = ("age", "faith", "sex", "work")


def in_parts(
    units_by_part: dict[str, int], of_unit: int = 10, seed: int = 1, length: float = 0.2
) -> pd.DataFrame:
    """Items of templates, each of one part, of a model that minds length and leans nowhere."""
    parts = np.repeat(list(units_by_part), list(units_by_part.values()))
    items = planted(len(parts), of_unit, length=length, seed=seed)
    items["part"] = np.repeat(parts, of_unit)
    return items.assign(right=True, condition="ambiguous")


def dealt(items: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """The roles of all texts of a unit dealt at random."""
    units = sorted(set(items["unit"]))
    signs = pd.Series(random.choice([-1.0, 1.0], size=len(units)), index=units)
    of_item = items["unit"].map(signs).to_numpy()
    names = ("lean", "length", "frequency")
    return items.assign(**{name: items[name] * of_item for name in names})


def control_of(items: pd.DataFrame) -> PositiveControl | None:
    """A model that always gives the right answer."""
    return positive_control(items.assign(condition="disambiguated"), "bbq", 1)


def judge_items(items: pd.DataFrame, n: int = 199) -> HeadlineTest:
    return lean_of_parts(items, NO_WORDS, PLAN, 1, control_of(items), n)


def detected_in(test: HeadlineTest) -> list[str]:
    return [part.name for part in test.parts.detected_tests(ALPHA)]


def test_means_of_parts_and_shared_slopes_are_those_of_weighted_least_squares() -> None:
    items = in_parts({"age": 12, "sex": 20}, seed=3)
    regression = PartRegression.from_items(items, "stereoset")
    length = items["length"]
    indicators = [items["part"] == part for part in ("age", "sex")]
    confounds = [np.sign(length), length.clip(-3, 3), items["frequency"]]
    design = np.column_stack([*indicators, *confounds]).astype(float)
    fit = sm.WLS(
        items["lean"],
        design,
        weights=np.full(len(items), 0.1),
    ).fit()
    assert regression.jackknife_fits[0] == near(fit.params.to_numpy())
    # The whole is the weighted mean of parts, also by the coefficients of items.
    of_age, of_sex = fit.params.iloc[:2]
    whole = (12 * of_age + 20 * of_sex) / 32
    assert regression.jackknife_intercepts()[0] == near(whole)
    coefficients = regression.item_coefficients()
    assert coefficients @ regression.lean == approx(whole)
    assert coefficients @ regression.null_covariates == approx(np.zeros(4))
    units = headlines_of(items, "bbq", pd.Series("row", index=regression.units), PLAN)
    assert units["value"].mean() == approx(whole)
    rest = (items["unit"] != "u0").to_numpy()
    again = sm.WLS(items["lean"][rest], design[rest]).fit()
    assert regression.jackknife_fits[1] == near(again.params.to_numpy())


def test_an_even_model_is_below_in_every_part() -> None:
    items = in_parts(dict.fromkeys(PARTS, 40), 40, seed=2)
    test = judge_items(items)
    assert judge(test).verdict == Verdict.BELOW
    assert set(test.words_by_part.values()) == {"below 0.2"}


def test_one_part_at_a_half_is_detected_there_and_nowhere_else() -> None:
    items = in_parts(dict.fromkeys(PARTS, 25), 20)
    items["lean"] += 0.5 * (items["part"] == "sex")
    test = judge_items(items)
    assert detected_in(test) == ["sex"]
    assert judge(test).verdict == Verdict.DETECTED
    figures = {row.dimensions["bias_type"]: row for row in part_figures(test, "bias_type")}
    sex = figures["sex"]
    assert sex.value == approx(0.5, abs=0.1)
    assert sex.p < ALPHA
    assert sex.verdict is None
    assert figures["age"].note == "below 0.2"
    assert (figures["age"].n, figures["age"].unit) == (25, "templates")


def test_of_an_invalid_model_no_part_is_judged() -> None:
    items = in_parts({"age": 25, "sex": 25}, 20)
    items["lean"] += 0.5 * (items["part"] == "sex")
    doubts = (ValidityCheck("it refuses"), ValidityCheck(doubt="few replies are read"))
    for validity in doubts:
        figures = list(part_figures(judge_items(items), "bias_type", validity))
        assert [figure.note for figure in figures] == ["not judged"] * 2


def test_a_part_of_three_units_is_named_as_not_judged() -> None:
    items = in_parts({"age": 30, "faith": 3, "sex": 30}, 20)
    items["lean"] += 0.9 * (items["part"] == "faith")
    test = judge_items(items)
    assert detected_in(test) == []
    assert test.words_by_part["faith"] == "not judged"
    (faith,) = (row for row in part_figures(test, "bias_type") if row.note == "not judged")
    assert (faith.value, faith.reason) == (None, "3 templates, at least 5 needed")
    # Nor is one of five units, of which one has nearly all items.
    heavy = in_parts({"age": 30, "faith": 5}, 4)
    copies = pd.concat([heavy[heavy["unit"] == "u30"]] * 20)
    many = pd.concat([heavy, copies], ignore_index=True)
    test = judge_items(many.assign(item=many.index.astype(str)))
    assert test.parts.tests[1].not_judged == "5 templates count as 1.4, at least 4 needed"


def test_roles_dealt_at_random_are_rarely_detected_anywhere() -> None:
    """A guard of 200 draws: two parts, in which leans vary by different amounts."""
    items = in_parts({"age": 12, "sex": 12}, 5)
    is_first = np.arange(len(items)) % 5 == 0
    silent = (items["part"] != "age") & ~is_first
    items["lean"] = items["lean"].where(~silent, 0.0)
    hits = []
    for draw in range(200):
        drawn = dealt(items, np.random.default_rng(draw))
        hits.append(lean_of_parts(drawn, NO_WORDS, PLAN, draw, n=99).is_detected)
    assert np.mean(hits) <= 0.09


def test_below_is_rarely_said_over_a_part_at_its_bound() -> None:
    """200 draws of a lean in one part that is as large as its bound, in answers that would be below
    without it."""
    items = in_parts({"age": 60, "sex": 60})
    control = control_of(items)
    hits = []
    for draw in range(200):
        drawn = dealt(items, np.random.default_rng(draw))
        drawn["lean"] += 0.2 * (drawn["part"] == "sex")
        hits.append(lean_of_parts(drawn, NO_WORDS, PLAN, draw, control, n=1).is_below)
    assert np.mean(hits) <= 0.05
    assert lean_of_parts(items, NO_WORDS, PLAN, 1, control, n=1).is_below


def test_a_writer_over_several_types_is_one_unit() -> None:
    """Each of 12 writers has items of all four types, and leans in all alike: a jackknife of 12 in
    each part and in the whole, not of 48."""
    items = planted(12, 40)
    items["part"] = np.tile(np.repeat(PARTS, 10), 12)
    leans = np.random.default_rng(4).normal(0.3, 0.3, size=12)
    items = items.assign(lean=np.repeat(leans, 40), length=0.0, frequency=0.0)
    regression = PartRegression.from_items(items, "preference")
    error = stats.sem(leans)
    errors = [regression.estimate_part(place).error for place in range(4)]
    assert errors == approx([error] * 4)
    test = judge_items(items)
    assert test.effect.high - test.effect.value == approx(error * 2.200985)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, 0.2),
        ({"of_part": 0.3}, 0.3),
    ],
)
def test_the_bound_of_a_part_is_declared(declared, expected, tmp_path) -> None:
    plan = cast("ExternalPlan", made.built(made.source(tmp_path, "pairs"), **declared).plan)
    assert plan["of_part"] == expected
