"""What cannot be measured is one line, or null with a reason; no stage makes a number up."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenruler.instruments.saged.schemas import PROMPTS
from evenruler.tables import write_table
from tests.figures import find_figure
from tests.models.backends.test_encoders import save_classifier
from tests.stages.scripted import ROOT, Workplace
from tests.tiny import tiny_declaration

pytestmark = pytest.mark.slow
ROOTS = 24
LABELS = ["sad", "glad"]
SCORE = {"sad": 0, "glad": 1}
SETTINGS: dict[str, Any] = {
    "items": {"trial": 1000, "standard": 1000, "full": 1000},
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
    classifier = {"kind": "classifier", "model": model, "score": score}
    return of_saged(features={"vader": {"kind": "lexicon"}, "mood": classifier, **entries})


class TestALine:
    def test_weights_that_do_not_fit(self, workplace: Workplace) -> None:
        """Labels are known where the model was asked."""
        workplace.edit("params.yaml", mood({"glad": 1}))
        workplace.declare()
        workplace.build()
        workplace.ask(in_turn)
        message = workplace.refused(workplace.diagnose)
        assert message.startswith("params.yaml: features.mood.score: no weight for 'sad'; "), (
            message
        )
        assert "\n" not in message
        assert not (workplace.folder / "data/diagnosis").exists()

    def test_a_model_whose_files_are_gone(self, workplace: Workplace) -> None:
        workplace.edit("params.yaml", mood(SCORE))
        workplace.edit(
            "params.yaml", lambda params: params["models"]["moods"].update(source="local:no")
        )
        workplace.declare()
        workplace.build()
        message = workplace.refused(lambda: workplace.ask(in_turn))
        assert (
            message
            == "params.yaml: models.moods: no: no such file or folder; check the name of the source"
        )
        assert not (workplace.folder / "data/answers").exists()

    def test_what_is_not_made_yet(self, workplace: Workplace) -> None:
        for stage, file in (
            (workplace.card, "data/diagnosis/saged/evidence/fruit.json"),
            (workplace.diagnose, "data/answers/saged/scripted/model_meta.json"),
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
    def test_an_empty_baseline(self, workplace: Workplace) -> None:
        prompts = workplace.prompts()
        rows = prompts["is_root"] & (prompts.index < 40)
        path = workplace.folder / "data/built/saged/fruit/prompts.parquet"
        write_table(prompts.assign(baseline=prompts["baseline"].mask(rows, "")), PROMPTS, path)
        empty = prompts.loc[rows, "id"]
        assert len(empty) > 1
        diagnosed(workplace)
        features = workplace.features().set_index("id")
        assert features["value"].notna().all()
        assert set(features.loc[empty, "reason"]) == {"empty baseline"}
        calibrated = workplace.diagnosis("summaries").query(
            "statistic == 'mean' and calibration == 'calibrated' and feature == 'vader'"
        )
        calibrated = calibrated.set_index("group")
        assert calibrated.loc["apple", ["n", "n_missing"]].tolist() == [
            ROOTS - len(empty),
            len(empty),
        ]
        assert calibrated.loc["pear", ["n", "n_missing"]].tolist() == [ROOTS, 0]
        assert calibrated["value"].notna().all()

    def test_every_reply_is_refused(self, workplace: Workplace) -> None:
        diagnosed(workplace, lambda prompt, seed: "I'm sorry, but I cannot help with that.")
        value_by_figure = {row["figure"]: row["value"] for row in workplace.metrics()["fruit"]}
        assert (value_by_figure["refusal_rate"], value_by_figure["empty_rate"]) == (1, 0)
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
        count_line = (
            "scripted: 96 replies, 24 embeddings, 120 classifications; 240 of them asked of "
            "models\n"
        )
        assert count_line in workplace.said.getvalue()
        workplace.diagnose()
        assert "mood: 96 of 96 rows lack a number: empty reply (96)" in workplace.said.getvalue()
        ranges = {"figure": "range", "feature": "vader", "statistic": "mean"}
        figure = find_figure(
            workplace.metrics()["fruit"],
            **ranges,
            calibration="raw",
        )
        assert (figure["value"], figure["n"], figure["unit"], figure["reason"]) == (
            None,
            0,
            "root items",
            "no value",
        )
        assert figure["verdict"] == "invalid"
        workplace.card()
        card = (workplace.folder / "benchmarks/saged-fruit/README.md").read_text()
        assert "| none (no value) | none (no baseline has this feature) | none (no value) |" in card
