"""A published folder is enough: what is asked of it and its figures are those of the pipeline."""

import json
from pathlib import Path

import pandas as pd
import pytest

from evenruler.declared import Declared
from evenruler.instruments.asking import INSTRUMENT
from evenruler.instruments.registry import FAMILIES, room
from stages.files import read_subject
from tests.stages.conftest import Clone

ROOT = Path(__file__).parents[2]


def published(folder: Path) -> tuple[dict[str, pd.DataFrame], dict]:
    """The rows of a benchmark folder, by config, and its plan."""
    rows = {path.parent.name: pd.read_parquet(path) for path in folder.glob("*/*.parquet")}
    return rows, json.loads((folder / "plan.json").read_text())


def compare(root: Path, benchmark: str) -> int:
    """Every table of figures from the folder alone against the pipeline's; returns how many rows were compared."""
    family, _, name = benchmark.partition("-")
    ask, diagnose = room(family, "ask"), room(family, "diagnose")
    tables, plan = published(root / "benchmarks" / benchmark)
    compared = 0
    for folder in sorted((root / "data/answers" / family).iterdir()):
        subject = read_subject(folder)
        answers = {table: pd.read_parquet(folder / f"{table}.parquet") for table in ask.ANSWERS}
        own = {table: rows[rows[INSTRUMENT] == name].drop(columns=INSTRUMENT) for table, rows in answers.items()}
        scores = ask.scores(tables, plan, own, subject)
        found = diagnose.figures(name, tables, plan, scores, subject, Declared(root / "params.yaml").resampling)
        for table, rows in found.items():
            if not len(rows):
                continue
            of_pipeline = pd.read_parquet(root / f"data/diagnosis/{family}/tables/{table}.parquet")
            compared += require_all(rows[of_pipeline.columns], of_pipeline, f"{benchmark}: {table}")
    return compared


def require_all(rows: pd.DataFrame, among: pd.DataFrame, where: str) -> int:
    """Every row is among some, floats to 1e-9."""
    keys = [column for column in among if among[column].dtype.kind not in "f"]
    numbers = [column for column in among if column not in keys]

    def plain(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{key: frame[key].astype(str).replace({"nan": "None", "<NA>": "None"}) for key in keys})

    def sorted_by_all(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.sort_values([*keys, *numbers], ignore_index=True)

    mine = sorted_by_all(plain(rows))
    theirs = plain(among).merge(mine[keys].drop_duplicates(), on=keys)
    pd.testing.assert_frame_equal(
        mine, sorted_by_all(theirs)[mine.columns], rtol=0, atol=1e-9, check_dtype=False, obj=where
    )
    return len(rows)


def test_of_tiny_models(built: Clone) -> None:
    benchmarks = sorted(path.name for path in (built.folder / "benchmarks").iterdir() if path.is_dir())
    assert {name.partition("-")[0] for name in benchmarks} == set(FAMILIES)
    for name in benchmarks:
        assert compare(built.folder, name) > 0, name


@pytest.mark.skipif(not (ROOT / "data/answers").exists(), reason="nothing is built here; `make repro` does")
@pytest.mark.parametrize("name", sorted(path.parent.name for path in (ROOT / "benchmarks").glob("*/plan.json")))
def test_of_what_is_shipped(name: str) -> None:
    assert compare(ROOT, name) > 0
