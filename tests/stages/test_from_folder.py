"""Published folders are enough: figures from them, their plans and answers are those of the
pipeline."""

import json
from pathlib import Path

import pandas as pd
import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments import diagnosing
from evenruler.instruments.instrument import INSTRUMENT, Record, plan_at_size
from evenruler.instruments.registry import FAMILIES, family_module
from evenruler.tables.frames import for_people
from stages.files import read_model_meta
from tests.stages.conftest import Clone

ROOT = Path(__file__).parents[2]
BUILT = [family for family in FAMILIES if family != "external"]
"""Of `external` nothing is in params.yaml yet; `test_external_stages.py` has a clone of its own."""


def published(folder: Path) -> tuple[dict[str, pd.DataFrame], dict]:
    """The rows of a benchmark folder, by config, and its plan as the build asks it."""
    rows = {path.parent.name: pd.read_parquet(path) for path in folder.glob("*/*.parquet")}
    return rows, plan_at_size(json.loads((folder / "plan.json").read_text()))


def diagnosed(root: Path, family: str) -> dict[str, pd.DataFrame]:
    """The diagnosis of a family from its benchmark folders and the answers alone."""
    ask, diagnose = family_module(family, "ask"), family_module(family, "diagnose")
    in_use = ParamsFile(root / "params.yaml").active.families[family]
    resampling = ParamsFile(root / "params.yaml").resampling
    folders = {
        name: published(root / "benchmarks" / f"{family}-{name}") for name in in_use.instruments
    }
    records = []
    for model in in_use.models:
        folder = root / "data/answers" / family / model
        subject = read_model_meta(folder)
        answers = {table: pd.read_parquet(folder / f"{table}.parquet") for table in ask.ANSWERS}
        for name, (tables, plan) in folders.items():
            answers_to_it = {
                table: rows[rows[INSTRUMENT] == name]
                .drop(columns=INSTRUMENT)
                .reset_index(drop=True)
                for table, rows in answers.items()
            }
            scores = ask.scores(tables, plan, answers_to_it, subject)
            figures = diagnose.figures(name, tables, plan, scores, subject, resampling)
            records.append(Record(name, subject, tables, plan, figures))
    return diagnosing.diagnose_family(diagnose, records, resampling)


def compare(root: Path, family: str) -> None:
    """Every table, floats to 1e-9, and what every card shows."""
    tables = diagnosed(root, family)
    for name, computed in tables.items():
        expected = pd.read_parquet(root / f"data/diagnosis/{family}/tables/{name}.parquet")
        assert len(computed) == len(expected), name
        if len(computed):
            require_equal(computed[expected.columns], expected, name)
    evidence = family_module(family, "diagnose").evidence(tables)
    for folder in (root / "benchmarks").glob(f"{family}-*/"):
        shown = json.loads((folder / "evidence.json").read_text())["figures"]
        name = folder.name.removeprefix(f"{family}-")
        expected = json.dumps([for_people(row) for row in evidence.get(name, [])])
        assert shown == json.loads(expected)


def require_equal(computed: pd.DataFrame, expected: pd.DataFrame, name: str) -> None:
    """The same rows, in whatever order."""
    keys = [column for column in expected if not pd.api.types.is_float_dtype(expected[column])]

    def plain(frame: pd.DataFrame) -> pd.DataFrame:
        texts = {key: frame[key].map(as_text).astype(str) for key in keys}
        return frame.astype(dict.fromkeys(expected.columns.difference(keys), "float64")).assign(
            **texts
        )

    ordered = [
        plain(frame).sort_values(list(expected), ignore_index=True)
        for frame in (computed, expected)
    ]
    pd.testing.assert_frame_equal(
        *ordered,
        rtol=0,
        atol=1e-9,
        check_dtype=False,
        obj=name,
    )


def as_text(value: object) -> str:
    """A value as text, whether a table was read or made: a list is an array once it was read."""
    if isinstance(value, str):
        return value
    if hasattr(value, "__iter__"):
        return str(list(value))
    return "" if pd.isna(value) else str(value)


@pytest.mark.parametrize("family", BUILT)
@pytest.mark.long
def test_of_tiny_models(built: Clone, family: str) -> None:
    compare(built.folder, family)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(
    not (ROOT / "data/answers").exists(), reason="nothing is built here; `make repro` does"
)
def test_of_what_is_shipped() -> None:
    """Of one family; others take minutes, and `tests/evaluate` asks each from its folder."""
    compare(ROOT, "saged")
