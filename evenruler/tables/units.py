"""Which units of a list are asked about where not all are."""

from collections.abc import Sequence


def evenly_spread(units: Sequence[str], most: int) -> list[str]:
    """At most so many units, evenly spread over their list, in its order."""
    if most >= len(units):
        return list(units)
    return [units[(2 * i + 1) * len(units) // (2 * most)] for i in range(most)]
