"""Probes through the doors of the protocol, from a declaration to the page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.controls import load_control_pairs
from evenruler.instruments.instrument import Declaration, ReportInput
from evenruler.instruments.probes.ask import after_prefixes, requests, scores
from evenruler.instruments.probes.card import card
from evenruler.instruments.probes.declare import load
from evenruler.instruments.probes.diagnose import TABLES, across, evidence, plots
from evenruler.instruments.probes.evolve import evolve, validation
from evenruler.instruments.probes.report import sections
from evenruler.instruments.probes.rows import build
from evenruler.instruments.probes.schemas import BEST_START, UNREVERSED
from evenruler.measurement.sentences import with_capital
from evenruler.models.declarations import Catalogue
from evenruler.report.page import Picture
from evenruler.tables import table_of
from tests.instruments.probes.conftest import settings_of
from tests.instruments.probes.whole import (
    EVOLVE,
    EVOLVED,
    RESAMPLING,
    TRADES,
    Everything,
    Whole,
    answered,
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
        patch.setattr(validation, "same_role", lambda *_: True)
        yield


@pytest.fixture(scope="module")
def made(any_grammar: None, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def found(made: Whole) -> dict[str, pd.DataFrame]:
    frames = {name: made.frames(name) for name in BOTH}
    return diagnosis(records(frames, subject(), subject("other")))


class TestEvolving:
    def test_what_evolved_is_a_source_of_its_own(self, made: Whole) -> None:
        source = made.declared[EVOLVED].source
        assert source.title == "Trades, evolved"
        assert {name: len(each.templates) for name, each in source.sets.items()} == {
            "evolved": 2,
            "elites": 2,
            "population": 5,
        }
        assert source.published == made.declared[TRADES].source.published
        assert source.model_dump() == made.evolved.source.model_dump()

    def test_it_says_what_it_took(self, made: Whole) -> None:
        (line,) = made.evolved.said
        assert line.startswith("guided run: 2 generations, 6 of ")

    def test_a_run_that_broke_off_goes_on_after_its_last_whole_generation(
        self, tmp_path: Path
    ) -> None:
        declaration = declared_in(tmp_path, EVOLVED, evolve=EVOLVE)
        models: list[Everything] = []

        def model(name: str) -> Everything:
            models.append(Everything(name))
            return models[-1]

        replies = replies_of(declaration, tmp_path)
        first = evolve(declaration, model, tmp_path / "kept", replies)
        (path,) = (tmp_path / "kept").iterdir()
        whole_run = path.read_text()
        asked, models[:] = sum(one.asked for one in models), []
        path.write_text("".join(whole_run.splitlines(keepends=True)[:2]))
        again = evolve(declaration, model, tmp_path / "kept", replies)

        assert path.read_text() == whole_run
        assert again.as_yaml() == first.as_yaml()
        assert {
            name: rows.equals(first.tables[name]) for name, rows in again.tables.items()
        } == dict.fromkeys(("choices", "history", "tries", "gradients", "biases"), True)
        assert 0 < sum(one.asked for one in models) < asked

    def test_the_operator_is_not_even_loaded(self, tmp_path: Path) -> None:
        declaration = declared_in(tmp_path, EVOLVED, evolve={**EVOLVE, "operator": "writer"})
        replies, loaded = replies_of(declaration, tmp_path), list[str]()
        evolve(
            declaration,
            lambda name: loaded.append(name) or Everything(name),
            tmp_path / "kept",
            replies,
        )
        assert loaded == ["toy", "minilm"]

    def test_without_replies_it_says_what_to_run(self, tmp_path: Path) -> None:
        declaration = declared_in(tmp_path, EVOLVED, evolve=EVOLVE)
        with pytest.raises(
            UserError,
            match=r"trades-evolved.jsonl: no replies .*run `evenruler evolve trades-evolved`",
        ):
            evolve(declaration, Everything, tmp_path / "kept", tmp_path / "trades-evolved.jsonl")

    def test_other_settings_begin_anew(self, tmp_path: Path) -> None:
        for seed in (1, 2):
            declaration = declared_in(tmp_path, EVOLVED, evolve={**EVOLVE, "seed": seed})
            evolve(declaration, Everything, tmp_path / "kept", replies_of(declaration, tmp_path))
        assert len(list((tmp_path / "kept").iterdir())) == 2

    def test_with_the_ablation_there_are_two_runs(self, tmp_path: Path) -> None:
        declaration = declared_in(tmp_path, EVOLVED, evolve={**EVOLVE, "ablation": True})
        found = evolve(
            declaration, Everything, tmp_path / "kept", replies_of(declaration, tmp_path)
        )
        assert [line.split(" run")[0] for line in found.said] == ["guided", "random"]
        assert set(found.tables["history"]["run"].to_pylist()) == {"guided", "random"}


class TestBuilding:
    def test_tables_of_what_users_wrote(self, made: Whole) -> None:
        tables, plan = made.built[TRADES]
        assert {name: rows.num_rows for name, rows in tables.items()} == {
            "probes": 7 * 5 * 4,
            "templates": 7,
            "attributes": 5,
            "rejected": 0,
        }
        assert plan == {
            "name": "trades",
            "embedder": "minilm",
            "prefixed": 3,
            "prefixed_templates": 3,
            "prefixed_targets": 2,
            "prefixes": {
                "salience": "This is a test.",
                "instruction": "Complete this:",
                "salience+instruction": "This is a test. Complete this:",
                "placebo-1": "It rained.",
                "placebo-2": "Trains left.",
                "placebo-3": "The shop opens.",
                "placebo-4": "A book lies here.",
                "placebo-5": "Read on.",
            },
            "placebos": [f"placebo-{place}" for place in range(1, 6)],
            "placebo_attributes": 0,
            "placebo_lists": {},
            "rivals": {},
            "groups": ["men", "women"],
            "targets": {
                "men": {"man": "man", "uncle": "uncle"},
                "women": {"woman": "woman", "girl": "girl"},
            },
            "choice": {
                "pairs": [["man", "woman"], ["uncle", "girl"]],
                "placebo_pairs": [],
                "known": load_control_pairs(),
            },
            "choice_attributes": 22,
            "choice_templates": 2,
            "choice_placebo_templates": 0,
            "written": None,
            "written_prompts": 1,
            "concept": {"of": "trade", "trait": "men", "reversed": []},
            "headline": ["other"],
            "reliability": 0.6,
            "descriptive": [],
        }

    def test_the_plan_carries_what_verdicts_rest_on(self, made: Whole) -> None:
        own = made.declared[TRADES]
        settings = own.settings.model_copy(
            update={"headline": ["seed"], "placebo_attributes": 4, "reliability": 0.75}
        )
        plan = build(
            Declaration(own.name, own.family, settings, own.source), Catalogue(models={})
        ).plan
        changed = {"headline": ["seed"], "placebo_attributes": 4, "reliability": 0.75}
        assert plan == made.built[TRADES][1] | changed

    def test_a_source_without_prefixes_has_none_in_its_plan(self, made: Whole) -> None:
        own = made.declared[TRADES]
        source = own.source.model_copy(update={"framings": None})
        plan = build(
            Declaration(own.name, own.family, own.settings, source), Catalogue(models={})
        ).plan
        assert (plan["prefixes"], plan["placebos"]) == ({}, [])

    def test_what_evolved_comes_with_its_history(self, made: Whole) -> None:
        tables, plan = made.built[EVOLVED]
        assert set(tables) == {
            *("probes", "templates", "attributes", "rejected"),
            *("population", "history", "tries", "gradients", "biases", "choices"),
        }
        assert set(tables["templates"]["set"].to_pylist()) == {"evolved", "elites", "population"}
        population = tables["population"].to_pandas()
        assert set(population["generation"]) == {2}
        own = tables["templates"].to_pandas()
        assert set(population["text"]) == set(own.loc[own["set"] == "population", "text"])
        assert set(population.loc[population["elite"], "text"]) == set(
            own.loc[own["set"] == "elites", "text"]
        )
        choices = tables["choices"].to_pandas()
        assert set(choices.loc[choices["chosen"], "template"]) == set(
            own.loc[own["set"] == "evolved", "template"]
        )
        assert plan["evolved"] == {"of": "trades", "model": "toy", "start": "seed"}

    def test_other_words_of_a_card_leave_the_plan_as_it_is(self, made: Whole) -> None:
        own = made.declared[TRADES]
        other = own.source.model_copy(
            update={"title": "Else", "direction": "else", "limits": ["One."]}
        )
        changed = build(
            Declaration(own.name, own.family, own.settings, other), Catalogue(models={})
        )
        assert changed.plan == made.built[TRADES][1]

    def test_the_plan_is_json(self, made: Whole) -> None:
        for _, plan in made.built.values():
            assert json.loads(json.dumps(plan)) == plan


class TestAsking:
    def test_all_sentences_and_templates_are_asked_at_once(self, made: Whole) -> None:
        tables, plan = made.frames(TRADES)
        likelihoods, starts, embeddings = requests(tables, plan, {}, subject())

        assert (likelihoods.table, likelihoods.operation, likelihoods.by) == (
            "likelihoods",
            "loglikelihood",
            "",
        )
        assert likelihoods.rows.groupby("framing").size().to_dict() == {
            "bare": 140,
            **dict.fromkeys(
                plan["prefixes"], 60
            ),  # three attributes, two and three templates, four targets
        }
        assert len(plan["prefixes"]) == 8
        before = dict(zip(likelihoods.rows["framing"], likelihoods.inputs["before"], strict=True))
        assert before == {"bare": "", **plan["prefixes"]}
        assert (starts.table, starts.operation, starts.settings) == (
            "starts",
            "loglikelihood",
            {"other_start": True},
        )
        scored = tables["probes"][~tables["probes"]["control"]]
        again = scored[scored["id"].isin(starts.rows["id"])]
        assert len(again) == len(starts.rows)
        assert again.groupby("set")["template"].nunique().to_dict() == {
            "other": 2,
            "seed": 4,
        }  # of two and of five
        assert set(again["attribute"]) == set(scored["attribute"])  # fewer than twelve
        assert set(again["target"]) == set(scored["target"])
        assert (embeddings.table, embeddings.operation, embeddings.by) == (
            "embeddings",
            "embed",
            "minilm",
        )
        assert "The someone is a someone." in embeddings.inputs["text"]
        assert len(embeddings.rows) == 7

    def test_of_what_evolved_all_that_ever_lived_is_embedded(self, made: Whole) -> None:
        tables, plan = made.frames(EVOLVED)
        embeddings = requests(tables, plan, {}, subject())[-1]
        assert len(embeddings.rows) == tables["history"]["text"].nunique() > 5

    def test_nothing_is_asked_twice(self, made: Whole) -> None:
        tables, plan = made.frames(TRADES)
        everything = requests(tables, plan, {}, subject())
        answers = {request.table: request.rows for request in everything}
        assert requests(tables, plan, answers, subject()) == []
        (left,) = requests(
            tables, plan, {name: answers[name] for name in ("likelihoods", "starts")}, subject()
        )
        assert left.table == "embeddings"
        texts = everything[2].inputs["text"]
        assert len(texts) == len(set(texts))
        assert everything[0].rows["id"].is_unique

    def test_who_only_writes_is_asked_for_no_likelihood(self, made: Whole) -> None:
        tables, plan = made.frames(TRADES)
        writer = subject("writer", "generate")
        assert [request.table for request in requests(tables, plan, {}, writer)] == ["embeddings"]

    def test_nothing_after_prefixes_where_the_scale_says_so(self, made: Whole) -> None:
        tables, plan = made.frames(TRADES)
        likelihoods, *_ = requests(tables, {**plan, "prefixed": 0}, {}, subject())
        assert set(likelihoods.rows["framing"]) == {"bare"}

    def test_no_rows_are_no_request(self, made: Whole) -> None:
        tables, plan = made.frames(TRADES)
        assert (
            requests({name: rows.head(0) for name, rows in tables.items()}, plan, {}, subject())
            == []
        )

    def test_scores_are_of_the_subject(self, made: Whole) -> None:
        frames = {TRADES: made.frames(TRADES)}
        answers = {
            table: rows.drop(columns="instrument")
            for table, rows in answered(frames, subject("m")).items()
        }
        found = scores(*frames[TRADES], answers, subject("m"))["scores"]
        assert found[
            ["model", "lineage", "configuration", "measure"]
        ].drop_duplicates().to_numpy().tolist() == [["m", "m-family", "bare", "loglikelihood"]]
        tables, plan = frames[TRADES]
        assert set(found["id"]) == {
            *tables["probes"]["id"],
            *after_prefixes(tables["probes"], plan)["id"],
        }
        one = tables["probes"].iloc[0]
        nats = Everything("m").loglikelihood([one["text"]]).nats[0]
        assert found.set_index("id").loc[one["id"], "value"] == nats

    def test_scores_of_who_only_writes_are_none(self, made: Whole) -> None:
        frames, writer = {TRADES: made.frames(TRADES)}, subject("writer", "generate")
        answers = {
            table: rows.drop(columns="instrument")
            for table, rows in answered(frames, writer).items()
        }
        found = scores(*frames[TRADES], answers, writer)
        assert found["scores"].empty
        assert found["diversity"].groupby("set").size().to_dict() == {"other": 2, "seed": 5}


class TestDiagnosing:
    def test_every_table_is_by_its_schema(self, found: Mapping[str, pd.DataFrame]) -> None:
        for name, schema in TABLES.items():
            assert table_of(found[name][schema.names], schema).num_rows > 0, name

    def test_figures_of_both_instruments_on_both_models(
        self, found: Mapping[str, pd.DataFrame]
    ) -> None:
        rows = found["figures"]
        alphas = rows[rows["figure"] == "alpha"]
        assert set(alphas[["benchmark", "part", "model"]].itertuples(index=False, name=None)) == {
            (name, part, model)
            for name, parts in (
                (TRADES, ("other", "seed")),
                (EVOLVED, ("elites", "evolved", "population")),
            )
            for part in parts
            for model in ("toy", "other")
        }

    def test_shifts_rest_on_the_attributes_that_were_asked(
        self, found: Mapping[str, pd.DataFrame]
    ) -> None:
        """What stands before changes nothing here."""
        figures = found["figures"].query("part == 'seed' and model == 'toy'").set_index("figure")
        for figure in ("level_shift", "reordering"):
            assert figures.loc[figure, ["value", "n", "control"]].tolist() == [0, 3, 0]
            assert figures.loc[f"placebo_{figure}", ["value", "n", "unit"]].tolist() == [
                0,
                5,
                "placebos",
            ]
        rows = found["shifts"].query("set == 'seed' and model == 'toy'")
        assert rows["placebo"].sum() == 5
        assert len(rows) == 8

    def test_of_five_attributes_nothing_is_concluded(
        self, found: Mapping[str, pd.DataFrame]
    ) -> None:
        judged = found["figures"].dropna(subset=["verdict"])
        assert set(judged["figure"]) <= {"gain", "spread", "r"}
        assert set(judged["verdict"]) <= {"inconclusive", "invalid on this model"}

    def test_what_depends_on_no_model_stands_once(self, found: Mapping[str, pd.DataFrame]) -> None:
        rows = found["figures"][found["figures"]["model"].isna()]
        assert rows.groupby(["benchmark", "part", "figure"]).size().to_dict() == {
            (name, part, figure): 1
            for name, parts in (
                (TRADES, ("other", "seed")),
                (EVOLVED, ("elites", "evolved", "population")),
            )
            for part in parts
            for figure in ("semantic_diversity", "lexical_diversity")
        }
        other = rows.query("part == 'other' and figure == 'lexical_diversity'").iloc[0]
        assert other["value"] == pytest.approx(1 - 2 / 5)  # {the is a}, {so a is an}

    def test_what_evolved_is_held_against_every_set_of_what_it_evolved_of(
        self, made: Whole, found: Mapping[str, pd.DataFrame]
    ) -> None:
        rows = found["comparisons"]
        assert set(rows[["benchmark", "set", "against"]].itertuples(index=False, name=None)) == {
            *(
                (EVOLVED, which, against)
                for which in ("elites", "evolved")
                for against in ("other", "seed")
            ),
            *(
                (EVOLVED, which, against)
                for which in ("elites", "evolved")
                for against in (UNREVERSED, BEST_START)
            ),
            (EVOLVED, "evolved", "elites"),
        }
        assert dict(zip(rows["model"], rows["transfer"], strict=True)) == {
            "toy": False,
            "other": True,
        }
        row = rows.query(
            "set == 'elites' and against == 'seed' and model == 'toy' and figure == 'r'"
        ).iloc[0]
        own = found["figures"].query("figure == 'r' and model == 'toy'").set_index("part")["value"]
        assert (row["value"], row["other"]) == pytest.approx(
            (own["elites"], own["seed"]), abs=1e-12
        )
        assert row["difference"] == row["value"] - row["other"]
        diversity = rows.query(
            "set == 'evolved' and against == 'seed' and figure == 'semantic_diversity'"
        ).iloc[0]
        means = found["figures"].query("figure == 'semantic_diversity'").set_index("part")["value"]
        assert (diversity["value"], diversity["other"]) == (means["evolved"], means["seed"])

    def test_generations_begin_with_the_start_and_end_with_the_population(
        self, found: Mapping[str, pd.DataFrame]
    ) -> None:
        rows = found["generations"]
        assert set(rows["generation"]) == {0, 1, 2}
        assert set(rows["model"]) == {"toy"}
        means = found["figures"].query("figure == 'semantic_diversity'").set_index("part")["value"]
        own = rows.query("figure == 'semantic_diversity'").set_index("generation")["value"]
        assert [own[0], own[2]] == pytest.approx([means["seed"], means["population"]], abs=1e-12)

    def test_figures_are_the_same_from_what_is_published_alone(
        self, made: Whole, found: Mapping[str, pd.DataFrame]
    ) -> None:
        frames = {}
        for name in BOTH:
            tables, plan = made.frames(name)
            configs = card(made.declared[name], tables, plan, {}).configs
            frames[name] = (
                {config.name: tables[config.name] for config in configs},
                json.loads(json.dumps(plan)),
            )
        again = diagnosis(records(frames, subject(), subject("other")))
        for name in TABLES:
            pd.testing.assert_frame_equal(again[name], found[name])

    def test_without_what_it_evolved_of_there_are_no_comparisons(self, made: Whole) -> None:
        found = across(records({EVOLVED: made.frames(EVOLVED)}, subject()), RESAMPLING)
        assert set(found) == {"figures", "generations", "rewordings"}

    def test_of_who_only_writes_there_is_what_depends_on_no_model(self, made: Whole) -> None:
        found = diagnosis(
            records({name: made.frames(name) for name in BOTH}, subject("writer", "generate"))
        )
        assert found["figures"]["model"].isna().all()
        assert found["biases"].empty
        # What the evolution measured on its own model stays: diversities, and what was held out.
        assert set(found["comparisons"]["model"]) == {"toy"}
        assert not found["comparisons"]["transfer"].any()

    def test_nobody_has_no_figures(self) -> None:
        assert across([], RESAMPLING) == {}
        nothing = {name: pd.DataFrame() for name in TABLES}
        assert evidence(nothing) == {}
        assert all(frame.empty for frame in plots(nothing).values())

    def test_evidence_is_by_part_and_model_with_items_beside(
        self, found: Mapping[str, pd.DataFrame]
    ) -> None:
        shown = evidence(found)[TRADES]["seed"]
        assert set(shown) == {"any-model", "other", "toy"}
        assert set(shown["toy"]["items"]) == {"typical", "story", "met", "job", "seems"}
        r = (
            found["figures"]
            .query("part == 'seed' and model == 'toy' and figure == 'r'")
            .iloc[0]["value"]
        )
        assert shown["toy"]["r"]["value"] == r
        assert shown["toy"]["items"]["met"]["control"] is False

    def test_plots(self, found: Mapping[str, pd.DataFrame]) -> None:
        drawn = plots(found)
        assert set(drawn) == {"validity", "correlations", "distributions"}
        assert drawn["validity"]["criterion"].notna().all()
        assert len(drawn["distributions"]) == len(found["biases"])


class TestCards:
    def test_validity_is_told_from_the_evidence(
        self, made: Whole, found: Mapping[str, pd.DataFrame]
    ) -> None:
        shown = evidence(found)[TRADES]
        told = card(made.declared[TRADES], *made.frames(TRADES), shown).validity
        assert told is not None
        tables, _ = made.frames(TRADES)
        n = len(tables["attributes"])
        assert told.phenomenon.startswith(
            f"{with_capital(made.declared[TRADES].source.construct_)}, defined by what is computed"
        )
        assert told.representative.startswith(
            f"{n} attributes, {len(tables['templates'])} templates and "
        )
        assert "5 placebo sentences by " in told.only_the_phenomenon
        r = shown["seed"]["toy"]["r"]["value"]
        assert f"toy {r:z.2f}" in told.construct
        assert told.contamination.startswith("Not done: no canary string")

    def test_without_evidence_it_says_what_is_not_done(self, made: Whole) -> None:
        told = card(made.declared[TRADES], *made.frames(TRADES), {}).validity
        assert told is not None
        assert told.statistics.startswith("Not done: no figure has a verdict.")
        assert told.errors == "Not done: no model was asked."
        assert told.construct.startswith("Not done: no external criterion is known.")

    def test_the_example_is_a_row_of_the_first_table(self, made: Whole) -> None:
        for name in BOTH:
            tables, plan = made.frames(name)
            shown = card(made.declared[name], tables, plan, {})
            rows = tables[shown.configs[0].name]
            assert shown.example is not None
            (row,) = rows[rows["id"] == shown.example.id].to_dict("records")
            assert not row["control"]
            assert list(shown.configs[0].first) == ["text"]

    def test_what_a_model_wrote_is_said(self, made: Whole) -> None:
        written = {
            name: card(made.declared[name], *made.frames(name), {}).responsible for name in BOTH
        }
        assert "no model writes any" in written[TRADES].made
        assert "a language model, reworded templates of the set `seed`" in written[EVOLVED].made

    def test_of_what_users_wrote(self, made: Whole) -> None:
        shown = card(made.declared[TRADES], *made.frames(TRADES), {})
        assert [config.name for config in shown.configs] == ["probes", "templates", "attributes"]
        assert shown.reading.endswith(
            'The sentences of some attributes (3) were also put after "This is a test." and '
            '"Complete this:", each '
            'alone and both; and as placebos "It rained.", "Trains left.", "The shop opens.", "A '
            'book lies here.", '
            '"Read on.".'
        )
        assert shown.parameters == {"article": "agree"}
        assert shown.harness_task == "probes_trades"
        assert (
            f"version: {made.declared[TRADES].version}" in shown.harness["probes_trades__seed.yaml"]
        )
        assert json.loads(shown.harness["criterion.json"])["engineer"] == 90

    def test_of_what_evolved(self, made: Whole) -> None:
        shown = card(made.declared[EVOLVED], *made.frames(EVOLVED), {})
        assert shown.configs[0].name == "templates"
        assert {config.name for config in shown.configs} == set(made.built[EVOLVED][0]) - {
            "rejected"
        }
        assert "evolved from the set `seed` over 2 generations" in shown.reading
        assert any("Templates were selected with toy" in limit for limit in shown.limits)
        assert shown.parameters["of"] == "trades"
        assert shown.parameters["generations"] == 2


class TestPage:
    def test_a_section_a_set_and_one_for_what_evolved(
        self, made: Whole, found: Mapping[str, pd.DataFrame]
    ) -> None:
        shown = sections(
            ReportInput(
                sources={name: own.source for name, own in made.declared.items()},
                settings={name: own.settings for name, own in made.declared.items()},
                tables=found,
                built={name: made.frames(name)[0] for name in BOTH},
            )
        )
        assert [section.title for section in shown] == [
            "Templates: other",
            "Templates: seed",
            "How it evolved",
        ]
        titles = [part.title for part in shown[1].parts if isinstance(part, Picture)]
        assert titles == [
            "Bias and the criterion",
            "Correlations of the templates",
            "Biases by template",
            "Number of templates and targets needed",
            "Effects of prefixes",
        ]
        assert "5 templates evolved over 2 generations on toy, reworded by toy;" in shown[2].text

    def test_where_nobody_was_asked(self, made: Whole) -> None:
        shown = sections(
            ReportInput(
                sources={name: own.source for name, own in made.declared.items()},
                settings={name: own.settings for name, own in made.declared.items()},
                tables={
                    name: pd.DataFrame(columns=schema.names) for name, schema in TABLES.items()
                },
                built={name: made.frames(name)[0] for name in BOTH},
            )
        )
        assert "No model was asked" in shown[0].text
        assert shown[2].title == "How it evolved"

    def test_a_family_without_what_evolved(self, made: Whole) -> None:
        found = diagnosis(records({TRADES: made.frames(TRADES)}, subject()))
        own = made.declared[TRADES]
        shown = sections(
            ReportInput(
                {TRADES: own.source},
                {TRADES: own.settings},
                found,
                {TRADES: made.frames(TRADES)[0]},
            )
        )
        assert [section.title for section in shown] == ["Templates: other", "Templates: seed"]


def test_what_evolved_is_read_whatever_its_words_look_like(made: Whole, tmp_path: Path) -> None:
    """Words that other YAML takes for truth values, numbers or markup."""
    templates = {"a": 'No: {ATTRIBUTE} # "is" a {TARGET}.', "b": "- {TARGET}: {ATTRIBUTE}, 'yes'."}
    source = made.evolved.source
    sets = {
        name: each.model_copy(
            update={"templates": {slug: _entry(source, text) for slug, text in templates.items()}}
        )
        for name, each in source.sets.items()
    }
    odd = source.model_copy(
        update={
            "sets": sets,
            "attributes": {"no": "no", "911": "911", "on": "on"},
            "criterion": None,
        }
    )
    text = type(made.evolved)(odd, {}, []).as_yaml()
    assert "criterion" not in text  # what there is none of is left out
    (tmp_path / "source.yaml").write_text(text)
    again = load(tmp_path / "source.yaml", settings_of(evolve=EVOLVE), tmp_path)
    assert again.model_dump() == odd.model_dump()


def _entry(source: Any, text: str) -> Any:
    entry = next(iter(source.sets["evolved"].templates.values()))
    return entry.model_copy(update={"text": text})


def test_vectors_survive_the_stage(made: Whole) -> None:
    """Lists in a table come back as arrays of the same numbers."""
    frames = {TRADES: made.frames(TRADES)}
    vectors = answered(frames, subject())["embeddings"]
    expected = Everything("minilm").embed(vectors["text"].tolist())
    assert np.array_equal(np.stack(list(vectors["vector"])), expected)
