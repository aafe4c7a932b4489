"""The framing paper's main figure of a model behind a server is that of its weights."""

from pathlib import Path

import pandas as pd
import pytest

from evenruler.evaluate.measure import measure
from evenruler.models.backends.server import KEY, URL
from evenruler.results.record import Result
from tests.loopback_openai import EchoingServer, lister_of, running, scorer_of

pytestmark = pytest.mark.enable_socket

FRAMING = "framing-p-at-gender-8"
KEYS = ["task", "framing", "stimulus", "outcome"]


def masses(folder: Path, result: Result) -> pd.DataFrame:
    """Mass of every class at every decision point."""
    (path,) = (folder / "results" / result.folder).glob("*distributions*.parquet")
    return pd.read_parquet(path).sort_values(KEYS)


@pytest.mark.slow
def test_mass_behind_a_server_is_that_of_the_weights(
    elsewhere: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = AutoModelForCausalLM.from_pretrained(tiny_folder)
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    scorer, lister = scorer_of(weights, tokenizer), lister_of(weights, tokenizer)
    with running(EchoingServer(scorer=scorer, lister=lister, most_listed=300)) as server:
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setenv(KEY, "any")
        served = measure(
            "endpoint:big", FRAMING, kind="completions", out="results", size="trial", limit=2
        )
    local = measure(
        f"local:{tiny_folder}", FRAMING, method="mass", out="results", size="trial", limit=2
    )
    theirs, ours = masses(elsewhere, served), masses(elsewhere, local)
    assert theirs[KEYS].to_numpy().tolist() == ours[KEYS].to_numpy().tolist()
    assert (ours["mass"] > 0).any()
    # 1 in 10,000 of a mass is 1e-4 nats.
    assert theirs["mass"].to_numpy() == pytest.approx(ours["mass"].to_numpy(), rel=1e-4)
    assert theirs["share"].to_numpy() == pytest.approx(ours["share"].to_numpy(), rel=2e-4)
    values = [row["value"] for row in local.figures]
    assert len(values) > 20
    assert [row["value"] for row in served.figures] == pytest.approx(values, abs=1e-3)
