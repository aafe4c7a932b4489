"""How often models refuse, say nothing, or are kept from replying."""

import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.layout import CONFIGURATION


def rates(domain: str, generations: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Refusals, empty replies and replies that were not given, of every concept and configuration.

    Args:
        domain: Its slug.
        generations: Replies of one framing to these prompts, by `schemas.GENERATIONS`.
        prompts: With `id` and `concept`.

    Returns:
        By `schemas.RATES`.
    """
    concepts = generations["id"].astype(str).map(prompts.set_index("id")["concept"])
    counted = generations.assign(concept=concepts.astype(str), domain=domain).astype(dict.fromkeys(CONFIGURATION, str))
    counted["withheld"] = counted["generation"].isna()
    found = counted.groupby(["domain", *CONFIGURATION, "concept"], sort=True).agg(
        n=("generation", "count"), refusals=("refusal", "sum"), empty=("empty", "sum"), withheld=("withheld", "sum")
    )
    return found.reset_index()[list(schemas.RATES.names)]
