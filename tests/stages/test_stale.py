"""What DVC takes for changed: what a change reaches, and nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stages.conftest import Clone, entry
from tests.tiny import save_tiny


@contextmanager
def changed(clone: Clone, file: str, old: str, new: str) -> Iterator[None]:
    """A file of the clone with a text replaced once, or with a line more where `old` is empty."""
    path = clone.folder / file
    before = path.read_bytes()
    text = before.decode()
    assert not old or text.count(old) == 1
    path.write_text(text.replace(old, new) if old else f"{text}{new}\n")
    try:
        yield
    finally:
        path.write_bytes(before)


def stale(clone: Clone) -> set[str]:
    """The stages that `dvc repro` would look at."""
    return set(json.loads(clone.run("dvc", "status", "--json")))


SAGED = "evenruler/instruments/saged/diagnose"


@pytest.mark.parametrize(
    ("file", "stages"),
    [
        (f"{SAGED}/verdicts.py", {"diagnose-saged"}),
        ("evenruler/instruments/framing/figures.py", {"diagnose-framing"}),
        ("evenruler/instruments/probes/figures.py", {"diagnose-probes"}),
        ("evenruler/instruments/questionnaires/quality.py", {"diagnose-questionnaires"}),
        ("evenruler/instruments/probes/card.py", {"card-probes@occupation-gender"}),
        ("evenruler/report/page.py", {"report"}),
        ("evenruler/project/check.py", set()),
        ("evenruler/project/new.py", set()),
        ("evenruler/cli.py", set()),
        ("evenruler/instruments/probes/starter.yaml", set()),
    ],
)
def test_a_comment(built: Clone, file: str, stages: set[str]) -> None:
    with changed(built, file, "", "# A comment."):
        assert stale(built) == stages


def test_a_new_model_runs_its_own_stages_and_those_that_show_it(built: Clone, tmp_path: Path) -> None:
    save_tiny(tmp_path / "tiny-c", kind="gpt2", seed=3)
    declared = (built.folder / "params.yaml").read_bytes()
    try:
        built.edit("params.yaml", lambda params: params["models"].update({"tiny-c": entry(tmp_path / "tiny-c")}))
        built.run("evenruler", "check")
        families = ("probes", "framing", "saged")
        assert stale(built) == {
            *("score@tiny-c", "generate@tiny-c", "extract@tiny-c", "report"),
            *(f"diagnose-{family}" for family in families),
            *("card-probes@occupation-gender", "card-framing@age", "card-saged@fruit"),
        }
    finally:
        (built.folder / "params.yaml").write_bytes(declared)
        built.run("evenruler", "check")


def test_a_changed_entry_runs_what_uses_the_model(built: Clone) -> None:
    with changed(built, "params.yaml", "origin: sentence-transformers/all-MiniLM-L6-v2,", "origin: MiniLM,"):
        built.run("evenruler", "check")
        found = stale(built)
    built.run("evenruler", "check")
    assert found == {"extract@tiny-a", "extract@tiny-b", "diagnose-probes", "diagnose-questionnaires"}


@pytest.mark.parametrize(
    ("source", "title", "stages"),
    [
        (
            "data/sources/probes/occupation-gender.yaml",
            "title: Occupation and gender\n",
            {"compile@occupation-gender", "card-probes@occupation-gender", "report"},
        ),
        (
            "data/sources/questionnaires/gad-7.yaml",
            "title: GAD-7, generalised anxiety\n",
            {"translate@gad-7", "card-questionnaires@gad-7", "report"},
        ),
        (
            "data/sources/domains/fruit.yaml",
            "title: Fruit\n",
            {"scrape@fruit", "assemble@fruit", "card-saged@fruit", "report"},
        ),
    ],
)
def test_a_title_runs_no_model(built: Clone, source: str, title: str, stages: set[str]) -> None:
    """What is built of it says the same, so that nothing further is asked."""
    with changed(built, source, title, title.replace("title: ", "title: New ")):
        assert stale(built) == stages
