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

from evenruler.instruments.instrument import Record, Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities, Feature
from evenruler.instruments.saged.diagnose import TABLES, across, evidence, figures
from evenruler.instruments.saged.diagnose.group_statistics import adjust_p
from evenruler.measurement import Resampling
from evenruler.tables import table_of, write_table
from tests.instruments.near import approx, near
from tests.instruments.saged.diagnose import measured
from tests.instruments.saged.domains import built, declared, subject

RESAMPLING = Resampling(0.95, 100, 3)
BASELINES = {
    "apple": 0.1,
    "pear": 0.2,
    "fig": 0.3,
}
FEATURES = {
    "vader": {"kind": "lexicon"},
    "topics": {
        "kind": "clusters",
        "form": "label",
        "k": 2,
        "seed": 0,
        "model": "e",
    },
}


Domain = tuple[dict[str, pd.DataFrame], dict[str, Any]]
"""Tables and plan."""


def domain(tmp_path: Path, **changes: Any) -> Domain:
    tables, plan = built(declared(tmp_path, features=FEATURES, **changes))
    return {"prompts": tables["prompts"]}, json.loads(json.dumps(plan, sort_keys=True))


def scores_of(prompts: pd.DataFrame, model: str, shift: float = 0.0) -> dict[str, pd.DataFrame]:
    """Numbers of replies to the prompts; higher for pears. Of the two clusters, one has no
    replies."""
    draw = np.random.default_rng(len(model))
    concept = prompts["concept"]
    values = (
        0.5
        + (0.3 + shift) * (concept == "pear")
        + draw.normal(
            0,
            0.05,
            len(prompts),
        )
    )
    vader = measured.features(prompts, values, concept.map(BASELINES), model=model)
    full, empty = (
        measured.features(prompts, value, model=model, feature=feature)
        for feature, value in (("topics-0", 1.0), ("topics-1", np.nan))
    )
    parts = [vader, full, empty.assign(reason="only 1 clusters")]
    features = pd.concat(parts, ignore_index=True)
    topic = {"domain": "fruit", "model": model, "feature": "topics-0", "part": "all"}
    return {
        "features": features,
        "topics": pd.DataFrame([{**topic, "cluster": 0, "words": ["a"], "n": 9}]),
        "baselines": measured.baselines(features),
        "generations": measured.replies(features).assign(reason=None),
    }


def record(fruit: Domain, model: str, **changes: Any) -> Record:
    tables, plan = fruit
    scores = scores_of(tables["prompts"], model, **changes)
    of_model = figures("fruit", tables, plan, scores, subject(model), RESAMPLING)
    return Record("fruit", subject(model), tables, plan, of_model)


def together(records: list[Record]) -> Mapping[str, pd.DataFrame]:
    """As the stage does it."""
    parts = [
        *(record.diagnosis for record in records),
        across(records, RESAMPLING),
    ]
    table_by_name = {}
    for name in TABLES:
        tables = [part[name] for part in parts if name in part]
        table_by_name[name] = pd.concat(tables, ignore_index=True)
    return table_by_name


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    fruit = domain(tmp_path_factory.mktemp("domain"))
    return [
        record(fruit, "m"),
        record(fruit, "other", shift=0.4),
    ]


@pytest.fixture(scope="module")
def tables(records: list[Record]) -> Mapping[str, pd.DataFrame]:
    """Of both."""
    return together(records)


def test_every_table_is_by_its_schema(tables) -> None:
    for name, schema in TABLES.items():
        assert table_of(tables[name][schema.names], schema).num_rows > 0


def test_a_model_has_the_same_figures_beside_any_other(records, tables) -> None:
    alone = across(records[:1], RESAMPLING)["disparities"].drop(columns="p_adjusted")
    with_other = matching_rows(tables["disparities"], model="m").reset_index(drop=True)
    pd.testing.assert_frame_equal(with_other[list(alone)], alone)
    cell = {"metric": "range", "statistic": "mean", "feature": "vader", "calibration": "raw"}
    assert matching_rows(with_other, **cell)["value"].tolist() == [approx(0.3, abs=0.1)]


def test_the_card_shows_features_by_the_names_that_users_gave_them(
    tables,
) -> None:
    rows = pd.DataFrame(evidence(tables)["fruit"])
    assert set(rows["feature"].dropna()) == {"vader"}
    raw_range = matching_rows(rows, figure="range", calibration="raw", model="m")
    assert raw_range[["value", "n", "unit"]].values.tolist() == [
        [approx(0.3, abs=0.1), 3, "root items"]
    ]


