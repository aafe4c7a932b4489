"""What a stranger does with a clone, page by page: pages are followed to the letter, each in a
clone of its own.

The clone has been built with tiny random models, as `make repro` would have built it with those
that ship.
"""

import json
import shutil
import time
from itertools import cycle
from pathlib import Path

import pandas as pd
import pytest

from tests.documents.pages import command, follow
from tests.stages.conftest import Clone, clone_into
from tests.tiny import save_tiny

BUILT = {
    "docs/adding-a-probe-domain.md": "probes-my-domain",
    "docs/adding-a-questionnaire.md": "questionnaires-my-scale",
    "docs/adding-a-contrast.md": "framing-my-contrast",
    "docs/adding-a-saged-domain.md": "saged-my-trades",
    "docs/adding-a-model.md": None,
}
"""Pages that build something, by page the benchmark that is there in the end."""

DECLARED = (
    "docs/adding-evolved-templates.md",
    "docs/adding-a-corpus.md",
    "docs/models.md",
    "docs/paper-scale.md",
)
"""Pages that only declare something: with the models that ship, and nothing built."""

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture
def stranger(built: Clone, tmp_path: Path) -> Clone:
    """A clone as it was built, with a model in `models/my-model`."""
    folder = tmp_path / "clone"
    shutil.copytree(built.folder.with_name("pristine"), folder, symlinks=True)
    save_tiny(folder / "models/my-model", chat=True, seed=2, max_position_embeddings=1024)
    return Clone(folder, Path(built.env["EVENRULER_CACHE"]), built.warm)


def followed(page: str, clone: Clone) -> list[str]:
    """What a page's blocks print in a clone, and how long that takes."""
    started = time.monotonic()
    outputs = follow(
        page, clone.folder, lambda language, text: clone.run(*command(language, text, "python"))
    )
    print(f"{page}: {time.monotonic() - started:.0f} s")
    return outputs


@pytest.mark.parametrize("page", [page for page, name in BUILT.items() if name])
def test_an_instrument_of_your_own(page: str, stranger: Clone) -> None:
    outputs = followed(page, stranger)
    name = BUILT[page]
    folder = stranger.folder / "benchmarks" / name
    assert any(f"benchmarks/{name}: as its manifest says" in output for output in outputs)
    evidence = json.loads((folder / "evidence.json").read_text())
    models = {row["model"] for row in evidence["figures"]}
    assert "tiny-a" in models or name.startswith("questionnaires")
    assert len(list(folder.glob("*/*.parquet"))) >= 2
    rejected = folder / "rejected/test-00000-of-00001.parquet"
    if name == "saged-my-trades":
        assert len(pd.read_parquet(folder / "prompts/test-00000-of-00001.parquet")) >= 12
        assert rejected.exists()


def test_a_model_of_your_own(stranger: Clone) -> None:
    pairs = stranger.folder / "data/training/pairs.jsonl"
    pairs.parent.mkdir(parents=True, exist_ok=True)
    labels = cycle(("entailment", "neutral", "contradiction"))
    with pairs.open("w") as file:
        for number in range(160):
            premise = f"A man sleeps in house {number}."
            pair = {
                "premise": premise,
                "hypothesis": "Somebody rests.",
                "label": next(labels),
            }
            print(json.dumps(pair), file=file)
    outputs = followed("docs/adding-a-model.md", stranger)
    assert (stranger.folder / "data/answers/probes/my-model").is_dir()
    assert "my-nli: accuracy" in outputs[-1]


def test_what_is_only_declared(tmp_path: Path, built: Clone) -> None:
    clone = clone_into(tmp_path / "clone", tmp_path / "cache", built.warm)
    for page in DECLARED:
        clone.run("git", "add", "-A")
        (clone.folder / "params.yaml").write_bytes(
            (Path(__file__).parents[2] / "params.yaml").read_bytes()
        )
        outputs = followed(page, clone)
        assert "checked: profile" in outputs[-1]
