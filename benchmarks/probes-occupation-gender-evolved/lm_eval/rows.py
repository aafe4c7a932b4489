"""Which rows each task takes."""

from functools import partial
from typing import Any


def _of_set(name: str, rows: Any) -> Any:
    """Those of a set that scores are made of."""
    return rows.filter(
        lambda sets, controls: [one == name and not control for one, control in zip(sets, controls)],
        input_columns=["set", "control"],
        batched=True,
    )


of_evolved = partial(_of_set, "evolved")
of_elites = partial(_of_set, "elites")
of_population = partial(_of_set, "population")
