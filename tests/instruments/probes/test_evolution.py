"""What an evolution achieved, beside other sets and beside what costs no evolution."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenruler.instruments.instrument import Record
from evenruler.instruments.probes.ask import template_diversities
from evenruler.instruments.probes.declare.settings import split_attributes
from evenruler.instruments.probes.declare.source import without_slots
from evenruler.instruments.probes.diagnose import TABLES, evidence
from evenruler.instruments.probes.diagnose.evolution import (
    by_generation,
    compare_runs,
    compare_sets,
    compare_with_baselines,
    count_rewording_outcomes,
    diversities_compared,
    matrix_of,
)
from evenruler.instruments.probes.diagnose.quality import alpha_at_common_length
from evenruler.instruments.probes.evolve import validation
from evenruler.instruments.probes.schemas import (
    BEST_START,
    COMPARISONS,
    HELD_OUT,
    REWORDINGS,
    UNREVERSED,
)
from evenruler.measurement import Figure, Resampling
from evenruler.measurement.figures import as_rows
from evenruler.measurement.resampling import jackknife
from evenruler.tables import table_of
from tests.instruments.near import approx, near
from tests.instruments.probes.known import FigureKey, rows_by_key
from tests.instruments.probes.whole import EVOLVED as GROWN
from tests.instruments.probes.whole import TRADES, Whole, records, subject, whole
from tests.later import Later
from tests.text_tables import read_columns

pingouin = Later("pingouin")

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)


# Bias in nats, all of them sums of powers of two, so that sums are exact.
FIRST = read_columns("""
    name      a      b      c
    clerk   -0.75  -1.25   0.25
    cook     0.5    0.5    0.5
    dancer  -1.75  -3.0   -1.25
    driver  -1.0    3.25   2.75
    judge   -0.25   1.25   0.0
    nurse   -1.25  -0.75  -1.75
    poet    -0.25  -0.25   0.0
    smith    2.0    1.0    1.5
