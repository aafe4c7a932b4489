"""What cannot be measured is one line, or null with a reason; no stage makes a number up."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.figures import find_figure
from tests.models.backends.test_encoders import save_classifier
from tests.stages.scripted import Workplace
from tests.tiny import tiny_declaration

pytestmark = pytest.mark.slow
SETTINGS: dict[str, Any] = {
    "items": {"trial": 1000, "standard": 1000, "full": 1000},
    "features": {
        "vader": {"kind": "lexicon"},
        "mood": {"kind": "classifier", "model": "moods", "score": {"sad": 0, "glad": 1}},
        "distance": {"kind": "distance", "metric": "cosine"},
        "topics": {"kind": "clusters", "form": "distance", "k": 2, "seed": 0},
    },
}


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """The toy domain, built; one of its features is a classifier's."""
    workplace = Workplace(tmp_path / "place", "fruit", **SETTINGS)
    saved = save_classifier(tmp_path / "moods", labels=["sad", "glad"])
    moods = tiny_declaration({"moods": saved}, kind="classifier")["models"]["moods"]
    workplace.edit("params.yaml", lambda params: params["models"].update(moods=moods))
    workplace.declare()
    workplace.scrape()
    workplace.build()
    return workplace


def write_nothing(prompt: str, seed: int) -> str:
    return " \n"


def test_what_is_not_made_yet(workplace: Workplace) -> None:
    for stage, file in (
        (workplace.card, "data/diagnosis/saged/evidence/fruit.json"),
        (workplace.diagnose, "data/answers/saged/scripted/model_meta.json"),
    ):
        assert workplace.refused(stage) == f"{file}: not built yet; run `make repro`"
    for folder in ("built", "scraped"):
        shutil.rmtree(workplace.folder / "data" / folder)
    for stage, file in (
        (lambda: workplace.ask(write_nothing), "data/built/saged/fruit/plan.json"),
        (workplace.build, "data/scraped/fruit/source.yaml"),
    ):
        assert workplace.refused(stage) == f"{file}: not built yet; run `make repro`"


def test_every_reply_is_empty(workplace: Workplace) -> None:
    workplace.ask(write_nothing)
    # Names are masked; baselines with their names are classified, too.
    counted = "scripted: 96 replies, 24 embeddings, 120 classifications; 240 of them asked"
    assert f"{counted} of models\n" in workplace.said.getvalue()
    workplace.diagnose()
    assert "mood: 96 of 96 rows lack a number: empty reply (96)" in workplace.said.getvalue()
    ranges = {"figure": "range", "feature": "vader", "statistic": "mean"}
    figure = find_figure(workplace.metrics()["fruit"], **ranges, calibration="raw")
    names = ("value", "n", "unit", "reason", "verdict")
    expected = [None, 0, "root items", "no value", "invalid"]
    assert [figure[name] for name in names] == expected
    workplace.card()
    card = (workplace.folder / "benchmarks/saged-fruit/README.md").read_text()
    assert "| none (no value) | none (no baseline has this feature) | none (no value) |" in card
