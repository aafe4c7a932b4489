"""Which heading a row of figures stands under, and what of its dimensions the heading does not
say.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from evenruler.measurement.figures import (
    OF_LABEL,
    WHOLE,
    dimensions_of,
    has_dimensions,
)


class KeyedHeading(Protocol):
    """A heading of figures: as a family declares it, or as a result stores it."""

    @property
    def figure(self) -> str:
        """The figure's id."""

    @property
    def dimensions(self) -> Mapping[str, str | None]:
        """Dimensions that rows under it have; None for one that they must not have."""


HeadingT = TypeVar("HeadingT", bound=KeyedHeading)


def find_heading(row: Mapping[str, Any], headings: Iterable[HeadingT]) -> HeadingT | None:
    """The first heading that a row of figures stands under; None where there is none."""
    for heading in headings:
        if heading.figure == row["figure"] and has_dimensions(row, heading.dimensions):
            return heading
    return None


def part_of_instrument(row: Mapping[str, Any], heading: KeyedHeading | None = None) -> str:
    """The dimensions of a row that neither its heading nor the label of its model says, as words:
    "plain, token"; `WHOLE` where there are none.
    """
    in_heading = heading.dimensions if heading else {}
    words = [
        word
        for name, word in dimensions_of(row).items()
        if name not in in_heading and name not in OF_LABEL
    ]
    return ", ".join(words) or WHOLE
