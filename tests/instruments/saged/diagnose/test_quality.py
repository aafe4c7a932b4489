from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import quality
from evenruler.instruments.saged.diagnose.group_statistics import arrange_scores
from evenruler.instruments.saged.diagnose.quality import context_bias, tool_bias
from evenruler.measurement import Resampling
from evenruler.tables import write_table
from tests.instruments.near import approx, near
from tests.instruments.saged.diagnose import measured

RESAMPLING = Resampling(level=0.9, resamples=80, seed=3)
CONCEPTS = ["fig", "kiwi", "lime", "melon"]


def as_table(rows: Iterable[quality.Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=quality.COLUMNS)


def disparities() -> pd.DataFrame:
    """Two metrics of two statistics, raw and calibrated."""
    metrics = [
        ("mean", "range", 0.2),
        ("mean", "std", 0.1),
        ("median", "range", 0.3),
        ("selection-rate", "min_impact_ratio", 0.7),
    ]
    kinds = product(metrics, ("raw", "calibrated"), ("concept", "keyword"))
    rows = [(*metric, *kind) for metric, *kind in kinds]
    columns = ["statistic", "metric", "value", "calibration", "grouping"]
    cell = {"domain": "fruit", "model": "m0", "role": "no-role", "template": "plain"}
    return pd.DataFrame(rows, columns=columns).assign(
        **cell, feature="vader", p=0.01, n_groups=6, reason=None
    )


def test_headlines_are_the_range_and_the_impact_ratio_of_the_first_grouping() -> None:
    settings = Disparities(grouping=[["concept"], ["keyword"]])
    figures = quality.headline_figures(disparities(), settings, roots=20)
    columns = ["figure", "statistic", "calibration", "value"]
    assert sorted(figures[columns].itertuples(index=False, name=None)) == [
        ("min_impact_ratio", "selection-rate", "calibrated", 0.7),
        ("min_impact_ratio", "selection-rate", "raw", 0.7),
        ("range", "mean", "calibrated", 0.2),
        ("range", "mean", "raw", 0.2),
    ]
    assert set(figures["n"]) == {20}


def test_what_was_withheld_counts_neither_as_refusal_nor_as_empty() -> None:
    prompts = measured.prompts(4, CONCEPTS)
    replies = measured.replies(measured.features(prompts, 0.5))
    root = replies["id"].str[-3:].astype(int)
    replies = replies.assign(refusal=root == 0, cut=root.isin([1, 2]))
    replies.loc[root == 3, "generation"] = None
    figures = as_table(quality.nonresponse_figures("fruit", replies, prompts)).set_index("figure")
    rates = {
        "refusal_rate": 1 / 3,
        "empty_rate": 0,
        "other_language_rate": 0,
        "cut_rate": 2 / 3,
        "withheld_rate": 1 / 4,
    }
    assert figures["value"].to_dict() == approx(rates)
    assert figures["n"].tolist() == [3, 3, 3, 3, 4]
    assert figures.loc["refusal_rate", ["low", "high"]].isna().all()
    replies["generation"] = None
    nothing = as_table(quality.nonresponse_figures("fruit", replies, prompts))
    assert nothing["value"].isna().tolist() == [True] * 4 + [False]
    assert nothing["reason"].tolist()[:4] == ["the server gave no reply"] * 4


def test_of_how_many_replies_are_cut_nothing_is_said_where_a_server_does_not_say_why() -> None:
    prompts = measured.prompts(4, CONCEPTS)
    parts = [measured.replies(measured.features(prompts, 0.5, role=role)) for role in "ab"]
    replies = pd.concat(parts)
    unknown = (replies["role"] == "b") & (replies["id"] == "fig-001")
    replies["cut"] = replies["cut"].astype("boolean").mask(unknown)
    figures = as_table(quality.nonresponse_figures("fruit", replies, prompts))
    of_a, of_b = (
        figures[figures["figure"] == "cut_rate"]
        .sort_values("role")
        .to_dict(
            "records",
        )
    )
    assert of_a["value"] == 0
    assert np.isnan(of_b["value"])
    assert of_b["reason"] == "the server did not say of every reply why it ended"
    rates = quality.count_nonresponse("fruit", replies, prompts).set_index(["role", "concept"])
    assert list(rates[rates["cut"].isna()].index) == [("b", "fig")]


def framed_tables(
    shifts: dict[str, list[float]], roots: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Features, prompts and framed prompts; concepts have means 0, .1, .2, .3, each framing shifts
    each of them."""
    prompts = measured.prompts(roots, CONCEPTS)
    number = prompts["concept"].map(CONCEPTS.index)
    values = 0.1 * number + 0.01 * prompts["root_id"].str[-1].astype(int)
    parts, framed = [measured.features(prompts, values)], []
    for framing, by_concept in shifts.items():
        again = prompts.assign(bare_id=prompts["id"], framing=framing, before="A test.")
        again["id"] = framing + prompts["id"]
        moved = values + np.array(by_concept)[number]
        parts.append(measured.features(again, moved, framing=framing).dropna(subset=["value"]))
        framed.append(again[schemas.FRAMED.names])
    return pd.concat(parts, ignore_index=True), prompts, pd.concat(framed, ignore_index=True)


def shifts_of(*tables: pd.DataFrame | None, placebos: Collection[str] = ()) -> pd.DataFrame:
    figures = quality.prefix_shift_figures("fruit", *tables, placebos, RESAMPLING.level)
    return as_table(figures).set_index("figure")


SPREAD = np.std([0, 0.1, 0.2, 0.3], ddof=1)


def test_shifts_are_how_far_means_of_concepts_move_beside_how_far_they_lie_apart() -> None:
    planted = {
        "salience": [0.1, -0.1, 0.1, 0.1],
        "instruction": [0.0, 0.0, 0.0, -0.4],
    }
    shifts = shifts_of(*framed_tables(planted))
    # Levels move by .05 and -.1; within, concepts move by .1 and .2.
    values = shifts.loc[["level_shift", "reordering"], "value"] * SPREAD
    assert values.tolist() == approx([0.00625**0.5, 0.025**0.5])
    assert set(shifts["n"]) == {4}
    assert shifts["control"].isna().all()


def test_they_stand_beside_those_of_placebos() -> None:
    placebos = {
        f"placebo-{number}": [by] * 4
        for number, by in enumerate(
            (0.1, -0.1, 0.1, -0.1, 0),
        )
    }
    shifts = shifts_of(
        *framed_tables({"salience": [0.3] * 4, **placebos}),
        placebos=list(placebos),
    )
    control = shifts.loc["placebo_level_shift"]
    assert control[["n", "unit"]].tolist() == [5, "placebos"]
    assert control["value"] == approx(0.1 * 0.8**0.5 / SPREAD)
    level = shifts.loc["level_shift"]
    assert level[["value", "control"]].tolist() == approx(
        [0.3 / SPREAD, control["value"]],
    )
    assert shifts.loc["placebo_reordering", "value"] == near(0)


def test_prompts_that_lack_a_framing_are_left_out_of_both_sides() -> None:
    features, prompts, framed = framed_tables({"salience": [0.1] * 4})
    # Of figs, root items 1 and 2 are null after the framing: only root item 0 counts, and the shift
    # stays .1.
    lost = features["id"].isin(["saliencefig-001", "saliencefig-002"])
    features.loc[lost, "value"] = np.nan
    shifts = shifts_of(features, prompts, framed)
    spread = np.std([0.0, 0.11, 0.21, 0.31], ddof=1)
    assert shifts.loc["level_shift", "value"] == approx(0.1 / spread)


def test_of_a_concept_it_is_the_mean_over_prompts() -> None:
    features, prompts, framed = framed_tables({"salience": [0.0] * 4})
    features.loc[features["id"] == "saliencefig-002", "value"] += 0.9
    # Figs move by .3, the other three by nothing.
    assert shifts_of(features, prompts, framed).loc["level_shift", "value"] == approx(
        0.075 / SPREAD
    )


def test_concepts_that_were_not_framed_are_left_out() -> None:
    shifts = shifts_of(*framed_tables({"salience": [0.1, 0.1, 0.1, np.nan]}))
    assert shifts.loc["level_shift", "value"] == approx(0.1 / 0.1)
    assert shifts.loc["level_shift", "n"] == 3
    shifts = shifts_of(*framed_tables({"salience": [0.1, 0.1, np.nan, np.nan]}))
    assert set(shifts["reason"]) == {"fewer than 3 concepts were asked after prefixes"}


def test_without_framings_they_are_null_and_say_so() -> None:
    features, prompts, framed = framed_tables({"salience": [0.1] * 4})
    bare = features[features["framing"] == "bare"]
    shifts = shifts_of(bare, prompts, None)
    assert shifts["value"].isna().all()
    assert set(shifts["reason"]) == {"no framings are declared"}
    assert set(shifts_of(bare, prompts, framed)["reason"]) == {"nothing was asked after prefixes"}
    features["value"] = np.nan
    assert set(shifts_of(features, prompts, framed)["reason"]) == {"no reply has a value"}


CONCEPTS_OF_BIASES = ["fig", "kiwi", "lime"]


def test_tool_bias_is_what_baselines_that_differ_in_the_concept_are_given(tmp_path) -> None:
    prompts = measured.prompts(40, CONCEPTS_OF_BIASES)
    noise = np.random.default_rng(1).normal(0, 0.1, 120)
    baselines = noise + 0.3 * (prompts["concept"] == "fig")
    # Two models, two repetitions: the baseline is the same, and counts once.
    parts = [
        measured.features(prompts, 0.5, baselines, model=model, repetition=repetition)
        for model, repetition in product("ab", (0, 1))
    ]
    whole = pd.concat(parts)
    biases = tool_bias(arrange_scores("fruit", whole, prompts), measured.baselines(whole))
    write_table(biases, schemas.TOOL_BIAS, tmp_path / "tool.parquet")
    means = baselines.groupby(prompts["concept"]).mean()
    assert biases["concept"].tolist() == CONCEPTS_OF_BIASES
    assert biases["n"].tolist() == [40, 40, 40]
    assert biases["mean"].tolist() == approx(means.tolist())
    assert biases["difference"].tolist() == approx((means - means.mean()).tolist())


def context_of(features: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    biases = context_bias(arrange_scores("fruit", features, prompts))
    return biases.set_index(["calibration", "context"])


def context(values, baselines) -> pd.DataFrame:
    prompts = measured.prompts(3, CONCEPTS_OF_BIASES)
    return context_of(measured.features(prompts, values, baselines), prompts)


def counts(biases: pd.DataFrame) -> dict[Any, int]:
    return biases.loc["raw", "n"].to_dict()


def test_replies_follow_their_contexts_until_they_are_calibrated(tmp_path) -> None:
    # As figures 20 and 21: replies are .8 of what the baseline says, and .1 more.
    baselines = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    biases = context(0.1 + 0.8 * baselines, baselines)
    for calibration, expected in (
        ("raw", (0.26, 0.5, 0.74)),
        ("calibrated", (0.06, 0, -0.06)),
    ):
        by_context = dict(zip(("bad", "neutral", "good"), expected, strict=True))
        assert biases.loc[calibration, "mean"].to_dict() == approx(by_context)
    assert set(biases["n"]) == {3}
    write_table(biases.reset_index(), schemas.CONTEXT_BIAS, tmp_path / "context.parquet")


def test_equal_baselines_stay_together() -> None:
    # Five at 0: their middle rank lies in the lowest third. Of the others none is in the middle
    # third but one.
    biases = context(1.0, [0, 0, 0, 0, 0, 0.5, 0.7, 0.8, 0.9])
    assert counts(biases) == {"bad": 5, "neutral": 1, "good": 3}
    biases = context(1.0, 0.5)
    assert counts(biases) == {"bad": 0, "neutral": 9, "good": 0}
    assert biases.loc[("raw", "bad"), "reason"] == "no reply to such a baseline has a value"


def test_a_feature_without_baselines_has_no_contexts() -> None:
    biases = context(0.5, np.nan)
    assert set(biases["reason"]) == {"no baseline has this feature"}
    assert biases["mean"].isna().all()
    assert len(biases) == 6


def test_a_domain_that_is_not_branched_has_no_tool_bias(tmp_path) -> None:
    prompts = measured.prompts(4, CONCEPTS_OF_BIASES, branched=False)
    whole = measured.features(prompts, 0.5, 0.5)
    biases = tool_bias(arrange_scores("fruit", whole, prompts), measured.baselines(whole))
    write_table(biases, schemas.TOOL_BIAS, tmp_path / "tool.parquet")
    assert biases.empty
