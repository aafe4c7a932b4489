"""Generations as lines and tables, of whole evolutions on a toy model and of one written down
here."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.declare.settings import FitnessWeights
from evenruler.instruments.probes.evolve import LINES, EvolutionRun, tables_of
from evenruler.instruments.probes.evolve.fitness import fitness
from evenruler.instruments.probes.evolve.population import (
    Generation,
    RewordingAttempt,
    Template,
    TemplateMeasurement,
    WordGradient,
)
from evenruler.instruments.probes.schemas import GUIDED
from evenruler.tables import read_frame, round_significant, write_table
from tests.instruments.probes.evolve.test_evolution import START, evolution, lines

SHARED = {"source": "the file", "licence": "cc-by-4.0", "variant": "full"}
PARTS = ["alpha_contribution", "gradient_focus", "semantic_diversity", "lexical_diversity"]
ADDED = ["alpha_part", "gradient_part", "semantic_part", "lexical_part"]

OLD = Template("typical", "A typical {ATTRIBUTE} is a {TARGET}.", 1)
CHILD = Template(
    "g1-1", "A usual {ATTRIBUTE} is a {TARGET}.", 1, 1, "typical", "hotspot", None, "typical"
)
ODD = [0.1 + 0.2, -0.0, 5e-324, 1 / 3, -1e308]
"""Numbers that are easily not quite the same again."""
NASTY = "a\nb\r\n\x00\x1c\x85\u2028\u2029 \"{'} \U0001f600 \\n"
"""Whatever some reader takes for the end of a line."""


def one_generation(**changes: object) -> Generation:
    tried = RewordingAttempt(
        1, 1, 1, 1, "typical", "hotspot", None, "typical", "ask " + NASTY, NASTY, None, "no text"
    )
    measured = TemplateMeasurement(tuple(ODD), (WordGradient(2, "typical", ODD[0]),), 44)
    return replace(
        Generation(1, (OLD, CHILD), (measured, measured), (ODD[3], -2.5), (tried,)), **changes
    )


def table(
    name: str, run: EvolutionRun, benchmark: str = "trades-evolved", attributes: int = 2
) -> pd.DataFrame:
    return tables_of(run, ["baker", "engineer"][:attributes], benchmark, SHARED)[name]


@pytest.fixture(scope="module")
def run() -> EvolutionRun:
    """A whole evolution; its templates and biases are what the toy model says."""
    made = evolution()
    return EvolutionRun(GUIDED, made, tuple(made.generations(START)))


@pytest.fixture(scope="module")
def history(run: EvolutionRun) -> pd.DataFrame:
    return table("history", run)


class TestLines:
    def test_a_line_makes_the_same_generation_again(self) -> None:
        generation = one_generation()
        again = LINES.validate_json(*lines([generation]))
        assert again == generation
        assert [value.hex() for value in again.measured[0].biases] == [value.hex() for value in ODD]
        assert again.tries[0].reply == NASTY

    def test_generations_of_a_run_come_back(self, run: EvolutionRun) -> None:
        assert tuple(map(LINES.validate_json, lines(run.generations))) == run.generations

    def test_it_is_one_line(self) -> None:
        assert "\n" not in lines([one_generation()])[0]

    @pytest.mark.parametrize("kept", [0, 1, 100, -1])
    def test_half_a_line_is_none(self, kept: int) -> None:
        with pytest.raises(ValueError, match="JSON"):
            LINES.validate_json(lines([one_generation()])[0][:kept])

    def test_a_line_of_something_else_is_none(self) -> None:
        with pytest.raises(ValueError, match="number"):
            LINES.validate_json("{}")


class TestRun:
    def test_every_template_is_measured_once(self, run: EvolutionRun) -> None:
        found = dict(run.measured())
        assert len(found) == len(run.measured())
        assert set(found) == {
            template.slug for generation in run.generations for template in generation.population
        }

    def test_in_words(self) -> None:
        of_old, of_child = (
            TemplateMeasurement((0.0,), (), 1200),
            TemplateMeasurement((0.0,), (), 34),
        )
        taken = replace(one_generation().tries[0], text=CHILD.text, reason=None)
        generations = (
            Generation(0, (OLD,), (of_old,), (-1.0,), ()),
            one_generation(measured=(of_old, of_child), tries=(taken, *one_generation().tries * 2)),
        )
        run = EvolutionRun(GUIDED, evolution(), generations)
        assert run.in_words == "guided run: 1 generations, 1 of 3 replies taken, 1,234 sentences"


class TestHistory:
    def test_one_row_per_generation_and_template(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        expected = [
            (generation.number, *asdict(template).values())
            for generation in run.generations
            for template in generation.population
        ]
        columns = [
            "generation",
            "template",
            "text",
            "keying",
            "born",
            "parent",
            "operation",
            "voice",
            "word",
        ]
        found = history[columns].astype(object).where(history[columns].notna(), None)
        assert list(found.itertuples(index=False, name=None)) == expected
        assert set(history["run"]) == {GUIDED}

    def test_places_and_elites_are_by_fitness(self, history: pd.DataFrame) -> None:
        for _, rows in history.groupby("generation"):
            best_first = rows.sort_values("place")
            assert list(best_first["place"]) == list(range(1, len(START) + 1))
            assert (np.diff(best_first["fitness"]) <= 1e-12).all()
            assert list(best_first["elite"]) == [True] * 2 + [False] * 3

    def test_elites_are_in_the_next_generation(self, history: pd.DataFrame) -> None:
        for number, rows in history.groupby("generation"):
            following = history[history["generation"] == number + 1]
            if len(following):
                assert set(rows.loc[rows["elite"], "template"]) <= set(following["template"])

    def test_fitness_is_that_of_its_population_and_the_sum_of_its_parts(
        self, history: pd.DataFrame
    ) -> None:
        for _, rows in history.groupby("generation"):
            np.testing.assert_allclose(
                rows["fitness"], fitness(rows[PARTS], FitnessWeights())["fitness"], atol=1e-5
            )
            np.testing.assert_allclose(rows[ADDED].sum(axis=1), rows["fitness"], atol=1e-5)
        assert (history[ADDED].max() <= [0.2, 0.1, 0.4, 0.3]).all()

    def test_parts_add_up_whatever_the_weights_add_up_to(self) -> None:
        weights = {"alpha": 3, "gradient_focus": 1, "semantic_diversity": 0, "lexical_diversity": 4}
        made = evolution(weights=weights)
        rows = made.appraised(next(iter(made.generations(START))))
        np.testing.assert_allclose(rows[ADDED].sum(axis=1), rows["fitness"], atol=1e-5)
        assert rows["semantic_part"].eq(0).all()
        assert (rows[ADDED].max() <= [3 / 8, 1 / 8, 0, 1 / 2]).all()

    def test_sentences_count_where_a_template_is_new(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        new = history["born"] == history["generation"]
        measured = dict(run.measured())
        assert list(history.loc[new, "sentences"]) == [
            measured[slug].sentences for slug in history.loc[new, "template"]
        ]
        assert history.loc[~new, "sentences"].eq(0).all()
        assert (~new).any()

    def test_the_hotspot_is_the_word_that_moves_the_bias_most(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        measured = dict(run.measured())
        for row in history.itertuples():
            gradients = measured[row.template].gradients
            most = max(word.gradient for word in gradients)
            assert row.hotspot in {word.word for word in gradients if word.gradient >= most - 1e-12}
        assert history["hotspot"].nunique() > 1

    def test_a_template_without_words_has_no_hotspot(self) -> None:
        bare = TemplateMeasurement((0.5, 1.0), (), 4)
        made = evolution()
        generation = Generation(0, START, (bare,) * len(START), (-1.0,) * len(START), ())
        assert table("history", EvolutionRun(GUIDED, made, (generation,)))["hotspot"].isna().all()


class TestTries:
    def test_every_reply_with_what_became_of_it(self, run: EvolutionRun) -> None:
        found = table("tries", run)
        replies = [one for generation in run.generations for one in generation.tries]
        assert list(found["reply"]) == [one.reply for one in replies]
        assert list(found["accepted"]) == [one.reason is None for one in replies]
        assert set(found["operator"]) == {"scripted"}
        places = ["run", "generation", "place", "attempt", "sample"]
        assert not found.duplicated(places).any()

    def test_those_that_were_taken_are_the_new_templates(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        found = table("tries", run)
        taken = found[found["accepted"]]
        slugs = [f"g{row.generation}-{row.place}" for row in taken.itertuples()]
        texts = history.drop_duplicates("template").set_index("template")["text"]
        assert (
            dict(zip(slugs, taken["text"], strict=True))
            == texts[texts.index.str.startswith("g")].to_dict()
        )

    def test_an_evolution_without_any_has_no_rows(self) -> None:
        first = next(iter(evolution().generations(START)))
        found = table("tries", EvolutionRun(GUIDED, evolution(), (first,)))
        assert len(found) == 0
        assert set(schemas.TRIES.names) <= set(found.columns)


class TestMeasurements:
    def test_gradients_are_those_of_each_word_in_order(self, run: EvolutionRun) -> None:
        found = table("gradients", run)
        for slug, measured in run.measured():
            rows = found[found["template"] == slug]
            assert list(rows["place"]) == list(range(1, len(measured.gradients) + 1))
            assert list(rows["word"]) == [word.word for word in measured.gradients]
            assert list(rows["gradient"]) == [
                round_significant(word.gradient) for word in measured.gradients
            ]
            assert list(rows["begin"]) == [word.begin for word in measured.gradients]

    def test_biases_are_those_of_each_attribute(self, run: EvolutionRun) -> None:
        found = table("biases", run)
        assert len(found) == 2 * len(run.measured())
        wide = found.pivot(index="template", columns="attribute", values="bias")
        for slug, measured in run.measured():
            assert tuple(wide.loc[slug, ["baker", "engineer"]]) == tuple(
                map(round_significant, measured.biases)
            )

    def test_an_attribute_too_few_is_no_table(self, run: EvolutionRun) -> None:
        with pytest.raises(ValueError, match="zip"):
            table("biases", run, attributes=1)


class TestTables:
    @pytest.mark.parametrize("name", ["history", "tries"])
    def test_rows_have_names_of_their_own(self, run: EvolutionRun, name: str) -> None:
        found = table(name, run)
        assert found["id"].is_unique
        other = table(name, run, "other-evolved")
        assert set(found["id"]).isdisjoint(other["id"])
        assert list(found["content_sha256"]) == list(other["content_sha256"])
        ablation = table(name, replace(run, name="random"))
        assert set(found["id"]).isdisjoint(ablation["id"])
        assert set(found["framing"]) == {"bare"}
        assert {column: set(found[column]) for column in SHARED} == {
            key: {value} for key, value in SHARED.items()
        }

    def test_another_text_keeps_the_name_and_changes_the_checksum(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        first = run.generations[0]
        edited = (
            replace(first.population[0], text="Another {ATTRIBUTE} is a {TARGET}."),
            *first.population[1:],
        )
        other = replace(run, generations=(replace(first, population=edited), *run.generations[1:]))
        found = table("history", other)
        assert list(found["id"]) == list(history["id"])
        assert found["content_sha256"].iloc[0] != history["content_sha256"].iloc[0]

    @pytest.mark.parametrize("kind", ["history", "tries", "gradients", "biases"])
    @pytest.mark.parametrize("whole", [True, False])
    def test_they_fit_their_schemas(
        self, run: EvolutionRun, tmp_path: Path, kind: str, whole: bool
    ) -> None:
        """Also those of a generation 0 alone, which has no lineage and no tries."""
        own = run if whole else replace(run, generations=run.generations[:1])
        made = table(kind, own)
        schema: pa.Schema = {
            "history": schemas.HISTORY,
            "tries": schemas.TRIES,
            "gradients": schemas.GRADIENTS,
            "biases": schemas.OWN_BIASES,
        }[kind]
        write_table(made[schema.names], schema, tmp_path / "table.parquet")
        again = read_frame(tmp_path / "table.parquet")
        assert list(again.columns) == schema.names
        assert len(again) == len(made)


def test_last_bits_are_in_no_table_and_in_no_hash(run: EvolutionRun, history: pd.DataFrame) -> None:
    """As another processor gives them; fitness is computed anew."""

    def moved(measured: TemplateMeasurement) -> TemplateMeasurement:
        gradients = tuple(
            replace(word, gradient=word.gradient + 1e-13) for word in measured.gradients
        )
        return replace(
            measured,
            biases=tuple(bias * (1 + 1e-13) for bias in measured.biases),
            gradients=gradients,
        )

    generations = tuple(
        replace(
            each,
            measured=tuple(map(moved, each.measured)),
            acceptability=tuple(value - 1e-13 for value in each.acceptability),
        )
        for each in run.generations
    )
    other = replace(run, generations=generations)
    assert other.generations != run.generations
    pd.testing.assert_frame_equal(table("history", other), history, check_exact=True)
    pd.testing.assert_frame_equal(
        table("gradients", other),
        table("gradients", run),
        check_exact=True,
    )
    first, second = (table("biases", each) for each in (other, run))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
