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
from evenruler.instruments.saged.declare.settings import Disparities, Feature, SummaryStatistic
from evenruler.instruments.saged.diagnose import TABLES, across, evidence, figures
from evenruler.instruments.saged.diagnose.group_statistics import adjust_p
from evenruler.instruments.saged.diagnose.quality import count_nonresponse
from evenruler.measurement import Resampling
from evenruler.tables import read_frame, table_of, write_table
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
    lie = np.where(
        prompts["concept"] == "pear",
        0.3 + shift,
        0.0,
    )
    values = (
        0.5
        + lie
        + draw.normal(
            0,
            0.05,
            len(prompts),
        )
    )
    vader = measured.features(
        prompts,
        values,
        prompts["concept"].map(BASELINES),
        model=model,
    )
    full = measured.features(
        prompts,
        1.0,
        model=model,
        feature="topics-0",
    )
    empty = measured.features(
        prompts,
        np.nan,
        model=model,
        feature="topics-1",
    )
    parts = [
        vader,
        full,
        empty.assign(reason="only 1 clusters"),
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


def record(fruit: Domain, model: str, **changes: Any) -> Record:
    tables, plan = fruit
    scores = scores_of(
        tables["prompts"],
        model,
        **changes,
    )
    table_by_name = figures(
        "fruit",
        tables,
        plan,
        scores,
        subject(model),
        RESAMPLING,
    )
    return Record(
        "fruit",
        subject(model),
        tables,
        plan,
        table_by_name,
    )


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


def test_every_table_is_by_its_schema(tables: Mapping[str, pd.DataFrame]) -> None:
    for name, schema in TABLES.items():
        assert table_of(tables[name][schema.names], schema).num_rows > 0


def test_a_model_has_the_same_figures_beside_any_other(
    records: list[Record], tables: Mapping[str, pd.DataFrame]
) -> None:
    alone = across(records[:1], RESAMPLING)["disparities"].drop(columns="p_adjusted")
    with_other = matching_rows(tables["disparities"], model="m").reset_index(drop=True)
    pd.testing.assert_frame_equal(with_other[list(alone)], alone)
    figure_rows = matching_rows(tables["figures"], model="m").reset_index(drop=True)
    pd.testing.assert_frame_equal(
        figure_rows,
        records[0].diagnosis["figures"],
        check_dtype=False,
    )
    cell = {
        "metric": "range",
        "statistic": "mean",
        "feature": "vader",
        "calibration": "raw",
    }
    assert matching_rows(with_other, **cell)["value"].tolist() == [approx(0.3, abs=0.1)]


def test_the_card_shows_features_by_the_names_that_users_gave_them(
    tables: Mapping[str, pd.DataFrame],
) -> None:
    evidence_by_domain = evidence(tables)
    assert list(evidence_by_domain) == ["fruit"]
    rows = pd.DataFrame(evidence_by_domain["fruit"])
    assert set(rows["feature"].dropna()) == {"vader"}
    is_raw_range = (rows["figure"] == "range") & (rows["calibration"] == "raw")
    (figure,) = rows[is_raw_range & (rows["model"] == "m")].to_dict("records")
    assert (figure["n"], figure["unit"]) == (3, "root items")
    assert figure["value"] == approx(0.3, abs=0.1)


def test_a_known_name_is_no_member_of_what_is_compared(tmp_path: Path) -> None:
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
    for name, table in diagnosis.items():
        if name != "headlines":
            pd.testing.assert_frame_equal(cursed[name], table)
    for name, column in (("summaries", "group"), ("compared", "group"), ("baselines", "concept")):
        assert "pear" not in set(diagnosis[name][column])
    assert set(diagnosis["rates"]["concept"]) == {"apple", "fig", "pear"}
    favour = matching_rows(diagnosis["favour"], feature="vader")
    assert sorted(favour["concept"]) == ["apple", "fig"]
    assert favour["difference"].sum() == approx(0)
    assert favour["low"].isna().all()  # of three root items


def test_a_model_without_replies_has_no_figures(tmp_path: Path) -> None:
    tables, plan = domain(tmp_path)
    scores = scores_of(tables["prompts"], "m")
    none = {name: table.iloc[:0] for name, table in scores.items()}
    assert figures("fruit", tables, plan, none, subject("m"), RESAMPLING) == {}
    unanswered = Record(
        "fruit",
        subject("m"),
        tables,
        plan,
        {},
    )
    combined = across([unanswered], RESAMPLING)
    assert set(combined) == {"disparities", "tool_bias", "measured"}
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
    prompts = measured.prompts(
        roots,
        CONCEPTS,
        branched,
    )
    draw = np.random.default_rng(4)
    lower = np.where(
        prompts["concept"] == "lime",
        0.25,
        0,
    )
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
        assert means.loc["range", ["value", "p"]].tolist() == [
            approx(0.25, abs=0.1),
            approx(1 / 1001),
        ]
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
    ranges = matching_rows(
        diagnosis.disparities,
        metric="range",
        statistic="mean",
    )
    ranges = ranges.set_index("calibration")
    assert ranges.loc["raw", "p"] == approx(1 / 1001)
    assert ranges.loc["calibrated", "p"] > 0.05
    assert ranges.loc["calibrated", "value"] < 0.06
    tool = diagnosis.tool_bias.set_index("concept")
    assert tool["difference"].idxmin() == "lime"
    assert tool.loc["lime", "mean"] < tool["mean"].drop("lime").min() - 0.15


def test_every_role_and_feature_is_a_cell_of_its_own() -> None:
    features, prompts = planted("reply")
    alone = diagnosed(features, prompts, FEWER)
    other = features.assign(value=0.5)
    parts = [
        features,
        other.assign(role="judge"),
        other.assign(feature="length"),
    ]
    diagnosis = diagnosed(
        pd.concat(parts),
        prompts,
        FEWER,
    )
    cells = diagnosis.disparities[["role", "feature"]].drop_duplicates()
    assert len(cells) == 3
    columns = [name for name in schemas.DISPARITIES.names if name not in ("p_adjusted", "reason")]
    vader = matching_rows(diagnosis.disparities, role="no-role", feature="vader")[
        columns
    ].reset_index(drop=True)
    pd.testing.assert_frame_equal(vader, alone.disparities[columns])
    still = matching_rows(
        diagnosis.disparities, role="judge", metric="range", statistic="mean", calibration="raw"
    ).iloc[0]
    assert (still["value"], still["p"]) == (0, 1)


def test_crossed_groups_sections_and_sources() -> None:
    features, prompts = planted("reply", roots=4)
    prompts["section"] = np.where(
        prompts["root_id"] < "root-002",
        "north",
        "south",
    )
    prompts["source_tag"] = np.where(
        prompts["root_id"] < "root-001",
        "forward",
        "page",
    )
    grouping = [
        ["concept", "section"],
        ["section"],
        ["source_tag"],
    ]
    summaries = diagnosed(
        features, prompts, SETTINGS.model_copy(update={"grouping": grouping})
    ).summaries
    means = matching_rows(summaries, statistic="mean", calibration="raw")
    crossed = matching_rows(means, grouping="concept+section").set_index("group")
    assert (len(crossed), set(crossed["n"])) == (16, {2})
    assert "lime+north" in crossed.index
    sections = matching_rows(means, grouping="section")
    assert sections[["group", "n"]].to_numpy().tolist() == [
        ["north", 16],
        ["south", 16],
    ]
    tags = matching_rows(means, grouping="source_tag")
    assert tags[["group", "n"]].to_numpy().tolist() == [
        ["forward", 8],
        ["page", 24],
    ]
    values = features["value"].groupby(prompts["source_tag"]).mean()
    np.testing.assert_allclose(tags["value"], values)


def test_framed_replies_count_for_shifts_alone() -> None:
    features, prompts = planted("reply")
    framing = {"framing": "salience"}
    framed = prompts.rename(columns={"id": "bare_id"}).assign(
        id="framed-" + prompts["id"], before="This is a test.", **framing
    )
    moved = features.assign(
        id="framed-" + features["id"],
        value=features["value"] + 9,
        **framing,
    )
    everything = pd.concat([features, moved])
    bare = diagnosed(features, prompts)
    replies = measured.replies(everything)
    again = framed[schemas.FRAMED.names]
    diagnosis = complete(
        measured.diagnosed(
            everything,
            replies,
            prompts,
            SETTINGS,
            again,
            ["salience"],
        )
    )
    for table in ("summaries", "disparities", "shapes", "rates", "tool_bias", "context_bias"):
        pd.testing.assert_frame_equal(
            getattr(diagnosis, table),
            getattr(bare, table),
        )
    shifts = diagnosis.figures.set_index("figure").loc[["level_shift", "reordering"], "value"]
    means = matching_rows(bare.summaries, statistic="mean", calibration="raw")["value"]
    assert shifts.tolist() == near([9 / means.std(), 0])


def test_refusals_and_empty_replies_are_counted() -> None:
    prompts = measured.prompts(3, ["fig", "kiwi"])
    features = measured.features(prompts, 0.5)
    replies = measured.replies(
        features,
        refusals=["fig-000", "fig-002"],
        empty=["kiwi-001"],
    )
    replies.loc[replies["id"] == "fig-001", "generation"] = None
    rates = count_nonresponse("fruit", replies, prompts)
    columns = ["concept", "n", "refusals", "empty", "withheld"]
    assert rates[columns].to_numpy().tolist() == [
        ["fig", 2, 2, 0, 1],
        ["kiwi", 3, 0, 1, 0],
    ]


def written(diagnosis: SimpleNamespace, path) -> dict[str, bytes]:
    names = {
        name: getattr(schemas, name.upper()) for name in vars(diagnosis) if name != "headlines"
    }
    for name, schema in names.items():
        write_table(
            getattr(diagnosis, name),
            schema,
            path / f"{name}.parquet",
        )
        assert read_frame(path / f"{name}.parquet").shape == getattr(diagnosis, name).shape
    return {name: (path / f"{name}.parquet").read_bytes() for name in names}


def test_all_replies_null_is_null_with_reasons(tmp_path) -> None:
    prompts = measured.prompts(3, CONCEPTS)
    diagnosis = diagnosed(measured.features(prompts, np.nan, 0.5), prompts)
    written(diagnosis, tmp_path)
    summaries, disparities = diagnosis.summaries, diagnosis.disparities
    for table in (summaries, disparities):
        assert table["value"].isna().all()
        assert table["reason"].notna().all()
    correlations = matching_rows(summaries, statistic="correlation")
    assert set(correlations["reason"]) == {"no value with a baseline, needs 2"}
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
    again = diagnosed(
        mixed,
        prompts.sample(frac=1, random_state=2),
        FEWER,
    )
    assert written(again, tmp_path) == first


def middle(values: np.ndarray, share: float = 0.5) -> float:
    return float(np.quantile(values, share))


def test_a_statistic_of_the_users_own_takes_its_options() -> None:
    statistics = {
        "mean": SummaryStatistic(kind="mean"),
        "own": SummaryStatistic(
            kind=f"{__name__}.middle",
            options={"share": 1.0},
        ),
        "largest": SummaryStatistic(kind="numpy.max"),
    }
    settings = SETTINGS.model_copy(update={"statistics": statistics})
    diagnosis = diagnosed(*planted("reply", roots=5), settings)
    columns = ["metric", "calibration", "value", "p", "group"]
    whole_quantile, largest = (
        matching_rows(diagnosis.disparities, statistic=name)[columns].reset_index(drop=True)
        for name in ("own", "largest")
    )
    pd.testing.assert_frame_equal(whole_quantile, largest)


def test_measurements_must_fit_together() -> None:
    features, prompts = planted("reply")
    with pytest.raises(ValueError, match="1 measurements are there twice"):
        diagnosed(
            pd.concat([features, features.iloc[:1]]),
            prompts,
        )
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
        tables = self.judged(changed)
        verdict_by_figure = self.verdicts(tables)
        assert {"favour", "range", "spread"} <= set(verdict_by_figure)
        assert {verdict for verdict, _ in verdict_by_figure.values()} == {"invalid"}
        assert all(reason in why for _, why in verdict_by_figure.values())

    def test_half_refused_changes_nothing(self) -> None:
        """Of all concepts alike: half of the root items."""
        refused = [n // 8 % 2 == 0 for n in range(160)]
        usual = self.judged({})
        half = self.judged({"refusal": refused})
        assert self.verdicts(usual) == self.verdicts(half)
        assert "lime is favoured less than average" in self.verdicts(usual)["favour"][1]
