"""How often models refuse, say nothing, reply in another language, or are kept from replying."""

import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.diagnose.layout import CONFIGURATION
from evenruler.measurement.answered import Replies, unanswered


def rates(domain: str, generations: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Of every concept and configuration: refusals, empty replies, those in another language, and those not given.

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
        n=("generation", "count"),
        refusals=("refusal", "sum"),
        empty=("empty", "sum"),
        other_language=("other_language", "sum"),
        withheld=("withheld", "sum"),
    )
    return found.reset_index()[list(schemas.RATES.names)]


def unmeasured(generations: pd.DataFrame) -> str | None:
    """Why the replies of a model measure nothing, by the rule of `measurement.answered`; None where they do.

    Args:
        generations: All replies of one framing, by `schemas.GENERATIONS`; one that refuses in another language is
            counted as a refusal.
    """
    refused, empty = (generations[name].to_numpy(dtype=bool) for name in ("refusal", "empty"))
    foreign = generations["other_language"].to_numpy(dtype=bool) & ~refused & ~empty
    given = generations["generation"].dropna()
    return unanswered(
        Replies(
            len(generations),
            int(refused.sum()),
            int((empty & ~refused).sum()),
            int(foreign.sum()),
            withheld=len(generations) - len(given),
            distinct=given.nunique(),
        )
    )
