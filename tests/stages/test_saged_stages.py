"""What cannot be measured is one line, or null with a reason; no stage makes a number up."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.instruments.saged.schemas import PROMPTS
from evenruler.tables import write_table
from tests.models.backends.test_encoders import save_classifier
from tests.stages.scripted import MODEL, ROOT, Workplace
from tests.tiny import tiny_declaration

CONCEPTS = ["apple", "banana", "cherry", "pear"]
ROOTS = 24
LABELS = ["sad", "glad"]
SCORE = {"sad": 0, "glad": 1}
DISPARITIES = {
    "permutations": {"quick": 9, "paper": 9},
    "headline_permutations": {"quick": 19, "paper": 19},
}
SETTINGS: dict[str, Any] = {
    "items": {"trial": 1000, "standard": 1000, "paper": 1000},
    "disparities": DISPARITIES,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """The toy domain, built; and a classifier in the catalogue that no feature names yet."""
    folder = tmp_path_factory.mktemp("built")
    workplace = Workplace(folder / "place", "fruit", **SETTINGS)
    saved = save_classifier(folder / "moods", labels=LABELS)
    entry = tiny_declaration({"moods": saved}, kind="classifier")["models"]["moods"]
    workplace.edit("params.yaml", lambda params: params["models"].update(moods=entry))
    workplace.declare()
    workplace.scrape()
    workplace.build()
    return workplace


@pytest.fixture
def workplace(built: Workplace, tmp_path: Path) -> Workplace:
    return built.copied(tmp_path / "place")


def in_turn(prompt: str, seed: int) -> str:
    """A reply that hangs on the root item and on nothing else."""
    return ("It is good.", "It is so.", "It is bad.")[seed % 3]


def diagnosed(workplace: Workplace, write: Callable[[str, int], str] = in_turn) -> None:
    workplace.ask(write)
    workplace.diagnose()


def of_saged(**settings: Any) -> Callable[[dict[str, Any]], None]:
    return lambda params: params["families"]["saged"].update(settings)


def mood(
    score: dict[str, float], model: str = "moods", **entries: Any
) -> Callable[[dict[str, Any]], None]:
    """Features: VADER, a classifier's, and others."""
    own = {"kind": "classifier", "model": model, "score": score}
    return of_saged(features={"vader": {"kind": "lexicon"}, "mood": own, **entries})


def headline(
    workplace: Workplace, table: str, calibration: str, feature: str = "vader"
) -> pd.DataFrame:
    rows = workplace.diagnosis(table)
    of = (
        (rows["statistic"] == "mean")
        & (rows["calibration"] == calibration)
        & (rows["feature"] == feature)
    )
    return rows[of].set_index("metric" if "metric" in rows else "group")


