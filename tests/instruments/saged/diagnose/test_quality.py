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
from evenruler.tables import read_frame, write_table
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
    rows = pd.DataFrame(metrics, columns=["statistic", "metric", "value"])
    kinds = list(product(("raw", "calibrated"), ("concept", "keyword")))
    every_kind = pd.DataFrame(kinds, columns=["calibration", "grouping"])
    cell = {
        "domain": "fruit",
        "model": "m0",
        "role": "no-role",
        "template": "plain",
        "feature": "vader",
    }
    numbers = {"p": 0.01, "n_groups": 6, "reason": None}
    return rows.merge(every_kind, how="cross").assign(**cell, **numbers)


def test_headlines_are_the_range_and_the_impact_ratio_of_the_first_grouping() -> None:
    settings = Disparities(
        grouping=[["concept"], ["keyword"]], permutations=1, headline_permutations=1
    )
    figures = quality.headline_figures(disparities(), settings, roots=20)
    values = figures.set_index(["figure", "statistic", "calibration"])["value"]
    assert values.to_dict() == {
        ("range", "mean", "raw"): 0.2,
        ("range", "mean", "calibrated"): 0.2,
        ("min_impact_ratio", "selection-rate", "raw"): 0.7,
        ("min_impact_ratio", "selection-rate", "calibrated"): 0.7,
    }
    places = figures[["role", "template", "feature"]].drop_duplicates()
    assert places.to_numpy().tolist() == [["no-role", "plain", "vader"]]
    assert set(figures["benchmark"]) == {"fruit"}
    assert set(figures["n"]) == {20}
    assert set(figures["unit"]) == {"root items"}


def test_what_was_withheld_counts_neither_as_refusal_nor_as_empty() -> None:
    prompts = measured.prompts(4, CONCEPTS)
    table = measured.features(prompts, 0.5)
    replies = measured.replies(table, refusals=[f"{concept}-000" for concept in CONCEPTS])
    replies.loc[replies["id"].str.endswith("-003"), "generation"] = None
    replies.loc[replies["id"].str.endswith(("-001", "-002")), "cut"] = True
    figures = as_table(quality.nonresponse_figures("fruit", replies, prompts)).set_index("figure")
    assert figures.loc["refusal_rate", "value"] == approx(1 / 3)
    assert figures.loc["cut_rate", "value"] == approx(2 / 3)
    assert figures.loc["withheld_rate", "value"] == approx(1 / 4)
    assert figures.loc["empty_rate", "value"] == 0
    assert figures.loc["refusal_rate", ["low", "high"]].isna().all()
    assert set(figures["unit"]) == {"root items"}
    assert figures["n"].to_dict() == {
        "refusal_rate": 3,
        "empty_rate": 3,
        "other_language_rate": 3,
        "cut_rate": 3,
        "withheld_rate": 4,
    }
    replies["generation"] = None
    nothing = as_table(quality.nonresponse_figures("fruit", replies, prompts)).set_index("figure")
    assert nothing["value"].isna().tolist() == [True, True, True, True, False]
    assert nothing["reason"].tolist()[:4] == ["the server gave no reply"] * 4


def test_of_how_many_replies_are_cut_nothing_is_said_where_a_server_does_not_say_why_they_ended(
    tmp_path,
) -> None:
    prompts = measured.prompts(4, CONCEPTS)
    refusals = {"a": [f"{concept}-000" for concept in CONCEPTS], "b": []}
    replies = pd.concat(
        [
            measured.replies(measured.features(prompts, 0.5, role=role), refused)
            for role, refused in refusals.items()
        ]
    )
    replies["cut"] = (
        replies["cut"]
        .astype("boolean")
        .mask((replies["role"] == "b") & (replies["id"] == "fig-001"))
    )
    figures = as_table(quality.nonresponse_figures("fruit", replies, prompts)).set_index(
        ["role", "figure"]
    )
    assert figures.loc[("a", "cut_rate"), "value"] == 0
    unknown = figures.loc[("b", "cut_rate")]
    assert np.isnan(unknown["value"])
    assert unknown["reason"] == "the server did not say of every reply why it ended"
    assert figures.loc[("a", "refusal_rate"), "value"] == 0.25
    assert figures.loc[("b", "refusal_rate"), "value"] == 0
    write_table(
        quality.count_nonresponse("fruit", replies, prompts),
        schemas.RATES,
        tmp_path / "rates.parquet",
    )
    rates = read_frame(tmp_path / "rates.parquet").set_index(["role", "concept"])["cut"]
    assert rates.isna().to_dict() == {
        (role, concept): (role, concept) == ("b", "fig") for role, concept in rates.index
    }