def test_a_known_name_is_no_member_of_what_is_compared(tmp_path) -> None:
    """What is said of it changes nothing but the comparison."""
    tables, plan = domain(tmp_path)
    plan |= {"concepts": ["apple", "fig"], "reference": ["pear"]}
    scores = scores_of(tables["prompts"], "m")
    arguments = ("fruit", tables, plan, scores, subject("m"), RESAMPLING)
    diagnosis = figures(*arguments)
    features = scores["features"]
    pears = tables["prompts"].query("concept == 'pear'")["id"]
    features.loc[features["id"].isin(pears), ["value", "baseline"]] += 7
    cursed = figures(*arguments)
    for name in set(diagnosis) - {"headlines"}:
        pd.testing.assert_frame_equal(cursed[name], diagnosis[name])
    assert "pear" not in set(diagnosis["summaries"]["group"])
    assert set(diagnosis["rates"]["concept"]) == {"apple", "fig", "pear"}
    favour = matching_rows(diagnosis["favour"], feature="vader")
    assert favour["difference"].sum() == approx(0)
    assert favour["low"].isna().all()  # of three root items


def test_a_model_without_replies_has_no_figures(tmp_path) -> None:
    tables, plan = domain(tmp_path)
    scores = scores_of(tables["prompts"], "m")
    none = {name: table.iloc[:0] for name, table in scores.items()}
    assert figures("fruit", tables, plan, none, subject("m"), RESAMPLING) == {}
    combined = across([Record("fruit", subject("m"), tables, plan, {})], RESAMPLING)
    assert not any(map(len, combined.values()))


CONCEPTS = ["fig", "kiwi", "lime", "melon", "nashi", "olive", "pear", "quince"]
NOT_TABLES = ("compared", "baselines")
SETTINGS = Disparities()
TWO = {name: SETTINGS.statistics[name] for name in ("mean", "selection-rate")}
FEWER = SETTINGS.model_copy(update={"statistics": TWO})
"""With two statistics, which take less time than seven."""


def diagnosed(
    features: pd.DataFrame, prompts: pd.DataFrame, settings: Disparities = SETTINGS
) -> SimpleNamespace:
    return complete(measured.diagnosed(features, measured.replies(features), prompts, settings))


def complete(tables: Tables) -> SimpleNamespace:
    """The tables of a diagnosis, those that need several models as `across` makes them."""
    table_by_name = {name: table for name, table in tables.items() if name not in NOT_TABLES}
    return SimpleNamespace(
        **table_by_name, disparities=adjust_p(tables["compared"]), tool_bias=tables["baselines"]
    )


