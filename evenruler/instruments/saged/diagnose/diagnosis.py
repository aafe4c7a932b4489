"""Where disparities are, and how sure that is (SAGED, section 4, appendices A.4 and C)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Tables
from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.ask import RESEEDED
from evenruler.instruments.saged.declare.features import Feature
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import quality
from evenruler.instruments.saged.diagnose.between import between_roles, by_prompt
from evenruler.instruments.saged.diagnose.biases import context_bias, tool_bias
from evenruler.instruments.saged.diagnose.blocks import Floats
from evenruler.instruments.saged.diagnose.cells import Cells, cells_of
from evenruler.instruments.saged.diagnose.comparing import compared
from evenruler.instruments.saged.diagnose.confirming import confirmed
from evenruler.instruments.saged.diagnose.layout import Layout, laid_out
from evenruler.instruments.saged.diagnose.rates import rates
from evenruler.instruments.saged.diagnose.shapes import shapes
from evenruler.measurement import Resampling
from evenruler.tables import stacked
from evenruler.tables.schemas import BARE

OMNIBUS = "range"
"""The metric whose test says whether groups differ at all."""


@dataclass(frozen=True)
class Measured:
    """What was measured of the replies of one model to the prompts of a domain."""

    domain: str
    """Its slug."""
    features: pd.DataFrame
    """By `schemas.FEATURES`, of bare and framed replies; text columns may be categorical, which is faster."""
    baselines: pd.DataFrame
    """By `schemas.BASELINES`."""
    generations: pd.DataFrame
    """By `schemas.GENERATIONS`; of their text it counts alone whether there is one."""
    prompts: pd.DataFrame
    """By `schemas.PROMPTS`."""
    again: pd.DataFrame
    """By `schemas.FRAMED`, those that were asked after a prefix, or with another seed."""


def diagnose(
    measured: Measured,
    declared: Mapping[str, Feature],
    controls: Collection[str],
    prefixes: Collection[str],
    placebos: Collection[str],
    settings: Disparities,
    level: float,
    seed: int,
) -> Tables:
    """Diagnose one domain on one model. Framed replies count for shifts alone.

    Args:
        measured: Of the model.
        declared: Its features, by name.
        controls: Concepts that are no members of what is compared.
        prefixes: The names of those that are declared.
        placebos: Which of them are.
        settings: Groupings, statistics, metrics, permutations and resamples.
        level: Of intervals, between 0 and 1.
        seed: Of permutations and resamples.

    Returns:
        `compared`, `baselines` (bias of the tools), `by_prompt` and the tables of the diagnosis that are of one model,
        by `schemas`; the same for the same arguments, in whatever order rows stand.

    Raises:
        UserError: There is no such statistic, option or metric.
        ValueError: A measurement is there twice, or of a prompt that is not there.
    """
    domain, features, prompts = measured.domain, measured.features, measured.prompts
    resampling = Resampling(level, settings.resamples, seed)
    is_bare = features["framing"] == BARE
    bare = features if is_bare.all() else features[is_bare]
    generations = measured.generations
    replies = generations[(generations["framing"] == BARE) & generations["id"].isin(prompts["id"])]
    layout = laid_out(domain, bare, prompts)
    model = str(layout.series["model"].iloc[0])
    summaries, disparities, shaped = _disparities(layout, settings, level, seed)
    confirmatory, favour = confirmed(layout.without(controls), declared, settings, level, seed)
    prompt_means = by_prompt(layout, declared)
    prefixed = measured.again[measured.again["framing"] != RESEEDED] if prefixes else None
    reseeded = measured.again[measured.again["framing"] == RESEEDED]
    tools = tool_bias(layout, measured.baselines, level, resampling.resamples, seed)
    return {
        "summaries": summaries,
        "compared": disparities,
        "shapes": shaped,
        "rates": rates(domain, replies, prompts),
        "baselines": tools,
        "context_bias": context_bias(layout),
        "favour": favour,
        "by_prompt": prompt_means,
        "roles": between_roles(model, prompt_means, seed),
        "figures": pd.concat(
            [
                confirmatory,
                quality.headlines(disparities, settings, layout.fewest_roots),
                quality.refusals(domain, replies, prompts, resampling),
                quality.shifts(domain, features, prompts, prefixed, placebos, level),
                quality.noise(domain, features, prompts, reseeded),
                quality.tools(tools, model),
            ],
            ignore_index=True,
        ),
    }


def _disparities(
    layout: Layout, settings: Disparities, level: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Summaries, disparities and shapes of every grouping."""
    summaries, disparities, shaped = [], [], []
    for columns, part in product(settings.grouping, layout.parts()):
        cells = list(cells_of(part, part.groups(columns), settings.statistics))
        summaries += [each.table() for each in cells]
        found = compared(cells, settings, level, seed)
        disparities.append(found)
        shaped += [shapes(each, _omnibus(each, found)) for each in cells if each.statistic == settings.headline]
    return (
        stacked(summaries)[schemas.SUMMARIES.names],
        stacked(disparities),
        stacked(shaped)[schemas.SHAPES.names],
    )


def _omnibus(cells: Cells, compared: pd.DataFrame) -> Floats:
    """[series] p of the test that groups differ at all, by their range; NaN where the range is no metric."""
    names = cells.names()
    tests = compared[compared["metric"] == OMNIBUS].set_index(list(names.columns))["p"]
    found: Floats = tests.reindex(pd.MultiIndex.from_frame(names)).to_numpy(dtype=np.float64)
    return found
