"""The stage: sections of what is declared, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from stages import report
from tests.instruments.questionnaires.report.conftest import MADE, write_tables

MODEL = {"source": "local:a-model", "licence": "apache-2.0", "origin": "made by the test"}


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes params.yaml, without probes, into a folder that is then the current one."""

    def write(**changed: Any) -> None:
        adapted = ["m"] if changed["interventions"] else []
        params = {
            "active": {"scale": "quick", "models": ["m"], "entailment": ["m"], "interventions": adapted},
            "models": {
                "m": {**MODEL, "kind": "causal", "entailment": True, "intervention": "every"},
                "embedder": {**MODEL, "kind": "embedder"},
            },
            "probes": {},
            "diagnosis": {"embedder": "embedder"},
            **changed,
        }
        with (tmp_path / "params.yaml").open("w") as out:
            YAML().dump(params, out)

    monkeypatch.chdir(tmp_path)
    return write


def test_nothing_declared_is_an_empty_page(declare: Callable[..., None]) -> None:
    declare(questionnaires={}, interventions={})
    report.main()
    page = Path("data/report/index.html").read_text()
    assert "<h2 id=" not in page
    assert "Scale: quick" in page


def test_what_is_declared_must_be_built(
    declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch, declared: Any
) -> None:
    declare(questionnaires={"worry": {}}, interventions={})
    monkeypatch.setattr(report, "load_questionnaire", lambda path, scales: declared[path.stem])
    with pytest.raises(UserError, match="not built yet"):
        report.main()


def test_without_interventions_their_section_is_left_out(
    declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch, declared: Any
) -> None:
    declare(questionnaires={"worry": {}, "trust": {}}, interventions={})
    monkeypatch.setattr(report, "load_questionnaire", lambda path, scales: declared[path.stem])
    write_tables(Path("data/diagnosis/questionnaires"))
    for name in ("changes", "course", "trajectories"):
        Path(f"data/diagnosis/questionnaires/{name}.parquet").unlink()
    report.main()
    page = Path("data/report/index.html").read_text()
    assert page.count("<h2 id=") == 3
    assert "Questionnaires: items</h2>" in page
    assert "Interventions" not in page


def test_with_interventions_the_section_is_there(
    declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch, declared: Any, corpora: Any
) -> None:
    declare(questionnaires={"worry": {}, "trust": {}}, interventions={"gloom": {}, "bolts": {}})
    monkeypatch.setattr(report, "load_questionnaire", lambda path, scales: declared[path.stem])
    monkeypatch.setattr(report, "load_corpus", lambda path: corpora[path.stem])
    write_tables(Path("data/diagnosis/questionnaires"))
    assert len(MADE) == len(list(Path("data/diagnosis/questionnaires").iterdir()))
    report.main()
    page = Path("data/report/index.html").read_text()
    assert "Interventions</h2>" in page
    assert page.count('class="picture"') == 3
