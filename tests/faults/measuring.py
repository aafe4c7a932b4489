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
from evenruler.files import file_sha256
from evenruler.publish.manifest import NAME, as_json, data_file
from tests.faults.cases import Case, Outcome, Seen, evenruler, refusals
from tests.tiny import save_tiny

MEASURE = "evenruler measure"
QUESTIONS, PROBES, FRAMING, SAGED = (
    "questionnaires-phq-9",
    "probes-age-competence",
    "framing-gender",
    "saged-fruit",
)


@cache
def _model() -> Path:
    """A tiny model with random weights."""
    return save_tiny(Path(mkdtemp()) / "tiny", chat=True, max_position_embeddings=1024)


def _measured(folder: Path, model: Path, benchmark: object) -> Seen:
    words = (
        "measure",
        f"local:{model}",
        "--with",
        str(benchmark),
        "--size",
        "trial",
        "--limit",
        "3",
        "--out",
        "results",
    )
    seen = evenruler(*words, folder=folder, env={"EVENRULER_CACHE": str(folder / "cache")})
    assert (seen.status == 0) == any((folder / "results").rglob("result.json"))
    return seen


def _with(name: str, harm: Callable[[Path], object], folder: Path) -> Seen:
    """A shipped benchmark that was altered; nothing is asked of the model."""
    benchmark = Path(shutil.copytree(repository.shipped_benchmarks() / name, folder / "benchmark"))
    harm(benchmark)
    return _measured(folder, _model(), benchmark)


def _signed(folder: Path, *names: str) -> None:
    """Altered files are those that the manifest names."""

    def change(manifest: dict[str, Any]) -> None:
        manifest["files"] |= {name: file_sha256(folder / name) for name in names}

    _manifest(change, folder)


def _manifest(change: Callable[[dict[str, Any]], object], folder: Path) -> None:
    manifest = json.loads((folder / NAME).read_text())
    change(manifest)
    (folder / NAME).write_text(as_json(manifest))


def _without_column(table: str, column: str, folder: Path) -> None:
    path = folder / data_file(table)
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    _signed(folder, data_file(table))


def _without_key(key: str, folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    del plan[key]
    (folder / "plan.json").write_text(as_json(plan))
    _signed(folder, "plan.json")


def _without_table(table: str, folder: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        del manifest["rows"][table], manifest["columns"][table]

    _manifest(change, folder)


def _holds(name: str, content: bytes, folder: Path) -> None:
    """Other bytes, which the manifest names."""
    (folder / name).write_bytes(content)
    _signed(folder, name)


def _unlisted(name: str, folder: Path) -> None:
    _manifest(lambda manifest: manifest["files"].pop(name), folder)


def _model_that_says(file: str, content: str, folder: Path) -> Seen:
    """A model in whose folder a file says something else."""
    model = Path(shutil.copytree(_model(), folder / "model"))
    (model / file).write_text(content)
    return _measured(folder, model, PROBES)


ROWS = data_file("probes")
OLD = ("take another version", "or the evenruler that made it")
AGAIN = ("get the ",)

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
    "an older plan of probes": (
        PROBES,
        partial(_without_key, "rivals"),
        "'rivals' of its plan",
    ),
    "an older plan of framing": (
        FRAMING,
        partial(_without_key, "least_coverage"),
        "'least_coverage' of its plan",
    ),
    "an older plan of SAGED": (
        SAGED,
        partial(_without_key, "reference"),
        "'reference' of its plan",
    ),
}

HARMED = {
    "a plan that is a list": (PROBES, partial(_holds, "plan.json", b"[]")),
    "rows that are no Parquet": (PROBES, partial(_holds, ROWS, b"PAR1 and no more")),
    "rows that are not those of the manifest": (
        PROBES,
        lambda folder: (folder / ROWS).write_bytes(b"x"),
    ),
    "no plan": (PROBES, lambda folder: (folder / "plan.json").unlink()),
}

CASES = [
    *(
        Case(what, MEASURE, Outcome.REFUSED, partial(_with, *benchmark_and_harm), (words, *OLD))
        for what, (*benchmark_and_harm, words) in LACKING.items()
    ),
    *(
        Case(what, MEASURE, Outcome.REFUSED, partial(_with, *benchmark_and_harm), AGAIN)
        for what, benchmark_and_harm in HARMED.items()
    ),
    *refusals(
        MEASURE,
        {
            "rows that the manifest does not name": (
                partial(_with, PROBES, partial(_unlisted, ROWS)),
                "`files` lacks probes/",
            ),
            "a model whose config.json is no JSON": (
                partial(_model_that_says, "config.json", "{"),
                *AGAIN,
            ),
            "a model whose tokenizer_config.json is no JSON": (
                partial(_model_that_says, "tokenizer_config.json", "{"),
                "does not load",
                "`source`",
            ),
        },
    ),
]
