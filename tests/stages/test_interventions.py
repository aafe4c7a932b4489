"""Models adapted to corpora on the way from prompts to tables, with tiny models, stage by stage in
one process."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.questionnaires.ask import ANSWERS, scores
from evenruler.models import LABELS
from evenruler.tables import read_frame
from stages import ask, diagnose
from stages import rows as rows_stage
from stages.files import plan_of, read_model_meta, read_tables
from tests.profiles import set_profile
from tests.stages.conftest import ROOT
from tests.tiny import save_tiny, tiny_declaration
from tests.training.test_adaptation import save_head

pytestmark = pytest.mark.slow

SOURCES, ASKED = Path("data/sources/questionnaires"), Path("data/answers/questionnaires")
CORPORA = {
    "gloom": {
        "role": "intervention",
        "expect": {"gad-7": "up"},
        "sentences": ["I am sad.", "It rains.", "I am late."],
    },
    "dull": {
        "role": "control",
        "matched": {"to": "gloom"},
        "expect": {"gad-7": "none"},
        "sentences": ["The pump broke.", "A lid is lost."],
    },
}


def workshop(folder: Path) -> None:
    """A questionnaire of two items, two corpora, a causal model asked at the end and a head asked
    on the way."""
    save_tiny(folder / "talker", chat=True, max_position_embeddings=1024)
    save_head(folder / "head")
    declared = tiny_declaration(
        {"talker": Path("talker")},
        entailment=True,
        intervention="last",
        chat=True,
        methods=["verbaliser"],
    )
    declared["models"]["head"] = {
        "kind": "nli",
        "source": "local:head",
        "licence": "cc0-1.0",
        "origin": "tests.tiny",
        "intervention": "every",
    }
    declared["instruments"] = {"gad-7": {"family": "questionnaires"}}
    declared["families"]["questionnaires"] |= {
        "accuracy": 0.01,  # what a random model reaches
        "accuracy_pairs": PAIRS,
        "acceptability": "talker",
        "prefixed": {"trial": 2, "standard": 2, "full": 9},
        "fits": {"quick": 2, "paper": 9},
        "corpora": {
            "gloom": {"epochs": {"quick": 2, "paper": 9}, "learning_rate": 0.001},
            "dull": {"epochs": {"quick": 1, "paper": 9}, "learning_rate": 0.001},
        },
    }
    (folder / "params.yaml").write_text(json.dumps(declared))
    source = YAML(typ="safe").load(ROOT / "data/sources/questionnaires/gad-7.yaml")
    source["items"] = dict(list(source["items"].items())[:2])
    same = {
        "title": "t",
        "about": "a",
        "source": "s",
        "licence": "cc0-1.0",
        "provenance": "p",
    }
    written = {
        "gad-7": source,
        **{f"shared/corpora/{name}": {**c, **same} for name, c in CORPORA.items()},
    }
    for name, content in written.items():
        path = folder / SOURCES / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    for shared in ("scales", "pairs"):
        path = SOURCES / "shared" / shared
        (folder / path).symlink_to(ROOT / path)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[None]:
    """A folder in which the stages were run, that the tests stand in."""
    folder = tmp_path_factory.mktemp("interventions")
    workshop(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        set_profile(Path(), "quick")
        rows_stage.main("gad-7")
        for model in ("talker", "head"):
            ask.main("questionnaires", model)
        diagnose.main("questionnaires")
        yield


def prompts() -> pd.DataFrame:
    """Of items, not of their twins."""
    rows = read_tables("questionnaires", "gad-7")["prompts"]
    return rows[rows["twin"] == 0]


def answers(model: str) -> pd.DataFrame:
    """Logits by prompt and state; `corpus` is empty for the model as it is."""
    return read_frame(ASKED / model / "entailment.parquet")


def course(model: str) -> pd.DataFrame:
    """What the scores of a model say of its way."""
    answer_tables = {table: read_frame(ASKED / model / f"{table}.parquet") for table in ANSWERS}
    plan, subject = plan_of("questionnaires", "gad-7"), read_model_meta(ASKED / model)
    return scores(read_tables("questionnaires", "gad-7"), plan, answer_tables, subject)["course"]


def diagnosed(table: str) -> pd.DataFrame:
    return read_frame(Path("data/diagnosis/questionnaires/tables") / f"{table}.parquet")


PAIRS = 30
"""Labelled pairs of each set."""

STATES = {
    "talker": {
        *product(["gloom"], (1, 2), (0, 2)),
        *product(["dull"], (1, 2), (0, 1)),
    }
}
STATES["head"] = STATES["talker"] | {("gloom", 1, 1)}
"""The first fit is asked on the way, too."""
STAGE = ["corpus", "fit", "epoch"]


@pytest.fixture
def elsewhere(built: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Goes to a copy of the folder, whose declaration it edits; answers are those that the store
    has."""

    def go(change: Callable[[dict[str, Any]], object]) -> None:
        shutil.copytree(
            Path(), tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns("cache")
        )
        monkeypatch.chdir(tmp_path / "copy")
        declared = YAML(typ="safe").load(Path("params.yaml"))
        change(declared)
        Path("params.yaml").write_text(json.dumps(declared))
        set_profile(Path(), "quick")

    return go


