"""A model that cannot do what an instrument needs: empty tables, and a line that says why."""

import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler.instruments.asking import CALLED
from evenruler.instruments.registry import family_module
from evenruler.tables import read_frame
from stages import agree, ask, card, diagnose
from stages import rows as rows_stage
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
}
NEEDED = {
    "probes": ("mask (kind masked)", "likelihoods", "loglikelihood"),
    "framing": ("big (kind chat)", "forms", "words"),
}
"""Who lacks what, by family. A chat chooses between the sentences of probes."""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two instruments, built; a chat that no server answers for, and a masked
    model."""
    folder = tmp_path_factory.mktemp("left-out")
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    declared = tiny_declaration({"mask": save_tiny_masked(folder / "mask")}, kind="masked")
    declared["models"]["big"] = CHAT
    declared["instruments"] = INSTRUMENTS
    with (folder / "params.yaml").open("w") as out:
        YAML().dump(declared, out)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        set_profile(Path(), "quick")
        for name in INSTRUMENTS:
            rows_stage.main(name)
    return folder


@pytest.fixture(autouse=True)
def inside(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)


@pytest.mark.parametrize("family", NEEDED)
def test_the_tables_are_empty_and_no_server_is_asked(
    family: str, capfd: pytest.CaptureFixture[str]
) -> None:
    who, lacking, operation = NEEDED[family]
    model = who.split()[0]
    ask.main(family, model)
    line = f"{who} is left out of {lacking}: it gives no {CALLED[operation]}"
    assert capfd.readouterr().out.splitlines()[0] == line
    for table, schema in family_module(family, "ask").ANSWERS.items():
        if table != "embeddings":
            rows = read_frame(Path("data/answers") / family / model / f"{table}.parquet")
            assert list(rows.columns) == ["instrument", *schema.names]
            assert len(rows) == 0


def test_it_has_no_figures() -> None:
    ask.main("framing", "big")
    diagnose.main("framing")
    agree.main()
    folder = Path("data/diagnosis/framing")
    assert "big" not in set(read_frame(folder / "tables/figures.parquet")["model"])
    assert '"big"' not in (folder / "metrics.json").read_text()
    card.main("p-at-gender-7")
    folder = Path("benchmarks/framing-p-at-gender-7")
    assert (folder / "README.md").exists()
    assert '"big"' not in (folder / "evidence.json").read_text()
