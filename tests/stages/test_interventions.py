"""Models adapted to corpora on the way from prompts to tables, with tiny models, stage by stage in
one process."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
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
from stages.files import plan_of, read_subject, read_tables
from tests.profiles import set_profile
from tests.stages.conftest import ROOT
from tests.tiny import save_tiny, tiny_declaration
from tests.training.test_adaptation import save_head

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
        forms=["verbaliser"],
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
        "prefixed": {"trial": 2, "standard": 2, "paper": 9},
        "fits": {"quick": 2, "paper": 9},
        "corpora": {
            "gloom": {"epochs": {"quick": 2, "paper": 9}, "learning_rate": 0.001},
            "dull": {"epochs": {"quick": 1, "paper": 9}, "learning_rate": 0.001},
        },
    }
    (folder / "params.yaml").write_text(json.dumps(declared))
    source = YAML(typ="safe").load(ROOT / "data/sources/questionnaires/gad-7.yaml")
    source["items"] = dict(list(source["items"].items())[:2])
    same = {"title": "t", "about": "a", "source": "s", "licence": "cc0-1.0", "provenance": "p"}
    written = {
        "gad-7": source,
        **{f"shared/corpora/{name}": {**c, **same} for name, c in CORPORA.items()},
    }
    for name, content in written.items():
        path = folder / SOURCES / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    for shared in ("scales", "pairs"):
        (folder / SOURCES / "shared" / shared).symlink_to(ROOT / SOURCES / "shared" / shared)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[list[str]]:
    """What the stages printed, in a folder that the tests stand in."""
    folder = tmp_path_factory.mktemp("interventions")
    workshop(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        printed = StringIO()
        with redirect_stdout(printed):
            set_profile(Path(), "quick")
            rows_stage.main("gad-7")
            for model in ("talker", "head"):
                ask.main("questionnaires", model)
            diagnose.main("questionnaires")
        yield printed.getvalue().splitlines()


def prompts() -> pd.DataFrame:
    """Of items, not of their twins."""
    found = read_tables("questionnaires", "gad-7")["prompts"]
    return found[found["twin"] == 0]


def answers(model: str) -> pd.DataFrame:
    """Logits by prompt and state; `corpus` is empty for the model as it is."""
    return read_frame(ASKED / model / "entailment.parquet")


def course(model: str) -> pd.DataFrame:
    """What the scores of a model say of its way."""
    given = {table: read_frame(ASKED / model / f"{table}.parquet") for table in ANSWERS}
    plan, subject = plan_of("questionnaires", "gad-7"), read_subject(ASKED / model)
    return scores(read_tables("questionnaires", "gad-7"), plan, given, subject)["course"]


def diagnosed(table: str) -> pd.DataFrame:
    return read_frame(Path("data/diagnosis/questionnaires/tables") / f"{table}.parquet")


PAIRS = 30
"""Labelled pairs of each set."""

STATES = {
    "talker": {
        (corpus, fit, epoch)
        for corpus, last in (("gloom", 2), ("dull", 1))
        for fit in (1, 2)
        for epoch in (0, last)
    }
}
STATES["head"] = STATES["talker"] | {("gloom", 1, 1)}
"""The first fit is asked on the way, too."""
STAGE = ["corpus", "fit", "epoch"]


@pytest.fixture
def elsewhere(
    built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
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
        found = answers(model).query("corpus != ''").groupby(STAGE)
        assert set(found.groups) == {state for state in STATES[model] if state[2]}
        for _, rows in found:
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
        ends = {}
        for corpus, fit, epoch in sorted(STATES[model]):
            if epoch:
                here = whole[(whole[STAGE] == [corpus, fit, epoch]).all(axis=1)].set_index("id")
                ends[corpus, fit, epoch] = here[list(LABELS)].loc[ids]
        for place, after in enumerate(ends.values()):
            for other in [as_it_is, *list(ends.values())[:place]]:
                assert (after - other).abs().to_numpy().max() > 1e-4

    @pytest.mark.parametrize(
        ("model", "measures"),
        [("talker", {"loss", "accuracy", "reply"}), ("head", {"loss", "accuracy"})],
    )
    def test_the_course_is_told(self, model, measures) -> None:
        found = course(model)
        assert set(found["measure"]) == measures
        for measure, rows in found.groupby("measure"):
            assert sorted(rows[STAGE].itertuples(index=False, name=None)) == sorted(
                STATES[model]
            ), measure
        pairs = found[found["measure"] == "accuracy"]
        assert (pairs["value"].between(0, 1).all(), set(pairs["n"])) == (True, {PAIRS})
        losses = found[found["measure"] == "loss"]
        assert (losses["value"] > 0).all()
        assert losses.groupby("corpus")["n"].first().to_dict() == {"gloom": 3, "dull": 2}
        assert found["text"].notna().tolist() == (found["measure"] == "reply").tolist()

    def test_every_answer_is_counted_once(self, built) -> None:
        """Of the head: as it was, with twins and labelled pairs, and five states more; talker's
        stage asked the tools.

        Of the model as it was the pairs of a course are the labelled ones again.
        """
        n = len(prompts())
        (line,) = [line for line in built if line.startswith("head: ")]
        told = (
            f"head: {2 * PAIRS} labelled_pairs, {9 * n:,} entailment, {9 * PAIRS:,} pairs, 9 "
            "losses, "
        )
        assert line.startswith(told)
        asked = int(re.fullmatch(r".*; ([\d,]+) of them asked of models", line)[1].replace(",", ""))
        once = 6 * n + 3 * n + (2 + 5) * PAIRS
        assert once <= asked < once + n

    def test_again_it_asks_nothing_and_writes_the_same(self, capsys) -> None:
        folder = ASKED / "head"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        ask.main("questionnaires", "head")
        assert capsys.readouterr().out.endswith("; 0 of them asked of models\n")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("built")
class TestDiagnosis:
    def test_trajectories_are_of_every_state(self) -> None:
        found = diagnosed("trajectories")
        assert set(found[["model", *STAGE]].itertuples(index=False, name=None)) == {
            (model, *state) for model, states in STATES.items() for state in states
        }
        assert set(found["n"]) == {2}
        scales = diagnosed("scales").set_index(["model", "subscale"])["score"]
        for model in STATES:
            own = found[(found["model"] == model) & (found["epoch"] == 0)]["answer"]
            assert own.tolist() == pytest.approx([8 * scales[model, "all"]] * 4, abs=1e-12)

    def test_changes_are_from_the_first_state_to_the_last_beside_the_control(self) -> None:
        found = diagnosed("changes")
        ends = diagnosed("trajectories").set_index(["model", *STAGE])["answer"]
        assert found[["corpus", "control", "expected"]].drop_duplicates().to_numpy().tolist() == [
            ["gloom", "dull", "up"]
        ]
        assert found[["model", "fit"]].to_numpy().tolist() == [
            ["talker", 1],
            ["talker", 2],
            ["head", 1],
            ["head", 2],
        ]
        for row in found.to_dict("records"):
            stages = (("gloom", row["fit"], 0), ("gloom", row["fit"], 2), ("dull", row["fit"], 1))
            before, after, control = (ends[(row["model"], *stage)] for stage in stages)
            assert (row["before"], row["after"], row["after_control"]) == pytest.approx(
                (before, after, control)
            )
            assert row["difference"] == pytest.approx(after - control, abs=1e-12)

    def test_two_fits_are_too_little_to_tell(self) -> None:
        figures = diagnosed("figures").query("figure.str.startswith('moved_by_gloom')")
        means = diagnosed("changes").groupby("model")["difference"].mean()
        models = figures.set_index("model")
        assert models["value"].to_dict() == pytest.approx(means.to_dict(), abs=1e-12)
        assert set(models["verdict"]) <= {"inconclusive", "invalid on this model"}
        assert models["low"].isna().all()

    def test_the_course_is_that_of_all_models(self) -> None:
        both, found = (
            pd.concat([course("talker"), course("head")], ignore_index=True),
            diagnosed("course"),
        )
        as_written = both[list(found)].astype(found.dtypes)
        pd.testing.assert_frame_equal(found, as_written)

    def test_both_models_make_the_population(self) -> None:
        found = diagnosed("population").set_index("model")
        assert found[["member", "standing", "kind"]].apply(tuple, axis=1).to_dict() == {
            "talker": (True, "counts", "causal"),
            "head": (True, "counts", "nli"),
        }

    def test_sentences_are_judged_by_the_causal_model(self) -> None:
        found = diagnosed("content")
        assert found["measure"].value_counts().to_dict() == {
            "similarity": 2,
            "slor": 2,
            "slor_of_twins": 2,
        }
        assert np.isfinite(found["value"]).all()
        quality = diagnosed("quality")
        assert quality["measure"].value_counts().to_dict() == {
            "silhouette": 4,
            "similarity": 2,
            "slor": 2,
            "slor_of_twins": 2,
        }

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
            found = diagnosed(table)
            assert (len(found), list(found)) == (0, expected)

    @pytest.mark.parametrize("stops", [True, False])
    def test_a_poor_item_stops_where_that_is_asked_for(self, stops, elsewhere, error_of) -> None:
        quality = diagnosed("quality")
        poor = quality[quality["verdict"] == "poor"]
        assert len(poor)
        elsewhere(lambda declared: declared["instruments"]["gad-7"].update(stop_below=stops))
        rows_stage.main("gad-7")
        if not stops:
            diagnose.main("questionnaires")
            return
        said = error_of(diagnose.main, "questionnaires")
        beginnings = [
            f"gad-7, item {row.item}: {row.measure} is {row.value:.2f}; "
            for row in poor.itertuples()
        ]
        assert said.startswith(tuple(beginnings))
