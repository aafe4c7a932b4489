"""Probes through the doors of the protocol, from a declaration to the page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.controls import load_control_pairs
from evenruler.instruments.instrument import ReportInput
from evenruler.instruments.probes.ask import requests
from evenruler.instruments.probes.card import card
from evenruler.instruments.probes.declare import load
from evenruler.instruments.probes.diagnose import TABLES, across, evidence, plots
from evenruler.instruments.probes.evolve import EvolutionResult, evolve, validation
from evenruler.instruments.probes.report import sections
from evenruler.measurement.figures import row_key
from evenruler.report.page import Table
from evenruler.tables import table_of
from tests.instruments.probes.conftest import settings_of
from tests.instruments.probes.whole import (
    EVOLVE,
    EVOLVED,
    RESAMPLING,
    TRADES,
    Everything,
    Whole,
    declared_in,
    diagnosis,
    records,
    replies_of,
    subject,
    whole,
)

BOTH = (TRADES, EVOLVED)


@pytest.fixture(scope="module", autouse=True)
def any_grammar() -> Any:
    """The operator says whatever comes next; which words fit is tested beside `roles`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            validation,
            "same_role",
            lambda *_: True,
        )
        yield


@pytest.fixture(scope="module")
def project(any_grammar: None, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def diagnosed_tables(project: Whole) -> dict[str, pd.DataFrame]:
    frames = {name: project.frames(name) for name in BOTH}
    return diagnosis(records(frames, subject(), subject("other")))


class TestEvolving:
    def test_a_run_that_broke_off_goes_on_after_its_last_whole_generation(
        self, tmp_path: Path
    ) -> None:
        models: list[Everything] = []

        def model(name: str) -> Everything:
            models.append(Everything(name))
            return models[-1]

        def evolve_with(seed: int) -> EvolutionResult:
            settings = {**EVOLVE, "operator": "writer", "seed": seed}
            declaration = declared_in(tmp_path, EVOLVED, evolve=settings)
            replies = replies_of(declaration, tmp_path)
            return evolve(
                declaration,
                model,
                tmp_path / "kept",
                replies,
            )

        first = evolve_with(seed=1)
        assert [loaded.name for loaded in models] == ["toy", "minilm"]  # not the operator
        (path,) = (tmp_path / "kept").iterdir()
        whole_run = path.read_text()
        n_asked, models[:] = sum(loaded.asked for loaded in models), []
        path.write_text("".join(whole_run.splitlines(keepends=True)[:2]))
        again = evolve_with(seed=1)

        assert path.read_text() == whole_run
        assert again.as_yaml() == first.as_yaml()
        assert 0 < sum(loaded.asked for loaded in models) < n_asked
        evolve_with(seed=2)
        assert len(list((tmp_path / "kept").iterdir())) == 2

    def test_with_the_ablation_there_are_two_runs(self, tmp_path: Path) -> None:
        settings = {
            **EVOLVE,
            "generations": 1,
            "ablation": True,
        }
        declaration = declared_in(tmp_path, EVOLVED, evolve=settings)
        evolved = evolve(
            declaration, Everything, tmp_path / "kept", replies_of(declaration, tmp_path)
        )
        assert [line.split(" run")[0] for line in evolved.messages] == ["guided", "random"]
        assert set(evolved.tables["history"]["run"].to_pylist()) == {"guided", "random"}


class TestBuilding:
    def test_tables_of_what_users_wrote(self, project: Whole) -> None:
        tables, plan = project.built[TRADES]
        n_rows = {name: tables[name].num_rows for name in tables}
        assert n_rows == {"probes": 140, "templates": 7, "attributes": 5, "rejected": 0}
        assert plan["prefixes"]["salience+instruction"] == "This is a test. Complete this:"
        assert plan["placebos"] == [f"placebo-{place}" for place in range(1, 6)]
        assert plan["agreement"] == {"unit": "trade", "trait": "men", "reversed": []}
        assert (plan["groups"], plan["headline"]) == (["men", "women"], ["other"])
        assert plan["choice"]["pairs"] == [["man", "woman"], ["uncle", "girl"]]
        assert plan["choice"]["known"] == load_control_pairs()

    def test_what_evolved_comes_with_its_history(self, project: Whole) -> None:
        tables, plan = project.frames(EVOLVED)
        population, choices = tables["population"], tables["choices"]
        texts = tables["templates"].groupby("set")["text"].apply(set)
        assert set(population["generation"]) == {2}
        assert texts["population"] == set(population["text"])
        assert texts["elites"] == set(population.loc[population["elite"], "text"])
        evolved = tables["templates"].query("set == 'evolved'")
        assert set(choices.loc[choices["chosen"], "template"]) == set(evolved["template"])
        assert plan["evolved"] == {"of": "trades", "model": "toy", "start": "seed"}


class TestAsking:
    def test_all_sentences_and_templates_are_asked_at_once(self, project: Whole) -> None:
        tables, plan = project.frames(TRADES)
        likelihoods, starts, embeddings = requests(
            tables,
            plan,
            {},
            subject(),
        )
        before = dict(zip(likelihoods.rows["framing"], likelihoods.inputs["before"], strict=True))
        assert before == {"bare": "", **plan["prefixes"]}
        assert starts.settings == {"other_start": True}
        again = tables["probes"].set_index("id").loc[starts.rows["id"]]
        assert not again["control"].any()
        # Templates of two and of five, all five attributes, all targets.
        counts = again.groupby("set")[["template", "attribute", "target"]].nunique()
        assert counts.loc["other"].tolist() == [2, 5, 4]
        assert counts.loc["seed"].tolist() == [4, 5, 4]
        assert (embeddings.by, len(embeddings.rows)) == ("minilm", 7)
        assert "The someone is a someone." in embeddings.inputs["text"]

    def test_nothing_is_asked_twice(self, project: Whole) -> None:
        tables, plan = project.frames(TRADES)
        answers = {request.table: request.rows for request in requests(tables, plan, {}, subject())}
        assert requests(tables, plan, answers, subject()) == []
        del answers["embeddings"]
        (left,) = requests(
            tables,
            plan,
            answers,
            subject(),
        )
        assert left.table == "embeddings"

    def test_what_is_not_asked(self, project: Whole) -> None:
        tables, plan = project.frames(TRADES)
        (embeddings,) = requests(
            tables,
            plan,
            {},
            subject("writer", "generate"),
        )
        assert embeddings.table == "embeddings"
        likelihoods, *_ = requests(
            tables,
            {**plan, "prefixed": 0},
            {},
            subject(),
        )
        assert set(likelihoods.rows["framing"]) == {"bare"}
        nothing = {name: rows.head(0) for name, rows in tables.items()}
        assert requests(nothing, plan, {}, subject()) == []


class TestDiagnosing:
    def test_every_table_is_by_its_schema(
        self, diagnosed_tables: Mapping[str, pd.DataFrame]
    ) -> None:
        for name, schema in TABLES.items():
            table = table_of(diagnosed_tables[name][schema.names], schema)
            # Trades have no sentences that end before a noun; test_planted.py has the table.
            assert (table.num_rows > 0) == (name != "reference"), name

    @pytest.mark.slow
    def test_figures_are_the_same_from_what_is_published_alone(
        self, project: Whole, diagnosed_tables: Mapping[str, pd.DataFrame]
    ) -> None:
        frames = {}
        for name in BOTH:
            tables, plan = project.frames(name)
            configs = card(project.declared[name], tables, plan, []).configs
            published = {config.name: tables[config.name] for config in configs}
            frames[name] = (published, json.loads(json.dumps(plan)))
        again = diagnosis(records(frames, subject(), subject("other")))
        for name in TABLES:
            pd.testing.assert_frame_equal(again[name], diagnosed_tables[name])

    def test_nobody_has_no_figures(self) -> None:
        assert across([], RESAMPLING) == {}
        nothing = {name: pd.DataFrame() for name in TABLES}
        assert evidence(nothing) == {}
        assert all(frame.empty for frame in plots(nothing).values())

    def test_evidence_has_each_row_once(self, diagnosed_tables: Mapping[str, pd.DataFrame]) -> None:
        shown = evidence(diagnosed_tables)
        for name in BOTH:
            keys = list(map(row_key, shown[name]))
            assert len(keys) == len(set(keys))
        rows = [row for row in shown[TRADES] if row["set"] == "seed"]
        assert {row["model"] for row in rows} == {None, "other", "toy"}
        templates = {row.get("template") for row in rows}
        assert templates == {None, "typical", "story", "met", "job", "seems"}


class TestCards:
    @pytest.mark.parametrize("name", BOTH)
    def test_the_example_is_a_row_of_the_first_table(self, project: Whole, name: str) -> None:
        tables, plan = project.frames(name)
        shown = card(
            project.declared[name],
            tables,
            plan,
            [],
        )
        rows = tables[shown.configs[0].name].set_index("id")
        assert shown.example is not None
        assert not rows.loc[shown.example.id, "control"]
        assert list(shown.configs[0].first) == ["text"]

    def test_of_what_users_wrote(self, project: Whole) -> None:
        shown = card(
            project.declared[TRADES],
            *project.frames(TRADES),
            [],
        )
        assert [config.name for config in shown.configs] == ["probes", "templates", "attributes"]
        assert "positive means closer to men" in shown.reading
        assert shown.parameters == {"article": "agree"}
        assert shown.harness_task == "probes_trades"

    def test_of_what_evolved(self, project: Whole) -> None:
        shown = card(
            project.declared[EVOLVED],
            *project.frames(EVOLVED),
            [],
        )
        names = [config.name for config in shown.configs]
        assert names[0] == "templates"
        assert set(names) == set(project.built[EVOLVED][0]) - {"rejected"}
        assert "evolved from the set `seed` over 2 generations" in shown.reading
        assert "{" not in shown.reading
        assert (shown.parameters["of"], shown.parameters["generations"]) == ("trades", 2)


@pytest.mark.slow
def test_the_page_has_a_section_a_set_and_one_for_what_evolved(
    project: Whole, diagnosed_tables: Mapping[str, pd.DataFrame]
) -> None:
    declared = project.declared
    shown = sections(
        ReportInput(
            sources={name: declared[name].source for name in BOTH},
            settings={name: declared[name].settings for name in BOTH},
            tables=diagnosed_tables,
            built={name: project.frames(name)[0] for name in BOTH},
        )
    )
    assert [(section.title, section.instrument) for section in shown] == [
        ("The sets of templates", TRADES),
        ("The sets of templates", EVOLVED),
        ("How it evolved", EVOLVED),
    ]
    (last,) = [part for part in shown[2].parts if part.title == "The last population"]
    assert isinstance(last, Table)
    assert {row[0] for row in last.rows} == {"guided"}
    assert len(last.rows) == 5


def test_what_evolved_is_read_whatever_its_words_look_like(project: Whole, tmp_path: Path) -> None:
    """Words that other YAML takes for truth values, numbers or markup."""
    texts = {"a": 'No: {ATTRIBUTE} # "is" a {TARGET}.', "b": "- {TARGET}: {ATTRIBUTE}, 'yes'."}
    source = project.evolved.source
    template = next(iter(source.sets["evolved"].templates.values()))
    entries = {slug: template.model_copy(update={"text": text}) for slug, text in texts.items()}
    sets = {
        name: template_set.model_copy(update={"templates": entries})
        for name, template_set in source.sets.items()
    }
    words = {word: word for word in ("no", "911", "on")}
    odd = source.model_copy(update={"sets": sets, "attributes": words, "criterion": None})
    text = type(project.evolved)(odd, {}, []).as_yaml()
    assert "criterion" not in text  # what there is none of is left out
    path = tmp_path / "source.yaml"
    path.write_text(text)
    assert load(path, settings_of(evolve=EVOLVE), tmp_path).model_dump() == odd.model_dump()
