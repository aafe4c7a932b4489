"""Tables of the probes family, and names in them that several packages share."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenruler.tables.ids import row_id
from evenruler.tables.schemas import schema_getattr

if TYPE_CHECKING:
    import pandas as pd

__getattr__ = schema_getattr(Path(__file__).with_name("schemas.toml"))

CHOSEN, ELITES, POPULATION = "evolved", "elites", "population"
"""Template sets of an evolved instrument: chosen as a set from all that were measured; the
individually best of the last population, as in the paper; and the whole last population."""

GUIDED, RANDOM = "guided", "random"
"""Runs of an evolution, by the words that are replaced: hotspots, or random ones (ablation)."""

UNREVERSED, BEST_START = "start-without-reversed-items", "best-subset-of-the-start"
"""Baselines of evolved sets that cost no evolution."""

BASELINES = {
    UNREVERSED: "start without reversed items",
    BEST_START: "best subset of the start",
}
"""As readers see them."""

HELD_OUT = "held out"
"""Marks comparisons in which one half of the attributes chose the sets, and the other judges
them."""

OUTDONE = "another reply was more acceptable"
"""The reason for rejecting a reply that keeps every rule, where another one to the same wish was
accepted."""

LENGTHENED = ("alpha", "generalizability", "detects")
"""Figures that are extrapolated to a common number of templates, so that sets of any length are
comparable."""

NEXT_WORD, CONTROL, ATTRIBUTE_KIND = "next-word", "control", "attribute"
"""The set of sentences that end before a noun, and the kinds of their units."""

SEMANTIC, LEXICAL = "semantic_diversity", "lexical_diversity"
"""Columns, measures and figures: diversity of a template within its set or generation, the same for
any model."""


def select_comparable(figures: "pd.DataFrame") -> "pd.DataFrame":
    """Figures without those of `LENGTHENED` that are of a set as long as it is."""
    is_lengthened = figures["figure"].isin(LENGTHENED)
    comparable: pd.DataFrame = figures[~is_lengthened | figures["templates"].notna()]
    return comparable


def sentence_id(name: str, row: Mapping[Any, Any], framing: str) -> str:
    """The id of a sentence of `PROBES`, as it is (`BARE`) or after a prefix."""
    identity = {key: row[key] for key in ("set", "template", "attribute", "target", "variant")}
    return row_id(family="probes", benchmark=name, framing=framing, **identity)
