"""What differs between roles and between models."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from evenruler.instruments.instrument import Record
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Feature
from evenruler.instruments.saged.diagnose import across
from evenruler.instruments.saged.diagnose import between as module
from evenruler.instruments.saged.diagnose.between import adjusted, between, by_prompt, compared
from evenruler.instruments.saged.diagnose.groups import laid_out
from evenruler.measurement import Resampling
from evenruler.measurement.verdicts import holm
from tests.instruments.framing.hair import subject
from tests.instruments.saged.diagnose import measured

CONCEPTS = ["fig", "kiwi", "lime", "melon"]
VADER = {"vader": Feature(kind="lexicon")}


def sides(seed: int, level: float = 0.0, first: float = 0.0, second: float = 0.0) -> list[np.ndarray]:
    """[roots, concepts] of both sides; the last concept is lower by so much in each."""
    draw = np.random.default_rng(seed)
    root = draw.normal(0, 2, (25, 1))
    found = [root + draw.normal(size=(25, 4)) for _ in range(2)]
    found[0] += level
    found[0][:, 3] -= first
    found[1][:, 3] -= second
    return found


def p_of(*both: np.ndarray) -> dict[str, float]:
    return {one.figure: one.p for one in compared(*both, seed=1)}


def test_each_figure_finds_what_it_is_about() -> None:
    assert p_of(*sides(2, level=1))["level"] < 0.001
    assert min(p_of(*sides(2, level=1))[figure] for figure in ("spread", "pattern")) > 0.05
    apart = p_of(*sides(2, first=2))
    assert max(apart["spread"], apart["pattern"]) < 0.01
    assert p_of(*sides(2, first=2, second=2))["pattern"] > 0.05
    other = sides(2, first=2)
    other[1][:, 0] -= 2
    turned = p_of(*other)
    assert turned["pattern"] < 0.01  # they are as far from even, and disfavour others
    assert turned["spread"] > 0.05


def test_the_level_is_the_paired_t_test_over_root_items() -> None:
    first, second = sides(3, level=0.4)
    one = compared(first, second, seed=1)[0]
    test = scipy.stats.ttest_rel(first.mean(axis=1), second.mean(axis=1))
    assert one.value == pytest.approx((first - second).mean())
    assert one.p == pytest.approx(test.pvalue)
    ends = test.confidence_interval(0.95)
    assert (one.low, one.high) == pytest.approx((ends.low, ends.high))


def test_spreads_are_without_noise() -> None:
    """Standard deviations over concepts of -3, 0, 0, 0 and of none."""
    values = [
        {one.figure: one.value for one in compared(*sides(seed, first=3), seed=1)}["spread"] for seed in range(40)
    ]
    assert np.mean(values) == pytest.approx(1.5, abs=0.15)


def variance(x: np.ndarray) -> float:
    """Of the means of concepts, less the mean over concepts of the squared standard errors of these."""
    return x.mean(axis=0).var(ddof=1) - (x.var(axis=0, ddof=1) / len(x)).mean()


def test_spread_and_pattern_by_their_formulas() -> None:
    first, second = sides(6, first=3, second=1)
    first[:, 0] += np.where(np.arange(25) % 5, -0.5, 2.0)  # another noise than that of other concepts
    x, y = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    found = {one.figure: one.value for one in compared(first, second, seed=1)}
    assert found["spread"] == pytest.approx(np.sqrt(variance(x)) - np.sqrt(variance(y)), abs=1e-12)
    assert found["pattern"] == pytest.approx(np.sqrt(variance(x - y)), abs=1e-12)


def test_p_is_the_share_of_swaps_that_come_to_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SWAPS", 60)
    first, second = sides(6, first=0.5)
    x, y = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    drawn = [np.where(swap[:, None], (y, x), (x, y)) for swap in np.random.default_rng(1).random((60, 25)) < 0.5]
    p = p_of(first, second)
    spread, pattern = abs(variance(x) - variance(y)), variance(x - y)
    assert p["spread"] == (1 + sum(abs(variance(a) - variance(b)) >= spread for a, b in drawn)) / 61
    assert p["pattern"] == (1 + sum(variance(a - b) >= pattern for a, b in drawn)) / 61
    assert min(p.values()) > 1 / 61


@pytest.mark.parametrize("figure", ["level", "spread", "pattern"])
def test_alike_sides_differ_in_one_of_twenty(figure: str) -> None:
    p = [p_of(*sides(seed, first=1, second=1))[figure] for seed in range(200)]
    assert 0.015 <= np.mean(np.array(p) < 0.05) <= 0.09


def test_missing_replies_are_left_out_of_both() -> None:
    first, second = sides(4)
    first[:5, 2] = second[:5, 2] = np.nan
    one, *_ = compared(first, second, seed=1)
    assert one.value == pytest.approx(np.mean(np.nanmean(first - second, axis=1)))


def features(role: str, model: str, shift: float, prompts: pd.DataFrame) -> pd.DataFrame:
    draw = np.random.default_rng(len(role) + len(model))
    return measured.features(prompts, draw.normal(shift, 1, len(prompts)), 0, role=role, model=model)


def test_replies_to_a_prompt_are_averaged() -> None:
    prompts = measured.prompts(2, CONCEPTS)
    thrice = [measured.features(prompts, value, 0, repetition=i) for i, value in enumerate((0.0, 0.1, 0.8))]
    found = by_prompt(laid_out("fruit", pd.concat(thrice), prompts), VADER)
    assert found["value"].tolist() == pytest.approx([0.3] * 8)


def test_roles_of_a_model_and_models_in_a_role_are_paired_and_adjusted_together() -> None:
    prompts = measured.prompts(12, CONCEPTS)
    tables = {
        model: by_prompt(
            laid_out(
                "fruit", pd.concat([features(role, model, shift, prompts) for role in ("none", "comedian")]), prompts
            ),
            VADER,
        )
        for model, shift in (("small", 0.0), ("larger", 2.0))
    }
    tables["larger"] = tables["larger"][tables["larger"]["role"] == "none"]
    roles = [between("role", own, 1) for own in tables.values()]
    found = adjusted([*roles, between("model", pd.concat(tables.values()), 1)])
    assert found.columns.tolist() == schemas.BETWEEN.names
    rows = found[["compared", "within", "first", "second"]].drop_duplicates().to_numpy().tolist()
    assert rows == [["role", "small", "comedian", "none"], ["model", "none", "larger", "small"]]
    level = found[(found["compared"] == "model") & (found["figure"] == "level")].iloc[0]
    assert level["value"] == pytest.approx(2, abs=0.5)
    assert (level["p_adjusted"], level["n"]) == (level["p"], 12)
    assert set(found.loc[found["figure"] != "level", "reason"]) == {"no interval: none is known to cover"}
    assert found.loc[found["figure"] == "level", "reason"].isna().all()
    more = adjusted([found.drop(columns="p_adjusted").assign(p_adjusted=np.nan, feature=name) for name in ("a", "b")])
    own = more[(more["compared"] == "role") & (more["figure"] == "level")]
    assert own["p_adjusted"].tolist() == holm(own["p"].tolist())


def test_five_root_items_are_too_few() -> None:
    prompts = measured.prompts(5, CONCEPTS)
    both = pd.concat([features(role, "m", 0, prompts) for role in ("a", "bb")])
    found = between("role", by_prompt(laid_out("fruit", both, prompts), VADER), 1)
    assert set(found["reason"]) == {"5 root items with numbers of both, needs 6"}
    assert found["p"].isna().all()


def test_concepts_that_both_have_hardly_answered_are_left_out_and_none_has_no_p() -> None:
    prompts = measured.prompts(12, CONCEPTS)
    one, other = (features(role, "m", 0, prompts) for role in ("a", "bb"))
    one.loc[one["id"].str.startswith("lime"), "value"] = np.nan
    other.loc[other["id"].str.startswith("melon") & ~other["id"].str.endswith("003"), "value"] = np.nan
    found = between("role", by_prompt(laid_out("fruit", pd.concat([one, other]), prompts), VADER), 1)
    assert found["p"].between(0.001, 1).all()
    assert set(found["n"]) == {12}


def test_concepts_with_texts_of_their_own_have_a_level_alone() -> None:
    prompts = measured.prompts(12, CONCEPTS, branched=False)
    both = pd.concat([features(role, "m", shift, prompts) for role, shift in (("a", 0), ("bb", 3))])
    found = between("role", by_prompt(laid_out("fruit", both, prompts), VADER), 1).set_index("figure")
    assert found.loc["level", "p"] < 0.001
    assert found.loc[["spread", "pattern"], "p"].isna().all()
    assert set(found.loc[["spread", "pattern"], "reason"]) == {"no root item has numbers of two concepts"}


def test_sides_that_are_equal_or_a_constant_apart() -> None:
    same, _ = sides(5)
    assert {one.figure: one.p for one in compared(same, same, seed=1)} == {"level": 1, "spread": 1, "pattern": 1}
    level, spread, pattern = compared(same + 0.5, same, seed=1)
    assert (level.p, level.low, level.high) == (0.5**24, pytest.approx(0.5), pytest.approx(0.5))
    assert (spread.value, spread.p, pattern.value, pattern.p) == (0, 1, 0, 1)


def test_models_are_compared_in_every_domain() -> None:
    prompts = measured.prompts(12, CONCEPTS)
    records = [
        Record(name, subject(name=model), {}, {}, {"by_prompt": by_prompt(layout, VADER)})
        for model in ("m", "other")
        for name in ("fruit", "trees")
        for layout in [laid_out(name, features("a", model, 0, prompts), prompts)]
    ]
    found = across(records, Resampling(level=0.95, resamples=10, seed=1))["between"]
    assert found[["domain", "first", "second"]].drop_duplicates().to_numpy().tolist() == [
        ["fruit", "m", "other"],
        ["trees", "m", "other"],
    ]


def test_another_model_changes_no_p_of_roles() -> None:
    prompts = measured.prompts(12, CONCEPTS)
    tables = {
        model: by_prompt(
            laid_out("fruit", pd.concat([features(role, model, 0, prompts) for role in ("a", "bb")]), prompts), VADER
        )
        for model in ("m", "other")
    }
    alone = adjusted([between("role", tables["m"], 1)])
    beside = adjusted([between("role", own, 1) for own in tables.values()])
    own = beside[beside["within"] == "m"].reset_index(drop=True)
    pd.testing.assert_series_equal(own["p_adjusted"], alone["p_adjusted"])