def framed_tables(
    shifts: dict[str, list[float]], roots: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Features, prompts and framed prompts; concepts have means 0, .1, .2, .3, each framing shifts
    each of them."""
    prompts = measured.prompts(roots, CONCEPTS)
    number = prompts["concept"].map(CONCEPTS.index)
    root = prompts["root_id"].str[-1].astype(int)
    values = 0.1 * number + 0.01 * root
    parts, framed = [measured.features(prompts, values)], []
    for framing, by_concept in shifts.items():
        moved = values + number.map(dict(enumerate(by_concept)))
        framed_prompts = prompts.assign(
            bare_id=prompts["id"], id=framing + prompts["id"], framing=framing, before="A test."
        )
        rows = measured.features(framed_prompts, moved, framing=framing)
        parts.append(rows.dropna(subset=["value"]))
        framed.append(framed_prompts[schemas.FRAMED.names])
    return pd.concat(parts, ignore_index=True), prompts, pd.concat(framed, ignore_index=True)


def shifts_of(*tables: pd.DataFrame | None, placebos: Collection[str] = ()) -> pd.DataFrame:
    return as_table(
        quality.prefix_shift_figures("fruit", *tables, placebos, RESAMPLING.level)
    ).set_index("figure")


SPREAD = np.std([0, 0.1, 0.2, 0.3], ddof=1)


def test_shifts_are_how_far_means_of_concepts_move_beside_how_far_they_lie_apart() -> None:
    planted = {
        "salience": [0.1, -0.1, 0.1, 0.1],
        "instruction": [0.0, 0.0, 0.0, -0.4],
    }
    shifts = shifts_of(*framed_tables(planted))
    # Levels move by .05 and -.1; within, concepts move by .1 and .2.
    values = shifts["value"] * SPREAD
    assert values["level_shift"] == approx(0.00625**0.5)
    assert values["reordering"] == approx(0.025**0.5)
    assert set(shifts["n"]) == {4}
    assert set(shifts["unit"]) == {"concepts"}
    places = shifts[["role", "template", "feature"]].drop_duplicates()
    assert places.to_numpy().tolist() == [["no-role", "plain", "vader"]]
    assert shifts["control"].isna().all()


def test_they_stand_beside_those_of_placebos() -> None:
    placebos = {
        f"placebo-{place}": [moved] * 4
        for place, moved in enumerate((0.1, -0.1, 0.1, -0.1, 0.0), 1)
    }
    tables = framed_tables({"salience": [0.3] * 4, **placebos})
    shifts = shifts_of(*tables, placebos=list(placebos))
    control = shifts.loc["placebo_level_shift"]
    assert control["value"] == approx(0.1 * 0.8**0.5 / SPREAD)
    assert (control["n"], control["unit"]) == (5, "placebos")
    assert shifts.loc["level_shift", "value"] == approx(0.3 / SPREAD)
    assert shifts.loc["level_shift", "control"] == control["value"]
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
    root = prompts["root_id"].str[-3:].astype(int)
    noise = np.random.default_rng(1).normal(0, 0.1, 120)
    baselines = root / 40 + noise + 0.3 * (prompts["concept"] == "fig")
    # Two models, two repetitions: the baseline is the same, and counts once.
    parts = [
        measured.features(prompts, 0.5, baselines, model=model, repetition=repetition)
        for model, repetition in product("ab", (0, 1))
    ]
    whole = pd.concat(parts)
    biases = tool_bias(arrange_scores("fruit", whole, prompts), measured.baselines(whole))
    write_table(biases, schemas.TOOL_BIAS, tmp_path / "tool.parquet")
    assert read_frame(tmp_path / "tool.parquet")["n"].tolist() == [40, 40, 40]
    means = baselines.groupby(prompts["concept"]).mean()
    assert biases["concept"].tolist() == CONCEPTS_OF_BIASES
    assert biases["mean"].tolist() == approx(means.tolist())
    differences = means - means.mean()
    assert biases["difference"].tolist() == approx(differences.tolist())


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
    assert biases["mean"].to_dict() == approx(
        {
            ("raw", "bad"): 0.26,
            ("raw", "neutral"): 0.5,
            ("raw", "good"): 0.74,
            ("calibrated", "bad"): 0.06,
            ("calibrated", "neutral"): 0.0,
            ("calibrated", "good"): -0.06,
        }
    )
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
    assert pd.isna(biases.loc[("raw", "bad"), "mean"])


def test_a_feature_without_baselines_has_no_contexts() -> None:
    biases = context(0.5, np.nan)
    assert set(biases["reason"]) == {"no baseline has this feature"}
    assert biases["mean"].isna().all()
    assert len(biases) == 6
