"""Compute the agreement of instruments that measure the same units: concepts ->
`data/agreement/`.
"""

import pandas as pd

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.agreement import compute_agreement
from evenruler.tables import concat_frames, read_frame, write_table
from evenruler.tables.schemas import AGREEMENT as SCHEMA
from evenruler.tables.schemas import CONCEPTS
from stages.files import AGREED, DIAGNOSIS, TABLES
from stages.running import run


def main() -> None:
    """Write the table of agreement."""
    params = ParamsFile()
    active = params.active.families
    benchmark_names: dict[str, str] = {}
    for family, active_family in active.items():
        for name in active_family.instruments:
            benchmark_names[name] = f"{family}-{name}"
    paths = [DIAGNOSIS / family / TABLES / "concepts.parquet" for family in active]
    concepts = concat_frames(
        [
            pd.DataFrame(columns=CONCEPTS.names),
            *(read_frame(path) for path in paths if path.exists()),
        ]
    )
    agreed = compute_agreement(
        concepts.assign(benchmark=concepts["benchmark"].map(benchmark_names)),
        params.resampling.level,
    )
    write_table(agreed, SCHEMA, AGREED)
    print(
        f"{len(agreed)} figures of {agreed['benchmark'].nunique()} instruments on "
        f"{agreed['model'].nunique()} models"
    )


if __name__ == "__main__":
    run(main)
