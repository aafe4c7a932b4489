"""The same rows through lm-evaluation-harness: likelihoods, its metric, and from its own log the
figures of asking."""

import json

import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.evaluate.measure import measure
from tests.instruments.external import test_folder
from tests.instruments.near import approx
from tests.lm_eval_run import lm_eval
from tests.tiny import save_tiny

folder = test_folder.folder


@pytest.mark.slow
@pytest.mark.long
def test_likelihoods_share_and_log(folder, tmp_path, monkeypatch) -> None:
    """Log-likelihood ratios to 2e-4, the share exactly; of a bare pair, as its crows_pairs asks
    it."""
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    pairs = (
        test_folder.rows_of(folder).pivot(index="item", columns="role", values="text").reset_index()
    )
    rows = tmp_path / "rows.jsonl"
    pairs.to_json(rows, orient="records", lines=True)
    task = {
        "task": "made_pairs",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "",
        "doc_to_target": 0,
        "doc_to_choice": "{{[first, second]}}",
        "target_delimiter": "",
        "metric_list": [{"metric": "acc"}],
    }
    tasks = tmp_path / "benchmark" / "lm_eval"
    tasks.mkdir(parents=True)
    with (tasks / "made_pairs.yaml").open("w") as file:
        YAML(typ="safe").dump(task, file)
    model = save_tiny(tmp_path / "tiny")
    theirs = lm_eval(
        model,
        tmp_path / "benchmark",
        "made_pairs",
        tmp_path / "run",
        "--log_samples",
    )
    (samples,) = (tmp_path / "run").rglob("samples_made_pairs*.jsonl")

    measured = measure(
        f"local:{model}",
        folder,
        out=tmp_path / "asked",
        size="full",
    )
    logged = measure(
        f"recorded:{samples}", folder, out=tmp_path / "logged", size="full", name="logged"
    )
    measured_figures, logged_figures = (
        test_folder.rows_by_figure(measured),
        test_folder.rows_by_figure(logged),
    )
    assert measured_figures["share"]["value"] == approx(
        theirs["results"]["made_pairs"]["acc,none"], abs=1e-3
    )
    items = [
        pd.read_parquet(next(place.rglob("items.parquet"))).set_index("item")
        for place in (tmp_path / "asked", tmp_path / "logged")
    ]
    differences = items[0]["value"] - items[1]["value"]
    # Of two texts each, in tables that are rounded to six digits.
    assert differences.abs().max() < 2e-4
    assert items[0]["won"].mean() == theirs["results"]["made_pairs"]["acc,none"]
    lean, logged_lean = measured_figures["lean"], logged_figures["lean"]
    for name in ("value", "low", "high", "p"):
        assert lean[name] == approx(logged_lean[name], abs=1e-6)
    nats = []
    for line in samples.read_text().splitlines():
        nats += [float(response[0]) for response in json.loads(line)["filtered_resps"]]
    assert len(nats) == 96
