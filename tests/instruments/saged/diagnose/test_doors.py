"""One domain on one model from what is published, what needs several models, and what a card shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from evenruler.instruments.instrument import Record
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose import TABLES, across, evidence, figures
from evenruler.measurement import Resampling
from evenruler.tables import table_of
from tests.instruments.saged.diagnose import measured
from tests.instruments.saged.domains import built, declared, subject

FEW = {"permutations": 49, "headline_permutations": 99, "resamples": 100}
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
    """Numbers of replies to the prompts; higher for pears. Of the two clusters, one has no replies."""
    draw = np.random.default_rng(len(model))
    lie = np.where(prompts["concept"] == "pear", 0.3 + shift, 0.0)
    values = 0.5 + lie + draw.normal(0, 0.05, len(prompts))
    parts = [
        measured.features(prompts, values, prompts["concept"].map(BASELINES), model=model),
        measured.features(prompts, 1.0, model=model, feature="topics-0"),
        measured.features(prompts, np.nan, model=model, feature="topics-1").assign(reason="only 1 clusters"),
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
    return {"features": features, "topics": pd.DataFrame([topic]), "baselines": baselines, "generations": generations}


def record(own: tuple[dict[str, pd.DataFrame], dict[str, Any]], model: str, **changes: Any) -> Record:
    tables, plan = own
    scores = scores_of(tables["prompts"], model, **changes)
    found = figures("fruit", tables, plan, scores, subject(model), RESAMPLING)
    return Record("fruit", subject(model), tables, plan, found)


def together(records: list[Record]) -> Mapping[str, pd.DataFrame]:
    """As the stage does it."""
    found = [*(one.found for one in records), across(records, RESAMPLING)]
    return {name: pd.concat([part[name] for part in found if name in part], ignore_index=True) for name in TABLES}


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    own = domain(tmp_path)
    return [record(own, "m"), record(own, "other", shift=0.4)]


def test_every_table_is_by_its_schema(records: list[Record]) -> None:
    tables = together(records)
    for name, schema in TABLES.items():
        assert table_of(tables[name][schema.names], schema).num_rows > 0


def test_a_model_has_the_same_figures_beside_any_other(records: list[Record]) -> None:
    alone, both = across(records[:1], RESAMPLING)["disparities"], across(records, RESAMPLING)["disparities"]
    own = both[both["model"] == "m"].reset_index(drop=True)
    columns = [name for name in schemas.DISPARITIES.names if name != "p_adjusted"]
    pd.testing.assert_frame_equal(own[columns], alone[columns])
    mean = own[(own["metric"] == "range") & (own["statistic"] == "mean") & (own["feature"] == "vader")]
    assert mean.set_index("calibration")["value"]["raw"] == pytest.approx(0.3, abs=0.1)


def test_tests_of_all_models_are_adjusted_together(records: list[Record]) -> None:
    found = across(records, RESAMPLING)["disparities"]
    own = found[(found["feature"] == "vader") & (found["statistic"] == "mean")].dropna(subset="p")
    assert set(own["model"]) == {"m", "other"}
    assert own["p_adjusted"].tolist() == pytest.approx(scipy.stats.false_discovery_control(own["p"]).tolist())


def test_the_bias_of_tools_is_there_once(records: list[Record]) -> None:
    found = across(records, RESAMPLING)["tool_bias"]
    assert not found.duplicated(["domain", "feature", "concept"]).any()
    means = found[found["feature"] == "vader"].set_index("concept")["mean"]
    assert means.to_dict() == pytest.approx(BASELINES)


def test_shifts_are_null_where_nothing_was_asked_after_prefixes(records: list[Record]) -> None:
    found = records[0].found["figures"]
    assert set(found.loc[found["figure"] == "level_shift", "reason"]) == {"nothing was asked after prefixes"}


def test_shifts_are_of_the_rows_after_prefixes_that_the_plan_asks(tmp_path: Path) -> None:
    from evenruler.instruments.saged.ask import asked_again

    tables, plan = domain(tmp_path, prefixed=2)
    after = asked_again(tables, plan)
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
    of_vader = found["figures"][found["figures"]["part"] == "no-role, plain, vader"].set_index("figure")
    assert of_vader.loc["level_shift", "value"] > 1
    assert of_vader.loc["level_shift", "n"] == 3
    bare = figures("fruit", tables, plan, scores, subject("m"), RESAMPLING)
    pd.testing.assert_frame_equal(found["summaries"], bare["summaries"])


def test_the_card_shows_features_by_the_names_that_users_gave_them(records: list[Record]) -> None:
    found = evidence(together(records))
    assert list(found) == ["fruit"]
    assert set(found["fruit"]) == {"all roles, vader", "no-role, plain", "no-role, plain, vader"}
    assert set(found["fruit"]["no-role, plain"]["other"]) >= {"refusal_rate", "empty_rate"}
    figure = found["fruit"]["no-role, plain, vader"]["m"]["range of mean"]
    assert (figure["n"], figure["unit"]) == (3, "root items")
    assert figure["value"] == pytest.approx(0.3, abs=0.1)
    confirmed = found["fruit"]["all roles, vader"]["m"]["difference in favour"]
    assert (confirmed["verdict"], confirmed["reason"]) == (
        "too little to tell",
        "3 root items with a number of every concept, needs 6",
    )
    assert found["fruit"]["all roles, vader"]["m"]["tool_bias"]["value"] == pytest.approx(0.2)


def test_a_control_is_described_and_in_no_difference_in_favour(tmp_path: Path) -> None:
    tables, plan = domain(tmp_path)
    found = figures(
        "fruit", tables, {**plan, "controls": ["pear"]}, scores_of(tables["prompts"], "m"), subject("m"), RESAMPLING
    )
    assert sorted(found["favour"]["concept"]) == ["apple", "fig"]
    assert found["favour"]["difference"].sum() == pytest.approx(0)
    assert set(found["summaries"]["group"]) == {"apple", "fig", "pear"}


def test_a_model_without_replies_has_no_figures(tmp_path: Path) -> None:
    tables, plan = domain(tmp_path)
    none = {name: table.iloc[:0] for name, table in scores_of(tables["prompts"], "m").items()}
    found = figures("fruit", tables, plan, none, subject("m"), RESAMPLING)
    assert found == {}
    one = Record("fruit", subject("m"), tables, plan, found)
    assert {name: len(table) for name, table in across([one], RESAMPLING).items()} == {
        "between": 0,
        "disparities": 0,
        "tool_bias": 0,
        "measured": 0,
    }