class TestALine:
    @pytest.mark.parametrize(
        ("change", "line"),
        [
            pytest.param(
                mood(SCORE, "mood"),
                "no model 'mood'; check the name (did you mean 'moods'?)",
                id="no model",
            ),
            pytest.param(
                mood(SCORE, MODEL),
                "'scripted' (kind causal) cannot classify; ",
                id="a model of another kind",
            ),
        ],
    )
    def test_a_feature_that_no_model_measures(
        self, change: Callable[[dict[str, Any]], None], line: str, workplace: Workplace
    ) -> None:
        workplace.edit("params.yaml", change)
        for stage in (workplace.declare, workplace.build):
            said = workplace.refused(stage)
            assert said.startswith(f"params.yaml: families.saged.features.mood.model: {line}"), said
            assert "\n" not in said

    @pytest.mark.parametrize(
        ("score", "line"),
        [
            ({"glad": 1}, "no weight for 'sad'; give the labels of moods a weight each"),
            (
                {"sad": 0, "glad": 1, "merry": 1},
                "no such label as 'merry'; give the labels of moods",
            ),
        ],
    )
    @pytest.mark.parametrize(
        "labels", [None, LABELS], ids=["labels in the model", "labels in the catalogue"]
    )
    def test_weights_that_do_not_fit(
        self, labels: list[str] | None, score: dict[str, float], line: str, workplace: Workplace
    ) -> None:
        workplace.edit("params.yaml", mood(score))
        if labels is None:  # which are known where the model was asked
            workplace.declare()
            workplace.build()
            workplace.ask(in_turn)
        else:
            workplace.edit(
                "params.yaml", lambda params: params["models"]["moods"].update(labels=labels)
            )
            workplace.declare()
        said = workplace.refused(workplace.build if labels else workplace.diagnose)
        assert said.startswith(f"params.yaml: features.mood.score: {line}"), said
        assert "\n" not in said
        assert not (workplace.folder / "data/diagnosis").exists()

    def test_a_model_whose_files_are_gone(self, workplace: Workplace) -> None:
        workplace.edit("params.yaml", mood(SCORE))
        workplace.edit(
            "params.yaml", lambda params: params["models"]["moods"].update(source="local:no")
        )
        workplace.declare()
        workplace.build()
        said = workplace.refused(lambda: workplace.ask(in_turn))
        assert (
            said
            == "params.yaml: models.moods: no: no such file or folder; check the name of the source"
        )
        assert not (workplace.folder / "data/answers").exists()

    @pytest.mark.parametrize(
        ("disparities", "line"),
        [
            (
                {"statistics": {"mean": {"kind": "meen"}}},
                "no statistic 'meen'; did you mean 'mean'?",
            ),
            (
                {"statistics": {"mean": {"kind": "mean"}, "own": {"kind": "nowhere.at_all"}}},
                "the statistic nowhere.at_all cannot be imported",
            ),
            (
                {"statistics": {"mean": {"kind": "mean", "options": {"width": 1}}}},
                "mean: the statistic has no option 'width'; it takes no options",
            ),
            ({"metrics": ["rang"]}, "no disparity 'rang'; did you mean 'range'?"),
        ],
    )
    def test_a_figure_that_does_not_exist(
        self, disparities: dict[str, Any], line: str, workplace: Workplace
    ) -> None:
        workplace.edit("params.yaml", of_saged(disparities=DISPARITIES | disparities))
        workplace.declare()
        workplace.build()
        workplace.ask(in_turn)
        said = workplace.refused(workplace.diagnose)
        assert said.startswith(line), said
        assert "\n" not in said
        assert not (workplace.folder / "data/diagnosis").exists()

    def test_what_is_not_made_yet(self, workplace: Workplace) -> None:
        for stage, file in (
            (workplace.card, "data/diagnosis/saged/evidence/fruit.json"),
            (workplace.diagnose, "data/answers/saged/scripted/subject.json"),
        ):
            assert workplace.refused(stage) == f"{file}: not built yet; run `make repro`"
        for folder in ("built", "scraped"):
            shutil.rmtree(workplace.folder / "data" / folder)
        for stage, file in (
            (lambda: workplace.ask(in_turn), "data/built/saged/fruit/plan.json"),
            (workplace.build, "data/scraped/fruit/source.yaml"),
        ):
            assert workplace.refused(stage) == f"{file}: not built yet; run `make repro`"

    def test_it_ends_the_stage_with_status_2(self, workplace: Workplace) -> None:
        workplace.edit("params.yaml", mood(SCORE, "mood"))
        done = subprocess.run(
            [sys.executable, "-m", "stages.rows", "fruit"],
            cwd=workplace.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(
            "error: params.yaml: families.saged.features.mood.model: no model 'mood'"
        )


class TestNullWithAReason:
    def empty_baselines(
        self, workplace: Workplace, which: Callable[[pd.DataFrame], pd.Series]
    ) -> int:
        prompts = workplace.prompts()
        rows = which(prompts)
        path = workplace.folder / "data/built/saged/fruit/prompts.parquet"
        write_table(prompts.assign(baseline=prompts["baseline"].mask(rows, "")), PROMPTS, path)
        return int(rows.sum())

    def test_an_empty_baseline(self, workplace: Workplace) -> None:
        assert (
            self.empty_baselines(
                workplace, lambda prompts: prompts["is_root"] & (prompts.index < 40)
            )
            > 1
        )
        empty = workplace.prompts().query("baseline == ''")["id"]
        diagnosed(workplace)
        rows = workplace.features().set_index("id")
        assert rows["value"].notna().all()
        assert set(rows.index[rows["baseline"].isna()]) == set(empty)
        assert set(rows.loc[empty, "reason"]) == {"empty baseline"}
        raw, calibrated = (headline(workplace, "summaries", each) for each in ("raw", "calibrated"))
        assert raw["n"].tolist() == [ROOTS] * 4
        assert raw["n_missing"].tolist() == [0] * 4
        assert calibrated.loc["apple", ["n", "n_missing"]].tolist() == [
            ROOTS - len(empty),
            len(empty),
        ]
        assert calibrated.loc["pear", ["n", "n_missing"]].tolist() == [ROOTS, 0]
        assert calibrated["value"].notna().all()

    def test_a_concept_without_a_baseline(self, workplace: Workplace) -> None:
        assert (
            self.empty_baselines(workplace, lambda prompts: prompts["concept"] == "pear") == ROOTS
        )
        diagnosed(workplace)
        calibrated = headline(workplace, "summaries", "calibrated")
        assert calibrated.loc["pear", ["n", "n_missing", "reason"]].tolist() == [
            0,
            ROOTS,
            "no value",
        ]
        assert calibrated["value"].isna().tolist() == [False, False, False, True]
        assert headline(workplace, "disparities", "calibrated")["n_groups"].tolist() == [3] * 7
        assert headline(workplace, "disparities", "raw")["n_groups"].tolist() == [4] * 7
        of_tool = workplace.diagnosis("tool_bias").set_index("concept").loc["pear"]
        assert of_tool[["n", "reason"]].tolist() == [0, "no baseline has this feature"]

    def test_no_baseline_at_all(self, workplace: Workplace) -> None:
        self.empty_baselines(workplace, lambda prompts: prompts["id"] != "")
        diagnosed(workplace)
        for table in ("summaries", "disparities"):
            calibrated = headline(workplace, table, "calibrated")
            assert calibrated["value"].isna().all()
            assert set(calibrated["reason"]) == {"no baseline has this feature"}
        raw = headline(workplace, "disparities", "raw")
        assert raw.loc["range", "value"] == pytest.approx(0, abs=1e-12)
        figures = workplace.metrics()["fruit"]["no-role, plain, vader"][MODEL]
        found = figures["range of mean, calibrated"]
        assert (found["value"], found["n"], found["unit"]) == (None, 0, "root items")
        assert (found["reason"], found["verdict"]) == (
            "no baseline has this feature",
            "invalid on this model",
        )

    def test_groups_of_one_row(self, workplace: Workplace) -> None:
        workplace.edit("params.yaml", of_saged(items={"trial": 1, "standard": 1, "paper": 1000}))
        workplace.declare()
        workplace.build()
        diagnosed(workplace)
        summaries = (
            workplace.diagnosis("summaries").query("calibration == 'raw'").set_index("statistic")
        )
        assert set(summaries["n"]) == {1}
        for statistic in ("mean", "median", "selection-rate", "kl", "precision"):
            assert summaries.loc[statistic, "value"].notna().all()
        assert summaries.loc["std", "value"].isna().all()
        assert set(summaries.loc["std", "reason"]) == {"1 value, needs 2"}
        assert set(summaries.loc["correlation", "reason"]) == {"1 value with a baseline, needs 2"}
        of_std = workplace.diagnosis("disparities").query(
            "statistic == 'std' and metric == 'range'"
        )
        assert of_std["value"].isna().all()
        assert set(of_std["reason"]) == {"no groups with a summary, needs 2"}
        found = headline(workplace, "disparities", "raw").loc["range"]
        assert (pd.notna(found["value"]), found["n_groups"]) == (True, 4)

    def test_one_group_of_one_row_beside_larger_ones(self, workplace: Workplace) -> None:
        kept = workplace.prompts().query("concept != 'pear'")["prompt"].tolist()
        pears = workplace.prompts().query("concept == 'pear'")["prompt"].tolist()
        diagnosed(
            workplace,
            lambda prompt, seed: in_turn(prompt, seed) if prompt in [*kept, pears[0]] else "",
        )
        std = (
            workplace.diagnosis("summaries")
            .query("statistic == 'std' and calibration == 'raw'")
            .set_index("group")
        )
        assert std.loc["pear", ["n", "n_missing", "reason"]].tolist() == [
            1,
            ROOTS - 1,
            "1 value, needs 2",
        ]
        assert std["value"].notna().tolist() == [True, True, True, False]
        ranges = workplace.diagnosis("disparities").query(
            "metric == 'range' and calibration == 'raw'"
        )
        assert ranges.set_index("statistic").loc[["mean", "std"], "n_groups"].tolist() == [4, 3]

    def test_every_reply_is_refused(self, workplace: Workplace) -> None:
        diagnosed(workplace, lambda prompt, seed: "I'm sorry, but I cannot help with that.")
        rates = workplace.diagnosis("rates").set_index("concept")
        assert rates.index.tolist() == CONCEPTS
        assert rates["refusals"].tolist() == rates["n"].tolist() == [ROOTS] * 4
        assert rates["empty"].tolist() == [0] * 4
        figures = workplace.metrics()["fruit"]["no-role, plain"][MODEL]
        assert (figures["refusal_rate"]["value"], figures["empty_rate"]["value"]) == (1, 0)
        summaries = headline(workplace, "summaries", "raw")
        assert summaries["value"].nunique() == 1
        assert summaries["n"].tolist() == [ROOTS] * 4  # a refusal is measured like any other reply
        shape = workplace.diagnosis("shapes").query("calibration == 'raw'").iloc[0]
        assert shape[["shape", "group", "end"]].isna().all()
        assert shape["reason"] == "all groups are equal"
        disparities = headline(workplace, "disparities", "raw")
        assert disparities.loc["max_z", "reason"] == "all summaries are equal"
        workplace.card()
        card = (workplace.folder / "benchmarks/saged-fruit/README.md").read_text()
        assert f"| 1.00, n = {ROOTS} |" in card

    def test_every_reply_is_empty(self, workplace: Workplace) -> None:
        embedded = {
            "distance": {"kind": "distance", "metric": "cosine"},
            "topics": {"kind": "clusters", "form": "distance", "k": 2, "seed": 0},
        }
        workplace.edit("params.yaml", mood(SCORE, **embedded))
        workplace.declare()
        workplace.build()
        workplace.ask(lambda prompt, seed: " \n")
        # Names are masked; baselines with their names are classified, too.
        asked = (
            "scripted: 96 replies, 24 embeddings, 120 classifications; 240 of them asked of "
            "models\n"
        )
        assert asked in workplace.said.getvalue()
        workplace.diagnose()
        for feature in ("vader", "mood", "distance"):
            assert (
                f"{feature}: 96 of 96 rows lack a number: empty reply (96)"
                in workplace.said.getvalue()
            )
        assert (
            "topics: 192 of 192 rows lack a number: empty reply (192)" in workplace.said.getvalue()
        )
        rows = workplace.features()
        assert set(rows["feature"]) == {"vader", "mood", "distance", "topics-0", "topics-1"}
        assert rows["value"].isna().all()
        assert set(rows["reason"]) == {"empty reply"}
        assert rows.query("feature == 'vader'")["baseline"].notna().all()
        assert len(workplace.diagnosis("topics")) == 0
        for table in ("summaries", "disparities", "shapes"):
            found = workplace.diagnosis(table)
            assert found["reason"].notna().all()
            assert found["shape" if table == "shapes" else "value"].isna().all()
        disparities = workplace.diagnosis("disparities")
        assert disparities[["p", "p_adjusted", "flag"]].isna().all().all()
        assert set(disparities["n_permutations"]) == {0}
        assert workplace.diagnosis("tool_bias").query("feature == 'vader'")["mean"].notna().all()
        figure = workplace.metrics()["fruit"]["no-role, plain, vader"][MODEL]["range of mean"]
        assert (figure["value"], figure["n"], figure["unit"], figure["reason"]) == (
            None,
            0,
            "root items",
            "no value",
        )
        assert figure["verdict"] == "invalid on this model"
        workplace.card()
        card = (workplace.folder / "benchmarks/saged-fruit/README.md").read_text()
        assert "| none (no value) | none (no baseline has this feature) | none (no value) |" in card
