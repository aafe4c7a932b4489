"""What came of templates that evolve, by the real DVC: their populations, and the figures, computed
anew."""

import re

import numpy as np
import pandas as pd
import pytest

from evenruler.instruments.probes.schemas import BEST_START, UNREVERSED
from tests.report.pages import pictures_in
from tests.stages.evolving import (
    ATTRIBUTES,
    BUILT,
    DOMAIN,
    ELITES,
    EVOLVED,
    GENERATIONS,
    SEEDS,
    SPARE,
    TABLES,
    WORDS,
    Evolving,
)

WEIGHTS = {
    "alpha_contribution": 0.2,
    "gradient_focus": 0.1,
    "semantic_diversity": 0.4,
    "lexical_diversity": 0.3,
}


class TestPopulations:
    def test_they_begin_with_the_seed_set(self, evolving: Evolving) -> None:
        seed = evolving.seed
        for run in ("guided", "random"):
            first = evolving.history(run).query("generation == 0").set_index("template")
            assert set(first.index) == set(seed.index) == SEEDS
            assert first["text"].to_dict() == seed["text"].to_dict()
            assert first["keying"].to_dict() == seed["keying"].to_dict()
            assert first["parent"].isna().all()

    @pytest.mark.parametrize("run", ["guided", "random"])
    def test_all_have_the_same_size_and_no_text_twice(self, evolving: Evolving, run: str) -> None:
        history = evolving.history(run)
        assert history.groupby("generation").size().to_dict() == dict.fromkeys(
            range(GENERATIONS + 1), len(SEEDS)
        )
        for _, rows in history.groupby("generation"):
            assert rows["text"].str.casefold().is_unique
        assert history.groupby("template")["text"].nunique().eq(1).all()

    @pytest.mark.parametrize("run", ["guided", "random"])
    def test_elites_are_the_best_by_fitness_and_stay(self, evolving: Evolving, run: str) -> None:
        history = evolving.history(run)
        for number, rows in history.groupby("generation"):
            order = rows.assign(rounded=rows["fitness"].round(12)).sort_values(
                ["rounded", "born", "template"], ascending=[False, True, True]
            )
            assert list(order["place"]) == list(range(1, len(SEEDS) + 1))
            assert list(order["elite"]) == [True] * ELITES + [False] * (len(SEEDS) - ELITES)
            following = set(history.loc[history["generation"] == number + 1, "template"])
            assert not following or set(order["template"][:ELITES]) <= following

    def test_the_published_templates_are_the_elites_of_the_last_generation(
        self, evolving: Evolving
    ) -> None:
        history = evolving.history()
        last = history[history["generation"] == GENERATIONS].sort_values("place")
        templates, population = evolving.published("templates"), evolving.published("population")
        chosen = set(templates.loc[templates["set"] == "evolved", "template"])
        templates = templates[templates["set"] == "elites"]
        best = last[last["place"] <= ELITES].set_index("template")
        assert templates.set_index("template")["text"].to_dict() == best["text"].to_dict()
        assert templates.set_index("template")["keying"].to_dict() == best["keying"].to_dict()
        pd.testing.assert_frame_equal(
            population.set_index("id"), last.set_index("id").loc[population["id"]]
        )
        sets = evolving.table(f"{BUILT}/templates").groupby("set")["template"].agg(set).to_dict()
        assert sets == {
            "evolved": chosen,
            "elites": set(best.index),
            "population": set(last["template"]),
        }
        choices = evolving.published("choices").set_index("template")
        assert set(choices.index[choices["chosen"]]) == chosen
        assert set(choices.index) == set(history["template"])
        assert choices.loc[sorted(chosen), "root"].is_unique
        assert choices.loc[sorted(chosen), "refused"].isna().all()

    @pytest.mark.parametrize("run", ["guided", "random"])
    def test_every_lineage_reaches_the_seed_set(self, evolving: Evolving, run: str) -> None:
        history = evolving.history(run)
        known = history.drop_duplicates("template").set_index("template")
        assert (known["born"] > 0).any()
        for slug in known.index:
            row = known.loc[slug]
            while not pd.isna(row["parent"]):
                assert slug == f"g{row['born']}-{slug.split('-')[-1]}"
                parent = known.loc[row["parent"]]
                assert parent["born"] < row["born"]
                assert parent["keying"] == row["keying"]
                slug, row = row["parent"], parent
            assert slug in SEEDS
            assert row["born"] == 0

    def test_how_each_came_about(self, evolving: Evolving) -> None:
        """By hand: one word is another, or something was put before the whole."""
        for run, operation in (("guided", "hotspot"), ("random", "random-word")):
            known = evolving.history(run).drop_duplicates("template").set_index("template")
            born = known[known["born"] > 0]
            assert set(born["operation"]) == {operation, "reword"}
            for row in born.itertuples():
                parent = known.loc[row.parent, "text"]
                if row.operation == "reword":
                    assert row.voice
                    assert (
                        re.fullmatch(rf"It is (\w+) that {re.escape(parent)}", row.text)[1] in SPARE
                    )
                else:
                    spaces = row.text.split(), parent.split()
                    (changed,) = [pair for pair in zip(*spaces, strict=True) if pair[0].lower() not in ("a", "an")
                                  and pair[0] != pair[1]]  # fmt: skip
                    assert changed[0].strip(".,").lower() in WORDS
                    assert changed[1].strip(".,") == row.word

    def test_the_word_that_moves_the_bias_most_is_tried_first_then_the_next(
        self, evolving: Evolving
    ) -> None:
        gradients = evolving.table(f"{BUILT}/gradients").query("run == 'guided'")
        order = (
            gradients.sort_values("gradient", ascending=False, kind="stable")
            .groupby("template")["word"]
            .agg(list)
        )
        tries = evolving.table(f"{BUILT}/tries").query("run == 'guided' and operation == 'hotspot'")
        assert {1, 2} == set(tries["attempt"])
        for row in tries.itertuples():
            assert row.word == order[row.parent][row.attempt - 1]
        known = evolving.history().drop_duplicates("template").set_index("template")
        assert (known["operation"] == "hotspot").any()
        assert list(known["hotspot"]) == [order[template][0] for template in known.index]


