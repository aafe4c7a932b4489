"""What evolved beside what costs no evolution: on the toy domain, each figure computed again from its tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.instrument import Record
from evenruler.instruments.probes.declare import halves
from evenruler.instruments.probes.diagnose.baselines import baselines
from evenruler.instruments.probes.diagnose.evolved import with_comparisons
from evenruler.instruments.probes.diagnose.figuring import alpha_at_common_length
from evenruler.instruments.probes.evolve import validation
from evenruler.instruments.probes.schemas import BEST_START, COMPARISONS, HELD_OUT, UNREVERSED
from evenruler.measurement import Resampling
from evenruler.measurement.resampling import jackknife
from evenruler.tables import table_of
from tests.instruments.probes.whole import EVOLVED, TRADES, Whole, records, subject, whole

RESAMPLING = Resampling(level=0.9, resamples=100, seed=3)
NAMES = [f"a{i:02}" for i in range(12)]
CHOSEN_BY = {
    "chosen_by_first": "ab",
    "chosen_by_second": "ac",
    "best_start_by_first": "cd",
    "best_start_by_second": "d",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "same_role", lambda *_: True)
        return whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def asked(made: Whole) -> list[Record]:
    return records({name: made.frames(name) for name in (TRADES, EVOLVED)}, subject(), subject("other"))


def of(asked: list[Record], name: str, model: str = "toy") -> Record:
    return next(one for one in asked if (one.instrument, one.subject.name) == (name, model))


def found_in(asked: list[Record]) -> pd.DataFrame:
    return baselines(of(asked, EVOLVED), of(asked, TRADES), asked, RESAMPLING)


def matrix(record: Record, set_name: str) -> pd.DataFrame:
    biases = record.found["biases"]
    return biases[biases["set"] == set_name].pivot(index="attribute", columns="template", values="bias")


def cell(rows: pd.DataFrame, **where: Any) -> pd.Series:
    for name, value in where.items():
        rows = rows[rows[name].isna() if value is None else rows[name] == value]
    assert len(rows) == 1
    return rows.iloc[0]


class TestPairs:
    def test_which_sets_are_held_against_which(self, asked: list[Record]) -> None:
        rows = found_in(asked)
        assert table_of(rows, COMPARISONS).num_rows == len(rows)
        whole_sets = rows[rows["half"].isna()]
        expected = {(name, less) for name in ("evolved", "elites", "population") for less in (UNREVERSED, BEST_START)}
        expected |= {("evolved", against) for against in ("seed", "other", "elites")}
        assert set(zip(whole_sets["set"], whole_sets["against"], strict=True)) == expected
        assert dict(zip(rows["model"], rows["transfer"], strict=True)) == {"toy": False, "other": True}
        assert set(rows["benchmark"]) == {EVOLVED}

    @pytest.mark.parametrize("model", ["toy", "other"])
    def test_the_best_subset_of_the_start_is_the_one_that_was_chosen(self, asked: list[Record], model: str) -> None:
        choices = of(asked, EVOLVED).tables["choices"]
        best = sorted(choices.loc[choices["best_start"], "template"])
        seed, own = matrix(of(asked, TRADES, model), "seed"), matrix(of(asked, EVOLVED, model), "evolved")
        row = cell(found_in(asked), set="evolved", against=BEST_START, model=model, half=None, figure="alpha_at_8")
        values = [alpha_at_common_length(x.to_numpy()) for x in (own, seed[best])]
        assert [row["value"], row["other"]] == pytest.approx(values, abs=1e-12, nan_ok=True)

    def test_without_what_is_reversed_on_that_model(self, asked: list[Record]) -> None:
        start = of(asked, TRADES)
        items = start.found["items"].assign(high=0.5)
        items.loc[(items["set"] == "seed") & (items["template"] == "met"), "high"] = -0.1
        items.loc[(items["set"] == "other") & (items["template"] == "plain"), "high"] = -0.1
        changed = Record(TRADES, start.subject, start.tables, start.plan, {**start.found, "items": items})
        rows = found_in([changed if one is start else one for one in asked])
        row = cell(rows, set="elites", against=UNREVERSED, model="toy", figure="r")
        left = matrix(start, "seed").drop(columns="met").mean(axis=1)
        criterion = start.tables["attributes"].set_index("attribute")["criterion"][left.index]
        assert row["other"] == pytest.approx(np.corrcoef(left, criterion)[0, 1], abs=1e-12)

    def test_diversities_of_the_chosen_set_stand_once(self, asked: list[Record]) -> None:
        rows = found_in(asked)
        rows = rows[rows["figure"] == "semantic_diversity"]
        assert sorted(rows["against"]) == sorted(["other", "seed", "elites", BEST_START])
        assert set(zip(rows["model"], rows["set"], strict=True)) == {("toy", "evolved")}
        own = of(asked, EVOLVED).found["diversity"]
        expected = own[own["run"] == BEST_START]["semantic_diversity"].mean()
        assert cell(rows, against=BEST_START)["other"] == pytest.approx(expected, abs=1e-12)


def planted(**changes: Any) -> list[Record]:
    """Records of one model, of which only the tables that halves are judged by are told."""
    draw = np.random.default_rng(4)
    x = pd.DataFrame(draw.normal(size=(12, 4)) + draw.normal(size=(12, 1)) * 1.5, index=NAMES, columns=list("abcd"))
    biases = x.rename_axis("attribute").reset_index().melt("attribute", var_name="template", value_name="bias")
    choices = pd.DataFrame({"template": list("abcd"), "chosen": True, "best_start": False}).assign(
        **{name: [slug in slugs for slug in "abcd"] for name, slugs in {**CHOSEN_BY, **changes}.items()}
    )
    history = pd.DataFrame({"run": "guided", "generation": 0, "template": ["c", "d"]})
    attributes = pd.DataFrame({"attribute": NAMES, "criterion": draw.normal(size=12)})
    tables = {
        "biases": biases.assign(run="guided"),
        "choices": choices,
        "history": history,
        "attributes": attributes,
    }
    diversity = pd.DataFrame(columns=["set", "run", "template", "semantic_diversity", "lexical_diversity"])
    plan = {"evolved": {"of": "trades", "model": "m", "start": "seed"}}
    return [Record(name, subject("m"), tables, plan, {"diversity": diversity}) for name in ("mine", "trades")]


def halves_of(asked: list[Record]) -> tuple[pd.DataFrame, pd.DataFrame, Mapping[str, pd.DataFrame]]:
    rows = baselines(*asked, asked, RESAMPLING)
    biases = asked[0].tables["biases"].pivot(index="attribute", columns="template", values="bias")
    return rows, biases, asked[0].tables


class TestHeldOut:
    def test_one_half_judges_what_the_other_chose(self) -> None:
        rows, x, _ = halves_of(planted(best_start_by_second="cd"))
        first, second = halves(NAMES)
        row = cell(rows, against=BEST_START, figure="alpha_at_8")
        assert (row["set"], row["model"], row["transfer"], row["half"]) == ("evolved", "m", False, HELD_OUT)

        def both(y: pd.DataFrame, ways: tuple[str, str]) -> float:
            judged = (y.loc[y.index.isin(second), list(ways[0])], y.loc[y.index.isin(first), list(ways[1])])
            return float(np.mean([alpha_at_common_length(own.to_numpy()) for own in judged]))

        values = both(x, ("ab", "ac")), both(x, ("cd", "cd"))
        assert (row["value"], row["other"]) == pytest.approx(values, abs=1e-12)
        places = np.arange(12)
        interval = jackknife(
            lambda kept: both(x.iloc[kept], ("ab", "ac")) - both(x.iloc[kept], ("cd", "cd")), places, level=0.9
        )
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert row["n"] == 12

    def test_r_rests_on_attributes_with_a_published_number_which_stay_in_their_half(self) -> None:
        asked = planted(chosen_by_first="abd")
        asked[0].tables["attributes"].loc[[0, 1, 5], "criterion"] = np.nan
        rows, x, tables = halves_of(asked)
        known = tables["attributes"].set_index("attribute")["criterion"].dropna()
        judged = [(list("abd"), halves(NAMES)[1]), (list("ac"), halves(NAMES)[0])]
        r = [
            np.corrcoef(x.loc[here, slugs].mean(axis=1), known[here])[0, 1]
            for slugs, half in judged
            for here in [[slug for slug in half if slug in known.index]]
        ]
        row = cell(rows, against="seed", figure="r")
        assert row["value"] == pytest.approx(np.mean(r), abs=1e-12)
        assert row["n"] == 9

    def test_where_a_half_chooses_nothing_there_is_a_reason(self) -> None:
        rows, _, _ = halves_of(planted(best_start_by_second=""))
        row = cell(rows, against=BEST_START, figure="alpha_at_8")
        assert row["reason"] == "a half of the attributes is too few, or may choose no template"
        assert row[["value", "other", "difference", "low", "high"]].isna().all()
        assert not pd.isna(cell(rows, against="seed", figure="alpha_at_8")["difference"])

    def test_a_set_of_one_has_no_alpha(self) -> None:
        rows, _, _ = halves_of(planted())
        row = cell(rows, against=BEST_START, figure="alpha_at_8")
        assert row["reason"] == "undefined for these values"
        assert not pd.isna(row["value"])
        assert pd.isna(row["other"])


def test_the_random_run_is_a_baseline_where_it_ran() -> None:
    asked = planted()
    tables = dict(asked[0].tables)
    other = tables["biases"].assign(run="random", bias=lambda rows: rows["bias"] * -1)
    last = pd.DataFrame({"run": "random", "generation": [0, 1, 1], "template": ["a", "c", "d"]})
    tables |= {"biases": pd.concat([tables["biases"], other]), "history": pd.concat([tables["history"], last])}
    record = Record("mine", asked[0].subject, tables, asked[0].plan, asked[0].found)
    row = cell(baselines(record, asked[1], [], RESAMPLING), against="random", figure="alpha_at_8")
    biases = other.pivot(index="attribute", columns="template", values="bias")
    assert row["other"] == pytest.approx(alpha_at_common_length(biases[["c", "d"]].to_numpy()), abs=1e-12)
    assert row["value"] == pytest.approx(alpha_at_common_length((-biases).to_numpy()), abs=1e-12)


def test_evidence_is_by_sets_model_and_figure() -> None:
    rows, _, _ = halves_of(planted(best_start_by_second="cd"))
    row = cell(rows, against="seed", figure="alpha_at_8")
    found = with_comparisons({}, rows)
    assert found["mine"]["evolved"]["m"]["compared"]["seed (held out)"]["alpha_at_8"] == {
        **{name: row[name] for name in ("value", "other", "difference", "low", "high")},
        "n": 12,
        "unit": "attributes",
        "transfer": False,
    }
    assert with_comparisons({}, rows.head(0)) == {}
    lacking, _, _ = halves_of(planted(best_start_by_second=""))
    assert with_comparisons({}, lacking)["mine"]["evolved"]["m"]["compared"][f"{BEST_START} (held out)"][
        "alpha_at_8"
    ] == {
        "n": 12,
        "unit": "attributes",
        "transfer": False,
        "reason": "a half of the attributes is too few, or may choose no template",
    }
