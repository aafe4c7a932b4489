"""lm-evaluation-harness runs a copy of a published questionnaire, anywhere, and finds our
numbers."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from evenruler.instruments.instrument import FigureHeading
from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.item_scores import Scoring
from evenruler.instruments.questionnaires.card import harness_files, task_name
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
    ResponseScale,
    load_questionnaire,
)
from evenruler.instruments.questionnaires.rows import QuestionnaireRows, fill_templates
from evenruler.models import load
from evenruler.models.store import RowStore
from evenruler.publish.folder import BenchmarkFolder, write_benchmark
from tests.hub_client import ROOT, Client
from tests.instruments.questionnaires.doors import benchmark_folder, by_logits
from tests.lm_eval_run import lm_eval
from tests.loopback_hub import running
from tests.tiny import save_tiny, tiny_declaration, tiny_params
from tests.warm import Warm

QUESTIONNAIRE, REPO = "trust-in-people", "you/trust"
SETTINGS = Scoring(temperature=0.8)


def shortened() -> tuple[QuestionnaireSource, ResponseScale]:
    """Two items of the shipped questionnaire with two source and one inverse term; one in a
    subscale, one keyed -1."""
    _, scale = load_questionnaire(
        ROOT / f"data/sources/questionnaires/{QUESTIONNAIRE}.yaml",
        ROOT / "data/sources/questionnaires/shared/scales",
    )
    path = ROOT / f"data/sources/questionnaires/{QUESTIONNAIRE}.yaml"
    declared = YAML(typ="safe").load(path)
    chosen = dict(list(declared["items"].items())[:2])
    first, second = chosen.values()
    first["subscale"], second["keying"] = "friends", -1
    for item in (first, second):
        for wording in (item, *item["twins"]):
            terms = wording["terms"]
            wording["terms"] = {"source": terms["source"][:2], "inverse": terms["inverse"][:1]}
    return QuestionnaireSource.model_validate({**declared, "items": chosen}), scale


def benchmark_of(source: QuestionnaireSource, built: QuestionnaireRows) -> BenchmarkFolder:
    tables = {
        "prompts": pa.Table.from_pylist(built.prompts, schema=schemas.PROMPTS),
        "items": pa.Table.from_pylist(built.items, schema=schemas.ITEMS),
    }
    quality = [FigureHeading("mean_response", "mean response", "mean answer")]
    words = SimpleNamespace(
        reading=source.direction,
        limits=["Few rows."],
        parameters={},
        quality=quality,
        quality_of_any=[FigureHeading("alpha", "alpha", "alpha")],
        harness=harness_files(QUESTIONNAIRE, source, "1.0.0"),
        harness_task=task_name(QUESTIONNAIRE),
    )
    plan = {"temperature": SETTINGS.temperature, "three_way": SETTINGS.three_way}
    return benchmark_folder(f"questionnaires-{QUESTIONNAIRE}", source, tables, plan, words)


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(warm_client: Warm | None, tmp_path: Path) -> None:
    """Takes a quarter of a minute: the harness is imported and loads the model itself.

    A random model, whose tokenizer adds no start token; a real one has the harness of probes and
    framings.
    """
    folder = save_tiny(tmp_path / "tiny")
    model = load("tiny", tiny_params({"tiny": folder}), store=RowStore(tmp_path / "store"))
    source, scale = shortened()
    built = fill_templates(QUESTIONNAIRE, source, scale)
    benchmark = benchmark_of(source, built)
    root = tmp_path / "root"
    write_benchmark(benchmark, root / "benchmarks" / benchmark.name)
    declared = tiny_declaration({"tiny": folder}, entailment=True)
    declared["instruments"] = {QUESTIONNAIRE: {"family": "questionnaires"}}
    YAML(typ="safe").dump(declared, root / "params.yaml")
    with running() as hub:
        client = Client(hub, root, tmp_path / "home", warm_client)
        client.run("evenruler", "publish", benchmark.name, "--to", REPO)
        options = ["--repo-type", "dataset", "--revision", "v1.0.0", "--local-dir", "got"]
        client.run("hf", "download", REPO, *options)
    run = lm_eval(folder, root / "got", task_name(QUESTIONNAIRE), tmp_path / "elsewhere")
    scores = run["results"]["nli_trust_in_people"]

    assert run["versions"] == {"nli_trust_in_people": "1.0.0"}
    both = by_logits(built, model.entailment, SETTINGS, QUESTIONNAIRE)
    expected, twins = both["score"], both["axis_position"]
    assert len(built.prompts) == 2 * 4 * 3 * 8
    assert scores["beyond_twins,none"] == pytest.approx((expected - twins).mean() * 8, abs=1e-4)
    assert scores["score,none"] == pytest.approx(expected.mean(), abs=1e-4)
    assert scores["answer,none"] == pytest.approx(expected.mean() * 8, abs=1e-4)
    assert scores["score_friends,none"] == pytest.approx(expected.iloc[0], abs=1e-4)
    assert abs(expected).min() > 1e-3
