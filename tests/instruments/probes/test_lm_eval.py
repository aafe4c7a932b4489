"""lm-evaluation-harness runs a copy of a benchmark from the Hub, and finds our numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params import Params
from evenruler.instruments.instrument import FigureHeading
from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.card import harness_files, task_name
from evenruler.instruments.probes.declare.settings import bias
from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.rows import compile_domain
from evenruler.models import sources
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from evenruler.publish.folder import BenchmarkFolder, Config, write_benchmark
from evenruler.versions import Changelog
from tests.hub_client import ROOT, Client
from tests.instruments.near import approx
from tests.instruments.probes.conftest import settings_of
from tests.lm_eval_run import lm_eval
from tests.loopback_hub import running
from tests.warm import Warm

DOMAIN, REPO = "jobs", "you/jobs"
CRITERION = {"nurse": 12.1, "carpenter": 96.9, "clerk": 15.9, "judge": 60.1}


def source() -> ProbeSource:
    """Four occupations and three templates, one of them keyed -1, out of the shipped domain; and a
    control."""
    path = ROOT / "data/sources/probes/occupation-gender.yaml"
    declared = YAML(typ="safe").load(path.read_text())
    declared["attributes"] = list(CRITERION)
    validation, seed = declared["sets"]["validation"], declared["sets"]["seed"]
    chosen = {
        "typical": validation["templates"]["typical"],
        "pride": validation["templates"]["pride"],
    }
    odd = seed["templates"]["odd"]
    assert odd["control"]
    turned = {"text": "Hardly ever is an {ATTRIBUTE} a {TARGET}.", "keying": -1}
    validation["templates"] = chosen | {"turned": turned, "odd": odd}
    declared["sets"] = {"validation": validation}
    return ProbeSource.model_validate(declared)


def benchmark_of(declared: ProbeSource) -> BenchmarkFolder:
    built = compile_domain(DOMAIN, declared, settings_of(article="literal"))
    for attribute in built["attributes"]:
        attribute["criterion"] = CRITERION[attribute["attribute"]]
    tables = {
        "probes": pa.Table.from_pylist(built["probes"], schema=schemas.PROBES),
        "templates": pa.Table.from_pylist(built["templates"], schema=schemas.TEMPLATES),
        "attributes": pa.Table.from_pylist(built["attributes"], schema=schemas.ATTRIBUTES),
    }
    name = f"probes-{DOMAIN}"
    return BenchmarkFolder(
        name=name,
        title=declared.title,
        version="1.0.0",
        language="en",
        task_categories=["text-generation"],
        tags=["bias"],
        construct=declared.construct_,
        warning=None,
        reading=declared.direction,
        limits=["Few rows."],
        citations=[],
        configs=[Config(config, config, table=table) for config, table in tables.items()],
        n_rejected=0,
        parameters={},
        plan={},
        quality=[FigureHeading("r", "r", "correlation")],
        quality_of_any=[
            FigureHeading(
                "semantic_diversity", "semantic diversity", "semantic diversity of the templates"
            )
        ],
        listed=[],
        compared=[],
        evidence=[],
        models={},
        command="make repro",
        harness=harness_files(DOMAIN, declared, CRITERION, "1.0.0"),
        harness_task=task_name(DOMAIN),
        changelog=Changelog(),
    )


def numbers(model: Model, benchmark: BenchmarkFolder) -> dict[str, float]:
    """Ours over the rows that are scored, by the harness's names."""
    probes = benchmark.configs[0].table.to_pandas()
    scored = probes[~probes["control"]]
    assert len(scored) == 3 * 4 * 12
    assert len(probes) == 4 * 4 * 12
    rows = scored.sort_values("pole", ascending=False, kind="stable")
    rows = rows.assign(nats=model.loglikelihood(rows["text"].tolist()).nats)
    cells = rows.groupby(["template", "attribute", "keying"])[["nats", "pole"]]

    def bias_of(cell: pd.DataFrame) -> float:
        return float(bias(cell["nats"].to_numpy(), cell["pole"].tolist()))

    biases = cells.apply(bias_of)
    biases *= biases.index.get_level_values("keying")
    by_attribute = biases.groupby("attribute").mean()
    criterion = [CRITERION[attribute] for attribute in by_attribute.index]
    return {
        "offset,none": biases.mean(),
        "spread,none": by_attribute.std(),
        "validity,none": np.corrcoef(by_attribute, criterion)[0, 1],
    }


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(
    smollm2: Model,
    packaged_store: RowStore,
    shipped_params: Params,
    warm_client: Warm | None,
    tmp_path: Path,
) -> None:
    """Takes a quarter of a minute: the harness is imported and loads the model itself."""
    model = sources.locate_model(
        smollm2.name,
        shipped_params.models[smollm2.name],
        packaged_store,
    )
    benchmark = benchmark_of(source())
    root = tmp_path / "root"
    write_benchmark(benchmark, root / "benchmarks" / benchmark.name)
    params = (ROOT / "params.yaml").read_text().split("\nversions:")[0] + "\n"
    (root / "params.yaml").write_text(params.replace("occupation-gender", DOMAIN))
    with running() as hub:
        client = Client(hub, root, tmp_path / "home", warm_client)
        client.run("evenruler", "publish", benchmark.name, "--to", REPO)
        download = ("hf", "download", REPO, "--repo-type", "dataset", "--revision", "v1.0.0")
        client.run(*download, "--local-dir", "got")

    report = lm_eval(
        model,
        root / "got",
        task_name(DOMAIN),
        tmp_path / "elsewhere",
    )

    values = report["results"]["probes_jobs__validation"]
    expected = numbers(smollm2, benchmark)
    assert {name: values[name] for name in expected} == approx(expected, abs=1e-4)
    assert report["versions"]["probes_jobs__validation"] == "1.0.0"
