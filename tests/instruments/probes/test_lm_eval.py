"""lm-evaluation-harness runs the task of a benchmark folder, and finds our numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params import Params
from evenruler.instruments.probes.card import harness_files
from evenruler.instruments.probes.declare.settings import bias
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.rows import compile_domain
from evenruler.models import sources
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.conftest import ROOT
from tests.instruments.near import approx
from tests.instruments.probes.conftest import settings_of
from tests.instruments.probes.test_harness import write_rows
from tests.lm_eval_run import lm_eval

CRITERION = {"nurse": 12.1, "carpenter": 96.9, "clerk": 15.9, "judge": 60.1}


def source() -> ProbeSource:
    """Four occupations and three templates, one of them keyed -1, out of the shipped domain; and a
    control."""
    path = ROOT / "data/sources/probes/occupation-gender.yaml"
    declared = YAML(typ="safe").load(path.read_text())
    validation, seed = (declared["sets"][name] for name in ("validation", "seed"))
    chosen = {name: validation["templates"][name] for name in ("typical", "pride")}
    chosen["turned"] = {"text": "Hardly ever is an {ATTRIBUTE} a {TARGET}.", "keying": -1}
    chosen["odd"] = seed["templates"]["odd"]
    sets = {"validation": {**validation, "templates": chosen}}
    return ProbeSource.model_validate({**declared, "attributes": list(CRITERION), "sets": sets})


def write_benchmark(folder: Path) -> pd.DataFrame:
    """Write what the harness reads of a benchmark folder, and return its sentences."""
    declared = source()
    probes = pd.DataFrame(
        compile_domain("jobs", declared, settings_of(article="literal"))["probes"]
    )
    write_rows(
        folder,
        "probes",
        probes.to_dict("list"),
    )
    criterion = {"attribute": [*CRITERION], "criterion": [*CRITERION.values()]}
    write_rows(folder, "attributes", criterion)
    (folder / "lm_eval").mkdir()
    for name, text in harness_files("jobs", declared, CRITERION, "1.0.0").items():
        (folder / "lm_eval" / name).write_text(text, encoding="utf-8")
    return probes


def measure_biases(model: Model, probes: pd.DataFrame) -> dict[str, float]:
    """Ours over the rows that are scored, by the harness's names."""
    rows = probes[~probes["control"]].sort_values(
        "pole",
        ascending=False,
        kind="stable",
    )
    assert len(rows) == 3 * 4 * 12
    assert len(probes) == 4 * 4 * 12
    rows = rows.assign(nats=model.loglikelihood(rows["text"].tolist()).nats)
    biases = []
    for (_, attribute, keying), cell in rows.groupby(["template", "attribute", "keying"]):
        difference = float(bias(cell["nats"].to_numpy(), cell["pole"].tolist()))
        biases.append((attribute, keying * difference))
    table = pd.DataFrame(biases, columns=["attribute", "bias"])
    means = table.groupby("attribute")["bias"].mean()
    criterion = [CRITERION[attribute] for attribute in means.index]
    return {
        "offset,none": table["bias"].mean(),
        "spread,none": means.std(),
        "validity,none": np.corrcoef(means, criterion)[0, 1],
    }


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(
    smollm2: Model, packaged_store: RowStore, shipped_params: Params, tmp_path: Path
) -> None:
    """Takes a quarter of a minute: the harness is imported and loads the model itself."""
    entry = shipped_params.models[smollm2.name]
    model = sources.locate_model(
        smollm2.name,
        entry,
        packaged_store,
    )
    probes = write_benchmark(tmp_path / "jobs")
    report = lm_eval(
        model,
        tmp_path / "jobs",
        "probes_jobs",
        tmp_path / "elsewhere",
    )
    values = report["results"]["probes_jobs__validation"]
    expected = measure_biases(smollm2, probes)
    assert {name: values[name] for name in expected} == approx(expected, abs=1e-4)
    assert report["versions"]["probes_jobs__validation"] == "1.0.0"
