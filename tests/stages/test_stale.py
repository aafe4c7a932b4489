"""What DVC takes for changed: what a change reaches, and nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.stages.conftest import Clone, ran


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
    """The stages that `dvc repro` would run after `declared`, which the digests are of."""
    clone.run("dvc", "repro", "--quiet", "declared")
    try:
        return set(json.loads(clone.run("dvc", "status", "--json")))
    finally:
        clone.run("git", "checkout", "--quiet", "dvc.lock")
        clone.run("dvc", "checkout", "--quiet", "data/declared.json")


ASK = {"ask@framing-tiny-a", "ask@framing-tiny-b"}


@pytest.mark.parametrize(
    ("file", "stages"),
    [
        ("evenruler/instruments/framing/rows/__init__.py", {"rows@age"}),
        (
            "evenruler/instruments/framing/declare/__init__.py",
            {"rows@age", *ASK, "diagnose@framing", "card@age", "report"},
        ),
    ],
)
@pytest.mark.long
def test_code(built: Clone, file: str, stages: set[str]) -> None:
    with changed(built, file, "", "_ADDED = 1"):
        assert stale(built) == stages


@pytest.mark.long
def test_a_line_of_a_source(built: Clone) -> None:
    with changed(built, "data/sources/saged/articles/fruit.md", "", "# A comment."):
        assert stale(built) == {"scrape@fruit", "report"}


@pytest.mark.long
def test_a_changed_entry_runs_what_uses_the_model(built: Clone) -> None:
    with changed(
        built, "params.yaml", "sentence-transformers/all-MiniLM-L6-v2, PyPI", "MiniLM, PyPI"
    ):
        stages = stale(built)
    assert stages == {"rows@occupation-gender", "rows@gad-7", "scrape@fruit", "rows@fruit"}


def test_a_title(built: Clone) -> None:
    source, title = "data/sources/probes/occupation-gender.yaml", "title: Occupation and gender\n"
    with changed(built, source, title, title.replace("title: ", "title: New ")):
        assert stale(built) == {"rows@occupation-gender", "card@occupation-gender", "report"}


@pytest.mark.slow
def test_a_title_runs_no_model(built: Clone) -> None:
    """What is built of it says the same, so that nothing further is asked."""
    path = "data/sources/saged/fruit.yaml"
    (title,) = [
        line
        for line in (built.folder / path).read_text().splitlines()
        if line.startswith("title: ")
    ]
    with changed(built, path, f"{title}\n", f"{title}, anew\n"):
        stages = {"declared", "scrape@fruit", "rows@fruit", "card@fruit", "report"}
        assert set(ran(built.run("dvc", "repro"))) == stages
    built.run("dvc", "repro")
    assert built.run("git", "status", "--porcelain") == ""
