"""Generations as lines and tables, of whole evolutions on a toy model and of one written down
here."""

from dataclasses import asdict, replace

import pandas as pd
import pytest

from evenruler.instruments.probes.evolve import LINES, EvolutionRun, tables_of
from evenruler.instruments.probes.evolve.population import (
    Generation,
    RewordingAttempt,
    Template,
    TemplateMeasurement,
    WordGradient,
)
from evenruler.instruments.probes.schemas import GUIDED
from evenruler.tables import round_significant
from tests.instruments.probes.evolve.test_evolution import START, evolution, lines
from tests.instruments.probes.evolve.toy import attempts_of

SHARED = {"source": "the file", "licence": "cc-by-4.0", "variant": "full"}

OLD = Template("typical", "A typical {ATTRIBUTE} is a {TARGET}.", 1)
CHILD = Template(
    "g1-1", "A usual {ATTRIBUTE} is a {TARGET}.", 1, 1, "typical", "hotspot", None, "typical"
)
ODD = [
    0.1 + 0.2,
    -0.0,
    5e-324,
    1 / 3,
    -1e308,
]
"""Numbers that are easily not quite the same again."""
NASTY = "a\nb\r\n\x00\x1c\x85\u2028\u2029 \"{'} \U0001f600 \\n"
"""Whatever some reader takes for the end of a line."""


def one_generation(**changes: object) -> Generation:
    tried = RewordingAttempt(
        1, 1, 1, 1, "typical", "hotspot", None, "typical", "ask " + NASTY, NASTY, None, "no text"
    )
    measured = TemplateMeasurement(
        tuple(ODD),
        (WordGradient(2, "typical", ODD[0]),),
        44,
    )
    generation = Generation(
        1,
        (OLD, CHILD),
        (measured, measured),
        (ODD[3], -2.5),
        (tried,),
    )
    return replace(generation, **changes)


def table(name: str, run: EvolutionRun, benchmark: str = "trades-evolved") -> pd.DataFrame:
    return tables_of(run, ["baker", "engineer"], benchmark, SHARED)[name]


@pytest.fixture(scope="module")
def run() -> EvolutionRun:
    """A whole evolution; its templates and biases are what the toy model says."""
    guided = evolution()
    return EvolutionRun(
        GUIDED,
        guided,
        tuple(guided.generations(START)),
    )


@pytest.fixture(scope="module")
def history(run: EvolutionRun) -> pd.DataFrame:
    return table("history", run)


class TestLines:
    def test_a_line_makes_the_same_generation_again(self) -> None:
        generation = one_generation()
        (line,) = lines([generation])
        assert "\n" not in line
        again = LINES.validate_json(line)
        assert again == generation
        biases = again.measured[0].biases
        assert list(map(float.hex, biases)) == list(map(float.hex, ODD))
        assert again.tries[0].reply == NASTY


class TestHistory:
    def test_one_row_per_generation_and_template(
        self, run: EvolutionRun, history: pd.DataFrame
    ) -> None:
        expected = []
        for generation in run.generations:
            for template in generation.population:
                expected.append([generation.number, *asdict(template).values()])
        columns = ["generation", *asdict(OLD)]
        rows = history.rename(columns={"template": "slug"})[columns].astype(object)
        assert rows.where(rows.notna(), None).to_numpy().tolist() == expected
        assert set(history["run"]) == {GUIDED}


def test_every_reply_is_a_row_with_what_became_of_it(
    run: EvolutionRun, history: pd.DataFrame
) -> None:
    tries = table("tries", run)
    attempts = attempts_of(run)
    assert tries["reply"].tolist() == [attempt.reply for attempt in attempts]
    assert tries["accepted"].tolist() == [attempt.reason is None for attempt in attempts]
    assert set(tries["operator"]) == {"scripted"}
    assert not tries.duplicated(["run", "generation", "place", "attempt", "sample"]).any()
    born = history[history["born"] > 0].drop_duplicates("template")
    taken = tries.loc[tries["accepted"], "text"]
    assert sorted(taken) == sorted(born["text"])


def test_gradients_are_those_of_each_word_in_order(run: EvolutionRun) -> None:
    gradients = table("gradients", run).set_index("template")
    for slug, measured in run.measured():
        rows = gradients.loc[[slug], ["place", "word", "gradient", "begin"]]
        expected = [
            (place, word.word, round_significant(word.gradient), word.begin)
            for place, word in enumerate(measured.gradients, 1)
        ]
        assert list(rows.itertuples(index=False, name=None)) == expected


def test_rows_have_names_of_their_own(run: EvolutionRun, history: pd.DataFrame) -> None:
    assert history["id"].is_unique
    other = table("history", run, "other-evolved")
    assert list(history["content_sha256"]) == list(other["content_sha256"])
    for rows in (other, table("history", replace(run, name="random"))):
        assert set(history["id"]).isdisjoint(rows["id"])
    for column, shared in {**SHARED, "framing": "bare"}.items():
        assert set(history[column]) == {shared}


def test_last_bits_are_in_no_table_and_in_no_hash(run: EvolutionRun, history: pd.DataFrame) -> None:
    """As another processor gives them; fitness is computed anew."""

    def moved(measured: TemplateMeasurement) -> TemplateMeasurement:
        gradients = tuple(
            replace(word, gradient=word.gradient + 1e-13) for word in measured.gradients
        )
        biases = tuple(bias * (1 + 1e-13) for bias in measured.biases)
        return replace(measured, biases=biases, gradients=gradients)

    def moved_generation(generation: Generation) -> Generation:
        acceptability = tuple(nats - 1e-13 for nats in generation.acceptability)
        measured = tuple(map(moved, generation.measured))
        return replace(generation, measured=measured, acceptability=acceptability)

    other = replace(run, generations=tuple(map(moved_generation, run.generations)))
    assert other.generations != run.generations
    pd.testing.assert_frame_equal(
        table("history", other),
        history,
        check_exact=True,
    )
    for name in ("gradients", "biases"):
        pd.testing.assert_frame_equal(
            table(name, other),
            table(name, run),
            check_exact=True,
        )
