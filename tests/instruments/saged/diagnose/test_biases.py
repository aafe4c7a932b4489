import numpy as np
import pandas as pd
import pytest
import scipy.stats

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.biases import context_bias, tool_bias
from evenruler.instruments.saged.diagnose.layout import laid_out
from evenruler.tables import read_frame, write_table
from tests.instruments.saged.diagnose import measured

CONCEPTS = ["fig", "kiwi", "lime"]


def test_tool_bias_is_what_baselines_that_differ_in_the_concept_are_given(tmp_path) -> None:
    prompts = measured.prompts(40, CONCEPTS)
    root = prompts["root_id"].str[-3:].astype(int)
    noise = np.random.default_rng(1).normal(0, 0.1, 120)
    baselines = root / 40 + noise + prompts["concept"].map({"fig": 0.3, "kiwi": 0.0, "lime": 0.0})
    # Two models, two repetitions: the baseline is the same, and counts once.
    parts = [
        measured.features(prompts, 0.5, baselines, model=model, repetition=i) for model in ("a", "b") for i in (0, 1)
    ]
    whole = pd.concat(parts)
    found = tool_bias(laid_out("fruit", whole, prompts), measured.baselines(whole), 0.95, 1000, seed=2)
    write_table(found, schemas.TOOL_BIAS, tmp_path / "tool.parquet")
    assert read_frame(tmp_path / "tool.parquet")["n"].tolist() == [40, 40, 40]
    means = baselines.groupby(prompts["concept"]).mean()
    assert found["concept"].tolist() == CONCEPTS
    assert found["mean"].tolist() == pytest.approx(means.tolist())
    assert found["difference"].tolist() == pytest.approx((means - means.mean()).tolist())
    own = baselines[prompts["concept"] == "fig"]
    half = scipy.stats.norm.ppf(0.975) * own.std() / np.sqrt(40)
    assert found.loc[0, ["low", "high"]].tolist() == pytest.approx([own.mean() - half, own.mean() + half], abs=0.03)


def test_a_domain_that_is_not_branched_has_no_tool_bias(tmp_path) -> None:
    prompts = measured.prompts(4, CONCEPTS, branched=False)
    whole = measured.features(prompts, 0.5, 0.5)
    found = tool_bias(laid_out("fruit", whole, prompts), measured.baselines(whole), 0.95, 50, seed=2)
    write_table(found, schemas.TOOL_BIAS, tmp_path / "tool.parquet")
    assert read_frame(tmp_path / "tool.parquet").empty


def test_baselines_that_could_not_be_measured_are_null_with_the_reason() -> None:
    prompts = measured.prompts(4, CONCEPTS)
    baselines = np.where(prompts["concept"] == "kiwi", np.nan, 0.25)
    table = pd.concat([measured.features(prompts, 0.5, baselines), measured.features(prompts, 0.5, feature="distance")])
    found = tool_bias(laid_out("fruit", table, prompts), measured.baselines(table), 0.95, 50, seed=2)
    found = found.set_index(["feature", "concept"])
    assert found["n"].tolist() == [0, 0, 0, 4, 0, 4]
    assert set(found.loc["distance", "reason"]) == {"no baseline has this feature"}
    kiwi = found.loc[("vader", "kiwi")]
    assert kiwi[["mean", "low", "high", "difference"]].isna().all()
    assert kiwi["reason"] == "no baseline has this feature"
    assert found.loc[("vader", "fig"), "difference"] == 0
    assert pd.isna(found.loc[("vader", "fig"), "reason"])


def context(values, baselines, prompts=None, **more) -> pd.DataFrame:
    prompts = measured.prompts(3, CONCEPTS) if prompts is None else prompts
    found = context_bias(laid_out("fruit", measured.features(prompts, values, baselines, **more), prompts))
    return found.set_index(["calibration", "context"])


def test_replies_follow_their_contexts_until_they_are_calibrated(tmp_path) -> None:
    # As figures 20 and 21: replies are .8 of what the baseline says, and .1 more.
    baselines = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    found = context(0.1 + 0.8 * baselines, baselines)
    assert found["mean"].to_dict() == pytest.approx(
        {
            ("raw", "bad"): 0.26,
            ("raw", "neutral"): 0.5,
            ("raw", "good"): 0.74,
            ("calibrated", "bad"): 0.06,
            ("calibrated", "neutral"): 0.0,
            ("calibrated", "good"): -0.06,
        }
    )
    assert set(found["n"]) == {3}
    write_table(found.reset_index(), schemas.CONTEXT_BIAS, tmp_path / "context.parquet")


def test_equal_baselines_stay_together() -> None:
    # Five at 0: their middle rank lies in the lowest third. Of the others none is in the middle third but one.
    found = context(1.0, [0, 0, 0, 0, 0, 0.5, 0.7, 0.8, 0.9])
    assert found.loc["raw", "n"].to_dict() == {"bad": 5, "neutral": 1, "good": 3}
    found = context(1.0, 0.5)
    assert found.loc["raw", "n"].to_dict() == {"bad": 0, "neutral": 9, "good": 0}
    assert found.loc[("raw", "bad"), "reason"] == "no reply to such a baseline has a value"
    assert pd.isna(found.loc[("raw", "bad"), "mean"])


def test_thirds_are_of_baselines_and_replies_are_counted() -> None:
    prompts = measured.prompts(3, CONCEPTS)
    baselines = np.arange(9) / 10
    values = np.where(np.arange(9) == 8, np.nan, 1.0)
    table = pd.concat([measured.features(prompts, values, baselines, repetition=i) for i in range(2)])
    found = context_bias(laid_out("fruit", table, prompts)).set_index(["calibration", "context"])
    assert found.loc["raw", "n"].to_dict() == {"bad": 6, "neutral": 6, "good": 4}


def test_a_feature_without_baselines_has_no_contexts() -> None:
    found = context(0.5, np.nan)
    assert set(found["reason"]) == {"no baseline has this feature"}
    assert found["mean"].isna().all()
    assert len(found) == 6
