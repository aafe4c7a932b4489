"""lm-evaluation-harness runs a published benchmark at its tag and finds our numbers."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.probes import schemas
from evenruler.instruments.probes.build.compiling import compile_domain
from evenruler.instruments.probes.card import harness
from evenruler.instruments.probes.declare import ProbeSource, bias
from evenruler.models import sources
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from evenruler.project.params import Params
from evenruler.publish import Benchmark, Config, Quality, write_benchmark
from evenruler.publish.versions import Changelog
from tests.hub_client import ROOT, Client
from tests.instruments.probes.conftest import settings_of
from tests.loopback_hub import running
from tests.warm import Warm

DOMAIN, REPO = "jobs", "you/jobs"
CRITERION = {"nurse": 12.1, "carpenter": 96.9, "clerk": 15.9, "judge": 60.1}


def source() -> ProbeSource:
    """Four occupations and three templates, one of them keyed -1, out of the shipped domain; and a control."""
    declared = YAML(typ="safe").load((ROOT / "data/sources/probes/occupation-gender.yaml").read_text())
    declared["attributes"] = list(CRITERION)
    validation, seed = declared["sets"]["validation"], declared["sets"]["seed"]
    chosen = {"typical": validation["templates"]["typical"], "pride": validation["templates"]["pride"]}
    odd = seed["templates"]["odd"]
    assert odd["control"]
    turned = {"text": "Hardly ever is an {ATTRIBUTE} a {TARGET}.", "keying": -1}
    validation["templates"] = chosen | {"turned": turned, "odd": odd}
    declared["sets"] = {"validation": validation}
    return ProbeSource.model_validate(declared)


def benchmark_of(declared: ProbeSource) -> Benchmark:
    built = compile_domain(DOMAIN, declared, settings_of(article="literal"))
    tables = {
        "probes": pa.Table.from_pylist(built.probes, schema=schemas.PROBES),
        "templates": pa.Table.from_pylist(built.templates, schema=schemas.TEMPLATES),
    }
    name = f"probes-{DOMAIN}"
    return Benchmark(
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
        configs=[Config(config, config, table) for config, table in tables.items()],
        n_rejected=0,
        parameters={},
        plan={},
        quality=[Quality("r", "r", "correlation")],
        quality_of_any=[Quality("semantic_diversity", "semantic diversity", "semantic diversity of the templates")],
        compared=[],
        evidence={},
        models={},
        command="make repro",
        harness=harness.harness_files(DOMAIN, declared, CRITERION, "1.0.0"),
        harness_task=harness.task_name(DOMAIN),
        changelog=Changelog(),
    )


@pytest.mark.slow
def test_its_numbers_are_ours(
    smollm2: Model, packaged_store: RowStore, shipped_params: Params, warm_client: Warm | None, tmp_path: Path
) -> None:
    """Takes a quarter of a minute: the harness is imported and loads the model itself."""
    model = sources.locate(smollm2.name, shipped_params.models[smollm2.name], packaged_store)
    made = benchmark_of(source())
    root = tmp_path / "root"
    write_benchmark(made, root / "benchmarks" / made.name)
    params = (ROOT / "params.yaml").read_text().split("\nversions:")[0] + "\nactive: {scale: quick}\n"
    (root / "params.yaml").write_text(params.replace("occupation-gender", DOMAIN))
    with running() as hub:
        client = Client(hub, root, tmp_path / "home", warm_client)
        client.run("evenruler", "publish", made.name, "--to", REPO)
        client.run("hf", "download", REPO, "--repo-type", "dataset", "--revision", "v1.0.0", "--local-dir", "got")
        client.run(
            *("lm_eval", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32"),
            *("--include_path", "got/lm_eval", "--tasks", made.harness_task, "--device", "cpu"),
            *("--batch_size", "16", "--output_path", "results"),
            token="",
        )
    (results,) = (root / "results").rglob("results*.json")
    found = json.loads(results.read_text())["results"]["probes_jobs__validation"]

    asked = made.configs[0].table.to_pandas()
    rows = asked[~asked["control"]].sort_values("pole", ascending=False, kind="stable")
    nats = smollm2.loglikelihood(rows["text"].tolist()).nats
    biases = (
        rows.assign(nats=nats)
        .groupby(["template", "attribute", "keying"])[["nats", "pole"]]
        .apply(lambda cell: float(bias(cell["nats"].to_numpy(), cell["pole"].tolist())))
    )
    biases *= biases.index.get_level_values("keying")
    by_attribute = biases.groupby("attribute").mean()
    assert (len(rows), len(asked)) == (3 * 4 * 12, 4 * 4 * 12)
    assert found["offset,none"] == pytest.approx(biases.mean(), abs=1e-4)
    assert found["spread,none"] == pytest.approx(by_attribute.std(), abs=1e-4)
    expected_r = np.corrcoef(by_attribute, [CRITERION[attribute] for attribute in by_attribute.index])[0, 1]
    assert found["validity,none"] == pytest.approx(expected_r, abs=1e-4)
