"""One domain on one model from what is published, what needs several models, and what a card
shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from evenruler.errors import UserError
from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities, Feature, SummaryStatistic
from evenruler.instruments.saged.diagnose import TABLES, across, evidence, figures
from evenruler.instruments.saged.diagnose.disparities import METRICS, disparity
from evenruler.instruments.saged.diagnose.group_statistics import adjust_p, arrange_scores
from evenruler.instruments.saged.diagnose.headlines import judge_headlines, silence_of
from evenruler.measurement import Resampling
from evenruler.tables import read_frame, table_of, write_table
from tests.instruments.saged.diagnose import measured
from tests.instruments.saged.domains import built, declared, subject

FEW = {"permutations": 49, "headline_permutations": 99}
RESAMPLING = Resampling(0.95, 100, 3)
BASELINES = {"apple": 0.1, "pear": 0.2, "fig": 0.3}
FEATURES = {
    "vader": {"kind": "lexicon"},
    "topics": {"kind": "clusters", "form": "label", "k": 2, "seed": 0, "model": "e"},
}


def domain(tmp_path: Path, **said: Any) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    tables, plan = built(declared(tmp_path, disparities=FEW, features=FEATURES, **said))
    return {"prompts": tables["prompts"]}, json.loads(json.dumps(plan, sort_keys=True))


def scores_of(prompts: pd.DataFrame, model: str, shift: float = 0.0) -> dict[str, pd.DataFrame]:
    """Numbers of replies to the prompts; higher for pears. Of the two clusters, one has no
    replies."""
    draw = np.random.default_rng(len(model))
    lie = np.where(prompts["concept"] == "pear", 0.3 + shift, 0.0)
    values = 0.5 + lie + draw.normal(0, 0.05, len(prompts))
    parts = [
        measured.features(prompts, values, prompts["concept"].map(BASELINES), model=model),
        measured.features(prompts, 1.0, model=model, feature="topics-0"),
        measured.features(prompts, np.nan, model=model, feature="topics-1").assign(
            reason="only 1 clusters"
        ),
    ]
    features = pd.concat(parts, ignore_index=True)
    generations = measured.replies(features).assign(reason=None)
    topic = {
        "domain": "fruit",
        "model": model,
        "feature": "topics-0",
        "part": "all",
        "cluster": 0,
        "words": ["a"],
        "n": 9,
    }
    baselines = measured.baselines(features)
    return {
        "features": features,
        "topics": pd.DataFrame([topic]),
        "baselines": baselines,
        "generations": generations,
    }


def record(
    own: tuple[dict[str, pd.DataFrame], dict[str, Any]], model: str, **changes: Any
) -> Record:
    tables, plan = own
    scores = scores_of(tables["prompts"], model, **changes)
    found = figures("fruit", tables, plan, scores, subject(model), RESAMPLING)
    return Record("fruit", subject(model), tables, plan, found)


def together(records: list[Record]) -> Mapping[str, pd.DataFrame]:
    """As the stage does it."""
    found = [*(one.found for one in records), across(records, RESAMPLING)]
    return {
        name: pd.concat([part[name] for part in found if name in part], ignore_index=True)
        for name in TABLES
    }


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    own = domain(tmp_path_factory.mktemp("domain"))
    return [record(own, "m"), record(own, "other", shift=0.4)]


@pytest.fixture(scope="module")
def tables(records: list[Record]) -> Mapping[str, pd.DataFrame]:
    """Of both."""
    return together(records)


def test_every_table_is_by_its_schema(tables: Mapping[str, pd.DataFrame]) -> None:
    for name, schema in TABLES.items():
        assert table_of(tables[name][schema.names], schema).num_rows > 0


def test_a_model_has_the_same_figures_beside_any_other(
    records: list[Record], tables: Mapping[str, pd.DataFrame]
) -> None:
    alone, both = across(records[:1], RESAMPLING)["disparities"], tables["disparities"]
    own = both[both["model"] == "m"].reset_index(drop=True)
    columns = [name for name in schemas.DISPARITIES.names if name != "p_adjusted"]
    pd.testing.assert_frame_equal(own[columns], alone[columns])
    told = tables["figures"].query("model == 'm'").reset_index(drop=True)
    pd.testing.assert_frame_equal(told, records[0].found["figures"], check_dtype=False)
    mean = own[
        (own["metric"] == "range") & (own["statistic"] == "mean") & (own["feature"] == "vader")
    ]
    assert mean.set_index("calibration")["value"]["raw"] == pytest.approx(0.3, abs=0.1)


def test_tests_of_all_models_are_adjusted_together(tables: Mapping[str, pd.DataFrame]) -> None:
    found = tables["disparities"]
    own = found[(found["feature"] == "vader") & (found["statistic"] == "mean")].dropna(subset="p")
    assert set(own["model"]) == {"m", "other"}
    assert own["p_adjusted"].tolist() == pytest.approx(
        scipy.stats.false_discovery_control(own["p"]).tolist()
    )


def test_the_bias_of_tools_is_there_once(tables: Mapping[str, pd.DataFrame]) -> None:
    found = tables["tool_bias"]
    assert not found.duplicated(["domain", "feature", "concept"]).any()
    means = found[found["feature"] == "vader"].set_index("concept")["mean"]
    assert means.to_dict() == pytest.approx(BASELINES)


def test_shifts_are_null_where_nothing_was_asked_after_prefixes(records: list[Record]) -> None:
    found = records[0].found["figures"]
    assert set(found.loc[found["figure"] == "level_shift", "reason"]) == {
        "nothing was asked after prefixes"
    }


def test_shifts_are_of_the_rows_after_prefixes_that_the_plan_asks(tmp_path: Path) -> None:
    from evenruler.instruments.saged.ask import repeated_prompts

    tables, plan = domain(tmp_path, prefixed=2, reseeded=3)
    after = repeated_prompts(tables, plan)
    assert after["framing"].value_counts().to_dict() == {
        "salience": 6,
        "instruction": 6,
        "salience+instruction": 6,
        "reseeded": 9,
    }
    scores = scores_of(tables["prompts"], "m")
    vader = scores["features"][scores["features"]["feature"] == "vader"].set_index("id")["value"]
    moved = after[["id"]].assign(value=after["bare_id"].map(vader) + 1, framing=after["framing"])
    rows = [
        measured.features(own, own["value"], 0.1, model="m", framing=str(framing))
        for framing, own in moved.groupby("framing")
    ]
    features = pd.concat([scores["features"], *rows], ignore_index=True)
    generations = measured.replies(features).assign(reason=None)
    given = {**scores, "features": features, "generations": generations}
    found = figures("fruit", tables, plan, given, subject("m"), RESAMPLING)
    of_vader = found["figures"][found["figures"]["part"] == "no-role, plain, vader"].set_index(
        "figure"
    )
    assert of_vader.loc["level_shift", "value"] > 1
    assert of_vader.loc["level_shift", "n"] == 3
    bare = figures("fruit", tables, plan, scores, subject("m"), RESAMPLING)
    pd.testing.assert_frame_equal(found["summaries"], bare["summaries"])


def test_the_card_shows_features_by_the_names_that_users_gave_them(
    tables: Mapping[str, pd.DataFrame],
) -> None:
    found = evidence(tables)
    assert list(found) == ["fruit"]
    assert list(found["fruit"]) == [
        "all roles",
        "all roles, vader",
        "no-role, plain",
        "no-role, plain, vader",
    ]
    assert set(found["fruit"]["no-role, plain"]["other"]) >= {"refusal_rate", "empty_rate"}
    figure = found["fruit"]["no-role, plain, vader"]["m"]["range of mean"]
    assert (figure["n"], figure["unit"]) == (3, "root items")
    assert figure["value"] == pytest.approx(0.3, abs=0.1)
    confirmed = found["fruit"]["all roles, vader"]["m"]["favour"]
    assert (confirmed["verdict"], confirmed["reason"]) == (
        "inconclusive",
        "3 root items answered for every concept; 6 are needed",
    )
    assert found["fruit"]["all roles, vader"]["m"]["tool_bias"]["value"] == pytest.approx(0.2)


def test_a_control_is_no_member_of_what_is_compared(tmp_path: Path) -> None:
    """What is said of it changes nothing but what verdicts compare with."""
    tables, plan = domain(tmp_path, prefixed=2, reseeded=3)
    plan |= {"controls": ["pear"]}
    scores = scores_of(tables["prompts"], "m")
    found = figures("fruit", tables, plan, scores, subject("m"), RESAMPLING)
    of_pear = scores["features"]["id"].isin(tables["prompts"].query("concept == 'pear'")["id"])
    scores["features"].loc[of_pear, ["value", "baseline"]] += 7
    cursed = figures("fruit", tables, plan, scores, subject("m"), RESAMPLING)
    for name in found:
        pd.testing.assert_frame_equal(cursed[name], found[name])
    assert "pear" not in {
        *found["summaries"]["group"],
        *found["compared"]["group"],
        *found["baselines"]["concept"],
    }
    assert set(found["rates"]["concept"]) == {"apple", "fig", "pear"}
    favour = found["favour"][found["favour"]["figure"] == "favour"]
    assert sorted(favour["concept"]) == ["apple", "fig"]
    assert favour["difference"].sum() == pytest.approx(0)
    assert favour["low"].isna().all()  # of three root items


def test_a_model_without_replies_has_no_figures(tmp_path: Path) -> None:
    tables, plan = domain(tmp_path)
    none = {name: table.iloc[:0] for name, table in scores_of(tables["prompts"], "m").items()}
    found = figures("fruit", tables, plan, none, subject("m"), RESAMPLING)
    assert found == {}
    one = Record("fruit", subject("m"), tables, plan, found)
    assert {name: len(table) for name, table in across([one], RESAMPLING).items()} == {
        "disparities": 0,
        "tool_bias": 0,
        "measured": 0,
    }


CONCEPTS = ["fig", "kiwi", "lime", "melon", "nashi", "olive", "pear", "quince"]
NOT_TABLES = ("compared", "baselines")
SETTINGS = Disparities(permutations=99, headline_permutations=99)


def diagnosed(
    features: pd.DataFrame, prompts: pd.DataFrame, settings: Disparities = SETTINGS
) -> SimpleNamespace:
    return complete(measured.diagnosed(features, measured.replies(features), prompts, settings))


def complete(found: Tables) -> SimpleNamespace:
    """The tables of a diagnosis, those that need several models as `across` makes them."""
    kept = {name: table for name, table in found.items() if name not in NOT_TABLES}
    return SimpleNamespace(
        **kept, disparities=adjust_p(found["compared"]), tool_bias=found["baselines"]
    )


def planted(
    where: str, branched: bool = True, roots: int = 20
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values and baselines about .6, of which one, or both, is .25 lower for limes."""
    prompts = measured.prompts(roots, CONCEPTS, branched)
    draw = np.random.default_rng(4)
    lower = np.where(prompts["concept"] == "lime", 0.25, 0)
    baselines = 0.6 + draw.normal(0, 0.1, len(prompts)) - lower * (where == "baseline")
    values = baselines + draw.normal(0, 0.05, len(prompts)) - lower * (where == "reply")
    return measured.features(prompts, values, baselines), prompts


