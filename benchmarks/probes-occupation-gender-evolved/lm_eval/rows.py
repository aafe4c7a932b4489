"""Which rows each task takes."""

from functools import partial
from typing import Any


def _of_set(name: str, rows: Any) -> Any:
    return rows.filter(lambda of_set: [one == name for one in of_set], input_columns="set", batched=True)


of_evolved = partial(_of_set, "evolved")
of_population = partial(_of_set, "population")
