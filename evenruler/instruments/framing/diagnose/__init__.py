"""How framings move what a model answers (framing, sections 4.3 and 5, appendices A and B)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.ask.asked import options_by_prompt
from evenruler.instruments.framing.declare.framings import placebo_of
from evenruler.instruments.framing.declare.plan import FramingPlan
from evenruler.instruments.framing.diagnose import choices
from evenruler.instruments.framing.diagnose.chance import with_chance
from evenruler.instruments.framing.diagnose.coverage import exclusions, without_excluded
from evenruler.instruments.framing.diagnose.figuring import figures_of
from evenruler.instruments.framing.diagnose.mass import METRIC as TOKEN
from evenruler.instruments.framing.diagnose.mass import token_distributions
from evenruler.instruments.framing.diagnose.replications import replications
from evenruler.instruments.framing.diagnose.sensitivity import apd_of_pairs, effects, shifts
from evenruler.instruments.framing.diagnose.unit_scores import units
from evenruler.instruments.instrument import Plan, Record, Subject, Tables
from evenruler.measurement import Resampling, as_metrics
from evenruler.tables import stacked

__all__ = ["TABLES", "across", "evidence", "figures", "units"]

TABLES: Final[Mapping[str, pa.Schema]] = {
    "figures": schemas.FIGURES,
    "choices": schemas.CHOICES,
    "distributions": schemas.DISTRIBUTIONS,
    "exclusions": schemas.EXCLUSIONS,
    "effects": schemas.EFFECTS,
    "shifts": schemas.SHIFTS,
    "comparisons": schemas.COMPARISONS,
    "continuations": schemas.CONTINUATIONS,
    "replications": schemas.REPLICATIONS,
}


def figures(
    name: str, tables: Tables, plan: Plan, scores: Tables, subject: Subject, resampling: Resampling
) -> dict[str, pd.DataFrame]:
    """Diagnose one model on one contrast.

    Args:
        name: Of the contrast.
        tables: `prompts`, `content-free` and `stimuli`, by their schemas in `schemas`.
        plan: By `FramingPlan`.
        scores: `forms` and `replies`, by `FORMS` and `REPLIES`; may be empty.
        subject: The model.
        resampling: How intervals are computed.

    Returns:
        By `TABLES`, all but `comparisons`. Cells of the metric `choice` with too many invalid replies are in
        `distributions` and `exclusions`, count in the coverage, and are in nothing else. Cells of `token` with too
        little mass are in no shift, and make effects unfit.

    Raises:
        UserError: `mass: first_token`, and no first token is a class's own.
    """
    asked = FramingPlan.read(plan)
    prompts, stimuli = tables["prompts"].assign(benchmark=name), tables["stimuli"]
    options = options_by_prompt(prompts, stimuli, asked)
    read = choices.read(scores["replies"], prompts, asked.words, options, asked.left_out)
    content_free = tables["content-free"] if asked.calibrated else None
    distributions = stacked(
        [
            token_distributions(scores["forms"], prompts, content_free, asked.forms, asked.mass),
            choices.distributions(read, asked.forms),
        ]
    )
    excluded = exclusions(distributions, asked.least_coverage)
    counted = without_excluded(distributions, excluded, [choices.METRIC])
    found = {
        "choices": read,
        "distributions": distributions,
        "exclusions": excluded,
        "effects": with_chance(effects(counted, asked.factors), counted, asked.factors),
        "pairs": apd_of_pairs(counted, asked.factors),
        "shifts": shifts(_compared(distributions, excluded, asked), asked.factors),
        "continuations": _continued(read, asked),
        "replications": _replicated(counted, read, stimuli, asked, resampling.level),
    }
    found["figures"] = figures_of(name, found, asked, subject, resampling.level)
    return {table: found[table][schema.names] for table, schema in TABLES.items() if table in found}


def across(records: Sequence[Record], resampling: Resampling) -> dict[str, pd.DataFrame]:
    """Compare the shifts of classes over all models of a contrast (section 5.3).

    Args:
        records: Of one or several contrasts, each on all models that were asked.
        resampling: How intervals are computed.

    Returns:
        `comparisons`, by `schemas.COMPARISONS`, contrast by contrast in the order of the records.
    """
    from evenruler.instruments.framing.diagnose.comparing import comparisons  # its libraries take seconds to import

    found = [pd.DataFrame(columns=schemas.COMPARISONS.names)]
    for instrument in dict.fromkeys(record.instrument for record in records):
        shifted = stacked(_of_cues(record) for record in records if record.instrument == instrument)
        # One order of rows whatever that of the records: sums hang on it in their last bits.
        ordered = shifted.sort_values([column for column in schemas.SHIFTS.names if column != "shift"])
        found.append(comparisons(ordered, resampling))
    return {"comparisons": stacked(found)}


def _of_cues(record: Record) -> pd.DataFrame:
    own = record.found["shifts"]
    return own[own["placebo"] == 0]


def evidence(tables: Tables) -> dict[str, Any]:
    """Figures as nested records: by contrast, part of it, model and figure.

    Args:
        tables: By `TABLES`.
    """
    return as_metrics(tables["figures"], "part")


def _compared(distributions: pd.DataFrame, excluded: pd.DataFrame, asked: FramingPlan) -> pd.DataFrame:
    """What shifts of classes are of: cells with enough coverage; of one reply to a question, none."""
    metrics = (TOKEN, choices.METRIC) if asked.samples_placebos else (TOKEN,)
    own = distributions[distributions["metric"].isin(metrics)]
    return without_excluded(own, excluded, metrics)


def _continued(read: pd.DataFrame, asked: FramingPlan) -> pd.DataFrame:
    neutral = asked.continuation
    if neutral is None:
        return pd.DataFrame(columns=schemas.CONTINUATIONS.names)
    real = read[read["framing"].map(placebo_of) == 0]
    return choices.continuations(real, asked.factors, neutral.outcome, neutral.keywords)


def _replicated(
    counted: pd.DataFrame, read: pd.DataFrame, stimuli: pd.DataFrame, asked: FramingPlan, level: float
) -> pd.DataFrame:
    if asked.replicates is None:
        return pd.DataFrame(columns=schemas.REPLICATIONS.names)
    # In the order of the source, which says from which group the preference of another is taken off.
    in_order = {group: stimuli.loc[stimuli["group"] == group, "stimulus"] for group in asked.groups}
    groups = {stimulus: group for group, own in in_order.items() for stimulus in own}
    return replications(counted, read, asked.forms, groups, asked.replicates, level)
