"""lm-evaluation-harness runs a copy of a published questionnaire, anywhere, and finds our
numbers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from evenruler.instruments.questionnaires.ask.item_scores import Scoring
from evenruler.instruments.questionnaires.card import harness_files, task_name
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.models import load
from evenruler.models.store import RowStore
from evenruler.publish.folder import write_benchmark
from tests.folders import benchmark_folder
from tests.instruments.questionnaires.doors import by_logits
from tests.instruments.questionnaires.test_harness import SCALE, declared, prompts_of
from tests.lm_eval_run import lm_eval
from tests.tiny import save_tiny, tiny_params

NAME = "my-tension"
SETTINGS = Scoring(temperature=0.8)


@pytest.mark.slow
@pytest.mark.long
def test_its_numbers_are_ours(tmp_path: Path) -> None:
    """Takes a quarter of a minute: the harness is imported and loads the model itself.

    A random model, whose tokenizer adds no start token; a real one has the harness of probes and
    framings.
    """
    folder = save_tiny(tmp_path / "tiny")
    model = load("tiny", tiny_params({"tiny": folder}), store=RowStore(tmp_path / "store"))
    source = declared()
    words = SimpleNamespace(
        reading=source.direction,
        limits=["Few rows."],
        parameters={},
        quality=[],
        quality_of_any=[],
        harness=harness_files(NAME, source, "1.0.0"),
        harness_task=task_name(NAME),
    )
    plan = {"temperature": SETTINGS.temperature, "three_way": SETTINGS.three_way}
    tables = {"prompts": prompts_of(source)}
    benchmark = benchmark_folder(f"questionnaires-{NAME}", source, tables, plan, words)
    write_benchmark(benchmark, tmp_path / "my copy")
    run = lm_eval(folder, tmp_path / "my copy", task_name(NAME), tmp_path / "elsewhere")

    assert run["versions"] == {"nli_my_tension": "1.0.0"}
    scores = run["results"]["nli_my_tension"]
    built = fill_templates(NAME, source, SCALE)
    both = by_logits(built, model.entailment, SETTINGS, NAME)
    expected, twins = both["score"], both["axis_position"]
    assert scores["beyond_twins,none"] == pytest.approx((expected - twins).mean() * 4, abs=1e-4)
    assert scores["score,none"] == pytest.approx(expected.mean(), abs=1e-4)
    assert scores["answer,none"] == pytest.approx(expected.mean() * 4, abs=1e-4)
    assert scores["score_body-and-mind,none"] == pytest.approx(expected["tense"], abs=1e-4)
    assert abs(expected).min() > 1e-3
