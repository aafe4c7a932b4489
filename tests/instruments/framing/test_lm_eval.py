"""lm-evaluation-harness runs a copy of a published contrast, anywhere, and finds our numbers."""

from pathlib import Path

import pytest

from evenruler.instruments.asking import AnsweringModels
from evenruler.models import load
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.instruments.framing.published import Published, ours
from tests.instruments.near import approx
from tests.lm_eval_run import lm_eval
from tests.tiny import save_tiny, tiny_params

WORDS = {"formal": ["dear", "sirs"], "informal": ["hi", "howdy"]}
"""Some are one token, some several."""


def no_tool(name: str) -> Model:
    """None is asked for."""
    raise AssertionError(name)


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(store: RowStore, tmp_path: Path) -> None:
    """Two stimuli, few words and a tiny model: SmolLM2 took four minutes.

    Both read in float32, in other batches; a word less moves .001.
    """
    folder = save_tiny(tmp_path / "tiny", max_position_embeddings=4096)
    model = load("tiny", tiny_params({"tiny": folder}), store=store)
    benchmark = Published("register", tmp_path / "my copy")
    plan = benchmark.plan
    outcomes = [outcome | {"forms": WORDS[outcome["outcome"]]} for outcome in plan["outcomes"]]
    benchmark.planned(stimuli=plan["stimuli"][:2], outcomes=outcomes)

    # Of single log-probabilities the harness sums whole texts.
    doubles = ("--model_args", f"pretrained={folder},dtype=float32,softmax_dtype=float64")
    run = lm_eval(folder, benchmark.folder, "framing_register", tmp_path / "elsewhere", *doubles)

    assert run["versions"] == {"framing_register": "1.2.3"}
    metrics = run["results"]["framing_register"]
    expected = ours(benchmark, AnsweringModels(model, no_tool))
    assert {readout: metrics[f"{readout},none"] for readout in expected} == approx(
        expected, abs=2e-5
    )
