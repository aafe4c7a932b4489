"""A model that cannot do what an instrument needs: empty tables, and a line that says why."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.asking import CALLED, model_meta_of
from evenruler.instruments.instrument import ModelMeta
from evenruler.instruments.registry import family_module
from evenruler.tables import read_frame
from stages import agree, ask, card, diagnose, scrape
from stages import rows as rows_stage
from stages.files import plan_of, read_tables
from tests.profiles import set_profile
from tests.tiny import save_tiny_masked, tiny_declaration

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
CHAT = {
    "kind": "chat",
    "source": "endpoint:big",
    "licence": "its terms",
    "origin": "x",
}
INSTRUMENTS = {
    "occupation-gender": {"family": "probes"},
    "p-at-gender-7": {"family": "framing", "generations": 0},
    "fruit": {"family": "saged", "items": 2},
}
FEATURES = {
    "lexicon": {"kind": "lexicon"},
    "distance": {"kind": "distance", "metric": "cosine"},
    "topics": {"kind": "clusters", "form": "distance", "k": 2, "seed": 0},
}
NEEDED = {
    "probes": ("mask (kind masked)", "likelihoods", "loglikelihood"),
    "framing": ("big (kind chat)", "forms", "words"),
}
"""Who lacks what, by family. A chat chooses between the sentences of probes."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three instruments, built; a chat that no server answers for, and a masked
    model."""
    folder = tmp_path_factory.mktemp("left-out")
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    declared = tiny_declaration({"mask": save_tiny_masked(folder / "mask")}, kind="masked")
    declared["models"]["big"] = CHAT
    declared["instruments"] = INSTRUMENTS
    declared["families"]["saged"]["features"] = FEATURES
    with (folder / "params.yaml").open("w") as out:
        YAML().dump(declared, out)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_profile(Path(), "quick")
        scrape.main("fruit")
        for name in INSTRUMENTS:
            rows_stage.main(name)
    return folder


@pytest.fixture(autouse=True)
def inside(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)


@pytest.fixture
def chat() -> ModelMeta:
    return model_meta_of("big", ParamsFile().catalogue)


def read_instruments(family: str) -> dict[str, Any]:
    named = [name for name, entry in INSTRUMENTS.items() if entry["family"] == family]
    return {name: (read_tables(family, name), plan_of(family, name)) for name in named}


def test_nothing_is_said_where_a_model_can(chat: ModelMeta) -> None:
    assert (
        ask.unanswerable_tables(family_module("saged", "ask"), read_instruments("saged"), chat)
        == []
    )


@pytest.mark.parametrize("family", NEEDED)
def test_the_tables_are_empty_and_no_server_is_asked(
    family: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (who, table, operation), door = NEEDED[family], family_module(family, "ask")
    name = who.split()[0]
    ask.main(family, name)
    line = f"{who} is left out of {table}: it gives no {CALLED[operation]}"
    assert capfd.readouterr().out.splitlines()[0] == line
    folder = Path("data/answers") / family / name
    of_model = {
        name: read_frame(folder / f"{name}.parquet")
        for name in door.ANSWERS
        if name != "embeddings"
    }
    for name, rows in of_model.items():
        assert list(rows.columns) == ["instrument", *door.ANSWERS[name].names]
        assert len(rows) == 0


def test_it_has_no_figures() -> None:
    name, family = "p-at-gender-7", "framing"
    ask.main(family, "big")
    diagnose.main(family)
    agree.main()
    folder = Path("data/diagnosis") / family
    assert "big" not in set(read_frame(folder / "tables/figures.parquet")["model"])
    assert '"big"' not in (folder / "metrics.json").read_text()
    card.main(name)
    folder = Path("benchmarks") / f"{family}-{name}"
    assert (folder / "README.md").exists()
    assert '"big"' not in (folder / "evidence.json").read_text()


def test_a_chat_is_asked_in_no_other_way(chat: ModelMeta) -> None:
    ((tables, plan),) = read_instruments("framing").values()
    requests = family_module("framing", "ask").requests(
        tables, {**plan, "generations": 1}, {}, chat
    )
    assert [(request.operation, request.settings["chat"]) for request in requests] == [
        ("generate", True)
    ]


def test_nothing_written_has_no_features(capsys: pytest.CaptureFixture[str]) -> None:
    ask.main("saged", "mask")
    assert capsys.readouterr().out.splitlines() == [
        "mask (kind masked) is left out of replies: it gives no replies",
        "mask: nothing to ask; 0 of them asked of models",
    ]
    door, folder = family_module("saged", "ask"), Path("data/answers/saged/mask")
    answers = {name: read_frame(folder / f"{name}.parquet") for name in door.ANSWERS}
    assert [len(rows) for rows in answers.values()] == [0] * 4
