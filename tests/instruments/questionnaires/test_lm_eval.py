"""lm-evaluation-harness runs a copy of a published questionnaire, anywhere, and finds our
numbers."""

from pathlib import Path

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
from evenruler.publish.folder import BenchmarkFolder, Config, write_benchmark
from evenruler.versions import Changelog
from tests.hub_client import ROOT, Client
from tests.instruments.questionnaires.doors import by_logits
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
    declared = YAML(typ="safe").load(
        (ROOT / f"data/sources/questionnaires/{QUESTIONNAIRE}.yaml").read_text()
    )
    chosen = dict(list(declared["items"].items())[:2])
    for item, changes in zip(
        chosen.values(), ({"subscale": "friends"}, {"keying": -1}), strict=True
    ):
        item |= changes
    for asked in (asked for item in chosen.values() for asked in (item, *item["twins"])):
        asked["terms"] = {
            "source": asked["terms"]["source"][:2],
            "inverse": asked["terms"]["inverse"][:1],
        }
    return QuestionnaireSource.model_validate({**declared, "items": chosen}), scale


def benchmark_of(
    source: QuestionnaireSource, scale: ResponseScale, built: QuestionnaireRows
) -> BenchmarkFolder:
    name = f"questionnaires-{QUESTIONNAIRE}"
    return BenchmarkFolder(
        name=name,
        title=source.title,
        version="1.0.0",
        language="en",
        task_categories=["text-classification"],
        tags=["questionnaire"],
        construct=source.construct_,
        warning=None,
        reading=source.direction,
        limits=["Few rows."],
        citations=[],
        configs=[
            Config(
                "prompts",
                "a prompt",
                table=pa.Table.from_pylist(built.prompts, schema=schemas.PROMPTS),
            ),
            Config(
                "items", "an item", table=pa.Table.from_pylist(built.items, schema=schemas.ITEMS)
            ),
        ],
        n_rejected=0,
        parameters={},
        plan={"temperature": SETTINGS.temperature, "three_way": SETTINGS.three_way},
        quality=[FigureHeading("mean_response", "mean response", "mean answer")],
        quality_of_any=[FigureHeading("alpha", "alpha", "alpha")],
        listed=[],
        compared=[],
        evidence=[],
        models={},
        command="make repro",
        harness=harness_files(QUESTIONNAIRE, source, "1.0.0"),
        harness_task=task_name(QUESTIONNAIRE),
        changelog=Changelog(),
    )


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
    made = benchmark_of(source, scale, built)
    root = tmp_path / "root"
    write_benchmark(made, root / "benchmarks" / made.name)
    declared = tiny_declaration({"tiny": folder}, entailment=True)
    declared["instruments"] = {QUESTIONNAIRE: {"family": "questionnaires"}}
    YAML(typ="safe").dump(declared, root / "params.yaml")
    with running() as hub:
        client = Client(hub, root, tmp_path / "home", warm_client)
        client.run("evenruler", "publish", made.name, "--to", REPO)
        client.run(
            "hf",
            "download",
            REPO,
            "--repo-type",
            "dataset",
            "--revision",
            "v1.0.0",
            "--local-dir",
            "got",
        )
    run = lm_eval(folder, root / "got", task_name(QUESTIONNAIRE), tmp_path / "elsewhere")
    found = run["results"]["nli_trust_in_people"]

    assert run["versions"] == {"nli_trust_in_people": "1.0.0"}
    both = by_logits(built, model.entailment, SETTINGS, QUESTIONNAIRE)
    expected, twins = both["score"], both["axis_position"]
    assert len(built.prompts) == 2 * 4 * 3 * 8
    assert found["beyond_twins,none"] == pytest.approx((expected - twins).mean() * 8, abs=1e-4)
    assert found["score,none"] == pytest.approx(expected.mean(), abs=1e-4)
    assert found["answer,none"] == pytest.approx(expected.mean() * 8, abs=1e-4)
    assert found["score_friends,none"] == pytest.approx(expected.iloc[0], abs=1e-4)
    assert abs(expected).min() > 1e-3
