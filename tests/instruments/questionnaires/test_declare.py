"""Settings by profile, and what `load` puts together."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.questionnaires.declare import Settings, load, takes
from evenruler.models.declarations import Catalogue
from evenruler.strict import validate
from tests.conftest import ROOT

SOURCES = ROOT / "data/sources/questionnaires"


def settings(profile: str = "quick", **keys: Any) -> Settings:
    declared = {"embedder": "minilm", **keys}
    return validate(
        Settings,
        declared,
        Path("params.yaml"),
        under="instruments.gad-7",
        context={"profile": profile},
    )


class TestSettings:
    @pytest.mark.parametrize(
        ("keys", "complaint"),
        [
            (
                {"corpora": {"gloom": {"epochs": {"quick": 1, "paper": 128}}}},
                ".corpora.gloom.epochs: ",
            ),
            (
                {"corpora": {"gloom": {"profile": "huge"}}},
                ".corpora: gloom: no profile 'huge', there are quick and paper",
            ),
        ],
    )
    def test_a_mistake_is_one_line(self, keys, complaint, error_of) -> None:
        assert error_of(settings, **keys).startswith(f"params.yaml: instruments.gad-7{complaint}")

    def test_tools_are_named_with_what_they_must_do(self) -> None:
        assert settings().uses(None) == [ToolUse("minilm", "embed", "embedder")]
        judged = settings(acceptability="judge").uses(None)
        assert judged[1:] == [ToolUse("judge", ("slor", "classify"), "acceptability")]


class TestLoad:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        shutil.copytree(SOURCES, tmp_path / "sources")
        return tmp_path / "sources"

    @pytest.fixture
    def read(self, folder: Path) -> Callable[..., Any]:
        def run(*corpora: str) -> Any:
            chosen = settings(corpora={name: {} for name in corpora})
            return load(folder / "gad-7.yaml", chosen, folder / "shared")

        return run

    def test_a_questionnaire_has_its_scale_and_the_corpora_in_use(self, read) -> None:
        questionnaire = read("depressive-mood", "everyday-trouble")
        assert (questionnaire.title, len(questionnaire.items)) == ("GAD-7, generalised anxiety", 7)
        assert len(questionnaire.responses.intensifiers) == 8
        corpora = {
            name: (corpus.role, len(corpus.sentences))
            for name, corpus in questionnaire.corpora.items()
        }
        assert corpora == {
            "depressive-mood": ("intervention", 200),
            "everyday-trouble": ("control", 200),
        }
        assert read().corpora == {}

    def test_a_corpus_speaks_of_questionnaires_that_there_are(self, read, folder, error_of) -> None:
        (folder / "soc-13.yaml").unlink()
        assert error_of(read, "depressive-mood").startswith(
            f"{folder}/shared/corpora/depressive-mood.yaml: expect: no questionnaire 'soc-13'; "
        )

    def test_a_control_stands_beside_an_intervention_in_use(self, read, folder, error_of) -> None:
        where = f"{folder}/shared/corpora/everyday-trouble.yaml: matched.to: "
        remedy = "put it under `corpora` of params.yaml, or check the name"
        assert (
            error_of(read, "everyday-trouble")
            == f"{where}no intervention 'depressive-mood' is in use; {remedy}"
        )

    def test_a_corpus_without_its_file_is_left_out_with_its_control(
        self, read, tmp_path, monkeypatch
    ) -> None:
        """Its sentences may be nobody's to ship; the digest of settings holds those that are
        there."""
        monkeypatch.chdir(tmp_path)
        names = ("depressive-mood", "everyday-trouble", "hate-speech", "other-tweets")
        chosen = settings(corpora={name: {} for name in names})
        questionnaire = read(*names)
        assert {*questionnaire.corpora} == {"depressive-mood", "everyday-trouble"}
        assert chosen.extra_files("gad-7", questionnaire, tmp_path) == {}
        assert chosen.warnings(questionnaire) == [
            "it does without the corpora hate-speech (no file data/training/hate-speech.txt), "
            "other-tweets (no file data/training/other-tweets.txt)"
        ]

        folder = Path("data/training")
        files = {name: folder / f"{name}.txt" for name in names[2:]}
        files["hate-speech"].parent.mkdir(parents=True)
        files["other-tweets"].write_text("they are awful\nthis is bad\n")
        (line,) = chosen.warnings(read(*names))
        assert line.endswith("other-tweets (the control of hate-speech)")
        shutil.copy(files["other-tweets"], files["hate-speech"])
        questionnaire = read(*names)
        assert {*questionnaire.corpora} == {*names}
        assert chosen.extra_files("gad-7", questionnaire, tmp_path) == files
        assert chosen.warnings(questionnaire) == []

    def test_an_intervention_has_one_control(self, read, folder, error_of) -> None:
        luck, where = (
            folder / "shared/corpora/everyday-luck.yaml",
            "everyday-trouble.yaml: matched.to: ",
        )
        luck.write_text(luck.read_text().replace("to: high-coherence", "to: depressive-mood"))
        assert error_of(read, "depressive-mood", "everyday-luck", "everyday-trouble") == (
            f"{folder}/shared/corpora/{where}'depressive-mood' has another control; keep one under "
            "`corpora`"
        )


def test_who_answers_questionnaires() -> None:
    shared = {"licence": "cc0-1.0", "origin": "made up"}
    catalogue = Catalogue.model_validate(
        {
            "models": {
                "asked": {"kind": "causal", "source": "local:a", "entailment": True, **shared},
                "unasked": {"kind": "causal", "source": "local:a", **shared},
            }
        }
    )
    assert [name for name in catalogue.models if takes(catalogue, name)] == ["asked"]