class TestFigures:
    def test_biases_are_equation_1_of_what_the_model_scored(self, evolving: Evolving) -> None:
        """Two ways to the same numbers: measured as it evolved, and scored as any benchmark."""
        probes = evolving.table(f"{BUILT}/probes").query("set == 'population'")
        answers = evolving.table("data/answers/probes/tiny-a/likelihoods").query(
            "framing == 'bare'"
        )
        cells = probes.merge(answers[["id", "nats"]], on="id", validate="one_to_one")
        poles = (
            cells.groupby(["template", "attribute", "keying", "pole"])["nats"]
            .mean()
            .unstack("pole")
        )
        expected = (poles[1] - poles[-1]).reset_index("keying")
        expected = expected["keying"] * expected[0]
        biases = (
            evolving.table(f"{BUILT}/biases")
            .query("run == 'guided'")
            .set_index(["template", "attribute"])["bias"]
        )
        assert len(expected) == len(SEEDS) * ATTRIBUTES
        np.testing.assert_allclose(biases.loc[expected.index], expected, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("run", ["guided", "random"])
    def test_fitness_is_equation_2(self, evolving: Evolving, run: str) -> None:
        for _, rows in evolving.history(run).groupby("generation"):
            raw = rows[list(WEIGHTS)]
            spread = raw.max() - raw.min()
            assert (spread > 0).all()
            np.testing.assert_allclose(
                rows["fitness"], ((raw - raw.min()) / spread) @ pd.Series(WEIGHTS), atol=1e-4
            )

    def test_what_a_template_adds_to_alpha_is_minus_that_of_the_others(
        self, evolving: Evolving
    ) -> None:
        for generation in range(GENERATIONS + 1):
            matrix = matrix_of(evolving, "guided", generation)
            rows = evolving.history().query("generation == @generation")
            expected = [
                -np.clip(alpha(matrix.drop(columns=slug)), -1, 1) for slug in rows["template"]
            ]
            np.testing.assert_allclose(
                rows["alpha_contribution"], expected, atol=1e-4
            )  # of rounded numbers

    def test_generations_have_the_figures_of_their_populations(self, evolving: Evolving) -> None:
        generations = evolving.table(f"{TABLES}/generations")
        assert set(generations["benchmark"]) == {EVOLVED}
        assert set(generations["model"]) == {"tiny-a"}
        alphas = generations[generations["figure"] == "alpha"].set_index(["run", "generation"])
        assert list(alphas.index) == [
            (run, n) for run in ("guided", "random") for n in range(GENERATIONS + 1)
        ]
        for run, generation in alphas.index:
            expected = alpha(matrix_of(evolving, run, generation))
            assert alphas.loc[(run, generation), "value"] == pytest.approx(expected)
        assert set(generations["figure"]) == {
            *("alpha", "alpha_at_8", "inter_item_correlation", "first_component_share"),
            *("semantic_diversity", "lexical_diversity"),
        }

    def test_comparisons_with_every_set_of_the_domain_on_both_models(
        self, evolving: Evolving
    ) -> None:
        comparisons = evolving.table(f"{TABLES}/comparisons")
        assert dict(zip(comparisons["model"], comparisons["transfer"], strict=True)) == {
            "tiny-a": False,
            "tiny-b": True,
        }
        found = set(comparisons[["model", "set", "against"]].itertuples(index=False, name=None))
        against = ("validation", "seed", UNREVERSED, BEST_START)
        pairs = [(own, other) for own in ("evolved", "elites") for other in against]
        expected = {
            (model, *pair)
            for model in ("tiny-a", "tiny-b")
            for pair in [*pairs, ("evolved", "elites")]
        }
        assert found == expected | {("tiny-a", own, "random") for own in ("evolved", "population")}

    @pytest.mark.parametrize("model", ["tiny-a", "tiny-b"])
    def test_comparisons_are_of_the_figures_of_both_sets(
        self, evolving: Evolving, model: str
    ) -> None:
        figures = evolving.table(f"{TABLES}/figures").set_index(
            ["benchmark", "part", "model", "figure"]
        )["value"]
        comparisons = evolving.table(f"{TABLES}/comparisons")
        comparisons = comparisons[
            comparisons["against"].isin(["validation", "seed"]) & comparisons["half"].isna()
        ]
        rows = comparisons[
            (comparisons["model"] == model) & comparisons["figure"].isin(["alpha_at_8", "r"])
        ]
        assert len(rows) == 4 * 2
        for row in rows.itertuples():
            assert row.value == pytest.approx(figures[EVOLVED, row.set, model, row.figure])
            assert row.other == pytest.approx(figures[DOMAIN, row.against, model, row.figure])
        np.testing.assert_allclose(rows["difference"], rows["value"] - rows["other"])

    def test_the_ablation_is_the_last_population_of_the_other_run(self, evolving: Evolving) -> None:
        comparisons = evolving.table(f"{TABLES}/comparisons").query(
            "against == 'random' and set == 'population' and figure == 'alpha_at_8'"
        )
        (row,) = comparisons.itertuples()
        for value, run in ((row.value, "guided"), (row.other, "random")):
            matrix = matrix_of(evolving, run, GENERATIONS).corr().to_numpy()
            r = matrix[np.triu_indices(len(matrix), 1)].mean()
            assert value == pytest.approx(8 * r / (1 + 7 * r))

    def test_the_report_has_a_section(self, evolving: Evolving) -> None:
        page = (evolving.clone.folder / "data/report/index.html").read_text()
        assert "How it evolved</h" in page
        assert len(pictures_in(page)) == page.count('class="picture"') == 2 * 5 + 4


def matrix_of(evolving: Evolving, run: str, generation: int) -> pd.DataFrame:
    """Attributes x templates of a population, as it was measured."""
    population = evolving.history(run).query("generation == @generation")["template"]
    biases = evolving.table(f"{BUILT}/biases")
    return biases[biases["run"] == run].pivot(index="attribute", columns="template", values="bias")[
        list(population)
    ]


def alpha(matrix: pd.DataFrame) -> float:
    """Cronbach's, by the book."""
    k = matrix.shape[1]
    return k / (k - 1) * (1 - matrix.var().sum() / matrix.sum(axis=1).var())