""").set_index("name")
NAMES = list(FIRST.index)
OF_D = [0.5, 0.25, -2.0, 1.5, -0.75, -1.0, 0.25, 0.5]
LATER = FIRST[["a", "b"]].assign(d=OF_D)

# Words without slots: {the is a}, {it is odd when a}, {they say that each here is a}, {it is a}.
# Jaccard: a-b {is a} of 6, a-c {is a} of 8, b-c {is a} of 10; a-d {is a} of 4, b-d {it is a} of 5.
TEXTS = {
    "a": "The {ATTRIBUTE} is a {TARGET}.",
    "b": "It is odd when a {ATTRIBUTE} is a {TARGET}.",
    "c": "They say that each {ATTRIBUTE} here is a {TARGET}.",
    "d": "{ATTRIBUTE}: it is a {TARGET}.",
}
LEXICAL = {
    "abc": 1 - (2 / 6 + 2 / 8 + 2 / 10) / 3,
    "abd": 1 - (2 / 6 + 2 / 4 + 3 / 5) / 3,
}

# The first three at right angles, the last at an angle of 60 degrees (cosine 1/2) to the first.
VECTORS = {
    "a": [1, 0, 0],
    "b": [0, 1, 0],
    "c": [0, 0, 1],
    "d": [0.5, 0, math.sqrt(0.75)],
}
EMBEDDINGS = {
    without_slots(TEXTS[slug]): np.array(vector, dtype=np.float32)
    for slug, vector in VECTORS.items()
}
SEMANTIC = {
    "abc": 1.0,
    "abd": 1 - 0.5 / 3,
}


def long(matrix: pd.DataFrame, **columns: str) -> pd.DataFrame:
    rows = (
        matrix.rename_axis("attribute")
        .reset_index()
        .melt("attribute", var_name="template", value_name="bias")
    )
    return rows.assign(**columns)


def alpha(matrix: pd.DataFrame) -> float:
    return float(pingouin.cronbach_alpha(matrix)[0])


def mean_correlation(matrix: pd.DataFrame) -> float:
    correlations = np.corrcoef(matrix.to_numpy(), rowvar=False)
    pairs = np.triu_indices(matrix.shape[1], 1)
    return float(correlations[pairs].mean())


def at_eight(matrix: pd.DataFrame) -> float:
    mean = mean_correlation(matrix)
    return 8 * mean / (1 + 7 * mean)


def population(run: str, generation: int, slugs: str) -> pd.DataFrame:
    """As `HISTORY` has it, in no order of slugs."""
    rows = pd.DataFrame({"template": list(reversed(slugs))})
    return rows.assign(
        run=run,
        generation=generation,
        text=rows["template"].map(TEXTS),
    )


HISTORY = pd.concat(
    [population("guided", 0, "abc"), population("guided", 1, "abd")], ignore_index=True
)
BIASES = long(
    pd.concat([FIRST, LATER[["d"]]], axis=1),
    run="guided",
)


def diversity_of(history: pd.DataFrame) -> pd.DataFrame:
    """Of every template of a history within its generation."""
    none = pd.DataFrame({"set": [], "template": [], "control": pd.Series(dtype=bool)})
    return template_diversities({"templates": none, "history": history}, EMBEDDINGS)


def evolved(tables: Mapping[str, pd.DataFrame]) -> Record:
    """What evolved on the model m."""
    diversities = {"diversity": diversity_of(tables["history"])}
    plan = {"evolved": {"model": "m"}}
    return Record(
        "trades-evolved",
        subject("m"),
        tables,
        plan,
        diversities,
    )


def generations(history=HISTORY, biases=BIASES) -> pd.DataFrame:
    tables = {"history": history, "biases": biases}
    return by_generation(evolved(tables), RESAMPLING)


def figures_of(rows: pd.DataFrame, run: str, generation: int) -> dict[FigureKey, pd.Series]:
    generation_rows = rows[(rows["run"] == run) & (rows["generation"] == generation)]
    return rows_by_key(generation_rows)


class TestByGeneration:
    def test_reliability_and_diversity_of_each_population_of_each_run(self) -> None:
        """Runs are kept apart where their templates have the same names."""
        turned = FIRST.assign(d=-FIRST["a"])
        random_run = [population("random", 0, "abc"), population("random", 1, "abd")]
        biases = pd.concat([BIASES, long(turned, run="random")])
        rows = generations(pd.concat([HISTORY, *random_run]), biases)

        assert len(rows) == 4 * 6
        of_random, figures = (figures_of(rows, run, 1) for run in ("random", "guided"))
        last = turned[["a", "b", "d"]]
        assert of_random["alpha"]["value"] == near(alpha(last))
        assert figures["alpha"]["value"] == near(alpha(LATER))
        assert figures["alpha", "8"]["value"] == near(at_eight(LATER))
        assert figures["alpha"][["n", "unit"]].tolist() == [8, "attributes"]
        assert figures["semantic_diversity"]["value"] == approx(SEMANTIC["abd"], abs=1e-6)
        lexical = figures["lexical_diversity"]
        assert lexical["value"] == near(LEXICAL["abd"])
        assert lexical[["n", "unit"]].tolist() == [3, "templates"]
        assert lexical[["low", "high", "reason"]].isna().all()

    def test_a_template_that_lacks_a_bias_is_an_error(self) -> None:
        lost = (BIASES["template"] == "d") & (BIASES["attribute"] == "cook")
        with pytest.raises(
            ValueError, match=r"^run guided, generation 1: a template lacks a bias$"
        ):
            generations(biases=BIASES[~lost])


def templates_of(matrix: pd.DataFrame) -> pd.DataFrame:
    """Diversities of its templates."""
    templates = pd.DataFrame({"set": "one", "template": list(matrix), "control": False})
    return template_diversities(
        {"templates": templates.assign(text=[TEXTS[slug] for slug in matrix])}, EMBEDDINGS
    )


SIDES = ("population", "seed")


def compare(
    evolved: pd.DataFrame = LATER, seed: pd.DataFrame = FIRST, criterion=None
) -> dict[str, pd.Series]:
    """The last population against the seed set, by figure."""
    rows = list(compare_sets(SIDES, (evolved.dropna(), seed), criterion, RESAMPLING))
    rows += diversities_compared(
        SIDES,
        templates_of(evolved),
        templates_of(seed),
    )
    return {row["figure"]: pd.Series({"low": None, "high": None, **row}) for row in rows}


CRITERION = pd.Series([27, 60, 20.5, 80.5, 42, 12, math.nan, 97], index=NAMES)


class TestComparisons:
    def test_both_sets_and_their_difference(self) -> None:
        row = compare()["alpha"]
        assert row["value"] == near(at_eight(LATER))
        assert row["other"] == near(at_eight(FIRST))
        assert row["difference"] == row["value"] - row["other"] != 0
        assert row[["n", "unit", "reason", "templates"]].tolist() == [8, "attributes", None, "8"]
        assert "templates" not in compare()["lexical_diversity"]

    def test_an_interval_leaves_the_same_attribute_out_of_both(self) -> None:
        def difference(later: np.ndarray, first: np.ndarray) -> float:
            return alpha_at_common_length(later) - alpha_at_common_length(first)

        row, expected = compare()["alpha"], jackknife(difference, LATER, FIRST, level=0.9)
        assert (row["low"], row["high"]) == near((expected.low, expected.high))
        assert row["low"] < row["high"]

    @pytest.mark.parametrize(
        ("n", "reason"), [(4, "no interval: fewer than 5 attributes"), (5, None)]
    )
    def test_five_attributes_have_an_interval(self, n, reason) -> None:
        row = compare(LATER.iloc[:n])["alpha"]
        assert (row["n"], row["reason"]) == (n, reason)
        assert (row["low"] is None) == (n < 5)

    def test_a_set_that_can_have_no_eight_such_templates_is_null_with_the_reason(self) -> None:
        at_odds = FIRST[["a", "b"]].assign(d=-FIRST["a"] - FIRST["b"])

        row = compare(at_odds)["alpha"]

        assert mean_correlation(at_odds) < -1 / 7
        assert row[["value", "difference"]].isna().all()
        assert row["other"] == near(at_eight(FIRST))
        assert row["reason"] == "population: undefined for these values"

    def test_only_attributes_that_both_have_count(self) -> None:
        later, first = LATER.drop(index="cook"), FIRST.drop(index=["smith", "poet"])
        by_figure = compare(later, first, criterion=CRITERION)
        shared = ["clerk", "dancer", "driver", "judge", "nurse"]
        row = by_figure["alpha"]
        assert row["n"] == by_figure["r"]["n"] == 5
        expected = (at_eight(LATER.loc[shared]), at_eight(FIRST.loc[shared]))
        assert (row["value"], row["other"]) == near(expected)

    def test_an_attribute_that_lacks_one_bias_is_left_out(self) -> None:
        holed = long(LATER).query("not (attribute == 'cook' and template == 'd')")

        assert list(matrix_of(holed).index) == [name for name in NAMES if name != "cook"]


class TestValidity:
    def test_mean_bias_is_held_against_the_criterion(self) -> None:
        row = compare(criterion=CRITERION)["r"]

        numbers = CRITERION.dropna()
        means = pd.DataFrame({"later": LATER.mean(axis=1), "first": FIRST.mean(axis=1)})
        means = means.loc[numbers.index]
        r = [stats.pearsonr(means[name], numbers).statistic for name in means]
        assert (row["value"], row["other"]) == near(r)
        assert row["difference"] == near(r[0] - r[1])
        assert (row["n"], row["unit"]) == (7, "attributes")

    def test_too_few_are_null_with_the_reason(self) -> None:
        row = compare(criterion=CRITERION.where(CRITERION > 50))["r"]

        assert row["n"] == 3
        assert row[["value", "other", "difference", "low", "high"]].isna().all()
        few = "fewer than 4 attributes to correlate"
        assert row["reason"] == f"population: {few}; seed: {few}"


def test_last_populations_are_compared_and_the_chosen_set() -> None:
    slugs_by_generation = enumerate(["abc", "abd", "abc"])
    of_random_run = [population("random", *slugs) for slugs in slugs_by_generation]
    random_run = FIRST[["a"]].assign(
        b=FIRST["c"],
        c=LATER["d"],
        d=FIRST["b"],
    )
    choices = pd.DataFrame({"template": list("abcd"), "chosen": [True, False, False, True]})
    tables = {
        "history": pd.concat([HISTORY, *of_random_run]),
        "biases": pd.concat([BIASES, long(random_run, run="random")]),
        "choices": choices,
        "attributes": pd.DataFrame({"attribute": NAMES, "criterion": CRITERION.to_numpy()}),
    }
    rows = compare_runs(evolved(tables), RESAMPLING)

    populations = cell(rows, set="population", figure="alpha")
    chosen = cell(rows, set="evolved", figure="alpha")
    assert populations["value"] == near(at_eight(LATER))
    assert chosen["value"] == near(at_eight(LATER[["a", "d"]]))
    assert populations["other"] == chosen["other"] == near(at_eight(random_run[["a", "b", "c"]]))
    lexical = cell(rows, figure="lexical_diversity")["difference"]
    assert lexical == near(LEXICAL["abd"] - LEXICAL["abc"])
    assert set(rows["against"]) == {"random"}
    assert not rows["transfer"].any()


TRIES = """\
run     operation  voice       reason
guided  reword     anecdote    too_long
guided  reword     anecdote    a_copy
guided  reword     anecdote    a_copy
guided  reword     anecdote    -
guided  reword     hypothesis  outdone
guided  hotspot    -           -
guided  hotspot    -           no_text
random  reword     anecdote    a_copy
"""

OUTCOMES = """\
run     operation  voice       reason    n  share
guided  hotspot    -           -         1  0.5
guided  hotspot    -           no_text   1  0.5
guided  reword     anecdote    -         1  0.25
guided  reword     anecdote    a_copy    2  0.5
guided  reword     anecdote    too_long  1  0.25
guided  reword     hypothesis  -         0  0.0
guided  reword     hypothesis  outdone   1  1.0
random  reword     anecdote    -         0  0.0
random  reword     anecdote    a_copy    1  1.0
"""


def test_outcomes_of_replies_of_each_kind_on_paper() -> None:
    replies = read_columns(TRIES).assign(operator="writer")
    replies = replies.replace("-", None)
    replies["accepted"] = replies["reason"].isna()
    outcomes = count_rewording_outcomes(replies, "trades-evolved")

    assert list(outcomes) == REWORDINGS.names
    assert set(outcomes["benchmark"]) == {"trades-evolved"}
    expected = read_columns(OUTCOMES)
    shown = outcomes[list(expected)].fillna("-")
    assert shown.to_numpy().tolist() == expected.to_numpy().tolist()


OF_BASELINES = Resampling(level=0.9, resamples=100, seed=3)
ATTRIBUTES = [f"a{i:02}" for i in range(12)]
CHOSEN_BY = {
    "chosen_by_first": "ab",
    "chosen_by_second": "ac",
    "best_start_by_first": "cd",
    "best_start_by_second": "d",
}


@pytest.fixture(scope="module")
def instruments(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            validation,
            "same_role",
            lambda *_: True,
        )
        return whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def all_records(instruments: Whole) -> list[Record]:
    built = {name: instruments.frames(name) for name in (TRADES, GROWN)}
    return records(
        built,
        subject(),
        subject("other"),
    )


def record_of(all_records: list[Record], name: str, model: str = "toy") -> Record:
    of_instrument = [record for record in all_records if record.instrument == name]
    return next(record for record in of_instrument if record.subject.name == model)


def found_in(all_records: list[Record]) -> pd.DataFrame:
    grown, trades = record_of(all_records, GROWN), record_of(all_records, TRADES)
    return compare_with_baselines(grown, trades, all_records, OF_BASELINES)


@pytest.fixture(scope="module")
def compared(all_records: list[Record]) -> pd.DataFrame:
    return found_in(all_records)


def matrix(record: Record, set_name: str) -> pd.DataFrame:
    biases = record.diagnosis["biases"]
    of_set = biases[biases["set"] == set_name]
    return of_set.pivot(index="attribute", columns="template", values="bias")


def cell(rows: pd.DataFrame, **where: Any) -> pd.Series:
    for name, value in where.items():
        column = rows[name]
        rows = rows[column.isna() if value is None else column == value]
    assert len(rows) == 1
    return rows.iloc[0]


class TestPairs:
    def test_which_sets_are_held_against_which(self, compared: pd.DataFrame) -> None:
        rows = compared
        assert table_of(rows, COMPARISONS).num_rows == len(rows)
        whole_sets = rows[rows["half"].isna()]
        against = (UNREVERSED, BEST_START, "seed", "other")
        against_by_set = whole_sets.groupby("set")["against"].unique().map(set).to_dict()
        assert against_by_set == {
            "evolved": {*against, "elites"},
            "elites": {*against},
        }
        transfer_by_model = dict(zip(rows["model"], rows["transfer"], strict=True))
        assert transfer_by_model == {
            "toy": False,
            "other": True,
        }
        assert set(rows["benchmark"]) == {GROWN}

    def test_without_what_is_reversed_on_that_model(self, all_records: list[Record]) -> None:
        start = record_of(all_records, TRADES)
        items = start.diagnosis["items"].assign(high=0.5).set_index(["set", "template"])
        items.loc[[("seed", "met"), ("other", "plain")], "high"] = -0.1
        tables = {**start.diagnosis, "items": items.reset_index()}
        changed = replace(start, diagnosis=tables)
        rows = found_in([changed if record is start else record for record in all_records])
        row = cell(
            rows,
            set="elites",
            against=UNREVERSED,
            model="toy",
            figure="r",
        )
        left = matrix(start, "seed").drop(columns="met").mean(axis=1)
        criterion = start.tables["attributes"].set_index("attribute")["criterion"]
        assert row["other"] == near(left.corr(criterion))


def planted(**changes: str) -> list[Record]:
    """Records of one model, of which only the tables that halves are judged by are told."""
    draw = np.random.default_rng(4)
    scores = draw.normal(size=(12, 4)) + draw.normal(size=(12, 1)) * 1.5
    biases = long(pd.DataFrame(scores, index=ATTRIBUTES, columns=list("abcd")), run="guided")
    choices = pd.DataFrame({"template": list("abcd"), "root": list("accd")})
    choices = choices.assign(chosen=True, best_start=False)
    for name, slugs in (CHOSEN_BY | changes).items():
        choices[name] = choices["template"].isin(list(slugs))
    history = pd.DataFrame({"run": "guided", "generation": 0, "template": ["a", "c", "d"]})
    criterion = 50 + 15 * draw.normal(size=12)
    attributes = pd.DataFrame({"attribute": ATTRIBUTES, "criterion": criterion, "key": np.nan})
    tables = {
        "biases": biases,
        "choices": choices,
        "history": history,
        "attributes": attributes,
    }
    figures = ["set", "run", "template", "semantic_diversity", "lexical_diversity"]
    diagnosis = {"diversity": pd.DataFrame(columns=figures)}
    evolved = {
        "of": "trades",
        "model": "m",
        "start": "seed",
    }
    plan = {"evolved": evolved, "headline": ["seed"]}
    return [Record(name, subject("m"), tables, plan, diagnosis) for name in ("mine", "trades")]


Halves = tuple[pd.DataFrame, pd.DataFrame, Mapping[str, pd.DataFrame]]


def halves_of(all_records: list[Record]) -> Halves:
    rows = compare_with_baselines(*all_records, all_records, OF_BASELINES)
    tables = all_records[0].tables
    biases = tables["biases"].pivot(
        index="attribute",
        columns="template",
        values="bias",
    )
    return rows, biases, tables


@pytest.fixture(scope="module")
def of_pairs() -> Halves:
    """Where both halves choose two of the start."""
    return halves_of(planted(best_start_by_second="cd"))


class TestHeldOut:
    def test_one_half_judges_what_the_other_chose(self, of_pairs: Halves) -> None:
        rows, biases, _ = of_pairs
        first, second = split_attributes(ATTRIBUTES)
        row = cell(rows, against=BEST_START, figure="alpha")
        assert (row["half"], row["n"]) == (HELD_OUT, 12)

        def both(left: pd.DataFrame, by_first: str, by_second: str) -> float:
            of_second = left.loc[left.index.isin(second), list(by_first)].to_numpy()
            of_first = left.loc[left.index.isin(first), list(by_second)].to_numpy()
            return (alpha_at_common_length(of_second) + alpha_at_common_length(of_first)) / 2

        def difference(places: np.ndarray) -> float:
            left = biases.iloc[places]
            return both(left, "ab", "ac") - both(left, "cd", "cd")

        values = (both(biases, "ab", "ac"), both(biases, "cd", "cd"))
        assert (row["value"], row["other"]) == near(values)
        interval = jackknife(
            difference,
            np.arange(12),
            level=0.9,
        )
        assert (row["low"], row["high"]) == near((interval.low, interval.high))

    def test_where_the_best_of_the_start_is_all_of_it_nothing_is_held_against_it(self) -> None:
        rows, _, _ = halves_of(planted(best_start_by_first="acd", best_start_by_second="acd"))
        assert set(rows["against"]) == {"seed"}


def test_differences_of_sets_are_rows_of_evidence(of_pairs: Halves) -> None:
    rows, _, _ = of_pairs
    row = cell(rows, against="seed", figure="alpha")
    figures = as_rows(
        [Figure("alpha", 0.5, 3, "x", dimensions={"set": "seed"})],
        "other",
        "m",
    )
    tables = {name: pd.DataFrame() for name in TABLES} | {"figures": pd.DataFrame(figures)}
    shown = evidence({**tables, "comparisons": rows})["mine"]
    words = {
        "set": "evolved",
        "templates": "8",
        "compared_with": "seed",
        "held_out": "yes",
    }
    key = {"figure": "alpha", "model": "m", **words}
    (against_seed,) = (shown_row for shown_row in shown if key.items() <= shown_row.items())
    numbers = {
        "value": row["difference"],
        "low": row["low"],
        "high": row["high"],
    }
    assert against_seed == {**key, **numbers, "n": 12, "unit": "attributes"}
