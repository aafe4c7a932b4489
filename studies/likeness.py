"""Write how alike attributes are to a declared model, for models that score no reference set.

Reads the scores of attributes with the reference set that `make repro` has left in
`data/diagnosis/probes/tables/reference.parquet`, and writes their components, with rows and columns
centred, the largest first, to a CSV beside the criterion.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import typer

SCORES = Path("data/diagnosis/probes/tables/reference.parquet")
DIGITS = 4


def main(
    benchmark: str = "occupation-gender",
    model: str = "smollm2-135m-instruct",
    out: Path = Path("data/sources/probes/shared/likeness-occupations.csv"),
) -> None:
    """Write the components of a model's scores of the attributes of a benchmark."""
    rows = pd.read_parquet(SCORES)
    rows = rows[(rows["benchmark"] == benchmark) & (rows["model"] == model)]
    scores = rows.pivot(index="attribute", columns="noun", values="value")
    centred = scores.to_numpy() - scores.to_numpy().mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    axes, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    # Of n centred units n - 1 components vary; the sign of a component means nothing.
    components = (axes * sizes)[:, : len(scores) - 1]
    components = components * np.sign(components.sum(axis=0))
    table = pd.DataFrame(components, index=scores.index)
    table.columns = [f"component-{place + 1}" for place in range(table.shape[1])]
    table.to_csv(out, float_format=f"%.{DIGITS}g")
    print(f"{len(table)} attributes, {table.shape[1]} components of {scores.shape[1]} nouns: {out}")


if __name__ == "__main__":
    typer.run(main)
