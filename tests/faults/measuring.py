"""`evenruler measure` with benchmarks that are old, newer, altered or hostile, and with models that
are."""

import json
import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow.parquet as pq

from evenruler import repository
from evenruler.publish.manifest import NAME, data_file
from tests.faults.cases import Seen, evenruler, refusals
from tests.folders import declare
from tests.tiny import save_tiny

MEASURE = "evenruler measure"
QUESTIONS, PROBES = "questionnaires-phq-9", "probes-age-competence"
FRAMING, SAGED = "framing-gender", "saged-fruit"
ROWS = data_file("probes")


@cache
def _model() -> Path:
    """A tiny model with random weights."""
    return save_tiny(Path(mkdtemp()) / "tiny", chat=True, max_position_embeddings=1024)


def _measured(folder: Path, model: Path, benchmark: object) -> Seen:
    words = f"measure local:{model} --with {benchmark} --size trial --limit 3 --out results"
    cache = {"EVENRULER_CACHE": str(folder / "cache")}
    seen = evenruler(*words.split(), folder=folder, env=cache)
    assert (seen.status == 0) == any((folder / "results").rglob("result.json"))
    return seen


def _with(name: str, harm: Callable[[Path], object], folder: Path) -> Seen:
    """A shipped benchmark that was altered; nothing is asked of the model."""
    benchmark = Path(shutil.copytree(repository.shipped_benchmarks() / name, folder / "benchmark"))
    harm(benchmark)
    return _measured(folder, _model(), benchmark)


def _without_column(table: str, column: str, folder: Path) -> None:
    path = folder / data_file(table)
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    declare(folder, data_file(table))


def _without_key(key: str, folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    del plan[key]
    _holds("plan.json", json.dumps(plan).encode(), folder)


def _without_table(table: str, folder: Path) -> None:
    manifest = json.loads((folder / NAME).read_text())
    lists = {name: manifest[name] for name in ("rows", "columns")}
    for rows_or_columns in lists.values():
        del rows_or_columns[table]
    declare(folder, **lists)


def _holds(name: str, content: bytes, folder: Path) -> None:
    """Other bytes, which the manifest names."""
    (folder / name).write_bytes(content)
    declare(folder, name)


def _model_that_says(file: str, content: str, folder: Path) -> Seen:
    """A model in whose folder a file says something else."""
    model = Path(shutil.copytree(_model(), folder / "model"))
    (model / file).write_text(content)
    return _measured(folder, model, PROBES)


ROWS = data_file("probes")
OLD = ("take another version", "or the evenruler that made it")

LACKING = {
    "an older benchmark without the column twin": (
        QUESTIONS,
        partial(_without_column, "prompts", "twin"),
        "'twin'",
    ),
    "an older benchmark without the table terms": (
        QUESTIONS,
        partial(_without_table, "terms"),
        "the table 'terms'",
    ),
    "an older plan of probes": (PROBES, partial(_without_key, "rivals"), "'rivals' of its plan"),
    "an older plan of framing": (
        FRAMING,
        partial(_without_key, "least_coverage"),
        "'least_coverage' of its plan",
    ),
    "an older plan of SAGED": (SAGED, partial(_without_key, "reference"), "'reference' of its"),
}
HARMED: dict[str, Callable[[Path], object]] = {
    "a plan that is a list": partial(_holds, "plan.json", b"[]"),
    "rows that are no Parquet": partial(_holds, ROWS, b"PAR1 and no more"),
    "rows that are not those of the manifest": lambda folder: (folder / ROWS).write_bytes(b"x"),
    "no plan": lambda folder: (folder / "plan.json").unlink(),
}

PLANS_THAT_LACK: dict[str, tuple[Any, ...]] = {}
for fault, (*harm, says) in LACKING.items():
    PLANS_THAT_LACK[fault] = (partial(_with, *harm), says, *OLD)

CASES = refusals(
    MEASURE,
    PLANS_THAT_LACK
    | {what: (partial(_with, PROBES, harm), "get the ") for what, harm in HARMED.items()}
    | {
        "a model whose config.json is no JSON": (
            partial(_model_that_says, "config.json", "{"),
            "get the ",
        ),
        "a model whose tokenizer_config.json is no JSON": (
            partial(_model_that_says, "tokenizer_config.json", "{"),
            "does not load",
            "`source`",
        ),
    },
)
