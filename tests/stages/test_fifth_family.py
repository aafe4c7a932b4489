"""Somebody adds a family: a folder, a line of the registry, a source. It goes all the way, and
nothing else changes."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.hub_client import Client
from tests.loopback_hub import running
from tests.stages.conftest import Clone, clone_into, entry
from tests.tiny import save_tiny
from tests.warm import Warm

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "docs/example_family/pairs"
LAST = '    "saged": "evenruler.instruments.saged",\n'
BENCHMARK = "benchmarks/pairs-jobs"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, warm: Warm | None) -> Clone:
    """A clone with the family and one instrument of it, built."""
    folder = tmp_path_factory.mktemp("fifth")
    clone = clone_into(folder / "clone", folder / "cache", warm)
    clone.env["PYTHONPATH"] = str(clone.folder)  # so that the command is the clone's, too
    clone.commit("before")
    registry = clone.folder / "evenruler/instruments/registry.py"
    registry.write_text(
        registry.read_text().replace(LAST, f'{LAST}    "pairs": "evenruler.instruments.pairs",\n')
    )
    shutil.copytree(
        EXAMPLE,
        clone.folder / "evenruler/instruments/pairs",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    clone.commit("a family")

    def one_instrument(params: dict) -> None:
        params["models"] = {"tiny": entry(save_tiny(folder / "tiny"))}
        params["instruments"], params["families"], params["training"] = {}, {}, {}
        params["versions"] = {}

    clone.edit("params.yaml", one_instrument)
    clone.run("evenruler", "new", "pairs", "jobs")
    clone.run("evenruler", "check")
    clone.run("dvc", "repro")
    clone.commit("built")
    return clone


def test_it_is_one_line_elsewhere(clone: Clone) -> None:
    changed = clone.run("git", "show", "--numstat", "--format=", "HEAD~1").splitlines()
    elsewhere = [line for line in changed if "instruments/pairs/" not in line]
    assert elsewhere == ["1\t0\tevenruler/instruments/registry.py"]


def test_rows_figures_card_and_report(clone: Clone) -> None:
    rows = pq.read_table(clone.folder / BENCHMARK / "pairs/test-00000-of-00001.parquet")
    answers = pq.read_table(
        clone.folder / "data/answers/pairs/tiny/likelihoods.parquet"
    ).to_pylist()
    nats = {(row["id"], row["role"]): row["nats"] for row in answers}
    ids = rows["id"].to_pylist()
    preferred = [nats[pair, "more"] > nats[pair, "less"] for pair in ids]
    evidence = json.loads((clone.folder / BENCHMARK / "evidence.json").read_text())
    (figure,) = evidence["figures"]
    assert (figure["value"], figure["n"]) == (sum(preferred) / 2 - 0.5, 2)
    assert "The share of pairs" in (clone.folder / BENCHMARK / "README.md").read_text()
    assert "Pairs jobs" in (clone.folder / "data/report/index.html").read_text()


def test_it_is_verified_and_published_and_nothing_is_left_to_do(
    clone: Clone, tmp_path: Path
) -> None:
    assert "as its manifest says" in clone.run("evenruler", "verify", BENCHMARK)
    with running() as hub:
        client = Client(hub, clone.folder, tmp_path / "home")
        publish = ("evenruler", "publish", "pairs-jobs", "--to", "you/pairs-jobs")
        assert "v0.1.0" in client.run(*publish, PYTHONPATH=str(clone.folder))
    assert json.loads(clone.run("dvc", "status", "--json")) == {}
    assert clone.run("git", "status", "--porcelain") == ""


def test_a_model_is_measured_with_it_and_compared(clone: Clone, tmp_path: Path) -> None:
    """The same figures as the pipeline's; of two pairs nothing is tested, and nothing compared."""
    for seed in (0, 1):
        model = save_tiny(tmp_path / f"other-{seed}", seed=seed)
        clone.run(
            "evenruler", "measure", f"local:{model}", "--with", BENCHMARK, "--out", f"{tmp_path}/r"
        )
    result = json.loads(next(tmp_path.rglob("other-0/**/result.json")).read_text())
    evidence = json.loads((clone.folder / BENCHMARK / "evidence.json").read_text())
    (figure,) = evidence["figures"]
    assert result["figures"] == [{**figure, "model": "other-0"}]
    compared = clone.run("evenruler", "compare", f"{tmp_path}/r", "--format", "csv")
    assert "descriptive: other-0" in compared
