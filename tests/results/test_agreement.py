"""Results of two benchmarks that measure the same units of one model."""

from pathlib import Path

import numpy as np
import pandas as pd

from evenruler.instruments.probes.schemas import HEADLINES
from evenruler.measurement.reliability import concept_rows
from evenruler.results.comparison import compare, result_agreement
from evenruler.results.store import read_stored_result, write_result
from evenruler.results.view import as_markdown, render
from evenruler.tables.schemas import CONCEPTS
from tests.results.synthetic import synthetic


def test_they_are_held_against_each_other_unit_by_unit(tmp_path: Path) -> None:
    random, results = np.random.default_rng(2), []
    true = random.normal(size=30)
    for name in ("probes-jobs", "external-jobs"):
        values = true[:, None] + random.normal(0, 0.3, (30, 4))
        jobs = [f"job {place}" for place in range(30)]
        rows = pd.DataFrame({"unit": jobs * 4, "value": values.T.ravel()})
        concepts = concept_rows(rows, "job").assign(
            benchmark=name, kin=name, part="all", model="one", trait="men", criterion=np.nan
        )
        written = write_result(
            synthetic("one", benchmark=name).with_tables(pd.DataFrame(columns=HEADLINES.names), {}),
            tmp_path,
            {"concepts": concepts[CONCEPTS.names]},
        )
        results.append(read_stored_result(written / "result.json"))
    value_by_figure = result_agreement(results).groupby(["benchmark", "figure"])["value"].first()
    assert 0.9 < value_by_figure["external-jobs@1.0.0", "reliability"] < 1
    assert 0.85 < value_by_figure["external-jobs@1.0.0", "r"] < 1
    comparisons = compare(results)
    assert comparisons.empty, "nothing is compared, and that is no error"
    text = as_markdown(results, comparisons)
    assert "| one | external-jobs@1.0.0 | probes-jobs@1.0.0 | same trait | 30 |" in text
    assert "Do the rulers agree?" in render(results, comparisons)