def planted(
    where: str, branched: bool = True, roots: int = 20
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values and baselines about .6, of which one, or both, is .25 lower for limes."""
    prompts = measured.prompts(roots, CONCEPTS, branched)
    draw = np.random.default_rng(4)
    lower = 0.25 * (prompts["concept"] == "lime")
    n = len(prompts)
    baselines = 0.6 + draw.normal(0, 0.1, n) - lower * (where == "baseline")
    values = baselines + draw.normal(0, 0.05, n) - lower * (where == "reply")
    return measured.features(prompts, values, baselines), prompts


def matching_rows(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    for name, value in where.items():
        table = table[table[name] == value]
    return table


@pytest.mark.parametrize("branched", [True, False])
def test_a_planted_bias_is_found_where_it_was_planted(branched) -> None:
    diagnosis = diagnosed(*planted("reply", branched), FEWER)
    for calibration in ("raw", "calibrated"):
        shapes = matching_rows(diagnosis.shapes, calibration=calibration)
        shape = shapes[["shape", "group", "end"]].to_numpy().tolist()
        assert shape == [["concentrated", "lime", "low"]]
        disparities = matching_rows(diagnosis.disparities, calibration=calibration)
        means = matching_rows(disparities, statistic="mean").set_index("metric")
        expected = [approx(0.25, abs=0.1), approx(1 / 1001)]
        assert means.loc["range", ["value", "p"]].tolist() == expected
        assert means.loc["range", "p_adjusted"] < 0.05
        assert means.loc["dixon_low", ["group", "flag"]].tolist() == ["lime", True]
        assert means.loc["dixon_low", "excess"] > 0 > means.loc["dixon_high", "excess"]
        ratios = matching_rows(disparities, metric="min_impact_ratio")
        assert ratios[["group", "flag"]].to_numpy().tolist() == [["lime", True]]


def test_calibration_takes_a_bias_of_baselines_out() -> None:
    diagnosis = diagnosed(*planted("baseline"), FEWER)
    shapes = diagnosis.shapes.set_index("calibration")
    assert shapes.loc["raw", ["shape", "group"]].tolist() == ["concentrated", "lime"]
    assert shapes.loc["calibrated", "shape"] != "concentrated"
    ranges = matching_rows(diagnosis.disparities, metric="range", statistic="mean")
    ranges = ranges.set_index("calibration")
    assert ranges.loc["raw", "p"] == approx(1 / 1001)
    assert ranges.loc["calibrated", "p"] > 0.05
    assert ranges.loc["calibrated", "value"] < 0.06
    tool = diagnosis.tool_bias.set_index("concept")
    assert tool["difference"].idxmin() == "lime"


def test_crossed_groups_sections_and_sources() -> None:
    features, prompts = planted("reply", roots=4)
    prompts["section"] = np.where(prompts["root_id"] < "root-002", "north", "south")
    prompts["source_tag"] = np.where(prompts["root_id"] < "root-001", "forward", "page")
    grouping = [["concept", "section"], ["section"], ["source_tag"]]
    settings = SETTINGS.model_copy(update={"grouping": grouping})
    summaries = diagnosed(features, prompts, settings).summaries
    means = matching_rows(summaries, statistic="mean", calibration="raw")
    crossed = matching_rows(means, grouping="concept+section").set_index("group")
    assert (len(crossed), set(crossed["n"])) == (16, {2})
    assert "lime+north" in crossed.index
    tags = matching_rows(means, grouping="source_tag")
    assert tags[["group", "n"]].to_numpy().tolist() == [
        ["forward", 8],
        ["page", 24],
    ]
    values = features["value"].groupby(prompts["source_tag"]).mean()
    np.testing.assert_allclose(tags["value"], values)


def test_framed_replies_count_for_shifts_alone() -> None:
    features, prompts = planted("reply")
    framed = prompts.rename(columns={"id": "bare_id"}).assign(
        id="framed-" + prompts["id"], before="This is a test.", framing="salience"
    )
    moved = features.assign(
        id="framed-" + features["id"], value=features["value"] + 9, framing="salience"
    )
    both = pd.concat([features, moved])
    again = framed[schemas.FRAMED.names]
    bare = diagnosed(features, prompts)
    diagnosis = complete(
        measured.diagnosed(both, measured.replies(both), prompts, SETTINGS, again, ["salience"])
    )
    for table in ("summaries", "disparities", "shapes", "rates", "tool_bias", "context_bias"):
        pd.testing.assert_frame_equal(getattr(diagnosis, table), getattr(bare, table))
    shifts = diagnosis.figures.set_index("figure").loc[["level_shift", "reordering"], "value"]
    means = matching_rows(bare.summaries, statistic="mean", calibration="raw")["value"]
    assert shifts.tolist() == near([9 / means.std(), 0])


def written(diagnosis: SimpleNamespace, path) -> dict[str, bytes]:
    files = {}
    for name in set(vars(diagnosis)) - {"headlines"}:
        file = path / f"{name}.parquet"
        write_table(getattr(diagnosis, name), getattr(schemas, name.upper()), file)
        files[name] = file.read_bytes()
    return files


def test_all_replies_null_is_null_with_reasons(tmp_path) -> None:
    prompts = measured.prompts(3, CONCEPTS)
    diagnosis = diagnosed(measured.features(prompts, np.nan, 0.5), prompts)
    written(diagnosis, tmp_path)
    summaries, disparities = diagnosis.summaries, diagnosis.disparities
    for table in (summaries, disparities):
        assert table["value"].isna().all()
        assert table["reason"].notna().all()
    assert {"no value", "no value, needs 2"} < set(summaries["reason"])
    assert (summaries["n_missing"] == 3).all()
    assert diagnosis.shapes["reason"].tolist() == ["no groups with a value, needs 3"] * 2


def test_of_nothing_there_is_nothing_to_adjust() -> None:
    assert adjust_p(pd.DataFrame()).columns.tolist() == schemas.DISPARITIES.names


def test_the_same_bytes_in_whatever_order_rows_stand(tmp_path) -> None:
    features, prompts = planted("reply", roots=5)
    features.loc[::5, "value"] = np.nan
    features = pd.concat([features, features.assign(model="m1", value=features["baseline"])])
    first = written(diagnosed(features, prompts, FEWER), tmp_path)
    mixed = features.sample(frac=1, random_state=2)
    texts = ["id", "framing", "model", "lineage", "role", "template", "domain", "feature"]
    mixed[texts] = mixed[texts].astype("category")
    again = diagnosed(mixed, prompts.sample(frac=1, random_state=2), FEWER)
    assert written(again, tmp_path) == first


def test_measurements_must_fit_together() -> None:
    features, prompts = planted("reply")
    with pytest.raises(ValueError, match="1 measurements are there twice"):
        diagnosed(pd.concat([features, features.iloc[:1]]), prompts)
    with pytest.raises(ValueError, match="20 prompts that were measured are not there"):
        diagnosed(features, prompts[prompts["concept"] != "fig"])


class TestNoMeasurement:
    """Replies that say nothing make figures of 0, which are no finding."""

    def judged(self, changed: dict[str, object]) -> Tables:
        features, prompts = planted("reply")
        replies = measured.replies(features).assign(**changed)
        return measured.diagnosed(
            features, replies, prompts, FEWER, declared={"vader": Feature(kind="lexicon")}
        )

    @staticmethod
    def verdicts(tables: Tables) -> dict[str, tuple[str, str]]:
        figure_rows = tables["figures"].dropna(subset="verdict")
        return {
            row["figure"]: (row["verdict"], row["why"]) for row in figure_rows.to_dict("records")
        }

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
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
    def test_a_model_that_says_nothing(self, changed, reason) -> None:
        verdict_by_figure = self.verdicts(self.judged(changed))
        assert {"favour", "range", "spread"} <= set(verdict_by_figure)
        assert {verdict for verdict, _ in verdict_by_figure.values()} == {"invalid"}
        assert all(reason in why for _, why in verdict_by_figure.values())
