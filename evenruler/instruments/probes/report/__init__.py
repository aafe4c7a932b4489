"""What the page says of probes: a section for every set of templates, and one for every set that evolved."""

import pandas as pd

from evenruler.instruments.instrument import Shown
from evenruler.instruments.probes.report.evolution import of_evolution
from evenruler.instruments.probes.report.sets import TABLES, of_probes
from evenruler.report.page import Section

__all__ = ["sections"]


def sections(shown: Shown) -> list[Section]:
    """The sections of the family, those of what evolved last.

    Args:
        shown: Sources, tables of the diagnosis, and what was built.
    """
    written = {name: source for name, source in shown.sources.items() if not shown.settings[name].evolve}
    evolved = {name: source for name, source in shown.sources.items() if name not in written}
    found = of_probes(written, {name: shown.tables[name] for name in TABLES})
    if not evolved:
        return found
    tables = {name: shown.tables[name] for name in ("comparisons", "generations", "rewordings")}
    for table in ("history", "gradients"):
        tables[table] = pd.concat(
            [shown.built[name][table].assign(benchmark=name) for name in evolved], ignore_index=True
        )
    return [*found, *of_evolution(evolved, tables)]
