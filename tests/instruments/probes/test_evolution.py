"""What an evolution achieved, beside other sets and beside what costs no evolution."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenruler import measurement
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
from evenruler.instruments.probes.diagnose.gain import Scores, detectable_at_common_length
from evenruler.instruments.probes.diagnose.quality import alpha_at_common_length
from evenruler.instruments.probes.evolve import validation
from evenruler.instruments.probes.schemas import (
    BEST_START,
    COMPARISONS,
    GENERATIONS,
    HELD_OUT,
    OUTDONE,
    REWORDINGS,
    UNREVERSED,
)
from evenruler.measurement import Resampling
from evenruler.measurement.resampling import BELOW_ONE, SHARE, jackknife
from evenruler.tables import table_of, write_table
from tests.instruments.probes.whole import EVOLVED as GROWN
from tests.instruments.probes.whole import TRADES, Whole, records, subject, whole
from tests.later import Later

pingouin = Later("pingouin")

RESAMPLING = Resampling(level=0.9, resamples=60, seed=3)

NAMES = ["clerk", "cook", "dancer", "driver", "judge", "nurse", "poet", "smith"]

# Bias in nats, all of them sums of powers of two, so that sums are exact.
FIRST = pd.DataFrame(
    {
        "a": [-0.75, 0.5, -1.75, -1.0, -0.25, -1.25, -0.25, 2.0],
        "b": [-1.25, 0.5, -3.0, 3.25, 1.25, -0.75, -0.25, 1.0],
        "c": [0.25, 0.5, -1.25, 2.75, 0.0, -1.75, 0.0, 1.5],
    },
    index=NAMES,
)
LATER = FIRST[["a", "b"]].assign(d=[0.5, 0.25, -2.0, 1.5, -0.75, -1.0, 0.25, 0.5])

# Words without slots: {the is a}, {it is odd when a}, {they say that each here is a}, {it is a}.
# Jaccard: a-b {is a} of 6, a-c {is a} of 8, b-c {is a} of 10; a-d {is a} of 4, b-d {it is a} of 5.
TEXTS = {
    "a": "The {ATTRIBUTE} is a {TARGET}.",
    "b": "It is odd when a {ATTRIBUTE} is a {TARGET}.",
    "c": "They say that each {ATTRIBUTE} here is a {TARGET}.",
    "d": "{ATTRIBUTE}: it is a {TARGET}.",
}
LEXICAL = {"abc": 1 - (2 / 6 + 2 / 8 + 2 / 10) / 3, "abd": 1 - (2 / 6 + 2 / 4 + 3 / 5) / 3}

# The first three at right angles, the last at an angle of 60 degrees (cosine 1/2) to the first.
VECTORS = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0, 1], "d": [0.5, 0, math.sqrt(0.75)]}
EMBEDDINGS = {
    without_slots(TEXTS[slug]): np.array(vector, dtype=np.float32)
    for slug, vector in VECTORS.items()
}
SEMANTIC = {"abc": 1.0, "abd": 1 - 0.5 / 3}


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
    k = matrix.shape[1]
    return float(np.corrcoef(matrix.to_numpy(), rowvar=False)[np.triu_indices(k, 1)].mean())


def at_eight(matrix: pd.DataFrame) -> float:
    mean = mean_correlation(matrix)
    return 8 * mean / (1 + 7 * mean)


def first_share(matrix: pd.DataFrame) -> float:
    return float(
        np.linalg.eigvalsh(np.corrcoef(matrix.to_numpy(), rowvar=False))[-1] / matrix.shape[1]
    )


def population(run: str, generation: int, slugs: str) -> pd.DataFrame:
    """As `HISTORY` has it, in no order of slugs."""
    ordered = list(reversed(slugs))
    return pd.DataFrame(
        {
            "run": run,
            "generation": generation,
            "template": ordered,
            "text": [TEXTS[slug] for slug in ordered],
        }
    )


HISTORY = pd.concat(
    [population("guided", 0, "abc"), population("guided", 1, "abd")], ignore_index=True
)
BIASES = long(pd.concat([FIRST, LATER[["d"]]], axis=1), run="guided")


def diversity_of(history: pd.DataFrame) -> pd.DataFrame:
    """Of every template of a history within its generation."""
    none = pd.DataFrame({"set": [], "template": [], "control": pd.Series(dtype=bool)})
    return template_diversities({"templates": none, "history": history}, EMBEDDINGS)


def evolved(tables: Mapping[str, pd.DataFrame]) -> Record:
    """What evolved on the model m."""
    found = {"diversity": diversity_of(tables["history"])}
    return Record("trades-evolved", subject("m"), tables, {"evolved": {"model": "m"}}, found)


def generations(history=HISTORY, biases=BIASES) -> pd.DataFrame:
    tables = {"history": history, "biases": biases}
    return by_generation(evolved(tables), RESAMPLING)


def figures_of(rows: pd.DataFrame, run: str, generation: int) -> dict[str, pd.Series]:
    own = rows[(rows["run"] == run) & (rows["generation"] == generation)]
    return {row["figure"]: row for _, row in own.iterrows()}


class TestByGeneration:
    @pytest.mark.parametrize(
        ("generation", "matrix"), [(0, FIRST), (1, LATER)], ids=["start", "next"]
    )
    def test_reliability_is_that_of_the_whole_population(self, generation, matrix) -> None:
        found = figures_of(generations(), "guided", generation)

        assert found["alpha"]["value"] == pytest.approx(alpha(matrix), abs=1e-12)
        assert found["inter_item_correlation"]["value"] == pytest.approx(
            mean_correlation(matrix), abs=1e-12
        )
        assert found["alpha_at_8"]["value"] == pytest.approx(at_eight(matrix), abs=1e-12)
        assert found["first_component_share"]["value"] == pytest.approx(
            first_share(matrix), abs=1e-12
        )
        assert {(found[name]["n"], found[name]["unit"]) for name in ("alpha", "alpha_at_8")} == {
            (8, "attributes")
        }

    def test_intervals_are_over_attributes(self) -> None:
        found = figures_of(generations(), "guided", 1)

        for figure, statistic, scale in (
            ("alpha", measurement.cronbach_alpha, BELOW_ONE),
            ("first_component_share", measurement.first_component_share, SHARE),
        ):
            expected = jackknife(statistic, LATER, scale=scale, level=0.9)
            assert (found[figure]["low"], found[figure]["high"]) == pytest.approx(
                (expected.low, expected.high)
            )
        assert (
            found["alpha_at_8"]["low"] < found["alpha_at_8"]["value"] < found["alpha_at_8"]["high"]
        )

    @pytest.mark.parametrize(
        ("generation", "slugs"), [(0, "abc"), (1, "abd")], ids=["start", "next"]
    )
    def test_diversity_is_the_mean_over_templates_without_an_interval(
        self, generation, slugs
    ) -> None:
        found = figures_of(generations(), "guided", generation)

        assert found["semantic_diversity"]["value"] == pytest.approx(SEMANTIC[slugs], abs=1e-6)
        assert found["lexical_diversity"]["value"] == pytest.approx(LEXICAL[slugs], abs=1e-12)
        for figure in ("semantic_diversity", "lexical_diversity"):
            assert (found[figure]["n"], found[figure]["unit"]) == (3, "templates")
            assert pd.isna(found[figure]["low"])
            assert pd.isna(found[figure]["high"])
            assert pd.isna(found[figure]["reason"])

    def test_runs_are_kept_apart_where_their_templates_have_the_same_names(self) -> None:
        history = pd.concat(
            [HISTORY, population("random", 0, "abc"), population("random", 1, "abd")]
        )
        biases = pd.concat([BIASES, long(FIRST.assign(d=-FIRST["a"]), run="random")])

        rows = generations(history, biases)

        assert figures_of(rows, "guided", 1)["alpha"]["value"] == pytest.approx(
            alpha(LATER), abs=1e-12
        )
        turned = FIRST[["a", "b"]].assign(d=-FIRST["a"])
        assert figures_of(rows, "random", 1)["alpha"]["value"] == pytest.approx(
            alpha(turned), abs=1e-12
        )
        assert len(rows) == 4 * 6

    def test_a_population_that_shrank_to_one_has_reasons(self) -> None:
        found = figures_of(generations(population("guided", 2, "a")), "guided", 2)

        for figure in ("alpha", "alpha_at_8", "inter_item_correlation", "first_component_share"):
            assert pd.isna(found[figure]["value"])
            assert found[figure]["reason"] == "a set of one template has no internal consistency"
        for figure in ("semantic_diversity", "lexical_diversity"):
            assert pd.isna(found[figure]["value"])
            assert found[figure]["reason"] == "a set of one template"

    def test_a_template_that_tells_nothing_apart_is_a_reason(self) -> None:
        flat = BIASES.assign(bias=BIASES["bias"].mask(BIASES["template"] == "d", 0.25))

        rows = generations(biases=flat)

        assert (
            figures_of(rows, "guided", 1)["alpha"]["reason"]
            == "a template has the same bias for all attributes"
        )
        assert figures_of(rows, "guided", 0)["alpha"]["value"] == pytest.approx(
            alpha(FIRST), abs=1e-12
        )
        assert figures_of(rows, "guided", 1)["lexical_diversity"]["value"] == pytest.approx(
            LEXICAL["abd"]
        )

    @pytest.mark.parametrize(
        "lost",
        [
            pytest.param(BIASES["template"] == "d", id="all"),
            pytest.param((BIASES["template"] == "d") & (BIASES["attribute"] == "cook"), id="one"),
        ],
    )
    def test_a_template_without_its_biases_is_an_error(self, lost) -> None:
        with pytest.raises(
            ValueError, match=r"^run guided, generation 1: a template lacks a bias$"
        ):
            generations(biases=BIASES[~lost])

    def test_the_table_is_by_its_schema(self, tmp_path) -> None:
        rows = generations()

        write_table(rows, GENERATIONS, tmp_path / "generations.parquet")
        assert set(rows["benchmark"]) == {"trades-evolved"}
        assert set(rows["model"]) == {"m"}


def templates_of(matrix: pd.DataFrame) -> pd.DataFrame:
    """Diversities of its templates."""
    own = pd.DataFrame({"set": "one", "template": list(matrix), "control": False})
    return template_diversities(
        {"templates": own.assign(text=[TEXTS[slug] for slug in matrix])}, EMBEDDINGS
    )


SIDES = ("population", "seed")


def compare(
    evolved: pd.DataFrame = LATER, seed: pd.DataFrame = FIRST, criterion=None
) -> dict[str, pd.Series]:
    """The last population against the seed set, by figure."""
    found = list(compare_sets(SIDES, (evolved.dropna(), seed), criterion, RESAMPLING))
    found += diversities_compared(SIDES, templates_of(evolved), templates_of(seed))
    return {row["figure"]: pd.Series({"low": None, "high": None, **row}) for row in found}


CRITERION = pd.Series([27, 60, 20.5, 80.5, 42, 12, math.nan, 97], index=NAMES)


class TestComparisons:
    def test_both_sets_and_their_difference(self) -> None:
        found = compare()["alpha_at_8"]

        assert found["value"] == pytest.approx(at_eight(LATER), abs=1e-9)
        assert found["other"] == pytest.approx(at_eight(FIRST), abs=1e-9)
        assert found["difference"] == found["value"] - found["other"] != 0
        assert (found["n"], found["unit"]) == (8, "attributes")
        assert found["reason"] is None

    def test_an_interval_leaves_the_same_attribute_out_of_both(self) -> None:
        found = compare()["alpha_at_8"]

        both = pd.concat([LATER, FIRST], axis=1)
        expected = jackknife(
            lambda x: alpha_at_common_length(x[:, :3]) - alpha_at_common_length(x[:, 3:]),
            both,
            level=0.9,
        )
        assert (found["low"], found["high"]) == pytest.approx(
            (expected.low, expected.high), abs=1e-12
        )
        assert found["low"] < found["high"]

    @pytest.mark.parametrize("n", [4, 5])
    def test_five_attributes_have_an_interval(self, n) -> None:
        found = compare(LATER.iloc[:n])["alpha_at_8"]

        assert (found["n"], found["low"] is None) == (n, n < 5)
        assert (
            found["reason"] == "no interval: fewer than 5 attributes"
            if n < 5
            else found["reason"] is None
        )

    def test_so_that_what_changes_no_figure_leaves_no_doubt(self) -> None:
        """Biases twice as strong: the same alphas in each resample, if the attributes are the
        same."""
        for row in compare(2 * FIRST, criterion=CRITERION).values():
            assert row["difference"] == pytest.approx(0, abs=1e-9)
            if row["unit"] == "attributes":
                assert (row["low"], row["high"]) == pytest.approx((0, 0), abs=1e-9)

    def test_diversity_has_no_interval(self) -> None:
        found = compare()

        assert found["semantic_diversity"]["value"] == pytest.approx(SEMANTIC["abd"], abs=1e-6)
        assert found["semantic_diversity"]["other"] == pytest.approx(SEMANTIC["abc"], abs=1e-6)
        assert found["lexical_diversity"]["difference"] == pytest.approx(
            LEXICAL["abd"] - LEXICAL["abc"], abs=1e-12
        )
        for figure in ("semantic_diversity", "lexical_diversity"):
            assert (found[figure]["n"], found[figure]["unit"]) == (3, "templates")
            assert found[figure][["low", "high"]].isna().all()

    def test_a_set_that_can_have_no_eight_such_templates_is_null_with_the_reason(self) -> None:
        at_odds = FIRST[["a", "b"]].assign(
            d=-FIRST["a"] - FIRST["b"]
        )  # mean correlation below -1/7

        row = compare(at_odds)["alpha_at_8"]

        assert mean_correlation(at_odds) < -1 / 7
        assert row[["value", "difference"]].isna().all()
        assert row["other"] == pytest.approx(at_eight(FIRST), abs=1e-12)
        assert row["reason"] == "population: undefined for these values"

    def test_only_attributes_that_both_have_count(self) -> None:
        found = compare(
            LATER.drop(index="cook"), FIRST.drop(index=["smith", "poet"]), criterion=CRITERION
        )

        shared = ["clerk", "dancer", "driver", "judge", "nurse"]
        assert found["alpha_at_8"]["n"] == found["r"]["n"] == 5
        assert found["alpha_at_8"]["value"] == pytest.approx(at_eight(LATER.loc[shared]), abs=1e-12)
        assert found["alpha_at_8"]["other"] == pytest.approx(at_eight(FIRST.loc[shared]), abs=1e-12)

    def test_an_attribute_that_lacks_one_bias_is_left_out(self) -> None:
        holed = long(LATER)
        holed = holed[(holed["attribute"] != "cook") | (holed["template"] != "d")]

        assert list(matrix_of(holed).index) == [name for name in NAMES if name != "cook"]

    def test_the_order_of_rows_does_not_matter(self) -> None:
        turned, found = compare(LATER.iloc[::-1, ::-1], FIRST.iloc[::-1]), compare()

        assert turned["alpha_at_8"]["low"] == pytest.approx(found["alpha_at_8"]["low"], abs=1e-12)

    def test_sets_of_any_length_are_compared_at_eight(self) -> None:
        found = compare(LATER[["a", "d"]], criterion=CRITERION)

        row = found["alpha_at_8"]
        assert row["difference"] == pytest.approx(
            at_eight(LATER[["a", "d"]]) - at_eight(FIRST), abs=1e-12
        )
        assert row["low"] < row["high"]
        for figure in ("r", "semantic_diversity", "lexical_diversity"):
            assert found[figure]["difference"] is not None

    def test_one_template_has_reasons(self) -> None:
        found = compare(LATER[["a"]], criterion=CRITERION)

        row = found["alpha_at_8"]
        assert row["value"] is row["difference"] is None
        assert row["other"] is not None
        assert row["reason"] == "population: a set of one template has no internal consistency"
        assert found["semantic_diversity"]["reason"] == "a set of one template"
        assert found["r"]["difference"] is not None


class TestValidity:
    def test_mean_bias_is_held_against_the_criterion(self) -> None:
        row = compare(criterion=CRITERION)["r"]

        known = CRITERION.dropna()
        r = [stats.pearsonr(x.mean(axis=1)[known.index], known).statistic for x in (LATER, FIRST)]
        assert (row["value"], row["other"]) == pytest.approx(r, abs=1e-12)
        assert row["difference"] == pytest.approx(r[0] - r[1], abs=1e-12)
        assert (row["n"], row["unit"]) == (7, "attributes")
        scores = np.column_stack([LATER.mean(axis=1), FIRST.mean(axis=1), CRITERION])[
            CRITERION.notna()
        ]
        expected = jackknife(
            lambda x: np.corrcoef(x[:, 0], x[:, 2])[0, 1] - np.corrcoef(x[:, 1], x[:, 2])[0, 1],
            scores,
            level=0.9,
        )
        assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=1e-9)

    @pytest.mark.parametrize("criterion", [None, CRITERION * math.nan], ids=["none", "all-null"])
    def test_without_a_criterion_there_is_no_such_figure(self, criterion) -> None:
        assert "r" not in compare(criterion=criterion)

    def test_too_few_are_null_with_the_reason(self) -> None:
        row = compare(criterion=CRITERION.where(CRITERION > 50))["r"]

        assert row["n"] == 3
        assert row[["value", "other", "difference", "low", "high"]].isna().all()
        few = "fewer than 4 attributes to correlate"
        assert row["reason"] == f"population: {few}; seed: {few}"

    def test_a_set_whose_mean_is_the_same_for_all_is_null_with_the_reason(self) -> None:
        cancelling = pd.DataFrame({"a": FIRST["a"], "b": -FIRST["a"]})

        row = compare(cancelling, criterion=CRITERION)["r"]

        assert pd.isna(row["value"])
        assert not pd.isna(row["other"])
        assert row["reason"] == "population: undefined for these values"


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 20), st.integers(2, 4))
def test_a_set_does_not_differ_from_itself(seed: int, attributes: int, templates: int) -> None:
    rng = np.random.default_rng(seed)
    index = [f"attribute-{i}" for i in range(attributes)]
    matrix = pd.DataFrame(rng.normal(size=(attributes, templates)), index, list("abcd")[:templates])

    rows = compare(matrix, matrix, criterion=pd.Series(rng.normal(size=attributes), index))

    assert rows["r"]["value"] is not None
    for row in (row for row in rows.values() if row["value"] is not None):
        assert row["difference"] == 0
        if row["unit"] == "attributes":
            assert (row["low"] is None) == (row["reason"] is not None)
            assert row["low"] in (None, 0)
            assert row["high"] in (None, 0)


class TestGuidance:
    HISTORY = pd.concat(
        [
            HISTORY,
            population("random", 0, "abc"),
            population("random", 1, "abd"),
            population("random", 2, "abc"),
        ]
    )
    RANDOM = pd.DataFrame({"a": FIRST["a"], "b": FIRST["c"], "c": LATER["d"], "d": FIRST["b"]})
    BIASES = pd.concat([BIASES, long(RANDOM, run="random")])

    ATTRIBUTES = pd.DataFrame({"attribute": NAMES, "criterion": CRITERION.to_numpy()})
    CHOICES = pd.DataFrame({"template": list("abcd"), "chosen": [True, False, False, True]})

    def found(self, *runs: str) -> pd.DataFrame:
        tables = {"history": self.HISTORY, "biases": self.BIASES}
        tables = {name: table[table["run"].isin(runs)] for name, table in tables.items()}
        return compare_runs(
            evolved(tables | {"choices": self.CHOICES, "attributes": self.ATTRIBUTES}), RESAMPLING
        )

    def test_last_populations_are_compared_and_the_chosen_set(self, tmp_path) -> None:
        rows = self.found("guided", "random")

        last = self.RANDOM[["a", "b", "c"]]
        row = cell(rows, set="population", figure="alpha_at_8")
        assert row["value"] == pytest.approx(at_eight(LATER), abs=1e-12)
        assert row["other"] == pytest.approx(at_eight(last), abs=1e-12)
        lexical, semantic = (
            cell(rows, figure=f"{name}_diversity")["difference"] for name in ("lexical", "semantic")
        )
        assert lexical == pytest.approx(LEXICAL["abd"] - LEXICAL["abc"], abs=1e-12)
        assert semantic == pytest.approx(SEMANTIC["abd"] - 1, abs=1e-6)
        row = cell(rows, set="evolved", figure="alpha_at_8")
        assert row["value"] == pytest.approx(at_eight(LATER[["a", "d"]]), abs=1e-12)
        assert row["other"] == pytest.approx(at_eight(last), abs=1e-12)
        known = CRITERION.dropna()
        r = [
            stats.pearsonr(x.mean(axis=1)[known.index], known).statistic
            for x in (LATER[["a", "d"]], last)
        ]
        assert cell(rows, figure="r")[["value", "other"]].tolist() == pytest.approx(r, abs=1e-12)
        assert set(zip(rows["against"], rows["transfer"], strict=True)) == {("random", False)}
        write_table(rows, COMPARISONS, tmp_path / "guidance.parquet")

    @pytest.mark.parametrize("run", ["guided", "random"])
    def test_one_run_alone_shows_nothing(self, run) -> None:
        rows = self.found(run)

        assert rows.empty
        assert list(rows) == COMPARISONS.names


def tries(*rows: tuple[str, str | None, int, int, int, str | None]) -> pd.DataFrame:
    """Replies: operation, voice, place, attempt, sample, and why it was not taken."""
    names = ["operation", "voice", "place", "attempt", "sample", "reason"]
    table = pd.DataFrame(rows, columns=names).assign(run="guided", operator="writer", generation=1)
    return table.assign(accepted=table["reason"].isna())


def plain(table: pd.DataFrame) -> list[tuple[object, ...]]:
    assert set(table["benchmark"]) <= {"trades-evolved"}
    assert set(table["operator"]) <= {"writer"}
    values = table.drop(columns=["benchmark", "operator"]).astype(object).where(table.notna(), None)
    return list(values.itertuples(index=False, name=None))


class TestRewordings:
    def test_of_each_kind_on_paper(self) -> None:
        found = count_rewording_outcomes(
            tries(
                ("reword", "anecdote", 1, 1, 1, "too long"),
                ("reword", "anecdote", 1, 1, 2, "a copy"),
                ("reword", "anecdote", 1, 1, 3, "a copy"),
                ("reword", "anecdote", 1, 2, 1, None),
                ("reword", "hypothesis", 2, 1, 1, "a copy"),
                ("hotspot", None, 3, 1, 1, None),
                ("hotspot", None, 4, 1, 1, "no text"),
            ),
            "trades-evolved",
        )

        assert list(found) == REWORDINGS.names
        assert plain(found) == [
            ("guided", "hotspot", None, None, 1, 0.5),
            ("guided", "hotspot", None, "no text", 1, 0.5),
            ("guided", "reword", "anecdote", None, 1, 0.25),
            ("guided", "reword", "anecdote", "a copy", 2, 0.5),
            ("guided", "reword", "anecdote", "too long", 1, 0.25),
            ("guided", "reword", "hypothesis", None, 0, 0.0),
            ("guided", "reword", "hypothesis", "a copy", 1, 1.0),
        ]

    def test_runs_are_kept_apart(self) -> None:
        one = tries(("reword", "anecdote", 1, 1, 1, None), ("reword", "anecdote", 1, 1, 2, OUTDONE))
        other = tries(("reword", "anecdote", 1, 1, 2, "a copy")).assign(run="random")

        found = count_rewording_outcomes(
            pd.concat([one, other], ignore_index=True), "trades-evolved"
        )

        assert plain(found) == [
            ("guided", "reword", "anecdote", None, 1, 0.5),
            ("guided", "reword", "anecdote", OUTDONE, 1, 0.5),
            ("random", "reword", "anecdote", None, 0, 0.0),
            ("random", "reword", "anecdote", "a copy", 1, 1.0),
        ]

    def test_no_replies_are_no_rows(self) -> None:
        found = count_rewording_outcomes(
            tries(("hotspot", None, 1, 1, 1, None)).head(0), "trades-evolved"
        )

        assert found.empty
        assert list(found) == REWORDINGS.names


OF_BASELINES = Resampling(level=0.9, resamples=100, seed=3)
ATTRIBUTES = [f"a{i:02}" for i in range(12)]
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
    return records(
        {name: made.frames(name) for name in (TRADES, GROWN)}, subject(), subject("other")
    )


def of(asked: list[Record], name: str, model: str = "toy") -> Record:
    return next(one for one in asked if (one.instrument, one.subject.name) == (name, model))


def found_in(asked: list[Record]) -> pd.DataFrame:
    return compare_with_baselines(of(asked, GROWN), of(asked, TRADES), asked, OF_BASELINES)


def matrix(record: Record, set_name: str) -> pd.DataFrame:
    biases = record.found["biases"]
    return biases[biases["set"] == set_name].pivot(
        index="attribute", columns="template", values="bias"
    )


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
        against = (UNREVERSED, BEST_START, "seed", "other")
        expected = {(name, other) for name in ("evolved", "elites") for other in against} | {
            ("evolved", "elites")
        }
        assert set(zip(whole_sets["set"], whole_sets["against"], strict=True)) == expected
        assert dict(zip(rows["model"], rows["transfer"], strict=True)) == {
            "toy": False,
            "other": True,
        }
        assert set(rows["benchmark"]) == {GROWN}

    @pytest.mark.parametrize("model", ["toy", "other"])
    @pytest.mark.parametrize("figure", ["generalizability_at_8", "detectable_at_8", "level_shift"])
    def test_figures_of_a_set_are_taken_as_they_are(
        self, asked: list[Record], model: str, figure: str
    ) -> None:
        row = cell(
            found_in(asked), set="evolved", against="seed", model=model, half=None, figure=figure
        )
        for name, part, column in ((GROWN, "evolved", "value"), (TRADES, "seed", "other")):
            own = cell(of(asked, name, model).found["figures"], part=part, figure=figure)
            assert row[column] == own["value"]
        assert pd.isna(row["low"])

    @pytest.mark.parametrize("model", ["toy", "other"])
    def test_the_best_subset_of_the_start_is_the_one_that_was_chosen(
        self, asked: list[Record], model: str
    ) -> None:
        choices = of(asked, GROWN).tables["choices"]
        best = sorted(choices.loc[choices["best_start"], "template"])
        seed, own = (
            matrix(of(asked, TRADES, model), "seed"),
            matrix(of(asked, GROWN, model), "evolved"),
        )
        row = cell(
            found_in(asked),
            set="evolved",
            against=BEST_START,
            model=model,
            half=None,
            figure="alpha_at_8",
        )
        values = [alpha_at_common_length(x.to_numpy()) for x in (own, seed[best])]
        assert [row["value"], row["other"]] == pytest.approx(values, abs=1e-12, nan_ok=True)

    def test_without_what_is_reversed_on_that_model(self, asked: list[Record]) -> None:
        start = of(asked, TRADES)
        items = start.found["items"].assign(high=0.5)
        items.loc[(items["set"] == "seed") & (items["template"] == "met"), "high"] = -0.1
        items.loc[(items["set"] == "other") & (items["template"] == "plain"), "high"] = -0.1
        changed = Record(
            TRADES, start.subject, start.tables, start.plan, {**start.found, "items": items}
        )
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
        own = of(asked, GROWN).found["diversity"]
        expected = own[own["run"] == BEST_START]["semantic_diversity"].mean()
        assert cell(rows, against=BEST_START)["other"] == pytest.approx(expected, abs=1e-12)


def planted(**changes: Any) -> list[Record]:
    """Records of one model, of which only the tables that halves are judged by are told."""
    draw = np.random.default_rng(4)
    x = pd.DataFrame(
        draw.normal(size=(12, 4)) + draw.normal(size=(12, 1)) * 1.5,
        index=ATTRIBUTES,
        columns=list("abcd"),
    )
    biases = (
        x.rename_axis("attribute")
        .reset_index()
        .melt("attribute", var_name="template", value_name="bias")
    )
    choices = pd.DataFrame(
        {"template": list("abcd"), "root": list("accd"), "chosen": True, "best_start": False}
    )
    choices = choices.assign(
        **{
            name: [slug in slugs for slug in "abcd"]
            for name, slugs in {**CHOSEN_BY, **changes}.items()
        }
    )
    history = pd.DataFrame({"run": "guided", "generation": 0, "template": ["a", "c", "d"]})
    attributes = pd.DataFrame(
        {"attribute": ATTRIBUTES, "criterion": draw.normal(size=12), "key": np.nan}
    )
    tables = {
        "biases": biases.assign(run="guided"),
        "choices": choices,
        "history": history,
        "attributes": attributes,
    }
    diversity = pd.DataFrame(
        columns=["set", "run", "template", "semantic_diversity", "lexical_diversity"]
    )
    plan = {"evolved": {"of": "trades", "model": "m", "start": "seed"}, "headline": ["seed"]}
    return [
        Record(name, subject("m"), tables, plan, {"diversity": diversity})
        for name in ("mine", "trades")
    ]


def halves_of(asked: list[Record]) -> tuple[pd.DataFrame, pd.DataFrame, Mapping[str, pd.DataFrame]]:
    rows = compare_with_baselines(*asked, asked, OF_BASELINES)
    biases = asked[0].tables["biases"].pivot(index="attribute", columns="template", values="bias")
    return rows, biases, asked[0].tables


class TestHeldOut:
    def test_one_half_judges_what_the_other_chose(self) -> None:
        rows, x, _ = halves_of(planted(best_start_by_second="cd"))
        first, second = split_attributes(ATTRIBUTES)
        row = cell(rows, against=BEST_START, figure="alpha_at_8")
        assert (row["set"], row["model"], row["transfer"], row["half"]) == (
            "evolved",
            "m",
            False,
            HELD_OUT,
        )

        def both(y: pd.DataFrame, ways: tuple[str, str]) -> float:
            judged = (
                y.loc[y.index.isin(second), list(ways[0])],
                y.loc[y.index.isin(first), list(ways[1])],
            )
            return float(np.mean([alpha_at_common_length(own.to_numpy()) for own in judged]))

        values = both(x, ("ab", "ac")), both(x, ("cd", "cd"))
        assert (row["value"], row["other"]) == pytest.approx(values, abs=1e-12)
        places = np.arange(12)
        interval = jackknife(
            lambda kept: both(x.iloc[kept], ("ab", "ac")) - both(x.iloc[kept], ("cd", "cd")),
            places,
            level=0.9,
        )
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert row["n"] == 12

    def test_r_rests_on_attributes_with_a_published_number_which_stay_in_their_half(self) -> None:
        asked = planted(chosen_by_first="abd")
        asked[0].tables["attributes"].loc[[0, 1, 5], "criterion"] = np.nan
        rows, x, tables = halves_of(asked)
        known = tables["attributes"].set_index("attribute")["criterion"].dropna()
        judged = [
            (list("abd"), split_attributes(ATTRIBUTES)[1]),
            (list("ac"), split_attributes(ATTRIBUTES)[0]),
        ]
        r = [
            np.corrcoef(x.loc[here, slugs].mean(axis=1), known[here])[0, 1]
            for slugs, half in judged
            for here in [[slug for slug in half if slug in known.index]]
        ]
        row = cell(rows, against="seed", figure="r")
        assert row["value"] == pytest.approx(np.mean(r), abs=1e-12)
        assert row["n"] == 9

    def test_the_smallest_gain_is_that_of_the_half_that_judges(self) -> None:
        rows, x, tables = halves_of(planted())
        criterion = tables["attributes"].set_index("attribute")["criterion"]

        def found(slugs: str, half: list[str]) -> float:
            own = np.stack([x.loc[half, list(slugs)], 0 * x.loc[half, list(slugs)]], axis=2)
            poles = np.array([1, -1], dtype=np.int8)
            scores = Scores(own, criterion[half].to_numpy(), poles, ["words"] * 2)
            return detectable_at_common_length(scores) or math.nan

        first, second = (list(half) for half in split_attributes(ATTRIBUTES))
        row = cell(rows, against="seed", figure="detectable_at_8")
        values = [
            np.mean([found(one, second), found(two, first)])
            for one, two in (("ab", "ac"), ("acd", "acd"))
        ]
        assert (row["value"], row["other"]) == pytest.approx(values, abs=1e-12)
        assert row["low"] < row["difference"] < row["high"]

    def test_where_the_best_of_the_start_is_all_of_it_nothing_is_held_against_it(self) -> None:
        rows, _, _ = halves_of(planted(best_start_by_first="acd", best_start_by_second="acd"))
        assert set(rows["against"]) == {"seed"}

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


def compared_in(rows: pd.DataFrame) -> dict[str, Any]:
    """The evidence of comparisons, beside a figure of another instrument."""
    figure = {
        "benchmark": "other",
        "part": "seed",
        "model": "m",
        "figure": "alpha",
        "value": 0.5,
        "n": 3,
        "unit": "x",
    }
    empty = {name: pd.DataFrame(columns=schema.names) for name, schema in TABLES.items()}
    figures = pd.DataFrame([figure]).reindex(columns=TABLES["figures"].names)
    return evidence({**empty, "figures": figures, "comparisons": rows})


def test_evidence_is_by_sets_model_and_figure() -> None:
    rows, _, _ = halves_of(planted(best_start_by_second="cd"))
    row = cell(rows, against="seed", figure="alpha_at_8")
    found = compared_in(rows)
    assert found["mine"]["evolved"]["m"]["compared"]["seed (held out)"]["alpha_at_8"] == {
        **{name: row[name] for name in ("value", "other", "difference", "low", "high")},
        "n": 12,
        "unit": "attributes",
        "transfer": False,
    }
    assert "mine" not in compared_in(rows.head(0))
    lacking, _, _ = halves_of(planted(best_start_by_second=""))
    assert compared_in(lacking)["mine"]["evolved"]["m"]["compared"][f"{BEST_START} (held out)"][
        "alpha_at_8"
    ] == {
        "n": 12,
        "unit": "attributes",
        "transfer": False,
        "reason": "a half of the attributes is too few, or may choose no template",
    }