def of(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    for name, value in where.items():
        table = table[table[name] == value]
    return table


@pytest.mark.parametrize("branched", [True, False])
def test_a_planted_bias_is_found_where_it_was_planted(branched) -> None:
    found = diagnosed(*planted("reply", branched))
    for calibration in ("raw", "calibrated"):
        shape = of(found.shapes, calibration=calibration).iloc[0]
        assert (shape["shape"], shape["group"], shape["end"]) == ("concentrated", "lime", "low")
        means = of(found.disparities, calibration=calibration, statistic="mean").set_index("metric")
        assert means.loc["range", "value"] == pytest.approx(0.25, abs=0.1)
        assert means.loc["range", "p"] == 0.01
        assert means.loc["range", "p_adjusted"] < 0.05
        assert (means.loc["dixon_low", "group"], means.loc["dixon_low", "flag"]) == ("lime", True)
        assert means.loc["dixon_low", "excess"] > 0 > means.loc["dixon_high", "excess"]
        ratio = of(found.disparities, calibration=calibration, metric="min_impact_ratio").iloc[0]
        assert (ratio["group"], ratio["flag"]) == ("lime", True)


def test_calibration_takes_a_bias_of_baselines_out() -> None:
    found = diagnosed(*planted("baseline"))
    raw, calibrated = (of(found.shapes, calibration=each).iloc[0] for each in ("raw", "calibrated"))
    assert (raw["shape"], raw["group"]) == ("concentrated", "lime")
    assert calibrated["shape"] != "concentrated"
    ranges = of(found.disparities, metric="range", statistic="mean").set_index("calibration")
    assert ranges.loc["raw", "p"] == 0.01
    assert ranges.loc["calibrated", "p"] > 0.05
    assert ranges.loc["calibrated", "value"] < 0.06
    tool = found.tool_bias.set_index("concept")
    assert tool["difference"].idxmin() == "lime"
    assert tool.loc["lime", "mean"] < tool.drop("lime")["mean"].min() - 0.15


def test_summaries_are_scipys_and_nulls_are_counted() -> None:
    features, prompts = planted("reply")
    features.loc[::7, "value"] = np.nan
    found = diagnosed(features.sample(frac=1, random_state=1), prompts).summaries
    concepts = prompts.set_index("id")["concept"]
    for concept, own in features.groupby(features["id"].map(concepts)):
        known = own.dropna(subset="value")
        rows = of(found, group=concept).set_index(["statistic", "calibration"])
        assert (rows["n"] == len(known)).all()
        assert (rows["n_missing"] == len(own) - len(known)).all()
        less = known["value"] - known["baseline"]
        expected = {
            ("mean", "raw"): known["value"].mean(),
            ("mean", "calibrated"): less.mean(),
            ("median", "calibrated"): less.median(),
            ("std", "raw"): known["value"].std(),
            ("selection-rate", "raw"): (known["value"] >= features["value"].mean()).mean(),
            ("correlation", "raw"): scipy.stats.pearsonr(known["value"], known["baseline"])[0],
            ("precision", "raw"): (less.abs() <= 0.1).mean(),
        }
        for key, value in expected.items():
            assert rows.loc[key, "value"] == pytest.approx(value), key
    assert set(of(found, statistic="kl")["calibration"]) == {"raw"}
    assert found.columns.tolist() == schemas.SUMMARIES.names


def test_disparities_are_those_of_the_summaries() -> None:
    features, prompts = planted("reply")
    features.loc[features["id"].str.startswith("pear"), "value"] = np.nan
    found = diagnosed(features, prompts, SETTINGS.model_copy(update={"metrics": list(METRICS)}))
    for _, row in found.disparities.iterrows():
        cell = of(found.summaries, statistic=row["statistic"], calibration=row["calibration"])
        summary = cell[["group", "value"]].rename(columns={"value": "summary"})
        expected = disparity(summary, row["metric"], names=["group"])
        assert row["value"] == pytest.approx(expected.value, nan_ok=True)
        assert (row["n_groups"], row["group"], row["reason"]) == (
            expected.n,
            expected.group,
            expected.reason,
        )
        for name in ("critical", "excess"):
            value = getattr(expected, name)
            assert row[name] == pytest.approx(np.nan if value is None else value, nan_ok=True)
        assert row["flag"] is expected.flag or row["flag"] == expected.flag
    assert set(of(found.disparities, metric="min_impact_ratio")["statistic"]) == {"selection-rate"}
    assert (
        (
            of(
                found.disparities,
                metric="min_max_ratio",
                calibration="calibrated",
                statistic="mean",
            )["value"]
        )
        .isna()
        .all()
    )


def test_tests_of_a_feature_and_statistic_are_adjusted_together() -> None:
    features, prompts = planted("reply")
    second = features.assign(feature="length", value=features["value"].to_numpy()[::-1])
    found = diagnosed(
        pd.concat([features, second, features.assign(model="m1")]), prompts
    ).disparities
    for _, family in found.groupby(["feature", "statistic"]):
        known = family.dropna(subset="p")
        assert known["p_adjusted"].tolist() == pytest.approx(
            scipy.stats.false_discovery_control(known["p"]).tolist()
        )
        assert family.loc[family["p"].isna(), "p_adjusted"].isna().all()
        assert (family.loc[family["p"].isna(), "n_permutations"] == 0).all()
        assert (known["n_permutations"] > 0).all()


def test_the_headline_has_permutations_of_its_own() -> None:
    settings = SETTINGS.model_copy(update={"headline_permutations": 300})
    found = diagnosed(*planted("reply"), settings).disparities
    of_ranges = of(found, metric="range", calibration="raw").set_index("statistic")[
        "n_permutations"
    ]
    assert of_ranges["mean"] == 300
    assert set(of_ranges.drop("mean")) == {99}


def test_every_model_role_and_feature_is_a_cell_of_its_own() -> None:
    features, prompts = planted("reply")
    alone = diagnosed(features, prompts)
    other = features.assign(value=0.5)
    parts = [
        features,
        other.assign(model="m1"),
        other.assign(role="judge"),
        other.assign(feature="length"),
    ]
    found = diagnosed(pd.concat(parts), prompts)
    cells = found.disparities[["model", "role", "feature"]].drop_duplicates()
    assert len(cells) == 4
    columns = [name for name in schemas.DISPARITIES.names if name not in ("p_adjusted", "reason")]
    own = of(found.disparities, model="m0", role="no-role", feature="vader")[columns].reset_index(
        drop=True
    )
    pd.testing.assert_frame_equal(own, alone.disparities[columns])
    still = of(
        found.disparities, model="m1", metric="range", statistic="mean", calibration="raw"
    ).iloc[0]
    assert (still["value"], still["p"]) == (0, 1)


def test_headlines_are_first_and_by_the_seed_that_is_given() -> None:
    features, prompts = planted("reply")
    draw = np.random.default_rng(5)
    judge = features.assign(
        role="judge", value=features["value"] + draw.normal(0, 0.1, len(features))
    )
    both = pd.concat([features, judge])
    declared = {"vader": Feature(kind="lexicon")}
    found = measured.diagnosed(both, measured.replies(both), prompts, SETTINGS, declared=declared)
    silent = silence_of(measured.replies(both), prompts)
    figures, *_ = judge_headlines(
        arrange_scores("fruit", both, prompts), silent, declared, [], SETTINGS, 3
    )
    assert figures["figure"].tolist() == ["answered alike", "favour", "role x concept"]
    pd.testing.assert_frame_equal(found["figures"].head(len(figures)), figures, check_dtype=False)


def test_crossed_groups_and_sections() -> None:
    features, prompts = planted("reply", roots=4)
    prompts["section"] = np.where(prompts["root_id"] < "root-002", "north", "south")
    settings = SETTINGS.model_copy(update={"grouping": [["concept", "section"], ["section"]]})
    found = diagnosed(features, prompts, settings)
    crossed = of(found.summaries, grouping="concept+section", statistic="mean", calibration="raw")
    assert len(crossed) == 16
    assert "lime+north" in set(crossed["group"])
    assert set(crossed["n"]) == {2}
    sections = of(found.summaries, grouping="section", statistic="mean", calibration="raw")
    assert sections["group"].tolist() == ["north", "south"]
    assert sections["n"].tolist() == [16, 16]


def test_groups_by_source() -> None:
    features, prompts = planted("reply", roots=4)
    prompts["source_tag"] = np.where(prompts["root_id"] < "root-001", "forward", "page")
    found = diagnosed(features, prompts, SETTINGS.model_copy(update={"grouping": [["source_tag"]]}))
    tags = of(found.summaries, grouping="source_tag", statistic="mean", calibration="raw")
    assert (tags["group"].tolist(), tags["n"].tolist()) == (["forward", "page"], [8, 24])
    values = features.set_index("id")["value"].groupby(prompts.set_index("id")["source_tag"]).mean()
    np.testing.assert_allclose(tags["value"], values[["forward", "page"]])


def test_framed_replies_count_for_shifts_alone() -> None:
    features, prompts = planted("reply")
    framed = prompts.rename(columns={"id": "bare_id"}).assign(
        id="framed-" + prompts["id"], framing="salience", before="This is a test."
    )
    moved = features.assign(
        id="framed-" + features["id"], framing="salience", value=features["value"] + 9
    )
    everything = pd.concat([features, moved])
    bare = diagnosed(features, prompts)
    framed = framed[schemas.FRAMED.names]
    replies = measured.replies(everything)
    found = complete(
        measured.diagnosed(everything, replies, prompts, SETTINGS, framed, ["salience"])
    )
    for table in ("summaries", "disparities", "shapes", "rates", "tool_bias", "context_bias"):
        pd.testing.assert_frame_equal(getattr(found, table), getattr(bare, table))
    level, reordering = (
        of(found.figures, figure=figure).iloc[0] for figure in ("level_shift", "reordering")
    )
    means = of(bare.summaries, statistic="mean", calibration="raw")["value"]
    assert level["value"] == pytest.approx(9 / means.std())
    assert reordering["value"] == pytest.approx(0, abs=1e-12)


def test_refusals_and_empty_replies_are_counted() -> None:
    prompts = measured.prompts(3, ["fig", "kiwi"])
    features = measured.features(prompts, 0.5)
    replies = measured.replies(features, refusals=["fig-000", "fig-002"], empty=["kiwi-001"])
    found = measured.diagnosed(features, replies, prompts, SETTINGS)["rates"]
    assert found[["concept", "n", "refusals", "empty"]].to_numpy().tolist() == [
        ["fig", 3, 2, 0],
        ["kiwi", 3, 0, 1],
    ]
    assert found["withheld"].tolist() == [0, 0]
    replies.loc[replies["id"] == "fig-001", "generation"] = None
    found = measured.diagnosed(features, replies, prompts, SETTINGS)["rates"]
    assert found[["concept", "n", "refusals", "withheld"]].to_numpy().tolist() == [
        ["fig", 2, 2, 1],
        ["kiwi", 3, 0, 0],
    ]


def written(found: SimpleNamespace, path) -> dict[str, bytes]:
    names = {name: getattr(schemas, name.upper()) for name in vars(found) if name != "headlines"}
    for name, schema in names.items():
        write_table(getattr(found, name), schema, path / f"{name}.parquet")
        assert read_frame(path / f"{name}.parquet").shape == getattr(found, name).shape
    return {name: (path / f"{name}.parquet").read_bytes() for name in names}


def test_all_replies_null_is_null_with_reasons(tmp_path) -> None:
    prompts = measured.prompts(3, CONCEPTS)
    found = diagnosed(measured.features(prompts, np.nan, 0.5), prompts)
    written(found, tmp_path)
    assert found.summaries["value"].isna().all()
    assert set(found.summaries["reason"]) >= {
        "no value",
        "no value with a baseline",
        "no value, needs 2",
    }
    of_correlation = found.summaries["reason"][found.summaries["statistic"] == "correlation"]
    assert set(of_correlation) == {"no value with a baseline, needs 2"}
    assert found.summaries["reason"].notna().all()
    assert (found.summaries["n_missing"] == 3).all()
    assert found.disparities["value"].isna().all()
    assert found.disparities["reason"].notna().all()
    assert found.shapes["reason"].tolist() == ["no groups with a value, needs 3"] * 2


def test_a_feature_without_baselines_is_not_calibrated(tmp_path) -> None:
    prompts = measured.prompts(5, CONCEPTS)
    values = np.random.default_rng(1).random(40)
    found = diagnosed(measured.features(prompts, values), prompts)
    written(found, tmp_path)
    without = found.summaries["calibration"].eq("calibrated") | found.summaries["statistic"].isin(
        ["correlation", "kl", "precision"]
    )
    assert set(found.summaries.loc[without, "reason"]) == {"no baseline has this feature"}
    assert found.summaries.loc[~without, "value"].notna().all()
    assert set(of(found.disparities, calibration="calibrated")["reason"]) == {
        "no baseline has this feature"
    }


def test_another_feature_without_baselines_says_so_beside_one_that_has_them() -> None:
    features, prompts = planted("reply")
    both = pd.concat([features, features.assign(feature="length", baseline=np.nan)])
    found = of(diagnosed(both, prompts).summaries, statistic="mean", calibration="calibrated")
    assert set(found.loc[found["feature"] == "length", "reason"]) == {
        "no baseline has this feature"
    }
    assert found.loc[found["feature"] == "vader", "reason"].isna().all()


def test_a_statistic_takes_its_options() -> None:
    features, prompts = planted("reply")
    wide = SummaryStatistic(kind="percentile_range", options={"low": 20, "high": 70})
    settings = SETTINGS.model_copy(update={"statistics": {"wide": wide}, "headline": "wide"})
    found = diagnosed(features, prompts, settings).summaries
    figs = features.loc[features["id"].str.startswith("fig"), "value"]
    row = of(found, group="fig", calibration="raw").iloc[0]
    assert row["value"] == pytest.approx(np.percentile(figs, 70) - np.percentile(figs, 20))


def test_of_nothing_there_is_nothing_to_adjust() -> None:
    assert adjust_p(pd.DataFrame()).columns.tolist() == schemas.DISPARITIES.names


def test_a_group_of_one_row(tmp_path) -> None:
    prompts = measured.prompts(6, CONCEPTS, branched=False)
    prompts = prompts[(prompts["concept"] != "fig") | (prompts["id"] == "fig-000")]
    values = np.random.default_rng(1).random(len(prompts))
    found = diagnosed(measured.features(prompts, values, 0.5), prompts)
    written(found, tmp_path)
    fig = of(found.summaries, group="fig", calibration="raw").set_index("statistic")
    assert fig.loc["mean", ["value", "n"]].tolist() == [values[prompts["concept"] == "fig"][0], 1]
    assert fig.loc["std", "reason"] == "1 value, needs 2"
    assert pd.isna(fig.loc["std", "value"])
    spread = of(found.disparities, statistic="std", metric="range", calibration="raw").iloc[0]
    assert spread["n_groups"] == 7


def test_the_same_bytes_in_whatever_order_rows_stand(tmp_path) -> None:
    features, prompts = planted("reply")
    features.loc[::5, "value"] = np.nan
    features = pd.concat([features, features.assign(model="m1", value=features["baseline"])])
    first = written(diagnosed(features, prompts), tmp_path)
    mixed = features.sample(frac=1, random_state=2)
    texts = ["id", "framing", "model", "lineage", "role", "template", "domain", "feature"]
    mixed[texts] = mixed[texts].astype("category")
    assert written(diagnosed(mixed, prompts.sample(frac=1, random_state=2)), tmp_path) == first


def middle(values: np.ndarray, share: float = 0.5) -> float:
    return float(np.quantile(values, share))


def test_a_statistic_of_the_users_own() -> None:
    statistics = {
        "mean": SummaryStatistic(kind="mean"),
        "own": SummaryStatistic(kind=f"{__name__}.middle", options={"share": 0.5}),
        "median": SummaryStatistic(kind="median"),
    }
    settings = SETTINGS.model_copy(update={"statistics": statistics})
    found = diagnosed(*planted("reply", roots=5), settings)
    columns = ["metric", "calibration", "value", "p", "group"]
    own, median = (
        of(found.disparities, statistic=name)[columns].reset_index(drop=True)
        for name in ("own", "median")
    )
    pd.testing.assert_frame_equal(own, median)


def test_mistakes_are_one_line() -> None:
    with pytest.raises(UserError, match="no statistic 'means'"):
        diagnosed(
            *planted("reply"),
            SETTINGS.model_copy(update={"statistics": {"mean": SummaryStatistic(kind="means")}}),
        )
    with pytest.raises(UserError, match="no disparity 'rang'"):
        diagnosed(*planted("reply"), SETTINGS.model_copy(update={"metrics": ["rang"]}))


def test_measurements_must_fit_together() -> None:
    features, prompts = planted("reply")
    with pytest.raises(ValueError, match="1 measurements are there twice"):
        diagnosed(pd.concat([features, features.iloc[:1]]), prompts)
    with pytest.raises(ValueError, match="20 prompts that were measured are not there"):
        diagnosed(features, prompts[prompts["concept"] != "fig"])


class TestNoMeasurement:
    """Replies that say nothing make figures of 0, which are no finding."""

    def judged(self, changed: dict[str, object], value: float | None = None) -> Tables:
        features, prompts = planted("reply")
        if value is not None:
            features = features.assign(value=value)
        replies = measured.replies(features).assign(**changed)
        return measured.diagnosed(
            features, replies, prompts, SETTINGS, declared={"vader": Feature(kind="lexicon")}
        )

    @staticmethod
    def verdicts(found: Tables) -> dict[str, tuple[str, str]]:
        told = found["figures"].dropna(subset="verdict")
        return {row["figure"]: (row["verdict"], row["why"]) for row in told.to_dict("records")}

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            (
                {"refusal": True},
                "160 of 160 requests were not answered (160 refused, 0 empty, 0 in another "
                "language)",
            ),
            (
                {"empty": True, "other_language": True},
                "(0 refused, 160 empty, 0 in another language)",
            ),
            ({"other_language": True}, "(0 refused, 0 empty, 160 in another language)"),
            ({"generation": "I like fruit."}, "all 160 replies are the same"),
            (
                {"generation": [f"Reply {n % 15}." for n in range(160)]},
                "only 15 of 160 replies are distinct",
            ),
        ],
    )
    def test_a_model_that_says_nothing(self, changed, said) -> None:
        found = self.judged(changed)
        told = self.verdicts(found)
        assert {"answered alike", "favour", "range of mean", "range of mean, calibrated"} <= set(
            told
        )
        assert {verdict for verdict, _ in told.values()} == {"invalid on this model"}
        assert all(said in why for _, why in told.values())

    def test_a_feature_that_is_the_same_of_all(self) -> None:
        told = self.verdicts(self.judged({}, value=0.25))
        assert set(told) == {"answered alike", "favour"}
        assert told["favour"] == (
            "invalid on this model",
            "Its validity check fails: all 160 replies (vader) have the same score.",
        )

    def test_half_refused_changes_nothing(self) -> None:
        """Of all concepts alike: half of the root items."""
        usual, half = (
            self.judged({}),
            self.judged({"refusal": [n // 8 % 2 == 0 for n in range(160)]}),
        )
        assert self.verdicts(usual) == self.verdicts(half)
        assert "lime, favoured less than average" in self.verdicts(usual)["favour"][1]
