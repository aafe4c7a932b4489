"""Which rows each task takes.

Lies beside the tasks that use it and needs nothing but the standard library and what the harness
brings.
"""

from pathlib import Path
from typing import Any


def load(**_: Any) -> dict[str, Any]:
    """The sentences of the benchmark that this file is part of, by split, wherever its folder lies.

    The harness passes the task's metadata, which changes nothing. Nothing is cached: what is read
    is what lies there.
    """
    from datasets import Dataset
    from pyarrow.parquet import ParquetFile

    path = Path(__file__).parents[1] / "probes" / "test-00000-of-00001.parquet"
    return {"test": Dataset(ParquetFile(path).read())}


def _of_set(name: str, rows: Any) -> Any:
    """Those of a set that scores are made of."""
    return rows.filter(
        lambda sets, controls: [
            set_name == name and not control
            for set_name, control in zip(sets, controls, strict=True)
        ],
        input_columns=["set", "control"],
        batched=True,
    )


def of_validation(rows: Any) -> Any:
    return _of_set("validation", rows)


def of_seed(rows: Any) -> Any:
    return _of_set("seed", rows)


def of_validation_negated(rows: Any) -> Any:
    return _of_set("validation-negated", rows)
