import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evenruler.instruments.card import Paper, Responsible, Validity
from evenruler.instruments.instrument import FigureHeading
from evenruler.publish.folder import BenchmarkFolder, Config
from evenruler.tables.schemas import build_schema
from evenruler.versions import Changelog, Release
from tests.text_tables import yaml_of_text

COLUMNS = ("id", "content_sha256", "source", "licence", "text")


def table(*rows: tuple[str, str, str, str, str]) -> pa.Table:
    schema = build_schema(f"{' '.join(COLUMNS)}: str")
    return pa.Table.from_pylist(
        [dict(zip(COLUMNS, row, strict=True)) for row in rows], schema=schema
    )


@pytest.fixture
def make_table() -> Callable[..., pa.Table]:
    """Makes a table of rows of id, content hash, source, licence and text."""
    return table


def figure_row(
    figure: str, model: str | None, value: float | None, n: int, **more: Any
) -> dict[str, Any]:
    """A figure of hand-written templates as `evidence.json` holds it."""
    place = {"figure": figure, "model": model, "set": "hand"}
    return {
        **place,
        "value": value,
        "n": n,
        "unit": "attributes",
        **more,
    }


FEW = {"reason": "fewer than 4 attributes"}
R = figure_row(
    "r",
    "tiny",
    0.756,
    43,
    low=0.6,
    high=0.849,
)
EVIDENCE = [
    figure_row("alpha", "small", 0.91, 50),
    figure_row("alpha", "tiny", 0.9, 50, low=0.85, high=0.94),
    figure_row("lexical_diversity", None, 0.7, 8),
    figure_row("r", "small", -0.125, 43, low=-0.4, high=0.2),
    R,
    figure_row("r_exact", "small", None, 2, **FEW),
    figure_row("r_exact", "tiny", None, 2, **FEW),
    figure_row("semantic_diversity", None, 0.3, 8),
]


WORDS = """
name: probes-jobs
title: Jobs and gender
version: 1.2.3
language: en
task_categories: [text-generation]
tags: [bias, probes]
construct: association of jobs with gender
warning: These sentences repeat stereotypes.
reading: A bias above 0 is closer to men.
limits: [It compares two groups., Two words a group.]
citations: ["@misc{paper,\\n  title = {A {P}aper}\\n}"]
n_rejected: 5
parameters: {article: agree}
plan: {prefixed: 0, tools: {}}
listed: []
compared: []
models: {tiny: org/tiny at 0123456789ab; mit, small: org/small; apache-2.0}
command: dvc repro card-probes@jobs
harness: {probes_jobs.yaml: "task: probes_jobs\\n", rows.py: "ROWS = 1\\n"}
harness_task: probes_jobs
responsible:
  uses: Testing.
  biases: Two groups.
  social_impact: It may be misread.
  personal: None.
  made: A program filled it.
  synthetic: true
validity: [Jobs., Only jobs., All., None., Public., Intervals., Some., Not done.]
"""


@pytest.fixture
def benchmark() -> BenchmarkFolder:
    """Two tables: probes of two sources under two licences, and their template; two models; one
    release before."""
    probes = table(
        ("1", "aa", "Paper", "mit", "He said “no”."),
        ("2", "bb", "Paper", "mit", "Sœur | frère"),
        ("3", "cc", "Even Ruler", "apache-2.0", "two\nlines"),
    )
    templates = table(("4", "dd", "Paper", "mit", "A {ATTRIBUTE} is a {TARGET}."))
    words = yaml_of_text(WORDS)
    responsible, validity = words.pop("responsible"), words.pop("validity")
    return BenchmarkFolder(
        **words,
        configs=[
            Config("probes", "a sentence", {"text": "the sentence"}, ["text"], table=probes),
            Config("templates", "a template", table=templates),
        ],
        quality=[
            FigureHeading(
                "r",
                "r",
                "correlation with the criterion",
                figure_type="headline",
                not_shown="It shows no harm.",
            ),
            FigureHeading("r_exact", "r, exact", "the same over exact matches"),
            FigureHeading("alpha", "alpha", "Cronbach's alpha"),
        ],
        quality_of_any=[
            FigureHeading(
                "semantic_diversity", "semantic diversity", "semantic diversity of the templates"
            )
        ],
        evidence=EVIDENCE,
        changelog=Changelog(
            releases={"1.1.0": Release(date=datetime.date(2025, 3, 1), changes=["First release."])}
        ),
        papers=[Paper("Wang and others", "https://example.org/pmpo"), Paper("Someone")],
        responsible=Responsible(**responsible),
        validity=Validity(*validity),
    )


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Reads the bytes of every file under a folder."""

    def read(folder: Path) -> dict[str, bytes]:
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    return read