@pytest.mark.usefixtures("built")
class TestIntervene:
    @pytest.mark.parametrize("model", ["talker", "head"])
    def test_every_epoch_is_asked_or_the_last(self, model) -> None:
        rows_by_state = answers(model).query("corpus != ''").groupby(STAGE)
        assert set(rows_by_state.groups) == {state for state in STATES[model] if state[2]}
        for _, rows in rows_by_state:
            assert sorted(rows["id"]) == sorted(prompts()["id"])
            assert np.isfinite(rows[list(LABELS)].to_numpy()).all()

    @pytest.mark.parametrize("model", ["talker", "head"])
    def test_after_it_answers_otherwise_than_the_model_as_it_is(self, model) -> None:
        whole, ids = answers(model), prompts()["id"]
        alone = whole[whole["corpus"] == ""].set_index("id")[list(LABELS)]
        assert (len(alone) > 4 * len(ids)) == (
            model == "talker"
        )  # that is also asked after prefixes
        as_it_is = alone.loc[ids]
        for state in STATES[model]:
            if state[2]:
                here = whole[(whole[STAGE] == list(state)).all(axis=1)].set_index("id")
                after = here[list(LABELS)].loc[ids]
                assert (after - as_it_is).abs().to_numpy().max() > 1e-4

    @pytest.mark.parametrize(
        ("model", "measures"),
        [("talker", {"loss", "accuracy", "reply"}), ("head", {"loss", "accuracy"})],
    )
    def test_the_course_is_told(self, model, measures) -> None:
        course_rows = course(model)
        assert set(course_rows["measure"]) == measures
        for measure, rows in course_rows.groupby("measure"):
            assert sorted(rows[STAGE].itertuples(index=False, name=None)) == sorted(
                STATES[model]
            ), measure
        pairs = course_rows[course_rows["measure"] == "accuracy"]
        assert pairs["value"].between(0, 1).all()
        assert set(pairs["n"]) == {PAIRS}
        losses = course_rows[course_rows["measure"] == "loss"]
        assert (losses["value"] > 0).all()
        assert losses.groupby("corpus")["n"].first().to_dict() == {"gloom": 3, "dull": 2}
        assert course_rows["text"].notna().tolist() == (course_rows["measure"] == "reply").tolist()

    def test_again_it_asks_nothing_and_writes_the_same(self, capsys) -> None:
        folder = ASKED / "head"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        ask.main("questionnaires", "head")
        assert capsys.readouterr().out.endswith("; 0 of them asked of models\n")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("built")
class TestDiagnosis:
    def test_trajectories_are_of_every_state(self) -> None:
        trajectories = diagnosed("trajectories")
        assert set(trajectories["model"]) == set(STATES)
        assert set(trajectories["n"]) == {2}
        scales = diagnosed("scales").set_index(["model", "subscale"])["score"]
        for model, states in STATES.items():
            rows = trajectories[trajectories["model"] == model].set_index(STAGE)
            assert set(rows.index) == states
            starts = rows["answer"].xs(0, level="epoch")
            expected = 8 * scales[model, "all"]
            assert starts.tolist() == pytest.approx([expected] * 4, abs=1e-12)

    def test_changes_are_from_the_first_state_to_the_last_beside_the_control(self) -> None:
        changes = diagnosed("changes")
        ends = diagnosed("trajectories").set_index(["model", *STAGE])["answer"]
        assert changes[["corpus", "control", "expected"]].drop_duplicates().to_numpy().tolist() == [
            ["gloom", "dull", "up"]
        ]
        assert changes[["model", "fit"]].to_numpy().tolist() == [
            ["talker", 1],
            ["talker", 2],
            ["head", 1],
            ["head", 2],
        ]
        for row in changes.to_dict("records"):
            after, control = (
                ends[row["model"], corpus, row["fit"], epoch]
                for corpus, epoch in (("gloom", 2), ("dull", 1))
            )
            assert row["difference"] == pytest.approx(after - control, abs=1e-12)

    def test_the_course_is_that_of_all_models(self) -> None:
        both, diagnosed_course = (
            pd.concat([course("talker"), course("head")], ignore_index=True),
            diagnosed("course"),
        )
        as_written = both[list(diagnosed_course)].astype(diagnosed_course.dtypes)
        pd.testing.assert_frame_equal(diagnosed_course, as_written)

    def test_sentences_are_judged_by_the_causal_model(self) -> None:
        judged = diagnosed("content")
        assert judged["measure"].value_counts().to_dict() == {
            "similarity": 2,
            "slor": 2,
            "slor_of_twins": 2,
        }
        assert np.isfinite(judged["value"]).all()

    def test_where_no_model_is_adapted_the_tables_are_empty(self, elsewhere) -> None:
        def nobody(declared: dict[str, Any]) -> None:
            for entry in declared["models"].values():
                entry.pop("intervention", None)

        columns = {table: list(diagnosed(table)) for table in ("trajectories", "changes", "course")}
        elsewhere(nobody)
        for model in ("talker", "head"):
            ask.main("questionnaires", model)
        diagnose.main("questionnaires")
        for table, expected in columns.items():
            rows = diagnosed(table)
            assert (len(rows), list(rows)) == (0, expected)
