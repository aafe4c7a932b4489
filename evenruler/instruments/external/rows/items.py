"""Items of a published benchmark, as the readers of its layouts make them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class BenchmarkItem:
    """An item: two or three texts to compare."""

    name: str
    """Its unique name in the benchmark."""
    unit: str
    part: str
    texts: Mapping[str, str]
    """By role."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """By role, the authors' key of each text; by default the item's name and the role."""
    prompt: str = ""
    condition: str = ""
    stratum: str = ""
    """Subgroup of a unit and condition; samples of items are proportional to these."""
    right: str = ""
    """The role of the right answer, where there is one."""
    criterion: float | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    """By role, the authors' short name of each text, where they have one."""
    fault: str | None = None
    """Why it is left out."""
