"""lm-evaluation-harness runs a copy of a published contrast, anywhere, and finds our numbers."""

from pathlib import Path

import pytest

from evenruler.declaration.params import Params
from evenruler.instruments.asking import AnsweringModels
from evenruler.models import sources
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.instruments.framing.published import Published, ours
from tests.instruments.near import approx
from tests.lm_eval_run import lm_eval

WORDS = {"formal": ["dear", "sirs"], "informal": ["hi", "howdy"]}
"""Some are one token, some several."""


def no_tool(name: str) -> Model:
    """None is asked for."""
    raise AssertionError(name)


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(
    smollm2: Model, packaged_store: RowStore, shipped_params: Params, tmp_path: Path
) -> None:
    """Takes three quarters of a minute: two stimuli, few words.

    Both read in float32, in other batches: 5e-7 to 2.3e-6 apart by processor. A word less moves
    .001.
    """
    model = sources.locate_model(smollm2.name, shipped_params.models[smollm2.name], packaged_store)
    benchmark = Published("register", tmp_path / "my copy")
    plan = benchmark.plan
    outcomes = [outcome | {"forms": WORDS[outcome["outcome"]]} for outcome in plan["outcomes"]]
    benchmark.planned(stimuli=plan["stimuli"][:2], outcomes=outcomes)

    # Of single log-probabilities the harness sums whole texts.
    doubles = ("--model_args", f"pretrained={model},dtype=float32,softmax_dtype=float64")
    run = lm_eval(model, benchmark.folder, "framing_register", tmp_path / "elsewhere", *doubles)

    assert run["versions"] == {"framing_register": "1.2.3"}
    metrics = run["results"]["framing_register"]
    expected = ours(benchmark, AnsweringModels(smollm2, no_tool))
    assert {readout: metrics[f"{readout},none"] for readout in expected} == approx(
        expected, abs=2e-5
    )
